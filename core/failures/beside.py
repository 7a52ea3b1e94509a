"""Other finished runs that answered the same rows: the same model with another seed, and other models."""

from __future__ import annotations

from collections.abc import Iterable

from core.metrics import named
from core.runs.predictions import evaluated_splits
from core.runs.record import RunRecord
from core.runs.seeds import folded, seed_and_fold
from core.runs.store import RunStore
from core.training.config import metric_for


def beside(store: RunStore, record: RunRecord, split: str, among: Iterable[RunRecord]) -> list[RunRecord]:
    """Those of some runs that were evaluated on the rows of a split of a run, in their order.

    Args:
        store: where they live.
        record: of the run; it is none of them.
        split: that it was evaluated on.
        among: runs.
    """
    return [
        each
        for each in among
        if each.run != record.run
        and each.status == "done"
        and each.data_fingerprint == record.data_fingerprint != ""
        and each.task == record.task
        and set(each.classes) == set(record.classes)
        and split in evaluated_splits(store.path(each.run))
    ]


def seeds(record: RunRecord, among: Iterable[RunRecord]) -> list[str]:
    """The runs of some that are the same model with another seed; of one seed the newest."""
    same = folded([record, *among])[0]
    return [each.run for seed, each in same.runs.items() if seed[0] != seed_and_fold(record)[0]]


def models(record: RunRecord, among: Iterable[RunRecord], split: str) -> list[str]:
    """The runs of some that are another model, the best on a split first."""
    same = {each.run for each in folded([record, *among])[0].records}
    metric = named(metric_for(record.config.training.metric, record.task, ordered=record.ordered))
    sign = 1 if metric.better == "lower" else -1

    def worth(each: RunRecord) -> float:
        value = each.results.get("metrics", {}).get(split, {}).get(metric.name)
        return float("inf") if value is None else sign * value

    return [each.run for each in sorted(among, key=worth) if each.run not in same]
