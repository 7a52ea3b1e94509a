"""Embedding maps of sentences, and measures of how far a map can be trusted."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.error_analysis.clusters import FoundGroups
from core.evaluation import projection
from core.evaluation.metrics import HALF
from core.evaluation.projection import NAMES, ROWS, Method, Projection, ProjectionConfig
from core.exceptions import InputError, NotAvailable
from core.formatting import count, number, whole_percent
from core.models.capabilities import EMBEDDING, HEAD, list_capabilities, list_spaces
from core.runs.projections import MapFiles
from core.text.graphemes import clip_text, wrap_bidi
from dashboard.figures import embedding_map
from dashboard.figures.embedding_map import GROUP, MapOverlays, PlacedSentence, PointGroup, Shades
from dashboard.figures.figure import FREE, Figure, Option, QuietOption, Source
from dashboard.figures.results import Stat
from dashboard.figures.theme import Look

HOVERED = 5_000  # most points with hover texts; the texts of more points would be larger than the figure
TOOLS = ("lasso2d", "select2d", "zoom2d", "pan2d", "resetScale2d")
WORDS = 70  # most characters of a sentence in its hover text
BY_NAME: dict[str, Method] = {NAMES[method]: method for method in projection.METHODS}
DIMENSIONS_BY_NAME = {"2-D": 2, "3-D": 3}
READING: dict[Method, str] = {
    "pca": "Each point is a sentence, drawn along the directions of largest variance.",
    "tsne": "Each point is a sentence; neighbours are similar. Cluster sizes and gaps mean nothing.",
    "umap": "Each point is a sentence; neighbours are similar. Distances between clusters mean little.",
}
FIELD = " Lines enclose 10, 30, 50, 70 and 90 % of the points."
HOW: dict[Method, str] = {
    "pca": "{}, centred, on their first principal axes (singular value decomposition, exact). A new sentence is placed "
    "exactly.",
    "tsne": "openTSNE. {}: perplexity 30 (less for few sentences), exact neighbours, started from PCA, one seed. "
    "Compare several seeds before you trust a shape.",
    "umap": "umap-learn. {}: 15 neighbours, least distance 0.1, one seed. Compare several seeds before you "
    "trust a shape.",
}
OFF, ON = "off", "on"


def write_hover_texts(points: pd.DataFrame) -> list[str]:
    """Return hover texts of map points: the sentence's beginning and prediction; empty if there are too many."""
    if len(points) > HOVERED:
        return []
    return [
        f"{wrap_bidi(clip_text(text, WORDS))} · label {label}, predicted {answer} ({number(chance)})"
        for text, label, answer, chance in points[["text", "label", "predicted", "probability"]].itertuples(index=False)
    ]


def name_axes(made: Projection, config: ProjectionConfig) -> list[str]:
    """Return the axis titles of an embedding map: PCA components with variance, else empty titles."""
    if not made.explained:
        return [""] * config.dimensions
    of = "of the variance" if config.dimensions == 2 else ""  # a 3-D map has no room for it
    return [f"component {i}, {100 * share:.0f} % {of}".rstrip() for i, share in enumerate(made.explained, start=1)]


def name_map(config: ProjectionConfig) -> str:
    """Return the name of an embedding map by its settings, such as `t-SNE, 2-D`."""
    return f"{NAMES[config.method]}, {config.dimensions}-D"


def compute_map_stats(made: Projection, config: ProjectionConfig, width: int) -> list[Stat]:
    """Return the numbers that show how far an embedding map can be trusted, such as the variance shown."""
    quality, n = made.quality, len(made.quality.rows)
    stats = []
    if not quality.reason:
        for name, samples in ((f"{width}-D original", quality.space), (name_map(config), quality.plane)):
            stats.append(Stat(f"Silhouette, {name}", float(samples.mean()), (-1.0, 1.0), n))
    if quality.preserved is not None:
        stats.append(Stat(f"{projection.NEIGHBORS} nearest neighbours kept", quality.preserved, (0.0, 1.0), n))
    if made.explained:
        stats.append(Stat("Variance shown", sum(made.explained), (0.0, 1.0), len(made.rows)))
    return stats


