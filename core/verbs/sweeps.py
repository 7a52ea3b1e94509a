"""Sweeps: train a grid, list, show, cancel, remove."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.exceptions import InputError, RunDamaged
from core.runs.start import with_start
from core.runs.store import RunStore
from core.verbs.training import configure


def sweep(  # noqa: PLR0913 - what a plan is made of, by name
    name: str,
    *,
    models: Sequence[str] = (),
    data: Sequence[str] = (),
    grid: Mapping[str, Sequence[str]] | None = None,
    settings: Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (),
    folds: int = 0,
    recipe: str = "",
    dry_run: bool = False,
    detach: bool = False,
    store: RunStore | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
    stopped: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Train models × data × grid × seeds × folds as jobs; under a name that is planned, train what is not done.

    Args:
        name: of the sweep; alone it means the recorded plan.
        models: presets.
        data: registered names or paths.
        grid: dotted setting → values to try.
        settings: what all runs share.
        seeds: of the training.
        folds: parts of a cross-validation, see `data.folds`; 0: the splits as they are.
        recipe: on top of every preset, as in `train`.
        dry_run: only say what would be trained and how long that takes.
        detach: return at once; a separate process continues.
        store: where runs live.
        on_event: hears how far it is, see `core.runs.sweep_drive.SweepState`.
        stopped: asked about once a second; True cancels what trains. Of a sweep that another process drives it only
            ends the watching.

    Returns:
        `sweep`, `plan`, `cells`, `progress` (counts by state, `seconds_left` and of how many runs it is `unknown`) and,
        of a dry run, `members`.

    Raises:
        InputError: no such plan, another plan of that name, or a cell that is not valid.
    """
    from core.runs import sweep as planned
    from core.runs import sweep_drive as driving

    store, asked = store or RunStore(), stopped or (lambda: False)
    tell = on_event or (lambda event: None)
    if models or data or grid or settings or seeds or folds or recipe:
        default = planned.Plan(name)
        values = {setting: tuple(map(str, each)) for setting, each in (grid or {}).items()}
        fixed = {setting: str(value) for setting, value in with_start(settings or {}, store).items()}
        chosen = tuple(models) or default.models, tuple(data) or default.data
        plan = planned.Plan(name, *chosen, values, fixed, tuple(seeds) or default.seeds, folds, recipe)
        for each in plan.data:
            configure(each)  # raises with the nearest name
        planned.members(plan)  # raises where a cell is not valid
    else:
        plan = planned.read(store, name)
    result = {"sweep": name, "plan": dataclasses.asdict(plan), "cells": [each.label for each in planned.cells(plan)]}
    if dry_run:
        runs = planned.members(plan)
        members = [{"run": each.run, "cell": each.cell.label, "seed": each.seed, "fold": each.fold} for each in runs]
        return {**result, "progress": driving.look(store, plan).event(), "members": members}
    plan = planned.save(store, plan)
    if driving.driven(store, name):
        found = driving.look(store, plan) if detach else driving.watch(store, plan, tell=tell, stopped=asked)
    elif detach:
        driving.detach(store, name)
        found = driving.look(store, plan)
    else:
        found = driving.drive(store, plan, tell=tell, stopped=asked)
    return {**result, "progress": found.event()}


def sweeps_list(store: RunStore | None = None) -> dict[str, Any]:
    """All sweeps, newest first, with how far they are; one whose plan cannot be read has a `reason` instead."""
    from core.runs import sweep as planned
    from core.runs import sweep_drive as driving

    store = store or RunStore()
    found: list[dict[str, Any]] = []
    for name in planned.names(store):
        try:
            plan = planned.read(store, name)
            said = driving.look(store, plan).event()
        except (RunDamaged, InputError) as error:
            found.append({"sweep": name, "reason": str(error)})
            continue
        said |= {"models": list(plan.models), "data": list(plan.data), "created": plan.created, "reason": ""}
        found.append({**said, "driven": driving.driven(store, name)})
    return {"sweeps": found}


def sweeps_show(
    name: str, *, metrics: Sequence[str] = (), baseline: str = "", store: RunStore | None = None
) -> dict[str, Any]:
    """The table of a sweep, see `core.runs.sweep_table.table`, with its plan and how far it is.

    Raises:
        InputError: no such sweep, metric or baseline.
    """
    from core.runs import sweep as planned
    from core.runs import sweep_drive as driving
    from core.runs.sweep_table import table

    store = store or RunStore()
    plan = planned.read(store, name)
    found = table(store, plan, metrics=metrics, baseline=baseline)
    return {**found, "plan": dataclasses.asdict(plan), "progress": driving.look(store, plan).event()}


def sweeps_cancel(name: str, store: RunStore | None = None) -> dict[str, Any]:
    """Stop a sweep: what trains saves a checkpoint, nothing more is started; `sweep` resumes it.

    Raises:
        InputError: no such sweep, or nothing of it waits or trains.
    """
    from core.runs.sweep_drive import cancel

    return {"sweep": name, "asked": "cancel", "runs": cancel(store or RunStore(), name)}


def sweeps_remove(name: str, store: RunStore | None = None) -> dict[str, Any]:
    """Delete a sweep with all its runs.

    Raises:
        InputError: no such sweep, or it is being trained.
    """
    from core.runs.sweep import remove

    return {"sweep": name, "removed": True, "runs": remove(store or RunStore(), name)}
