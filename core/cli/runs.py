"""`sentiscope runs …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, Run, decimals, emit, show_tree, tabulate
from core.runs import jobs
from core.runs.store import RunStore

app = typer.Typer(no_args_is_help=True, help="Runs: list, show, cancel, export, import, rm.")


@app.command("list")
def runs_list(as_json: Json = False) -> None:
    """All runs, newest first."""

    def show(result: dict[str, Any]) -> None:
        rows = [
            {
                **row,
                "test accuracy": decimals(row["metrics"].get("test", {}).get("accuracy")),
                "test F1 macro": decimals(row["metrics"].get("test", {}).get("f1_macro")),
            }
            for row in result["runs"]
        ]
        tabulate(rows, ("run", "model", "data", "status", "test accuracy", "test F1 macro", "reason"))

    emit(verbs.runs_list(), as_json, show)


@app.command("show")
def runs_show(run: Run, as_json: Json = False) -> None:
    """Everything the record of a run says."""
    emit(verbs.runs_show(run), as_json, show_tree)


@app.command("cancel")
def runs_cancel(run: Run, as_json: Json = False) -> None:
    """Stop a run; it saves a checkpoint and can be resumed."""
    record = jobs.cancel(RunStore(), run)
    emit({"run": run, "status": record.status, "asked": "cancel"}, as_json, show_tree)


@app.command("export")
def runs_export(
    run: Run, file: Annotated[Path, typer.Argument(help="The zip file to write.")], as_json: Json = False
) -> None:
    """Write a run into one zip file, without checkpoints."""
    emit(verbs.runs_export(run, file), as_json, show_tree)


@app.command("import")
def runs_import(
    source: Annotated[Path, typer.Argument(metavar="PATH", help="A zip file from `runs export`, or a run directory.")],
    as_json: Json = False,
) -> None:
    """Take a run in, under its name or the next free one."""
    emit(verbs.runs_import(source), as_json, show_tree)


@app.command("rm")
def runs_remove(run: Run, as_json: Json = False) -> None:
    """Delete a run's directory."""
    RunStore().remove(run)
    emit({"run": run, "removed": True}, as_json, show_tree)
