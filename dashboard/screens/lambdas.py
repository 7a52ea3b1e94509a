"""Lambdas: how the weight of each further component moved while the model learned, and where the paper's ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.models.provides import provides
from core.papers.reported import counterpart, no_counterpart
from core.runs.record import RunRecord
from dashboard import data, state
from dashboard.figures import readings
from dashboard.figures.baselines import reads_without
from dashboard.figures.lambdas import (
    Scale,
    Track,
    course_table,
    draw_course,
    final_table,
    has_lambda,
    loss_table,
    moved,
    other_seeds,
    reported_places,
    where_it_starts,
)
from dashboard.figures.numbers import count
from dashboard.figures.offer import offered
from dashboard.figures.parts import numbers_course, numbers_table, record_numbers
from dashboard.figures.sentence import subtracts
from dashboard.widgets.export import Table, export_bar
from dashboard.widgets.figure import caption, figure, heading
from dashboard.widgets.header import header
from dashboard.widgets.messages import empty, finding, problem
from dashboard.widgets.next_step import next_step
from dashboard.widgets.parts import number_list
from dashboard.widgets.runs import chosen_run, facts
from dashboard.widgets.style import look, row_height

QUESTION = "How did each lambda move while the model learned, and where did it end?"
OTHERS = "Which other numbers did the model learn, and how did they move while it did?"
KNOWS = "What does the model know besides its weights?"
LIVE = ("queued", "running")
POLL_SECONDS = 2.0
FINAL = (
    "Values of the weights that a run kept (its best epoch); the difference is ours, over seeds where there are "
    "several, less the reported value. The paper prints one run and no deviations."
)
SUBTRACTS = "This model takes its second map away: lambda enters the sum with a minus."
DEPENDS = (
    "In {preset} lambda depends on the token. What is drawn is its mean over a fixed set of validation texts; "
    "the page Sentence shows it for one text."
)
HEADS = "Each head has its own lambda: thin lines, named on hover. The thick line is their mean."


def page() -> None:
    """The chosen run in focus, others behind it."""
    record = chosen_run("Lambdas", QUESTION, purpose="The course of its lambdas is drawn here")
    if record is None:
        return
    if not has_lambda(record):
        _without_lambda(record)
        return
    others = [one for one in data.runs() if one.run != record.run and has_lambda(one)]
    seeds = other_seeds(record, others)
    header(
        "Lambdas",
        QUESTION,
        facts(record, (count(1 + len(seeds)), "seeds of these settings" if seeds else "seed of these settings")),
    )
    state.follow(state.COMPARED, record.run, seeds)
    state.initial(state.COURSE, "change")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control(
            "Scale",
            ("change", "value"),
            key=state.COURSE,
            bind="query-params",
            required=True,
            help="Change since the first step, or lambda itself",
        )
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
    """Drawn anew while the run is live; one full run at its end switches the clock off."""
    record = data.store().read(run)
    if record.status not in LIVE:
        st.rerun()
    _show(record)


def _show(record: RunRecord) -> None:
    records = {one.run: one for one in data.runs() if has_lambda(one)}
    names = [record.run, *(name for name in state.draft(state.COMPARED, []) if name in records and name != record.run)]
    tracks, skipped = _tracks(record, [records[name] for name in names[1:]])
    for name, lines in skipped.items():
        problem(
            f"Of the history of {name}, {count(lines)} {'line' if lines == 1 else 'lines'} cannot be read",
            "What they held is left out of the curves; the run itself is not affected.",
        )
    if not tracks[0].curves.lambdas:
        finding(*_nothing_yet(record))
        return
    _notes(record, tracks)
    paper = counterpart(record.preset, record.config)
    places = reported_places(paper)
    scale: Scale = "value" if state.draft(state.COURSE, "change") == "value" else "change"
    figure(
        "Course of lambda",
        draw_course(tracks, look(), scale, places),
        "course",
        note=f"{scale}, {count(len(tracks))} runs" if len(tracks) > 1 else scale,
        reading=f"{moved(tracks[0])} {readings.COURSE[scale]}",
        about=readings.COURSE_HOW,
    )
    final = final_table(tracks, {**records, record.run: record}, places)
    heading("Final values", "final", note=_rests_on(tracks))
    st.dataframe(final, hide_index=True, row_height=row_height(), width="content", alt="Final values of lambda")
    if paper is None or not places:
        reason = no_counterpart(record.preset, record.config)
        caption(f"Nothing is reported to set beside them. {reason or 'The paper prints no lambda of this model.'}")
    else:
        source = f"Reported: NDT, arXiv 2603.20704, Table {paper.tables[-1]}, {paper.dataset}. {paper.note}"
        caption(f"{FINAL} {where_it_starts(record)} {source}")
    tables = {"Course": course_table(tracks), "Losses": loss_table(tracks), "Final values": final}
    export_bar("lambdas", {**tables, **_other_numbers(record, "Other learned numbers")})


def _without_lambda(record: RunRecord) -> None:
    """What the model has instead: gates, temperatures, factors of positions, a lexicon; and where there is a lambda."""
    lines, table = data.learned_numbers(record), record_numbers(record)
    header("Lambdas", OTHERS if lines else KNOWS if len(table) else QUESTION, facts(record))
    tables = _other_numbers(record, "Learned numbers")
    if not tables and len(table):
        heading("What its lexicon knows", "numbers", note="counted, not learned")
        number_list(table)
        tables = {"Numbers": table}
    first = offered([one for one in data.runs() if has_lambda(one)])
    title, text = f"{record.preset} has no lambda", _why_not(record)
    if first is not None:
        next_step(title, f"{text} {first.run} has some.", "See its lambdas", "lambdas", first.run)
    else:
        empty(title, f"{text} Train ndt-01-n3 to see some.", "Train a model", "train")
    if tables:
        export_bar("lambdas", tables, figures=bool(lines))


def _other_numbers(record: RunRecord, title: str) -> dict[str, Table]:
    """The course of every learned number but lambda, and where it ended."""
    lines = data.learned_numbers(record)
    if not lines:
        return {}
    chart = numbers_course(lines, record.config.training.epochs, look())
    figure(title, chart, "numbers-course", note="by layer", reading=readings.COURSE_NUMBERS)
    table = record_numbers(record)
    if len(table):
        heading("Where they ended", "numbers", note="the epoch that was kept")
        number_list(table)
    return {"Learned numbers": table, "Course of numbers": numbers_table(lines)}


def _tracks(record: RunRecord, others: Sequence[RunRecord]) -> tuple[list[Track], Mapping[str, int]]:
    """All runs to draw, the chosen one first, and the damaged lines of each history that has some."""
    tracks, skipped = [], {}
    seeds = other_seeds(record, others)
    for one in (record, *others):
        curves, lost = data.curves(one)
        heads = data.lambda_heads(one) if one is record else {}
        tracks.append(Track(one.run, one.config.training.seed, curves, one.run in seeds, heads))
        if lost:
            skipped[one.run] = lost
    return tracks, skipped


def _notes(record: RunRecord, tracks: Sequence[Track]) -> None:
    """What changes how the figure is to be read."""
    notes = []
    if subtracts(record):
        notes.append(SUBTRACTS)
    if record.config.model.attention.mixing == "differential-v2":
        notes.append(DEPENDS.format(preset=record.preset))
    if tracks[0].heads:
        notes.append(HEADS)
    if notes:
        finding("How to read lambda here", " ".join(notes))


def _rests_on(tracks: Sequence[Track]) -> str:
    seeds = 1 + sum(track.sibling for track in tracks[1:])
    return f"over {seeds} seeds" if seeds > 1 else "one seed"


def _nothing_yet(record: RunRecord) -> tuple[str, str]:
    if record.status in LIVE:
        return "No lambda has been logged yet", "The first one comes with the first step of the training."
    return "No lambda was logged", "The history of this run holds none; train it again to see its course."


def _why_not(record: RunRecord) -> str:
    if "maps" not in provides(record.config.model):
        return reads_without(record.config.model.family, "attention")
    return "Its heads have one map each, so there is nothing to weigh."


page()
