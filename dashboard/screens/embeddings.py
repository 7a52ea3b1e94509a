"""Page Embeddings: a map of a split's sentences in a model's vector space, and how separable the classes are there."""

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
from dashboard.figures import embedding_structure, embeddings, filtering
from dashboard.figures.embedding_map import PlacedSentence
from dashboard.figures.embedding_structure import MAP_COMMON, MAP_GROUPS, MAP_LAYERS, MAP_NEIGHBORS, SILHOUETTES
from dashboard.figures.embeddings import MAP, TOOLS, SentenceMap, read_map_config
from dashboard.figures.figure import Source
from dashboard.figures.model_plan import describe_baseline
from dashboard.selection import SelectedTexts
from dashboard.widgets import figure as widgets
from dashboard.widgets import messages
from dashboard.widgets.bars import show_stats
from dashboard.widgets.export import Tables, show_export_bar
from dashboard.widgets.options import choose_option, choose_split, collect_tables, pick_option
from dashboard.widgets.progress import offer_analysis, show_job, show_start_button
from dashboard.widgets.runs import describe_end, list_facts, require_run, require_splits
from dashboard.widgets.selection_bar import show_selected
from dashboard.widgets.style import get_look

QUESTION = "Which sentences are close, and are classes separate?"
SELECT = {2: "Click a point, or draw around some, to read them.", 3: "Turn it with the mouse. Select sentences in 2-D."}
WORTH = "Silhouette: 1 = separate class, 0 = overlap, below 0 = nearer to another class."
FEW = 30


def show_page() -> None:
    """Draw the Embeddings page: a two-dimensional map of the sentences of one split, as a run embeds them."""
    record = require_run("Embeddings", QUESTION, purpose="A map of sentences appears here")
    if record.from_outside:
        require_splits(record, "Embeddings", QUESTION)
    splits = data.list_embedded_splits(record.run)
    if "pooled" not in list_capabilities(record.config.model) or not splits:
        messages.show_header("Embeddings", QUESTION, list_facts(record))
        _show_missing(record)
        return
    head = st.empty()
    of, facts = state.get_value(state.MAP_FACTS, ("", []))
    with head:  # shown until the number of examples is known, or if they cannot be read; unchanged ones are not redrawn
        messages.show_header("Embeddings", QUESTION, facts if of == record.run else list_facts(record))
    source, typed = _show_fields(record, splits)
    points = data.read_points(record, source.split)
    files = data.get_map_files(record.run, source.split, read_map_config(source))
    facts = list_facts(record, (f"n = {count(len(points))}", source.split))
    state.set_value(state.MAP_FACTS, (record.run, facts))
    with head:
        messages.show_header("Embeddings", QUESTION, facts)
    if why := data.explain_no_texts(record):
        messages.show_finding("There are no texts to read", f"{why}.")
    if len(points) < FEW:
        few = "A map of fewer than 30 examples says little. Read the sentences instead."
        messages.show_finding(f"Only {len(points)} sentences", few)
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
        messages.show_finding("The layers have not been read yet", "The map of a layer needs its vectors.")
        _offer_layers(source)
    elif shown is None:
        _offer_map(files, min(len(points), files.config.rows), damage)
    else:
        _show_map(source, shown, points, typed)


def _show_missing(record: RunRecord) -> None:
    if "pooled" not in list_capabilities(record.config.model):
        why = f"{describe_baseline(record.config.model.family, 'a vector of the sentence')} Choose another run."
        messages.show_finding(f"{record.preset} has no embeddings to map", why)
    elif record.is_live:
        messages.show_empty(
            "This run is still being trained", "It saves its embeddings when it is done.", "Watch it", "train"
        )
    else:
        text = f"{describe_end(record)} A run saves its embeddings when it is evaluated."
        messages.show_empty("This run has no embeddings", text, "Train a model", "train")


