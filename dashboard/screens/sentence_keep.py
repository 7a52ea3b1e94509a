"""Keeping the typed sentence as a counter-example: with the label that it ought to have, and the way back to it."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.evaluation.scores import NOTHING
from core.exceptions import SentiscopeError
from core.failures.counter_examples import keep_example
from core.failures.names import LONGEST, LONGEST_TEXT
from core.fingerprint import fingerprint
from core.runs.record import RunRecord
from core.text.direction import quoted
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.labels import named_limits
from dashboard.screens.sentence_label import looked_at
from dashboard.widgets.tokens import literal

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

HELP = "As a counter-example, for the class"
LIST = "behave"


def keep_button(record: RunRecord, text: str, view: SentenceView) -> None:
    """A button that opens the form."""
    with st.popover(
        "Keep",
        icon=":material/bookmark_add:",
        type="tertiary",
        key="keep",
        help=HELP,
        disabled=not text.strip(),
    ):
        if text.strip():
            _form(record, text, view)


def _form(record: RunRecord, text: str, view: SentenceView) -> None:
    """What it ought to be, a note, and who says so."""
    true = looked_at(record)
    ought = true[1] if true[0] == text else ""
    key = f"keep-label-{fingerprint([record.run, text, view.label])[:12]}"
    with st.form("keep-form", border=False):
        st.html(f'<p class="s-kept"><q>{escape(text)}</q></p>')
        (_labels if record.task == "multi" else _label)(record, view, ought, key)
        st.text_area("Note", key=state.KEEP_NOTE, height=68, max_chars=LONGEST_TEXT, placeholder="what fools it")
        st.text_input("Your name", key=state.AUTHOR, max_chars=LONGEST, persist_state="session")
        st.form_submit_button("Keep it", type="primary", on_click=partial(_keep, record, text, key))
    if said := state.take(state.KEPT):
        st.html(f'<p class="s-cap" role="status">{escape(str(said))}</p>')
    if st.button("The class's list", icon=":material/checklist:", type="tertiary", key="kept-list"):
        state.go(LIST)


def _label(record: RunRecord, view: SentenceView, ought: str, key: str) -> None:
    """Begins with what its data says, else, of two classes, with the one that is not said."""
    classes = record.classes
    if not ought and len(classes) == 2:
        ought = next(name for name in classes if name != view.label)
    st.selectbox(
        "It ought to be",
        classes,
        index=classes.index(ought) if ought in classes else None,
        placeholder="Choose a class",
        key=key,
        help=f"{record.run} says {literal(view.label)}",
    )


def _labels(record: RunRecord, view: SentenceView, ought: str, key: str) -> None:
    """Begins with what its data says, else with what the run says."""
    limits = named_limits(record)
    said = [name for name, chance in view.probabilities.items() if chance > limits[name]]
    true = [name for name in record.classes if name in ought.split(", ")]
    st.multiselect(
        "It ought to have",
        record.classes,
        default=true if ought else said,
        placeholder=NOTHING,
        key=key,
        help=f"All labels that it ought to have; {record.run} says {literal(', '.join(said)) or NOTHING}",
    )


def _keep(record: RunRecord, text: str, key: str) -> None:
    """A callback: into the list, with the link to the sentence as it stands."""
    label = state.draft(key, None)
    if not label and record.task == "single":
        state.put(state.KEPT, "Say first what it ought to be.")
        return
    link = state.link_to(selection.SENTENCE, **{state.RUN: record.run, state.TEXT: text})
    note, author = (str(state.draft(name, "") or "") for name in (state.KEEP_NOTE, state.AUTHOR))
    try:
        kept = keep_example(data.store().folder, text, label or [], note, author, link)
    except SentiscopeError as error:
        state.put(state.KEPT, f"Not kept: {error}.")
        return
    state.put(state.KEPT, f"Kept as {kept.ought}: {quoted(text, 60)}")
    state.put(state.KEEP_NOTE, "")
