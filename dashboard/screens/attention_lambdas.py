"""The learned map weights λ of a run during training, next to other runs: a section of Attention."""

from typing import Any

import streamlit as st

from core.data.findings import plural
from core.exceptions import NotAvailable
from core.interpret.attention_findings import describe_effects
from core.runs.attention_files import PartEffects
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.attention import has_subtraction
from dashboard.figures.figure import Figure, Source
from dashboard.figures.lambdas import COURSE, FINAL, SCALE, SHARES, find_other_seeds, has_lambda
from dashboard.figures.part_importance import EFFECTS_OF_PARTS
from dashboard.figures.results import choose_default_run
from dashboard.figures.token_values import NUMBERS_OF, Numbers, build_history_table, read_numbers, read_run_numbers
from dashboard.widgets.export import Table
from dashboard.widgets.figure import show, show_with_tables
from dashboard.widgets.kept_steps import show_curves
from dashboard.widgets.messages import show_finding, show_problem
from dashboard.widgets.options import choose_option, read_option
from dashboard.widgets.progress import offer_analysis
from dashboard.widgets.runs import choose_runs

PLACED: tuple[Figure[Any], ...] = (EFFECTS_OF_PARTS, COURSE, SHARES, FINAL, NUMBERS_OF)
"""Figures of this section."""
POLL_SECONDS = 2.0
SUBTRACTS = "This model subtracts its second map, so λ enters with a minus."
DEPENDS = (
    "In {preset} λ depends on the token. The curve shows its mean over fixed validation texts; Sentence shows it for "
    "one text."
)
HEADS = "Each head has its own λ: thin lines, named on hover. The thick line is their mean."


def show_section(source: Source) -> dict[str, Table]:
    """Show the course of λ in front of chosen other runs, its final values, and other learned numbers."""
    record = source.record
    if not has_lambda(record):
        return _show_scalars(record)
    tables = show_effects(source)
    others = [one for one in data.list_runs() if one.run != record.run and has_lambda(one)]
    state.follow_link(state.COMPARED, several=True)
    state.reset_on_change(state.COMPARED, record.run, find_other_seeds(record, others))
    state.follow_link(state.COMPARED, several=True)
    with st.container(horizontal=True, gap="medium"):
        choose_option(SCALE, Source(record, data), plain=True)
        if others:
            with st.popover("Compare with …"):
                runs, about = [one.run for one in others], "By default, runs that differ only in the seed"
                choose_runs("Compare with", runs, state.COMPARED, "Other runs with λ", about, several=True)
    if record.is_live:
        st.fragment(_watch_run, run_every=POLL_SECONDS)(record.run)
        return tables
    return tables | _show_lambdas(record)


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
    return {**show_with_tables(EFFECTS_OF_PARTS, shown)}


def _watch_run(run: str) -> None:
    record = data.store().read(run)
    if not record.is_live:
        st.rerun()
    _show_lambdas(record)


def _show_lambdas(record: RunRecord) -> dict[str, Table]:
    source = Source(record, data, choices={"runs": state.get_value(state.COMPARED, [])})
    read_option(SCALE, source)
    try:
        shown = COURSE.read_data(source)
    except NotAvailable:
        show_finding(*_describe_empty(record))
        return {}
    for name, lines in shown.skipped.items():
        show_problem(
            f"{plural(lines, 'line')} of the history of {data.label_run(name)} cannot be read",
            "The curves leave them out; the run itself is not affected.",
        )
    if shown.tracks[0].normed:
        show(SHARES, shown.tracks[0])
    tables = show_curves(record, COURSE, shown)
    depends = record.config.model.attention.mixing == "differential-v2"
    notes = (
        SUBTRACTS if has_subtraction(record) else "",
        DEPENDS.format(preset=record.preset) if depends else "",
        HEADS if shown.tracks[0].heads else "",
    )
    if any(notes):
        show_finding("How to read λ here", " ".join(filter(None, notes)))
    show(FINAL, shown)
    return {**tables, **_show_scalars(record)}


def explain_no_lambda(record: RunRecord) -> None:
    """Say why a run has no λ, and which run has; for a link to λ."""
    first = choose_default_run([one for one in data.list_runs() if has_lambda(one)])
    text = "Its heads have one map each, so there is nothing to weigh."
    show_finding(f"{record.preset} has no λ", f"{text} {data.label_run(first.run) if first else 'ndt-01-n3'} has λ.")


def _show_scalars(record: RunRecord) -> dict[str, Table]:
    lines, table = data.read_learned_scalars(record), read_run_numbers(record)
    if len(table):
        final = Numbers(table, "Final values", "at the saved epoch")
        show(NUMBERS_OF, final if lines else read_numbers(record))
    found = {"Learned numbers": table, "Course of numbers": build_history_table(lines)}
    return {name: each for name, each in found.items() if len(each)}


def _describe_empty(record: RunRecord) -> tuple[str, str]:
    if record.is_live:
        return "No λ has been logged yet", "The first value arrives with the first training step."
    return "No λ was logged", "The history of this run has none. Train it again to record λ."