def _show_map(source: Source, shown: SentenceMap, points: pd.DataFrame, text: str) -> None:
    config = shown.config
    _show_matches(source, shown, points)
    typed, how = _place_typed(source.record, shown, text)
    name = f"map-{source.record.run}-{source.split}-{config.method}-{config.dimensions}{config.space}"
    flat = config.dimensions == 2
    key, options = f"fig-{name}", dict[str, Any]()
    if flat:
        options["selection_mode"] = ("points", "box", "lasso")
        options["on_select"] = lambda: selection.choose_rows(
            source.record, source.split, state.get_point_rows(key, len(points)), "selected on the map", by=key
        )
    now = selection.get_split_selection(source.record, source.split)
    if state.get_value(state.SELECTOR, "") != key:  # the browser itself marks a selection made on the map
        state.set_value(state.MARKED, () if now is None else tuple(now.places.tolist()))
    # After a selection on the map, the map stays unchanged, and the sentences come before their neighbours.
    later = (
        now is not None and now.at is None and len(now) > 1 and not text and state.get_value(state.SELECTOR, "") == key
    )
    near = None if later else _find_neighbors(source, now, text)
    shown = replace(shown, typed=typed, marked=state.get_value(state.MARKED, ()))
    if near is not None:
        shown = replace(shown, near=tuple(near.found["row"].tolist()), center=near.row)
    chart = None if shown.typed or shown.marked or near else data.draw_figure(MAP, source, get_look())[1]
    note, reading = (MAP.resolve_text(words, shown) for words in (MAP.note, MAP.reading))
    messages.show_summary(embeddings.describe_quality(shown))
    drawing = MAP.draw(shown, get_look()) if chart is None else chart
    widgets.show_drawing(drawing, name, MAP.write_alt_text(shown, note, reading), TOOLS if flat else (), **options)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        widgets.show_caption(reading)
        widgets.show_how(MAP.name, MAP.resolve_text(MAP.how, shown))
    widgets.show_caption(f"{embeddings.name_map(config)}, {note}. {SELECT[config.dimensions]}")
    if how:
        widgets.show_caption(how)
    place = st.empty()  # always there, so that what is below stays as it is drawn
    if now is not None and state.get_value(state.SELECTOR, "") != f"fig-{MAP_GROUPS.name}":
        with place.container():
            show_selected(source.record, now, (key,))
    near = _find_neighbors(source, now, text) if later else near
    tables = _show_neighbors(source, near) | _show_near_training(source, now)
    tables = MAP.build_tables(shown) | tables
    sections = {
        "Clusters": partial(_show_groups, source, now),
        "Layers": partial(_show_layers, source),
        "Class separation": partial(_show_separation, source, shown),
    }
    opened = collect_tables(sections)
    placed_here = (MAP, MAP_COMMON, MAP_NEIGHBORS, MAP_GROUPS, MAP_LAYERS, SILHOUETTES)
    show_export_bar("map", {**tables, **opened, **widgets.show_others(source, "embeddings", placed_here)})


def _show_separation(source: Source, shown: SentenceMap) -> Tables:
    show_stats(embeddings.compute_map_stats(shown.made, shown.config, shown.width))
    widgets.show_caption(WORTH)
    try:
        return widgets.show_figures(source, SILHOUETTES)
    except NotAvailable as reason:
        messages.show_finding("There is no silhouette", messages.as_sentence(reason))
        return {}


LONGEST = 200


def _show_fields(record: RunRecord, splits: list[str]) -> tuple[Source, str]:
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


def _show_matches(source: Source, shown: SentenceMap, points: pd.DataFrame) -> None:
    """Show how many sentences of the map contain the searched text, with a button that selects them on all pages."""
    if not shown.find:
        return
    every, here = int(embeddings.find_matches(points, shown.find).sum()), len(shown.found_rows)
    what = f"{count(every)} of {count(len(points))} sentences contain “{shown.find}”"
    if not every:
        messages.show_finding(
            "Nothing found", f"No sentence of this split contains “{shown.find}”; letter case does not matter."
        )
        return
    with st.container(key="map-found", horizontal=True, vertical_alignment="center", gap="medium"):
        messages.show_selection(
            what, f"{count(here)} on this map, each in a ring" if here < every else "each in a ring"
        )
        take = partial(selection.select_rules, source.record, Selection((f"text~{shown.find}",), source.split))
        st.button(f"Select {count(every)}", key="select-found", on_click=take)


def _place_typed(record: RunRecord, shown: SentenceMap, text: str) -> tuple[PlacedSentence | None, str]:
    """Place a user's sentence on the embedding map; return the placed sentence and a text on how it was placed."""
    if not text:
        return None, ""
    if not data.hash_weights(record.run):
        messages.show_finding("Your sentence cannot be placed", "This run has no weights, so it cannot read new text.")
        return None, ""
    how = "The diamond is your sentence, exactly where PCA puts its vector."
    if shown.config.method != "pca":
        how = (
            f"The diamond is your sentence, at the mean position of its {NEIGHBORS} nearest neighbours in the "
            f"original space. {NAMES[shown.config.method]} cannot place a new sentence without moving the others."
        )
    return PlacedSentence(data.place_text(record, shown.files, shown.made, text), text), how


