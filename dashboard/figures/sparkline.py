"""Small marks for the cells of a table, as SVG in a data address."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from dashboard.figures.theme import Tokens, layer_colour

HEIGHT, PAD = 28, 4
INTERVAL, SPARKLINE = 84, 68
"""Widths that fit their columns: a table scales an image to the height of its row and cuts what is left."""


def interval(
    value: float, low: float, high: float, axis: tuple[float, float], reference: float | None, tokens: Tokens
) -> str:
    """A value with its interval on an axis, and a thin mark where a reference value lies."""

    def x(number: float) -> float:
        share = (min(max(number, axis[0]), axis[1]) - axis[0]) / (axis[1] - axis[0])
        return PAD + (INTERVAL - 2 * PAD) * share

    parts = [
        f'<rect x="{PAD}" y="13" width="{INTERVAL - 2 * PAD}" height="2" fill="{tokens.grid}"/>',
        f'<rect x="{x(low):.1f}" y="10" width="{max(x(high) - x(low), 2):.1f}" height="8" rx="4" '
        f'fill="{tokens.accent}" opacity=".5"/>',
        f'<rect x="{x(value) - 1.25:.1f}" y="6" width="2.5" height="16" fill="{tokens.ink}"/>',
    ]
    if reference is not None:
        parts.append(
            f'<circle cx="{x(reference):.1f}" cy="14" r="4" fill="none" stroke="{tokens.muted}" stroke-width="2"/>'
        )
    return _svg(parts, INTERVAL)


def sparkline(series: Sequence[Sequence[float]], layers: Sequence[int], tokens: Tokens) -> str:
    """The course of some values, each counted from its own start; `layers` gives each line its colour."""
    changes = [[value - line[0] for value in line] for line in series if len(line) > 1]
    top = max((abs(value) for line in changes for value in line), default=0.0)
    if not changes or top == 0:
        return blank()
    count = max(layers) + 1
    parts = [f'<rect x="{PAD}" y="13.5" width="{SPARKLINE - 2 * PAD}" height="1" fill="{tokens.grid}"/>']
    for line, layer in zip(changes, layers, strict=True):
        step = (SPARKLINE - 2 * PAD) / (len(line) - 1)
        points = " ".join(f"{PAD + i * step:.1f},{HEIGHT / 2 - 11 * value / top:.1f}" for i, value in enumerate(line))
        colour = layer_colour(tokens, layer, count)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.2"/>')
    return _svg(parts, SPARKLINE)


def blank() -> str:
    """Nothing: an empty cell would read "None"."""
    return _svg([], INTERVAL)


def _svg(parts: Sequence[str], width: int) -> str:
    size = f'viewBox="0 0 {width} {HEIGHT}" width="{2 * width}" height="{2 * HEIGHT}"'
    return "data:image/svg+xml;utf8," + quote(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>')
