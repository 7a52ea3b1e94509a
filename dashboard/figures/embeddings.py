"""Where sentences lie on a map, and how clearly each stands with its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.evaluation.projection import METHODS, NAMES, NEIGHBOURS, ROWS, Method, Projection, ProjectionConfig
from core.exceptions import InputError, NotAvailable
from core.models.provides import provides
from core.runs.projections import MapFiles
from core.runs.record import LABEL
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count, number
from dashboard.figures.points import PHENOMENON, PREDICTED
from dashboard.figures.results import Stat
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look, Tokens, class_colours, template

HOVERED = 5_000
"""Above so many points their texts would weigh more than the figure; they are read by selecting."""
TOOLS = ("lasso2d", "select2d", "zoom2d", "pan2d", "resetScale2d")
Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Group:
    """Points that share a colour."""

    name: str
    points: NDArray[np.integer]
    """Positions on the map."""
    colour: str
    symbol: str = "circle"
    front: bool = False
    """Drawn above the others, a little larger."""


@dataclass(frozen=True)
class Shades:
    """One value for each point instead of groups."""

    title: str
    values: Floats
    low: float
    high: float


@dataclass(frozen=True)
class Placed:
    """The typed sentence."""

    place: Floats
    text: str


COLOURS = ("label", "prediction", "correctness", "confidence")
OF = "label "
"""Before a label, the way of colouring by it, where sentences may have several."""
KINDS = 6
"""Phenomena with a colour of their own: more categories than six are hard to tell apart."""
WORDS = 70
"""Characters of a sentence that are shown when it is pointed at."""


def ways(points: pd.DataFrame) -> list[str]:
    """What the points can be coloured by."""
    bits = [f"{OF}{name.removeprefix(LABEL)}" for name in map(str, points) if name.startswith(LABEL)]
    first = [*bits, *(way for way in COLOURS if way not in ("label", "prediction"))] if bits else list(COLOURS)
    return [*first, PHENOMENON] if PHENOMENON in points else first


def colouring(
    points: pd.DataFrame, way: str, classes: Sequence[str], tokens: Tokens, *, ordered: bool = False
) -> list[Group] | Shades:
    """The placed `points`, in the order of the map, as groups or shades."""
    if way.startswith(OF):
        return _with_label(points, way.removeprefix(OF), tokens)
    if way == "confidence":
        least = 0.0 if any(str(name).startswith(LABEL) for name in points) else 1 / len(classes)
        return Shades("P(predicted)", points["probability"].to_numpy(float), least, 1.0)
    if way == "correctness":
        wrong = (points["label"] != points["predicted"]).to_numpy()
        return [
            Group("correct", np.flatnonzero(~wrong), tokens.right),
            Group("wrong", np.flatnonzero(wrong), tokens.wrong, "x", front=True),
        ]
    if way == PHENOMENON:
        return _kinds(points[PHENOMENON].astype(str), tokens)
    column = points["label" if way == "label" else "predicted"].to_numpy()
    return [
        Group(name, np.flatnonzero(column == name), colour)
        for name, colour in zip(classes, class_colours(tokens, classes, ordered=ordered), strict=True)
    ]


def _with_label(points: pd.DataFrame, label: str, tokens: Tokens) -> list[Group]:
    """The sentences that have a label, found or missed at 0.5, in front of all others."""
    has = points[f"{LABEL}{label}"].to_numpy() != 0
    found = points[f"{PREDICTED}{label}"].to_numpy(bool)
    return [
        Group("others", np.flatnonzero(~has & ~found), tokens.right),
        Group(f"predicted {label}, is not", np.flatnonzero(~has & found), tokens.wrong, "x"),
        Group(f"{label}, missed", np.flatnonzero(has & ~found), tokens.categories[1], "diamond", front=True),
        Group(f"{label}, found", np.flatnonzero(has & found), tokens.accent, front=True),
    ]


def _kinds(column: pd.Series, tokens: Tokens) -> list[Group]:
    """The most frequent kinds in colour, all others together in grey behind them."""
    order = list(column.value_counts().index[:KINDS])
    groups = [
        Group(kind, np.flatnonzero(column == kind), colour, front=True)
        for kind, colour in zip(order, tokens.categories, strict=False)
    ]
    rest = np.flatnonzero(~column.isin(order))
    return [Group("others", rest, tokens.right), *groups] if len(rest) else groups


def hover_words(points: pd.DataFrame) -> list[str]:
    """The beginning of each sentence and its prediction; nothing where there are too many."""
    if len(points) > HOVERED:
        return []
    return [
        f"{text[:WORDS]}{'…' if len(text) > WORDS else ''} · is {label}, predicted {answer} ({number(chance)})"
        for text, label, answer, chance in points[["text", "label", "predicted", "probability"]].itertuples(index=False)
    ]


def axis_titles(made: Projection, config: ProjectionConfig) -> list[str]:
    """What lies along each axis; nothing where a direction means nothing."""
    if not made.explained:
        return [""] * config.dimensions
    of = "of the variance" if config.dimensions == 2 else ""  # in space there is no room for it
    return [f"component {i}, {100 * share:.0f} % {of}".rstrip() for i, share in enumerate(made.explained, start=1)]


def map_name(config: ProjectionConfig) -> str:
    """`t-SNE, 2-D`."""
    return f"{NAMES[config.method]}, {config.dimensions}-D"


def map_stats(made: Projection, config: ProjectionConfig, width: int) -> list[Stat]:
    """How far the map can be believed."""
    quality, n = made.quality, len(made.quality.rows)
    stats = []
    if not quality.reason:
        stats.append(Stat(f"Silhouette, {width}-D original", float(quality.space.mean()), (-1.0, 1.0), n))
        stats.append(Stat(f"Silhouette, {map_name(config)}", float(quality.plane.mean()), (-1.0, 1.0), n))
    if quality.preserved is not None:
        stats.append(Stat(f"{NEIGHBOURS} nearest neighbours kept", quality.preserved, (0.0, 1.0), n))
    if made.explained:
        stats.append(Stat("Variance shown", sum(made.explained), (0.0, 1.0), len(made.rows)))
    return stats


def point_table(made: Projection, points: pd.DataFrame) -> pd.DataFrame:
    """The map as a table: row, coordinates, silhouettes where measured, and what is known of the sentence."""
    axes = {name: made.places[:, i] for i, name in enumerate("xyz"[: made.places.shape[1]])}
    table = pd.DataFrame({"row": made.rows, **axes})
    if not made.quality.reason:
        for name, samples in (("silhouette_space", made.quality.space), ("silhouette_map", made.quality.plane)):
            table[name] = pd.Series(samples, index=made.quality.rows)
    return pd.concat([table, points.reset_index(drop=True)], axis=1)


def draw_map(
    places: Floats,
    rows: NDArray[np.integer],
    words: Sequence[str],
    colouring: Sequence[Group] | Shades,
    axes: Sequence[str],
    look: Look,
    *,
    placed: Placed | None = None,
    marked: Sequence[int] = (),
) -> go.Figure:
    """The map. Points carry `customdata` = their row of the split.

    Args:
        places: (m, k), k = 2 or 3.
        rows: (m,) rows of the split.
        words: m texts to show when pointed at, unescaped; empty for none.
        colouring: Groups that together are all points, or a value for each.
        axes: k titles; empty where a direction means nothing.
        look: Theme and size.
        placed: A further sentence with a mark of its own.
        marked: Rows of the split that are selected; all others fade.
    """
    figure = go.Figure(layout={"template": template(look)})
    shown = [escape(word) for word in words]
    groups = [Group("", np.arange(len(places)), "")] if isinstance(colouring, Shades) else colouring
    for group in sorted(groups, key=lambda group: group.front):
        _points(figure, places, rows, shown, group, colouring if isinstance(colouring, Shades) else None, look)
    if marked:
        _select(figure, places, rows, marked, look)
    if placed is not None:
        _mark(figure, placed, look)
    (_flat if places.shape[1] == 2 else _deep)(figure, axes, look)
    many = not isinstance(colouring, Shades)
    figure.update_layout(
        height=look.height(560 if places.shape[1] == 2 else 620),
        margin={"t": look.size(34) if many else 8},
        showlegend=many,
        legend={"orientation": "h", "y": 1.01, "yanchor": "bottom", "x": 0, "itemsizing": "constant"},
        uirevision="map",
        modebar={"orientation": "v"},  # beside the points: above them stands the legend
    )
    return figure


def _points(
    figure: go.Figure,
    places: Floats,
    rows: NDArray[np.integer],
    shown: Sequence[str],
    group: Group,
    shades: Shades | None,
    look: Look,
) -> None:
    t, at = look.tokens, group.points
    size = look.size((7 if group.front else 6) if len(places) <= 1500 else 5 if group.front else 4)
    marker = {"size": size, "symbol": group.symbol, "opacity": 0.9 if group.front else 0.7, "color": group.colour}
    if shades is not None:
        bar = {"title": {"text": shades.title}, "thickness": 12, "outlinewidth": 0, "tickformat": ".1f"}
        bar |= {"len": 0.6, "y": 0, "yanchor": "bottom"}  # below the buttons
        marker |= {"color": shades.values, "cmin": shades.low, "cmax": shades.high, "colorbar": bar}
        marker["colorscale"] = [[i / 3, colour] for i, colour in enumerate(t.ordinal)]
    text = {"text": [shown[i] for i in at], "hovertemplate": "%{text}<extra></extra>"} if shown else {}
    common = {
        "name": f"{escape(group.name)} <span style='color:{t.muted}'>n = {count(len(at))}</span>",
        "mode": "markers",
        "marker": marker,
        "customdata": rows[at].tolist(),
        **(text or {"hoverinfo": "skip"}),
    }
    if places.shape[1] == 3:
        figure.add_scatter3d(x=places[at, 0], y=places[at, 1], z=places[at, 2], **_solid(common))
        return
    figure.add_scattergl(
        x=places[at, 0],
        y=places[at, 1],
        **common,
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 0.15}},
    )


def _select(figure: go.Figure, places: Floats, rows: NDArray[np.integer], marked: Sequence[int], look: Look) -> None:
    """As if they had been drawn around; in space, where nothing can be selected, with a ring each."""
    if places.shape[1] == 2:
        for trace in figure.data:
            trace.selectedpoints = np.flatnonzero(np.isin(trace.customdata, marked)).tolist()
        return
    x, y, z = places[np.isin(rows, marked)].T
    marker = {"size": look.size(7), "symbol": "circle-open", "color": look.tokens.ink, "line": {"width": 3}}
    figure.add_scatter3d(x=x, y=y, z=z, mode="markers", marker=marker, name="selected", hoverinfo="skip")


def _solid(common: dict[str, object]) -> dict[str, object]:
    """In space a cross is drawn thick, and markers need half the size."""
    marker = dict(common["marker"])  # type: ignore[call-overload]
    marker["size"] = marker["size"] * 0.6
    return {**common, "marker": marker}


def _mark(figure: go.Figure, placed: Placed, look: Look) -> None:
    t = look.tokens
    marker = {"size": look.size(17), "symbol": "diamond", "color": t.accent, "line": {"color": t.paper, "width": 3}}
    name = "your sentence"
    common = {
        "name": name,
        "mode": "markers",
        "hovertext": escape(placed.text[:80]),
        "hovertemplate": f"{name}<br>%{{hovertext}}<extra></extra>",
    }
    if len(placed.place) == 3:
        x, y, z = ([value] for value in placed.place)
        figure.add_scatter3d(x=x, y=y, z=z, marker={**marker, "size": look.size(9)}, **common)
    else:
        x, y = ([value] for value in placed.place)
        figure.add_scattergl(x=x, y=y, marker=marker, **common)  # in the same layer, above the points


def _flat(figure: go.Figure, axes: Sequence[str], look: Look) -> None:
    bare = {"showgrid": False, "showticklabels": False, "zeroline": False}
    figure.update_xaxes(title_text=axes[0], **bare)
    figure.update_yaxes(title_text=axes[1], scaleanchor="x", **bare)
    figure.update_layout(
        dragmode="lasso",
        clickmode="event+select",
        newselection={"line": {"color": look.tokens.accent, "width": 2, "dash": "solid"}},
    )


def _deep(figure: go.Figure, axes: Sequence[str], look: Look) -> None:
    t = look.tokens
    names = ("xaxis", "yaxis", "zaxis")
    side = {
        "showticklabels": False,
        "gridcolor": t.grid,
        "showbackground": False,
        "zeroline": False,
        "showspikes": False,
    }
    font = {"size": look.size(13), "color": t.muted}
    scene = {name: {**side, "title": {"text": title, "font": font}} for name, title in zip(names, axes, strict=True)}
    figure.update_layout(scene={**scene, "aspectmode": "data", "dragmode": "orbit"})


BY_NAME: dict[str, Method] = {NAMES[method]: method for method in METHODS}
DIMENSIONS_BY_NAME = {"2-D": 2, "3-D": 3}
READING: dict[Method, str] = {
    "pca": "Each point is a sentence, seen along the directions in which the sentences differ most.",
    "tsne": ("Each point is a sentence; neighbours are alike. Sizes of clusters and gaps between them mean nothing."),
    "umap": "Each point is a sentence; neighbours are alike. Distances between clusters mean little.",
}
HOW: dict[Method, str] = {
    "pca": (
        "The vectors that the model's head reads, centred, on their first principal axes (singular value "
        "decomposition, exact). A new sentence is placed exactly."
    ),
    "tsne": (
        "openTSNE on the vectors that the model's head reads: perplexity 30 (less for few sentences), exact "
        "neighbours, started from PCA, one seed. Look at several seeds before believing a shape."
    ),
    "umap": (
        "umap-learn on the vectors that the model's head reads: 15 neighbours, least distance 0.1, one seed. Look at "
        "several seeds before believing a shape."
    ),
}
METHOD = Option(
    "method",
    "Method",
    lambda source: list(BY_NAME),
    "PCA is exact and there at once; t-SNE and UMAP keep neighbours together and take a while",
    words=lambda source, method: "",
    endings={name: f"-{method}" for name, method in BY_NAME.items()},
)
DIMENSIONS = Option(
    "dimensions",
    "Dimensions",
    lambda source: list(DIMENSIONS_BY_NAME),
    words=lambda source, dimensions: "",
    endings={"2-D": "", "3-D": "-3d"},
)
SENTENCES = Option(
    "rows",
    "Sentences",
    lambda source: ["1000", str(ROWS), "10000"],
    "A seeded sample with the class shares of the split; ten thousand take some minutes",
    usual=lambda source: str(ROWS),
    words=lambda source, rows: "",
)
COLOUR = Option(
    "colour",
    "Colour",
    lambda source: ways(source.reader.points(source.record, source.split)),
    words=lambda source, colour: "",
)
"""Called `METHOD`, … after what the link calls them; a map's note has its colour and its n."""


