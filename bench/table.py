"""A measurement is a ratio of two things done on one machine in the same minute, beside the bound it must keep."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """Ours against the plain thing. `at_least` bounds a rate from below, otherwise the bound is from above."""

    what: str
    ours: float
    plain: float
    unit: str
    bound: float
    at_least: bool = False

    @property
    def value(self) -> float:
        """How many times the plain thing ours is."""
        return self.ours / self.plain

    @property
    def kept(self) -> bool:
        """Whether the bound holds."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


HEAD = ("measurement", "ours", "plain", "ratio", "bound", "")


def table(ratios: Iterable[Ratio]) -> str:
    """All of them as one aligned table."""
    lines = [HEAD, *map(_cells, ratios)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    return "\n".join(_aligned(line, widths) for line in lines)


def _cells(one: Ratio) -> tuple[str, ...]:
    sign = "≥" if one.at_least else "≤"
    ours, plain = (f"{number:.4g} {one.unit}" for number in (one.ours, one.plain))
    return (one.what, ours, plain, f"{one.value:.2f}", f"{sign} {one.bound:g}", "ok" if one.kept else "MISSED")


def _aligned(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = cells
    return "  ".join(
        [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))]
    )
