"""Lineage: which texts a run, its parents and its teachers were trained on, as digest files kept with the run.

Also dataset shift: how a split or other rows differ from a run's training texts.
"""

import contextlib
import copy
import dataclasses
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from core import json_store
from core.atomic import convert_os_errors, write_bytes
from core.cache import get_cache_folder, keep_files, mark_used, read_arrays
from core.config import RunConfig
from core.data.config import DataConfig, join_list
from core.data.dataset import TRAIN, Dataset, encode_targets
from core.data.load import load_dataset
from core.data.mixture import LARGEST, write_lineage
from core.data.mixture import LINEAGE as NAME
from core.data.sources import DATA_FOLDER, SOURCES, check_availability, split_mixture
from core.evaluation.split_differences import (
    ComparedTexts,
    compare_split,
    find_differences,
    get_split_texts,
    to_class_matrix,
)
from core.exceptions import NotAvailable, RunDamaged, SentiscopeError
from core.fingerprint import hash_value
from core.paths import read_regular
from core.runs.record import IMPORTED, LINEAGE, RunRecord
from core.runs.store import RunStore
from core.text.tokenizer import Tokenizer
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
    """Return the paths of a run's digest files, its own or another starter run's; NotAvailable: one is missing."""
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
    """Yield data settings, valid inside, that keep parents' texts out of validation and test, and notes on parents."""
    for parent in find_parents(config):
        store.read(parent)
    with tempfile.TemporaryDirectory(prefix="sentiscope-") as folder:
        found = collect_lineage(store, config, Path(folder))
        data = dataclasses.replace(config.data, lineage=join_list(map(str, found.files)))
        yield data, describe_unknown(found.unknown)


def describe_removed(store: RunStore, config: RunConfig) -> tuple[str, ...]:
    """Describe how many validation and test rows a training would drop because a parent was trained on them."""
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


VERSION = 1  # increased when the same tokenizer and texts give other keys


def load_trained_data(record: RunRecord) -> Dataset:
    """Load the data of a run as for its training (limit, folds, renames); NotAvailable: missing or changed."""
    config = record.config.data
    names = (*(split_mixture(config.name) or (config.name,)), *config.parse_list("add"), *config.parse_list("apart"))
    known = [name for name in dict.fromkeys(names) if name in SOURCES]
    # Checked first, as reading the other data sets may take long.
    if missing := [name for name in known if check_availability(SOURCES[name]).lacking]:
        there = f"set {DATA_FOLDER} to the folder that holds them"
        raise NotAvailable(f"its training data ({', '.join(missing)}) are not on this machine; {there}")
    try:
        dataset = load_dataset(record.config.data)
    except SentiscopeError as error:
        raise NotAvailable(f"the data of run '{record.run}' cannot be read here ({error})") from error
    if record.data_fingerprint != dataset.fingerprint:
        raise NotAvailable(f"the data of run '{record.run}' have changed since it was trained")
    return dataset


@dataclass(frozen=True)
class TrainingTexts:
    """The training texts of a run as hashes, cached to avoid loading the data again."""

    record: RunRecord
    tokenizer: Tokenizer

    @cached_property
    def dataset(self) -> Dataset:
        """Return the data set that the run was trained on; NotAvailable if the data set is missing or has changed."""
        return load_trained_data(self.record)

    @cached_property
    def keys(self) -> np.ndarray:
        """Return the sorted hashes (uint64) of the token sequences of the run's training texts."""
        about = {"version": VERSION, "data": self.record.data_fingerprint, "tokenizer": self.tokenizer.to_json()}
        path = get_cache_folder() / f"seen-{hash_value(about)}.npz"
        if (found := read_arrays(path, lambda arrays: arrays["keys"])) is not None:
            return found
        train, stream = self.dataset.splits[TRAIN], io.BytesIO()
        keys = np.unique(_hash_keys(encode_texts(self.tokenizer, train["text"].tolist()).keys))
        np.savez(stream, keys=keys)
        keep_files([(path, stream.getvalue())], "seen")
        return keys


def _hash_keys(keys: Sequence[bytes]) -> np.ndarray:
    """Return the first 64 bits of each text key as a number, (n,) uint64."""
    return np.array([int.from_bytes(key[:8], "little") for key in keys], np.uint64)


@dataclass(frozen=True)
class EncodedTexts:
    """The token sequences of n texts as comparable keys, and whether each text is cut."""

    keys: list[bytes]  # n keys, equal if the model reads the same token ids
    cut: np.ndarray  # (n,) bool: whether the text has more tokens than the model reads


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> EncodedTexts:
    """Return for each text a key of its tokens (case, marks and unknown words may be equal) and whether it is cut."""
    uncut = copy.copy(tokenizer)
    uncut.max_length = 0
    most, keys, cut = tokenizer.max_length, [], np.zeros(len(texts), bool)
    # A model with character n-grams distinguishes unknown words.
    spelt = uncut.split_batch(texts) if tokenizer.buckets else None
    ids = uncut.encode_batch(texts)
    tokens: Sequence[Sequence[Any]] = ids if spelt is None else spelt
    for row, each in enumerate(tokens):
        cut[row] = 0 < most < len(each)
        seen = repr(tokenizer.truncate_values(ids[row], each)).encode("utf-8", "surrogatepass")
        keys.append(hashlib.blake2b(seen, digest_size=16).digest())
    return EncodedTexts(keys, cut)


def find_overlap(reading: EncodedTexts, learned: TrainingTexts) -> np.ndarray:
    """Return which texts have the same tokens as a training text, (n,) bool; NotAvailable: no training data."""
    return np.isin(_hash_keys(reading.keys), learned.keys)


SHIFT_VERSION = 1  # increased when the same data give other results


def compare_run_split(record: RunRecord, split: str, dataset: Dataset | None = None) -> dict[str, Any] | None:
    """Return how a split differs from a run's training split, cached; None: it is that, NotAvailable: no data set."""
    if split == TRAIN:
        return None

    def compare() -> dict[str, Any]:
        data = dataset or load_trained_data(record)
        if split not in data.splits:
            raise NotAvailable(f"the data set has no split '{split}'")
        return compare_split(data, split)

    return _read_or_compute(record, {"split": split}, compare)


def compare_run_rows(
    record: RunRecord, dataset: Callable[[], Dataset], rows: pd.DataFrame, name: str
) -> dict[str, Any]:
    """Compare labelled rows, called `name`, with a run's training data, cached; `dataset` is called if not cached."""
    labels, texts = encode_targets(rows, len(record.classes), record.task), rows["text"].tolist()

    def compare() -> dict[str, Any]:
        other = ComparedTexts(texts, to_class_matrix(labels, len(record.classes)))
        return find_differences(get_split_texts(dataset(), TRAIN), other, record.classes, name=name)

    return _read_or_compute(record, {"name": name, "texts": texts, "labels": labels.tolist()}, compare)


def _read_or_compute(record: RunRecord, about: dict[str, Any], compare: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    known = {"version": SHIFT_VERSION, "data": record.data_fingerprint, "classes": record.classes}
    path = get_cache_folder() / f"differences-{hash_value(known | about)}.json"
    try:
        found = json_store.read_tree(path)
        mark_used(path)
        if isinstance(found, dict) and isinstance(found.get("warnings"), list):
            return found
    except (FileNotFoundError, RunDamaged):
        pass
    made = compare()
    keep_files([(path, json.dumps(made, ensure_ascii=False).encode())], "differences")
    return made