def build_point_table(made: Projection, points: pd.DataFrame) -> pd.DataFrame:
    """Return an embedding map as a table with a row per point: row number, coordinates, silhouettes, and its data."""
    table = pd.DataFrame({"row": made.rows, **dict(zip("xyz", made.places.T, strict=False))})
    if not made.quality.reason:
        for name, samples in (("silhouette_space", made.quality.space), ("silhouette_map", made.quality.plane)):
            table[name] = pd.Series(samples, index=made.quality.rows)
    return pd.concat([table, points.reset_index(drop=True)], axis=1)


METHOD = QuietOption(
    "method",
    "Method",
    lambda source: list(BY_NAME),
    "PCA is exact and immediate; t-SNE and UMAP keep neighbours together and take longer",
    endings={name: f"-{method}" for name, method in BY_NAME.items()},
)
DIMENSIONS = QuietOption(
    "dimensions", "Dimensions", lambda source: list(DIMENSIONS_BY_NAME), endings={"2-D": "", "3-D": "-3d"}
)
SENTENCES = QuietOption(
    "rows",
    "Sentences",
    lambda source: ["1000", str(ROWS), "10000"],
    "A seeded sample with the class shares of the split; ten thousand take a few minutes",
    usual=lambda source: str(ROWS),
)
COLOR = QuietOption("colour", "Colour", lambda source: source.reader.list_colorings(source.record, source.split))
"""The note of a map has its colouring and n, so `words` is empty."""
SPACE = Option(
    "space",
    "Vectors",
    lambda source: list_spaces(source.record.config.model),
    "Input of the model's head, input of its first layer, or output of a layer: mean over the tokens of a text",
    usual=lambda source: HEAD,
    words=lambda source, space: "" if space == HEAD else str(space),
)
DENSITY = QuietOption(
    "density",
    "Density",
    lambda source: [OFF, ON] if source.choices.get(DIMENSIONS.name, "2-D") == "2-D" else [],
    "Shades behind a flat map; lines enclose 10, 30, 50, 70 and 90 % of the points",
)
FIND = Option(
    "find",
    "Find",
    lambda source: FREE,
    "Sentences that contain this get a ring (any letter case)",
    words=lambda source, find: f"with “{find}”" if find else "",
)


@dataclass(frozen=True)
class SentenceMap:
    """Sentences of a split on an embedding map, with its colouring, search and markers."""

    files: MapFiles
    made: Projection
    placed: pd.DataFrame  # the texts on it, in the order of the map
    total: int  # texts of the split
    color: str
    classes: tuple[str, ...]
    width: int  # dimensions of the original space
    ordered: bool = False  # whether the classes are ordered, the worst first
    find: str = ""  # search text; empty: none
    density: bool = False  # whether density contours are drawn
    groups: FoundGroups | None = None  # clusters of the split, if the map is coloured by them
    typed: PlacedSentence | None = None  # a typed sentence on the map
    marked: tuple[int, ...] = ()  # selected rows of the split
    near: tuple[int, ...] = ()  # rows nearest to one sentence
    center: int | None = None  # the row of that sentence, if it is in the split

    @property
    def found_rows(self) -> tuple[int, ...]:
        """Return the row numbers of the sentences on a map that contain the searched text."""
        return tuple(self.made.rows[find_matches(self.placed, self.find)].tolist())

    @property
    def config(self) -> ProjectionConfig:
        """Return the projection settings of an embedding map."""
        return self.files.config


def find_matches(points: pd.DataFrame, find: str) -> np.ndarray:
    """Return a mask of the map points whose text contains the search text; all False without a search."""
    wanted = find.strip().casefold()
    found = points["text"].str.casefold().str.contains(wanted, regex=False).to_numpy(bool)
    return found & bool(wanted)


def read_map_config(source: Source) -> ProjectionConfig:
    """Return the chosen settings of an embedding map (for PCA, the number of texts cannot be chosen)."""
    method, dimensions = BY_NAME[str(source.get_choice(METHOD))], DIMENSIONS_BY_NAME[str(source.get_choice(DIMENSIONS))]
    rows = ROWS if method == "pca" else int(source.get_choice(SENTENCES))
    space = str(source.get_choice(SPACE))
    return ProjectionConfig(method, dimensions, rows, space="" if space == HEAD else space)


