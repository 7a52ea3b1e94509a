"""The pattern of what is taken away: its ink is cut by stripes of the page, whatever its colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.figures.theme import Look

STRIPES = 48
"""At most about so many across a map: more would be a grey of their own."""


def stripes(away: NDArray[np.bool_]) -> str:
    """Diagonals through the cells (rows, columns) that are taken away, as an SVG path in units of cells.

    Neighbours along a diagonal share one line, so that a map that is negative throughout costs no more than its edges.
    """
    rows, columns = away.shape
    rising = away[::-1]
    parts = []
    for offset in range(1 - rows, columns, -(-(rows + columns) // (2 * STRIPES))):
        run = np.diff(np.concatenate([[0], rising.diagonal(offset).astype(np.int8), [0]]))
        row, column = rows - 1 - max(0, -offset), max(0, offset)
        for start, end in zip(np.flatnonzero(run == 1), np.flatnonzero(run == -1), strict=True):
            here = f"M{column + start - 0.5},{row - start + 0.5}"
            parts.append(f"{here}L{column + end - 0.5},{row - end + 0.5}")
    return "".join(parts)


def hatched(away: NDArray[np.bool_], axis: str, width: float, look: Look) -> dict[str, Any] | None:
    """A Plotly shape over a heat map whose axes are named `x{axis}` and `y{axis}`; None where nothing is taken away."""
    path = stripes(away)
    line = {"color": look.tokens.paper, "width": look.size(width)}
    return {"type": "path", "path": path, "xref": f"x{axis}", "yref": f"y{axis}", "line": line} if path else None
