"""The data card (contents, tokenizer coverage, leakage between splits), and the check of a data set (`data check`)."""

import copy
import dataclasses
import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, NotRequired, TypedDict

import numpy as np
import pandas as pd

from core.data import sandbox
from core.data.config import DataConfig
from core.data.dataset import TRAIN, Dataset
from core.data.folders import find_split_files
from core.data.labeled_files import FileReport
from core.data.labels import is_several
from core.data.load import load_dataset
from core.exceptions import SentiscopeError
from core.json_store import Count, Figure
from core.paths import resolve_path
from core.text.config import TextConfig
from core.text.normalization import get_key_settings, make_text_keys
from core.text.special_ids import UNKNOWN
from core.text.text_pairs import is_mostly_pairs, join_pair, split_pair
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import fit_tokenizer

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
BINS = 24


class Share(TypedDict):
    """The number of rows of a class in a split, and their share in the split."""

    rows: Count
    share: Figure


class Histogram(TypedDict):
    """A histogram of text lengths in tokens: the edges of its bins, and the number of rows in each bin."""

    edges: list[Count]
    rows: list[Count]


class TextLengths(TypedDict):
    """Statistics of a split's text lengths in tokens, before truncation, with a histogram."""

    mean: Figure
    longest: Count
    quantiles: dict[str, Figure]
    histogram: Histogram
    unknown_share: Figure
    cut_texts_share: Figure


class Cardinality(TypedDict):
    """The number of a split's rows with 0, 1, 2 … labels, and the mean number of labels per row (multi-label data)."""

    mean: Figure
    rows: dict[str, Count]


class CardSplit(TypedDict):
    """The part of a data card about one split: its rows, class sizes and text lengths."""

    rows: Count
    classes: dict[str, Share]
    tokens: TextLengths
    labels: NotRequired[Cardinality]
    phenomena: NotRequired[dict[str, Count]]


class Repeats(TypedDict):
    """Counts of duplicate texts: within a split, with conflicting labels, and of training texts in other splits."""

    within: dict[str, Count]
    conflicting: Count
    from_train: dict[str, dict[str, Figure]]


class Card(TypedDict):
    """Schema of the fields that every stored data card has; some data cards have further fields."""

    vocabulary: dict[str, int | str]
    splits: dict[str, CardSplit]
    repeats: Repeats
    measured: dict[str, Any] | None


