"""Class separation: silhouettes of an embedding map, and silhouettes and neighbour purity layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.evaluation.projection import NEIGHBORS, Projection, ProjectionConfig
from core.exceptions import NotAvailable
from core.formatting import count, number
from core.models.capabilities import HEAD
from core.runs.projections import Layers
from dashboard.figures.display_names import escape_text
from dashboard.figures.embedding_map import Floats
from dashboard.figures.embeddings import DIMENSIONS, METHOD, SENTENCES, SPACE, SentenceMap, name_map, read_map
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import Look, build_template, color_classes, spread_labels


@dataclass(frozen=True)
class Spectrum:
    """Silhouettes of the sentences by class, in embedding space or on its map."""

    title: str
    overall: float
    classes: tuple[tuple[str, Floats], ...]  # class name, and its silhouettes in ascending order


def group_silhouettes(
    made: Projection, points: pd.DataFrame, classes: Sequence[str], config: ProjectionConfig, width: int
) -> tuple[list[Spectrum], list[int]]:
    """Return silhouettes by class, in embedding space and on the map, with the indices of the classes that occur."""
    labels = points["label"].to_numpy()[made.quality.rows]
    there = [number for number, name in enumerate(classes) if (labels == name).any()]
    both = {
        f"original space, {width} dimensions": made.quality.space,
        f"projection: {name_map(config)}": made.quality.plane,
    }
    found = []
    for title, samples in both.items():
        own = tuple((classes[i], np.sort(samples[labels == classes[i]])) for i in there)
        found.append(Spectrum(title, float(samples.mean()), own))
    return found, there


def build_silhouette_table(spaces: Sequence[Spectrum]) -> pd.DataFrame:
    """Return a table of mean silhouettes: a row for each class, and a last row for all sentences."""
    rows = [(space.title, name, len(own), float(own.mean())) for space in spaces for name, own in space.classes]
    rows += [(space.title, "all", sum(len(own) for _, own in space.classes), space.overall) for space in spaces]
    return pd.DataFrame(rows, columns=["space", "class", "n", "silhouette"])


def draw_silhouettes(spaces: Sequence[Spectrum], colors: Sequence[str], look: Look) -> go.Figure:
    """Draw silhouette plots side by side: a bar for each sentence, sorted within its class, and class means."""
    t = look.tokens
    figure = Panels(look, [[space.title for space in spaces]], height=130 + 80 * len(colors), horizontal_spacing=0.06)
    n = sum(len(samples) for _, samples in spaces[0].classes)
    gap = max(1, round(0.06 * n))
    for column, space in enumerate(spaces, start=1):
        left: dict[str, Any] = {"xanchor": "left", "font": {"color": t.ink}, "row": 1, "col": column}
        base, names, middles = 0, [], []
        # Drawn from the bottom up, so that the first class is on top.
        for (name, samples), color in reversed(list(zip(space.classes, colors, strict=True))):
            heights = base + np.arange(len(samples))
            mean, ends = float(samples.mean()), [heights[0], heights[-1]]
            hover = f"{escape_text(name)}<br>silhouette %{{x:.3f}}<extra></extra>"
            line = {"color": color, "width": 1, "shape": "vh"}
            area: dict[str, Any] = {"fill": "tozerox", "mode": "lines", "line": line, "hovertemplate": hover}
            figure.add_scatter(x=samples, y=heights, col=column, **area)
            middle: dict[str, Any] = {"mode": "lines", "line": {"color": t.ink, "width": 2}, "hoverinfo": "skip"}
            figure.add_scatter(x=[mean, mean], y=ends, col=column, **middle)
            names.append(f"{escape_text(name)} <b>{number(mean)}</b><br>n = {count(len(samples))}")
            middles.append(sum(ends) / 2)
            base += len(samples) + gap
        for name, height in zip(names, spread_labels(middles, 0.42 * (n + gap * len(names)) / len(names)), strict=True):
            figure.add_annotation(x=-0.99, y=height, align="left", text=name, **left)
        figure.add_vline(x=space.overall, line={"color": t.ink, "width": 1.2, "dash": "dot"}, col=column)
        figure.add_annotation(x=space.overall, y=base, xshift=6, text=f"all {number(space.overall)}", **left)
        figure.add_vline(x=0, line={"color": t.ink, "width": 1}, col=column)
    figure.update_xaxes(range=[-1, 1], tickvals=[-1, -0.5, 0, 0.5, 1], title="silhouette")
    figure.update_yaxes(showticklabels=False, showgrid=False, range=[-gap, n + gap * (len(colors) + 1)])
    return figure.build_figure()


@dataclass(frozen=True)
class MapSilhouettes:
    """Silhouettes of the sentences of an embedding map, in embedding space and on the map."""

    shown: SentenceMap
    spaces: list[Spectrum]
    there: list[int]  # positions of the classes that occur


def read_silhouettes(source: Source) -> MapSilhouettes:
    """Read how well the classes on an embedding map are separated; NotAvailable: no map, or no silhouettes."""
    shown = source.read_once(read_map)
    if reason := shown.made.quality.reason:
        raise NotAvailable(f"it compares a class with the nearest other one, and {reason}")
    return MapSilhouettes(shown, *group_silhouettes(shown.made, shown.placed, shown.classes, shown.config, shown.width))


def _draw_spaces(shape: MapSilhouettes, look: Look) -> go.Figure:
    colors = color_classes(look.tokens, shape.shown.classes, ordered=shape.shown.ordered)
    return draw_silhouettes(shape.spaces, [colors[i] for i in shape.there], look)


SILHOUETTES = Figure(
    "silhouettes",
    "embeddings",
    "Silhouette by class",
    read_silhouettes,
    _draw_spaces,
    note=lambda shape: (
        f"{name_map(shape.shown.config)}, "
        + _write_sample_size(len(shape.shown.made.quality.rows), len(shape.shown.made.rows))
    ),
    reading="One line per sentence. Below zero: closer to another class.",
    how="(b − a) / max(a, b): a is the mean distance to the true class, b to the nearest other class (Rousseeuw 1987, "
    "Euclidean). Solid: class mean; dotted: mean of all. If the two spaces disagree, trust the original one.",
    options=(METHOD, DIMENSIONS, SPACE, SENTENCES),
    spread=(METHOD,),
    tables=lambda shape: {"Silhouettes": build_silhouette_table(shape.spaces)},
)


@dataclass(frozen=True)
class Depths:
    """Class separation of sentence vectors after each part of a model: embedding, layers, classification head."""

    layers: Layers
    chosen: str = HEAD  # the stage of the map


def read_depths(source: Source) -> Depths:
    """Read the class separation after each model layer; NotAvailable: it was not computed, or there are no layers."""
    found = source.reader.read_separability(source.record, source.evaluated)
    if found is None:
        command = f"sentiscope layers {source.record.run} --split {source.split}"
        raise NotAvailable(f"its layers have not been read: {command}")
    return Depths(found, str(source.get_choice(SPACE)))


def draw_depths(shown: Depths, look: Look) -> go.Figure:
    """Draw neighbour purity and silhouette of the classes after each part of a model, with the purity due to chance."""
    t, stages = look.tokens, shown.layers.stages
    names, places = [each.name for each in stages], list(range(len(stages)))
    figure = go.Figure(layout={"template": build_template(look)})
    if shown.chosen in names:
        at = names.index(shown.chosen)
        figure.add_vrect(x0=at - 0.2, x1=at + 0.2, fillcolor=t.panel, line_width=0, layer="below")
    lines = (("purity", t.accent, "circle", "solid"), ("silhouette", t.ink, "diamond", "dash"))
    ends = dict[str, tuple[float, str]]()
    for name, color, symbol, dash in lines:
        values = [getattr(each, name) for each in stages]
        if None in values:
            continue
        ends[name] = (values[-1], color)
        figure.add_scatter(
            x=places,
            y=values,
            mode="lines+markers+text",
            text=[number(value, 2) for value in values],
            textposition="top center",
            textfont={"color": color, "size": look.scale_size(13)},
            cliponaxis=False,
            line={"color": color, "width": look.scale_size(2), "dash": dash},
            marker={"symbol": symbol, "size": look.scale_size(8), "color": color},
            hovertemplate=f"%{{customdata}}<br>{name} %{{y:.3f}}<extra></extra>",
            customdata=names,
        )
    if "purity" in ends:
        chance = shown.layers.chance
        ends["by chance"] = (chance, t.muted)
        figure.add_hline(y=chance, line={"color": t.muted, "width": look.scale_size(1), "dash": "dot"}, layer="below")
    low = min([0.0, *(value for value, _ in ends.values())])
    heights = spread_labels([value for value, _ in ends.values()], 0.1 * (1 - low))
    for (name, (_, color)), height in zip(ends.items(), heights, strict=True):
        own = {"bgcolor": t.paper, "font": {"color": color, "size": look.scale_size(14)}}
        figure.add_annotation(x=places[-1] + 0.12, y=height, text=name, xanchor="left", **own)
    figure.update_xaxes(tickvals=places, ticktext=names, range=[-0.4, len(places) - 0.35 + 0.06 * len(places)])
    figure.update_yaxes(range=[low - 0.03, 1.08])
    return figure.update_layout(height=look.scale_height(280), hovermode="closest")


def build_depths_table(shown: Depths) -> pd.DataFrame:
    """Return the class separation after each model layer as a table: vector width, silhouette, neighbour purity."""
    rows = [(each.name, each.width, each.silhouette, each.purity) for each in shown.layers.stages]
    table = pd.DataFrame(rows, columns=["stage", "width", "silhouette", "purity"])
    return table.assign(n=len(shown.layers.rows), purity_by_chance=shown.layers.chance)


def _write_sample_size(n: int, total: int) -> str:
    return f"n = {count(n)}" + ("" if n == total else f" of {count(total)}, a stratified sample")


def _write_reading(shown: Depths) -> str:
    why = f" No silhouette: {shown.layers.reason}." if shown.layers.reason else ""
    return (
        f"Purity: share of the {NEIGHBORS} nearest sentences with the same class (dotted: by chance). "
        f"Silhouette: 1 for separate classes, 0 for overlap.{why}"
    )


MAP_LAYERS: Figure[Depths] = Figure(
    "map-layers",
    "embeddings",
    "Separation by layer",
    read_depths,
    draw_depths,
    note=lambda shown: _write_sample_size(len(shown.layers.rows), shown.layers.total),
    reading=_write_reading,
    how="The input of the first layer and the output of each layer: the mean of a text's own tokens; *head* is what "
    "the classifier reads. Silhouettes use the true class, neighbours the Euclidean distance in that space, not on a "
    "map; a sentence is not its own neighbour.",
    needs="hidden",
    options=(SPACE,),
    tables=lambda shown: {"Layers": build_depths_table(shown)},
)
