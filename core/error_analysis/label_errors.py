"""Likely label errors in training and in a split (confident learning), and equal texts with different labels.

Confident learning (Northcutt, Jiang and Chuang, JAIR 2021) uses probabilities p of a model that was not fitted on the
row: cross-fitted TF-IDF (`core.runs.distillation`) for training, its mean with the run for an evaluated split.

Rows are ranked by their self-confidence, p of the label, lowest first, which found more planted errors than the
normalised margin. The threshold of class j is the mean of p_j over the rows labelled j. A row labelled i is likely
mislabelled if a class j ≠ i has p_j at or above its threshold; j is the class with the largest such p. With several
labels, each is a separate binary decision, and a row has the self-confidence and margin of its worst label.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pandas as pd

from core import evaluation, runs
from core.data.dataset import TRAIN, Dataset
from core.error_analysis.predictions_table import PredictionTable, hash_texts, read_table, rename_keys
from core.error_analysis.split_analysis import SplitAnalysis, cache_array
from core.evaluation.metrics import join_class_names
from core.evaluation.split_differences import to_class_matrix
from core.exceptions import DataError, NotAvailable
from core.runs.background_jobs import Offer, Tell
from core.runs.store import RunStore
from core.text.normalization import get_key_settings, make_text_keys
from core.training.temperature import UNSCALED


@dataclass(frozen=True)
class Suspects:
    """Evidence that the labels of n rows are wrong: confidence, margin, and the likelier class."""

    confidence: np.ndarray  # (n,) in [0, 1]: the probability of the label
    margin: np.ndarray  # (n,) in [-1, 1]
    likely: np.ndarray  # (n,) bool: whether the label is likely wrong
    label: np.ndarray  # (n,) the likelier class; with several labels the one that is likely missing or wrongly given

    @property
    def order(self) -> np.ndarray:
        """Return (n,) row indices sorted by the probability of the given label, lowest first."""
        return np.argsort(self.confidence, kind="stable")


def score_labels(labels: np.ndarray, probabilities: np.ndarray) -> Suspects:
    """Score how likely labels, (n,) or (n, C) zeros and ones, are wrong, by held-out probabilities (n, C)."""
    if labels.ndim == 2:
        return _score_multi(labels > 0, probabilities)
    rows, own = np.arange(len(labels)), np.asarray(labels, np.int64)
    given = probabilities[rows, own]
    others = probabilities.copy()
    others[rows, own] = -np.inf
    thresholds = np.array([_average_values(given[own == number]) for number in range(probabilities.shape[1])])
    confident = np.where(probabilities >= thresholds, probabilities, -np.inf)
    first = confident.argmax(1)
    likely = np.logical_and(np.isfinite(confident.max(1)), first != own)
    return Suspects(given, given - others.max(1), likely, np.where(likely, first, others.argmax(1)))


def group_conflicts(keys: Sequence[str], labels: Sequence[object]) -> list[list[int]]:
    """Group rows with equal text `keys` but different labels, ordered by the first row of each group."""
    groups: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        groups[key].append(row)
    return [rows for rows in groups.values() if len({labels[row] for row in rows}) > 1]


def _score_multi(has: np.ndarray, chances: np.ndarray) -> Suspects:
    of_state = np.where(has, chances, 1 - chances)
    with_label = np.array([_average_values(column[own]) for column, own in zip(chances.T, has.T, strict=True)])
    without = np.array([_average_values(1 - column[~own]) for column, own in zip(chances.T, has.T, strict=True)])
    doubted = (1 - of_state >= np.where(has, without, with_label)) & (of_state < 0.5)
    likely = doubted.sum(1) > 0
    # The worst label among those that are likely wrong; if none is, the worst of all.
    worst = np.where(doubted | ~likely[:, None], of_state, np.inf).argmin(1)
    own = of_state[np.arange(len(has)), worst]
    return Suspects(own, 2 * own - 1, likely, worst)


def _average_values(values: np.ndarray) -> float:
    """Return the mean of some probabilities as a confidence threshold; without any, infinity, which none exceeds."""
    return float(values.mean()) if len(values) else np.inf


def find_label_errors(table: PredictionTable, dataset: Dataset, tell: Tell) -> dict[str, Any]:
    """Find likely label errors among the training rows and in the table's split; see `core.api.errors`."""
    task, classes = dataset.task, dataset.classes
    found: dict[str, Any] = {"rows": [], "likely": {}, "n": {}, "left_out": ""}
    found["conflicts"] = _list_conflicts(table, dataset)
    try:
        cross, beyond = _predict_tfidf(table, dataset, tell)
    except DataError as error:
        return {**found, "left_out": f"TF-IDF cannot learn from these data: {error}"}
    beside = table.true if task == "multi" else table.true.argmax(1)
    parts = {TRAIN: (dataset.splits[TRAIN]["text"].tolist(), dataset.get_targets(TRAIN), cross)}
    parts[table.split] = (table.texts, beside, (beyond + table.probabilities) / 2)
    for split, (texts, labels, chances) in parts.items():
        doubted = score_labels(labels, chances)
        found["n"][split], found["likely"][split] = len(texts), int(doubted.likely.sum())
        names = hash_texts(texts)
        for row in np.flatnonzero(doubted.margin < 0).tolist():
            where = {"split": split, "row": row, "key": names[row], "text": texts[row]}
            suggested = _suggest_label(doubted, labels, chances, classes, row)
            found["rows"].append({**where, "likely": bool(doubted.likely[row]), **suggested})
    found["rows"].sort(key=lambda row: row["p_true"])
    return found


