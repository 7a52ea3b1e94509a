"""Page Sweeps: the runs of one hyperparameter sweep, their progress, and their joint results."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import runs as run_files
from core.exceptions import RunDamaged, SentiscopeError
from core.fingerprint import hash_value
from core.formatting import count
from core.models.presets import PRESETS
from core.runs import sweep, sweep_drive
from core.runs.configuration import START, add_start_settings
from core.runs.store import RunStore
from core.runs.sweep import Plan, parse_grid
from core.runs.sweep_drive import SweepState
from dashboard import access, state
from dashboard.data import data
from dashboard.figures import sweeps as figures
from dashboard.figures.drawing import NOTHING
from dashboard.widgets import options
from dashboard.widgets.export import show_export_bar
from dashboard.widgets.figure import show, show_caption, show_drawing, show_table
from dashboard.widgets.messages import show_finding, show_header, show_problem, show_progress, show_summary
from dashboard.widgets.style import get_look

QUESTION = "Which setting is best, and is the difference real?"
POLL_SECONDS = 2.0
SETTINGS, COMMAND, NEW, RUNS = "More settings", "Command", "New sweep", "All runs"
"""Folded sections."""


def show_page() -> None:
    """Draw the Sweeps page: the chosen sweep; before the first one, the form of a new sweep."""
    names = sweep.list_names(data.store())
    show_header("Sweeps", QUESTION, [(count(len(names)), "sweep" if len(names) == 1 else "sweeps")] if names else [])
    missing = state.get_bound(state.SWEEP)
    if missing and missing not in names:
        show_problem(f"There is no sweep “{missing}” here", "It was removed, or the link comes from another machine.")
    if not names:
        show_form(fold=True)
        show_caption("No sweep has been planned here yet.")
        return
    state.drop_stale(state.SWEEP, names)
    bar = st.container(key="sweep-bar", horizontal=True, vertical_alignment="bottom", gap="small")
    chosen = bar.selectbox("Sweep", names, key=state.SWEEP, bind="query-params", width=240)
    try:
        plan = sweep.read(data.store(), chosen)
    except RunDamaged as error:
        show_problem(f"Sweep “{chosen}” is damaged", str(error))
        return
    _show_sweep(plan, bar)


def _show_sweep(plan: Plan, bar: DeltaGenerator) -> None:
    found = sweep_drive.read_progress(data.store(), plan)
    live = _is_live(plan, found)
    st.fragment(_show_progress, run_every=POLL_SECONDS if live else None)(plan, _count_ended(found), live)
    for run, reason in found.failures[:5]:
        show_problem(f"{data.label_run(run)} has failed", reason)
    if not found.counts["done"]:
        show_finding("Nothing to compare yet", "The table appears when the first run is done.")
        options.show_sections({NEW: partial(show_form, fold=False)})
        return
    version = hash_value({"done": found.counts, "failed": found.failures})
    whole = data.build_sweep_table(plan, version, tests=False)
    named = {each["title"]: each["name"] for each in whole["metrics"]}
    labels = [row["label"] for row in whole["rows"]]
    state.drop_stale(state.METRIC, list(named))
    state.drop_stale(state.BASELINE, labels)
    with bar:
        bound: dict[str, Any] = {"key": state.METRIC, "bind": "query-params", "required": True}
        title = st.segmented_control("Metric", list(named), default=next(iter(named)), **bound)
        bound = {"key": state.BASELINE, "bind": "query-params", "width": 240}
        baseline = st.selectbox("Compare with", labels, index=None, placeholder="TF-IDF only", **bound)
    if cells := figures.list_chart_cells(whole, named[title]):
        shown, reading = figures.Members(cells, title), str(figures.MEMBERS.reading)
        show_summary(figures.describe_best(shown), "")
        drawing = figures.MEMBERS.draw(shown, get_look())
        show_drawing(drawing, figures.MEMBERS.name, f"{title} of each run. {reading}")
        show_caption(reading)
    table = data.build_sweep_table(plan, version, (named[title],), baseline or "")
    show(figures.TABLE, figures.build_table_frame(table))
    runs = figures.build_member_frame(whole)

    def show_runs() -> None:
        titles = {name: title for title, name in named.items()} | {"cell": "Setting"}
        columns = {name: st.column_config.Column(titles.get(name, name.capitalize())) for name in map(str, runs)}
        show_table(runs.round(4).dropna(axis=1, how="all"), "Runs of this sweep", columns, placeholder=NOTHING)
        st.code(figures.write_command(plan, access.format_name), language=None, wrap_lines=True)

    sections: dict[str, Callable[[], None]] = {RUNS: show_runs, NEW: partial(show_form, fold=False)}
    options.show_sections(sections)

    def build_full_table() -> pd.DataFrame:
        whole = data.build_sweep_table(plan, version, (), baseline or "")
        return pd.DataFrame(run_files.sweep_table.flatten_table(whole))

    show_export_bar("sweep", {"Table": build_full_table, "Runs": runs})


def _is_live(plan: Plan, found: SweepState) -> bool:
    return bool(found.counts["queued"] or found.counts["running"]) or sweep_drive.is_driven(data.store(), plan.name)


def _count_ended(found: SweepState) -> int:
    return sum(found.counts[each] for each in sweep_drive.ENDED)


def _show_progress(plan: Plan, ended: int, live: bool) -> None:
    """Show the progress of a sweep; rerun the page whenever a run of the sweep ends."""
    found = sweep_drive.read_progress(data.store(), plan)
    going = _is_live(plan, found)
    if live and (not going or _count_ended(found) != ended):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", gap="large"):
        with st.container():
            waits = f"{left} left" if (left := figures.describe_time_left(found)) else ""
            rest, close = figures.describe_counts(found, but="done"), "you may close this tab" if going else ""
            title = f"{count(found.counts['done'])} of {count(found.total)} runs are done"
            show_progress(title, " · ".join(filter(None, (rest, waits, close))) or "none failed", found.share)
        if going:
            stop = "Stops training and saves a checkpoint; “Resume” continues"
            act = partial(_change_sweep, sweep_drive.cancel, plan.name)
            st.button("Stop", "sweep-stop", stop, act, icon=":material/pause:")
        elif found.counts["done"] < found.total:
            about = "Trains the remaining runs, as `sentiscope sweep` does with this name"
            act = partial(_change_sweep, sweep_drive.start_driver, plan.name)
            st.button("Resume", "sweep-go-on", about, act, icon=":material/play_arrow:")


def _change_sweep(act: Callable[[RunStore, str], object], name: str) -> None:
    with state.store_refusal(state.SWEEP_PROBLEM):
        act(data.store(), name)


FOLDS_HELP = "Cross-validation: train is divided into this many parts; each is the test split once. 0: the given splits"
SEEDS_HELP = "Training runs of every setting. One run says little, since every seed gives another number"
MODELS, DATA, SEEDS, LIMIT, EPOCHS = ("ndt-01-n3", "vanilla"), "built-in", 3, 4000, 4
GRID_HELP = (
    "A setting and values to try, such as training.lr=1e-4,5e-4. A space separates several; all combinations run"
)


def show_form(*, fold: bool) -> None:
    """Show the form of a new sweep: models, data, seeds, cost, and the start button.

    `fold`: whether its further settings and its commands are sections of the page.
    """
    with st.container(key="sweep-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.multiselect("Models", list(PRESETS), default=MODELS, key=_make_key("models"), width=360)
        options.pick_dataset()
        _pick_number("Seeds", "seeds", 20, SEEDS, SEEDS_HELP, low=1)
        st.button("Start sweep", type="primary", key="sweep-start", on_click=_start_sweep)
    with st.container(key="sweep-more", horizontal=True, vertical_alignment="center", gap="medium"):
        opened = options.choose_sections([SETTINGS, COMMAND], plain=True) if fold else [SETTINGS, COMMAND]
        cost = st.empty()
    if SETTINGS in opened:
        with st.container(key="sweep-settings", horizontal=True, vertical_alignment="bottom", gap="small"):
            _pick_number("Training rows", "limit", 10_000_000, LIMIT, "At most; 0: all", step=1000)
            _pick_number("Epochs", "epochs", 1000, EPOCHS, "At most; 0: as in each preset")
            _pick_number("Folds", "folds", 20, 0, FOLDS_HELP)
            kept: dict[str, Any] = {"persist_state": "session"}
            example = "training.lr=1e-4,5e-4"
            st.text_input("Grid", key=_make_key("grid"), placeholder=example, width=260, help=GRID_HELP, **kept)
            options.pick_start(_make_key("start"))
            options.show_recipe_switch(_make_key("recipe"), "The grid and the fields here override it.")
            st.text_input("Name", key=_make_key("name"), placeholder=_find_free_name(), width=160, **kept)
    if text := state.pop_value(state.SWEEP_PROBLEM):
        show_problem("This sweep cannot start", text)
    try:
        plan = _make_plan()
        found = sweep_drive.read_progress(data.store(), plan)
    except SentiscopeError as error:
        if not text:
            show_problem("These choices do not fit together", str(error))
        return
    cells = f"{count(plan.cells)} settings × {count(len(plan.seeds))} seeds"
    folds = f" × {count(plan.folds)} folds" if plan.folds else ""
    if COMMAND in opened:
        st.code(figures.write_command(plan, access.format_name), language=None, wrap_lines=True)
    with cost:
        show_caption(f"{cells}{folds} = {count(found.total)} runs · {figures.describe_time_left(found)}.")


def _pick_number(title: str, part: str, high: int, first: int, about: str, *, low: int = 0, step: int = 1) -> None:
    """Show a number field of the form, which keeps its value while it is folded."""
    key = _make_key(part)
    st.number_input(title, low, high, first, step, key=key, width=150, help=about, persist_state="session")


def _make_key(part: str) -> str:
    return f"{state.SWEEP_PART}{part}"


def _get_choice(part: str, default: Any) -> Any:
    return state.get_value(_make_key(part), default)


def _make_plan() -> Plan:
    grid = parse_grid(str(_get_choice("grid", "")).split())
    for name, values in grid.items():
        for value in values:
            access.refuse_foreign({name: value})
    chosen = dict(access.find_dataset(state.get_value(state.DATA, DATA) or DATA).settings)
    source = chosen.pop("data.name")
    short = {"data.limit": _get_choice("limit", LIMIT), "training.epochs": _get_choice("epochs", EPOCHS)}
    begun = {START: start} if (start := _get_choice("start", "")) else {}
    chosen |= begun | {name: value for name, value in short.items() if value}
    fixed = {name: str(value) for name, value in add_start_settings(chosen, data.store()).items()}
    name, models = _get_choice("name", "").strip() or _find_free_name(), tuple(_get_choice("models", MODELS))
    seeds, folds = tuple(range(int(_get_choice("seeds", SEEDS)))), int(_get_choice("folds", 0))
    recipe = options.get_recipe(_get_choice("recipe", False))
    plan = Plan(name, models, data=(source,), grid=grid, settings=fixed, seeds=seeds, folds=folds, recipe=recipe)
    sweep.list_members(plan)  # raises for an invalid cell
    return plan


def _find_free_name() -> str:
    taken = set(sweep.list_names(data.store()))
    return next(name for number in range(1, len(taken) + 2) if (name := f"sweep-{number}") not in taken)


def _start_sweep() -> None:
    with state.store_refusal(state.SWEEP_PROBLEM):
        plan = sweep.save(data.store(), _make_plan())
        sweep_drive.start_driver(data.store(), plan.name)
        state.set_value(state.SWEEP, plan.name)
        state.set_value(_make_key("name"), "")


show_page()
