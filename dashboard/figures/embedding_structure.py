"""Structure of an embedding space: separation of classes, clusters, and nearest sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.error_analysis.clusters import NONE, FoundGroups, build_table
from core.error_analysis.neighbors import LOOKED_AT, SharedNeighbors, find_neighbors, find_row, find_surrounding
from core.error_analysis.predictions_table import PredictionTable
from core.evaluation.intervals import compute_wilson
from core.evaluation.projection import NEIGHBORS, Projection, ProjectionConfig
from core.exceptions import NotAvailable
from core.formatting import count, number, whole_percent
from core.models.capabilities import HEAD
from core.runs.projections import Layers
from core.text.graphemes import quote_text
from dashboard.figures import embeddings
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import DataTable, Panels, TableColumn, escape_text, make_whiskers
from dashboard.figures.embedding_map import Floats
from dashboard.figures.embeddings import SPACE, SentenceMap, name_map, read_map_config
from dashboard.figures.figure import FREE, LONGEST, Figure, QuietOption, Source, make_interval_figure
from dashboard.figures.filtering import ORDER, SELECT, select_rows
from dashboard.figures.interval_table import IntervalTable, Mark, make_axis
from dashboard.figures.theme import Look, color_classes, spread_labels

LEAST = 2  # fewest sentences whose common neighbours are counted
SEVERAL = {"near": TableColumn("Near to", "Selected sentences that have it among their ten nearest", width=80)}
NEAREST_COLUMNS = {
    "distance": TableColumn("Distance", "Euclidean, in the space of the model; for several: the mean", 3, width=90),
    "text": TableColumn("Sentence", width=380),
    "true": TableColumn("Label", width=110),
    "predicted": TableColumn("Predicted", width=110),
}
TRAINING_COLUMNS = {
    **SEVERAL,
    "likeness": TableColumn("Cosine", "Mean to these, in the input of the model's head", 3, width=80),
    "text": TableColumn("Training sentence", width=380),
    "label": TableColumn("Label", width=110),
}


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
    titles, found = (f"original space, {width} dimensions", f"projection: {name_map(config)}"), []
    for title, samples in zip(titles, (made.quality.space, made.quality.plane), strict=True):
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


def _read_silhouettes(source: Source) -> MapSilhouettes:
    shown = source.read_once(embeddings.read_map)
    if reason := shown.made.quality.reason:
        raise NotAvailable(f"it compares a class with the nearest other one, and {reason}")
    return MapSilhouettes(shown, *group_silhouettes(shown.made, shown.placed, shown.classes, shown.config, shown.width))


def _draw_spaces(shape: MapSilhouettes, look: Look) -> go.Figure:
    colors = color_classes(look.tokens, shape.shown.classes, ordered=shape.shown.ordered)
    return draw_silhouettes(shape.spaces, [colors[i] for i in shape.there], look)


SILHOUETTES = Figure("silhouettes", "embeddings", "Silhouette by class", _read_silhouettes, _draw_spaces).add_details(
    note=lambda shape: (
        f"{name_map(shape.shown.config)}, "
        + _write_sample_size(len(shape.shown.made.quality.rows), len(shape.shown.made.rows))
    ),
    reading="One line per sentence. Below zero: closer to another class.",
    how="(b − a) / max(a, b): a is the mean distance to the true class, b to the nearest other class (Rousseeuw 1987, "
    "Euclidean). Solid: class mean; dotted: mean of all. If the two spaces disagree, trust the original one.",
    options=(embeddings.METHOD, embeddings.DIMENSIONS, SPACE, embeddings.SENTENCES),
    spread=(embeddings.METHOD,),
    tables=lambda shape: {"Silhouettes": build_silhouette_table(shape.spaces)},
)


@dataclass(frozen=True)
class Depths:
    """Class separation of sentence vectors after each part of a model: embedding, layers, classification head."""

    layers: Layers
    chosen: str = HEAD  # the stage of the map


def _read_depths(source: Source) -> Depths:
    found = source.reader.read_separability(source.record, source.evaluated)
    if found is None:
        command = f"sentiscope layers {source.record.run} --split {source.split}"
        raise NotAvailable(f"its layers have not been read: {command}")
    return Depths(found, str(source.get_choice(SPACE)))


def draw_depths(shown: Depths, look: Look) -> go.Figure:
    """Draw neighbour purity and silhouette of the classes after each part of a model, with the purity due to chance."""
    t, stages = look.tokens, shown.layers.stages
    names, places = [each.name for each in stages], list(range(len(stages)))
    figure = Panels(look, [[""]], height=280)
    if shown.chosen in names:
        at = names.index(shown.chosen)
        band: dict[str, Any] = {"y0": 0, "y1": 1, "yref": "y domain", "line": {"width": 0}, "layer": "below"}
        figure.add_shape(type="rect", x0=at - 0.2, x1=at + 0.2, fillcolor=t.panel, **band)
    lines = (("purity", t.accent, "circle", "solid"), ("silhouette", t.ink, "diamond", "dash"))
    ends: list[tuple[str, float, str]] = []
    for name, color, symbol, dash in lines:
        if None in (values := [getattr(each, name) for each in stages]):
            continue
        ends.append((name, values[-1], color))
        ranges = [each.interval for each in stages if each.interval]
        whole = name == "silhouette" and len(ranges) == len(stages)
        spans = make_whiskers(values, ranges, look.scale_size(1.4)) if whole else None
        drawn: dict[str, Any] = {"stroke": (color, 2, dash), "dots": (color, 8, symbol), "error_y": spans}
        drawn |= {"text": [number(value, 2) for value in values], "textposition": "top center", "cliponaxis": False}
        drawn |= {"textfont": {"color": color, "size": look.scale_size(13)}, "mode": "lines+markers+text"}
        hover = f"%{{customdata}}<br>{name} %{{y:.3f}}"
        figure.add_scatter(x=places, y=values, customdata=names, hover=hover, **drawn)
    if any(name == "purity" for name, _, _ in ends):
        chance = shown.layers.chance
        ends.append(("by chance", chance, t.muted))
        figure.add_hline(y=chance, line={"color": t.muted, "width": look.scale_size(1), "dash": "dot"}, layer="below")
    low = min([0.0, *(value for _, value, _ in ends)])
    figure.add_end_labels(ends, 0.1 * (1 - low), x=places[-1] + 0.12, bgcolor=t.paper)
    figure.update_xaxes(tickvals=places, ticktext=names, range=[-0.4, len(places) - 0.35 + 0.06 * len(places)])
    figure.update_yaxes(range=[low - 0.03, 1.08])
    figure.update_layout(hovermode="closest", margin={"t": 8})
    return figure.build_figure()


def _build_depths_table(shown: Depths) -> pd.DataFrame:
    rows = [
        (each.name, each.width, each.silhouette, *(each.interval or (None, None)), each.purity)
        for each in shown.layers.stages
    ]
    table = pd.DataFrame(rows, columns=["stage", "width", "silhouette", "low", "high", "purity"])
    return table.assign(n=len(shown.layers.rows), purity_by_chance=shown.layers.chance)


def _write_sample_size(n: int, total: int) -> str:
    return f"n = {count(n)}" + ("" if n == total else f" of {count(total)}, a stratified sample")


MAP_LAYERS = Figure[Depths]("map-layers", "embeddings", "Separation by layer", _read_depths, draw_depths).add_details(
    note=lambda shown: _write_sample_size(len(shown.layers.rows), shown.layers.total),
    reading=lambda shown: (
        f"Purity: share of the {NEIGHBORS} nearest sentences with the same class (dotted: by chance). Silhouette: 1 "
        "for separate classes, 0 for overlap; whiskers: 95 %."
        + (f" No silhouette: {shown.layers.reason}." if shown.layers.reason else "")
    ),
    how="The input of the first layer and the output of each layer: the mean of a text's own tokens; *head* is what "
    "the classifier reads. Silhouettes use the true class, neighbours the Euclidean distance in that space, not on a "
    "map; a sentence is not its own neighbour.",
    needs="hidden",
    options=(SPACE,),
    tables=lambda shown: {"Layers": _build_depths_table(shown)},
)


@dataclass(frozen=True, eq=False)
class EmbeddingClusters:
    """Clusters of a split's sentences in embedding space."""

    table: PredictionTable
    found: FoundGroups
    picked: str = ""  # name of the selected cluster

    def get_places(self, name: str) -> np.ndarray:
        """Return the row numbers of the sentences in a named embedding cluster; empty if no cluster has this name."""
        every = {each.name: each.places for each in self.found.groups} | {NONE: self.found.none}
        return every.get(name, np.empty(0, np.int64))

    def describe_group(self, name: str) -> str:
        """Describe an embedding cluster in words, for the bar that names the selected rows."""
        return ("in no cluster" if name == NONE else f"cluster “{name}”") + " in embedding space"