def _predict_tfidf(table: PredictionTable, dataset: Dataset, tell: Tell) -> tuple[np.ndarray, np.ndarray]:
    """Predict class probabilities with TF-IDF: cross-fitted ones for training, and those for the evaluated split."""
    text, rows, classes = table.record.config.text, len(dataset.splits[TRAIN]), len(dataset.classes)
    yardstick, taught = evaluation.baseline, runs.distillation
    about = dataset.fingerprint, dataset.classes, lambda: dataset, taught.PRESET
    tell("fitting TF-IDF", 0.0)
    tfidf, chosen = yardstick.load_baseline(*about), float(yardstick.read_baseline(*about)["C"])

    def cross_fit() -> np.ndarray:
        shares = (fold / (taught.FOLDS + 1) for fold in count(1))
        return taught.cross_fit_tfidf(dataset, text, 0, lambda: tell("cross-fitting TF-IDF", next(shares)), chosen)

    depends = dataset.fingerprint, get_key_settings(text), chosen
    cross = cache_array("cross-fitted", depends, (rows, classes), cross_fit)
    return cross, replace(tfidf, scaling=UNSCALED).predict(table.texts)


def _suggest_label(
    doubted: Suspects, labels: np.ndarray, chances: np.ndarray, classes: tuple[str, ...], row: int
) -> dict[str, Any]:
    """Return a row's given and likelier label with probabilities; multi-label: two sets that differ in one label."""
    margin, other = float(doubted.margin[row]), int(doubted.label[row])
    if labels.ndim == 1:
        own = int(labels[row])
        first, second = float(chances[row, own]), float(chances[row, other])
        said = {"true": classes[own], "likelier": classes[other]}
    else:
        first, second = (1 + margin) / 2, (1 - margin) / 2
        before = labels[row] > 0
        after = np.where(np.arange(len(classes)) == other, ~before, before)
        said = dict(zip(("true", "likelier"), join_class_names(np.stack([before, after]), classes), strict=True))
    return {**said, "p_true": first, "p_likelier": second, "margin": margin}


def _list_conflicts(table: PredictionTable, dataset: Dataset) -> list[dict[str, Any]]:
    """List texts, over all splits, that a run's text normalisation makes equal but that have different labels."""
    rows, names, texts = [], [], []
    for split, frame in dataset.splits.items():
        own = frame["text"].tolist()
        named = join_class_names(to_class_matrix(dataset.get_targets(split), len(dataset.classes)), dataset.classes)
        texts += own
        names += named
        each = zip(range(len(own)), hash_texts(own), named, strict=True)
        rows += [{"split": split, "row": row, "key": key, "true": name} for row, key, name in each]
    found = []
    for group in group_conflicts(make_text_keys(texts, table.record.config.text), names):
        labels = dict(Counter(names[row] for row in group))
        found.append({"text": texts[group[0]], "labels": labels, "rows": [rows[row] for row in group]})
    return found


@dataclass(frozen=True)
class LabelErrors(SplitAnalysis[dict[str, Any]]):
    """The cached analysis that finds likely label errors in a split and in training."""

    name = "labels"
    VERSION = 3
    offer = Offer(
        "Find label errors",
        "Finding label errors",
        "The labels could not be checked",
        "Models that were not fitted on a sentence check its label. TF-IDF is fitted six times, which takes a "
        "few minutes; the result is stored.",
    )

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command-line arguments that find label errors in a split of a run."""
        return "errors", self.run, "--split", self.split, "--label-errors"

    def read(self) -> dict[str, Any] | None:
        """Return the stored label errors, with old column names replaced by today's; None if not computed yet."""
        found = super().read()
        for each in (found, *found["conflicts"]) if found else ():
            each["rows"] = list(map(rename_keys, each["rows"]))
        return found

    def find(self, tell: Tell) -> dict[str, Any]:
        """Find likely label errors in a split and in training; return them as JSON-like data."""
        table = read_table(self.store, self.run, self.split)
        return find_label_errors(table, runs.lineage.load_trained_data(table.record), tell)


def load_label_errors(store: RunStore, table: PredictionTable, on_progress: Tell | None = None) -> dict[str, Any]:
    """Return the likely label errors of a split and of training, from the cache or computed now."""
    try:
        return LabelErrors.from_run(store, table.record, table.split).read_or_compute(on_progress)[0]
    except NotAvailable as error:
        return {"rows": [], "likely": {}, "n": {}, "left_out": str(error), "conflicts": []}


def list_suspect_rows(found: dict[str, Any]) -> pd.DataFrame:
    """Return a table of the rows for which another label is more likely than their own, least certain first."""
    return pd.DataFrame(found["rows"])
