"""The `prometheus:` section of the configuration."""

from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_validator


class PrometheusSettings(BaseModel):
    """Where Prometheus answers; a path before `/api/v1` (its `--web.route-prefix`) belongs to the URL."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = "http://127.0.0.1:9090"

    @field_validator("url")
    @classmethod
    def _plain_http_url(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError as fault:
            raise ValueError("is no URL such as http://127.0.0.1:9090") from fault
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not value.isprintable():
            raise ValueError("must be an http or https URL such as http://127.0.0.1:9090")
        if "@" in parts.netloc or parts.query or parts.fragment or "?" in value or "#" in value or " " in value:
            raise ValueError("must have no user, query or fragment: Prometheus's API adds its own")
        return value.rstrip("/")
