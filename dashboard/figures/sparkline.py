"""The course of some numbers as a line the size of a word."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.figures.nodes import Node
from dashboard.figures.theme import Tokens, layer_colour

WIDTH, HEIGHT, PAD = 68, 28, 4


def sparkline(series: Sequence[Sequence[float]], layers: Sequence[int], tokens: Tokens) -> Node | None:
    """Each line counted from its own start; `layers` gives it its colour. None where nothing moved."""
    changes = [[value - line[0] for value in line] for line in series if len(line) > 1]
    top = max((abs(value) for line in changes for value in line), default=0.0)
    if not changes or top == 0:
        return None
    count = max(layers) + 1
    rest = {"x": str(PAD), "y": "13.5", "width": str(WIDTH - 2 * PAD), "height": "1", "fill": tokens.grid}
    parts: list[Node] = [["rect", rest]]
    for line, layer in zip(changes, layers, strict=True):
        step = (WIDTH - 2 * PAD) / (len(line) - 1)
        points = " ".join(f"{PAD + i * step:.1f},{HEIGHT / 2 - 11 * value / top:.1f}" for i, value in enumerate(line))
        colour = layer_colour(tokens, layer, count)
        parts.append(["polyline", {"points": points, "fill": "none", "stroke": colour, "stroke-width": "2.2"}])
    return ["svg", {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "aria-hidden": "true", "class": "spark"}, *parts]
