"""How clearly the classes lie apart layer by layer: silhouettes and the purity of neighbourhoods, as a small chart."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from core.evaluation.neighbourhood import NEIGHBOURS
from core.exceptions import NotAvailable
from core.models.provides import HEAD
from core.runs.layers import Layers
from dashboard.figures.embeddings import SPACE
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count, number
from dashboard.figures.source import Source
from dashboard.figures.theme import Look, spread, template


@dataclass(frozen=True)
class Depths:
    """Every stage of a run on a split."""

    layers: Layers
    chosen: str = HEAD
    """The stage of the map."""


def depths(source: Source) -> Depths:
    """The stages of a source.

    Raises:
        NotAvailable: there are no layers, or nobody has read them.
    """
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    found = source.reader.layers(source.record, source.split)
    if found is None:
        command = f"sentiscope layers {source.record.run} --split {source.split}"
        raise NotAvailable(f"its layers have not been read: {command}")
    return Depths(found, str(source.chosen(SPACE)))


def draw_depths(shown: Depths, look: Look) -> go.Figure:
    """Two lines from the embedding to the head, with what chance would give."""
    t, stages = look.tokens, shown.layers.stages
    names, places = [each.name for each in stages], list(range(len(stages)))
    figure = go.Figure(layout={"template": template(look)})
    if shown.chosen in names:
        at = names.index(shown.chosen)
        figure.add_vrect(x0=at - 0.2, x1=at + 0.2, fillcolor=t.panel, line_width=0, layer="below")
    lines = (
        ("purity", [each.purity for each in stages], t.accent, "circle", "solid"),
        ("silhouette", [each.silhouette for each in stages], t.ink, "diamond", "dash"),
    )
    ends = dict[str, tuple[float, str]]()
    for name, known, colour, symbol, dash in lines:
        values = [value for value in known if value is not None]
        if len(values) < len(known):
            continue
        ends[name] = (values[-1], colour)
        figure.add_scatter(
            x=places,
            y=values,
            mode="lines+markers+text",
            text=[number(value, 2) for value in values],
            textposition="top center",
            textfont={"color": colour, "size": look.size(13)},
            cliponaxis=False,
            line={"color": colour, "width": look.size(2), "dash": dash},
            marker={"symbol": symbol, "size": look.size(8), "color": colour},
            hovertemplate=f"%{{customdata}}<br>{name} %{{y:.3f}}<extra></extra>",
            customdata=names,
        )
    if "purity" in ends:
        ends["by chance"] = (shown.layers.chance, t.muted)
        figure.add_hline(
            y=shown.layers.chance, line={"color": t.muted, "width": look.size(1), "dash": "dot"}, layer="below"
        )
    low = min([0.0, *(value for value, _ in ends.values())])
    heights = spread([value for value, _ in ends.values()], 0.1 * (1 - low))
    for (name, (_, colour)), height in zip(ends.items(), heights, strict=True):
        figure.add_annotation(
            x=places[-1] + 0.12,
            y=height,
            text=name,
            xanchor="left",
            bgcolor=t.paper,
            font={"color": colour, "size": look.size(14)},
        )
    figure.update_xaxes(tickvals=places, ticktext=names, range=[-0.4, len(places) - 0.35 + 0.06 * len(places)])
    figure.update_yaxes(range=[low - 0.03, 1.08])
    figure.update_layout(height=look.height(280), hovermode="closest")
    return figure


def depths_table(shown: Depths) -> pd.DataFrame:
    """The numbers of every stage."""
    rows = [
        {"stage": each.name, "width": each.width, "silhouette": each.silhouette, "purity": each.purity}
        for each in shown.layers.stages
    ]
    return pd.DataFrame(rows).assign(n=len(shown.layers.rows), purity_by_chance=shown.layers.chance)


def _note(shown: Depths) -> str:
    n, total = len(shown.layers.rows), shown.layers.total
    return f"n = {count(n)}" + ("" if n == total else f" of {count(total)}, a stratified sample")


def _reading(shown: Depths) -> str:
    why = f" No silhouette: {shown.layers.reason}." if shown.layers.reason else ""
    return (
        f"Purity: the share of the {NEIGHBOURS} nearest other sentences with the same true class; dotted, what "
        f"neighbours drawn at random would have. Silhouette: 1 where classes keep apart, 0 where they overlap.{why}"
    )


MAP_LAYERS: Figure[Depths] = Figure(
    "map-layers",
    "embeddings",
    "Layer by layer",
    depths,
    draw_depths,
    note=_note,
    reading=_reading,
    how="Of what enters the first layer and of what leaves each, the mean of a text's own tokens; *head* is what the "
    "classifier reads. Silhouettes by true class and nearest neighbours by Euclidean distance in that space, not on "
    "a map; a sentence is no neighbour of itself.",
    needs="hidden",
    options=(SPACE,),
    tables=lambda shown: {"Layers": depths_table(shown)},
)