def read_map(source: Source) -> SentenceMap:
    """Read an embedding map (PCA is computed now, others must be stored); NotAvailable: not stored, or impossible."""
    record, reader, config = source.record, source.reader, read_map_config(source)
    if "pooled" not in list_capabilities(record.config.model):
        raise NotAvailable(f"{record.preset} makes no vector of a sentence")
    try:
        files = reader.get_map_files(record.run, source.evaluated, config)
    except InputError as error:
        raise NotAvailable(str(error)) from None
    made = reader.read_projection(record, files)
    if made is None:
        asked = f"--split {source.split} --method {config.method} --dimensions {config.dimensions}"
        asked += f" --space '{config.space}'" * bool(config.space)
        raise NotAvailable(f"it has not been computed: sentiscope project {record.run} {asked}")
    points, color = reader.read_points(record, source.split), str(source.get_choice(COLOR))
    width = reader.read_space(record, files).vectors.shape[1]
    return SentenceMap(
        *(files, made, points.iloc[made.rows], len(points), color, record.classes, width),
        ordered=record.ordered,
        find=str(source.get_choice(FIND)),
        density=config.dimensions == 2 and source.get_choice(DENSITY) == ON,
        groups=reader.find_groups(record, source.split)[1] if color == GROUP else None,
    )


def _draw_map(shown: SentenceMap, look: Look) -> go.Figure:
    axes, words = name_axes(shown.made, shown.config), write_hover_texts(shown.placed)
    places, rows, names = shown.made.places, shown.made.rows, list[tuple[str, np.ndarray]]()
    groups: list[PointGroup] | Shades
    if shown.color == GROUP:
        groups = embedding_map.color_groups(rows, shown.groups, look.tokens)
        names = [(each.name, each.points) for each in groups if each.front]
    else:
        groups = embedding_map.color_points(
            shown.placed, shown.color, shown.classes, look.tokens, ordered=shown.ordered
        )
    density = projection.estimate_density(places) if shown.density else None
    upon = MapOverlays(
        shown.marked, shown.found_rows, shown.find.strip(), shown.near, shown.center, shown.typed, names, density
    )
    return embedding_map.draw_map(places, rows, words, groups, axes, look, upon)


def _write_note(shown: SentenceMap) -> str:
    n = len(shown.made.rows)
    of = "" if n == shown.total else f" of {count(shown.total)}, a stratified sample, seed {shown.config.seed}"
    space = f"{shown.config.space}, " * bool(shown.config.space)
    return f"{space}n = {count(n)}{of}, colour: {shown.color}"


def _explain_method(shown: SentenceMap) -> str:
    of, space = "The vectors that the head reads", shown.config.space
    if space:
        place = "enter the first layer" if space == EMBEDDING else f"leave {space}"
        of = f"The vectors that {place}, their mean over the tokens of a text"
    return HOW[shown.config.method].format(of)


def describe_quality(shown: SentenceMap) -> str:
    """Describe in a sentence how many of each sentence's nearest neighbours an embedding map keeps."""
    kept, n = shown.made.quality.preserved, count(len(shown.made.rows))
    if kept is None:
        return f"A map of {n} sentences by {NAMES[shown.config.method]}."
    trust = "" if kept >= HALF else ": do not trust its distances"
    return f"The map keeps {whole_percent(kept)} of nearest neighbours{trust}."


MAP = Figure("map", "embeddings", lambda shown: name_map(shown.config), read_map, _draw_map).add_details(
    note=_write_note,
    reading=lambda shown: READING[shown.config.method] + FIELD * shown.density,
    finding=describe_quality,
    how=_explain_method,
    options=(METHOD, DIMENSIONS, SPACE, COLOR, SENTENCES, DENSITY, FIND),
    spread=(METHOD, DIMENSIONS),
    tables=lambda shown: {"Points": build_point_table(shown.made, shown.placed)},
)
