"""Rows that join the training split, and texts that leave a split: mixtures, counterexamples, texts learned before."""

import dataclasses
import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd

from core import json_store
from core.atomic import convert_os_errors, write_bytes
from core.data.cells import SEPARATOR
from core.data.config import DataConfig
from core.data.dataset import TRAIN, VALIDATION, Dataset, Splits
from core.data.labeled_files import LabeledSplits
from core.data.labels import is_several, replace_labels
from core.exceptions import ConfigError, DataError, RunDamaged
from core.formatting import count, plural
from core.paths import resolve_path
from core.text.config import TextConfig
from core.text.normalization import make_text_keys, prepare_all

CORPUS = "corpus"
LARGEST = 64 * 1024**2
Load = Callable[[DataConfig], Dataset]
_COARSE = TextConfig(normaliser="tweet-clean")  # Lower case without links, names, digits and marks


def mix_splits(names: Sequence[str], config: DataConfig, load: Load) -> LabeledSplits:
    """Join the splits of several data sets, after splitting each data set in the same way as on its own.

    Train, validation and test keep the columns that all parts have, and a column `corpus`. Training texts that occur in
    another split of any part, after the coarsest normalisation, are left out. The settings `rename`, `order`, `limit`,
    `apart` and `add` apply to the mixture, not to its parts.
    """
    alone = dataclasses.replace(config, rename="", order="", limit=0, apart="", add="", lineage="")
    parts = [load(dataclasses.replace(alone, name=name)) for name in names]
    if several := [name for name, part in zip(names, parts, strict=True) if part.task != "single"]:
        what = "has several labels per text, or one for each word, and cannot be mixed with others"
        raise DataError(f"'{several[0]}' {what}")
    splits: dict[str, list[pd.DataFrame]] = {}
    for name, part in zip(names, parts, strict=True):
        for split, rows in part.splits.items():
            words = np.array(part.classes, dtype=object)[rows["label"].to_numpy()]
            splits.setdefault(split, []).append(rows.assign(label=pd.Series(words, dtype="str"), corpus=name))
    joined = {split: pd.concat(frames, join="inner", ignore_index=True) for split, frames in splits.items()}
    kept, notes = _drop_texts(joined, collect_eval_texts(joined), "the other splits")
    found = tuple(f"{name}: {note}" for name, part in zip(names, parts, strict=True) for note in part.notes)
    classes = tuple(dict.fromkeys(label for part in parts for label in part.classes))
    return LabeledSplits(kept, classes, (*found, *notes))


def exclude_texts(given: Splits, names: Iterable[str], load: Load) -> tuple[Splits, list[str]]:
    """Remove training texts that occur in the validation, test or further splits of other data sets."""
    notes = []
    for name in names:
        judged = collect_eval_texts(load(DataConfig(name=name)).splits)
        given, note = _drop_texts(given, judged, f"'{name}' beyond train")
        if not len(given[TRAIN]):
            raise ConfigError(f"data.apart={name}: it contains every training text; nothing is left")
        notes += note
    return given, notes


def add_texts(
    given: Splits, classes: Sequence[str], added: Mapping[str, Dataset], config: DataConfig
) -> tuple[Splits, pd.DataFrame | None, list[str]]:
    """Add the training texts of further data sets to train, at most `config.add_limit` from each.

    Their labels are renamed like the data's. Rows of other classes are left out, and texts that occur in the data's
    other splits. Train then has the columns that all have, and a column `corpus`. Also return the validation rows of
    the added sets (the temperature is fitted on them), and notes on what was left out.
    """
    if not added:
        return given, None, []
    several = [name for name, each in added.items() if each.task != "single"]
    if several := several or [config.name] * is_several(given[TRAIN]["label"]):
        raise DataError(f"data.add: '{several[0]:.60}' has several labels per text; added sets need one label each")
    judged, notes = collect_eval_texts(given), list[str]()
    frames = [given[TRAIN] if CORPUS in given[TRAIN] else given[TRAIN].assign(corpus=config.name)]
    beside = []
    for name, each in added.items():
        known = _select_classes(each, TRAIN, classes, config)
        if strange := len(each.splits[TRAIN]) - len(known):
            notes.append(f"{name}: train: {plural(strange, 'row')} of other classes left out")
        kept, left = _drop_texts({TRAIN: known}, judged, "the other splits")
        notes += [f"{name}: {note}" for note in left]
        frames.append(kept[TRAIN].assign(corpus=name))
        held = _select_classes(each, VALIDATION, classes, config)[["text", "label"]]
        beside.append(held.sample(min(config.add_limit or len(held), len(held)), random_state=config.seed))
    train = pd.concat(frames, join="inner", ignore_index=True)
    return {**given, TRAIN: train}, pd.concat(beside, ignore_index=True), notes


def _select_classes(added: Dataset, split: str, classes: Sequence[str], config: DataConfig) -> pd.DataFrame:
    """Return the rows of an added data set's split whose renamed class is in `classes`, with their class numbers."""
    names = config.parse_renames()
    renamed = [names.get(label, label) for label in added.classes]
    codes = {old: classes.index(new) for old, new in enumerate(renamed) if new in classes}
    return replace_labels(added.splits[split], codes)


def collect_eval_texts(splits: Splits) -> set[str]:
    """Return the texts of all splits but train, each in its coarsest normal form."""
    return {text for name, rows in splits.items() if name != TRAIN for text in normalize_texts(rows["text"].tolist())}


