"""What `shift` found of a run, kept in the cache of the machine: found here, or in a process beside a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from core.cache import cache_folder
from core.data.table import TRAIN
from core.exceptions import NotAvailable
from core.failures.kept import FOLDER
from core.failures.table import Table, read_table
from core.fingerprint import file_fingerprint, fingerprint
from core.runs.analyses import Analysis, Offer
from core.runs.errands import Tell
from core.runs.predictions import lacks_texts
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

VERSION = 1
"""Raised whenever the same data would give others."""


class _Kept(TypedDict):
    words: list[Any]


@dataclass(frozen=True)
class DatasetShift(Analysis[dict[str, Any]]):
    """How the texts of a split differ from those of training."""

    run: str
    split: str

    name = "shift"
    shape = _Kept
    offer = Offer(
        "Compare with training",
        "Comparing with training",
        "It could not be compared with training",
        "Whether these texts differ from those of training, in words, lengths and classes, is looked for in a separate "
        "process, which takes seconds to a minute and is kept.",
    )

    @classmethod
    def of(cls, store: RunStore, record: RunRecord, split: str) -> DatasetShift:
        """Name the file after the data and the rows of the split, on which the shift depends."""
        rows = file_fingerprint(store.path(record.run) / EVALUATION / split / PREDICTIONS)
        about = {"version": VERSION, "data": record.data_fingerprint, "config": record.config.data, "rows": rows}
        stem = f"shift-{fingerprint(about | {'split': split, 'text': record.config.text})}"
        return cls(cache_folder() / FOLDER, stem, store, record.run, split)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command that finds it."""
        return "shift", self.run, "--split", self.split

    def find(self, tell: Tell) -> dict[str, Any]:
        """Compare a split with the training texts (`core.failures.shift.shift`).

        Raises:
            NotAvailable: texts of either are not here, or the split is the training split.
        """
        from core.failures.shift import shift
        from core.runs.seen import trained_on

        if self.split == TRAIN:
            raise NotAvailable("training is compared with another split")
        table = read_table(self.store, self.run, self.split)
        if why := lacks_texts(self.store.path(self.run), table.record):
            raise NotAvailable(why)
        dataset = trained_on(table.record)
        training, labels = dataset.splits[TRAIN]["text"].tolist(), dataset.targets(TRAIN)
        of_training = labels > 0 if labels.ndim == 2 else np.eye(len(dataset.classes), dtype=bool)[labels]
        return shift(training, table.texts, (of_training, table.true), table.classes, table.record.config.text, tell)


def shifted(store: RunStore, table: Table, on_progress: Tell | None = None) -> dict[str, Any]:
    """Return how a split differs from training, kept or found now; raises as `DatasetShift.find`."""
    return DatasetShift.of(store, table.record, table.split).known(on_progress)[0]
