"""`sentiscope agreement`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, Run, emit, say, tabulate, teller
from core.data.findings import plural
from core.numbers import count, percent, signed, whole_percent


def agreement(
    run: Run,
    split: Annotated[str, typer.Option(help="Default: test, or the last that was evaluated.")] = "",
    wrong: Annotated[bool, typer.Option("--wrong", help="Only texts that the run is wrong about.")] = False,
    limit: Annotated[int, typer.Option(help="Texts that are drawn at random, seed 0; 0: all.")] = 200,
    as_json: Json = False,
) -> None:
    """How often the most read word is the most needed one, and how far gradients and attention agree with deletion."""
    found = verbs.agreement(run, split=split, wrong=wrong, limit=limit, on_progress=teller())
    emit(found, as_json, _show)


def _show(result: dict[str, Any]) -> None:
    kind = "wrong text" if result["wrong"] else "text"
    of = f" of {count(result['found'])}" * (result["drawn"] < result["found"])
    say(f"{result['run']}, {result['split']}: {plural(result['drawn'], kind)}{of}; each method against deletion")
    rows = [
        {
            "method": each["method"],
            "same word first": f"{count(each['same'])} of {count(each['texts'])}",
            "": whole_percent(each["same"] / each["texts"]) if each["texts"] else "",
            "by chance": "–" if each["chance"] is None else percent(each["chance"]),
            "mean ρ": "–" if each["rho"] is None else signed(each["rho"]).lstrip("+"),
            "over": count(each["ranked"]),
        }
        for each in result["methods"]
    ]
    tabulate(rows, ("method", "same word first", "", "by chance", "mean ρ", "over"))