def build_card(
    dataset: Dataset,
    text: TextConfig,
    yardstick: dict[str, Any] | None = None,
    yardstick_chars: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the data card of a data set, as plain data for JSON: counts, shares and names, no text.

    The vocabulary is fitted on train. `yardstick` and `yardstick_chars` have the scores of TF-IDF, if measured.
    """
    tokenizer = fit_tokenizer(dataset.splits[TRAIN]["text"].tolist(), text)
    return {
        **{name: getattr(dataset, name) for name in ("name", "source", "language", "licence", "task", "fingerprint")},
        "notes": list(dataset.notes),
        "decisions": [dataclasses.asdict(each) for each in dataset.decisions],
        "classes": list(dataset.classes),
        "vocabulary": {"size": tokenizer.size, "max_length": tokenizer.max_length, "tokenizer": text.tokenizer},
        "splits": {name: _describe_split(rows, dataset, tokenizer) for name, rows in dataset.splits.items()},
        "repeats": count_duplicates(dataset.splits, text),
        "yardstick": yardstick,
        "yardstick_chars": yardstick_chars,
        "measured": get_model_scores(dataset.fingerprint),
    }


def get_model_scores(fingerprint: str) -> dict[str, Any] | None:
    """Return the recorded model scores of the built-in corpus; None if the fingerprint is of another data set."""
    known = json.loads(resources.files("core.data.sources.builtin").joinpath("measured.json").read_text("utf-8"))
    return known if known["fingerprint"] == fingerprint else None


def count_duplicates(splits: dict[str, pd.DataFrame], text: TextConfig) -> dict[str, Any]:
    """Count duplicate texts in splits: exact ones, and ones that are equal after normalisation with the text settings.

    `within`: split → rows that repeat an earlier text of the split; `conflicting`: distinct texts with more than one
    set of labels; `from_train`: split → `rows` and `share` of its rows whose text is a training text, `phrase_share` of
    rows whose text is a phrase of whole words in one, and for pairs `mirrored`, rows that are a training pair in
    reverse order. `as_read`: the same for equal `core.text.normalization.make_text_keys`.
    """
    training = splits[TRAIN]["text"].tolist()
    pairs = filter(None, map(split_pair, training)) if is_mostly_pairs(training) else None
    phrases, mirrored = _Phrases(training), pairs and {join_pair(second, first) for first, second in pairs}
    exact = _count_repeats(splits)
    for name, found in exact["from_train"].items():
        texts = splits[name]["text"]
        found["phrase_share"] = sum(map(phrases.has_phrase, texts)) / len(texts)
        if mirrored is not None:
            found["mirrored"] = int((texts.isin(mirrored) & ~texts.isin(training)).sum())
    read = {name: rows.assign(text=make_text_keys(rows["text"], text)) for name, rows in splits.items()}
    return {**exact, "as_read": {"settings": get_key_settings(text), **_count_repeats(read)}}


def _count_repeats(splits: dict[str, pd.DataFrame]) -> dict[str, Any]:
    everything = pd.concat([rows[["text", "label"]] for rows in splits.values()], ignore_index=True)
    labels = everything[everything["text"].duplicated(keep=False)].groupby("text")["label"].nunique()
    seen = {name: rows["text"].isin(splits[TRAIN]["text"]) for name, rows in splits.items() if name != TRAIN}
    return {
        "within": {name: int(rows["text"].duplicated().sum()) for name, rows in splits.items()},
        "conflicting": int((labels > 1).sum()),
        "from_train": {name: {"rows": int(same.sum()), "share": float(same.mean())} for name, same in seen.items()},
    }


class _Phrases:
    """An index for finding a phrase in texts: only texts with the rarest word of the phrase are searched."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [f" {' '.join(text.lower().split())} " for text in texts]
        self._holders: dict[str, list[int]] = defaultdict(list)
        for number, word in ((number, word) for number, text in enumerate(self._texts) for word in set(text.split())):
            self._holders[word].append(number)

    def has_phrase(self, text: str) -> bool:
        """Return whether a text is part of one of the indexed texts, as a phrase of whole words."""
        words = text.lower().split()
        holders = min((self._holders.get(word, []) for word in words), key=len, default=[])
        return any(f" {' '.join(words)} " in self._texts[number] for number in holders)


def _describe_split(rows: pd.DataFrame, dataset: Dataset, tokenizer: Tokenizer) -> dict[str, Any]:
    tags = dataset.task == "tokens"
    counts = rows["label"].explode().value_counts()
    labeled = max(1, int(counts.sum())) if tags else len(rows)  # each word has a tag, not each text
    card: dict[str, Any] = {
        "rows": len(rows),
        "classes": {
            name: {"rows": int(counts.get(label, 0)), "share": float(counts.get(label, 0)) / labeled}
            for label, name in enumerate(dataset.classes)
        },
        "tokens": _measure_lengths(rows["text"].tolist(), tokenizer),
    }
    if is_several(rows["label"]) and not tags:
        sizes = rows["label"].map(len)
        card["labels"] = {
            "mean": float(sizes.mean()),
            "rows": {str(size): int(count) for size, count in sizes.value_counts().sort_index().items()},
        }
    if "phenomenon" in rows.columns:
        card["phenomena"] = {str(name): int(count) for name, count in rows["phenomenon"].value_counts().items()}
    return card


def _measure_lengths(texts: list[str], tokenizer: Tokenizer) -> dict[str, Any]:
    uncut = copy.copy(tokenizer)
    uncut.max_length = 0
    encoded = uncut.encode_batch(texts)
    lengths = np.array([len(ids) for ids in encoded])
    total = max(1, int(lengths.sum()))
    beyond = np.maximum(lengths - tokenizer.max_length, 0) if tokenizer.max_length else np.zeros_like(lengths)
    # The last bin has all longer texts too; otherwise one very long text would put all others into the first bin.
    top = max(BINS, int(np.ceil(np.quantile(lengths, 0.99))))
    edges = np.unique(np.linspace(0, top, BINS + 1).round().astype(int))
    histogram = np.histogram(np.minimum(lengths, top), edges)[0]
    return {
        "mean": float(lengths.mean()),
        "longest": int(lengths.max()),
        "quantiles": {f"{share:g}": float(np.quantile(lengths, share)) for share in QUANTILES},
        "histogram": {"edges": edges.tolist(), "rows": histogram.tolist()},
        "unknown_share": sum(ids.count(UNKNOWN) for ids in encoded) / total,
        "cut_texts_share": float((beyond > 0).mean()),
        "cut_tokens_share": int(beyond.sum()) / total,
    }


def check_dataset(
    config: DataConfig, further: Callable[[Dataset], dict[str, Any]] = lambda dataset: {}
) -> dict[str, Any]:
    """Load the data set `config.name` (a path or a registered name), and report on each of its files.

    The result has `data`, `ok`, `problem`, `files` (a `FileReport` each, or file and problem) and `decisions`; if it
    loads, also `task`, `classes`, `splits` (rows of each), `notes`, and the result of `further`.
    """
    reports, dataset, problem = list[FileReport](), None, ""
    try:
        dataset = load_dataset(config, on_report=reports.append)
    except SentiscopeError as error:
        problem = str(error)
    files = [dataclasses.asdict(each) for each in reports] or _inspect_files(config)
    decisions = [{**each, "file": file["file"]} for file in files for each in file.get("decisions", ())]
    if dataset and not files:  # each file is a text, or the texts of a class
        decisions = [dataclasses.asdict(each) for each in dataset.decisions]
    result = {"data": config.name, "ok": bool(dataset), "problem": problem, "files": files, "decisions": decisions}
    if dataset is None:
        return result
    return {
        **result,
        "task": dataset.task,
        "classes": list(dataset.classes),
        "splits": {name: len(rows) for name, rows in dataset.splits.items()},
        "notes": list(dataset.notes),
        **further(dataset),
    }


def _inspect_files(config: DataConfig) -> list[dict[str, Any]]:
    try:
        path = resolve_path(config.name, folders=True)
    except SentiscopeError:  # `load_dataset` has reported it
        return []
    paths = [path] if os.path.isfile(path) else []
    if os.path.isdir(path):
        paths = [first for first, *_ in find_split_files(path).values()]
    found = list[dict[str, Any]]()
    for each in paths:
        try:
            found.append(dataclasses.asdict(sandbox.inspect_file(each, config.get_read_settings())))
        except SentiscopeError as error:
            found.append({"file": each.name, "problem": str(error)})
    return found