def _read_groups(source: Source) -> EmbeddingClusters:
    found = EmbeddingClusters(*source.reader.find_groups(source.record, source.evaluated))
    if found.found.reason:
        raise NotAvailable(found.found.reason)
    return found


def _build_groups_table(shown: EmbeddingClusters) -> IntervalTable:
    wrong, rows, total = shown.table.wrong, [], len(shown.found.rows)
    overall = float(wrong[shown.found.rows].mean()) if total else 0.0
    words = {each.name: ", ".join(word.words for word in each.words) for each in shown.found.groups}
    for name in (*words, NONE):
        places = shown.get_places(name)
        errors, n = int(wrong[places].sum()), len(places)
        low, high = compute_wilson(errors, n)
        about = {"group": name, "words": words.get(name, ""), "n": n, "wrong": errors}
        rows.append(about | {"rate": errors / n if n else None, "low": low, "high": high})

    def mark_rate(row: Mapping[str, Any]) -> Mark:
        rate, low, high = (100 * row[key] for key in ("rate", "low", "high"))
        said = f"{number(rate, 1)} % wrong ({number(low, 1)} to {number(high, 1)} %)"
        return Mark(rate, low, high, tie=row["low"] <= overall <= row["high"], said=said)

    return IntervalTable(
        "Clusters of sentences in embedding space",
        (
            columns.name("name", "Typical words", "group", "17rem", group="group"),
            columns.make_csv_columns("words"),
            columns.count("n", "sentences", "n", "5.4rem"),
            columns.text("share", "of all", lambda row: f"{100 * row['n'] / total:.0f} %", "4rem", soft=True, opt=True),
            columns.interval("rate", "wrong", mark_rate, partial(make_axis, zero=0.0, ends=(0.0, 100.0))),
            columns.text("wrong", "% wrong", lambda row: number(100 * row["rate"], 1), "5.4rem"),
            columns.make_csv_columns("wrong", "rate", "low", "high"),
        ),
        rows,
        "group",
        shown=[row for row in rows if row["n"]],
        apart=lambda row: row["group"] == NONE,
    )


