"""Commands on runs and on sweeps of many runs: list, show, measure, cancel, export, plan, train, tabulate, delete."""

from __future__ import annotations

import csv as csv_module
import dataclasses
import io
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import runs as runs_room
from core.api.options import CliArgument, RunName, Runs, Settings, Stopped, Store, split_names
from core.api.printing import format_time_left, make_printer, say, tabulate
from core.atomic import write_named
from core.data.dataset import TEST
from core.exceptions import InputError, RunDamaged
from core.formatting import BOM, count, escape_formula, format_decimals, shorten_text
from core.recipes import NAMES
from core.runs import sweep as planned
from core.runs import sweep_drive as driving
from core.runs import training_jobs
from core.runs.configuration import add_start_settings, configure, write_train_command
from core.runs.efficiency import measure_costs, read_efficiency
from core.runs.predictions import choose_split
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, SHOWN
from core.runs.store import RunStore, describe_place
from core.runs.sweep import STATES, parse_grid, parse_seeds, split_values
from core.training.history import read_history

if TYPE_CHECKING:
    import pandas as pd


def runs_list(store: Store = None) -> dict[str, Any]:
    """List all runs, newest first, also damaged ones and starters; `place`: job or other machine of a live one."""
    store = store or RunStore()
    return {
        "runs": [
            {
                "run": record.run,
                "model": record.preset,
                "described": record.described,
                "data": record.config.data.name,
                "task": record.task,
                "status": record.status,
                "reason": record.reason,
                "place": describe_place(record.process) if record.status in ("queued", "running") else "",
                "created": record.created,
                "starter": store.is_starter(record.run),
                "metrics": record.results.get("metrics", {}),
            }
            for record in store.list()
        ]
    }


SCORES = {"accuracy": "accuracy", "F1 macro": "f1_macro", "recall macro": "recall_macro"}


