"""Evaluated runs without training: a record and predictions for tests."""

import dataclasses
from collections.abc import Collection, Iterable

import numpy as np
import pandas as pd

from core.config import compose
from core.error_analysis.codebook import Codes
from core.runs.record import EVALUATION, PREDICTIONS
from core.runs.results import build_prediction_table

TWO, THREE = ("no", "yes"), ("bad", "even", "good")  # classes


def answering(store, name, chances, rows, *, preset="vanilla", classes=("bad", "good"), split="test", **given):
    """Store a finished run that gives these rows the probabilities `chances` (n, C).

    `rows` is a frame with `text`, `label` (class numbers, or tuples of them) and further columns; `given` are dotted
    settings with __ for the dot, and `parent`, `results`, `status` of the record.
    """
    own = {key: given.pop(key) for key in ("parent", "results", "status") if key in given}
    settings = {key.replace("__", "."): value for key, value in given.items()}
    record = store.create(compose(preset, settings), preset, name, parent=own.pop("parent", ""))
    task = "multi" if isinstance(rows["label"].iloc[0], tuple) else "single"
    read = {"classes": tuple(classes), "task": task, "data_fingerprint": str(len(rows)), "parameters": 10}
    store.write(dataclasses.replace(record, **{"status": "done", **read, **own}))
    folder = store.get_path(name) / EVALUATION / split
    folder.mkdir(parents=True)
    table = build_prediction_table(rows, np.asarray(chances, float), classes, task)
    table.to_parquet(folder / PREDICTIONS, index=False)
    return name


def texts(labels, **columns):
    """Distinct rows."""
    return pd.DataFrame({"text": [f"text {row}" for row in range(len(labels))], "label": labels, **columns})


def right_where(right, labels, sure=0.9):
    """(n, 2) probabilities of a model that is right on these rows."""
    chance = np.where(np.asarray(right) == (np.asarray(labels) == 1), sure, 1 - sure)
    return np.stack([1 - chance, chance], 1)


def code_rows(codes: Codes, keys: Iterable[str], names: Collection[str], *, author: str = "", run: str = "") -> None:
    """Give rows these codes of an author, and take all other codes of that author off."""
    keys, given = list(keys), codes.read_annotations(author).given
    others = {code for key in keys for code in given.get(key, {}).get(author, ())} - set(names)
    if others:
        codes.give_codes(keys, others, off=True, author=author, run=run)
    if names or not others:
        codes.give_codes(keys, names, author=author, run=run)
