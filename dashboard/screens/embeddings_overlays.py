"""Sections of Embeddings: groups, layers, neighbours, progress, and sentences put on the map."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pandas as pd
import streamlit as st

from core.evaluation.projection import NAMES, NEIGHBOURS
from core.exceptions import NotAvailable, RunDamaged
from core.failures.selection import Selection
from core.models.provides import provides
from core.numbers import count
from core.runs import errands
from core.runs.projections import MapFiles
from core.runs.record import RunRecord
from core.text.clusters import quoted
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.class_separation import MAP_LAYERS
from dashboard.figures.embeddings import DENSITY, FIND, METHOD, SENTENCES, SPACE, Mapped, containing
from dashboard.figures.filtering import SELECT
from dashboard.figures.map_drawing import Placed
from dashboard.figures.map_groups import MAP_GROUPS, Groups
from dashboard.figures.map_neighbours import AT, LEAST, MAP_COMMON, MAP_NEIGHBOURS, Near, near_several
from dashboard.figures.source import Source
from dashboard.selection import Chosen
from dashboard.widgets.figure import caption, heading_of, show
from dashboard.widgets.messages import finding, problem, selection_note
from dashboard.widgets.options import choose, pick
from dashboard.widgets.selected import selected_here
from dashboard.widgets.waiting import begin, offer, under_way

LONGEST = 200


def fields(source: Source) -> tuple[str, str]:
    """Show the fields of the map; return the searched text and the typed sentence."""
    state.restate(state.FIND, "")
    with st.container(key="map-fields", horizontal=True, vertical_alignment="bottom", gap="small"):
        find = st.text_input(
            FIND.label,
            key=state.FIND,
            bind="query-params",
            max_chars=LONGEST,
            placeholder="any text",
            help=FIND.about,
            width=210,
        )
        typed = st.text_input(
            "Your sentence on this map",
            key=state.PLACED,
            bind="query-params",
            max_chars=5000,
            placeholder="Type a sentence and press Enter",
            help="The model reads it and its vector is put on the map",
        )
        if "hidden" in provides(source.record.config.model):
            pick(SPACE, source, width=140, about=SPACE.about)
        with st.popover("More", help="The field behind the points, how many are placed"):
            choose(DENSITY, source)
            if source.chosen(METHOD) != NAMES["pca"]:
                choose(SENTENCES, source)
    source.choices[FIND.name] = (find or "").strip()
    return source.choices[FIND.name], (typed or "").strip()


def said_found(source: Source, shown: Mapped, points: pd.DataFrame) -> None:
    """Show how many sentences contain the searched text, and the button that selects them on all pages."""
    if not shown.find:
        return
    every, here = int(containing(points, shown.find).sum()), len(shown.found)
    what = f"{count(every)} of {count(len(points))} sentences contain “{shown.find}”"
    if not every:
        finding("Nothing found", f"No sentence of this split contains “{shown.find}”; letter case does not matter.")
        return
    with st.container(key="map-found", horizontal=True, vertical_alignment="center", gap="medium"):
        selection_note(what, f"{count(here)} of them on this map, each in a ring" if here < every else "each in a ring")
        take = partial(selection.choose, source.record, Selection((f"text~{shown.find}",), source.split))
        st.button(f"Select {count(every)}", key="select-found", on_click=take)


def placed(record: RunRecord, shown: Mapped, text: str) -> tuple[Placed | None, str]:
    """Place a typed sentence on the map with the model; return it and a line on how it was placed."""
    if not text:
        return None, ""
    if not data.weights_fingerprint(record.run):
        finding("Your sentence cannot be placed", "This run has no weights, so that it can read nothing new.")
        return None, ""
    how = "The diamond is your sentence, exactly where PCA puts its vector."
    if shown.config.method != "pca":
        how = (
            f"The diamond is your sentence, at the mean place of its {NEIGHBOURS} nearest neighbours in the original "
            f"space: {NAMES[shown.config.method]} itself cannot place a new sentence without moving the others."
        )
    return Placed(data.place(record, shown.files, shown.made, text), text), how


def groups_below(source: Source, now: Chosen | None) -> dict[str, pd.DataFrame]:
    """Show the groups, and the selection if it was made here; return their numbers."""
    try:
        shown = MAP_GROUPS.shape(source)
    except NotAvailable as reason:
        heading_of(MAP_GROUPS, about=False)
        caption(f"There are none: {reason}.")
        return {}
    key = f"fig-{MAP_GROUPS.name}"
    here = now is not None and state.draft(state.SELECTOR, "") == key
    picked = state.picked(MAP_GROUPS.name) if here else ""
    shown = replace(shown, picked=picked)
    show(MAP_GROUPS, shown, default={"picked": picked}, on_picked_change=lambda: _pick(source, shown, key))
    if here and now is not None:
        selected_here(source.record, now, (key,))
    return MAP_GROUPS.numbers(shown)


def _pick(source: Source, shown: Groups, key: str) -> None:
    name = state.picked(MAP_GROUPS.name)
    places = shown.places(name)
    selection.choose_rows(source.record, source.split, places, shown.about(name), by=key)


def layers_below(source: Source) -> dict[str, pd.DataFrame]:
    """Show the layers, the offer to read them, or why there are none; return their numbers."""
    try:
        known = data.layers(source.record, source.split)
    except NotAvailable as reason:
        heading_of(MAP_LAYERS, about=False)
        caption(f"There is none: {reason}.")
        return {}
    if known is None:
        heading_of(MAP_LAYERS)
        not_read(source)
        return {}
    shown = MAP_LAYERS.shape(source)
    show(MAP_LAYERS, shown, more="The map is of the shaded one; choose another under Vectors.")
    return MAP_LAYERS.numbers(shown)


def not_read(source: Source) -> None:
    """Show the job that reads the layers, or its button; NotAvailable: there are no layers to read."""
    offer(data.layer_files(source.record.run, source.split), "read-layers")


PATIENCE = 0.2  # seconds to wait for the training sentences before the page goes on without them
QUOTED = 60  # characters of a sentence in the words of a selection


def neighbours(source: Source, now: Chosen | None, typed: str) -> Near | None:
    """Return the neighbours of the typed sentence, else of the current or only selected one, else of all selected."""
    source.text = typed if data.weights_fingerprint(source.record.run) else ""
    one = now is not None and len(now) and (now.at is not None or len(now) == 1)
    if now is not None and one:
        source.choices[AT.name] = now.key(now.at or 0)
    try:
        if now is not None and not one and not source.text.strip():
            return near_several(source, now.places, now.words)
        return MAP_NEIGHBOURS.shape(source)
    except NotAvailable:
        return None


def neighbours_below(source: Source, near: Near | None) -> dict[str, pd.DataFrame]:
    """Show the table of neighbours, and the button that selects them; return its numbers."""
    if near is None:
        return {}
    show(MAP_NEIGHBOURS, near)
    of = quoted(near.of, QUOTED) if near.n == 1 else f"{count(near.n)}: {near.of}"
    rows = near.found["row"].tolist()
    take = partial(selection.choose_rows, source.record, source.split, rows, f"nearest to {of}")
    st.button(f"Select these {count(len(rows))}", key="select-near", on_click=take)
    return MAP_NEIGHBOURS.numbers(near)


def training_below(source: Source, now: Chosen | None) -> dict[str, pd.DataFrame]:
    """Show the training sentences that are nearest to a selection of several; return their numbers."""
    if now is None or len(now) < LEAST:
        return {}
    source.choices[SELECT.name] = str(now.selection)
    try:
        if not data.find_tags(source.record, source.split, PATIENCE):
            heading_of(MAP_COMMON)
            st.fragment(_look_again, run_every=1.0)(source)
            return {}
        near = MAP_COMMON.shape(source)
    except (NotAvailable, RunDamaged) as error:
        heading_of(MAP_COMMON)
        caption(f"There are none: {error}.")
        return {}
    show(MAP_COMMON, near)
    found = near.common.found
    texts, labels = found["text"].tolist(), found["label"].tolist()
    about = f"nearest in training to {count(len(now))}: {now.words}"
    take = partial(selection.choose_sentences, source.record, texts, labels, about)
    st.button(f"Select these {count(len(texts))}", key="select-training", on_click=take)
    return MAP_COMMON.numbers(near)


def _look_again(source: Source) -> None:
    if data.find_tags(source.record, source.split, 0):
        st.rerun()
    caption("The training sentences are being read.")


def not_yet(files: MapFiles, sentences: int, damage: str = "") -> None:
    """Show an offer to compute a map, its progress, or why it failed."""
    name, failed = NAMES[files.config.method], errands.job(files).status == "failed"
    if under_way(files, "compute-map", f"{name} map of {count(sentences)} sentences"):
        return
    if damage:
        problem(f"This {name} map is damaged", f"{damage}\nCompute it again; nothing else is touched.")
    elif not failed:
        what = f"{name} places {count(sentences)} sentences so that neighbours stay neighbours. {files.offer.takes}"
        st.html(f'<div class="s-empty"><b>There is no {name} map of this split yet</b><span>{what}</span></div>')
    with st.container(horizontal=True, horizontal_alignment="center"):
        begin(files, "compute-map", "Compute the map again" if damage or failed else "", primary=True)
