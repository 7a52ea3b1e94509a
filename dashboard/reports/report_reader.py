"""A class that reads runs for reports: each file only once, and without texts if these may not be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from core.error_analysis.neighbors import NearestTraining
from core.error_analysis.predictions_table import read_table
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.tags import TableTags
from core.runs.predictions import Answers
from core.runs.record import LABEL, PROBABILITY, RunRecord
from core.runs.store import RunStore
from dashboard.figures.row_selection import RowSelection, SplitFacts, apply_query
from dashboard.reader import Reader

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.comparison import ComparisonData

WITHOUT_TEXTS = frozenset(
    (
        *("metrics", "confusion", "confidence", "each-class", "labels", "roc", "pr", "calibration", "costs"),
        *("error-tags", "map-pca", "map-tsne", "map-umap", "silhouettes-pca", "silhouettes-tsne", "silhouettes-umap"),
        *("learning", "lambdas", "course", "final-values", "numbers", "parts", "behaviour", "belief"),
        *("compare-models", "compare-pairs", "compare-matrix", "compare-roc", "compare-calibration"),
        *("compare-lambdas", "compare-cost"),
    )
)
"""Figures that show neither texts nor the data's own columns."""
NO_TEXTS = "it may show texts, and the run keeps none"
_OURS = ("label", "predicted")


class ReportReader(Reader):
    """A class that reads runs for one report, and reads the rows of each split only once."""

    def __init__(self, store: RunStore, author: str | None = None, *, told: bool = True) -> None:
        """Set up the reading of runs for a report, given a store, an author and whether texts may be shown.

        Args:
            store: The folder of the runs.
            author: The annotator whose codes are shown; None: all.
            told: Whether texts and the data's own columns may be shown.
        """
        super().__init__(store)
        self.told, self._author = told, author
        self._known: dict[tuple[str, str], SplitFacts] = {}
        self._chosen: dict[tuple[str, str, str, str], RowSelection] = {}

    def read_tagged_rows(self, record: RunRecord, split: str) -> SplitFacts:
        """Return the rows of a split with all their error tags."""
        name = record.run, split
        if name not in self._known:
            table = read_table(self.store(), *name)
            if not self.told:  # the texts are still needed to find tags
                table = replace(table, frame=table.frame.drop(columns=list(table.own)), own=())
            tagged = TableTags(self.store(), table)
            self._known[name] = SplitFacts(table, tagged, NearestTraining(table, tagged.training))
            self._known[name].find_tags()
        return self._known[name]

    def select_tagged_rows(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> RowSelection:
        """Return the split rows that match a link's filter, with all error tags; `against`: a run to compare with."""
        name = record.run, split, select, against
        if name not in self._chosen:
            known = self.read_tagged_rows(record, split).add_peer_run(against)
            self._chosen[name] = apply_query(known, select, self.store(), self.read_annotations(record))
        return self._chosen[name]

    def read_annotations(self, record: RunRecord, author: str | None = None) -> Annotations:
        """Return the annotations that the report's author may see; the author passed as an argument is ignored."""
        return super().read_annotations(record, self._author)

    def align_predictions(self, runs: Sequence[str], split: str) -> ComparisonData:
        """Return several runs' predictions on shared rows, without texts if a report may not show them."""
        found = super().align_predictions(runs, split)
        if self.told:
            return found

        def remove_texts(answers: Answers) -> Answers:
            """Remove the texts and the data's own columns from the predictions of a run."""
            return replace(answers, texts=_make_placeholders(len(answers)), columns=answers.columns.iloc[:, :0])

        bare = (
            replace(side, answers={run: remove_texts(answers) for run, answers in side.answers.items()})
            for side in found.sides
        )
        return replace(found, sides=tuple(bare))

    def read_predictions(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Read the predictions of a split, without texts and the data's own columns if a report may not show them."""
        found = super().read_predictions(record, split)
        if self.told:
            return found
        ours = [name for name in found if name in _OURS or str(name).startswith((LABEL, PROBABILITY))]
        bare = found[ours]
        bare.insert(0, "text", _make_placeholders(len(found)))
        return bare


def can_show_texts(record: RunRecord) -> bool:
    """Return whether the texts of a run's data set may appear in a file that is given to others."""
    return record.config.data.texts


def _make_placeholders(rows: int) -> list[str]:
    """Return placeholder texts such as `sentence 3`, one for each row."""
    return [f"sentence {row}" for row in range(rows)]