@dataclass(frozen=True)
class Mapped:
    """A split on a map."""

    files: MapFiles
    made: Projection
    placed: pd.DataFrame
    """The texts on it, in the order of the map."""
    total: int
    """Texts of the split."""
    colour: str
    classes: tuple[str, ...]
    width: int
    """Dimensions of the original space."""
    typed: Placed | None = None
    """A text that somebody put on it."""
    ordered: bool = False
    """Whether the classes stand in an order, the worst first."""
    marked: tuple[int, ...] = ()
    """Rows of the split that are selected."""

    @property
    def config(self) -> ProjectionConfig:
        """What kind of map it is."""
        return self.files.config


def map_config(source: Source) -> ProjectionConfig:
    """The map as chosen; PCA places all texts, so that their number does not matter."""
    method, dimensions = BY_NAME[str(source.chosen(METHOD))], DIMENSIONS_BY_NAME[str(source.chosen(DIMENSIONS))]
    rows = ROWS if method == "pca" else int(source.chosen(SENTENCES))
    return ProjectionConfig(method, dimensions, rows)


def mapped(source: Source) -> Mapped:
    """A map that is there: PCA is made, others are read.

    Raises:
        NotAvailable: it has not been computed, or cannot be of this run.
    """
    record, reader, config = source.record, source.reader, map_config(source)
    if "pooled" not in provides(record.config.model):
        raise NotAvailable(f"{record.preset} makes no vector of a sentence")
    if not source.split:
        raise NotAvailable(f"it is {record.status} and has not been evaluated")
    try:
        files = reader.map_files(record.run, source.split, config)
    except InputError as error:
        raise NotAvailable(str(error)) from None
    made = reader.projection(record, files)
    if made is None:
        asked = f"--method {config.method} --dimensions {config.dimensions}"
        command = f"sentiscope project {record.run} --split {source.split} {asked}"
        raise NotAvailable(f"it has not been computed: {command}")
    points = reader.points(record, source.split)
    placed, colour = points.iloc[made.rows], str(source.chosen(COLOUR))
    width = reader.width(record, files)
    return Mapped(files, made, placed, len(points), colour, record.classes, width, ordered=record.ordered)


def _draw(shown: Mapped, look: Look) -> go.Figure:
    groups = colouring(shown.placed, shown.colour, shown.classes, look.tokens, ordered=shown.ordered)
    axes, words = axis_titles(shown.made, shown.config), hover_words(shown.placed)
    places, rows = shown.made.places, shown.made.rows
    return draw_map(places, rows, words, groups, axes, look, placed=shown.typed, marked=shown.marked)


def _note(shown: Mapped) -> str:
    n = len(shown.made.rows)
    of = "" if n == shown.total else f" of {count(shown.total)}, a stratified sample, seed {shown.config.seed}"
    return f"n = {count(n)}{of}, colour: {shown.colour}"


MAP = Figure(
    "map",
    "embeddings",
    lambda shown: map_name(shown.config),
    mapped,
    _draw,
    note=_note,
    reading=lambda shown: READING[shown.config.method],
    how=lambda shown: HOW[shown.config.method],
    options=(METHOD, DIMENSIONS, COLOUR, SENTENCES),
    spread=(METHOD, DIMENSIONS),
    tables=lambda shown: {"Points": point_table(shown.made, shown.placed)},
)
