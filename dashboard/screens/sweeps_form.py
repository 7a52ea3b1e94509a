"""Planning a sweep on the page, and starting it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.exceptions import SentiscopeError
from core.models.presets import PRESETS
from core.runs import sweep, sweep_drive
from core.runs.start import START, with_start
from core.runs.sweep import Plan, parse_grid
from dashboard import access, state
from dashboard.data import data
from dashboard.figures.numbers import count
from dashboard.figures.sweeps import command_line, time_text
from dashboard.widgets.beginning import recipe, recipe_switch, start_picker
from dashboard.widgets.data_picker import data_picker
from dashboard.widgets.figure import caption
from dashboard.widgets.messages import problem

MODELS, DATA, SEEDS, LIMIT = ("ndt-01-n3", "vanilla"), "built-in", 3, 4000
GRID_HELP = "A setting and the values to try, such as training.lr=1e-4,5e-4; several with a blank between are crossed"


def sweep_form() -> None:
    """What is varied, how often, on how much data; what it costs; the button."""
    with st.container(key="sweep-form", horizontal=True, vertical_alignment="bottom", gap="small"):
        st.multiselect("Models", list(PRESETS), default=MODELS, key=_key("models"), width=360)
        data_picker()
        st.number_input("Seeds", 1, 20, SEEDS, key=_key("seeds"), width=110, help="Every cell is trained so often")
        st.number_input(
            "Training rows", 0, 10_000_000, LIMIT, 1000, key=_key("limit"), width=150, help="At most; 0: all"
        )
        st.number_input("Epochs", 0, 1000, 4, key=_key("epochs"), width=110, help="At most; 0: as each preset says")
        st.number_input(
            "Folds",
            0,
            20,
            0,
            key=_key("folds"),
            width=110,
            help="Cross-validation: each of so many parts of train is the test split once; 0: the splits as they are",
        )
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
    caption(f"{cells}{folds} = {count(found.total)} runs · {time_text(found)}.")
    st.code(command_line(plan, access.written), language=None, wrap_lines=True)


def _key(part: str) -> str:
    return f"{state.SWEEP_PART}{part}"


def _chosen(part: str, default: Any) -> Any:
    return state.draft(_key(part), default)


def _plan() -> Plan:
    """What is chosen now.

    Raises:
        SentiscopeError: it cannot be trained so.
    """
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
    """Button: record the plan, start the process that drives it, and choose it."""
    try:
        plan = sweep.save(data.store(), _plan())
        sweep_drive.detach(data.store(), plan.name)
    except SentiscopeError as error:
        state.put(state.SWEEP_PROBLEM, str(error))
        return
    state.put(state.SWEEP, plan.name)
    state.put(_key("name"), "")
