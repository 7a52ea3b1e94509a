"""The learned map weights λ of a run during training: a section of Attention, and a page of its own address."""

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from core.data.findings import plural
from core.exceptions import NotAvailable
from core.formatting import count
from core.interpret.attention_findings import describe_effects
from core.models.capabilities import list_capabilities
from core.runs.attention_files import PartEffects
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.attention import has_subtraction
from dashboard.figures.figure import Source
from dashboard.figures.lambdas import (
    COURSE,
    COURSE_READING,
    FINAL,
    SCALE,
    SHARES,
    Track,
    describe_change,
    find_other_seeds,
    has_lambda,
)
from dashboard.figures.model_plan import describe_baseline
from dashboard.figures.results import choose_default_run
from dashboard.figures.split_attention import EFFECTS_OF_PARTS
from dashboard.figures.token_values import NUMBERS_OF, Numbers, build_history_table, read_numbers, read_run_numbers
from dashboard.widgets.export import Table, show_export_bar
from dashboard.widgets.figure import show, show_caption, show_drawing, show_figures, show_how, show_others
from dashboard.widgets.messages import show_empty, show_finding, show_header, show_next_step, show_problem, show_summary
from dashboard.widgets.options import choose_option, read_option, show_sections
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.runs import list_facts, require_run
from dashboard.widgets.style import get_look

PLACED = (COURSE, SHARES, FINAL, NUMBERS_OF)
QUESTION = "How did each λ change during training, and where did it end?"
OTHERS = "Which other numbers did the model learn, and where did they end?"
KNOWS = "What does the model know besides its weights?"
LIVE = ("queued", "running")
POLL_SECONDS = 2.0
SUBTRACTS = "This model subtracts its second map, so λ enters with a minus."
DEPENDS = (
    "In {preset} λ depends on the token. The curve shows its mean over fixed validation texts; Sentence shows it for "
    "one text."
)
HEADS = "Each head has its own λ: thin lines, named on hover. The thick line is their mean."


def show_page() -> None:
    """Draw the Lambdas page: curves of the learned map weights λ, the chosen run in front of other runs."""
    record = require_run("Lambdas", QUESTION, purpose="Curves of λ appear here")
    if record is None:
        return
    if not has_lambda(record):
        _show_no_lambda(record)
        return
    others = [one for one in data.list_runs() if one.run != record.run and has_lambda(one)]
    seeds = find_other_seeds(record, others)
    many = "seeds with these settings" if seeds else "seed with these settings"
    show_header("Lambdas", QUESTION, list_facts(record, (count(1 + len(seeds)), many)))
    state.follow_link(state.COMPARED, several=True)
    state.reset_on_change(state.COMPARED, record.run, seeds)
    state.follow_link(state.COMPARED, several=True)
    labels = data.name_runs()
    with st.container(horizontal=True, gap="medium"):
        choose_option(SCALE, Source(record, data), plain=True)
        if others:
            with st.popover("Compare with …"):
                st.multiselect(
                    "Compare with",
                    [one.run for one in others],
                    key=state.COMPARED,
                    format_func=lambda run: labels[run].full,
                    placeholder="Other runs with λ",
                    help="By default, runs that differ only in the seed",
                )
    if record.status in LIVE:
        st.fragment(_watch_run, run_every=POLL_SECONDS)(record.run)
    else:
        _show_lambdas(record)


def show_section(source: Source) -> dict[str, Table]:
    """Show the course and the final values of λ, and other learned numbers, as a section of Attention."""
    tables: dict[str, Table] = {}
    if has_lambda(source.record):
        tables |= show_effects(source)
        own = Source(source.record, data)
        with contextlib.suppress(NotAvailable):
            tables |= show_figures(own, *[SHARES] * own.record.config.model.attention.row_norm, COURSE, FINAL)
        if st.button("Compare λ with other runs", key="compare-lambdas"):
            state.open_page("lambdas")
    return {**tables, **_show_scalars(source.record)}


