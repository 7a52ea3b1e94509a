"""What is put upon a map: the sentences that contain what is searched, and one that somebody typed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.evaluation.projection import NAMES, NEIGHBOURS
from core.failures.selection import Selection
from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.embeddings import DENSITY, FIND, METHOD, SENTENCES, SPACE, Mapped, containing
from dashboard.figures.map_drawing import Placed
from dashboard.figures.numbers import count
from dashboard.figures.source import Source
from dashboard.widgets.messages import finding, selection_note
from dashboard.widgets.options import choose, pick

LONGEST = 200
"""Characters that are searched."""


def fields(source: Source) -> tuple[str, str]:
    """What is to be found, and the sentence that somebody typed; beside them what is chosen more rarely."""
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
    """How many sentences contain what is searched, and the button that selects them on all pages; nothing of none."""
    if not shown.find:
        return
    every, here = int(containing(points, shown.find).sum()), len(shown.found)
    what = f"{count(every)} of {count(len(points))} sentences contain “{shown.find}”"
    if not every:
        finding("Nothing found", f"No sentence of this split contains “{shown.find}”; letter case does not matter.")
        return
    with st.container(key="map-found", horizontal=True, vertical_alignment="center", gap="medium"):
        selection_note(what, f"{count(here)} of them on this map, each in a ring" if here < every else "each in a ring")
        st.button(f"Select {count(every)}", key="select-found", on_click=_select, args=(source, shown.find))


def _select(source: Source, find: str) -> None:
    selection.choose(source.record, Selection((f"text~{find}",), source.split))


def placed(record: RunRecord, shown: Mapped, text: str) -> tuple[Placed | None, str]:
    """A typed sentence at its place, which needs the model, and a line on how it got there."""
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
