"""Lineage: which texts a run, its parents and its teachers were trained on, as digest files kept with the run."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from core.atomic import convert_os_errors, write_bytes
from core.config import RunConfig
from core.data.config import DataConfig, join_list
from core.data.dataset import TRAIN
from core.data.mixture import LARGEST, write_lineage
from core.data.mixture import LINEAGE as NAME
from core.exceptions import NotAvailable, SentiscopeError
from core.paths import read_regular
from core.runs.record import IMPORTED, LINEAGE, RunRecord
from core.runs.store import RunStore
from core.runs.train_overlap import load_trained_data
from core.training.config import TFIDF


class Lineage(NamedTuple):
    """The training texts of a run and its ancestors: digest files, and runs whose texts are unknown."""

    files: tuple[Path, ...]
    unknown: tuple[str, ...]


def find_parents(config: RunConfig) -> list[str]:
    """List the names of the runs that a training starts from or has as teacher."""
    training = config.training
    return [name for name in dict.fromkeys((training.start, training.teacher)) if name not in ("", TFIDF)]


def find_files(folder: Path, record: RunRecord) -> tuple[Path, ...]:
    """Return the paths of a run's digest files of training texts, in the run's folder or in another starter run's.

    Raises NotAvailable if one is missing.
    """
    found = []
    for name in record.lineage:
        own = folder / LINEAGE / name
        path = own if own.is_file() else next(folder.parent.glob(f"*/{LINEAGE}/{name}"), None)
        if path is None:
            raise NotAvailable(f"run '{record.run}' lacks {LINEAGE}/{name}: which texts it learned from is not known")
        found.append(path)
    return tuple(found)


def collect_lineage(store: RunStore, config: RunConfig, into: Path) -> Lineage:
    """Return the training texts of a planned run's parents; link their digest files into the folder `into`."""
    return _join_lineages([_read_parent(store, parent, into) for parent in find_parents(config)])


@contextlib.contextmanager
def plan_lineage(store: RunStore, config: RunConfig) -> Iterator[tuple[DataConfig, list[str]]]:
    """Yield data settings that keep the parents' training texts out of validation and test of a planned training.

    Yields the settings, whose files are deleted afterwards, and the notes of `describe_unknown` about the parents.
    Raises RunNotFound or RunDamaged for a parent that cannot be read.
    """
    for parent in find_parents(config):
        store.read(parent)
    with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
        found = collect_lineage(store, config, Path(folder))
        data = dataclasses.replace(config.data, lineage=join_list(map(str, found.files)))
        yield data, describe_unknown(found.unknown)


def describe_removed(store: RunStore, config: RunConfig) -> tuple[str, ...]:
    """Describe how many validation and test rows a planned training would drop because a parent was trained on them.

    Raises the errors of `plan_lineage` and `core.data.load.load_dataset`, such as for too few remaining rows.
    """
    from core.data.load import load_dataset

    if not find_parents(config):
        return ()
    with plan_lineage(store, config) as (data, unknown):
        return tuple(note for note in (*load_dataset(data).notes, *unknown) if note.startswith(NAME))


def _read_parent(store: RunStore, run: str, into: Path, child: RunRecord | None = None) -> Lineage:
    """Return the digest files of a parent run's training texts; unknown if the run is not older than its `child`."""
    unknown = Lineage((), (run,))
    try:
        record, folder = store.read(run), store.get_path(run)
        if child is not None and record.created >= child.created:
            return unknown
        if record.lineage:
            return Lineage(tuple(_link_file(path, into) for path in find_files(folder, record)), record.lineage_unknown)
        texts = load_trained_data(record).splits[TRAIN]["text"].tolist()
    except SentiscopeError:
        return unknown
    own = Lineage((write_lineage(into / LINEAGE, texts),), ())
    parents = find_parents(record.config)
    if (folder / IMPORTED).is_file():  # the parents' names belong to runs of another machine
        return _join_lineages([own, Lineage((), tuple(parents))])
    return _join_lineages([own, *(_read_parent(store, parent, into, record) for parent in parents)])


def _join_lineages(found: Sequence[Lineage]) -> Lineage:
    files = dict.fromkeys(path for each in found for path in each.files)
    return Lineage(tuple(files), tuple(dict.fromkeys(name for each in found for name in each.unknown)))


def describe_unknown(runs: Sequence[str]) -> list[str]:
    """Return a note that names the runs whose training texts are unknown; an empty list if there are none."""
    names = ", ".join(f"'{name}'" for name in runs)
    why = "their data are not on this machine, so validation and test may hold texts that they learned"
    return [f"{NAME}: not known what {names} learned from: {why}"] if runs else []


def _link_file(path: Path, into: Path) -> Path:
    """Link a file of text digests into the folder of a run; copy it if the disk allows no links."""
    own = into / LINEAGE / path.name
    if not own.is_file():
        with convert_os_errors(own):
            own.parent.mkdir(exist_ok=True)
        try:
            os.link(path, own)
        except OSError:
            write_bytes(own, read_regular(path, LARGEST))
    return own
