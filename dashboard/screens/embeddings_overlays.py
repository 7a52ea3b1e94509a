"""Sections of the Embeddings page: groups, layers, neighbours, progress, and sentences placed on the map."""

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.error_analysis.selection import Selection
from core.evaluation.projection import NAMES, NEIGHBORS
from core.exceptions import NotAvailable, RunDamaged
from core.formatting import count
from core.models.capabilities import list_capabilities
from core.runs import background_jobs
from core.runs.projections import MapFiles
from core.runs.record import RunRecord
from core.text.graphemes import quote_text
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures import embedding_structure, embeddings
from dashboard.figures.embedding_map import PlacedSentence
from dashboard.figures.figure import Source
from dashboard.figures.filtering import SELECT
from dashboard.selection import SelectedTexts
from dashboard.widgets.export import Tables
from dashboard.widgets.figure import show, show_caption, show_figure_heading, show_with_tables
from dashboard.widgets.messages import show_finding, show_problem, show_selection
from dashboard.widgets.options import choose_option, choose_split, pick_option
from dashboard.widgets.progress import offer_analysis, show_job, show_start_button
from dashboard.widgets.selection_bar import show_selected

LONGEST = 200


def show_fields(record: RunRecord, splits: list[str]) -> tuple[Source, str]:
    """Show the fields of the embedding map; return the source with their values, and the typed sentence."""
    state.restore_text(state.FIND, "")
    with st.container(key="map-fields", horizontal=True, vertical_alignment="center", gap="small"):
        place = st.container(horizontal=True, vertical_alignment="center", gap="small")
        with st.popover("Options", help="Split, dimensions, vectors, search, density and number of points"):
            source = Source(record, data, split=choose_split(splits), author=state.get_author())
            choose_option(embeddings.DIMENSIONS, source)
            look: dict[str, Any] = {"bind": "query-params", "placeholder": "any text", "help": embeddings.FIND.about}
            find = st.text_input(embeddings.FIND.label, key=state.FIND, max_chars=LONGEST, **look)
            if "hidden" in list_capabilities(record.config.model):
                pick_option(embeddings.SPACE, source, width=220, about=embeddings.SPACE.about)
            choose_option(embeddings.DENSITY, source)
            if state.get_bound(embeddings.METHOD.name) not in ("", NAMES["pca"]):
                choose_option(embeddings.SENTENCES, source)
        with place:
            choose_option(embeddings.METHOD, source, plain=True)
            pick_option(embeddings.COLOR, source, width=170, plain=True)
            look = {"bind": "query-params", "max_chars": 5000, "label_visibility": "collapsed"}
            label = "Your sentence on this map"
            about = "Type a sentence to see it on the map"
            typed = st.text_input(label, key=state.PLACED, placeholder=about, **look)
    source.choices[embeddings.FIND.name] = (find or "").strip()
    return source, (typed or "").strip()


def show_matches(source: Source, shown: embeddings.SentenceMap, points: pd.DataFrame) -> None:
    """Show how many sentences of the map contain the searched text, with a button that selects them on all pages."""
    if not shown.find:
        return
    every, here = int(embeddings.find_matches(points, shown.find).sum()), len(shown.found_rows)
    what = f"{count(every)} of {count(len(points))} sentences contain “{shown.find}”"
    if not every:
        show_finding(
            "Nothing found", f"No sentence of this split contains “{shown.find}”; letter case does not matter."
        )
        return
    with st.container(key="map-found", horizontal=True, vertical_alignment="center", gap="medium"):
        show_selection(what, f"{count(here)} on this map, each in a ring" if here < every else "each in a ring")
        take = partial(selection.select_rules, source.record, Selection((f"text~{shown.find}",), source.split))
        st.button(f"Select {count(every)}", key="select-found", on_click=take)


def place_typed(record: RunRecord, shown: embeddings.SentenceMap, text: str) -> tuple[PlacedSentence | None, str]:
    """Place a user's sentence on the embedding map; return the placed sentence and a text on how it was placed."""
    if not text:
        return None, ""
    if not data.hash_weights(record.run):
        show_finding("Your sentence cannot be placed", "This run has no weights, so it cannot read new text.")
        return None, ""
    how = "The diamond is your sentence, exactly where PCA puts its vector."
    if shown.config.method != "pca":
        how = (
            f"The diamond is your sentence, at the mean position of its {NEIGHBORS} nearest neighbours in the "
            f"original space. {NAMES[shown.config.method]} cannot place a new sentence without moving the others."
        )
    return PlacedSentence(data.place_text(record, shown.files, shown.made, text), text), how


def show_groups(source: Source, now: SelectedTexts | None) -> Tables:
    """Show groups of sentences on the embedding map, and the sentences of a picked group; return the tables."""
    try:
        shown = embedding_structure.MAP_GROUPS.read_data(source)
    except NotAvailable as reason:
        show_figure_heading(embedding_structure.MAP_GROUPS, about=False)
        show_caption(f"There are no clusters: {reason}.")
        return {}
    key = f"fig-{embedding_structure.MAP_GROUPS.name}"
    here = now is not None and state.get_value(state.SELECTOR, "") == key
    picked = state.get_picked(embedding_structure.MAP_GROUPS.name) if here else ""
    shown = replace(shown, picked=picked)
    take = partial(_select_group, source, shown, key)
    show(embedding_structure.MAP_GROUPS, shown, default={"picked": picked}, on_picked_change=take)
    if here and now is not None:
        show_selected(source.record, now, (key,))
    return embedding_structure.MAP_GROUPS.build_tables(shown)


