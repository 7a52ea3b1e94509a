"""Page Errors: the wrong predictions of a split, one after the other, and what they have in common."""

from collections.abc import Sequence

import streamlit as st

from core.error_analysis.selection import ORDERS, parse_selection
from core.exceptions import InputError
from core.formatting import count, plural
from core.runs.record import RunRecord
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.error_list import SentenceList, build_sentences_table
from dashboard.figures.error_rates import count_errors, describe_clusters
from dashboard.figures.figure import Source
from dashboard.figures.filtering import ORDER, SELECT, WRONG
from dashboard.figures.row_selection import RowSelection
from dashboard.screens.errors_reader import show_codes_part, show_other_texts, show_reader
from dashboard.screens.errors_statistics import get_other_run, list_sections, show_filter_bar
from dashboard.widgets import messages
from dashboard.widgets.export import Table, offer_report, show_export_bar
from dashboard.widgets.figure import show_caption
from dashboard.widgets.options import collect_tables
from dashboard.widgets.runs import list_facts, require_run, require_splits

QUESTION = "What goes wrong, and what do errors share?"
FEW = 500
"""Sentences of a split, below which folds are suggested."""
PATIENCE = 0.4  # seconds to wait for tags; then the sentences are shown without them


def show_page() -> None:
    """Draw the Errors page: the wrong predictions of one run on one split."""
    record = require_run("Errors", QUESTION, purpose="Errors appear here")
    splits = require_splits(record, "Errors", QUESTION)
    split = _get_split(splits)
    table = data.read_tagged_rows(record, split).table
    wrong = f"{split} · {plural(int(table.wrong.sum()), 'error')}"
    messages.show_header("Errors", QUESTION, list_facts(record, (f"n = {count(len(table))}", wrong)))
    if why := data.explain_no_texts(record):
        messages.show_finding("There are no texts to read", f"{why}.")
    tagged = _find_tags(record, split)
    shown = _read_selected(record, split)
    if shown is None:
        return
    if tagged:
        messages.show_summary(describe_clusters(count_errors(shown)))
    elif tagged is False:
        st.fragment(_rerun_when_tagged, run_every=1.0)(record, split)
    show_filter_bar(shown, splits)
    show_reader(shown)
    show_other_texts(shown)
    author = state.get_author()  # the file includes codes given since the page was drawn
    choices = {SELECT.name: shown.select, **({ORDER.name: shown.order} if shown.order else {})}
    source = Source(record, data, split=split, choices=choices, author=author)
    tables: dict[str, Table] = {
        "Sentences": lambda: build_sentences_table(SentenceList(shown), data.read_visible_codes(record, author))
    }
    if len(table) < FEW and not record.config.data.folds and not record.from_outside:
        with st.container(key="folds", horizontal=True, vertical_alignment="center", gap="small"):
            few = plural(len(table), "sentence")
            show_caption(f"Only {few}. With folds, a sweep tests every labelled sentence once.")
            if st.button("Open Sweeps", type="tertiary", key="folds-open"):
                state.open_page("sweeps")
    show_codes_part(shown)
    if tagged is not None:
        tables |= collect_tables(list_sections(source, shown, tagged=tagged))
    show_export_bar("errors", tables, figures=False)
    offer_report([record.run], split)


def _get_split(splits: Sequence[str]) -> str:
    """Return the split that the Errors page shows: that of the selection, else the one shown last."""
    usual, chosen = selection.get_default_split(splits), parse_selection(state.get_param(state.SELECT))
    if chosen.rules:
        state.set_param(state.SPLIT, chosen.split if chosen.split in splits else usual)
    state.set_option(state.SPLIT, splits, usual)
    return state.get_bound(state.SPLIT)


def _read_selected(record: RunRecord, split: str) -> RowSelection | None:
    asked = state.get_param(state.SELECT) or WRONG
    try:
        found = data.select_tagged_rows(record, split, asked, state.get_author(), against=get_other_run(record, split))
        order = state.get_param(state.ORDER)
        return found.reorder_rows(order if order in ORDERS else "")
    except InputError as error:
        messages.show_problem("This selection cannot be made here", str(error).removeprefix("--where "))
        st.button("Show all errors", key="select-wrong", on_click=selection.clear, args=(record,))
        return None


def _find_tags(record: RunRecord, split: str) -> bool | None:
    """Return whether the tags of a split are there, waiting a moment; if they cannot be found, show why: None."""
    with messages.explain_refusal("There are no tags"):
        return data.find_tags(record, split, PATIENCE)
    return None


def _rerun_when_tagged(record: RunRecord, split: str) -> None:
    with messages.explain_refusal("There are no tags"):
        if data.find_tags(record, split, 0):
            st.rerun()
        messages.show_summary("Finding tags … The list is already complete.")


show_page()
