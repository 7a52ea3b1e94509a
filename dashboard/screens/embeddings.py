"""Map: where the sentences of a split lie in the model's own space, and how clearly its classes are apart."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.evaluation.projection import METHODS as METHOD_NAMES
from core.evaluation.projection import NAMES, NEIGHBOURS, ROWS, Method, Projection, ProjectionConfig
from core.exceptions import RunDamaged
from core.models.provides import provides
from core.runs.projections import MapFiles
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures import embeddings, readings
from dashboard.figures.baselines import reads_without
from dashboard.figures.embeddings import TOOLS, Placed, draw_map
from dashboard.figures.numbers import count
from dashboard.figures.silhouettes import draw_silhouettes, silhouette_table, spectra
from dashboard.figures.theme import class_colours
from dashboard.widgets.examples import example_table, in_sight
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, figure
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, selection_note
from dashboard.widgets.projecting import not_yet
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.stats import stats
from dashboard.widgets.style import look

QUESTION = "Which sentences does the model take for alike, and are its classes apart?"
METHODS: dict[str, Method] = {NAMES[method]: method for method in METHOD_NAMES}
DIMENSIONS = {"2-D": 2, "3-D": 3}
SIZES = ["1000", str(ROWS), "10000"]
QUICK = "PCA is exact and there at once; t-SNE and UMAP keep neighbours together and take a while"
SAMPLED = "A seeded sample with the class shares of the split; ten thousand take some minutes"
SELECT = {
    2: "Draw around points, or click one, to read the sentences.",
    3: "Turn it with the mouse; to choose sentences, go to 2-D.",
}
WORTH = (
    "A silhouette is 1 where a class keeps to itself, 0 where classes overlap, below 0 where sentences lie with "
    "another class. The share of neighbours kept says how far what is near on the map is near in truth."
)
FEW = 30


def page() -> None:
    """One run, one split, one map."""
    record = chosen_run("Map", QUESTION, purpose="Its sentences lie on a map here")
    if record is None:
        return
    splits = data.embedded_splits(record.run)
    if "pooled" not in provides(record.config.model) or not splits:
        header("Map", QUESTION, facts(record))
        _nothing(record)
        return
    head = st.empty()
    with head:  # until it is known how many examples there are, and where they cannot be read
        header("Map", QUESTION, facts(record))
    split, config, way = _choices(record, splits)
    files, points = data.map_files(record.run, split, config), data.points(record, split)
    with head:
        header("Map", QUESTION, facts(record, (f"n = {count(len(points))}", f"{split} sentences")))
    if len(points) < FEW:
        few = "A map of fewer than 30 examples says little; look at the sentences themselves."
        finding(f"Only {len(points)} sentences", few)
    damage, made = "", None
    try:
        made = data.projection(record, files)
    except RunDamaged as error:
        if config.method == "pca":
            raise
        damage = str(error)
    if made is None:
        not_yet(record.run, files, min(len(points), config.rows), damage)
    else:
        _map(record, files, made, points, way)


def _nothing(record: RunRecord) -> None:
    if "pooled" not in provides(record.config.model):
        why = f"{reads_without(record.config.model.family, 'a vector of the sentence')} Choose another run."
        finding(f"{record.preset} has no embeddings to put on a map", why)
    elif record.status in ("queued", "running"):
        empty(
            "This run is still being trained",
            "Its embeddings are kept when it is done.",
            "Watch it",
            "train",
        )
    else:
        text = f"It is {record.status}; embeddings are kept with the evaluation of a run. {record.reason}"
        empty("This run has no embeddings", text, "Train a model", "train")


def _choices(record: RunRecord, splits: list[str]) -> tuple[str, ProjectionConfig, str]:
    """Split, kind of map, colour."""
    state.keep_to(state.SPLIT, splits)
    state.initial(state.SPLIT, "test" if "test" in splits else splits[-1])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        split = _choice("Split", splits, state.SPLIT)
        method = METHODS[_choice("Method", list(METHODS), state.METHOD, QUICK)]
        dimensions = DIMENSIONS[_choice("Dimensions", list(DIMENSIONS), state.DIMENSIONS)]
        ways = embeddings.ways(data.points(record, split))
        state.keep_to(state.COLOUR, ways)
        way = st.selectbox("Colour", ways, key=state.COLOUR, width=170, bind="query-params")
        rows = str(ROWS)
        if method != "pca":
            with st.popover("More", help="How many sentences are placed"):
                rows = _choice("Sentences", SIZES, state.PLACED_ROWS, SAMPLED, first=rows)
    return split, ProjectionConfig(method, dimensions, int(rows)), way or ways[0]


def _choice(label: str, options: list[str], key: str, help: str | None = None, first: str = "") -> str:
    """A row of buttons bound to the URL."""
    default = first or options[0]
    if key == state.SPLIT:  # its first value depends on the run and stands in the URL already
        return st.segmented_control(label, options, key=key, bind="query-params", required=True) or options[-1]
    chosen = st.segmented_control(
        label, options, default=default, key=key, bind="query-params", required=True, help=help
    )
    return chosen or default


def _map(record: RunRecord, files: MapFiles, made: Projection, points: pd.DataFrame, way: str) -> None:
    config, placed = files.config, points.iloc[made.rows]
    width = data.width(record, files)
    stats(embeddings.map_stats(made, config, width))
    caption(WORTH)
    drawing, chosen = st.container(), st.container()  # above the field, whose text they need
    mark = _typed(record, files, made)
    everything = len(made.rows) == len(points)
    of = "" if everything else f" of {count(len(points))}, a stratified sample, seed {config.seed}"
    colouring = embeddings.colouring(placed, way, record.classes, look().tokens)
    chart = draw_map(
        made.places,
        made.rows,
        embeddings.hover_words(placed),
        colouring,
        embeddings.axis_titles(made, config),
        look(),
        placed=mark,
    )
    name = f"map-{record.run}-{files.split}-{config.method}-{config.dimensions}"
    selecting = {"on_select": "rerun", "selection_mode": ("points", "box", "lasso"), "tools": TOOLS}
    with drawing:
        event = figure(
            embeddings.map_name(config),
            chart,
            name,
            note=f"n = {count(len(made.rows))}{of}, colour: {way}",
            reading=f"{readings.MAP[config.method]} {SELECT[config.dimensions]}",
            about=readings.MAP_HOW[config.method],
            **(selecting if config.dimensions == 2 else {}),
        )
    if config.dimensions == 2:
        with chosen:
            _selection(f"fig-{name}", event, points, len(made.rows))
    spaces = _silhouettes(record, made, placed, config, width)
    tables = {"Points": embeddings.point_table(made, placed)}
    export_bar("map", tables if spaces is None else {**tables, "Silhouettes": spaces})


def _typed(record: RunRecord, files: MapFiles, made: Projection) -> Placed | None:
    """The sentence that somebody typed, at its place; only it needs the model."""
    text = st.text_input(
        "Your sentence on this map",
        key=state.PLACED,
        bind="query-params",
        max_chars=5000,
        placeholder="Type a sentence and press Enter",
        help="The model reads it and its vector is put on the map",
    )
    if not text or not text.strip():
        return None
    if not data.weights_fingerprint(record.run):
        finding("Your sentence cannot be placed", "This run has no weights, so that it can read nothing new.")
        return None
    if files.config.method == "pca":
        caption("The diamond is your sentence, exactly where PCA puts its vector.")
    else:
        caption(
            f"The diamond is your sentence, at the mean place of its {NEIGHBOURS} nearest neighbours in the original "
            f"space: {NAMES[files.config.method]} itself cannot place a new sentence without moving the others."
        )
    return Placed(data.place(record, files, made, text), text)


def _selection(key: str, event: state.Selection, points: pd.DataFrame, shown: int) -> None:
    """The sentences of the chosen points."""
    rows = state.selected_rows(event, len(points))
    if not rows:
        return
    in_sight(f"{key} {rows}")
    with st.container(key="selection", horizontal=True, vertical_alignment="center", wrap=False):
        selection_note(f"{count(len(rows))} of {count(shown)} sentences", "chosen on the map")
        st.button("Clear", type="tertiary", icon=":material/close:", on_click=state.clear, args=(key,))
    example_table(points.iloc[rows], "Sentences chosen on the map")


def _silhouettes(
    record: RunRecord, made: Projection, placed: pd.DataFrame, config: ProjectionConfig, width: int
) -> pd.DataFrame | None:
    quality = made.quality
    if quality.reason:
        finding("There is no silhouette", f"It compares a class with the nearest other one, and {quality.reason}.")
        return None
    spaces, there = spectra(made, placed, record.classes, config, width)
    colours = class_colours(look().tokens, record.classes)
    measured = len(quality.rows)
    of = "" if measured == len(made.rows) else f" of {count(len(made.rows))}, a stratified sample"
    figure(
        "Silhouettes",
        draw_silhouettes(spaces, [colours[i] for i in there], look()),
        "silhouettes",
        note=f"n = {count(measured)}{of}",
        reading=readings.SILHOUETTE,
        about=readings.SILHOUETTE_HOW,
    )
    return silhouette_table(spaces)


page()