def runs_table(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the result of `runs_list` as table rows: each run with its main test scores (None if undefined)."""
    rows = []
    tagged = any(row["task"] == "tokens" for row in result["runs"])
    for row in result["runs"]:
        test = row["metrics"].get("test", {})
        first = {"run": row["run"], "model": row["described"], "data": row["data"], "status": row["status"]}
        numbers = {f"test {name}": test.get(key) for name, key in SCORES.items()}
        numbers |= {"test span F1": test.get("span_f1")} if tagged else {}
        place = {"place": row["place"]} if any(each["place"] for each in result["runs"]) else {}
        rows.append({**first, **place, **numbers, "reason": row["reason"]})
    return rows


def runs_show(run: RunName, store: Store = None) -> dict[str, Any]:
    """Show the full record of a run; for a damaged run its name and the reason.

    Returns:
        The record; `newer`: unknown fields that a newer version has written; `efficiency`: the costs of the run on this
        machine (`core.runs.efficiency.Efficiency`); `described`: preset and mixture; `command`: trains it again, with
        the limits in `note` (`write_train_command`).
    """
    store = store or RunStore()
    try:
        record = store.read(run)
    except RunDamaged as error:
        return {"run": run, "status": "damaged", "reason": str(error)}
    return {
        **dataclasses.asdict(record),
        "described": record.described,
        "efficiency": dataclasses.asdict(read_efficiency(store, record)),
        **dict(zip(("command", "note"), write_train_command(record, store), strict=True)),
    }


def runs_measure(runs: Runs, store: Store = None) -> dict[str, Any]:
    """Measure the time and memory of a run's prediction on this machine, unless they are already measured."""
    store = store or RunStore()
    return {"efficiency": {run: dataclasses.asdict(measure_costs(store, run)) for run in runs}}


def runs_history(run: str, store: RunStore | None = None) -> pd.DataFrame:
    """Read the log of a training run: a row for each step and each epoch (`kind`); empty before training begins.

    `loss`, `train_loss`, `lr`, `grad_norm`, `seconds`; a column for each metric on validation (`validation.accuracy`);
    for models with λ, `lambda`: a list by layer, by component.
    """
    import pandas as pd

    history = read_history((store or RunStore()).get_path(run) / HISTORY)
    if history.unreadable:
        raise RunDamaged(history.unreadable)
    return pd.json_normalize(history.rows)


def runs_predictions(run: str, split: str = "", store: RunStore | None = None) -> pd.DataFrame:
    """Read a run's predictions on a split as a table: `row`, `text`, `label`, `predicted`, `probability:CLASS`.

    The data's own columns follow. No model is loaded. `split` empty: test, or the last evaluated split.
    """
    store = store or RunStore()
    if store.read(run).task == "tokens":
        return runs_room.word_tagging.read_tags(store.get_path(run), split or TEST)
    file = store.get_path(run) / EVALUATION / choose_split(store, run, split) / PREDICTIONS
    return runs_room.predictions.read_predictions(file)


def runs_cancel(run: RunName, store: Store = None) -> dict[str, Any]:
    """Stop a training run; it saves a checkpoint and can be resumed.

    If the process does not stop within a minute, the same command ends it; its last checkpoint is kept.
    """
    status = training_jobs.cancel(store or RunStore(), run, insist=True).status
    answer = {"run": run, "status": status, "asked": "cancel"}
    later = f"it stops after this step; after {training_jobs.STUCK_SECONDS:.0f} s the same command ends its process"
    return answer if status == "cancelled" else {**answer, "next": later}


def runs_export(
    run: RunName, file: Annotated[Path | str, CliArgument("The zip file to write.")], store: Store = None
) -> dict[str, Any]:
    """Write a run into one zip file, without checkpoints, that `runs import` reads on another machine."""
    file = Path(file)
    runs_room.archive.export_file(store or RunStore(), run, file)
    return {"run": run, "file": str(file), "bytes": file.expanduser().stat().st_size}


def runs_import(
    source: Annotated[Path | str, CliArgument("A zip file from `runs export`, or a run directory.", metavar="PATH")],
    store: Store = None,
) -> dict[str, Any]:
    """Import a run from a zip file or a folder, under its name or the next free one."""
    return {"run": runs_room.archive.import_run(store or RunStore(), Path(source)), "source": str(source)}


def runs_remove(run: RunName, store: Store = None) -> dict[str, Any]:
    """Delete a run with its directory."""
    (store or RunStore()).remove(run)
    return {"run": run, "removed": True}


def print_runs_list(result: dict[str, Any]) -> None:
    """Print a row for each run, with its status and main test scores."""
    rows = runs_table(result)
    for row in rows:
        row["data"] = Path(row["data"]).name  # `runs show` has the full path and reason
        row["reason"] = shorten_text(row["reason"], SHOWN)
    reason = ("reason",) if any(row["reason"] for row in rows) else ()
    spans = ("test span F1",) if rows and "test span F1" in rows[0] else ()
    place = ("place",) if rows and "place" in rows[0] else ()
    columns = ("run", "model", "data", "status", *place, *(f"test {name}" for name in SCORES), *spans, *reason)
    tabulate(rows, columns, whole="run")  # other commands need the full name


def print_runs_measure(result: dict[str, Any]) -> None:
    """Print the costs of each run: parameters, training and prediction time, memory, disk."""
    columns: dict[str, Any] = {
        "run": "run",
        "parameters": lambda found: count(found["parameters"]),
        "training s": lambda found: f"{found['seconds']:.0f}",
        "one text ms": lambda found: f"{found['one']:.2f}",
        "batch ms per text": "batch",
        "memory MB": lambda found: f"{found['memory'] / 1e6:.1f}",
        "disk MB": lambda found: f"{found['disk'] / 1e6:.1f}",
        "on": "where",
    }
    tabulate([{"run": run, **found} for run, found in result["efficiency"].items()], columns)


SweepName = Annotated[str, CliArgument("Name of a sweep; `sentiscope sweeps list` shows all.")]
Models = Annotated[
    Sequence[str],
    CliArgument(
        "", "--model", "PRESET,…", list[str], lambda texts: [each for text in texts for each in split_values(text)]
    ),
]
Metrics = Annotated[
    Sequence[str], CliArgument("Metrics of the table; default: the usual ones.", "--metric", "NAME,…", str, split_names)
]
Baseline = Annotated[str, CliArgument("Model or label of the row to compare the others with.", metavar="CELL")]
Table = Annotated[Path | str | None, CliArgument("Also write the table to this file.")]
OnSweep = Annotated[Callable[[dict[str, Any]], None] | None, CliArgument(listener="sweep")]


def sweep(  # noqa: PLR0913 - what a plan is made of, by name
    name: str,
    *,
    models: Models = (),
    data: Annotated[Sequence[str], CliArgument(metavar="DATA")] = (),
    grid: Annotated[
        Mapping[str, Sequence[str]] | None, CliArgument(metavar="A.B=C,D", kind=list[str], parse=parse_grid)
    ] = None,
    settings: Settings = None,
    seeds: Annotated[Sequence[int], CliArgument(metavar="N|A,B", kind=str, parse=parse_seeds)] = (),
    folds: int = 0,
    recipe: Annotated[str, CliArgument(f"On top of every preset: {NAMES}.")] = "",
    epochs: int | None = None,
    limit: int | None = None,
    at_once: Annotated[int | None, CliArgument(name="--jobs")] = None,
    dry_run: bool = False,
    detach: bool = False,
    metrics: Metrics = (),
    baseline: Baseline = "",
    csv: Table = None,
    on_event: OnSweep = None,
    stopped: Stopped = None,
    store: Store = None,
) -> dict[str, Any]:
    """Train models × data × grid × seeds × folds and tabulate results. Ctrl-C stops; the same command continues.

    Args:
        name: The name of the sweep; without further arguments, continue its plan.
        models: Models; repeat, or separate by commas.
        data: Data sets or files; repeat for more.
        grid: Values to try; repeat to try all combinations.
        seeds: The number of seeds, from 0, or a list: 0,1,2.
        folds: The number of folds for cross-validation: each part of train is test once.
        epochs: Short for --set training.epochs.
        limit: Short for --set data.limit.
        at_once: The number of runs at a time; default: SENTISCOPE_JOBS.
        dry_run: Only show what would be trained, and for how long.
        detach: Run in the background; `sweeps show` shows the progress.
        stopped: Called about once a second. If another process drives the sweep, True only stops the watching.

    Returns:
        `sweep`, `plan`, `cells`, `progress` (counts by state, `seconds_left`, and the number of runs for which it is
        `unknown`), and the table as `sweeps_show`; a dry run has `members` instead, a detached run has neither.
    """
    if at_once is not None:
        os.environ["SENTISCOPE_JOBS"] = str(at_once)  # for this process and the runs that it starts
    store, asked = store or RunStore(), stopped or (lambda: False)
    tell = on_event or (lambda event: None)
    short = {"training.epochs": epochs, "data.limit": limit}
    settings = {**(settings or {}), **{key: value for key, value in short.items() if value is not None}}
    if models or data or grid or settings or seeds or folds or recipe:
        default = planned.Plan(name)
        values = {setting: tuple(map(str, each)) for setting, each in (grid or {}).items()}
        fixed = {setting: str(value) for setting, value in add_start_settings(settings, store).items()}
        chosen = tuple(models) or default.models, tuple(data) or default.data
        plan = planned.Plan(name, *chosen, values, fixed, tuple(seeds) or default.seeds, folds, recipe)
        for each in plan.data:
            configure(each)  # raises for an unknown name
        planned.list_members(plan)  # raises for an invalid cell
    else:
        plan = planned.read(store, name)
    cells = [each.label for each in planned.list_cells(plan)]
    result = {"sweep": name, "plan": dataclasses.asdict(plan), "cells": cells}
    if dry_run:
        runs = planned.list_members(plan)
        members = [{"run": each.run, "cell": each.cell.label, "seed": each.seed, "fold": each.fold} for each in runs]
        return {**result, "progress": driving.read_progress(store, plan).to_event(), "members": members}
    plan = planned.save(store, plan)
    if driving.is_driven(store, name):
        found = driving.read_progress(store, plan) if detach else driving.watch(store, plan, tell=tell, stopped=asked)
    elif detach:
        driving.start_driver(store, name)
        found = driving.read_progress(store, plan)
    else:
        found = driving.run_sweep(store, plan, tell=tell, stopped=asked)
    result["progress"] = found.to_event()
    return result if detach else result | sweeps_show(name, metrics=metrics, baseline=baseline, csv=csv, store=store)


def sweeps_list(store: Store = None) -> dict[str, Any]:
    """List all sweeps, newest first, with their progress, or with a `reason` if the plan of a sweep cannot be read."""
    store = store or RunStore()
    found: list[dict[str, Any]] = []
    for name in planned.list_names(store):
        try:
            plan = planned.read(store, name)
            said = driving.read_progress(store, plan).to_event()
        except (RunDamaged, InputError) as error:
            found.append({"sweep": name, "reason": str(error)})
            continue
        said |= {"models": list(plan.models), "data": list(plan.data), "created": plan.created, "reason": ""}
        found.append({**said, "driven": driving.is_driven(store, name)})
    return {"sweeps": found}


def sweeps_show(
    name: SweepName, *, metrics: Metrics = (), baseline: Baseline = "", csv: Table = None, store: Store = None
) -> dict[str, Any]:
    """Show the results of a sweep, finished or not (`core.runs.sweep_table.build_table`), with plan and progress."""
    store = store or RunStore()
    plan = planned.read(store, name)
    found = runs_room.sweep_table.build_table(store, plan, metrics=metrics, baseline=baseline)
    found |= {"plan": dataclasses.asdict(plan), "progress": driving.read_progress(store, plan).to_event()}
    if csv is not None:
        stream, rows = io.StringIO(), runs_room.sweep_table.flatten_table(found)
        writer = csv_module.writer(stream, lineterminator="\n")
        for cells in (rows[0], *(row.values() for row in rows)):
            writer.writerow([escape_formula(cell) for cell in cells])
        write_named("--csv", csv, BOM + stream.getvalue())
    return found


def sweeps_cancel(name: SweepName, store: Store = None) -> dict[str, Any]:
    """Stop a sweep of runs; runs in training save a checkpoint, and `sentiscope sweep NAME` continues."""
    return {"sweep": name, "asked": "cancel", "runs": driving.cancel(store or RunStore(), name)}


def sweeps_remove(name: SweepName, store: Store = None) -> dict[str, Any]:
    """Delete a sweep with all its training runs."""
    return {"sweep": name, "removed": True, "runs": planned.remove(store or RunStore(), name)}


def print_sweep(result: dict[str, Any]) -> None:
    """Print the plan of a sweep (dry run), how to watch the sweep (in the background), or its table of results."""
    plan, told = result["plan"], result["progress"]
    left = format_time_left(told["seconds_left"], told["unknown"])
    if "rows" in result:
        print_sweeps_show(result)
    elif "members" in result:
        folds = f" x {plan['folds']} folds" if plan["folds"] else ""
        say(f"{told['runs']} runs: {len(result['cells'])} cells x {len(plan['seeds'])} seeds{folds}")
        for cell in result["cells"]:
            say(f"  {cell}")
        say(f"{told['done']} are done; {left}")
    else:
        say(f"{told['runs']} runs in the background; {left}")
        say(f"Look: sentiscope sweeps show {result['sweep']}")


def print_sweeps_list(result: dict[str, Any]) -> None:
    """Print a row for each sweep, with the progress of its runs."""
    tabulate(result["sweeps"], ("sweep", "runs", *STATES, "models", "data", "reason"), "sweep")


print_sweeps_cancel = make_printer(lambda r: f"{r['runs']} runs asked to stop")
print_sweeps_remove = make_printer(lambda r: f"removed, with {r['runs']} runs")


def print_sweeps_show(result: dict[str, Any]) -> None:
    """Print the results of a sweep: the first metric with comparisons, the other metrics without comparisons."""
    told = result["progress"]
    counts = ", ".join(f"{told[state]} {state}" for state in STATES if told[state])
    say(f": {told['runs']} runs, {counts}", head=result["sweep"])
    first, *others = result["metrics"]
    compared = ["to baseline"] if result["baseline"] else []
    seeds = result["together"] or {"name": "", "title": ""}
    titles = {metric["name"]: metric["title"] for metric in result["metrics"]}
    rows = []
    for row in result["rows"]:
        seconds = row["seconds"]
        rows.append(
            {
                "cell": row["label"],
                "runs": f"{row['n']} of {row['of']}",
                **{title: _format_mean(row["metrics"].get(name)) for name, title in titles.items()},
                seeds["title"]: _format_mean(row["together"].get(seeds["name"])),
                "TF-IDF": _format_mean(row["yardstick"].get(first["name"])),
                "difference": _format_difference(row["versus_yardstick"].get(first["name"])),
                "to baseline": _format_difference(row["versus_baseline"].get(first["name"])),
                "parameters": "" if row["parameters"] is None else count(row["parameters"]),
                "seconds": "" if seconds is None else f"{seconds['mean']:.0f}",
            }
        )
    several = [seeds["title"]] if result["together"] else []
    shown = (first["title"], *several, "TF-IDF", "difference", *compared, *(titles[each["name"]] for each in others))
    tabulate(rows, ("cell", "runs", *shown, "parameters", "seconds"), whole="cell")
    said = "; of seeds together, the mean of their probabilities answers" if several else ""
    say(
        f"On the test split: mean ± sample deviation of the runs{said}. "
        f"Differences ({first['title']}) with their 95 % interval; * is significant at 5 %. {result['method']}"
    )
    for row in result["rows"]:
        if row["apart"]:
            say(f"{row['label']}: its seeds cannot answer together: {row['apart']}")
    for failure in told["failures"]:
        say(f"{failure['run']}: {failure['reason']}")


def _format_mean(summary: dict[str, Any] | None) -> str:
    if summary is None:
        return ""
    spread = "" if summary["deviation"] is None else f" ± {summary['deviation']:.3f}"
    return format_decimals(summary["mean"]) + spread


def _format_difference(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    interval = f" ({found['low']:+.3f} to {found['high']:+.3f})" if found.get("low") is not None else ""
    return f"{found['difference']:+.3f}{interval}{' *' if found.get('significant') else ''}"
