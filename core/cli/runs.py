"""`sentiscope runs …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import cell_text
from core.cli.printing import Json, Run, emit, show_tree, tabulate

app = typer.Typer(no_args_is_help=True, help="Runs: list, show, cancel, export, import, rm.")


@app.command("list")
def runs_list(as_json: Json = False) -> None:
    """All runs, newest first."""
    emit(verbs.runs_list(), as_json, _show_runs)


@app.command("show")
def runs_show(run: Run, as_json: Json = False) -> None:
    """Everything the record of a run says."""
    emit(verbs.runs_show(run), as_json, show_tree)


@app.command("cancel")
def runs_cancel(run: Run, as_json: Json = False) -> None:
    """Stop a run; it saves a checkpoint and can be resumed."""
    emit(verbs.runs_cancel(run), as_json, show_tree)


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
    """Import a run, under its name or the next free one."""
    emit(verbs.runs_import(source), as_json, show_tree)


@app.command("rm")
def runs_remove(run: Run, as_json: Json = False) -> None:
    """Delete a run's directory."""
    emit(verbs.runs_remove(run), as_json, show_tree)


def _show_runs(result: dict[str, Any]) -> None:
    columns = ("run", "model", "data", "status", "test accuracy", "test F1 macro", "reason")
    rows = [{key: cell_text(value) for key, value in row.items()} for row in verbs.runs_table(result)]
    tabulate(rows, columns, whole="run")  # every other command wants the name
