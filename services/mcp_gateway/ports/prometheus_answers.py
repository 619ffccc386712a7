"""The shapes of Prometheus's HTTP API (v1) that the tools use; what does not fit them is no answer of Prometheus."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

Time = Annotated[float, Field(allow_inf_nan=False)]
# Numbers come as text, so that NaN and Inf can be said.
Point = tuple[Time, str]


class Shape(BaseModel):
    """Members that a newer Prometheus adds are passed over; types must fit exactly."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Alert(Shape):
    """One active alert."""

    labels: dict[str, str]
    annotations: dict[str, str] = {}
    state: str
    since: str = Field("", alias="activeAt")


class Alerts(Shape):
    """All active alerts."""

    alerts: list[Alert]


class Histogram(Shape):
    """A native histogram, without its buckets."""

    count: str
    sum: str


class Instant(Shape):
    """One series at one time."""

    metric: dict[str, str]
    value: Point | None = None
    histogram: tuple[Time, Histogram] | None = None


class Range(Shape):
    """One series over some time."""

    metric: dict[str, str]
    values: list[Point] = []
    histograms: list[tuple[Time, Histogram]] = []


class Vector(Shape):
    """What most expressions give."""

    kind: Literal["vector"] = Field(alias="resultType")
    result: list[Instant]


class Matrix(Shape):
    """What a range selector such as `up[5m]` gives."""

    kind: Literal["matrix"] = Field(alias="resultType")
    result: list[Range]


class Single(Shape):
    """One number or one text."""

    kind: Literal["scalar", "string"] = Field(alias="resultType")
    result: Point


Result = Annotated[Vector | Matrix | Single, Field(discriminator="kind")]


class Envelope(Shape):
    """What surrounds every answer."""

    status: Literal["success", "error"]
    data: object = None
    kind: str = Field("", alias="errorType")
    message: str = Field("", alias="error")
    warnings: list[str] = []
    infos: list[str] = []


result: TypeAdapter[Vector | Matrix | Single] = TypeAdapter(Result)