def _show_groups(source: Source, now: SelectedTexts | None) -> Tables:
    """Show groups of sentences on the embedding map, and the sentences of a picked group; return the tables."""
    try:
        shown = MAP_GROUPS.read_data(source)
    except NotAvailable as reason:
        widgets.show_figure_heading(MAP_GROUPS, about=False)
        widgets.show_caption(f"There are no clusters: {reason}.")
        return {}
    key = f"fig-{MAP_GROUPS.name}"
    here = now is not None and state.get_value(state.SELECTOR, "") == key
    picked = state.get_picked(MAP_GROUPS.name) if here else ""
    shown = replace(shown, picked=picked)
    take = partial(_select_group, source, shown, key)
    widgets.show(MAP_GROUPS, shown, default={"picked": picked}, on_picked_change=take)
    if here and now is not None:
        show_selected(source.record, now, (key,))
    return MAP_GROUPS.build_tables(shown)


def _select_group(source: Source, shown: embedding_structure.EmbeddingClusters, key: str) -> None:
    name = state.get_picked(MAP_GROUPS.name)
    places = shown.get_places(name)
    selection.choose_rows(source.record, source.split, places, shown.describe_group(name), by=key)


def _show_layers(source: Source) -> Tables:
    """Show how well each layer's vectors separate the classes, or a button to compute it; return the tables."""
    try:
        known = data.read_separability(source.record, source.split)
    except NotAvailable as reason:
        widgets.show_figure_heading(MAP_LAYERS, about=False)
        widgets.show_caption(f"Not available: {reason}.")
        return {}
    if known is None:
        widgets.show_figure_heading(MAP_LAYERS)
        _offer_layers(source)
        return {}
    shown = MAP_LAYERS.read_data(source)
    hint = "The map shows the shaded layer. Choose another under Vectors."
    return widgets.show_with_tables(MAP_LAYERS, shown, more=hint)


def _offer_layers(source: Source) -> None:
    """Show the job that reads the embeddings of all layers, or its start button; NotAvailable: no layers to read."""
    offer_analysis(data.get_layer_files(source.record.run, source.split), "read-layers")


PATIENCE = 0.2  # seconds to wait for the training sentences; then the page is drawn without them
QUOTED = 60  # most characters of a sentence that describes a selection


def _find_neighbors(
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
        return MAP_NEIGHBORS.read_data(source)
    except NotAvailable:
        return None


def _show_neighbors(source: Source, near: embedding_structure.NearestSentences | None) -> Tables:
    """Show the table of nearest sentences, with a button that selects them; return the tables for the export."""
    if near is None:
        return {}
    widgets.show(MAP_NEIGHBORS, near)
    of = quote_text(near.of, QUOTED) if near.n == 1 else f"{count(near.n)}: {near.of}"
    rows = near.found["row"].tolist()
    take = partial(selection.choose_rows, source.record, source.split, rows, f"nearest to {of}")
    st.button(f"Select these {count(len(rows))}", key="select-near", on_click=take)
    return MAP_NEIGHBORS.build_tables(near)


def _show_near_training(source: Source, now: SelectedTexts | None) -> Tables:
    """Show the training sentences that are nearest to a selection of several sentences; return the tables."""
    if now is None or len(now) < embedding_structure.LEAST:
        return {}
    source.choices[filtering.SELECT.name] = str(now.selection)
    try:
        if not data.find_tags(source.record, source.split, PATIENCE):
            widgets.show_figure_heading(MAP_COMMON)
            st.fragment(_rerun_when_tagged, run_every=1.0)(source)
            return {}
        near = MAP_COMMON.read_data(source)
    except (NotAvailable, RunDamaged) as error:
        widgets.show_figure_heading(MAP_COMMON)
        widgets.show_caption(f"Not available: {error}.")
        return {}
    widgets.show(MAP_COMMON, near)
    texts, labels = (near.found[name].tolist() for name in ("text", "label"))
    about = f"nearest in training to {count(len(now))}: {now.words}"
    take = partial(selection.choose_sentences, source.record, texts, labels, about)
    st.button(f"Select these {count(len(texts))}", key="select-training", on_click=take)
    return MAP_COMMON.build_tables(near)


def _rerun_when_tagged(source: Source) -> None:
    if data.find_tags(source.record, source.split, 0):
        st.rerun()
    widgets.show_caption("Reading the training sentences …")


def _offer_map(files: MapFiles, sentences: int, damage: str = "") -> None:
    """Show an offer to compute an embedding map, the progress of the job, or why the job failed."""
    name, failed = NAMES[files.config.method], background_jobs.read_job(files).status == "failed"
    if show_job(files, "compute-map", f"{name} map of {count(sentences)} sentences"):
        return
    if damage:
        messages.show_problem(f"This {name} map is damaged", f"{damage}\nCompute it again; nothing else changes.")
    elif not failed:
        what = f"{name} places {count(sentences)} sentences so that neighbours stay neighbours. {files.offer.takes}"
        st.html(f'<div class="s-empty"><b>There is no {name} map of this split yet</b><span>{what}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        show_start_button(files, "compute-map", "Compute the map again" if damage or failed else "", primary=True)


show_page()
