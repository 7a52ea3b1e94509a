"""Whether texts, as token sequences of a run's tokenizer, were in the training data, and whether they are cut."""

from __future__ import annotations

import copy
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.cache import get_cache_folder, keep_files, read_arrays
from core.data.dataset import TRAIN, Dataset
from core.data.load import load_dataset
from core.data.sources import DATA_FOLDER, SOURCES, check_availability, split_mixture
from core.exceptions import NotAvailable, SentiscopeError
from core.fingerprint import hash_value
from core.runs.record import RunRecord
from core.text.tokenizer import Tokenizer
from core.training.temperature import compute_class_prior

VERSION = 1  # increased when the same tokenizer and texts give other keys


def load_trained_data(record: RunRecord) -> Dataset:
    """Load the data of a run as for its training, with the same row limit, folds and label renames.

    Raises NotAvailable if they are missing or have changed.
    """
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
    """The training texts of a run as hashes, with the share of each class, cached to avoid loading the data again."""

    record: RunRecord
    tokenizer: Tokenizer

    @cached_property
    def dataset(self) -> Dataset:
        """Return the data set that the run was trained on; NotAvailable if the data set is missing or has changed."""
        return load_trained_data(self.record)

    @property
    def keys(self) -> np.ndarray:
        """Return the sorted hashes (uint64) of the token sequences of the run's training texts."""
        return self._kept[0]

    @property
    def prior(self) -> list[float]:
        """Return the share of each class among the run's training rows; NotAvailable if the data are missing."""
        return list(map(float, self._kept[1]))

    @cached_property
    def _kept(self) -> tuple[np.ndarray, np.ndarray]:
        about = {"version": VERSION, "data": self.record.data_fingerprint, "tokenizer": self.tokenizer.to_json()}
        path = get_cache_folder() / f"seen-{hash_value(about)}.npz"
        if (found := read_arrays(path, lambda arrays: (arrays["keys"], arrays["prior"]))) is not None:
            return found
        train, classes, stream = self.dataset.splits[TRAIN], len(self.dataset.classes), io.BytesIO()
        keys = np.unique(_hash_keys(encode_texts(self.tokenizer, train["text"].tolist()).keys))
        prior = np.array(compute_class_prior(self.dataset.get_targets(TRAIN), classes))
        np.savez(stream, keys=keys, prior=prior)
        keep_files([(path, stream.getvalue())], "seen")
        return keys, prior


def _hash_keys(keys: Sequence[bytes]) -> np.ndarray:
    """Return the first 64 bits of each text key as a number, (n,) uint64."""
    return np.array([int.from_bytes(key[:8], "little") for key in keys], np.uint64)


@dataclass(frozen=True)
class EncodedTexts:
    """The token sequences of n texts as comparable keys, and whether each text is cut."""

    keys: list[bytes]  # n keys, equal if the model reads the same token ids
    cut: np.ndarray  # (n,) bool: whether the text has more tokens than the model reads


def encode_texts(tokenizer: Tokenizer, texts: Sequence[str]) -> EncodedTexts:
    """Return a key for each text, equal for texts with the same tokens, and whether the text is cut.

    Texts may differ in punctuation that is dropped, letter case that is folded, words outside the vocabulary, and
    tokens after the maximum length.
    """
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
