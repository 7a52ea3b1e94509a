"""Page Lambdas: the weight of each further component during training, and where it ended in the paper."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.exceptions import NotAvailable
from core.models.provides import provides
from core.numbers import count
from core.runs.record import RunRecord
from dashboard import state
from dashboard.data import data
from dashboard.figures.lambdas import COURSE, FINAL, SCALE, Track, has_lambda, other_seeds
from dashboard.figures.learned import NUMBERS_OF, Numbers, numbers, numbers_table, record_numbers
from dashboard.figures.models import reads_without
from dashboard.figures.results import offered
from dashboard.figures.sentence import subtracts
from dashboard.figures.source import Source
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.figure import show, show_others
from dashboard.widgets.messages import empty, finding, header, next_step, problem
from dashboard.widgets.options import asked, choose
from dashboard.widgets.runs import chosen_run, facts

PLACED = (COURSE, FINAL, NUMBERS_OF)
QUESTION = "How did each lambda move while the model learned, and where did it end?"
OTHERS = "Which other numbers did the model learn, and where did they end?"
KNOWS = "What does the model know besides its weights?"
LIVE = ("queued", "running")
POLL_SECONDS = 2.0
SUBTRACTS = "This model takes its second map away: lambda enters the sum with a minus."
DEPENDS = (
    "In {preset} lambda depends on the token. What is drawn is its mean over a fixed set of validation texts; "
    "the Sentence page shows it for one text."
)
HEADS = "Each head has its own lambda: thin lines, named on hover. The thick line is their mean."


def page() -> None:
    """Show the lambdas of the chosen run in focus, and those of others behind it."""
    record = chosen_run("Lambdas", QUESTION, purpose="The course of its lambdas is drawn here")
    if record is None:
        return
    if not has_lambda(record):
        _without_lambda(record)
        return
    others = [one for one in data.runs() if one.run != record.run and has_lambda(one)]
    seeds = other_seeds(record, others)
    many = "seeds of these settings" if seeds else "seed of these settings"
    header("Lambdas", QUESTION, facts(record, (count(1 + len(seeds)), many)))
    state.follow(state.COMPARED, record.run, seeds)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        choose(SCALE, Source(record, data))
        if others:
            st.multiselect(
                "Compare with",
                [one.run for one in others],
                key=state.COMPARED,
                bind="query-params",
                placeholder="Other runs with a lambda",
                help="Runs with the same settings and another seed are taken at first",
            )
    if record.status in LIVE:
        st.fragment(_watch, run_every=POLL_SECONDS)(record.run)
    else:
        _show(record)


def _watch(run: str) -> None:
    record = data.store().read(run)
    if record.status not in LIVE:
        st.rerun()
    _show(record)


def _show(record: RunRecord) -> None:
    source = Source(record, data, choices={"runs": state.draft(state.COMPARED, [])})
    asked(SCALE, source)
    try:
        shown = COURSE.shape(source)
    except NotAvailable:
        finding(*_nothing_yet(record))
        return
    for name, lines in shown.skipped.items():
        problem(
            f"Of the history of {name}, {count(lines)} {'line' if lines == 1 else 'lines'} cannot be read",
            "What they held is left out of the curves; the run itself is not affected.",
        )
    _notes(record, shown.tracks)
    show(COURSE, shown)
    show(FINAL, shown)
    tables: dict[str, Table] = {**COURSE.numbers(shown), **_other_numbers(record)}
    export_bar("lambdas", {**tables, **show_others(source, "lambdas", PLACED)})


def _without_lambda(record: RunRecord) -> None:
    lines, table = data.learned_numbers(record), record_numbers(record)
    header("Lambdas", OTHERS if lines else KNOWS if len(table) else QUESTION, facts(record))
    tables = _other_numbers(record)
    if not tables and len(table):
        show(NUMBERS_OF, numbers(record))
        tables = {"Numbers": table}
    first = offered([one for one in data.runs() if has_lambda(one)])
    title, text = f"{record.preset} has no lambda", _why_not(record)
    if first is not None:
        next_step(title, f"{text} {first.run} has some.", "See its lambdas", "lambdas", first.run)
    else:
        empty(title, f"{text} Train ndt-01-n3 to see some.", "Train a model", "train")
    if tables:
        export_bar("lambdas", tables, figures=False)


def _other_numbers(record: RunRecord) -> dict[str, Table]:
    lines = data.learned_numbers(record)
    if not lines:
        return {}
    table = record_numbers(record)
    if len(table):
        show(NUMBERS_OF, Numbers(table, "Where they ended", "the epoch that was kept"))
    return {"Learned numbers": table, "Course of numbers": numbers_table(lines)}


def _notes(record: RunRecord, tracks: Sequence[Track]) -> None:
    depends = record.config.model.attention.mixing == "differential-v2"
    notes = (
        SUBTRACTS if subtracts(record) else "",
        DEPENDS.format(preset=record.preset) if depends else "",
        HEADS if tracks[0].heads else "",
    )
    if any(notes):
        finding("How to read lambda here", " ".join(filter(None, notes)))


def _nothing_yet(record: RunRecord) -> tuple[str, str]:
    if record.status in LIVE:
        return "No lambda has been logged yet", "The first one comes with the first step of the training."
    return "No lambda was logged", "The history of this run holds none; train it again to see its course."


def _why_not(record: RunRecord) -> str:
    if "maps" not in provides(record.config.model):
        return reads_without(record.config.model.family, "attention")
    return "Its heads have one map each, so there is nothing to weigh."


page()