MAP_GROUPS: Figure[EmbeddingClusters] = make_interval_figure(
    "map-groups",
    "embeddings",
    "Clusters",
    _read_groups,
    _build_groups_table,
    "Groups",
    note=lambda shown: f"n = {count(len(shown.found.rows))}, {count(len(shown.found.none))} in no cluster",
    reading=lambda shown: (
        "Bar: 95 % interval of the error rate. Ring: no clear difference from all."
        if shown.found.groups
        else f"No cluster: nowhere do {count(shown.found.least)} sentences lie close together, apart from the others."
    ),
    how="HDBSCAN (Campello, Moulavi and Sander 2013) on the vectors that the model's head reads, not on a map. A "
    "cluster has at least ten sentences, or 1 % if that is more, and at most half of all; sentences in sparse regions "
    "have none. Its name: the words and phrases that it has most more often than all others, by log-odds with a prior "
    "from all sentences (Monroe, Colaresi and Quinn 2008), a ranking and no test. The same vectors give the same "
    "clusters. Click a cluster to select its sentences.",
    needs="pooled",
    more=lambda shown: {"Grouped": build_table(shown.table, shown.found)},
)

AT = QuietOption(
    "at", "Sentence", lambda source: FREE, "Key of the row whose neighbours are shown, if there is no text"
)


@dataclass(frozen=True, eq=False)
class NearestSentences:
    """Sentences that are nearest to one sentence, or to several, in embedding space."""

    of: str  # the text, or a description of the sentences
    row: int | None  # its row in the split; None: a typed text, or several sentences
    found: pd.DataFrame  # result of `core.error_analysis.neighbors`
    space: str
    total: int  # sentences that were compared
    n: int = 1  # number of sentences whose neighbours these are


