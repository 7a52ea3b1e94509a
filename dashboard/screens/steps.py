"""Page Steps: the forward pass of a typed text, from its tokens to the probabilities, one stage at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.exceptions import NotAvailable
from core.interpret.edits import UNCHANGED
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.heads import LAYER
from dashboard.figures.results import offered_text
from dashboard.figures.source import Source
from dashboard.figures.steps import COMPONENT, HEAD, STAGE, STEPS, found, step_table
from dashboard.widgets.bars import answer
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, show_bare, show_others
from dashboard.widgets.messages import as_sentence, empty, finding, header
from dashboard.widgets.options import choose
from dashboard.widgets.runs import attends, chosen_run, ended, facts
from dashboard.widgets.style import add_style, look
from dashboard.widgets.typed import asked_edits, begin, read_typed

QUESTION = "What happens between the words and the answer?"
NOTHING = "There are no steps to show"


def page() -> None:
    """Show the forward pass of a text through one run."""
    record = chosen_run("Steps", QUESTION, purpose="A sentence goes through a model here, step by step,")
    if record is None:
        return
    if not data.weights_fingerprint(record.run):
        header("Steps", QUESTION, facts(record))
        empty("This run has no weights", f"Without them no sentence goes through it. {ended(record)}", "Train", "train")
        return
    header("Steps", QUESTION, facts(record, attends(record)), low=True)
    begin(record, offered_text(record))
    _begin_anew()
    add_style("bench.css")
    read_typed(record, _stages)


def _stages(record: RunRecord, text: str, line: DeltaGenerator) -> None:
    trained = data.sentence(record.run, text)
    edits, _, view = asked_edits(record, text, trained)
    source = Source(record, data, text=text, edits=edits)
    with st.container(key="steps-bar", horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(key="answer"):
            answer(record, view, look(), before=trained if edits else None)
        if view.tokens:
            _choices(source)
    if edits:
        with st.container(key="steps-edited", horizontal=True, vertical_alignment="center", gap="small"):
            caption(f"As edited: {edits.words()}.")
            back = partial(state.carry, state.EDIT, UNCHANGED.encode())
            st.button("As trained", key="steps-as-trained", on_click=back)
    if not view.tokens:
        _begin_anew()
        finding(NOTHING, "There is no word here. Type a sentence above: its steps stand here at once.")
        return
    try:
        steps = found(source)
    except NotAvailable as error:
        _begin_anew()
        finding(NOTHING, as_sentence(error))
        return
    begun = state.draft(state.BEGUN_AT, "")  # not where it is now: all matrices would be sent anew at every step
    if begun in [stage.key for stage in steps.stages]:
        source.choices[STAGE.name] = begun
    key = state.current(f"fig-{STEPS.name}")
    shown = show_bare(source, STEPS, on_stage_change=lambda: _opened(key))
    if not state.projector():
        caption(STEPS.say(STEPS.reading, shown))
    for note in steps.notes:
        finding("How this text is read", note)
    tables = show_others(source, "steps", [STEPS])
    export_bar("steps", {"Steps": partial(step_table, steps), **tables}, figures=False)


def _choices(source: Source) -> None:
    with st.container(key="bench-head", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        for option, name in ((LAYER, "layer"), (HEAD, "head"), (COMPONENT, "map")):
            values = option.values(source)
            if isinstance(values, Sequence) and len(values) > 1:
                st.html(f'<span class="s-note">{name}</span>', width="content")
                choose(option, source, plain=True)


def _begin_anew() -> None:
    """Let the next drawing start at the link's current stage."""
    state.put(state.BEGUN_AT, state.carried(state.STAGE))


def _opened(key: str) -> None:
    if stage := (state.draft(key, None) or {}).get("stage"):
        state.carry(state.STAGE, str(stage))


page()