def show_effects(source: Source) -> dict[str, Table]:
    """Show in a line how many answers depend on λ, gates, σ and heads, or the button that measures it."""
    if not source.split:
        return {}
    try:
        shown = EFFECTS_OF_PARTS.read_data(source)
    except NotAvailable:
        offer_analysis(PartEffects.from_run(data.store(), source.record.run, source.split), EFFECTS_OF_PARTS.name)
        return {}
    show_finding(str(EFFECTS_OF_PARTS.title), describe_effects({"effects": shown.found}))
    return {**EFFECTS_OF_PARTS.build_tables(shown)}


def _watch_run(run: str) -> None:
    record = data.store().read(run)
    if record.status not in LIVE:
        st.rerun()
    _show_lambdas(record)


def _show_lambdas(record: RunRecord) -> None:
    source = Source(record, data, choices={"runs": state.get_value(state.COMPARED, [])})
    read_option(SCALE, source)
    try:
        shown = COURSE.read_data(source)
    except NotAvailable:
        show_finding(*_describe_empty(record))
        return
    for name, lines in shown.skipped.items():
        show_problem(
            f"{plural(lines, 'line')} of the history of {data.label_run(name)} cannot be read",
            "The curves leave them out; the run itself is not affected.",
        )
    finding, _, first = describe_change(shown.tracks[0]).partition(". ")
    show_summary(f"{finding}.", first)
    if shown.tracks[0].normed:
        show(SHARES, shown.tracks[0])
    alt = COURSE.write_alt_text(shown, COURSE.resolve_text(COURSE.note, shown), COURSE_READING[shown.scale])
    show_drawing(COURSE.draw(shown, get_look()), COURSE.name, alt)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show_caption(COURSE_READING[shown.scale])
        show_how(COURSE.name, str(COURSE.how))
    _show_notes(record, shown.tracks)
    tables: dict[str, Table] = {**COURSE.build_tables(shown)}
    sections: dict[str, Callable[[], Any]] = {"Final λ": partial(show, FINAL, shown)}
    if data.read_learned_scalars(record):
        sections["Learned numbers"] = lambda: tables.update(_show_scalars(record))
    show_sections(sections)
    show_export_bar("lambdas", {**tables, **show_others(source, "lambdas", PLACED)})


def _show_no_lambda(record: RunRecord) -> None:
    lines, table = data.read_learned_scalars(record), read_run_numbers(record)
    show_header("Lambdas", OTHERS if lines else KNOWS if len(table) else QUESTION, list_facts(record))
    tables = _show_scalars(record)
    if not tables and len(table):
        show(NUMBERS_OF, read_numbers(record))
        tables = {"Numbers": table}
    first = choose_default_run([one for one in data.list_runs() if has_lambda(one)])
    title, text = f"{record.preset} has no λ", _explain_no_lambda(record)
    if first is not None:
        show_next_step(title, f"{text} {data.label_run(first.run)} has λ.", "See its λ", "lambdas", first.run)
    else:
        show_empty(title, f"{text} Train ndt-01-n3 to see λ.", "Train a model", "train")
    if tables:
        show_export_bar("lambdas", tables, figures=False)


def _show_scalars(record: RunRecord) -> dict[str, Table]:
    lines = data.read_learned_scalars(record)
    if not lines:
        return {}
    table = read_run_numbers(record)
    if len(table):
        show(NUMBERS_OF, Numbers(table, "Final values", "at the saved epoch"))
    return {"Learned numbers": table, "Course of numbers": build_history_table(lines)}


def _show_notes(record: RunRecord, tracks: Sequence[Track]) -> None:
    depends = record.config.model.attention.mixing == "differential-v2"
    notes = (
        SUBTRACTS if has_subtraction(record) else "",
        DEPENDS.format(preset=record.preset) if depends else "",
        HEADS if tracks[0].heads else "",
    )
    if any(notes):
        show_finding("How to read λ here", " ".join(filter(None, notes)))


def _describe_empty(record: RunRecord) -> tuple[str, str]:
    if record.status in LIVE:
        return "No λ has been logged yet", "The first value arrives with the first training step."
    return "No λ was logged", "The history of this run has none. Train it again to record λ."


def _explain_no_lambda(record: RunRecord) -> str:
    if "maps" not in list_capabilities(record.config.model):
        return describe_baseline(record.config.model.family, "attention")
    return "Its heads have one map each, so there is nothing to weigh."
