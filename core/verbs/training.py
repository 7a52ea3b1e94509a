"""Train, go on with a training, and what a training reports."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from core.config import RunConfig, compose
from core.data.config import DataConfig
from core.data.sources import SOURCES, suited
from core.papers.reported import counterpart
from core.runs.queue import check_room
from core.runs.record import RunRecord
from core.runs.store import RunStore

if TYPE_CHECKING:
    pass


def configure(data: str = "built-in", model: str = "ndt-01-n3", settings: Mapping[str, Any] | None = None) -> RunConfig:
    """The complete settings of a training: what suits the data set, above it the preset's own, above them `settings`.

    Raises:
        InputError: unknown preset, setting, data set or path.
    """
    if data not in SOURCES and not os.path.exists(os.path.expanduser(data)):  # Path would raise for one too long
        from core.data.load import load

        load(DataConfig(name=data))  # raises with the nearest name
    return compose(model, {"data.name": data, **(settings or {})}, suited(data))


def train(
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    *,
    name: str = "",
    store: RunStore | None = None,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Train and evaluate in this process; see `summary` for what comes back.

    Raises:
        InputError: a run has this `name` already, or as many trainings wait as this machine allows.
    """
    store = store or RunStore()
    config = configure(data, model, settings)
    check_room(store.folder)
    record = store.create(config, model, name, exactly=True)
    return resume(record.run, store=store, on_event=on_event)


def resume(
    run: str, *, store: RunStore | None = None, on_event: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    """Train a queued, failed or cancelled run to its end in this process, from its last checkpoint."""
    from core.runs.worker import execute

    return summary(execute(store or RunStore(), run, on_event=on_event))


def summary(record: RunRecord) -> dict[str, Any]:
    """What a training reports: status, metrics and intervals per split, lambda, seconds, the TF-IDF yardstick.

    `interval_method` says in words what an interval is. `reported` is what the paper reports for the same preset and
    data set, with a note where splits differ; else null.
    """
    from core.evaluation.intervals import METHOD

    results, paper = record.results, counterpart(record.preset, record.config)
    return {
        "run": record.run,
        "status": record.status,
        "reason": record.reason,
        "model": record.preset,
        "data": record.config.data.name,
        "task": record.task,
        "metrics": results.get("metrics", {}),
        "intervals": results.get("intervals", {}),
        "interval_method": METHOD,
        **({"tuned": results["tuned"]} if "tuned" in results else {}),
        "lambda": results.get("lambda", []),
        "yardstick": results.get("yardstick", {}),
        "reported": None
        if paper is None
        else {
            "dataset": paper.dataset,
            "metrics": paper.metrics,
            "lambda": [list(layer) for layer in paper.lambdas],
            "note": paper.note,
        },
        "seconds": record.seconds,
    }
