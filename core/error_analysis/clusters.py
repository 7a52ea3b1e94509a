"""Clusters of sentences in embedding space, each named by its over-represented words.

HDBSCAN (Campello, Moulavi and Sander 2013) on the vectors that the head reads; sparse sentences are in no cluster.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.data.splits import find_strata
from core.error_analysis.keywords import WITHIN_95, Keyword, Phrases
from core.error_analysis.predictions_table import PredictionTable, read_table
from core.error_analysis.report import compute_rate
from core.error_analysis.split_analysis import cache_array
from core.evaluation.projection import sample_rows
from core.exceptions import NotAvailable
from core.fingerprint import hash_file
from core.formatting import count
from core.runs.predictions import list_embedded_splits, locate_embeddings, read_vectors
from core.runs.store import RunStore

FEWEST = 30  # sentences needed for clustering
MOST = 5_000  # sentences that are clustered; of more, a stratified random sample
LEAST, SHARE = 10, 100  # smallest cluster: 10 sentences, or 1/100 of them if that is more
PART = 2  # largest cluster: 1/PART of the sentences; larger ones are split
SURE = 5  # HDBSCAN's min_samples
NAMED = 3  # words and phrases in a cluster's name
BETWEEN = " · "
NAMELESS = "no word marks it"
NONE = "no cluster"


@dataclass(frozen=True, eq=False)
class FoundGroup:
    """A cluster of sentences of one split, with its name and its over-represented words."""

    name: str  # its first keywords; `NAMELESS` without any
    words: tuple[Keyword, ...]  # the keywords of the name, against all other clustered sentences
    places: np.ndarray  # (k,) rows of the split, ascending


@dataclass(frozen=True, eq=False)
class FoundGroups:
    """All clusters of the sentences of a split, largest first, and the sentences that belong to none."""

    groups: tuple[FoundGroup, ...]
    none: np.ndarray  # (k,) rows in no cluster, ascending
    rows: np.ndarray  # (m,) all rows that were clustered, ascending
    least: int  # sentences of the smallest possible cluster
    reason: str = ""  # why the rows were not clustered; empty if they were


def cluster_vectors(vectors: np.ndarray, least: int) -> np.ndarray:
    """Cluster (n, d) vectors by HDBSCAN into (n,) int64 cluster numbers, -1 for none; deterministic."""
    from sklearn.cluster import HDBSCAN

    most = max(least, -(-len(vectors) // PART))
    settings = {"min_cluster_size": least, "max_cluster_size": most, "min_samples": SURE}
    found: np.ndarray = HDBSCAN(**settings, copy=True).fit_predict(vectors)
    return found.astype(np.int64)


def find_clusters(store: RunStore, run: str, split: str = "") -> tuple[PredictionTable, FoundGroups]:
    """Find clusters in the embeddings of a split (default: test, or the last), cached; NotAvailable: no vectors."""
    table = read_table(store, run, split)
    folder = store.get_path(run)
    if table.split not in (there := list_embedded_splits(store, run)):
        raise NotAvailable(
            f"run '{run}' has no vectors of the split {table.split}, but of {', '.join(there) or 'none'}"
        )
    vectors, labels = read_vectors(folder, table.split, table.classes)
    rows = sample_rows(find_strata(labels) if labels.ndim == 2 else labels, MOST, 0)
    least = max(LEAST, len(rows) // SHARE)
    reason = ""
    if len(rows) < FEWEST:
        reason = f"of {count(len(rows))} sentences there are no groups to look for; {FEWEST} would be enough"
    elif not np.isfinite(vectors).all():
        reason = "some vectors are not finite numbers: this training has diverged"
    if reason:
        return table, FoundGroups((), np.empty(0, np.int64), rows, least, reason)
    settings, looked_at = [least, SURE, PART, MOST], vectors[rows].astype(np.float64)
    depends = [hash_file(locate_embeddings(folder, table.split)), settings, rows.tolist()]
    numbers = cache_array("groups", depends, (len(rows),), lambda: cluster_vectors(looked_at, least))
    return table, name_clusters(numbers, rows, [table.texts[row] for row in rows], least)


def name_clusters(numbers: np.ndarray, rows: np.ndarray, texts: Sequence[str], least: int) -> FoundGroups:
    """Name clusters of texts by the words that are over-represented in each cluster."""
    phrases, found = Phrases(texts), list[FoundGroup]()
    taken: dict[str, int] = {}
    sizes = np.bincount(numbers[numbers >= 0], minlength=0)
    for number in np.argsort(-sizes, kind="stable"):
        # A low limit: the words name the cluster, they are not a finding.
        words = _select_distinct(phrases.find_keywords(numbers == number, least_z=WITHIN_95))
        name = BETWEEN.join(each.words for each in words) or NAMELESS
        taken[name] = taken.get(name, 0) + 1
        own = name if taken[name] == 1 else f"{name} ({taken[name]})"
        found.append(FoundGroup(own, words, rows[numbers == number]))
    return FoundGroups(tuple(found), rows[numbers < 0], rows, least)


def _select_distinct(words: Sequence[Keyword]) -> tuple[Keyword, ...]:
    """Return the first keywords to name a cluster by, skipping phrases that share a word with an earlier one."""
    found: list[Keyword] = []
    for each in words:
        parts = set(each.words.split())
        if len(found) < NAMED and not any(parts & set(other.words.split()) for other in found):
            found.append(each)
    return tuple(found)


def report_clusters(table: PredictionTable, found: FoundGroups) -> dict[str, Any]:
    """Return the sentence clusters of a split as JSON-like data, with error rates; see `core.api.groups`."""
    keys, wrong = table.frame["key"].to_numpy(), table.wrong
    groups = [
        {
            "name": each.name,
            "words": [word._asdict() for word in each.words],
            **compute_rate(wrong[each.places]),
            "keys": keys[each.places].tolist(),
        }
        for each in found.groups
    ]
    return {
        "run": table.record.run,
        "split": table.split,
        **compute_rate(wrong),
        "looked_at": len(found.rows),
        "least": found.least,
        "reason": found.reason,
        "groups": groups,
        "none": {**compute_rate(wrong[found.none]), "keys": keys[found.none].tolist()},
    }


def build_table(table: PredictionTable, found: FoundGroups) -> pd.DataFrame:
    """Return the prediction-table rows of the clustered sentences, with a column for the name of each one's cluster."""
    group = pd.Series(NONE, index=range(len(table)), dtype=object)
    for each in found.groups:
        group.iloc[each.places] = each.name
    shown = table.frame[["key", "row", "text", "true", "predicted", "p_predicted", "wrong"]]
    return shown.assign(group=group.to_numpy()).iloc[found.rows]
