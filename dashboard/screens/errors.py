"""Page Errors: the wrong predictions of a split, one after the other, and what they have in common."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.exceptions import InputError, SentiscopeError
from core.failures.selection import parse
from core.numbers import count
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.analysis import Analysis
from dashboard.figures.errors import Reading, sentences_table
from dashboard.figures.filtering import ORDER, SELECT, WRONG
from dashboard.figures.source import Source
from dashboard.screens.errors_codes import coded_sessions
from dashboard.screens.errors_reader import codes_part, elsewhere, reader
from dashboard.screens.errors_statistics import below, filter_bar, other_run
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.messages import empty, finding, header, problem
from dashboard.widgets.report import report_button
from dashboard.widgets.runs import chosen_run, ended, facts

QUESTION = "Which sentences go wrong, and what do they have in common?"
PATIENCE = 0.4  # seconds to wait for tags before the sentences are shown without them


def page() -> None:
    """Show the errors of one run on one split."""
    record = chosen_run("Errors", QUESTION, purpose="The sentences that it gets wrong stand here")
    if record is None:
        return
    splits = data.evaluated_splits(record.run)
    if not splits:
        header("Errors", QUESTION, facts(record))
        empty("This run has not been evaluated", ended(record), "Train a model", "train")
        return
    split = _split(splits)
    table = data.known(record, split).table
    wrong = f"{split} · {count(int(table.wrong.sum()))} wrong"
    header("Errors", QUESTION, facts(record, (f"n = {count(len(table))}", wrong)), low=True)
    if why := data.lacks_texts(record):
        finding("There are no texts to read", f"{why}.")
    there, why_not = False, ""
    try:
        there = data.find_tags(record, split, PATIENCE)
    except SentiscopeError as error:
        why_not = str(error)
    shown = _selected(record, split)
    if shown is None:
        return
    filter_bar(shown, splits)
    reader(shown)
    elsewhere(shown)
    author = state.author()  # a code that was given since then is in the file too
    choices = {SELECT.name: shown.select, **({ORDER.name: shown.order} if shown.order else {})}
    source = Source(record, data, split=split, choices=choices, author=author)
    tables: dict[str, Table] = {"Sentences": lambda: sentences_table(Reading(shown), data.legible(record, author))}
    with st.container(key="pair-gathered"):
        left, right = st.columns([6, 5], gap="large")
    with right:
        codes_part(shown)
    if there:
        tables |= below(source, shown, (left, right))
    else:
        with left:
            if why_not:
                problem("There are no tags", why_not)
            else:
                st.fragment(_look_again, run_every=1.0)(record, split)
    export_bar("errors", tables, figures=False)
    report_button([record.run], split, **coded_sessions(shown))


def _split(splits: Sequence[str]) -> str:
    """Return the split of the selection if there is one, else the last one looked at."""
    usual, chosen = selection.usual_split(splits), parse(state.carried(state.SELECT))
    if chosen.rules:
        state.carry(state.SPLIT, chosen.split if chosen.split in splits else usual)
    state.settle(state.SPLIT, splits, usual)
    return state.asked(state.SPLIT)


def _selected(record: RunRecord, split: str) -> Analysis | None:
    asked = state.carried(state.SELECT) or WRONG
    try:
        found = data.analysis(record, split, asked, state.author(), against=other_run(record, split))
        return found.ordered(state.carried(state.ORDER))
    except InputError as error:
        problem("This selection cannot be made here", str(error).removeprefix("--where "))
        st.button("Show what is wrong", key="select-wrong", on_click=selection.clear, args=(record,))
        return None


def _look_again(record: RunRecord, split: str) -> None:
    try:
        if data.find_tags(record, split, 0):
            st.rerun()
    except SentiscopeError as error:
        problem("There are no tags", str(error))
        return
    st.html('<p class="s-cap">The tags of these texts are being found; the list is whole.</p>')


page()
