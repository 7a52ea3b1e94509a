"""`sentiscope believe`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, Run, emit, say, tabulate, teller
from core.data.findings import plural
from core.numbers import MINUS


def believe(
    run: Run,
    text: Annotated[
        str | None, typer.Argument(help="One text: what it says of itself, without intervals or verdict.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="deletion, shapley, gradient, integrated, attention or collapse; default: all there are."),
    ] = "",
    target: Annotated[
        str, typer.Option(metavar="CLASS", help="Of a text; default: the one with the highest probability.")
    ] = "",
    limit: Annotated[int, typer.Option(help="Validation sentences, drawn with seed 0.")] = 200,
    as_json: Json = False,
) -> None:
    """Whether what explain says is evidence: words put back, taken out, said otherwise, weights in random order.

    What is measured is kept with the run; Ctrl-C leaves nothing behind.
    """
    found = verbs.believe(run, text, method=method, target=target, limit=limit, on_progress=teller())
    emit(found, as_json, _show if text is None else _show_text)


def _show(result: dict[str, Any]) -> None:
    drawn = f"{plural(result['sentences'], 'sentence')} of {result['split']}, seed {result['seed']}"
    was = "" if result["computed"] else " (was there)"
    say(f"{result['run']}, {drawn}{was}; 95 % intervals over the sentences")
    for number, what in (
        (result["left_out"], "too short and left out"),
        (result["cut"], "long and cut at 60 words or where the model stops reading"),
    ):
        if number:
            say(f"{plural(number, 'sentence')} {what}")
    say(f"right answers beyond chance (kappa): {_interval(result['answers'])}, {result['answers']['outcome']}")
    names = [name for name in result["thresholds"] if name != "answers"]
    rows = [
        {"method": each["method"], "verdict": each["verdict"]}
        | {name: _cell(each["tests"][name]) if name in each["tests"] else "not asked" for name in names}
        for each in result["methods"]
    ]
    tabulate(rows, ("method", "verdict", *names), "method")
    for each in result["methods"]:
        if each["agreement"]:
            rhos = ", ".join(f"{name} {_two(rho['value'])}" for name, rho in each["agreement"].items())
            say(f"{each['method']}, mean rank correlation: {rhos}")
    for name, each in result["thresholds"].items():
        side = "at most" if each["small"] else "at least"
        failed = "" if each["neither"] is None else f", failed beyond {each['neither']}"
        say(f"{name}: {each['asks']}; passed: {side} {each['evidence']}{failed}")
    say(result["meaning"])


def _cell(test: dict[str, Any]) -> str:
    return f"{_interval(test)} {test['outcome']}" if "value" in test else test["outcome"]


def _two(value: float) -> str:
    """With two digits: an interval says no more."""
    return f"{value:.2f}".replace("-", MINUS)


def _interval(number: dict[str, Any]) -> str:
    return f"{_two(number['value'])} [{_two(number['low'])}, {_two(number['high'])}]"


def _show_text(result: dict[str, Any]) -> None:
    first, *_ = result["methods"]
    if result["note"]:
        say(result["note"])
    edits = ", ".join(sorted({edit for each in result["methods"] for edit in each["edits"]}))
    say(f"{plural(first['words'], 'word')}, pushed towards {first['target']}; it says nothing of other sentences")
    say(f"said otherwise by: {edits or 'nothing that the model reads differently'}")
    tests = ("insertion", "deletion", "pairs", "stability")
    rows = [
        {"method": each["method"]} | {name: _own(each["tests"][name]) for name in tests} for each in result["methods"]
    ]
    tabulate(rows, ("method", *tests), "method")


def _own(value: float | None) -> str:
    return "" if value is None else _two(value)
