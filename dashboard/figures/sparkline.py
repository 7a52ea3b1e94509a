"""The course of some numbers as a line the size of a word."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.figures.nodes import Node
from dashboard.figures.theme import Tokens, layer_colour

WIDTH, HEIGHT, PAD = 68, 28, 4


def largest_change(series: Sequence[Sequence[float]]) -> float:
    """Return how far a line moves from its start, at most; 0 where none does."""
    return max((abs(value - line[0]) for line in series for value in line), default=0.0)


def sparkline(series: Sequence[Sequence[float]], layers: Sequence[int], tokens: Tokens, top: float) -> Node | None:
    """Draw each line from its own start, or return None where nothing moves.

    Args:
        series: lines of values.
        layers: one for each line; it chooses the colour.
        tokens: colours of the page.
        top: change that reaches the edge; pictures that are compared share it.
    """
    if not largest_change(series):
        return None
    count = max(layers) + 1
    rest = {"x": str(PAD), "y": "13.5", "width": str(WIDTH - 2 * PAD), "height": "1", "fill": tokens.grid}
    parts: list[Node] = [["rect", rest]]
    for line, layer in zip(series, layers, strict=True):
        step = (WIDTH - 2 * PAD) / max(len(line) - 1, 1)
        points = " ".join(
            f"{PAD + i * step:.1f},{HEIGHT / 2 - 11 * (value - line[0]) / top:.1f}" for i, value in enumerate(line)
        )
        colour = layer_colour(tokens, layer, count)
        parts.append(["polyline", {"points": points, "fill": "none", "stroke": colour, "stroke-width": "2.2"}])
    return ["svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "aria-hidden": "true", "class": "spark"}, *parts]
