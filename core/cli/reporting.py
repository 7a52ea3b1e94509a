"""`sentiscope report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, emit, say, teller
from core.numbers import count


def report(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="A run; several on the same rows are compared.")],
    codes: Annotated[
        str,
        typer.Option(
            metavar="SESSION",
            help="A coded session, as `sentiscope codes list` names it: the id of a draw, an author, or the codebook.",
        ),
    ] = "",
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: sentiscope-report-RUN.html, here.")] = None,
    as_json: Json = False,
) -> None:
    """Write a run, a comparison or a coded session as one HTML file that opens without a network."""
    run, *against = runs
    given: dict[str, Any] = {"against": against, "codes": codes, "split": split, "on_progress": teller()}
    emit(verbs.report(run, to or "", **given), as_json, _show)


def _show(result: dict[str, Any]) -> None:
    megabytes = f"{result['bytes'] / 1e6:.1f} MB"
    say(f"{result['file']}: {megabytes}, n = {count(result['n'])} {result['split']} sentences")
    for each in result["sections"]:
        say(f"{each['title']}: {count(each['n'])}")
