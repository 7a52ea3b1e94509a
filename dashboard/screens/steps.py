"""Steps: the forward pass of a typed text, from its tokens to the probabilities, one stage at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.exceptions import NotAvailable, RunDamaged, SentiscopeError
from core.models.provides import provides
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures.heads import LAYER
from dashboard.figures.offer import SENTENCE
from dashboard.figures.source import Option, Source
from dashboard.figures.steps import COMPONENT, HEAD, STAGE, STEPS, found, step_table
from dashboard.widgets.answer import answer
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, show_bare, show_others
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, problem
from dashboard.widgets.options import choose
from dashboard.widgets.runs import chosen_run, ended, facts
from dashboard.widgets.style import look

QUESTION = "What happens between the words and the answer?"
STOPPED = "This page cannot continue"
NOTHING = "There are no steps to show"
LONGEST = 20_000
"""Characters."""


def page() -> None:
    """One run, one text."""
    record = chosen_run("Steps", QUESTION, purpose="A sentence goes through a model here, step by step,")
    if record is None:
        return
    if not data.weights_fingerprint(record.run):
        header("Steps", QUESTION, facts(record))
        empty("This run has no weights", f"Without them no sentence goes through it. {ended(record)}", "Train", "train")
        return
    shape = record.config.model
    attends = "maps" in provides(shape)
    about = (f"{shape.layers} layers", f"of {shape.attention.heads} heads") if attends else ("no attention", "")
    header("Steps", QUESTION, facts(record, about), low=True)
    state.restate(state.TEXT, SENTENCE)
    _begin_anew()
    _below(record)


@st.fragment
def _below(record: RunRecord) -> None:
    """All below the head: a new text or another head reruns this and not the app around it."""
    with st.container(key="bench", gap="xsmall"):
        text = st.text_input(
            "Sentence",
            key=state.TEXT,
            bind="query-params",
            live=True,
            max_chars=LONGEST,
            label_visibility="collapsed",
            placeholder="Type a sentence",
        )
        try:
            _stages(record, text or "")
        except RunDamaged as error:
            problem(STOPPED, f"{error}\nBring the file back, or choose another run in the sidebar.")
        except SentiscopeError as error:  # a rerun of this part alone does not pass through the app's own net
            problem(STOPPED, str(error))


def _stages(record: RunRecord, text: str) -> None:
    view, source = data.sentence(record.run, text), Source(record, data, text=text)
    with st.container(key="steps-bar", horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(key="answer"):
            answer(record, view, look())
        if view.tokens:
            _choices(source)
    if not view.tokens:
        _begin_anew()
        finding(NOTHING, "There is no word here. Type a sentence above: its steps stand here at once.")
        return
    try:
        steps = found(source)
    except NotAvailable as error:
        _begin_anew()
        finding(NOTHING, f"{str(error)[0].upper()}{str(error)[1:]}. Type a shorter one above.")
        return
    asked = state.draft(state.BEGUN_AT, "")  # not where it is now: all matrices would be sent anew at every step
    if asked in [stage.key for stage in steps.stages]:
        source.choices[STAGE.name] = asked
    key = state.current(f"fig-{STEPS.name}")
    shown = show_bare(source, STEPS, on_stage_change=lambda: _opened(key))
    if not state.projector():
        caption(STEPS.say(STEPS.reading, shown))
    for note in steps.notes:
        finding("How this text is read", note)
    tables = show_others(source, "steps", [STEPS])
    export_bar("steps", {"Steps": partial(step_table, steps), **tables}, figures=False)


def _choices(source: Source) -> None:
    """Layer, head and map, each where there are several."""
    with st.container(key="bench-head", horizontal=True, vertical_alignment="center", gap="small", width="content"):
        for option, name in ((LAYER, "layer"), (HEAD, "head"), (COMPONENT, "map")):
            _choice(option, name, source)


def _choice(option: Option, name: str, source: Source) -> None:
    values = option.values(source)
    if isinstance(values, Sequence) and len(values) > 1:
        st.html(f'<span class="s-note">{name}</span>', width="content")
        choose(option, source, plain=True)


def _begin_anew() -> None:
    """Nothing is drawn: what is drawn next begins where the link is by then."""
    state.put(state.BEGUN_AT, state.carried(state.STAGE))


def _opened(key: str) -> None:
    """A stage was opened: a callback, before anything is drawn."""
    stage = (st.session_state.get(key) or {}).get("stage")
    if stage:
        state.carry(state.STAGE, str(stage))


page()