def _select_group(source: Source, shown: embedding_structure.EmbeddingClusters, key: str) -> None:
    name = state.get_picked(embedding_structure.MAP_GROUPS.name)
    places = shown.get_places(name)
    selection.choose_rows(source.record, source.split, places, shown.describe_group(name), by=key)


def show_layers(source: Source) -> Tables:
    """Show how well each layer's vectors separate the classes, or a button to compute it; return the tables."""
    try:
        known = data.read_separability(source.record, source.split)
    except NotAvailable as reason:
        show_figure_heading(embedding_structure.MAP_LAYERS, about=False)
        show_caption(f"Not available: {reason}.")
        return {}
    if known is None:
        show_figure_heading(embedding_structure.MAP_LAYERS)
        offer_layers(source)
        return {}
    shown = embedding_structure.MAP_LAYERS.read_data(source)
    hint = "The map shows the shaded layer. Choose another under Vectors."
    return show_with_tables(embedding_structure.MAP_LAYERS, shown, more=hint)


def offer_layers(source: Source) -> None:
    """Show the job that reads the embeddings of all layers, or its start button; NotAvailable: no layers to read."""
    offer_analysis(data.get_layer_files(source.record.run, source.split), "read-layers")


PATIENCE = 0.2  # seconds to wait for the training sentences; then the page is drawn without them
QUOTED = 60  # most characters of a sentence that describes a selection


def find_neighbors(
    source: Source, now: SelectedTexts | None, typed: str
) -> embedding_structure.NearestSentences | None:
    """Find the nearest sentences to the typed sentence, else to the current one, else to the whole selection."""
    source.text = typed if data.hash_weights(source.record.run) else ""
    one = now is not None and len(now) and (now.at is not None or len(now) == 1)
    if now is not None and one:
        source.choices[embedding_structure.AT.name] = now.get_key(now.at or 0)
    try:
        if now is not None and not one and not source.text.strip():
            return embedding_structure.find_shared_nearest(source, now.places, now.words)
        return embedding_structure.MAP_NEIGHBORS.read_data(source)
    except NotAvailable:
        return None


def show_neighbors(source: Source, near: embedding_structure.NearestSentences | None) -> Tables:
    """Show the table of nearest sentences, with a button that selects them; return the tables for the export."""
    if near is None:
        return {}
    show(embedding_structure.MAP_NEIGHBORS, near)
    of = quote_text(near.of, QUOTED) if near.n == 1 else f"{count(near.n)}: {near.of}"
    rows = near.found["row"].tolist()
    take = partial(selection.choose_rows, source.record, source.split, rows, f"nearest to {of}")
    st.button(f"Select these {count(len(rows))}", key="select-near", on_click=take)
    return embedding_structure.MAP_NEIGHBORS.build_tables(near)


def show_near_training(source: Source, now: SelectedTexts | None) -> Tables:
    """Show the training sentences that are nearest to a selection of several sentences; return the tables."""
    if now is None or len(now) < embedding_structure.LEAST:
        return {}
    source.choices[SELECT.name] = str(now.selection)
    try:
        if not data.find_tags(source.record, source.split, PATIENCE):
            show_figure_heading(embedding_structure.MAP_COMMON)
            st.fragment(_rerun_when_tagged, run_every=1.0)(source)
            return {}
        near = embedding_structure.MAP_COMMON.read_data(source)
    except (NotAvailable, RunDamaged) as error:
        show_figure_heading(embedding_structure.MAP_COMMON)
        show_caption(f"Not available: {error}.")
        return {}
    show(embedding_structure.MAP_COMMON, near)
    texts, labels = (near.found[name].tolist() for name in ("text", "label"))
    about = f"nearest in training to {count(len(now))}: {now.words}"
    take = partial(selection.choose_sentences, source.record, texts, labels, about)
    st.button(f"Select these {count(len(texts))}", key="select-training", on_click=take)
    return embedding_structure.MAP_COMMON.build_tables(near)


def _rerun_when_tagged(source: Source) -> None:
    if data.find_tags(source.record, source.split, 0):
        st.rerun()
    show_caption("Reading the training sentences …")


def offer_map(files: MapFiles, sentences: int, damage: str = "") -> None:
    """Show an offer to compute an embedding map, the progress of the job, or why the job failed."""
    name, failed = NAMES[files.config.method], background_jobs.read_job(files).status == "failed"
    if show_job(files, "compute-map", f"{name} map of {count(sentences)} sentences"):
        return
    if damage:
        show_problem(f"This {name} map is damaged", f"{damage}\nCompute it again; nothing else changes.")
    elif not failed:
        what = f"{name} places {count(sentences)} sentences so that neighbours stay neighbours. {files.offer.takes}"
        st.html(f'<div class="s-empty"><b>There is no {name} map of this split yet</b><span>{what}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        show_start_button(files, "compute-map", "Compute the map again" if damage or failed else "", primary=True)
