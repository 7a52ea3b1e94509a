"""Intervals of runs that were recorded by older methods. Imports nothing heavy."""

from __future__ import annotations

from typing import Any

from core.metrics import INTERVAL_VERSION, METRICS
from core.runs.record import Intervals, Metrics, Results


def upgrade_intervals(results: Results) -> Results:
    """Return results whose intervals follow today's methods (`core.evaluation.intervals.METHOD`).

    Records without a version have a percentile bootstrap for every metric. Shares are computed anew from their value
    and the rows of the split. What only the predictions could tell is left out: the calibration error, whose old
    interval may not even hold its value; so is what has no width.
    """
    if "intervals" not in results or results.get("interval_version", 1) >= INTERVAL_VERSION:
        return results
    rows = {split: known.get("of", 0) for split, known in results.get("silhouette", {}).items()}
    found: Results = {**results, "interval_version": INTERVAL_VERSION}
    found["intervals"] = _upgrade(results["intervals"], results.get("metrics", {}), rows)
    if "intervals" in results.get("tuned", {}):
        tuned = results["tuned"]
        found["tuned"] = {**tuned, "intervals": _upgrade(tuned["intervals"], tuned.get("metrics", {}), rows)}
    return found


def _upgrade(intervals: Intervals, metrics: Metrics, rows: dict[str, int]) -> Intervals:
    return {
        split: {
            name: new
            for name, ends in ranges.items()
            if (new := _interval(name, ends, metrics.get(split, {}).get(name), rows.get(split, 0))) is not None
        }
        for split, ranges in intervals.items()
    }


def _interval(name: str, ends: list[float], value: Any, rows: int) -> list[float] | None:
    metric = METRICS.get(name)
    if metric is not None and metric.whole_rows:
        from core.evaluation.intervals import wilson  # NumPy: lists of runs are read without it

        return list(wilson(round(value * rows), rows)) if rows and value is not None else None
    return None if (metric is not None and metric.parts) or ends[0] == ends[1] else ends
