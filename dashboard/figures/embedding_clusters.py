"""Clusters of sentences in embedding space, with their words, sizes and error rates, as an interval table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from core.error_analysis.clusters import NONE, FoundGroups, build_table
from core.error_analysis.predictions_table import PredictionTable
from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.formatting import count, number
from dashboard.figures import interval_table as columns
from dashboard.figures.figure import Figure, make_interval_figure
from dashboard.figures.interval_table import IntervalTable, Mark, make_axis
from dashboard.figures.source import Source


@dataclass(frozen=True, eq=False)
class EmbeddingClusters:
    """Clusters of a split's sentences in embedding space."""

    table: PredictionTable
    found: FoundGroups
    picked: str = ""  # name of the selected cluster

    def get_places(self, name: str) -> np.ndarray:
        """Return the row numbers of the sentences in a named embedding cluster; empty if no cluster has this name."""
        every = {each.name: each.places for each in self.found.groups} | {NONE: self.found.none}
        return every.get(name, np.empty(0, np.int64))

    def describe_group(self, name: str) -> str:
        """Describe an embedding cluster in words, for the bar that names the selected rows."""
        return ("in no cluster" if name == NONE else f"cluster “{name}”") + " in embedding space"


def read_groups(source: Source) -> EmbeddingClusters:
    """Read the embedding clusters of a split; NotAvailable: no sentence vectors, or too few sentences."""
    found = EmbeddingClusters(*source.reader.find_groups(source.record, source.evaluated))
    if found.found.reason:
        raise NotAvailable(found.found.reason)
    return found


def build_groups_table(shown: EmbeddingClusters) -> IntervalTable:
    """Build the table of embedding clusters with intervals: largest first, sentences without a cluster last."""
    wrong, rows, total = shown.table.wrong, [], len(shown.found.rows)
    overall = float(wrong[shown.found.rows].mean()) if total else 0.0
    words = {each.name: ", ".join(word.words for word in each.words) for each in shown.found.groups}
    for name in (*words, NONE):
        places = shown.get_places(name)
        errors, n = int(wrong[places].sum()), len(places)
        low, high = compute_wilson(errors, n)
        about = {"group": name, "words": words.get(name, ""), "n": n, "wrong": errors}
        rows.append(about | {"rate": errors / n if n else None, "low": low, "high": high})

    def mark_rate(row: Mapping[str, Any]) -> Mark:
        """Mark the error rate of an embedding cluster with its interval, on an axis."""
        rate, low, high = (100 * row[key] for key in ("rate", "low", "high"))
        said = f"{number(rate, 1)} % wrong ({number(low, 1)} to {number(high, 1)} %)"
        return Mark(rate, low, high, tie=row["low"] <= overall <= row["high"], said=said)

    return IntervalTable(
        "Clusters of sentences in embedding space",
        (
            columns.name("name", "Typical words", "group", "17rem", group="group"),
            columns.make_csv_columns("words"),
            columns.count("n", "sentences", "n", "5.4rem"),
            columns.text("share", "of all", lambda row: f"{100 * row['n'] / total:.0f} %", "4rem", soft=True, opt=True),
            columns.interval("rate", "wrong", mark_rate, partial(make_axis, zero=0.0, ends=(0.0, 100.0))),
            columns.text("wrong", "% wrong", lambda row: number(100 * row["rate"], 1), "5.4rem"),
            columns.make_csv_columns("wrong", "rate", "low", "high"),
        ),
        rows,
        "group",
        shown=[row for row in rows if row["n"]],
        apart=lambda row: row["group"] == NONE,
    )


def _explain_groups(shown: EmbeddingClusters) -> str:
    if not shown.found.groups:
        return f"No cluster: nowhere do {count(shown.found.least)} sentences lie close together, apart from the others."
    return "Bar: 95 % interval of the error rate. Ring: no clear difference from all."


MAP_GROUPS: Figure[EmbeddingClusters] = make_interval_figure(
    "map-groups",
    "embeddings",
    "Clusters",
    read_groups,
    build_groups_table,
    "Groups",
    note=lambda shown: f"n = {count(len(shown.found.rows))}, {count(len(shown.found.none))} in no cluster",
    reading=_explain_groups,
    how="HDBSCAN (Campello, Moulavi and Sander 2013) on the vectors that the model's head reads, not on a map. A "
    "cluster has at least ten sentences, or 1 % if that is more, and at most half of all; sentences in sparse regions "
    "have none. Its name: the words and phrases that it has most more often than all others, by log-odds with a prior "
    "from all sentences (Monroe, Colaresi and Quinn 2008), a ranking and no test. The same vectors give the same "
    "clusters. Click a cluster to select its sentences.",
    needs="pooled",
    more=lambda shown: {"Grouped": build_table(shown.table, shown.found)},
)
