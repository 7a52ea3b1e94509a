"""`sentiscope evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import cell_text, decimals
from core.cli.printing import Json, Passage, Run, Set, emit, err, pairs, say, tabulate
from core.cli.tagged import show_spans
from core.config import parse_settings
from core.exceptions import InputError
from core.numbers import count, signed, whole_percent

COST = "--cost: write class=ratio, such as positive=5: a missed one is as bad as 5 false positives"
RENAMED = "--map: write old=new, a label of the data and a class of the run; old= leaves its rows out"


def evaluate(  # noqa: PLR0913 - each is an option that a person types by name
    run: Run,
    data: Annotated[str, typer.Option(help="Other labelled data; default: what the run was trained on.")] = "",
    split: Annotated[str, typer.Option(help="Default: test, or the whole of a single file.")] = "",
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="OLD=NEW",
            help="A label of the data is this class of the run; OLD= leaves its rows out. Repeat for more.",
        ),
    ] = None,
    by: Annotated[str, typer.Option(metavar="COLUMN", help="Metrics for each value of a column of the data.")] = "",
    cost: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS=RATIO",
            help="A missed CLASS is as bad as RATIO false positives: the threshold that costs least on validation, and "
            "what it costs here. Repeat for more.",
        ),
    ] = None,
    against: Annotated[str, typer.Option(metavar="RUN", help="Another run, compared on the same rows.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Rows at most, seeded and stratified; 0: all.")] = 0,
    passage: Passage = 0,
    settings: Set = None,
    as_json: Json = False,
) -> None:
    """Metrics of a run with intervals, on its own test split or on any labelled data."""
    given: dict[str, Any] = {"data": data, "split": split, "rename": pairs(rename or [], RENAMED), "by": by}
    given |= {"cost": _ratios(cost or []), "against": against, "limit_test": limit, "passage": passage}
    given |= {"settings": parse_settings(settings or []), "on_progress": _tell}
    emit(verbs.evaluate(run, **given), as_json, _show_evaluation)


def _tell(what: str, share: float) -> None:
    """A line on stderr: pages that wait for this command read it."""
    say(f"{whole_percent(share)} {what}", console=err)


def _show_evaluation(result: dict[str, Any]) -> None:
    if result["task"] == "tokens":
        show_spans(result)
        return
    say(f"{result['run']} on {result['data']}, {result['split']}, n = {count(result['n'])}")
    for note in result["notes"]:
        say(note)
    if result["task"] == "multi":
        _show_several(result)
    else:
        _show_metrics(result)
        columns = [f"predicted {label}" for label in result["labels"]]
        counts = [
            {"true": label, **dict(zip(columns, map(count, row), strict=True))}
            for label, row in zip(result["labels"], result["confusion"], strict=True)
        ]
        tabulate(counts, ("true", *columns))
    _show_reasons(result["left_out"])
    for about in filter(None, (result["mix"], result["calibration"], result["doubt"])):
        if about["note"]:
            say(about["note"])
    if "by" in result:
        _show_groups(result["by"], "accuracy" if result["task"] == "single" else "f1_macro")
    _show_costs(result.get("costs", {}))
    if pair := result.get("against"):
        chance = "p < 0.001" if pair["p"] < 0.001 else f"p = {decimals(pair['p'])}"
        say(f"{pair['verdict']} ({pair['metric']} {signed(pair['difference'], 3)}, {chance})", head="Against: ")
    for sentence in result["warnings"]:
        say(sentence, head="Note: ")


def _ratios(costs: Sequence[str]) -> dict[str, float]:
    """Class → cost of a miss in false positives."""
    try:
        return {name: float(ratio) for name, ratio in pairs(costs, COST).items()}
    except ValueError:
        raise InputError(COST) from None


def _show_costs(costs: Mapping[str, Any]) -> None:
    """The threshold at each cost ratio, and what it costs per row."""
    rows = [
        {
            "class": name,
            "a miss costs": f"{found['ratio']:g}",
            "threshold": decimals(found["threshold"]),
            "misses": count(found["false_negatives"]),
            "false positives": count(found["false_positives"]),
            "cost": decimals(found["cost"]),
            "95 % interval": cell_text(found["interval"]),
            "at 0.5": decimals(found["cost_at_half"]),
        }
        for name, found in costs.items()
    ]
    if rows:
        tabulate(rows, tuple(rows[0]))


def _show_metrics(result: dict[str, Any]) -> None:
    """Show each metric with its interval and TF-IDF's, then, where rows were seen in training, those without them."""
    rows, yardsticks = [], {} if "left_out" in result["yardsticks"] else result["yardsticks"]
    for name, value in result["metrics"].items():
        row = {"metric": name, "value": decimals(value), "95 % interval": _interval(result, name)}
        row |= {model: decimals(found["metrics"].get(name)) for model, found in yardsticks.items()}
        rows.append(row)
    tabulate(rows, ("metric", "value", "95 % interval", *yardsticks))
    if unseen := result["unseen"]:
        say(f"Without the rows seen in training, n = {count(unseen['n'])}:")
        tabulate(
            [
                {"metric": name, "value": decimals(value), "95 % interval": _interval(unseen, name)}
                for name, value in unseen["metrics"].items()
            ],
            ("metric", "value", "95 % interval"),
        )


def _show_reasons(left_out: dict[str, str]) -> None:
    """Metrics that are not defined, those of one reason together."""
    for reason in dict.fromkeys(left_out.values()):
        names = ", ".join(name for name, each in left_out.items() if each == reason)
        say(f"Not defined: {names}, since {reason}")


def _show_groups(by: dict[str, Any], metric: str) -> None:
    rows = [
        {
            by["column"]: row["value"],
            "rows": count(row["n"]),
            metric: decimals(row["metrics"].get(metric)),
            "95 % interval": _interval(row, metric),
        }
        for row in by["values"]
    ]
    tabulate(rows, (by["column"], "rows", metric, "95 % interval"))


def _interval(measured: dict[str, Any], name: str) -> str:
    ends = measured["intervals"].get(name)
    return f"{decimals(ends[0])} to {decimals(ends[1])}" if ends else ""


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
