"""Page Sentence: the prediction of a typed text, every head of every layer, and changes inside the model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.evaluation.scores import NOTHING
from core.exceptions import SentiscopeError
from core.failures.counter_examples import keep_example
from core.failures.names import LONGEST, LONGEST_TEXT
from core.fingerprint import fingerprint
from core.interpret.trace_summary import unknown_note
from core.runs.record import RunRecord
from core.text.clusters import quoted
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.labels import named_limits
from dashboard.figures.results import offered_text
from dashboard.figures.source import Source
from dashboard.screens.sentence_bench import bench, bench_asked, choose_target, lever_board, word_strip
from dashboard.screens.sentence_compare import other_runs, pin_button, pinned_line
from dashboard.screens.sentence_more import below_the_bench, has_maps
from dashboard.screens.sentence_tried import remember, undo_and_redo
from dashboard.widgets.bars import answer
from dashboard.widgets.export import Table
from dashboard.widgets.messages import empty, finding, header, literal
from dashboard.widgets.runs import attends, chosen_run, facts
from dashboard.widgets.style import add_style, look
from dashboard.widgets.typed import asked_edits, begin, read_typed

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence import SentenceView


QUESTION = "Which word decides, and through which part?"


def page() -> None:
    """Show a text as one run reads it."""
    record = chosen_run("Sentence", QUESTION, purpose="A sentence is read and answered here")
    if record is None:
        return
    if not data.weights_fingerprint(record.run):
        header("Sentence", QUESTION, facts(record))
        empty(*_no_weights(record), "train")
        return
    header("Sentence", QUESTION, facts(record, attends(record)), low=True)
    begin(record, looked_at(record)[0] or offered_text(record))
    add_style("bench.css")
    read_typed(record, partial(_reading, others=other_runs(record)))


def _reading(record: RunRecord, text: str, line: DeltaGenerator, others: Mapping[str, RunRecord]) -> None:
    trained = data.sentence(record.run, text)
    if note := unknown_note(trained.unknown_words):
        finding("Few of these words are known", note)
    edits, parts, view = asked_edits(record, text, trained)
    remember(record, text, edits, view)
    answered = _in_sight(record, text, view, trained if edits else None)
    source = Source(record, data, text=text, edits=edits)
    with line:
        if trained.tokens:
            choose_target(source)
        undo_and_redo()
        pin_button(source)
    with answered:
        pin = pinned_line(source, others)
    if trained.tokens and not bench_asked(source, deep=has_maps(trained)):
        return
    tables = dict[str, Table]()
    if has_maps(trained):
        found, levers = bench(source)
        with levers:
            tables = {**found, **lever_board(source, parts)}
    elif trained.tokens:
        tables |= word_strip(source)
    below_the_bench(source, trained, others, pin, tables)


def _in_sight(record: RunRecord, text: str, view: SentenceView, before: SentenceView | None) -> DeltaGenerator:
    with st.container(key="answer", horizontal=True, vertical_alignment="center", gap="small"):
        place = st.container(gap="xxsmall")
        with place:
            answer(record, view, look(), before=before)
        true_label(record, text, view)
        keep_button(record, text, view)
    return place


def _no_weights(record: RunRecord) -> tuple[str, str, str]:
    if record.status in ("queued", "running"):
        return "This run has not learned anything yet", "It can be asked after its first epoch.", "Watch it learn"
    return (
        "This run has no weights",
        f"Without them no new sentence can be read; its curves and metrics are still there. {record.reason}",
        "Train a model",
    )


def looked_at(record: RunRecord) -> tuple[str, str]:
    """Return text and true label of the current selected sentence; both empty if there is none."""
    now = selection.chosen(record)
    return ("", "") if now is None or now.at is None else (now.text(now.at), now.label(now.at))


def true_label(record: RunRecord, text: str, view: SentenceView) -> None:
    """Show the true label of a text if it is the current selected sentence and its data have one."""
    chosen, label = looked_at(record)
    if not label or text != chosen:
        return
    mark = ""
    if record.task == "single" and label in record.classes:
        right = view.label == label
        mark = f'<b class="{"s-right" if right else "s-wrong"}">{"✓ right" if right else "✕ wrong"}</b>'
    st.html(f'<p class="s-truth">true label <b>{escape(label)}</b> {mark}</p>', width="content")


HELP = "As a counter-example, for the class"


def keep_button(record: RunRecord, text: str, view: SentenceView) -> None:
    """Show the button that opens the form for a counter-example."""
    icon, off = ":material/bookmark_add:", not text.strip()
    with st.popover("Keep", icon=icon, type="tertiary", key="keep", help=HELP, disabled=off):
        if text.strip():
            _form(record, text, view)


def _form(record: RunRecord, text: str, view: SentenceView) -> None:
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
        state.go("behave")


def _label(record: RunRecord, view: SentenceView, ought: str, key: str) -> None:
    """Offer the true label of the data, or of two classes the one that is not predicted."""
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
    else:
        state.put(state.KEPT, f"Kept as {kept.ought}: {quoted(text, 60)}")
        state.put(state.KEEP_NOTE, "")


page()
