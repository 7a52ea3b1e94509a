"""Page Embeddings: a map of a split's sentences in a model's vector space, and how separable the classes are there."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.exceptions import NotAvailable, RunDamaged
from core.formatting import count
from core.models.capabilities import list_capabilities
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import embeddings
from dashboard.figures.embedding_structure import MAP_COMMON, MAP_GROUPS, MAP_LAYERS, MAP_NEIGHBORS, SILHOUETTES
from dashboard.figures.embeddings import MAP, TOOLS, SentenceMap, read_map_config
from dashboard.figures.figure import Source
from dashboard.figures.model_plan import describe_baseline
from dashboard.screens import embeddings_overlays as overlays
from dashboard.widgets.bars import show_stats
from dashboard.widgets.export import Tables, show_export_bar
from dashboard.widgets.figure import show_caption, show_drawing, show_figures, show_how, show_others
from dashboard.widgets.messages import as_sentence, show_empty, show_finding, show_header, show_summary
from dashboard.widgets.options import collect_tables
from dashboard.widgets.runs import describe_end, list_facts, require_run, require_splits
from dashboard.widgets.selection_bar import show_selected
from dashboard.widgets.style import get_look

QUESTION = "Which sentences are close, and are classes separate?"
SELECT = {
    2: "Click a point, or draw around some, to read them.",
    3: "Turn it with the mouse. Select sentences in 2-D.",
}
WORTH = "Silhouette: 1 = separate class, 0 = overlap, below 0 = nearer to another class."
FEW = 30


def show_page() -> None:
    """Draw the Embeddings page: a two-dimensional map of the sentences of one split, as a run embeds them."""
    record = require_run("Embeddings", QUESTION, purpose="A map of sentences appears here")
    if record.from_outside:
        require_splits(record, "Embeddings", QUESTION)
    splits = data.list_embedded_splits(record.run)
    if "pooled" not in list_capabilities(record.config.model) or not splits:
        show_header("Embeddings", QUESTION, list_facts(record))
        _show_missing(record)
        return
    head = st.empty()
    of, facts = state.get_value(state.MAP_FACTS, ("", []))
    with head:  # shown until the number of examples is known, or if they cannot be read; unchanged ones are not redrawn
        show_header("Embeddings", QUESTION, facts if of == record.run else list_facts(record))
    source, typed = overlays.show_fields(record, splits)
    points = data.read_points(record, source.split)
    files = data.get_map_files(record.run, source.split, read_map_config(source))
    facts = list_facts(record, (f"n = {count(len(points))}", source.split))
    state.set_value(state.MAP_FACTS, (record.run, facts))
    with head:
        show_header("Embeddings", QUESTION, facts)
    if why := data.explain_no_texts(record):
        show_finding("There are no texts to read", f"{why}.")
    if len(points) < FEW:
        few = "A map of fewer than 30 examples says little. Read the sentences instead."
        show_finding(f"Only {len(points)} sentences", few)
    damage, shown = "", None
    try:
        shown = MAP.read_data(source)
    except NotAvailable:
        pass  # not computed yet
    except RunDamaged as error:
        if files.config.method == "pca":
            raise
        damage = str(error)
    if shown is None and files.config.space and data.read_separability(record, source.split) is None:
        show_finding("The layers have not been read yet", "The map of a layer needs its vectors.")
        overlays.offer_layers(source)
    elif shown is None:
        overlays.offer_map(files, min(len(points), files.config.rows), damage)
    else:
        _show_map(source, shown, points, typed)


def _show_missing(record: RunRecord) -> None:
    if "pooled" not in list_capabilities(record.config.model):
        why = f"{describe_baseline(record.config.model.family, 'a vector of the sentence')} Choose another run."
        show_finding(f"{record.preset} has no embeddings to map", why)
    elif record.is_live:
        show_empty("This run is still being trained", "It saves its embeddings when it is done.", "Watch it", "train")
    else:
        text = f"{describe_end(record)} A run saves its embeddings when it is evaluated."
        show_empty("This run has no embeddings", text, "Train a model", "train")


def _show_map(source: Source, shown: SentenceMap, points: pd.DataFrame, text: str) -> None:
    config = shown.config
    overlays.show_matches(source, shown, points)
    typed, how = overlays.place_typed(source.record, shown, text)
    name = f"map-{source.record.run}-{source.split}-{config.method}-{config.dimensions}{config.space}"
    flat = config.dimensions == 2
    key, options = f"fig-{name}", dict[str, Any]()
    if flat:
        take = partial(_select_points, source, key, len(points))
        options = {"on_select": take, "selection_mode": ("points", "box", "lasso")}
    now = selection.get_split_selection(source.record, source.split)
    if state.get_value(state.SELECTOR, "") != key:  # the browser itself marks a selection made on the map
        state.set_value(state.MARKED, () if now is None else tuple(now.places.tolist()))
    # After a selection on the map, the map stays unchanged, and the sentences come before their neighbours.
    later = (
        now is not None and now.at is None and len(now) > 1 and not text and state.get_value(state.SELECTOR, "") == key
    )
    near = None if later else overlays.find_neighbors(source, now, text)
    shown = replace(shown, typed=typed, marked=state.get_value(state.MARKED, ()))
    if near is not None:
        shown = replace(shown, near=tuple(near.found["row"].tolist()), center=near.row)
    chart = None if shown.typed or shown.marked or near else data.draw_figure(MAP, source, get_look())[1]
    note, reading = (MAP.resolve_text(words, shown) for words in (MAP.note, MAP.reading))
    show_summary(embeddings.describe_quality(shown))
    drawing = MAP.draw(shown, get_look()) if chart is None else chart
    show_drawing(drawing, name, MAP.write_alt_text(shown, note, reading), TOOLS if flat else (), **options)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show_caption(reading)
        show_how(MAP.name, MAP.resolve_text(MAP.how, shown))
    show_caption(f"{embeddings.name_map(config)}, {note}. {SELECT[config.dimensions]}")
    if how:
        show_caption(how)
    place = st.empty()  # always there, so that what is below stays as it is drawn
    if now is not None and state.get_value(state.SELECTOR, "") != f"fig-{MAP_GROUPS.name}":
        with place.container():
            show_selected(source.record, now, (key,))
    near = overlays.find_neighbors(source, now, text) if later else near
    tables = overlays.show_neighbors(source, near) | overlays.show_near_training(source, now)
    tables = MAP.build_tables(shown) | tables
    sections = {
        "Clusters": partial(overlays.show_groups, source, now),
        "Layers": partial(overlays.show_layers, source),
        "Class separation": partial(_show_separation, source, shown),
    }
    opened = collect_tables(sections)
    placed_here = (MAP, MAP_COMMON, MAP_NEIGHBORS, MAP_GROUPS, MAP_LAYERS, SILHOUETTES)
    show_export_bar("map", {**tables, **opened, **show_others(source, "embeddings", placed_here)})


def _select_points(source: Source, key: str, rows: int) -> None:
    chosen = state.get_point_rows(key, rows)
    selection.choose_rows(source.record, source.split, chosen, "selected on the map", by=key)


def _show_separation(source: Source, shown: SentenceMap) -> Tables:
    show_stats(embeddings.compute_map_stats(shown.made, shown.config, shown.width))
    show_caption(WORTH)
    try:
        return show_figures(source, SILHOUETTES)
    except NotAvailable as reason:
        show_finding("There is no silhouette", as_sentence(reason))
        return {}


show_page()