def normalize_texts(texts: Sequence[str]) -> list[str]:
    """Return each text in its coarsest normal form; texts with equal forms look alike to every tokenizer."""
    return prepare_all(texts, _COARSE)


def _drop_texts(splits: Splits, judged: set[str], where: str) -> tuple[Splits, list[str]]:
    train = splits[TRAIN]
    stays = [text not in judged for text in normalize_texts(train["text"].tolist())]
    left = len(train) - sum(stays)
    note = [f"train: {plural(left, 'row')} left out, read alike in {where}"] if left else []
    return {**splits, TRAIN: train[stays].reset_index(drop=True)}, note


COUNTER_EXAMPLES = "counter-examples"


class CounterExampleRow(TypedDict):
    """A user's counterexample: a text, and its labels separated by semicolons (empty: unlabelled)."""

    text: str
    label: str


def add_examples(given: Splits, classes: tuple[str, ...], config: DataConfig) -> tuple[Splits, list[str]]:
    """Add the user's counterexamples in `config.examples` to the training rows; also return notes on those left out.

    Their labels are renamed like the data's. Counterexamples of another class are left out, and those whose text equals
    one of another split after normalisation. Train then has only the columns `text`, `label` and `corpus`.
    """
    if not config.examples:
        return given, []
    path = resolve_path(config.examples, limit=LARGEST)
    try:
        found = json_store.read(path, list[CounterExampleRow], limit=LARGEST)
    except RunDamaged as error:
        raise DataError(f"no kept {COUNTER_EXAMPLES}: {error}", file=path.name) from None
    several, rows = is_several(given[TRAIN]["label"]), [each for each in found if each["text"].strip()]
    labels = [_encode_label(each["label"], classes, config.parse_renames(), several=several) for each in rows]
    known = [(each["text"], label) for each, label in zip(rows, labels, strict=True) if label is not None]
    judged, texts = collect_eval_texts(given), normalize_texts([text for text, _ in known])
    kept = [row for row, text in zip(known, texts, strict=True) if text not in judged]
    notes = [f"{COUNTER_EXAMPLES}: {plural(len(kept), 'row')} joined train"]
    if other := len(rows) - len(known):
        notes.append(f"{COUNTER_EXAMPLES}: {plural(other, 'row')} of other classes left out")
    if twice := len(known) - len(kept):
        notes.append(f"{COUNTER_EXAMPLES}: {plural(twice, 'row')} left out, read alike in the other splits")
    train = given[TRAIN] if CORPUS in given[TRAIN] else given[TRAIN].assign(**{CORPUS: config.name})
    columns = {
        "text": [text for text, _ in kept],
        "label": [label for _, label in kept],
        CORPUS: [COUNTER_EXAMPLES] * len(kept),
    }
    kinds = {"text": "str", "label": train["label"].dtype, CORPUS: "str"}
    added = pd.DataFrame({name: pd.Series(cells, dtype=kinds[name]) for name, cells in columns.items()})
    return {**given, TRAIN: pd.concat([train[[*columns]], added], ignore_index=True)}, notes


def _encode_label(
    label: str, classes: tuple[str, ...], names: dict[str, str], *, several: bool
) -> int | tuple[int, ...] | None:
    """Return the class number of a counterexample's label (several labels: a tuple), or None for an unknown label."""
    words = label.split(SEPARATOR) if several and label else [] if several else [label]
    found = [names.get(word, word) for word in words]
    if not set(found) <= set(classes):
        return None
    numbers = tuple(sorted({classes.index(name) for name in found}))
    return numbers if several else numbers[0]


LINEAGE = "lineage"
_MOST_TEXTS = 10_000_000
_LEAST_ROWS = 30  # Rows (or half of the rows) of a split that must be left after learned texts are removed
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
    if (path := folder / _name_lineage(digests)).is_file():
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
        plain = zlib.decompressobj().decompress(found.read_bytes(), 8 * _MOST_TEXTS + 1)
    except zlib.error:
        raise wrong from None
    if len(plain) > 8 * _MOST_TEXTS or len(plain) % 8:
        raise wrong
    steps = np.ascontiguousarray(np.frombuffer(plain, np.uint8).reshape(8, -1).T)
    digests = np.cumsum(steps.view("<u8").ravel(), dtype=np.uint64)
    if found.name != _name_lineage(digests):
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
        if left < min(_LEAST_ROWS, len(rows) / 2):
            raise DataError(
                f"{who} {count(number)} of {plural(len(rows), 'row')} of the {split} split, and {count(left)} are too "
                f"few for evaluation: {_LEAST_ROWS} or half must be left. Split the rows as that run did (data.seed, "
                "data.split, data.folds), or start from a run that has not read them"
            )
        kept[split] = rows[~learned].reset_index(drop=True)
        notes.append(f"{LINEAGE}: {plural(number, 'row')} of {split} left out, {who} {'it' if number == 1 else 'them'}")
    if beside is not None:
        beside = beside[~find_learned(beside["text"].tolist(), files)].reset_index(drop=True)
    return kept, beside, notes


def _name_lineage(digests: np.ndarray) -> str:
    return f"{hashlib.sha256(digests.astype('<u8').tobytes()).hexdigest()[:32]}.texts"
