"""What a data set looks like before any training: its classes and the lengths of its texts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd
import plotly.graph_objects as go

from dashboard.figures.numbers import count
from dashboard.figures.panels import Panels
from dashboard.figures.theme import Look, class_colours

SYMBOLS = ("circle", "diamond", "square", "triangle-up")
"""Of models beside each other: a shape for whom two colours look alike."""
NAMED = 6
"""More classes than this share one colour: nobody tells seven apart."""


def class_balance(shares: Mapping[str, Mapping[str, tuple[int, float]]], look: Look) -> go.Figure:
    """One panel for each split, one bar for each class.

    Args:
        shares: Split → class → rows and share of the split.
        look: Theme and size.
    """
    t, splits = look.tokens, list(shares)
    classes = list(shares[splits[0]])
    names = [_short(name) for name in classes]
    colours = class_colours(t, classes) if len(classes) <= NAMED else [t.accent] * len(classes)
    top = max(share for found in shares.values() for _, share in found.values())
    figure = Panels(
        look,
        [[escape(name) for name in splits]],
        height=max(200, 60 + 30 * len(classes)),
        shared_yaxes=True,
        horizontal_spacing=0.03,
    )
    for column, split in enumerate(splits, 1):
        rows = [shares[split][name][0] for name in classes]
        parts = [shares[split][name][1] for name in classes]
        figure.add_bar(
            x=parts,
            y=names,
            orientation="h",
            width=0.62,
            marker={"color": colours, "line": {"width": 0}, "cornerradius": 3},
            text=[percent(part) for part in parts],
            textposition="outside",
            cliponaxis=False,
            textfont={"color": t.ink, "size": look.size(14)},
            hovertext=[
                f"{escape(split)}, {name}<br>{count(n)} rows, {percent(part)}"
                for name, n, part in zip(names, rows, parts, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            row=1,
            col=column,
        )
    room = 1 + look.size(0.65)  # for the number behind the longest bar
    figure.update_xaxes(range=[0, top * room], showticklabels=False)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, tickfont={"color": t.ink})
    return figure.drawn()


def lengths(edges: Sequence[int], rows: Sequence[int], longest_read: int, cut_share: float, look: Look) -> go.Figure:
    """How long the texts of a split are, and where the model stops reading.

    Args:
        edges: B + 1 bounds in tokens; a bin holds its lower bound, not its upper one, the last everything beyond.
        rows: B counts.
        longest_read: Tokens that a model reads at most; 0: all.
        cut_share: Share of the texts that are longer than that.
        look: Theme and size.
    """
    t = look.tokens
    widths = [after - before for before, after in itertools.pairwise(edges)]
    names = [_range(before, after, after == edges[-1]) for before, after in itertools.pairwise(edges)]
    figure = Panels(look, [[""]], height=300)
    # Bins differ in width by a token: rows per token of length keep the shape true.
    heights = [n / width for n, width in zip(rows, widths, strict=True)]
    figure.add_bar(
        x=list(edges[:-1]),
        y=heights,
        width=[width * 0.94 for width in widths],
        offset=0,
        marker={"color": t.accent, "opacity": 0.75, "line": {"width": 0}},
        hovertext=[f"{name} tokens<br>{count(n)} texts" for name, n in zip(names, rows, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    top = max(heights, default=1.0) or 1.0
    right = float(edges[-1])
    if longest_read:
        right = max(right, longest_read * 1.02)
        figure.add_shape(
            type="line",
            x0=longest_read,
            x1=longest_read,
            y0=0,
            y1=top * 1.12,
            line={"color": t.ink, "width": look.size(1.6), "dash": "dot"},
        )
        figure.add_annotation(
            x=longest_read,
            y=top * 1.12,
            text=f"read to {longest_read}: {percent(cut_share)} of the texts are cut",
            xanchor="right" if longest_read > right / 2 else "left",  # where there is room for it
            yanchor="bottom",
            xshift=2 if longest_read > right / 2 else -2,
            font={"color": t.ink},
        )
    figure.update_xaxes(title="tokens in a text", range=[0, right * 1.01])
    figure.update_yaxes(title="texts per token of length", range=[0, top * 1.3])
    figure.update_layout(margin={"t": 8}, bargap=0)
    return figure.drawn()


def measured(table: pd.DataFrame, look: Look) -> go.Figure:
    """Accuracy of several models on each phenomenon; the first column is the yardstick, drawn as a ring.

    Args:
        table: phenomenon, then one column of accuracies for each model; the first row stands on top.
        look: Theme and size.
    """
    t = look.tokens
    names = [escape(name) for name in table["phenomenon"]]
    yardstick, *models = [str(name) for name in table if name != "phenomenon"]
    figure = Panels(look, [[""]], height=90 + 30 * len(names))
    ring = {"symbol": "circle-open", "size": look.size(12), "color": t.muted, "line": {"width": look.size(2)}}
    dots = [
        {"symbol": symbol, "size": look.size(10), "color": colour}
        for symbol, colour in zip(SYMBOLS, t.categories, strict=False)
    ]
    for name, marker in zip((yardstick, *models), (ring, *dots), strict=False):
        figure.add_scatter(
            x=table[name],
            y=names,
            name=escape(name),
            mode="markers",
            marker=marker,
            hovertemplate=f"%{{y}}<br>{escape(name)} %{{x:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="accuracy", range=[0, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1], showgrid=True)
    figure.update_yaxes(showgrid=False, autorange="reversed", tickfont={"color": t.ink})
    legend = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "font": {"color": t.ink}}
    figure.update_layout(showlegend=True, legend=legend, margin={"t": look.size(34)})
    return figure.drawn()


def percent(share: float) -> str:
    """`12.3 %`; something that is there is never `0.0 %`."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return "0 %" if share == 0 else f"{100 * share:.1f} %"


def _range(before: int, after: int, last: bool) -> str:
    if last:
        return f"{before} or more"
    return str(before) if after - before == 1 else f"{before} to {after - 1}"


def _short(name: str) -> str:
    """A class name as an axis can hold it."""
    return escape(name if len(name) <= 22 else f"{name[:21]}…")
