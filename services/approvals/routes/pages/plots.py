"""Small plots as SVG: bars whose colours come from the style sheet."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

OUTCOMES = ("ok", "refused", "fault")
HEIGHT = 100
BAR, GAP = 8, 2


def bars(parts: Sequence[Mapping[str, int]], words: str) -> Markup:
    """One stacked bar a part, scaled to the highest; `words` say the same to those who do not see it."""
    highest = max((sum(part.values()) for part in parts), default=0) or 1
    shapes = Markup("").join(_bar(number * (BAR + GAP), part, HEIGHT / highest) for number, part in enumerate(parts))
    return Markup(
        '<svg class="plot" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    ).format(max(1, len(parts) * (BAR + GAP) - GAP), HEIGHT, words, shapes)


def _bar(left: int, part: Mapping[str, int], scale: float) -> Markup:
    shapes, top = Markup(""), float(HEIGHT)
    for outcome in OUTCOMES:
        height = part.get(outcome, 0) * scale
        if height:
            top -= height
            shapes += Markup('<rect class="{}" x="{}" y="{:.2f}" width="{}" height="{:.2f}"/>').format(
                outcome, left, top, BAR, height
            )
    return shapes
