"""Keeping the typed sentence as a counter-example: with the label that it ought to have, and the way back to it."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.exceptions import SentiscopeError
from core.failures.counter_examples import keep_example
from core.failures.names import LONGEST, LONGEST_TEXT
from core.fingerprint import fingerprint
from core.runs.record import RunRecord
from dashboard import data, selection, state
from dashboard.screens.sentence_label import looked_at
from dashboard.widgets.tokens import literal

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

SEVERAL = "Counter-examples have one label each, and this run gives several"
HELP = "As a counter-example, for the class"
LIST = "behave"


def keep_button(record: RunRecord, text: str, view: SentenceView) -> None:
    """A button that opens the form."""
    several = record.task == "multi"
    with st.popover(
        "Keep",
        icon=":material/bookmark_add:",
        type="tertiary",
        key="keep",
        help=SEVERAL if several else HELP,
        disabled=several or not text.strip(),
    ):
        if not several and text.strip():
            _form(record, text, view)


def _form(record: RunRecord, text: str, view: SentenceView) -> None:
    """What it ought to be begins with what its data says, else, of two classes, with the one that is not said."""
    classes, true = record.classes, looked_at(record)
    ought = true[1] if true[0] == text else ""
    if not ought and len(classes) == 2:
        ought = next(name for name in classes if name != view.label)
    key = f"keep-label-{fingerprint([record.run, text, view.label])[:12]}"
    with st.form("keep-form", border=False):
        st.html(f'<p class="s-kept"><q>{escape(text)}</q></p>')
        st.selectbox(
            "It ought to be",
            classes,
            index=classes.index(ought) if ought in classes else None,
            placeholder="Choose a class",
            key=key,
            help=f"{record.run} says {literal(view.label)}",
        )
        st.text_area("Note", key=state.KEEP_NOTE, height=68, max_chars=LONGEST_TEXT, placeholder="what fools it")
        st.text_input("Your name", key=state.AUTHOR, max_chars=LONGEST, persist_state="session")
        st.form_submit_button("Keep it", type="primary", on_click=partial(_keep, record, text, key))
    if said := state.take(state.KEPT):
        st.html(f'<p class="s-cap" role="status">{escape(str(said))}</p>')
    if st.button("The class's list", icon=":material/checklist:", type="tertiary", key="kept-list"):
        state.go(LIST)


def _keep(record: RunRecord, text: str, key: str) -> None:
    """A callback: into the list, with the link to the sentence as it stands."""
    label = state.draft(key, None)
    if not label:
        state.put(state.KEPT, "Say first what it ought to be.")
        return
    link = state.link_to(selection.SENTENCE, **{state.RUN: record.run, state.TEXT: text})
    note, author = (str(state.draft(name, "") or "") for name in (state.KEEP_NOTE, state.AUTHOR))
    try:
        keep_example(data.store().folder, text, str(label), note, author, link)
    except SentiscopeError as error:
        state.put(state.KEPT, f"Not kept: {error}.")
        return
    state.put(state.KEPT, f"Kept as {label}: “{text[:60]}{'…' * (len(text) > 60)}”")
    state.put(state.KEEP_NOTE, "")
