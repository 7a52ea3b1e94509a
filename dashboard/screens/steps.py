"""Page Steps: the forward pass of a typed text, from its tokens to the probabilities, one stage at a time."""

from collections.abc import Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.exceptions import NotAvailable
from core.formatting import format_subscript
from core.interpret.model_edits import UNCHANGED
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.attention_heads import LAYER
from dashboard.figures.figure import Option, Source
from dashboard.figures.forward_pass import COMPONENT, HEAD, STAGE, STEPS, build_step_table, read_stages
from dashboard.figures.results import choose_default_text
from dashboard.widgets.bars import show_prediction
from dashboard.widgets.export import show_export_bar
from dashboard.widgets.figure import show_bare, show_caption, show_others
from dashboard.widgets.messages import as_sentence, show_finding, show_header
from dashboard.widgets.options import choose_option, fill_text, read_link_edits, read_option, show_text_part
from dashboard.widgets.runs import describe_attention, list_facts, require_run, require_weights
from dashboard.widgets.style import add_style, get_look

QUESTION = "How does the answer come about?"
NOTHING = "There are no steps to show"


def show_page() -> None:
    """Draw the Steps page: the forward pass of a typed text through one run, stage by stage."""
    record = require_run("Steps", QUESTION, purpose="The steps of a prediction appear here")
    require_weights(record, "Steps", QUESTION)
    show_header("Steps", QUESTION, list_facts(record, describe_attention(record)))
    fill_text(record, choose_default_text(record, data.read_demos(record)))
    _reset_stage()
    add_style("bench.css")
    show_text_part(record, _show_stages)


def _show_stages(record: RunRecord, text: str, line: DeltaGenerator) -> None:
    trained = data.inspect_text(record.run, text)
    edits, _, view = read_link_edits(record, text, trained)
    source = Source(record, data, text=text, edits=edits)
    with st.container(key="steps-bar", horizontal=True, vertical_alignment="center", gap="medium"):
        with st.container(key="answer"):
            show_prediction(record, view, get_look(), before=trained if edits else None)
        if view.tokens:
            found = ((option, option.values(source)) for option in (LAYER, HEAD, COMPONENT))
            several = [option for option, values in found if isinstance(values, Sequence) and len(values) > 1]
            if several:
                with st.popover(
                    ", ".join(_name_place(each, read_option(each, source)) for each in several), key="steps-place"
                ):
                    for option in several:
                        choose_option(option, source)
    if edits:
        with st.container(key="steps-edited", horizontal=True, vertical_alignment="center", gap="small"):
            show_caption(f"Your changes: {edits.describe_changes()}.")
            back = partial(state.set_param, state.EDIT, UNCHANGED.encode_line())
            st.button("As trained", key="steps-as-trained", on_click=back)
    if not view.tokens:
        _reset_stage()
        show_finding(NOTHING, "This text has no words. Type a sentence above to see its steps.")
        return
    try:
        steps = read_stages(source)
    except NotAvailable as error:
        _reset_stage()
        show_finding(NOTHING, as_sentence(error))
        return
    begun = state.get_value(state.BEGUN_AT, "")  # not the current stage, or each step would send all matrices again
    if begun in [stage.key for stage in steps.stages]:
        source.choices[STAGE.name] = begun
    key = state.get_widget_key(f"fig-{STEPS.name}")
    shown = show_bare(source, STEPS, on_stage_change=lambda: _open_stage(key))
    if not state.is_projector():
        show_caption(STEPS.resolve_text(STEPS.reading, shown))
    for note in steps.notes:
        show_finding("How this text is read", note)
    tables = show_others(source, "steps", [STEPS])
    show_export_bar("steps", {"Steps": partial(build_step_table, steps), **tables}, figures=False)


def _name_place(option: Option, value: str) -> str:
    if option is COMPONENT:
        return f"A{format_subscript(int(value))}"
    return f"{option.label if option is LAYER else option.label.lower()} {value}"


def _reset_stage() -> None:
    """Store the URL's stage (such as the embedding) as the one at which the Steps page begins when it is next drawn."""
    state.set_value(state.BEGUN_AT, state.get_param(state.STAGE))


def _open_stage(key: str) -> None:
    if stage := (state.get_value(key, None) or {}).get("stage"):
        state.set_param(state.STAGE, str(stage))


show_page()
