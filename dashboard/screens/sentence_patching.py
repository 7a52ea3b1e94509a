"""A second sentence of as many tokens, whose inside is put into the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import InputError
from dashboard import state
from dashboard.data import data
from dashboard.figures.patching import DONOR, PATCHING
from dashboard.figures.source import Source
from dashboard.figures.words import target
from dashboard.widgets.figure import caption, heading, show_bare
from dashboard.widgets.messages import finding
from dashboard.widgets.waiting import waited

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 2_000
"""Characters."""
OFFER = (
    "Type the sentence with one word replaced: which layer, word and head carries the difference? A place of the "
    "second is put into the first, one at a time."
)


def from_another(source: Source) -> dict[str, pd.DataFrame]:
    """The section, of a text with maps; gives its table."""
    with st.container(key="patching"):
        place = st.container()
        donor = st.text_input(
            "Second sentence of as many tokens",
            key=state.DONOR,
            bind="query-params",
            max_chars=LONGEST,
            placeholder="A second sentence of as many tokens",
            label_visibility="collapsed",
        )
        source.choices[DONOR.name] = donor or ""
        shape, said = None, ("", OFFER)
        if (donor or "").strip():
            about = source.record.run, source.text, donor, target(source), source.edits
            try:
                if waited(data.asking(("patches", *about)), "patches", "Not every place was put in.").whole:
                    shape = show_bare(source, PATCHING)
            except InputError as error:
                said = "These two cannot be put together", f"{str(error)[:1].upper()}{str(error)[1:]}."
        with place:
            note = "" if shape is None else PATCHING.say(PATCHING.note, shape)
            heading(str(PATCHING.title), PATCHING.name, note=note, about=str(PATCHING.how))
        if shape is None:
            finding(*said) if said[0] else caption(said[1])
            return {}
        caption(PATCHING.say(PATCHING.reading, shape))
        return PATCHING.numbers(shape)
