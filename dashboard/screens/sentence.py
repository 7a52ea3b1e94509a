"""Page Sentence: a model's prediction for a typed text, all its attention heads, and edits inside the model."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.error_analysis.annotation_store import LONGEST, LONGEST_TEXT
from core.error_analysis.counter_examples import keep_example
from core.evaluation.metrics import NOTHING
from core.fingerprint import hash_value
from core.interpret.trace_summary import warn_unknown
from core.runs.record import RunRecord
from core.text.graphemes import quote_text
from dashboard import selection, state
from dashboard.data import data
from dashboard.figures.figure import Source
from dashboard.figures.results import choose_default_text
from dashboard.figures.thresholding import map_thresholds
from dashboard.screens import sentence_bench
from dashboard.screens.sentence_compare import list_other_runs, show_pin_button, show_pinned
from dashboard.screens.sentence_history import remember_state, show_undo_buttons
from dashboard.screens.sentence_more import has_maps, show_more
from dashboard.widgets.bars import show_prediction
from dashboard.widgets.export import Table
from dashboard.widgets.kept_steps import show_step
from dashboard.widgets.messages import escape_label, show_finding, show_header, show_notice
from dashboard.widgets.options import fill_text, read_link_edits, show_text_part
from dashboard.widgets.runs import describe_attention, list_facts, require_run, require_weights
from dashboard.widgets.style import add_style, get_look

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.interpret.sentence_inspection import SentenceView

QUESTION = "Which word decides, and through which part?"


def show_page() -> None:
    """Draw the Sentence page: prediction, attention maps and model edits for a typed text and one run."""
    record = require_run("Sentence", QUESTION, purpose="You can type sentences here")
    require_weights(record, "Sentence", QUESTION)
    show_header("Sentence", QUESTION, list_facts(record, describe_attention(record)))
    fill_text(record, get_current_text(record)[0] or choose_default_text(record, data.read_demos(record)))
    add_style("bench.css")
    show_text_part(record, partial(_show_reading, others=list_other_runs(record)))


def _show_reading(record: RunRecord, text: str, line: DeltaGenerator, others: Mapping[str, RunRecord]) -> None:
    trained = data.inspect_text(record.run, text)
    if note := warn_unknown(trained.unknown_words):
        show_finding("Few of these words are known", note)
    edits, parts, view = read_link_edits(record, text, trained)
    remember_state(record, text, edits, view)
    show_step(record, edits)
    answered = _show_prediction(record, text, view, trained if edits else None)
    source = Source(record, data, text=text, edits=edits)
    with line:
        if trained.tokens:
            sentence_bench.choose_target(source)
            sentence_bench.pick_counted(source)
        show_undo_buttons()
        show_pin_button(source)
    with answered:
        pin = show_pinned(source, others)
    if trained.tokens and not sentence_bench.compute_bench(source, deep=has_maps(trained)):
        return
    tables = dict[str, Table]()
    if has_maps(trained):
        found, levers = sentence_bench.show_bench(source)
        with levers:
            tables = {**found, **sentence_bench.show_levers(source, parts)}
            sentence_bench.show_demos(record, text)
    elif trained.tokens:
        tables |= sentence_bench.show_words(source)
    show_more(source, trained, others, pin, tables)


def _show_prediction(record: RunRecord, text: str, view: SentenceView, before: SentenceView | None) -> DeltaGenerator:
    with st.container(key="answer", horizontal=True, vertical_alignment="center", gap="small"):
        place = st.container(gap="xxsmall")
        with place:
            show_prediction(record, view, get_look(), before=before)
        _show_true_label(record, text, view)
        icon, off = ":material/bookmark_add:", not text.strip()
        with st.popover("Save", icon=icon, type="tertiary", key="keep", help=HELP, disabled=off):
            if text.strip():
                _show_form(record, text, view)
    return place


def get_current_text(record: RunRecord) -> tuple[str, str]:
    """Return the text and the true label of the current selected sentence; both empty if there is none."""
    now = selection.get_selection(record)
    return ("", "") if now is None or now.at is None else (now.get_text(now.at), now.get_label(now.at))


def _show_true_label(record: RunRecord, text: str, view: SentenceView) -> None:
    chosen, label = get_current_text(record)
    if not label or text != chosen:
        return
    mark = ""
    if record.task == "single" and label in record.classes:
        right = view.label == label
        mark = f'<b class="{"s-right" if right else "s-wrong"}">{"✓ right" if right else "✕ wrong"}</b>'
    st.html(f'<p class="s-truth">true label <b>{escape(label)}</b> {mark}</p>', width="content")


HELP = "Save this sentence as a counter-example for the class"


def _show_form(record: RunRecord, text: str, view: SentenceView) -> None:
    true = get_current_text(record)
    ought = true[1] if true[0] == text else ""
    key = f"keep-label-{hash_value([record.run, text, view.label])[:12]}"
    with st.form("keep-form", border=False):
        st.html(f'<p class="s-kept"><q>{escape(text)}</q></p>')
        (_pick_labels if record.task == "multi" else _pick_label)(record, view, ought, key)
        st.text_area(
            "Note", key=state.KEEP_NOTE, height=68, max_chars=LONGEST_TEXT, placeholder="why it fools the model"
        )
        st.text_input("Your name", key=state.AUTHOR, max_chars=LONGEST, persist_state="session")
        st.form_submit_button("Save it", type="primary", on_click=partial(_keep_example, record, text, key))
    show_notice(state.KEPT)
    if st.button("All saved sentences", icon=":material/checklist:", type="tertiary", key="kept-list"):
        state.open_page("behave")


def _pick_label(record: RunRecord, view: SentenceView, ought: str, key: str) -> None:
    classes = record.classes
    if not ought and len(classes) == 2:
        ought = next(name for name in classes if name != view.label)
    at, about = classes.index(ought) if ought in classes else None, escape_label(view.label)
    look: dict[str, Any] = {"placeholder": "Choose a class", "help": f"{data.label_run(record.run)} predicts {about}"}
    st.selectbox("Correct label", classes, index=at, key=key, **look)


def _pick_labels(record: RunRecord, view: SentenceView, ought: str, key: str) -> None:
    limits = map_thresholds(record)
    said = [name for name, chance in view.probabilities.items() if chance > limits[name]]
    true = [name for name in record.classes if name in ought.split(", ")]
    about = f"All correct labels; {data.label_run(record.run)} predicts {escape_label(', '.join(said)) or NOTHING}"
    usual = true if ought else said
    st.multiselect("Correct labels", record.classes, default=usual, placeholder=NOTHING, key=key, help=about)


def _keep_example(record: RunRecord, text: str, key: str) -> None:
    label = state.get_value(key, None)
    if not label and record.task == "single":
        state.set_value(state.KEPT, "Choose the correct label first.")
        return
    link = state.link_to(selection.SENTENCE, **{state.RUN: record.run, state.TEXT: text})
    note, author = (str(state.get_value(name, "") or "") for name in (state.KEEP_NOTE, state.AUTHOR))
    with state.store_refusal(state.KEPT, "Not saved: {}."):
        kept = keep_example(data.store().folder, text, label or [], note, author, link)
        state.set_value(state.KEPT, f"Saved as {kept.expected}: {quote_text(text, 60)}")
        state.set_value(state.KEEP_NOTE, "")


show_page()
