"""Commands on runs: list, show, read, measure, cancel, export, import, delete."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import runs as runs_room
from core.api.options import CliArgument, RunName, Runs, Store
from core.api.printing import tabulate
from core.data.dataset import TEST
from core.exceptions import RunDamaged
from core.formatting import count, shorten_text
from core.runs import training_jobs
from core.runs.configuration import write_train_command
from core.runs.efficiency import measure_costs, read_efficiency
from core.runs.predictions import choose_split
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, SHOWN
from core.runs.store import RunStore
from core.training.history import read_history

if TYPE_CHECKING:
    import pandas as pd


def runs_list(store: Store = None) -> dict[str, Any]:
    """List all runs, newest first, including damaged ones and those that come with Sentiscope (`starter`)."""
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
                "created": record.created,
                "starter": store.is_starter(record.run),
                "metrics": record.results.get("metrics", {}),
            }
            for record in store.list()
        ]
    }


def runs_table(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the result of `runs_list` as table rows: each run with its main test scores (None if undefined)."""
    rows = []
    tagged = any(row["task"] == "tokens" for row in result["runs"])
    for row in result["runs"]:
        test = row["metrics"].get("test", {})
        first = {"run": row["run"], "model": row["described"], "data": row["data"], "status": row["status"]}
        numbers = {"test accuracy": test.get("accuracy"), "test F1 macro": test.get("f1_macro")}
        numbers |= {"test span F1": test.get("span_f1")} if tagged else {}
        rows.append({**first, **numbers, "reason": row["reason"]})
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


def runs_import(source: Annotated[Path | str, CliArgument(metavar="PATH")], store: Store = None) -> dict[str, Any]:
    """Import a run from a zip file or a folder, under its name or the next free one.

    Args:
        source: A zip file from `runs export`, or a run directory.
    """
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
    columns = ("run", "model", "data", "status", "test accuracy", "test F1 macro", *spans, *reason)
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