def find_nearest(source: Source) -> NearestSentences:
    """Find the sentences nearest to a typed text in embedding space; without a text, to the chosen or selected rows.

    NotAvailable: no sentence, no space, or unread layers; InputError: an unknown key, or a wrong selection.
    """
    record, reader, key, split = source.record, source.reader, str(source.get_choice(AT)), source.evaluated
    if not source.text.strip() and not key:
        if SELECT.name not in source.choices:
            raise NotAvailable("a sentence is needed: --text, --with at=KEY or --with select=RULES")
        shown = select_rows(source)
        return find_shared_nearest(source, shown.places, shown.description)
    table = reader.read_table(record, split)
    files = reader.get_map_files(record.run, split, read_map_config(source))
    space = reader.read_space(record, files)
    row = None if source.text.strip() else find_row(table, key)
    text = source.text if row is None else table.texts[row]
    own = [] if row is None else (space.rows == row).nonzero()[0].tolist()
    asked = space.vectors[own[0]] if own else reader.embed_text(record, files, text)
    found = find_neighbors(table, space, asked, row)
    return NearestSentences(text, row, found, files.config.space or HEAD, len(space.rows) - len(own))


def find_shared_nearest(source: Source, places: np.ndarray | Sequence[int], said: str) -> NearestSentences:
    """Find the sentences nearest to a group of sentences by embedding; NotAvailable: fewer than two have a vector."""
    files = source.reader.get_map_files(source.record.run, source.split, read_map_config(source))
    space = source.reader.read_space(source.record, files)
    n = int(np.isin(space.rows, places).sum())
    if n < LEAST:
        raise NotAvailable("two selected sentences or more are needed")
    found = find_surrounding(source.reader.read_table(source.record, source.split), space, np.asarray(places, int))
    return NearestSentences(said, None, found, files.config.space or HEAD, len(space.rows) - n, n)


def _write_note(shown: NearestSentences) -> str:
    space = "what the head reads" if shown.space == HEAD else shown.space
    sample = f", a sample of {count(LOOKED_AT)}" if shown.n > LOOKED_AT else ""
    of = quote_text(shown.of, LONGEST) if shown.n == 1 else f"{count(shown.n)} selected{sample}"
    return f"{of}, among {count(shown.total)}{'' if shown.n == 1 else ' others'}, in the space of {space}"


def _draw_nearest(shown: NearestSentences, look: Look) -> DataTable:
    columns = ({} if shown.n == 1 else SEVERAL) | NEAREST_COLUMNS
    return DataTable(shown.found[list(columns)], columns)


MAP_NEIGHBORS = Figure("map-neighbours", "embeddings", "Nearest neighbours", find_nearest, _draw_nearest).add_details(
    note=_write_note,
    reading=lambda shown: (
        f"{'Nearest' if shown.n == 1 else 'Near to most'} first. Another class nearby: the model sees no difference."
    ),
    how="Euclidean distance between vectors in the space that the map is made from, not on the map. A sentence is "
    "not its own neighbour, but a second copy of its text is, at distance 0. For several sentences: each has its ten "
    "nearest among the unselected ones; one of these counts once for each selected one that has it among its ten.",
    needs="pooled",
    options=(AT, SPACE, SELECT),
    tables=lambda shown: {"Neighbours": shown.found},
)


def _find_training_neighbors(source: Source) -> SharedNeighbors:
    shown = select_rows(source)
    if len(shown.places) < LEAST:
        raise NotAvailable("two sentences or more are needed: --with select=RULES")
    return source.reader.find_common_training(shown)


MAP_COMMON = Figure("map-training", "embeddings", "Nearest training sentences").add_details(
    read=_find_training_neighbors,
    draw=lambda near, look: DataTable(near.found[list(TRAINING_COLUMNS)], TRAINING_COLUMNS),
    note=lambda near: f"{count(near.n)} selected, among {count(near.among)} training sentences",
    reading=lambda near: (
        f"Of the {near.each} nearest training sentences of each, {whole_percent(near.true)} have its "
        f"true label and {whole_percent(near.said)} its predicted label."
    ),
    how="Each selected sentence has its ten nearest training sentences, by cosine of what the model's head reads; a "
    "training sentence counts once for each selected one that has it among its ten. The vectors are not averaged: the "
    "mean of a selection may be far from all its sentences. If either side is very large, a sample of it is compared.",
    needs="pooled",
    options=(SELECT, ORDER),
    tables=lambda near: {"Training neighbours": near.found},
)
