"""Where the sentences of a split lie in the model's own space."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from core.cells import csv_text
from core.exceptions import NotAvailable, RunDamaged
from core.runs.store import RunStore
from core.verbs.writing import write_named


def project(
    run: str,
    *,
    split: str = "test",
    method: str = "tsne",
    dimensions: int = 2,
    rows: int = 3000,
    seed: int = 0,
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """A map of a split's embeddings, computed and kept in the run directory; one that is there is only read.

    Raises:
        InputError: no such run, split or method.
        NotAvailable: the library of the method is missing.
    """
    from core.evaluation.projection import ProjectionConfig
    from core.runs import projections

    store = store or RunStore()
    config = ProjectionConfig(cast(Any, method), dimensions, rows, seed)
    files = projections.map_files(store, run, split, config)
    made = None
    with contextlib.suppress(RunDamaged):
        made = projections.read(files)
    there = made is not None
    made = made or projections.compute(store, run, files, on_progress)
    return {
        "run": run,
        "split": split,
        **config.arguments(len(made.rows)),
        "n": len(made.rows),
        "computed": not there,
        "file": str(files.path("npy")),
        "explained": list(made.explained),
        "quality": projections.summary(made),
    }


def groups(run: str, *, split: str = "", csv: Path | None = None, store: RunStore | None = None) -> dict[str, Any]:
    """Groups of sentences that lie close together in the model's space, named by the words that mark them.

    Args:
        run: An evaluated run.
        split: Empty: test, or the last that was evaluated.
        csv: A file for the rows, each with its group.
        store: Where runs live.

    Returns:
        `run`, `split`; `n` rows, of which `wrong`, with `rate` and its 95 % `interval` (Wilson); how many were
        `looked_at` (all but of very large splits) and how many a group has at `least`; `groups`, the largest first:
        `name`, its `words` with occurrences in the group (`selected`) and in the `rest`, `log_odds` and `z`
        (`core.failures.phrases`), the same numbers of its rows, and their `keys`; `none`: those of no group; `reason`:
        why there are none, empty where there may be.

    Raises:
        InputError: There is no such run or split, or the file cannot be written.
        RunDamaged: The predictions or vectors cannot be read.
        NotAvailable: The model makes no vector of a sentence.
    """
    from core.failures.found_groups import found_groups, report, rows_table

    store = store or RunStore()
    _check_vectors(store, run)
    table, found = found_groups(store, run, split)
    if csv is not None:
        write_named("--csv", csv, csv_text(rows_table(table, found)))
    return report(table, found)


def _check_vectors(store: RunStore, run: str) -> None:
    """Say which runs have no space of their own."""
    from core.models.provides import provides

    record = store.read(run)
    if "pooled" not in provides(record.config.model):
        raise NotAvailable(f"{record.preset} makes no vector of a sentence: run '{run}' has no space to look at")
