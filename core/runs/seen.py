"""What a run's tokenizer makes of texts: which of them the run was trained on, and which are too long for it."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.data.held import DATA_FOLDER
from core.data.load import load
from core.data.table import TRAIN, Dataset
from core.exceptions import NotAvailable, SentiscopeError
from core.runs.record import RunRecord
from core.text.tokenizer import Tokenizer


def trained_on(record: RunRecord) -> Dataset:
    """The data of a run, as it was trained: its training split has the rows that are left by limit, folds and renaming.

    Raises:
        NotAvailable: they are not here, or no longer what they were.
    """
    try:
        dataset = load(record.config.data)
    except NotAvailable as error:  # the long reason names each way to have a set of data; here one is enough
        raise NotAvailable(
            f"the data of run '{record.run}' cannot be read here; set {DATA_FOLDER} to the folder that holds them"
        ) from error
    except SentiscopeError as error:
        raise NotAvailable(f"the data of run '{record.run}' cannot be read here ({error})") from error
    if record.data_fingerprint != dataset.fingerprint:
        raise NotAvailable(f"the data of run '{record.run}' have changed since it was trained")
    return dataset


@dataclass(frozen=True)
class Reading:
    """n texts as a tokenizer gives them to its model."""

    keys: list[bytes]
    """(n,): equal where the model sees the same token ids; texts are cut as it cuts them."""
    cut: np.ndarray
    """(n,) bool: where there are more tokens than it reads."""


def read(tokenizer: Tokenizer, texts: Sequence[str]) -> Reading:
    """What a model sees of texts.

    Punctuation that is dropped, letter case that is folded and words outside the vocabulary make texts alike; so does
    an equal beginning of two long ones.
    """
    uncut = copy.copy(tokenizer)
    uncut.max_length = 0
    most, keys, cut = tokenizer.max_length, [], np.zeros(len(texts), bool)
    # A model that reads the letters of words tells unknown ones apart.
    spelt = uncut.split_batch(texts) if tokenizer.buckets else None
    ids = uncut.encode_batch(texts)
    tokens: Sequence[Sequence[Any]] = ids if spelt is None else spelt
    for row, each in enumerate(tokens):
        cut[row] = 0 < most < len(each)
        seen = repr(tokenizer.cut(ids[row], each)).encode("utf-8", "surrogatepass")
        keys.append(hashlib.blake2b(seen, digest_size=16).digest())
    return Reading(keys, cut)


def in_training(tokenizer: Tokenizer, reading: Reading, trained: Dataset) -> np.ndarray:
    """(n,) bool: texts that the model sees exactly as it saw one that it was trained on."""
    known = set(read(tokenizer, trained.splits[TRAIN]["text"].tolist()).keys)
    return np.array([key in known for key in reading.keys], bool)
