"""`sentiscope behave`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, emit, pairs, say, tabulate
from core.data.findings import plural

RENAMED = "--map: write CLASS=POLARITY, a class of a run and negative, neutral, positive or none"


def behave(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Finished runs.")],
    suite: Annotated[
        Path | None, typer.Option(help="Tests in YAML or as a table; default: those that come with Sentiscope.")
    ] = None,
    rename: Annotated[
        list[str] | None, typer.Option("--map", metavar="CLASS=POLARITY", help="A class of the runs has this polarity.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How often runs fail what everybody expects, by capability."""
    emit(verbs.behave(*runs, suite=suite or "", rename=pairs(rename or [], RENAMED)), as_json, _show)


def _show(result: dict[str, Any]) -> None:
    suite, names = result["suite"], [each["run"] for each in result["runs"]]
    of = "1 capability" if suite["capabilities"] == 1 else f"{suite['capabilities']} capabilities"
    said = f"{plural(suite['tests'], 'test')} of {of}, {plural(suite['cases'], 'case')}"
    say(f"{suite['name']}: {said}. Failure rate and 95 % interval:")
    rows = [
        {
            "capability": each["capability"],
            "the answer": " · ".join(each["must"]),
            **{name: _cell(each["rates"][name]) for name in names},
        }
        for each in result["capabilities"]
    ]
    rows.append({"capability": "all", **{each["run"]: _cell(each) for each in result["runs"]}})
    tabulate(rows, ("capability", "the answer", *names))
    for first, second, where in _told(result["differences"]):
        say(f"{first} and {second} differ on {where}.")
    say("--json has every test and every failing sentence.")


def _cell(rate: dict[str, Any]) -> str:
    if rate["rate"] is None:
        return "not asked"
    low, high = rate["interval"]
    return f"{rate['rate']:.2f} ({low:.2f} to {high:.2f})"


def _told(differences: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Of each pair of runs the capabilities on which they differ."""
    found: dict[tuple[str, str], list[str]] = {}
    for each in differences:
        own = found.setdefault((each["first"], each["second"]), [])
        if each["differ"]:
            own.append(each["capability"])
    return [(*pair, ", ".join(where) or "nothing beyond chance") for pair, where in found.items()]
