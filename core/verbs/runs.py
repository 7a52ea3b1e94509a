"""Runs: list, show, give away, take in."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.exceptions import RunDamaged
from core.runs.store import RunStore

if TYPE_CHECKING:
    pass


def runs_list(store: RunStore | None = None) -> dict[str, Any]:
    """All runs, newest first, damaged ones and those that come with Sentiscope (`starter`) included."""
    store = store or RunStore()
    return {
        "runs": [
            {
                "run": record.run,
                "model": record.preset,
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


def runs_show(run: str, store: RunStore | None = None) -> dict[str, Any]:
    """The whole record of a run; of a damaged one its name and the reason.

    `newer` holds what a newer version has written and this one does not know.

    Raises:
        RunNotFound: no such run.
    """
    try:
        return dataclasses.asdict((store or RunStore()).read(run))
    except RunDamaged as error:
        return {"run": run, "status": "damaged", "reason": str(error)}


def runs_export(run: str, file: Path, store: RunStore | None = None) -> dict[str, Any]:
    """Write a run into one zip file that `runs_import` takes in elsewhere."""
    from core.runs.archive import export_file

    export_file(store or RunStore(), run, file)
    return {"run": run, "file": str(file), "bytes": file.expanduser().stat().st_size}


def runs_import(source: Path, store: RunStore | None = None) -> dict[str, Any]:
    """Take in a run directory or a zip file; `run` is the name that it has here."""
    from core.runs.archive import import_run

    return {"run": import_run(store or RunStore(), source), "source": str(source)}
