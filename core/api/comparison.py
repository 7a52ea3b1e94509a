"""Comparison of the metrics of several runs on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from core import error_analysis, evaluation, runs
from core.api.options import AnyRun, CliArgument, Store, get_names, get_store, make_map_option
from core.api.printing import say, tabulate, write_ends, write_p, write_value
from core.exceptions import InputError
from core.formatting import count, signed
from core.metrics import format_title


def compare(
    run: Annotated[AnyRun, CliArgument(metavar="RUN")],
    *others: AnyRun,
    data: str = "",
    split: Annotated[str, CliArgument("Default: test, or the whole of a single file.")] = "",
    by: Annotated[Sequence[str], CliArgument(metavar="COLUMN")] = (),
    metrics: Annotated[Sequence[str], CliArgument(name="--metric", metavar="NAME")] = (),
    rename: Annotated[
        Mapping[str, str] | None,
        make_map_option("write old=new, a label of the data and a class of the run; old= leaves its rows out"),
    ] = None,
    store: Store = None,
) -> dict[str, Any]:
    """Test which of several runs is better, with paired tests that are corrected for the number of pairs.

    Runs that differ only in seed and fold are one model. Accuracy is tested by McNemar's exact test, other metrics
    by a paired bootstrap (the calibration error by paired swaps), several seeds paired by example and seed, six
    folds or more by Wilcoxon's signed ranks. p is corrected by Holm over all pairs. Each interval has the level of
    its Holm step, so that it excludes 0 exactly if `p_holm` is below 0.05.

    Args:
        run: Two runs or more; seeds of one model are joined.
        others: Runs that are compared with it, and with one another.
        data: Other labelled data; default: the splits that all were tested on.
        by: Also compare on each value of a column, or of `label`, as a separate family; `slice`: each saved slice.
        metrics: Metrics to test; default: accuracy, with several labels per text tuned.f1_macro.
        rename: The class of the runs that a label of the data means.

    Returns:
        As `core.runs.comparison.compare_models`.
    """
    if runs.comparison.SLICE in by and data:
        raise InputError("--by slice: slices are of the data that runs were tested on; leave --data out")
    if rename and not data:
        raise InputError("--map belongs to --data: on their own data runs have the labels that they were trained with")
    names, store = get_names((run, *others)), get_store((run, *others), store)
    wanted = runs.evaluation_data.DataRequest(data, split, rename or {}, asked=("compare", *names)) if data else None
    sides = runs.comparison.read_comparison_data(store, names, split=split, wanted=wanted)
    if runs.comparison.SLICE in by and runs.comparison.SLICE not in sides.columns:
        kept, read = error_analysis.slices.read_slices(store, store.read(names[0])), error_analysis.predictions_table
        sides = error_analysis.slices.add_slices(store, sides, kept, lambda of, at: read.read_table(store, of.run, at))
    return runs.comparison.compare_models(sides, metrics=metrics, by=by)


def print_compare(result: dict[str, Any]) -> None:
    """Print the comparison of runs: a finding for each metric, the models, and the tests."""
    say(f"{result['data']}, {result['split']}, n = {count(result['n'])}")
    metrics = list(result["runs"][0]["metrics"])
    for metric in metrics:
        own = [pair for pair in result["pairs"] if pair["metric"] == metric]
        say(f" {evaluation.comparison.summarize_pairs(own)}", head=f"{format_title(metric)}:")
    letters = evaluation.comparison.assign_letters([run["name"] for run in result["runs"]])
    rows = [
        {
            "": letters[run["name"]],
            "model": ", ".join(filter(None, (run["name"], run["mixture"]))),
            "runs": len(run["runs"]),
            **{format_title(m): write_value(run["metrics"][m]["mean"], run["metrics"][m]["interval"]) for m in metrics},
        }
        for run in result["runs"]
    ]
    tabulate(rows, ("", "model", "runs", *map(format_title, metrics)), whole="model")
    _print_tests(result["pairs"], letters, ("metric",) if len(metrics) > 1 else ())
    for column in dict.fromkeys(row["column"] for row in result["by"]):
        say("")
        say(f"by {column}")
        own = [row for row in result["by"] if row["column"] == column]
        for metric in dict.fromkeys(row["metric"] for row in own):
            _print_values([row for row in own if row["metric"] == metric], letters, format_title(metric))
        _print_tests(own, letters, (*(("metric",) if len(metrics) > 1 else ()), "value", "n"))
    say("")
    for note in result["notes"]:
        say(f"Note: {note}")
    say(evaluation.comparison.METHOD)


def _print_values(tests: Sequence[Mapping[str, Any]], letters: Mapping[str, str], metric: str) -> None:
    """Print a metric of each model and of TF-IDF separately for each value of a data column."""
    rows: dict[str, dict[str, Any]] = {}
    for each in tests:
        row = rows.setdefault(each["value"], {metric: each["value"], "n": each["n"]})
        row |= {letters[each[side]]: each[f"{side}_value"] for side in ("first", "second")}
        row["TF-IDF"] = each["baseline_value"]
    shown = [letter for letter in letters.values() if any(letter in row for row in rows.values())]
    tabulate(list(rows.values()), (metric, "n", *shown, "TF-IDF"))


def _print_tests(tests: Sequence[Mapping[str, Any]], letters: Mapping[str, str], more: Sequence[str]) -> None:
    columns: dict[str, Any] = {
        "pair": lambda each: f"{letters[each['first']]} − {letters[each['second']]}",
        **{name: name for name in more},
        "difference": lambda each: signed(each["difference"], 3),
        "interval": lambda each: write_ends(each["interval"], lambda end: signed(end, 3)),
        "p, Holm": lambda each: write_p(each["p_holm"]),
        "verdict": lambda each: evaluation.comparison.describe_pair(each, letters),
    }
    tabulate(tests, columns)
