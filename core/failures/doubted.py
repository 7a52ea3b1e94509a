"""What `label_errors` found of a run, kept in the cache of the machine: found here, or in a process beside a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from core.cache import cache_folder
from core.exceptions import NotAvailable
from core.failures.kept import FOLDER
from core.failures.table import Table, read_table
from core.fingerprint import file_fingerprint, fingerprint
from core.runs.analyses import Analysis, Offer
from core.runs.errands import Tell
from core.runs.record import EVALUATION, PREDICTIONS, RunRecord
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

VERSION = 3
"""Raised whenever the same run and data would give others."""


class _Kept(TypedDict):
    rows: list[Any]


@dataclass(frozen=True)
class LabelErrors(Analysis[dict[str, Any]]):
    """Labels of a split and of training that are likely wrong."""

    run: str
    split: str

    name = "labels"
    shape = _Kept
    offer = Offer(
        "Look for label errors",
        "Looking for label errors",
        "The labels could not be judged",
        "Every label is judged by models that were not fitted on its sentence: TF-IDF is fitted six times in a "
        "separate process, which takes from seconds to minutes and is kept.",
    )

    @classmethod
    def of(cls, store: RunStore, record: RunRecord, split: str) -> LabelErrors:
        """Name the file after the data and the predictions of the split, on which the label errors depend."""
        said = file_fingerprint(store.path(record.run) / EVALUATION / split / PREDICTIONS)
        about = {"version": VERSION, "data": record.data_fingerprint, "config": record.config.data, "said": said}
        stem = f"labels-{fingerprint(about | {'split': split, 'text': record.config.text})}"
        return cls(cache_folder() / FOLDER, stem, store, record.run, split)

    @property
    def words(self) -> tuple[str, ...]:
        """Return the command that finds them."""
        return "errors", self.run, "--split", self.split, "--label-errors"

    def find(self, tell: Tell) -> dict[str, Any]:
        """Find the labels that are likely wrong (`core.failures.label_errors`)."""
        from core.failures.label_errors import label_errors  # torch
        from core.runs.seen import trained_on

        table = read_table(self.store, self.run, self.split)
        return label_errors(table, trained_on(table.record), tell)


def doubted(store: RunStore, table: Table, on_progress: Tell | None = None) -> dict[str, Any]:
    """Return the likely label errors, kept or found now."""
    try:
        return LabelErrors.of(store, table.record, table.split).known(on_progress)[0]
    except NotAvailable as error:
        return {"rows": [], "likely": {}, "n": {}, "left_out": str(error), "conflicts": []}


def doubted_rows(found: dict[str, Any]) -> pd.DataFrame:
    """Return the rows for which another label is likelier than their own, the most doubtful first."""
    import pandas as pd

    return pd.DataFrame(found["rows"])
