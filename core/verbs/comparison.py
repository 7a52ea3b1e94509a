"""Compare runs on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from core.exceptions import InputError
from core.runs.record import RunRecord
from core.runs.store import RunStore

if TYPE_CHECKING:
    from core.runs.sides import Sides


def compare(
    run: str,
    *others: str,
    data: str = "",
    split: str = "",
    by: Sequence[str] = (),
    metrics: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Which of several runs is better, pair by pair, on rows that all have; on what they said when evaluated.

    Runs that differ in nothing but seed and fold are one model. Accuracy is tested by McNemar's exact test, everything
    else by a paired bootstrap (the calibration error by paired swaps), several seeds paired by example and seed, six
    folds or more by Wilcoxon's signed ranks.
    p after Holm allows for all pairs; each interval is drawn at the level of its Holm step, so that it leaves out 0
    exactly where `p_holm` is below 0.05.

    Args:
        run: one run.
        others: those that it is compared with, and one another.
        data: other labelled data, which the models are asked about now; empty: the splits they were evaluated on.
        split: empty: test, or the whole of a single file.
        by: columns of the data, or `label`: every pair on the rows of each of their values, a family of its own; or
            `slice`: on those of each saved slice (`slices`) that has the same sentences for all of these runs.
        metrics: names as in the records; empty: accuracy, with several labels macro F1 at tuned thresholds.
        rename: label in the data → class of the runs, where their names differ.
        store: where runs live.

    Returns:
        As `core.runs.comparison.compare`.

    Raises:
        InputError: no such run, data, split, column or metric, runs that have other rows or classes, or labels to
            rename without data.
    """
    from core.runs.comparison import compare as compared
    from core.runs.judged import Wanted
    from core.runs.sides import SLICE, read_sides

    if SLICE in by and data:
        raise InputError("--by slice: slices are of the data that runs were tested on; leave --data out")
    if rename and not data:
        raise InputError("--map belongs to --data: on their own data runs have the labels that they were trained with")
    wanted = Wanted(data, split, rename or {}, asked=("compare", run, *others)) if data else None
    store = store or RunStore()
    sides = read_sides(store, [run, *others], split=split, wanted=wanted)
    if SLICE in by and SLICE not in sides.columns:
        sides = _sliced(store, store.read(run), sides)
    return compared(sides, metrics=metrics, by=by)


def _sliced(store: RunStore, record: RunRecord, sides: Sides) -> Sides:
    from core.failures.slices import slices
    from core.failures.slices_compared import with_slices
    from core.failures.table import read_table

    return with_slices(store, sides, slices(store, record), lambda of, split: read_table(store, of.run, split))
