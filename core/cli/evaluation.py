"""`sentiscope evaluate`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cells import decimals
from core.cli.printing import Json, Run, emit, pairs, say, tabulate

RENAMED = "--map: write old=new, a label of the data and a class of the run"


def evaluate(
    run: Run,
    data: Annotated[str, typer.Option(help="Other labelled data; default: what the run was trained on.")] = "",
    split: Annotated[str, typer.Option(help="Default: test, or the whole of a single file.")] = "",
    rename: Annotated[
        list[str] | None, typer.Option("--map", metavar="OLD=NEW", help="A label of the data is this class of the run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Metrics and confusion matrix of a run."""
    result = verbs.evaluate(run, data=data, split=split, rename=pairs(rename or [], RENAMED))
    emit(result, as_json, _show_evaluation)


def _show_evaluation(result: dict[str, Any]) -> None:
    say(f"{result['run']} on {result['data']}, {result['split']}, n = {result['n']}")
    if result["task"] == "multi":
        _show_several(result)
        return
    tabulate(
        [{"metric": key, "value": decimals(value)} for key, value in result["metrics"].items()], ("metric", "value")
    )
    counts = [
        {"label": label, **dict(zip(result["labels"], map(str, row), strict=True))}
        for label, row in zip(result["labels"], result["confusion"], strict=True)
    ]
    tabulate(counts, ("label", *result["labels"]))


def _show_several(result: dict[str, Any]) -> None:
    """Metrics and each label, at 0.5 and, where the run chose others, at its own thresholds."""
    tuned = result["tuned"] or {"metrics": {}, "per_class": {}, "thresholds": {}}
    metrics = [
        {"metric": key, "at 0.5": decimals(value), "tuned": decimals(tuned["metrics"].get(key))}
        for key, value in result["metrics"].items()
    ]
    tabulate(metrics, ("metric", "at 0.5", "tuned"))
    rows = []
    for label, row in result["per_class"].items():
        words = {key: decimals(row.get(key)) for key in ("precision", "recall", "f1")}
        aupr, own = decimals(row.get("average_precision")), tuned["per_class"].get(label, {})
        better = {"threshold": decimals(own.get("threshold")), "f1 tuned": decimals(own.get("f1"))}
        rows.append({"label": label, "rows": f"{row['support']:.0f}", **words, "AUPR": aupr, **better})
    tabulate(rows, ("label", "rows", "precision", "recall", "f1", "AUPR", "threshold", "f1 tuned"))
