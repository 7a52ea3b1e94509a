"""A labelled data set in splits, which all packages work on, and its labels as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from core.data.findings import ReadingDecision

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

TRAIN, VALIDATION, TEST = "train", "validation", "test"
WHOLE = "all"  # The key in place of splits for all rows of a single file
Task = Literal["single", "multi", "tokens"]
"""single: each text has one label · multi: each may have several, or none · tokens: each word has a tag."""
Splits = dict[str, "pd.DataFrame"]


@dataclass(frozen=True)
class Dataset:
    """Labelled texts in splits: train, validation, test, and perhaps further ones to evaluate on.

    Each split is a frame with a new index and the columns `text` (str, never blank), `label` (int64, position in
    `classes`; multi: an ascending tuple of positions; tokens: a tuple with one position per word), and further columns
    of the source (phenomenon, domain, id …).
    """

    name: str
    splits: Splits
    classes: tuple[str, ...]
    fingerprint: str  # SHA-256 of all texts, labels and splits; the name of this content in caches and records
    language: str = ""  # ISO code such as `en`; empty: unknown
    licence: str = ""
    source: str = ""  # The origin of the texts, in words
    task: Task = "single"
    ordered: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)  # What was done while loading, with counts
    decisions: tuple[ReadingDecision, ...] = ()  # How the user's file was read, or the files of a folder
    beside: pd.DataFrame | None = None  # Validation rows of added sets (text, label), only to fit the temperature

    @property
    def scale(self) -> bool:
        """Return whether the classes form an ordered scale of at least three, such as negative, neutral, positive."""
        return self.ordered and len(self.classes) > 2

    def get_targets(self, split: str) -> np.ndarray:
        """Return the labels of a split as an array for training and metrics; see `encode_targets`."""
        return encode_targets(self.splits[split], len(self.classes), self.task)


def encode_targets(rows: pd.DataFrame, classes: int, task: Task) -> np.ndarray:
    """Encode the labels of rows as class numbers (n,) or, if rows have several labels, as 0/1 indicators (n, C)."""
    import numpy as np

    return rows["label"].to_numpy(np.int64) if task == "single" else to_indicators(rows["label"].tolist(), classes)


def to_indicators(labels: Sequence[Sequence[int]], classes: int) -> np.ndarray:
    """Convert lists of class numbers to indicators (n, C) float32: 1 for each class that a row has, else 0."""
    import numpy as np

    found = np.zeros((len(labels), classes), np.float32)
    for row, numbers in enumerate(labels):
        found[row, list(numbers)] = 1
    return found
