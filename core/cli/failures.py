"""`sentiscope errors`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, say, tabulate
from core.data.findings import plural

SHOWN = 20
"""Rows on a terminal."""


def errors(
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLAUSE",
            help="wrong (default), right, all; truth=, said=, margin<0.2, p_said=0.5..0.9, text~not, COLUMN=VALUE. "
            "Repeat: all must hold.",
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write the selected rows to this file.")] = None,
    as_json: Json = False,
) -> None:
    """What a run gets wrong: its predictions row by row, selected by rules."""
    emit(verbs.errors(run, split=split, where=where or (), csv=csv), as_json, _show)


def _show(result: dict[str, Any]) -> None:
    low, high = result["interval"]
    wrong = f"{plural(result['wrong'], 'error')}, {100 * result['rate']:.1f} %"
    say(f"{result['run']} on {result['data']}, {result['split']}: {wrong} ({100 * low:.1f} to {100 * high:.1f} %).")
    say(result["said"])
    rows = [
        {**row, "p said": decimals(row["p_said"]), "margin": decimals(row["margin"])} for row in result["rows"][:SHOWN]
    ]
    if rows:
        tabulate(rows, ("key", "truth", "said", "p said", "margin", "text"), "key")
    if len(result["rows"]) > SHOWN:
        say(f"The first {SHOWN} of {plural(len(result['rows']), 'row')}; --csv FILE and --json have all.")
