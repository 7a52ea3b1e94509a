"""Page Tokens: sentences with their true and predicted tag spans, and the errors of a token classifier."""

from dataclasses import replace
from functools import partial

import streamlit as st

from core.data.conll import OUTSIDE
from core.exceptions import NotAvailable, SentiscopeError
from core.formatting import count
from core.metrics import select_metrics
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures import token_tags
from dashboard.figures.figure import Source
from dashboard.figures.results import find_metric, list_stats
from dashboard.widgets.bars import show_stats
from dashboard.widgets.export import Table, Tables, show_export_bar
from dashboard.widgets.figure import show_bare, show_caption, show_figure, show_figures, show_heading, show_others
from dashboard.widgets.messages import show_error, show_finding, show_header, show_problem, show_shift, show_summary
from dashboard.widgets.options import choose_option, collect_tables, pick_option, show_text_field
from dashboard.widgets.runs import describe_end, list_facts, require_run

TITLE, QUESTION = "Tagging", "Which spans does it find, and which does it miss?"
SPLIT = "split"
PLACED = (
    *(token_tags.TAG_SENTENCES, token_tags.TAG_TYPES, token_tags.TAG_ERRORS),
    *(token_tags.TAG_TYPED, token_tags.TAG_CHANCES),
)


def show_page() -> None:
    """Draw the Tokens page of the chosen run, if the run gives each word a tag."""
    record = require_run(TITLE, QUESTION, purpose="The tags of words appear here")
    if record.task != "tokens" and record.classes:
        show_header(TITLE, QUESTION, list_facts(record))
        show_problem(
            f"{data.label_run(record.run)} labels whole texts, not words",
            "Choose a run trained on tagged words: `sentiscope train --data FILE.conll`.",
        )
        return
    splits = data.list_splits(record.run)
    if not splits:
        show_header(TITLE, QUESTION, list_facts(record))
        show_problem(f"{data.label_run(record.run)} has not been evaluated yet", describe_end(record))
        return
    _show_metrics(record, splits)


def _show_metrics(record: RunRecord, splits: list[str]) -> None:
    split = state.get_bound(SPLIT)
    source = Source(record, data, split=split if split in splits else "", text=state.get_bound(state.TEXT))
    rows = token_tags.read_tagged_rows(source)
    size = f"{count(len(rows.table))} sentences, {count(rows.labeled)} spans"
    show_header(TITLE, QUESTION, list_facts(record, (source.split, size)))
    show_summary(*token_tags.summarize_spans(rows))
    with st.container(key="tags-bar", horizontal=True, vertical_alignment="center", gap="small"):
        choose_option(token_tags.OUTCOME, source, plain=True)
        with st.popover("Options", help="Split, type of span, and search"):
            state.set_option(SPLIT, splits, source.split)
            st.selectbox("Split", splits, key=SPLIT, bind="query-params")
            pick_option(token_tags.TYPE, source)
            key, hint = token_tags.SEARCH.name, "Search the sentences"
            source.choices[key] = st.text_input("Word", key=key, bind="query-params", placeholder=hint)
    tables: dict[str, Table] = {**show_figures(source, token_tags.TAG_SENTENCES)}
    show_shift(data.compare_split(record, source.split))
    sections = {
        "Per type": partial(show_figures, source, token_tags.TAG_TYPES),
        "Error types": partial(show_figures, source, token_tags.TAG_ERRORS),
        "Your sentence": partial(_show_typed, record),
        "All metrics": partial(_show_stats, source),
    }
    tables = {**tables, **collect_tables(sections), **show_others(source, "tokens", PLACED)}
    show_export_bar("tokens", tables)


def _show_stats(source: Source) -> Tables:
    found = {name: find_metric(source.record.results, source.split, name) for name in select_metrics("tokens")}
    shown = list_stats(found, "tokens", len(token_tags.read_tagged_rows(source).table), {})
    show_stats([replace(each, unit="sentences") for each in shown])
    show_caption("± is half of the 95 % interval (bootstrap; none: all resamples agree).")
    return {}


@st.fragment
def _show_typed_part(record: RunRecord) -> None:
    show_heading("Your sentence", "own-sentence", note="spaces separate words")
    text = show_text_field(record)
    source = Source(record, data, text=text)
    if not text.strip():
        return
    try:
        show_bare(source, token_tags.TAG_TYPED)
        shown = show_figure(source, token_tags.TAG_CHANCES)
        unread = sum(chance is None for chance in shown.tag_probabilities)
        if unread:
            show_finding(
                f"{count(unread)} of {count(len(shown.words))} words were not read",
                f"This run reads {count(record.max_length)} tokens at most and tags later words as O.",
            )
    except SentiscopeError as error:
        show_error(error)


def _show_typed(record: RunRecord) -> Tables:
    table = data.read_tags(record, data.list_splits(record.run)[-1])
    named = table[table["label"].map(lambda tags: any(tag != OUTSIDE for tag in tags))]
    first = str((table if named.empty else named)["text"].iloc[0])
    state.restore_text(state.TEXT, first)
    _show_typed_part(record)
    try:
        source = Source(record, data, text=state.get_bound(state.TEXT) or first)
        return token_tags.TAG_CHANCES.build_tables(token_tags.TAG_CHANCES.read_data(source))
    except NotAvailable:
        return {}


show_page()
