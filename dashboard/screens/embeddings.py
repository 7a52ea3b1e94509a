"""Page Embeddings: a map of a split's sentences in the model's own space, and how separable its classes are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable, RunDamaged
from core.models.provides import provides
from core.numbers import count
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import embeddings
from dashboard.figures.class_separation import MAP_LAYERS, SILHOUETTES
from dashboard.figures.embeddings import COLOUR, DIMENSIONS, MAP, METHOD, TOOLS, Mapped, map_config
from dashboard.figures.map_groups import MAP_GROUPS
from dashboard.figures.map_neighbours import MAP_COMMON, MAP_NEIGHBOURS
from dashboard.figures.models import reads_without
from dashboard.figures.source import Source
from dashboard.screens import embeddings_overlays as overlays
from dashboard.widgets.bars import stats
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, show, show_others, show_tables
from dashboard.widgets.messages import as_sentence, empty, finding, header
from dashboard.widgets.options import choose, choose_split, pick
from dashboard.widgets.runs import chosen_run, ended, facts
from dashboard.widgets.selected import selected_here
from dashboard.widgets.style import look

QUESTION = "Which sentences does the model treat as alike, and are its classes apart?"
SELECT = {
    2: "Draw around points, or click one, to read the sentences.",
    3: "Turn it with the mouse; to choose sentences, go to 2-D.",
}
WORTH = (
    "A silhouette is 1 where a class keeps to itself, 0 where classes overlap, below 0 where sentences lie with "
    "another class. The share of neighbours kept says how far nearness on the map is true nearness."
)
FEW = 30


def page() -> None:
    """Show one map of a split of one run."""
    record = chosen_run("Embeddings", QUESTION, purpose="Its sentences lie on a map here")
    if record is None:
        return
    splits = data.embedded_splits(record.run)
    if "pooled" not in provides(record.config.model) or not splits:
        header("Embeddings", QUESTION, facts(record), low=True)
        _nothing(record)
        return
    head = st.empty()
    with head:  # until it is known how many examples there are, and where they cannot be read
        header("Embeddings", QUESTION, facts(record), low=True)
    source = _choices(record, splits)
    _, typed = overlays.fields(source)
    points, files = data.points(record, source.split), data.map_files(record.run, source.split, map_config(source))
    with head:
        header("Embeddings", QUESTION, facts(record, (f"n = {count(len(points))}", source.split)), low=True)
    if why := data.lacks_texts(record):
        finding("There are no texts to read", f"{why}.")
    if len(points) < FEW:
        few = "A map of fewer than 30 examples says little; look at the sentences themselves."
        finding(f"Only {len(points)} sentences", few)
    damage, shown = "", None
    try:
        shown = MAP.shape(source)
    except NotAvailable:
        pass  # it has not been computed
    except RunDamaged as error:
        if files.config.method == "pca":
            raise
        damage = str(error)
    if shown is None and files.config.space and data.layers(record, source.split) is None:
        finding("The layers of the model have not been read yet", "The map of one needs its vectors.")
        overlays.not_read(source)
    elif shown is None:
        overlays.not_yet(files, min(len(points), files.config.rows), damage)
    else:
        _map(source, shown, points, typed)


def _nothing(record: RunRecord) -> None:
    if "pooled" not in provides(record.config.model):
        why = f"{reads_without(record.config.model.family, 'a vector of the sentence')} Choose another run."
        finding(f"{record.preset} has no embeddings to put on a map", why)
    elif record.status in ("queued", "running"):
        empty("This run is still being trained", "Its embeddings are kept when it is done.", "Watch it", "train")
    else:
        text = f"{ended(record)} Embeddings are kept with the evaluation of a run."
        empty("This run has no embeddings", text, "Train a model", "train")


def _choices(record: RunRecord, splits: list[str]) -> Source:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        source = Source(record, data, split=choose_split(splits), author=state.author())
        choose(METHOD, source)
        choose(DIMENSIONS, source)
        pick(COLOUR, source, width=180)
    return source


def _map(source: Source, shown: Mapped, points: pd.DataFrame, text: str) -> None:
    config = shown.config
    overlays.said_found(source, shown, points)
    typed, how = overlays.placed(source.record, shown, text)
    name = f"map-{source.record.run}-{source.split}-{config.method}-{config.dimensions}{config.space}"
    flat = config.dimensions == 2
    key, options = f"fig-{name}", dict[str, Any]()
    if flat:
        take = partial(_take, source, key, len(points))
        options = {"on_select": take, "selection_mode": ("points", "box", "lasso")}
    now = selection.chosen_of(source.record, source.split)
    if state.draft(state.SELECTOR, "") != key:  # what was drawn around on it the browser marks itself
        state.put(state.MARKED, () if now is None else tuple(now.places.tolist()))
    # Of what was drawn around on it the map stays as it is, and the sentences come before their neighbours.
    later = now is not None and now.at is None and len(now) > 1 and not text and state.draft(state.SELECTOR, "") == key
    near = None if later else overlays.neighbours(source, now, text)
    shown = replace(shown, typed=typed, marked=state.draft(state.MARKED, ()))
    if near is not None:
        shown = replace(shown, near=tuple(near.found["row"].tolist()), centre=near.row)
    chart = None if shown.typed or shown.marked or near else data.drawn(MAP, source, look())[1]
    more = SELECT[config.dimensions]
    show(MAP, shown, drawing=chart, more=more, name=name, tools=TOOLS if flat else (), **options)
    if how:
        caption(how)
    if now is not None and state.draft(state.SELECTOR, "") != f"fig-{MAP_GROUPS.name}":
        selected_here(source.record, now, (key,))
    near = overlays.neighbours(source, now, text) if later else near
    tables = overlays.neighbours_below(source, near) | overlays.training_below(source, now)
    stats(embeddings.map_stats(shown.made, config, shown.width))
    caption(WORTH)
    tables = MAP.numbers(shown) | tables | overlays.groups_below(source, now)
    tables |= overlays.layers_below(source) | _silhouettes(source)
    placed_here = (MAP, MAP_COMMON, MAP_NEIGHBOURS, MAP_GROUPS, MAP_LAYERS, SILHOUETTES)
    export_bar("map", tables | show_others(source, "embeddings", placed_here))


def _take(source: Source, key: str, rows: int) -> None:
    chosen = state.selected_rows(key, rows)
    selection.choose_rows(source.record, source.split, chosen, "chosen on the map", by=key)


def _silhouettes(source: Source) -> dict[str, pd.DataFrame]:
    try:
        return show_tables(source, SILHOUETTES)
    except NotAvailable as reason:
        finding("There is no silhouette", as_sentence(reason))
        return {}


page()
