"""Where the sentences of a split lie in the model's own space."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.cells import csv_text
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.models.provides import HEAD, provides
from core.runs.store import RunStore
from core.verbs.writing import write_named

if TYPE_CHECKING:
    from core.failures.table import Table


def project(
    run: str,
    *,
    split: str = "test",
    method: str = "tsne",
    dimensions: int = 2,
    rows: int = 3000,
    seed: int = 0,
    space: str = "",
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """A map of a split's embeddings, computed and kept in the run directory; one that is there is only read.

    `space` is `embedding`, `layer 1` … of a model that has layers; empty: what its head reads.

    Raises:
        InputError: no such run, split, method or space.
        NotAvailable: the library of the method is missing.
    """
    from core.evaluation.projection import ProjectionConfig
    from core.runs import projections

    store = store or RunStore()
    config = ProjectionConfig(cast(Any, method), dimensions, rows, seed, "" if space == HEAD else space)
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
    """Groups of sentences that lie close together in embedding space, named by the words that mark them.

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


def layers(
    run: str,
    *,
    split: str = "",
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """How clearly the classes of a split lie apart at each stage of a model: from what enters to what its head reads.

    Of a layer it is the mean of a text's token vectors. What is read is kept in the cache of the machine.

    Args:
        run: An evaluated run of an encoder.
        split: Empty: test, or the last that was evaluated.
        store: Where runs live.
        on_progress: Told what is done, and which share of it.

    Returns:
        `run`, `split`; `n` rows that were read, a stratified sample `of` all; `neighbours`, ten; `stages` from the
        bottom upwards: `name`, `width`, mean `silhouette` by true class (Euclidean), and `purity`: the mean share of
        the nearest others with the same true class (of several labels: the same set of them); `chance`: the purity of
        neighbours drawn at random; `reason`: why there is no silhouette.

    Raises:
        InputError: There is no such run or split.
        NotAvailable: The model has no layers, or its weights are not there.
        RunDamaged: Its files cannot be read.
    """
    import msgspec

    from core.evaluation.neighbourhood import NEIGHBOURS
    from core.runs import layers as kept

    store = store or RunStore()
    here = kept.files(store, run, split or _usual(store, run))
    found = kept.read(here) or kept.compute(store, here, on_progress)
    return {
        "run": run,
        "split": here.split,
        "n": len(found.rows),
        "of": found.total,
        "neighbours": NEIGHBOURS,
        "stages": msgspec.to_builtins(found.stages),
        "chance": found.chance,
        "reason": found.reason,
    }


def neighbours(
    run: str,
    text: str = "",
    *,
    key: str = "",
    where: Sequence[str] | str = (),
    split: str = "",
    space: str = "",
    most: int = 10,
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """The sentences that are nearest to a text, to a row or to a whole selection in a space of the model.

    To a text or a row those of its split, to a selection those of training (`core.failures.common`).

    Args:
        run: An evaluated run.
        text: Any text, which the model reads, or
        key: of a row of the split (`errors` has them); it is no neighbour of itself; or
        where: clauses that select rows, as of `errors`, always in the space of the head.
        split: Empty: test, or the last that was evaluated.
        space: `embedding`, `layer 1` … of a model that has layers; empty: what its head reads.
        most: Sentences, 200 at most.
        store: Where runs live.
        on_progress: Told what is done, where the layers must be read first.

    Returns:
        `run`, `split`, `space`, `text`; `neighbours`, the nearest first: `key`, `row`, `text`, `truth`, `said`,
        `wrong` and the Euclidean `distance`. Of a selection `n`, how many were selected (`looked_at`, 2,000
        at most), `said` in words; `each`, the
        nearest that one sentence has, `among` how many of training; of these neighbours the share with the true label
        of their sentence (`true_share`) and with what the run says of it (`said_share`); `neighbours`: `row`, `text`,
        `label`, `near` (selected sentences that have it among their nearest), their `share`, and `likeness`, the mean
        cosine to them; those near to most come first.

    Raises:
        InputError: There is no such run, split, key or space, a clause is not understood, or none or several of text,
            key and where are given.
        NotAvailable: The model makes no vector of a sentence, or has no layers; or the training texts are not here.
        RunDamaged: Its files cannot be read.
    """
    import numpy as np

    from core.evaluation.projection import ProjectionConfig
    from core.failures.neighbours import neighbours as found_of
    from core.failures.neighbours import place_of, report
    from core.failures.table import read_table
    from core.runs import layers as kept
    from core.runs import projections
    from core.runs.load import load_run

    if sum(map(bool, (text.strip(), key, where))) != 1:
        raise InputError("name a text, --key or --where, one of the three")
    store = store or RunStore()
    _check_vectors(store, run)
    table = read_table(store, run, split)
    if where:
        if space not in ("", HEAD):
            raise InputError(f"--space {space}: a selection is compared with training in the space of the head alone")
        return _of_selection(store, table, [where] if isinstance(where, str) else where, most, on_progress)
    config = ProjectionConfig("pca", space="" if space == HEAD else space)
    files = projections.map_files(store, run, table.split, config)
    if config.space:
        here = kept.files(store, run, table.split)
        if kept.read(here) is None:
            kept.compute(store, here, on_progress)
    there = projections.read_space(store, files, table.classes)
    own = None
    if key:
        own = place_of(table, key)
        text = table.texts[own]
    at = np.flatnonzero(there.rows == own)
    asked = there.vectors[at[0]] if len(at) else load_run(store, run).vector(text, config.space)
    return {
        "run": run,
        "split": table.split,
        "space": space or HEAD,
        "text": text,
        "neighbours": report(found_of(table, there, asked, own, most)),
    }


def _of_selection(
    store: RunStore,
    table: Table,
    where: Sequence[str],
    most: int,
    tell: Callable[[str, float | None], None] | None,
) -> dict[str, Any]:
    from core.evaluation.projection import ProjectionConfig
    from core.failures.common import common
    from core.failures.selection import Selection, in_words, select
    from core.failures.tags import Tagged
    from core.failures.training import Training
    from core.runs import projections

    run = table.record.run
    found = select(Selection(tuple(where), table.split), table, Tagged(store, table), store)
    files = projections.map_files(store, run, table.split, ProjectionConfig("pca"))
    vectors = projections.read_space(store, files, table.classes).vectors[found.places]
    training = Training(store, table.record, *([tell] if tell else []))
    about = {"run": run, "split": table.split, "space": HEAD, "said": in_words(found.clauses, found.group)}
    return {**about, **common(table, found.places, vectors, training, most).report()}


def _usual(store: RunStore, run: str) -> str:
    from core.runs.predictions import evaluated_splits

    found = evaluated_splits(store.path(run))
    return "test" if "test" in found else next(reversed(found), "test")


def _check_vectors(store: RunStore, run: str) -> None:
    """Say which runs have no space of their own."""
    record = store.read(run)
    if "pooled" not in provides(record.config.model):
        raise NotAvailable(f"{record.preset} makes no vector of a sentence: run '{run}' has no space to look at")
