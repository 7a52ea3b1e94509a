"""Labels that are likely wrong, in training and in the split, the most doubtful first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.exceptions import NotAvailable
from core.failures.doubted import doubted_rows
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 200
"""Rows of the table; its CSV has all."""
COLUMNS = {
    "text": Column("Sentence", width=520),
    "truth": Column("Is", width=95),
    "likelier": Column("Likelier", "The label that the models find likelier", width=95),
    "p_truth": Column("P(is)", "Probability of its label, by models that were not fitted on it", decimals=2, width=80),
    "likely": Column("Likely wrong", "By the thresholds of confident learning", width=95),
    "split": Column("Split", width=90),
}


@dataclass(frozen=True)
class Doubted:
    """What was found of a run."""

    found: Mapping[str, Any]
    """As `core.failures.label_errors.label_errors` gives it."""

    @property
    def said(self) -> str:
        """How many are likely wrong, by split."""
        each = zip(self.found["likely"].items(), self.found["n"].values(), strict=True)
        return ", ".join(f"{count(likely)} of {count(n)} in {split}" for (split, likely), n in each)


def doubted(source: Source) -> Doubted:
    """What was found; raises `NotAvailable` where nobody has looked."""
    found = source.reader.doubted(source.record, source.split)
    if found is None:
        how = f"`sentiscope errors {source.record.run} --label-errors` does it"
        raise NotAvailable(f"nobody has looked for doubtful labels yet; {how}")
    return Doubted(found)


def conflicts_table(shown: Doubted) -> pd.DataFrame:
    """Texts that stand in the data with several labels."""
    import pandas as pd

    said = [
        {"text": each["text"], "labels": ", ".join(f"{name} {number}" for name, number in each["labels"].items())}
        for each in shown.found["conflicts"]
    ]
    return pd.DataFrame(said, columns=["text", "labels"])


def _draw(shown: Doubted, look: Look) -> Table:
    rows = doubted_rows(dict(shown.found)).reindex(columns=list(COLUMNS)).head(SHOWN)
    return Table(rows.assign(likely=rows["likely"].map({True: "yes", False: ""})), COLUMNS)


DOUBTED: Figure[Doubted] = Figure(
    "label-errors",
    "errors",
    "Likely label errors",
    doubted,
    _draw,
    note=lambda shown: shown.said,
    reading=lambda shown: (
        f"{shown.found['left_out']}."
        if shown.found["left_out"]
        else "The most doubtful first. A doubt is no verdict: read them, and correct the data, not the list."
    ),
    how="Confident learning (Northcutt, Jiang and Chuang 2021). Training rows are judged by TF-IDF that was fitted on "
    "the other four fifths; rows of the split by the mean of TF-IDF and the run. Ranked by the probability of their "
    "label, listed where another is likelier; *likely wrong* where another class passes its own mean.",
    tables=lambda shown: {"Label errors": doubted_rows(dict(shown.found)), "Two labels": conflicts_table(shown)},
)
