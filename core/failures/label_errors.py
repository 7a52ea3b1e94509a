"""Labels of the training rows and of a split that are likely wrong, and texts that stand there with two labels.

Who doubts was not fitted on the row. Of training rows it is TF-IDF, cross-fitted (`core.runs.taught`): it is fitted on
four fifths of them and asked about the last. Of a split that the run was evaluated on it is the mean of two: TF-IDF,
fitted on the training rows, and the run itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np

from core.data.table import TRAIN, Dataset, targets
from core.evaluation.multilabel import label_names
from core.evaluation.yardstick import fitted_yardstick, kept_yardstick
from core.exceptions import DataError
from core.failures.kept import kept
from core.failures.suspects import Suspects, conflicts, suspects
from core.failures.table import Table, keys
from core.runs.taught import FOLDS, PRESET, cross_fitted
from core.text.reading import as_read, reading
from core.training.scaling import UNSCALED

Tell = Callable[[str, float | None], None]


def label_errors(table: Table, dataset: Dataset, tell: Tell) -> dict[str, Any]:
    """The labels that are doubted, of the training rows and of the split of a table; see `core.api.errors`.

    Args:
        table: of a run.
        dataset: that the run was trained on.
        tell: told what is done.
    """
    task, classes = dataset.task, dataset.classes
    found: dict[str, Any] = {"rows": [], "likely": {}, "n": {}, "left_out": "", "conflicts": _conflicts(table, dataset)}
    try:
        cross, beyond = _tfidf(table, dataset, tell)
    except DataError as error:
        return {**found, "left_out": f"TF-IDF cannot learn from these data: {error}"}
    beside = table.true if task == "multi" else table.true.argmax(1)
    parts = {TRAIN: (dataset.splits[TRAIN]["text"].tolist(), dataset.targets(TRAIN), cross)}
    parts[table.split] = (table.texts, beside, (beyond + table.probabilities) / 2)
    for split, (texts, labels, chances) in parts.items():
        doubted = suspects(labels, chances)
        found["n"][split], found["likely"][split] = len(texts), int(doubted.likely.sum())
        names = keys(texts)
        for row in np.flatnonzero(doubted.margin < 0).tolist():
            first: dict[str, Any] = {"split": split, "row": row, "key": names[row], "text": texts[row]}
            first["likely"] = bool(doubted.likely[row])
            found["rows"].append({**first, **_doubt(doubted, labels, chances, classes, row)})
    found["rows"].sort(key=lambda row: row["p_truth"])
    return found


def _tfidf(table: Table, dataset: Dataset, tell: Tell) -> tuple[np.ndarray, np.ndarray]:
    """(n, C) of the training rows, cross-fitted, and (m, C) of the split."""
    text, rows, classes = table.record.config.text, len(dataset.splits[TRAIN]), len(dataset.classes)
    about = dataset.fingerprint, dataset.classes, lambda: dataset, PRESET
    tell("fitting TF-IDF", 0.0)
    tfidf, chosen = fitted_yardstick(*about), float(kept_yardstick(*about)["C"])

    def crossed() -> np.ndarray:
        fold = count(1)
        return cross_fitted(dataset, text, 0, lambda: tell("cross-fitting TF-IDF", next(fold) / (FOLDS + 1)), chosen)

    cross = kept("cross-fitted", (dataset.fingerprint, reading(text), chosen), (rows, classes), crossed)
    return cross, replace(tfidf, scaling=UNSCALED).says(table.texts)


def _doubt(
    doubted: Suspects, labels: np.ndarray, chances: np.ndarray, classes: tuple[str, ...], row: int
) -> dict[str, Any]:
    """The label of a row, and the likelier one; of several labels both sets, which differ in one."""
    margin, other = float(doubted.margin[row]), int(doubted.label[row])
    if labels.ndim == 1:
        own = int(labels[row])
        first, second = float(chances[row, own]), float(chances[row, other])
        said = {"truth": classes[own], "likelier": classes[other]}
    else:
        first, second = (1 + margin) / 2, (1 - margin) / 2
        before = labels[row] > 0
        after = np.where(np.arange(len(classes)) == other, ~before, before)
        said = dict(zip(("truth", "likelier"), label_names(np.stack([before, after]), classes), strict=True))
    return {**said, "p_truth": first, "p_likelier": second, "margin": margin}


def _conflicts(table: Table, dataset: Dataset) -> list[dict[str, Any]]:
    """Texts of all splits that are the same to the run and have two labels or more."""
    rows, names, texts = [], [], []
    for split, frame in dataset.splits.items():
        own = frame["text"].tolist()
        has = targets(frame, len(dataset.classes), dataset.task)
        if dataset.task == "single":
            has = np.eye(len(dataset.classes), dtype=bool)[has]
        named = label_names(has, dataset.classes)
        texts += own
        names += named
        each = zip(range(len(own)), keys(own), named, strict=True)
        rows += [{"split": split, "row": row, "key": key, "truth": name} for row, key, name in each]
    found = []
    for group in conflicts(as_read(texts, table.record.config.text), names):
        labels = dict(Counter(names[row] for row in group))
        found.append({"text": texts[group[0]], "labels": labels, "rows": [rows[row] for row in group]})
    return found
