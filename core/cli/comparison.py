"""`sentiscope compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from core import verbs
from core.cells import cell_text, decimals
from core.cli.evaluation import RENAMED
from core.cli.printing import Json, emit, pairs, say, tabulate
from core.metrics import title
from core.numbers import count, signed


def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN RUN…", help="Two runs or more; seeds of one are folded.")],
    data: Annotated[str, typer.Option(help="Other labelled data; default: the splits that all were tested on.")] = "",
    split: Annotated[str, typer.Option(help="Default: test, or the whole of a single file.")] = "",
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Each value of a column of the data, or of `label`; `slice`: each saved slice."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Default: accuracy, of several labels tuned.f1_macro.")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OLD=NEW", help="A label of the data is this class of the runs."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Which run is better, with paired tests that allow for how many pairs there are."""
    renamed = pairs(rename or [], RENAMED)
    result = verbs.compare(*runs, data=data, split=split, by=by or [], metrics=metric or [], rename=renamed)
    emit(result, as_json, _show)


def _show(result: dict[str, Any]) -> None:
    from core.evaluation.comparison import METHOD, finding, lettered

    say(f"{result['data']}, {result['split']}, n = {count(result['n'])}")
    metrics = list(result["runs"][0]["metrics"])
    for metric in metrics:
        own = [pair for pair in result["pairs"] if pair["metric"] == metric]
        say(f" {finding(own)}", head=f"{title(metric)}:")
    letters = lettered([run["name"] for run in result["runs"]])
    rows = [
        {
            "": letters[run["name"]],
            "model": ", ".join(filter(None, (run["name"], run["mixture"]))),
            "runs": len(run["runs"]),
            **{title(m): _measured(run["metrics"][m]) for m in metrics},
        }
        for run in result["runs"]
    ]
    tabulate(rows, ("", "model", "runs", *map(title, metrics)), whole="model")
    _show_tests(result["pairs"], letters, ("metric",) if len(metrics) > 1 else ())
    for column in dict.fromkeys(row["column"] for row in result["by"]):
        say("")
        say(f"by {column}")
        own = [row for row in result["by"] if row["column"] == column]
        for metric in dict.fromkeys(row["metric"] for row in own):
            _show_values([row for row in own if row["metric"] == metric], letters, title(metric))
        _show_tests(own, letters, (*(("metric",) if len(metrics) > 1 else ()), "value", "n"))
    say("")
    for note in result["notes"]:
        say(f"Note: {note}")
    say(METHOD)


def _measured(summary: Mapping[str, Any]) -> str:
    ends = f" ({cell_text(summary['interval'])})" if summary["interval"] else ""
    return f"{decimals(summary['mean'])}{ends}"


def _show_values(tests: Sequence[Mapping[str, Any]], letters: Mapping[str, str], metric: str) -> None:
    """Print the metric of each model and of TF-IDF for each value."""
    rows: dict[str, dict[str, Any]] = {}
    for each in tests:
        row = rows.setdefault(each["value"], {metric: each["value"], "n": each["n"]})
        row |= {letters[each[side]]: decimals(each[f"{side}_value"]) for side in ("first", "second")}
        row["TF-IDF"] = decimals(each["baseline_value"])
    shown = [letter for letter in letters.values() if any(letter in row for row in rows.values())]
    tabulate(list(rows.values()), (metric, "n", *shown, "TF-IDF"))


def _show_tests(tests: Sequence[Mapping[str, Any]], letters: Mapping[str, str], more: Sequence[str]) -> None:
    from core.evaluation.comparison import verdict

    rows = []
    for each in tests:
        interval = each["interval"]
        rows.append(
            {
                "pair": f"{letters[each['first']]} − {letters[each['second']]}",
                **{name: each[name] for name in more},
                "difference": signed(each["difference"], 3),
                "interval": "" if interval is None else f"{signed(interval[0], 3)} to {signed(interval[1], 3)}",
                "p, Holm": "< 0.001" if each["p_holm"] < 0.001 else decimals(each["p_holm"]),
                "verdict": verdict(each, letters),
            }
        )
    tabulate(rows, ("pair", *more, "difference", "interval", "p, Holm", "verdict"))
