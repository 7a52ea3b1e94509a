"""The commands `sweep` and `sweeps`: plan many runs, drive them, show their table."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.atomic import write_text
from core.cells import BOM, decimals, no_formula
from core.cli.printing import Json, Set, emit, err, say, tabulate
from core.cli.progress import SweepProgress, spoken_time
from core.config import parse_settings
from core.exceptions import InputError
from core.numbers import count
from core.recipes import NAMES
from core.runs.sweep import STATES, parse_grid, parse_seeds, split_values
from core.runs.worker import stop_signals

app = typer.Typer(no_args_is_help=True, help="Sweeps: list, show, cancel, rm.")
Name = Annotated[str, typer.Argument(help="Name of a sweep; `sentiscope sweeps list` shows all.")]
Metrics = Annotated[str, typer.Option(metavar="NAME,…", help="Metrics of the table; default: the usual ones.")]
Baseline = Annotated[str, typer.Option(metavar="CELL", help="Model or label of the row to compare the others with.")]
Table = Annotated[Path | None, typer.Option("--csv", help="Also write the table to this file.")]


def sweep(  # noqa: PLR0913 - each is an option that a person types by name
    name: Annotated[str, typer.Argument(help="Of the sweep; alone it goes on with the plan of that name.")],
    model: Annotated[list[str] | None, typer.Option(metavar="PRESET,…", help="Models; repeat or separate.")] = None,
    data: Annotated[list[str] | None, typer.Option(metavar="DATA", help="Data sets or files; repeat for more.")] = None,
    grid: Annotated[list[str] | None, typer.Option(metavar="A.B=C,D", help="Values to try; repeat to cross.")] = None,
    settings: Set = None,
    seeds: Annotated[str, typer.Option(metavar="N|A,B", help="How many seeds, from 0, or which: 0,1,2.")] = "",
    folds: Annotated[int, typer.Option(help="Cross-validation: each of so many parts of train is test once.")] = 0,
    recipe: Annotated[str, typer.Option(help=f"On top of every preset: {NAMES}.")] = "",
    epochs: Annotated[int | None, typer.Option(help="Short for --set training.epochs.")] = None,
    limit: Annotated[int | None, typer.Option(help="Short for --set data.limit.")] = None,
    at_once: Annotated[int | None, typer.Option("--jobs", help="Runs at a time; default: SENTISCOPE_JOBS.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be trained, and for how long.")
    ] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background; `sweeps show` reports.")] = False,
    metric: Metrics = "",
    baseline: Baseline = "",
    table: Table = None,
    as_json: Json = False,
) -> None:
    """Train models × data × grid × seeds × folds, and show their table. Ctrl-C stops; the same command goes on."""
    if at_once is not None:
        os.environ["SENTISCOPE_JOBS"] = str(at_once)  # of this process and of the runs that it starts
    short = {"training.epochs": epochs, "data.limit": limit}
    fixed = {**parse_settings(settings or []), **{key: value for key, value in short.items() if value is not None}}
    with SweepProgress(err, as_json) as progress, stop_signals() as signalled:
        result = verbs.sweep(
            name,
            models=[each for text in model or [] for each in split_values(text)],
            data=data or [],
            grid=parse_grid(grid or []),
            settings=fixed,
            seeds=parse_seeds(seeds) if seeds else (),
            folds=folds,
            recipe=recipe,
            dry_run=dry_run,
            detach=detach,
            on_event=progress.tell,
            stopped=signalled.is_set,
        )
    if dry_run or detach:
        emit(result, as_json, _show_plan if dry_run else _show_detached)
        return
    result |= verbs.sweeps_show(name, metrics=split_values(metric) if metric else (), baseline=baseline)
    _keep(result, table)
    emit(result, as_json, _show_table)
    if result["progress"]["done"] < result["progress"]["runs"]:
        raise typer.Exit(1)


@app.command("list")
def sweeps_list(as_json: Json = False) -> None:
    """All sweeps, newest first."""
    columns = ("sweep", "runs", *STATES, "models", "data", "reason")
    emit(verbs.sweeps_list(), as_json, lambda result: tabulate(result["sweeps"], columns, "sweep"))


@app.command("show")
def sweeps_show(
    name: Name, metric: Metrics = "", baseline: Baseline = "", table: Table = None, as_json: Json = False
) -> None:
    """The table of a sweep, as far as it is."""
    result = verbs.sweeps_show(name, metrics=split_values(metric) if metric else (), baseline=baseline)
    _keep(result, table)
    emit(result, as_json, _show_table)


@app.command("cancel")
def sweeps_cancel(name: Name, as_json: Json = False) -> None:
    """Stop a sweep; what trains saves a checkpoint, and `sentiscope sweep NAME` goes on."""
    emit(verbs.sweeps_cancel(name), as_json, lambda r: say(f"{r['runs']} runs asked to stop"))


@app.command("rm")
def sweeps_remove(name: Name, as_json: Json = False) -> None:
    """Delete a sweep with all its runs."""
    emit(verbs.sweeps_remove(name), as_json, lambda r: say(f"removed, with {r['runs']} runs"))


def _keep(result: dict[str, Any], file: Path | None) -> None:
    if file is None:
        return
    from core.runs.sweep_table import flat

    stream, rows = io.StringIO(), flat(result)
    writer = csv.writer(stream, lineterminator="\n")
    for cells in (rows[0], *(row.values() for row in rows)):
        writer.writerow([no_formula(cell) for cell in cells])
    try:
        write_text(file, BOM + stream.getvalue())
    except OSError as error:
        raise InputError(f"--csv {file}: cannot be written ({error.strerror})") from error


def _show_plan(result: dict[str, Any]) -> None:
    plan, told = result["plan"], result["progress"]
    folds = f" x {plan['folds']} folds" if plan["folds"] else ""
    say(f"{told['runs']} runs: {len(result['cells'])} cells x {len(plan['seeds'])} seeds{folds}")
    for cell in result["cells"]:
        say(f"  {cell}")
    say(f"{told['done']} are done; {_left(told)}")


def _show_detached(result: dict[str, Any]) -> None:
    told = f"{result['progress']['runs']} runs in the background; {_left(result['progress'])}"
    say(told)
    say(f"Look: sentiscope sweeps show {result['sweep']}")


def _left(told: dict[str, Any]) -> str:
    return spoken_time(told["seconds_left"], told["unknown"])


def _show_table(result: dict[str, Any]) -> None:
    """The first metric with all that is compared, the others as they are."""
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
                **{title: _spread(row["metrics"].get(name)) for name, title in titles.items()},
                seeds["title"]: _spread(row["together"].get(seeds["name"])),
                "TF-IDF": _spread(row["yardstick"].get(first["name"])),
                "difference": _difference(row["versus_yardstick"].get(first["name"])),
                "to baseline": _difference(row["versus_baseline"].get(first["name"])),
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
        f"Differences ({first['title']}) with their 95 % interval; * is significant at 5 %. {result['method']}",
    )
    for row in result["rows"]:
        if row["apart"]:
            say(f"{row['label']}: its seeds cannot answer together: {row['apart']}")
    for failure in told["failures"]:
        say(f"{failure['run']}: {failure['reason']}")


def _spread(summary: dict[str, Any] | None) -> str:
    if summary is None:
        return ""
    spread = "" if summary["deviation"] is None else f" ± {summary['deviation']:.3f}"
    return decimals(summary["mean"]) + spread


def _difference(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    interval = f" ({found['low']:+.3f} to {found['high']:+.3f})" if found.get("low") is not None else ""
    return f"{found['difference']:+.3f}{interval}{' *' if found.get('significant') else ''}"
