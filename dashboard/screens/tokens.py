"""Page Tokens: sentences with their true and predicted spans, and the errors."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.data.conll import OUTSIDE
from core.exceptions import NotAvailable, SentiscopeError
from core.metrics import metrics_of
from core.numbers import count
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures import tagged
from dashboard.figures.results import Stat, find_metric, list_stats
from dashboard.figures.source import Source
from dashboard.widgets.bars import stats
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, heading, show_bare, show_of, show_others, show_tables
from dashboard.widgets.messages import differing, finding, header, opening, problem, stopped
from dashboard.widgets.options import choose, pick
from dashboard.widgets.runs import chosen_run, ended, facts
from dashboard.widgets.typed import sentence_field

if TYPE_CHECKING:
    import pandas as pd

QUESTION = "Which spans does it find, and which does it miss?"
SPLIT = "split"


def page() -> None:
    """Show the chosen run, if it tags words."""
    record = chosen_run("Tokens", QUESTION, purpose="What it says of each word stands here")
    if record is None:
        return
    if record.task != "tokens" and record.classes:
        header("Tokens", QUESTION, facts(record))
        problem(
            f"{record.run} gives a text a label, and no tags to its words",
            "Choose a run that was trained on words with a tag each: `sentiscope train --data FILE.conll`.",
        )
        return
    splits = data.evaluated_splits(record.run)
    if not splits:
        header("Tokens", QUESTION, facts(record))
        problem(f"{record.run} has not been evaluated yet", ended(record))
        return
    _measured(record, splits)


def _measured(record: RunRecord, splits: list[str]) -> None:
    split = state.asked(SPLIT)
    source = Source(record, data, split=split if split in splits else "", text=state.asked(state.TEXT))
    rows = tagged.rows_of(source)
    size = f"{count(len(rows.table))} sentences, {count(rows.labelled)} spans"
    header("Tokens", QUESTION, facts(record, (source.split, size)))
    with st.container(key="tags-bar", horizontal=True, vertical_alignment="bottom", gap="medium"):
        state.settle(SPLIT, splits, source.split)
        st.selectbox("Split", splits, key=SPLIT, bind="query-params", width=150)
        choose(tagged.OUTCOME, source)
        pick(tagged.TYPE, source, width=160)
        search: dict[str, Any] = {"placeholder": "Search the sentences", "width": 240}
        found = st.text_input("Word", key=tagged.SEARCH.name, bind="query-params", **search)
        source.choices[tagged.SEARCH.name] = found
    opening(*tagged.finding(rows))
    differing(data.split_differences(record, source.split))
    stats(_stats(source))
    caption("± is half of the 95 % interval (bootstrap over these sentences; none where all resamples agree).")
    shown = tagged.TAG_SENTENCES, tagged.TAG_TYPES, tagged.TAG_ERRORS
    tables = show_tables(source, *shown)
    tables |= show_others(source, "tokens", (*shown, tagged.TAG_TYPED, tagged.TAG_CHANCES))
    export_bar("tokens", tables | _typed(record))


def _stats(source: Source) -> list[Stat]:
    found = {name: find_metric(source.record.results, source.split, name) for name in metrics_of("tokens")}
    shown = list_stats(found, "tokens", len(tagged.rows_of(source).table), {})
    return [replace(each, unit="sentences") for each in shown]


@st.fragment
def _typed_part(record: RunRecord) -> None:
    """Show a typed sentence; a new one reruns this part alone."""
    heading("A sentence of your own", "own-sentence", note="what stands between blanks is a word")
    text = sentence_field(record)
    source = Source(record, data, text=text)
    if not text.strip():
        return
    try:
        show_bare(source, tagged.TAG_TYPED)
        shown = show_of(source, tagged.TAG_CHANCES)
        unread = sum(chance is None for chance in shown.of_tags)
        if unread:
            finding(
                f"{count(unread)} of {count(len(shown.words))} words were not read",
                f"This run reads {count(record.max_length)} tokens at most; what stands behind them is taken for O.",
            )
    except SentiscopeError as error:
        stopped(error)


def _typed(record: RunRecord) -> dict[str, pd.DataFrame]:
    table = data.tags(record, data.evaluated_splits(record.run)[-1])
    named = table[table["label"].map(lambda tags: any(tag != OUTSIDE for tag in tags))]
    first = str((table if named.empty else named)["text"].iloc[0])
    state.restate(state.TEXT, first)
    _typed_part(record)
    try:
        source = Source(record, data, text=state.asked(state.TEXT) or first)
        return tagged.TAG_CHANCES.numbers(tagged.TAG_CHANCES.shape(source))
    except NotAvailable:
        return {}


page()
