"""Sweeps: many runs of one plan, how far they are, and what they say together."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.exceptions import RunDamaged, SentiscopeError
from core.fingerprint import fingerprint
from core.runs import sweep, sweep_drive
from core.runs.sweep import Plan
from core.runs.sweep_drive import SweepState
from dashboard import access, state, sweep_example
from dashboard.data import data
from dashboard.figures.numbers import count
from dashboard.figures.sweeps import (
    MEMBERS,
    TABLE,
    Members,
    chart_cells,
    command_line,
    counts_text,
    member_frame,
    table_frame,
    time_text,
)
from dashboard.screens.sweeps_form import sweep_form
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, place, show
from dashboard.widgets.header import header
from dashboard.widgets.messages import finding, problem, progress
from dashboard.widgets.style import look, row_height

QUESTION = "Which of several models or settings is better, and by more than chance?"
NONE = (
    "One run says little: another seed gives another number. Choose models above, train each with several seeds, and "
    "compare their means. The runs go on when this tab is closed."
)
POLL_SECONDS = 2.0


def page() -> None:
    """A form, then the chosen sweep."""
    names = sweep.names(data.store())
    header("Sweeps", QUESTION, [(count(len(names)), "sweep" if len(names) == 1 else "sweeps")] if names else [])
    with st.expander("New sweep", expanded=not names, icon=":material/add:"):
        sweep_form()
    missing = state.asked(state.SWEEP)
    if missing and missing not in names:
        problem(f"There is no sweep “{missing}” here", "It may have been removed, or the link is of another machine.")
    if not names:
        finding("No sweep has been planned here yet", NONE)
        _example()
        return
    state.keep_to(state.SWEEP, names)
    chosen = st.selectbox("Sweep", names, key=state.SWEEP, bind="query-params", width=320)
    try:
        plan = sweep.read(data.store(), chosen)
    except RunDamaged as error:
        problem(f"Sweep “{chosen}” is damaged", str(error))
        return
    _one(plan)


def _example() -> None:
    """What a finished sweep looks like."""
    example = sweep_example.read()
    made = f"comes with Sentiscope, made on {example.made}"
    show(MEMBERS, Members(example.cells, example.metric, made, example=True))
    place(TABLE.draw(example.rows, look()), TABLE.name, "Means and deviations by cell")
    caption(f"{TABLE.reading} These runs are not here; the same command trains them:")
    st.code(example.command, language=None, wrap_lines=True)


def _one(plan: Plan) -> None:
    found = sweep_drive.look(data.store(), plan)
    live = _live(plan, found)
    st.fragment(_progress, run_every=POLL_SECONDS if live else None)(plan, _ended(found), live)
    for run, reason in found.failures[:5]:
        problem(f"{run} has failed", reason)
    if not found.counts["done"]:
        finding("Nothing to compare yet", "The table appears with the first run that is done.")
        return
    version = fingerprint({"done": found.counts, "failed": found.failures})
    whole = data.sweep_table(plan, version, tests=False)
    named = {each["title"]: each["name"] for each in whole["metrics"]}
    labels = [row["label"] for row in whole["rows"]]
    state.keep_to(state.METRIC, list(named))
    state.keep_to(state.BASELINE, labels)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        title = st.segmented_control(
            "Metric",
            list(named),
            default=next(iter(named)),
            key=state.METRIC,
            bind="query-params",
            required=True,
        )
        baseline = st.selectbox(
            "Compare with",
            labels,
            index=None,
            placeholder="TF-IDF only",
            key=state.BASELINE,
            bind="query-params",
            width=320,
        )
    cells = chart_cells(whole, named[title])
    if cells:
        show(MEMBERS, Members(cells, title, f"{count(found.counts['done'])} runs"))
    table = data.sweep_table(plan, version, (named[title],), baseline or "")
    frame, runs = table_frame(table), member_frame(whole)
    show(TABLE, frame)
    with st.expander("All runs of this sweep"):
        st.dataframe(runs, hide_index=True, row_height=row_height(), alt="Runs of this sweep")
        st.code(command_line(plan, access.written), language=None, wrap_lines=True)
    export_bar("sweep", {"Table": lambda: _flat(plan, version, baseline or ""), "Runs": runs})


def _flat(plan: Plan, version: str, baseline: str) -> pd.DataFrame:
    from core.runs.sweep_table import flat

    return pd.DataFrame(flat(data.sweep_table(plan, version, (), baseline)))


def _live(plan: Plan, found: SweepState) -> bool:
    return bool(found.counts["queued"] or found.counts["running"]) or sweep_drive.driven(data.store(), plan.name)


def _ended(found: SweepState) -> int:
    return sum(found.counts[each] for each in sweep_drive.ENDED)


def _progress(plan: Plan, ended: int, live: bool) -> None:
    """Drawn anew while it goes on; one full run whenever a member ends, so that table and figure follow."""
    found = sweep_drive.look(data.store(), plan)
    going = _live(plan, found)
    if live and (not going or _ended(found) != ended):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        with st.container():
            left = f" · {time_text(found)} left" if time_text(found) else ""
            title = f"{count(found.counts['done'])} of {count(found.total)} runs are done"
            progress(title, f"{counts_text(found)}{left}{' · you may close this tab' if going else ''}", found.share)
        if going:
            stop = "Stops what trains, with a checkpoint; “Resume” continues"
            st.button("Stop", icon=":material/pause:", key="sweep-stop", on_click=_stop, args=(plan.name,), help=stop)
        elif found.counts["done"] < found.total:
            st.button(
                "Resume",
                icon=":material/play_arrow:",
                key="sweep-go-on",
                on_click=_go_on,
                args=(plan.name,),
                help="Trains what is not done; the same as `sentiscope sweep` with its name",
            )


def _stop(name: str) -> None:
    try:
        sweep_drive.cancel(data.store(), name)
    except SentiscopeError:
        pass  # it ended by itself between the look and the click


def _go_on(name: str) -> None:
    try:
        sweep_drive.detach(data.store(), name)
    except SentiscopeError as error:
        state.put(state.SWEEP_PROBLEM, str(error))


page()
