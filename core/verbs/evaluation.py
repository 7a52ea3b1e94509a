"""Metrics of a run on labelled data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.data.table import targets
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.verbs.prediction import tuned_thresholds

if TYPE_CHECKING:
    import numpy as np

    from core.evaluation.predict import Predictions


def evaluate(
    run: str,
    *,
    data: str = "",
    split: str = "",
    rename: Mapping[str, str] | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Metrics of a run on a split of its own data or of other labelled data.

    With several labels per text, metrics are those at 0.5; `tuned` has the same at the thresholds that the run chose on
    its validation split, and `confusion` is 2 × 2 for each label.

    Args:
        run: a finished run.
        data: a registered name, a folder or a file; empty: the data it was trained on.
        split: empty: test, or the whole of a single file.
        rename: label in the data → class of the run, where their names differ.
        store: where runs live.

    Raises:
        InputError: no such run or split, or a label that is no class of the run.
    """
    from core.evaluation import metrics
    from core.runs.judged import Wanted, judged, predictions_of
    from core.runs.load import load_run

    loaded = load_run(store or RunStore(), run)
    given = judged(loaded.record, Wanted(data, split, rename or {}))
    classes, task = loaded.record.classes, loaded.record.task
    labels, found = targets(given.rows, len(classes), task), predictions_of(loaded, given.rows)
    common = {
        "run": run,
        "data": given.data,
        "split": given.split,
        "task": task,
        "n": len(given.rows),
        "labels": list(classes),
        "dropped": given.dropped,
        "renamed": given.renamed,
        "notes": list(given.notes),
    }
    if task == "multi":
        return {**common, **_several(loaded.record, labels, found)}
    return {
        **common,
        "metrics": metrics.evaluate(labels, found.probabilities, ordered=loaded.record.ordered),
        "left_out": metrics.left_out(labels, found.probabilities, classes, ordered=loaded.record.ordered),
        "per_class": metrics.per_class(labels, found.probabilities, classes),
        "confusion": metrics.confusion(labels, found.probabilities.argmax(1), len(classes)),
    }


def _several(record: RunRecord, labels: np.ndarray, found: Predictions) -> dict[str, Any]:
    """The multi-label part of `evaluate`."""
    from core.evaluation import metrics
    from core.evaluation.multilabel import confusions
    from core.evaluation.scores import HALF

    def at(thresholds: np.ndarray | float) -> dict[str, Any]:
        given = labels, found.probabilities
        return {
            "metrics": metrics.evaluate(*given, "multi", thresholds),
            "per_class": metrics.per_class(*given, record.classes, "multi", thresholds),
            "confusion": confusions(*given, record.classes, thresholds),
        }

    thresholds = tuned_thresholds(record)
    tuned = None if thresholds is None else {"thresholds": thresholds, **at(_in_order(thresholds, record.classes))}
    left_out = metrics.left_out(labels, found.probabilities, record.classes, "multi")
    return {**at(HALF), "left_out": left_out, "tuned": tuned}


def _in_order(thresholds: Mapping[str, float], classes: Sequence[str]) -> np.ndarray:
    import numpy as np

    return np.array([thresholds.get(name, 0.5) for name in classes])
