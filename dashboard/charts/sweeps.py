"""A sweep as dots: every run of every cell, with their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from dashboard.charts.numbers import number
from dashboard.charts.panels import Panels
from dashboard.charts.theme import Look

LONGEST = 44
"""Characters of a cell's name at its row."""


@dataclass(frozen=True)
class Cell:
    """One row: the values of its runs, and of TF-IDF on the same data."""

    label: str
    values: tuple[float, ...]
    runs: tuple[str, ...]
    """Names, one a value."""
    mean: float
    deviation: float | None
    yardstick: float | None


def members(cells: Sequence[Cell], metric: str, look: Look) -> go.Figure:
    """One line a cell: dots for runs, a large one with a line for mean and deviation, a ring for TF-IDF.

    Args:
        cells: In the order of the table; those without a value are left out before.
        metric: Its title, at the axis.
        look: Theme and size.
    """
    t, size = look.tokens, look.size
    figure = Panels(look, [[""]], height=64 + 34 * len(cells))
    places = list(range(len(cells)))
    known = [(place, cell.yardstick) for place, cell in zip(places, cells, strict=True) if cell.yardstick is not None]
    figure.add_scatter(
        x=[value for _, value in known],
        y=[place for place, _ in known],
        mode="markers",
        marker={"symbol": "circle-open", "size": size(13), "color": t.ink, "line": {"width": size(1.6)}},
        hovertemplate="TF-IDF %{x:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=[cell.mean for cell in cells],
        y=places,
        mode="markers",
        marker={"size": size(11), "color": t.accent},
        error_x={
            "array": [cell.deviation or 0 for cell in cells],
            "color": t.accent,
            "thickness": size(1.8),
            "width": 0,
        },
        customdata=[[_spoken(cell), len(cell.values)] for cell in cells],
        hovertemplate="mean %{customdata[0]}<br>n = %{customdata[1]}<extra></extra>",
    )
    figure.add_scatter(
        x=[value for cell in cells for value in cell.values],
        y=[place for place, cell in zip(places, cells, strict=True) for _ in cell.values],
        mode="markers",
        marker={"size": size(6), "color": t.muted, "line": {"width": 1, "color": t.paper}},
        customdata=[escape(run) for cell in cells for run in cell.runs],
        hovertemplate="%{customdata}: %{x:.3f}<extra></extra>",
    )
    figure.update_xaxes(title=escape(metric), showgrid=True, tickformat=".3f", nticks=8)
    figure.update_yaxes(
        tickvals=places,
        ticktext=[escape(_short(cell.label)) for cell in cells],
        range=[len(cells) - 0.5, -0.5],
        tickfont={"color": t.ink},
    )
    figure.update_layout(margin={"t": 8})
    return figure.drawn()


def _spoken(cell: Cell) -> str:
    return number(cell.mean) + ("" if cell.deviation is None else f" ± {number(cell.deviation)}")


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
