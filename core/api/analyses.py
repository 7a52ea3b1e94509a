"""API functions that analyse a split of a run, one generated from each analysis class."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from core import error_analysis
from core.api.options import OnProgress, RunName, Split, Store
from core.api.printing import say, tabulate, write_ends, write_p
from core.formatting import count, signed
from core.runs.store import RunStore

SHIFTED = 15  # words listed for each side of a shift


@functools.cache
def make_verb(name: str) -> Callable[..., dict[str, Any]]:
    """Return the API function that runs an analysis; its help is the docstring of the analysis class."""
    analysis = error_analysis.analyses.load(name)

    def run_analysis(
        run: RunName, *, split: Split = "", on_progress: OnProgress = None, store: Store = None
    ) -> dict[str, Any]:
        """Run an analysis on a split of a run (template; the help text comes from the analysis class)."""
        store = store or RunStore()
        table = error_analysis.predictions_table.read_table(store, run, split)
        about = {"run": run, "data": table.record.config.data.name, "split": table.split}
        return {**about, **analysis.from_run(store, table.record, table.split).read_or_compute(on_progress)[0]}

    run_analysis.__name__, run_analysis.__doc__ = name, analysis.__doc__
    return run_analysis


def __getattr__(name: str) -> Callable[..., dict[str, Any]]:
    if name not in error_analysis.analyses.NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return make_verb(name)


def print_shift(result: dict[str, Any]) -> None:
    """Print how well a classifier tells a split from the training data, with measures and over-represented words."""
    split, n = result["split"], result["n"]
    beside = f"{count(n['split'])} texts of {split} beside {count(n['training'])} of training"
    say(f"{result['run']} on {result['data']}: {beside}.")
    if result["left_out"]:
        say(f"{result['left_out']}.")
        return
    auc = result["auc"]
    tells = "tells them apart" if auc["interval"][0] > 0.5 else "cannot tell them apart"
    say(f"TF-IDF {tells}: AUC {auc['value']:.3f} ({write_ends(auc['interval'])}), p {write_p(auc['p'])}.")
    shares = [{**row, "name": f"share of {row['class']}", "p": row["p_holm"]} for row in result["balance"]]
    columns: dict[str, Any] = {
        "measure": "name",
        "training": "training",
        split: "split",
        "difference": lambda row: signed(row["difference"], 3),
        "interval": lambda row: write_ends(row["interval"], lambda end: signed(end, 3)),
        "p": lambda row: write_p(row["p"]),
    }
    tabulate([*result["measures"], *shares], columns, "measure")
    for where, more in ((split, True), ("training", False)):
        found = [row for row in result["words"] if (row["log_odds"] > 0) is more][:SHIFTED]
        said = ", ".join(f"{row['words']} ({row['split']} : {row['training']})" for row in found)
        say(f"{said or 'none'}.", head=f"More often in {where}, of {count(result['tried'])} tried: ")
