"""A run's predictions on a split as one table: true and predicted labels, confidence, and the data's own columns.

key         a stable name: a digest of the text, followed by `-2` for the second row with that text. It is the same in
            all runs and splits, and does not change when a label is corrected or rows are added.
            If a run stores no texts and the data set is missing, it is a digest of a placeholder.
true        the true class; with several labels all of them, separated by commas
predicted   the predicted class; with several labels those above their thresholds (tuned on validation, if any)
p_true      probability of the true class; with several labels the smallest probability of any label's true state
p_predicted probability of the predicted class; with several labels the smallest of any label's predicted state
margin      p_predicted minus the probability of the runner-up; with several labels the least distance from a threshold
wrong       whether true and predicted differ
missed, invented   with several labels only: labels that are true and not predicted, and predicted and not true

A data column whose name is one of these, an earlier one (`core.error_analysis.old_names`) or a word of the filter rules
is called `data:NAME`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from core.data.dataset import Task
from core.error_analysis.dates import parse_dates
from core.error_analysis.keywords import Phrases
from core.error_analysis.old_names import ALIASES
from core.evaluation.metrics import HALF, build_scores, join_class_names
from core.runs.predictions import Answers, choose_split, read_answers
from core.runs.record import RunRecord
from core.runs.store import RunStore

T = TypeVar("T")
OURS = ("key", "row", "text", "true", "predicted", "p_true", "p_predicted", "margin", "wrong")
SEVERAL = ("missed", "invented")  # with several labels per text, after `OURS`
_FILTER = ("outcome", "others", "further")
_WORDS = ("right", "all", "coded", "uncoded", "noted", "unnoted")
RESERVED = frozenset((*OURS, *SEVERAL, *ALIASES, *_FILTER, *_WORDS, "tag", "tags", "split", "word", "code", "ids"))
"""Names that data columns cannot have: such a column is called `data:NAME`."""
_HEX = 12


@dataclass(frozen=True, eq=False)
class PredictionTable:
    """The prediction table of a run for a split: a row per text, with true and predicted classes."""

    record: RunRecord
    split: str
    frame: pd.DataFrame  # a row per text: columns `OURS`, with several labels `SEVERAL`, then `own`
    own: tuple[str, ...]  # the data's own columns
    true: np.ndarray  # (n, C) bool: the classes that each text has
    said: np.ndarray  # (n, C) bool: the classes that are predicted
    probabilities: np.ndarray  # (n, C)
    _columns: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def task(self) -> Task:
        """Return the classification task: `single` or `multi` label."""
        return self.record.task

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names in the order of the columns of the label matrices."""
        return self.record.classes

    @property
    def wrong(self) -> np.ndarray:
        """Return (n,) bool: which predictions are wrong."""
        found: np.ndarray = self.frame["wrong"].to_numpy(bool)
        return found

    @property
    def texts(self) -> list[str]:
        """Return the texts of the prediction table in row order."""
        return self.frame["text"].tolist()

    @cached_property
    def phrases(self) -> Phrases:
        """Return the word and phrase index of the table's texts, built on first use."""
        return Phrases(self.texts)

    def read_dates(self, name: str) -> pd.Series | None:
        """Return one of the data's own columns as times; None: no dates. InputError if day and month are ambiguous."""
        return self._cache_column("dates", name, lambda: parse_dates(self.frame[name]))

    def format_column(self, name: str) -> pd.Series:
        """Return a table column as text for people: whole numbers without a decimal point, missing values empty."""
        return self._cache_column("written", name, lambda: _as_written(self.frame[name]))

    def fold_case(self, name: str) -> pd.Series:
        """Return a table column as case-folded text for searches that ignore case."""
        return self._cache_column("folded", name, lambda: self.format_column(name).str.casefold())

    def _cache_column(self, kind: str, name: str, make: Callable[[], T]) -> T:
        if (kind, name) not in self._columns:
            self._columns[kind, name] = make()
        found: T = self._columns[kind, name]
        return found


def _as_written(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column):
        return column.map(lambda value: f"{value:.15g}", na_action="ignore").astype(object).fillna("").astype(str)
    return column.astype(object).where(column.notna(), "").astype(str)


def read_table(store: RunStore, run: str, split: str = "") -> PredictionTable:
    """Read the prediction table of a run for an evaluated split (default: test, or the split evaluated last).

    Raises InputError without such a run or split, RunDamaged if the predictions cannot be read or are of other classes.
    """
    chosen = choose_split(store, run, split)
    return build_table(read_predictions(store, run, chosen), chosen)


def read_predictions(store: RunStore, run: str, split: str) -> Answers:
    """Read a run's stored predictions on a split that the run was evaluated on."""
    return read_answers(store, store.read(run), choose_split(store, run, split))


def build_table(answers: Answers, split: str) -> PredictionTable:
    """Build the prediction table of a split from a run's predictions with true labels."""
    record, chances = answers.record, answers.probabilities
    limits = np.array([(answers.thresholds or {}).get(name, HALF) for name in record.classes])
    scores = build_scores(answers.labels, chances, record.task, limits, ordered=record.ordered)
    names = _name_classes if record.task == "single" else join_class_names
    sure = _compute_confidence(chances, scores.true, scores.predicted, limits, record.task)
    ours: dict[str, Any] = {
        "key": hash_texts(answers.texts),
        "row": np.arange(len(answers)),
        "text": answers.texts,
        "true": names(scores.true, record.classes),
        "predicted": names(scores.predicted, record.classes),
        **sure,
        "wrong": (scores.true != scores.predicted).any(1),
    }
    if record.task == "multi":
        ours["missed"] = join_class_names(scores.true & ~scores.predicted, record.classes)
        ours["invented"] = join_class_names(scores.predicted & ~scores.true, record.classes)
    own: dict[str, np.ndarray] = {}
    for name, column in answers.columns.items():
        label = f"data:{name}" if name in RESERVED else str(name)
        own[f"{label} (2)" if label in own else label] = column.to_numpy()
    return PredictionTable(
        record, split, pd.DataFrame({**ours, **own}), tuple(own), scores.true, scores.predicted, chances
    )


def hash_texts(texts: Sequence[str]) -> list[str]:
    """Return a stable row key for each text: 12 hex digits of its digest, numbered for repeated texts."""
    seen: Counter[str] = Counter()
    found = []
    for text in texts:
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HEX // 2).hexdigest()
        seen[digest] += 1
        found.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return found


def _name_classes(has: np.ndarray, classes: Sequence[str]) -> np.ndarray:
    """Return (n,) class names from an (n, C) one-hot matrix of single labels."""
    return np.array(classes, object)[has.argmax(1)]


def _compute_confidence(
    chances: np.ndarray, true: np.ndarray, said: np.ndarray, limits: np.ndarray, task: Task
) -> dict[str, np.ndarray]:
    """Return arrays by name: probability of the true label, of the predicted label, and the margin."""
    if task == "single":
        first = np.where(said, chances, 0.0).max(1)
        second = np.where(said, -np.inf, chances).max(1, initial=0.0)
        return {"p_true": np.where(true, chances, 0.0).max(1), "p_predicted": first, "margin": first - second}
    of_truth, of_said = (np.where(state, chances, 1 - chances).min(1) for state in (true, said))
    return {"p_true": of_truth, "p_predicted": of_said, "margin": np.abs(chances - limits).min(1)}
