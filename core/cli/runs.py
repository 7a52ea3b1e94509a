"""`sentiscope runs …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import cell_text
from core.cli.printing import Json, Run, emit, show_tree, tabulate
from core.numbers import count, shorten
from core.runs.record import SHOWN

app = typer.Typer(no_args_is_help=True, help="Runs: list, show, measure, cancel, export, import, rm.")


@app.command("list")
def runs_list(as_json: Json = False) -> None:
    """All runs, newest first."""
    emit(verbs.runs_list(), as_json, _show_runs)


@app.command("show")
def runs_show(run: Run, as_json: Json = False) -> None:
    """Everything the record of a run says."""
    emit(verbs.runs_show(run), as_json, show_tree)


@app.command("measure")
def runs_measure(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Names of runs.")], as_json: Json = False
) -> None:
    """Time and memory of a prediction on this machine; what is known is not measured again."""
    emit(verbs.runs_measure(runs), as_json, _show_costs)


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


def _show_costs(result: dict[str, Any]) -> None:
    columns = ("run", "parameters", "training s", "one text ms", "batch ms per text", "memory MB", "disk MB", "on")
    tabulate([_cost(run, found) for run, found in result["efficiency"].items()], columns, whole="run")


def _cost(run: str, found: dict[str, Any]) -> dict[str, str]:
    return {
        "run": run,
        "parameters": count(found["parameters"]),
        "training s": f"{found['seconds']:.0f}",
        "one text ms": f"{found['one']:.2f}",
        "batch ms per text": f"{found['batch']:.3f}",
        "memory MB": f"{found['memory'] / 1e6:.1f}",
        "disk MB": f"{found['disk'] / 1e6:.1f}",
        "on": found["where"],
    }


def _show_runs(result: dict[str, Any]) -> None:
    rows = [{key: cell_text(value) for key, value in row.items()} for row in verbs.runs_table(result)]
    for row in rows:
        row["data"] = Path(row["data"]).name  # `runs show` has the whole path, and the whole reason
        row["reason"] = shorten(row["reason"], SHOWN)
    reason = ("reason",) if any(row["reason"] for row in rows) else ()
    spans = ("test span F1",) if rows and "test span F1" in rows[0] else ()
    columns = ("run", "model", "data", "status", "test accuracy", "test F1 macro", *spans, *reason)
    tabulate(rows, columns, whole="run")  # every other command wants the name
