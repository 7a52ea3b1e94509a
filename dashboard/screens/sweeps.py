"""Page Sweeps: the runs of one plan, their progress, and their joint results."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core import runs as run_files
from core.exceptions import RunDamaged, SentiscopeError
from core.fingerprint import fingerprint
from core.models.presets import PRESETS
from core.numbers import count
from core.runs import sweep, sweep_drive
from core.runs.start import START, with_start
from core.runs.sweep import Plan, parse_grid
from core.runs.sweep_drive import SweepState
from dashboard import access, state
from dashboard.data import data
from dashboard.figures import sweeps as figures
from dashboard.screens.sweeps_example import read_example
from dashboard.widgets.export import export_bar
from dashboard.widgets.figure import caption, place, show, show_table
from dashboard.widgets.messages import finding, header, problem, progress
from dashboard.widgets.style import look
from dashboard.widgets.training_fields import data_picker, recipe, recipe_switch, start_picker

QUESTION = "Which of several models or settings is better, and by more than chance?"
NONE = (
    "One run says little: another seed gives another number. Choose models above, train each with several seeds, and "
    "compare their means. The runs go on when this tab is closed."
)
POLL_SECONDS = 2.0


def page() -> None:
    """Show a form, then the chosen sweep."""
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
    example = read_example()
    made = f"comes with Sentiscope, made on {example.made}"
    show(figures.MEMBERS, figures.Members(example.cells, example.metric, made, example=True))
    place(figures.TABLE.draw(example.rows, look()), figures.TABLE.name, "Means and deviations by cell")
    caption(f"{figures.TABLE.reading} These runs are not here; the same command trains them:")
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
        bound: dict[str, Any] = {"key": state.METRIC, "bind": "query-params", "required": True}
        title = st.segmented_control("Metric", list(named), default=next(iter(named)), **bound)
        bound = {"key": state.BASELINE, "bind": "query-params", "width": 320}
        baseline = st.selectbox("Compare with", labels, index=None, placeholder="TF-IDF only", **bound)
    cells = figures.chart_cells(whole, named[title])
    if cells:
        show(figures.MEMBERS, figures.Members(cells, title, f"{count(found.counts['done'])} runs"))
    table = data.sweep_table(plan, version, (named[title],), baseline or "")
    frame, runs = figures.table_frame(table), figures.member_frame(whole)
    show(figures.TABLE, frame)
    with st.expander("All runs of this sweep"):
        show_table(runs, "Runs of this sweep")
        st.code(figures.command_line(plan, access.written), language=None, wrap_lines=True)

    def whole_table() -> pd.DataFrame:
        """Return the table of all metrics."""
        return pd.DataFrame(run_files.sweep_table.flat(data.sweep_table(plan, version, (), baseline or "")))

    export_bar("sweep", {"Table": whole_table, "Runs": runs})


def _live(plan: Plan, found: SweepState) -> bool:
    return bool(found.counts["queued"] or found.counts["running"]) or sweep_drive.driven(data.store(), plan.name)


def _ended(found: SweepState) -> int:
    return sum(found.counts[each] for each in sweep_drive.ENDED)


def _progress(plan: Plan, ended: int, live: bool) -> None:
    """Show the progress of a sweep; run the page again whenever a member ends."""
    found = sweep_drive.look(data.store(), plan)
    going = _live(plan, found)
    if live and (not going or _ended(found) != ended):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        with st.container():
            left = f" · {figures.time_text(found)} left" if figures.time_text(found) else ""
            title = f"{count(found.counts['done'])} of {count(found.total)} runs are done"
            progress(
                title, f"{figures.counts_text(found)}{left}{' · you may close this tab' if going else ''}", found.share
            )
        if going:
            stop = "Stops what trains, with a checkpoint; “Resume” continues"
            st.button("Stop", icon=":material/pause:", key="sweep-stop", on_click=_stop, args=(plan.name,), help=stop)
        elif found.counts["done"] < found.total:
            about = "Trains what is not done; the same as `sentiscope sweep` with its name"
            st.button("Resume", "sweep-go-on", about, partial(_go_on, plan.name), icon=":material/play_arrow:")


def _stop(name: str) -> None:
    with contextlib.suppress(SentiscopeError):  # it ended by itself between the look and the click
        sweep_drive.cancel(data.store(), name)


def _go_on(name: str) -> None:
    with state.refusals(state.SWEEP_PROBLEM):
        sweep_drive.detach(data.store(), name)


FOLDS_HELP = "Cross-validation: each of so many parts of train is the test split once; 0: the splits as they are"
MODELS, DATA, SEEDS, LIMIT = ("ndt-01-n3", "vanilla"), "built-in", 3, 4000
GRID_HELP = "A setting and the values to try, such as training.lr=1e-4,5e-4; several with a blank between are crossed"


def sweep_form() -> None:
    """Show the form of a sweep: the grid, seeds, amount of data, cost and the button."""
    with st.container(key="sweep-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.multiselect("Models", list(PRESETS), default=MODELS, key=_key("models"), width=360)
        data_picker()
        st.number_input("Seeds", 1, 20, SEEDS, key=_key("seeds"), width=110, help="Every cell is trained so often")
        rows: dict[str, Any] = {"width": 150, "help": "At most; 0: all"}
        st.number_input("Training rows", 0, 10_000_000, LIMIT, 1000, key=_key("limit"), **rows)
        st.number_input("Epochs", 0, 1000, 4, key=_key("epochs"), width=110, help="At most; 0: as each preset says")
        st.number_input("Folds", 0, 20, 0, key=_key("folds"), width=110, help=FOLDS_HELP)
        st.text_input("Grid", key=_key("grid"), placeholder="training.lr=1e-4,5e-4", width=260, help=GRID_HELP)
        start_picker(_key("start"))
        recipe_switch(_key("recipe"), "Under the grid and what the fields here say.")
        st.text_input("Name", key=_key("name"), placeholder=_free_name(), width=160)
        st.button("Start sweep", type="primary", key="sweep-start", on_click=_start)
    if text := state.take(state.SWEEP_PROBLEM):
        problem("This sweep cannot start", text)
    try:
        plan = _plan()
        found = sweep_drive.look(data.store(), plan)
    except SentiscopeError as error:
        if not text:
            problem("These choices do not fit together", str(error))
        return
    cells = f"{count(plan.cells)} cells × {count(len(plan.seeds))} seeds"
    folds = f" × {count(plan.folds)} folds" if plan.folds else ""
    caption(f"{cells}{folds} = {count(found.total)} runs · {figures.time_text(found)}.")
    st.code(figures.command_line(plan, access.written), language=None, wrap_lines=True)


def _key(part: str) -> str:
    return f"{state.SWEEP_PART}{part}"


def _chosen(part: str, default: Any) -> Any:
    return state.draft(_key(part), default)


def _plan() -> Plan:
    """Return the chosen plan; SentiscopeError: it cannot be trained."""
    grid = parse_grid(str(_chosen("grid", "")).split())
    for name, values in grid.items():
        for value in values:
            access.refuse_foreign({name: value})
    chosen = dict(access.option(state.draft(state.DATA, DATA) or DATA).settings)
    source = chosen.pop("data.name")
    short = {"data.limit": _chosen("limit", LIMIT), "training.epochs": _chosen("epochs", 4)}
    begun = {START: start} if (start := _chosen("start", "")) else {}
    fixed = with_start({**chosen, **begun, **{name: value for name, value in short.items() if value}}, data.store())
    plan = Plan(
        name=_chosen("name", "").strip() or _free_name(),
        models=tuple(_chosen("models", MODELS)),
        data=(source,),
        grid=grid,
        settings={name: str(value) for name, value in fixed.items()},
        seeds=tuple(range(int(_chosen("seeds", SEEDS)))),
        folds=int(_chosen("folds", 0)),
        recipe=recipe(_chosen("recipe", False)),
    )
    sweep.members(plan)  # raises where a cell is not valid
    return plan


def _free_name() -> str:
    taken = set(sweep.names(data.store()))
    return next(name for number in range(1, len(taken) + 2) if (name := f"sweep-{number}") not in taken)


def _start() -> None:
    with state.refusals(state.SWEEP_PROBLEM):
        plan = sweep.save(data.store(), _plan())
        sweep_drive.detach(data.store(), plan.name)
        state.put(state.SWEEP, plan.name)
        state.put(_key("name"), "")


page()
