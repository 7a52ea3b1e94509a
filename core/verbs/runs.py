"""Runs: list, show, read, cancel, give away, take in, delete."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.data.table import TEST
from core.exceptions import InputError, RunDamaged
from core.runs.efficiency import efficiency, measure
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, refuse_tagged
from core.runs.store import RunStore
from core.verbs.reporting import train_command

if TYPE_CHECKING:
    import pandas as pd


def runs_list(store: RunStore | None = None) -> dict[str, Any]:
    """All runs, newest first, damaged ones and those that come with Sentiscope (`starter`) included."""
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
    """What `runs_list` returned as a table: a row for each run with its first numbers on test, None where undefined.

    Span F1 is among them where a run tags words.
    """
    rows = []
    tagged = any(row["task"] == "tokens" for row in result["runs"])
    for row in result["runs"]:
        test = row["metrics"].get("test", {})
        first = {"run": row["run"], "model": row["described"], "data": row["data"], "status": row["status"]}
        numbers = {"test accuracy": test.get("accuracy"), "test F1 macro": test.get("f1_macro")}
        numbers |= {"test span F1": test.get("span_f1")} if tagged else {}
        rows.append({**first, **numbers, "reason": row["reason"]})
    return rows


def runs_show(run: str, store: RunStore | None = None) -> dict[str, Any]:
    """The whole record of a run; of a damaged one its name and the reason.

    `newer` holds what a newer version has written and this one does not know; `efficiency` what the run costs on this
    machine (`core.runs.efficiency.Efficiency`); `described` names preset and mixture; `command` trains it again, as
    far as its `note` says (`train_command`).

    Raises:
        RunNotFound: no such run.
    """
    store = store or RunStore()
    try:
        record = store.read(run)
    except RunDamaged as error:
        return {"run": run, "status": "damaged", "reason": str(error)}
    return {
        **dataclasses.asdict(record),
        "described": record.described,
        "efficiency": dataclasses.asdict(efficiency(store, record)),
        **dict(zip(("command", "note"), train_command(record, store), strict=True)),
    }


def runs_measure(runs: Sequence[str], store: RunStore | None = None) -> dict[str, Any]:
    """What runs cost, `efficiency` by run: time and memory of a prediction are measured here where they are not known.

    Raises:
        InputError: no such run, or it has no weights or predictions yet.
        RunDamaged: a file of it cannot be read.
    """
    store = store or RunStore()
    return {"efficiency": {run: dataclasses.asdict(measure(store, run)) for run in runs}}


def runs_history(run: str, store: RunStore | None = None) -> pd.DataFrame:
    """What a training run wrote down as it went, a row for each logged step and each epoch; empty before it begins.

    Columns as in `core.training.history`, where groups are marked with a dot (`validation.accuracy`); cells that a row
    does not have are missing values.

    Raises:
        RunNotFound: no such run.
        RunDamaged: the history cannot be read.
    """
    import pandas as pd

    from core.training.history import read_history

    history = read_history((store or RunStore()).path(run) / HISTORY)
    if history.unreadable:
        raise RunDamaged(history.unreadable)
    return pd.json_normalize(history.rows)


def runs_predictions(run: str, split: str = "", store: RunStore | None = None) -> pd.DataFrame:
    """What a run predicts for the texts of a split, a row for each; columns as in `core.runs.results.prediction_table`.

    Args:
        run: an evaluated run.
        split: empty: test, or the last that was evaluated.
        store: where runs live.

    Raises:
        InputError: no such run, or one without predictions of this split.
        RunDamaged: the file cannot be read.
    """
    from core.runs.predictions import read_predictions

    store = store or RunStore()
    if store.read(run).task == "tokens":
        from core.runs.tagged import read_tags

        return read_tags(store.path(run), split or TEST)
    return read_predictions(store.path(run) / EVALUATION / evaluated_split(run, split, store) / PREDICTIONS)


def evaluated_split(run: str, split: str, store: RunStore) -> str:
    """The split that is meant: empty: test, or the last that was evaluated.

    Raises:
        InputError: the run has no predictions of it.
    """
    from core.runs.predictions import evaluated_splits

    splits = evaluated_splits(store.path(run))
    refuse_tagged(store.read(run))
    chosen = split or ("test" if "test" in splits else next(reversed(splits), ""))
    if chosen not in splits:
        found = ", ".join(splits) or "none: it is not evaluated yet"
        raise InputError(f"run '{run}' has no predictions{f' of a split {split!r}' * bool(split)}; it has {found}")
    return chosen


def runs_cancel(run: str, store: RunStore | None = None) -> dict[str, Any]:
    """Ask a waiting or running training to stop; it saves a checkpoint and can be resumed.

    A process that does not stop in a minute is ended when it is asked again; its last checkpoint stays.

    Raises:
        InputError: no such run, it is neither waiting nor running, or its process is another user's.
    """
    from core.runs import jobs

    status = jobs.cancel(store or RunStore(), run, insist=True).status
    answer = {"run": run, "status": status, "asked": "cancel"}
    later = f"it stops after the step under way; after {jobs.STUCK_SECONDS:.0f} s the same command ends its process"
    return answer if status == "cancelled" else {**answer, "next": later}


def runs_remove(run: str, store: RunStore | None = None) -> dict[str, Any]:
    """Delete the directory of a run.

    Raises:
        InputError: no such run, it is being trained, or it comes with Sentiscope.
    """
    (store or RunStore()).remove(run)
    return {"run": run, "removed": True}


def runs_export(run: str, file: Path, store: RunStore | None = None) -> dict[str, Any]:
    """Write a run into one zip file that `runs_import` takes in elsewhere."""
    from core.runs.archive import export_file

    export_file(store or RunStore(), run, file)
    return {"run": run, "file": str(file), "bytes": file.expanduser().stat().st_size}


def runs_import(source: Path, store: RunStore | None = None) -> dict[str, Any]:
    """Take in a run directory or a zip file; `run` is the name that it has here."""
    from core.runs.archive import import_run

    return {"run": import_run(store or RunStore(), source), "source": str(source)}
