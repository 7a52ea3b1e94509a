"""Counterexamples that join a training split: a snapshot of a user's list, taken when the training was planned."""

from __future__ import annotations

from typing import TypedDict

import pandas as pd

from core import json_store
from core.data.config import DataConfig
from core.data.dataset import TRAIN, Splits
from core.data.findings import plural
from core.data.labels import is_several
from core.data.mixture import CORPUS, collect_eval_texts, normalize_texts
from core.data.table_writer import SEPARATOR
from core.exceptions import DataError, RunDamaged
from core.paths import resolve_path

NAME = "counter-examples"
_LARGEST = 64 * 1024**2


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
    several, rows = is_several(given[TRAIN]["label"]), _read_snapshot(config.examples)
    labels = [_encode_label(each["label"], classes, config.parse_renames(), several=several) for each in rows]
    known = [(each["text"], label) for each, label in zip(rows, labels, strict=True) if label is not None]
    judged, texts = collect_eval_texts(given), normalize_texts([text for text, _ in known])
    kept = [row for row, text in zip(known, texts, strict=True) if text not in judged]
    notes = [f"{NAME}: {plural(len(kept), 'row')} joined train"]
    if other := len(rows) - len(known):
        notes.append(f"{NAME}: {plural(other, 'row')} of other classes left out")
    if twice := len(known) - len(kept):
        notes.append(f"{NAME}: {plural(twice, 'row')} left out, read alike in the other splits")
    train = given[TRAIN] if CORPUS in given[TRAIN] else given[TRAIN].assign(**{CORPUS: config.name})
    columns = {"text": [text for text, _ in kept], "label": [label for _, label in kept], CORPUS: [NAME] * len(kept)}
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


def _read_snapshot(name: str) -> list[CounterExampleRow]:
    path = resolve_path(name, limit=_LARGEST)
    try:
        found = json_store.read(path, list[CounterExampleRow], limit=_LARGEST)
    except RunDamaged as error:
        raise DataError(f"no kept {NAME}: {error}", file=path.name) from None
    return [each for each in found if each["text"].strip()]
