"""Digests of the texts that a model was trained on, in files named after their content."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from core.atomic import convert_os_errors, write_bytes
from core.data.dataset import TRAIN, Splits
from core.data.findings import plural
from core.exceptions import DataError
from core.formatting import count
from core.paths import resolve_path
from core.text.config import TextConfig
from core.text.normalization import make_text_keys

NAME = "lineage"
LARGEST = 64 * 1024**2
MOST = 10_000_000
LEAST_ROWS = 30
"""Rows (or half of the rows) of a split that must be left after learned texts are removed."""
_BYTES = 5
"""Bytes of a digest. A new text has the digest of one of N learned texts with probability N / 2^40, which is 3.1e-7 for
the 339,991 texts of mini-en: about one row in 3 million is left out by mistake.

N sorted digests of b bits take at least N (b - log2 N + 1.44) bits. For mini-en that is 0.98 MB, and the file is within
1 % of it; with 8 bytes it would be 2.0 MB.
"""


def hash_texts(texts: Sequence[str]) -> np.ndarray:
    """Return a 40-bit digest of each text, shape (n,), uint64; texts that are equal after normalisation share one."""
    found = b"".join(
        hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest().ljust(8, b"\0")
        for key in make_text_keys(texts, TextConfig())
    )
    return np.frombuffer(found, "<u8")


def write_lineage(folder: Path, texts: Sequence[str]) -> Path:
    """Write the digests of training texts to a file named after its content, and return the path of the file."""
    digests = np.unique(hash_texts(texts))
    path = folder / _name_file(digests)
    if path.is_file():
        return path
    # Differences of sorted digests are small; with equal bytes next to each other, their zero bytes compress well.
    steps = np.diff(digests, prepend=np.uint64(0)).astype("<u8")
    with convert_os_errors(folder):
        folder.mkdir(exist_ok=True)
    write_bytes(path, zlib.compress(steps.view(np.uint8).reshape(-1, 8).T.tobytes(), 9))
    return path


def read_lineage(path: str | Path) -> np.ndarray:
    """Read the sorted digests of training texts, (n,) uint64; refuse a file whose content does not match its name."""
    found = resolve_path(str(path), limit=LARGEST)
    wrong = DataError("does not hold the digests of texts that its name says", file=found.name)
    try:
        plain = zlib.decompressobj().decompress(found.read_bytes(), 8 * MOST + 1)
    except zlib.error:
        raise wrong from None
    if len(plain) > 8 * MOST or len(plain) % 8:
        raise wrong
    steps = np.ascontiguousarray(np.frombuffer(plain, np.uint8).reshape(8, -1).T)
    digests = np.cumsum(steps.view("<u8").ravel(), dtype=np.uint64)
    if found.name != _name_file(digests):
        raise wrong
    return digests


def find_learned(texts: Sequence[str], files: Iterable[str | Path]) -> np.ndarray:
    """Return a mask (n,) of the texts that a model was trained on, by digests in lineage files; see `read_lineage`."""
    digests, found = hash_texts(texts), np.zeros(len(texts), bool)
    for file in files:
        found |= np.isin(digests, read_lineage(file))
    return found


def drop_learned(
    given: Splits, beside: pd.DataFrame | None, files: Sequence[str]
) -> tuple[Splits, pd.DataFrame | None, list[str]]:
    """Remove texts that a model has already learned from all splits but train; raise an error if too few rows stay."""
    if not files:
        return given, beside, []
    kept, notes = dict(given), list[str]()
    for split, rows in given.items():
        learned = np.zeros(len(rows), bool) if split == TRAIN else find_learned(rows["text"].tolist(), files)
        if not (number := int(learned.sum())):
            continue
        left = len(rows) - number
        who = "the run that this training starts from, or its teacher, learned from"
        if left < min(LEAST_ROWS, len(rows) / 2):
            raise DataError(
                f"{who} {count(number)} of {plural(len(rows), 'row')} of the {split} split, and {count(left)} are too "
                f"few for evaluation: {LEAST_ROWS} or half must be left. Split the rows as that run did (data.seed, "
                "data.split, data.folds), or start from a run that has not read them"
            )
        kept[split] = rows[~learned].reset_index(drop=True)
        notes.append(f"{NAME}: {plural(number, 'row')} of {split} left out, {who} {'it' if number == 1 else 'them'}")
    if beside is not None:
        beside = beside[~find_learned(beside["text"].tolist(), files)].reset_index(drop=True)
    return kept, beside, notes


def _name_file(digests: np.ndarray) -> str:
    return f"{hashlib.sha256(digests.astype('<u8').tobytes()).hexdigest()[:32]}.texts"
