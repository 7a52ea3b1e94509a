"""A square of cells that can be clicked: rows against columns, a colour and words in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from dashboard.figures.panels import Panels
from dashboard.figures.theme import Look

FEW = 4
"""With fewer rows cells are large, and the names of rows stand upright."""


def cell_of(first: np.ndarray, second: np.ndarray, rows: np.ndarray) -> tuple[int, int] | None:
    """The cell whose sentences are exactly these; None: they are of no one cell, or not all of it.

    Args:
        first: (n,) the row of the matrix that each sentence stands in, below 0: in none.
        second: (n,) its column.
        rows: (k,) places of the sentences, in any order.
    """
    if not len(rows) or first[rows[0]] < 0:
        return None
    cell = int(first[rows[0]]), int(second[rows[0]])
    whole = np.flatnonzero((first == cell[0]) & (second == cell[1]))
    return cell if np.array_equal(whole, np.sort(rows)) else None


def square(
    look: Look,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    colour: Callable[[int, int], str],
    words: Callable[[int, int], str],
    hover: Callable[[int, int], str],
    height: int,
    titles: tuple[str, str] = ("", ""),
) -> go.Figure:
    """As bars, which select over their whole area; they carry `customdata = [row, column]`.

    Args:
        look: Theme and size.
        rows: n names, escaped.
        columns: n names, escaped.
        colour: Of the cell in a row and a column.
        words: In it, as HTML.
        hover: At the pointer, escaped.
        height: In pixels, where rows are few.
        titles: Of rows and of columns.
    """
    t, n = look.tokens, len(rows)
    places, few = list(range(n)), n < FEW
    cells = [(i, j) for i in places for j in places]
    figure = Panels(look, [[""]], height=height if few else 90 * n + 70)
    figure.add_bar(
        x=[j for _, j in cells],
        y=[0.96] * len(cells),
        base=[n - 1 - i + 0.02 for i, _ in cells],
        width=0.97,
        marker={"color": [colour(i, j) for i, j in cells], "cornerradius": 6, "line": {"width": 0}},
        customdata=[[i, j] for i, j in cells],
        text=[words(i, j) for i, j in cells],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"size": look.size(18 if few else 14), "color": t.ink},
        constraintext="none",
        hovertext=[hover(i, j) for i, j in cells],
        hovertemplate="%{hovertext}<extra></extra>",
        selected={"marker": {"opacity": 1}, "textfont": {"color": t.ink}},
        unselected={"marker": {"opacity": 0.4}, "textfont": {"color": t.muted}},
    )
    ticks = {"size": look.size(16 if few else 14), "color": t.ink}
    figure.update_xaxes(
        side="top", tickvals=places, ticktext=list(columns), tickfont=ticks, range=[-0.5, n - 0.5], title=titles[1]
    )
    figure.update_yaxes(
        tickvals=[n - 0.5 - i for i in places],
        ticktext=list(rows),
        range=[0, n],
        showgrid=False,
        tickfont=ticks,
        tickangle=-90 if few else 0,
        title=titles[0],
    )
    figure.update_layout(barmode="overlay", bargap=0, clickmode="event+select", margin={"t": 8})
    return figure.drawn()
