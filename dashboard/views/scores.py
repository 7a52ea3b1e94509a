"""What a model would say at a threshold: one decision, from which every figure of the page is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.evaluation.intervals import share_interval, wilson
from core.evaluation.metrics import confusion, pr_points, roc_points
from core.evaluation.weighted import Scores, precision_area, reached, roc_area
from dashboard.charts.performance import Curve
from dashboard.charts.scores import BARS, BINS, FEW, Bin

DRAWN = 400
"""Points of a curve that are drawn; more cannot be told apart."""
ANSWER = "top answer"
Integers = NDArray[np.int64]
Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Decision:
    """Who gets which answer at a threshold, over the rows that get one."""

    classes: tuple[str, ...]
    """The answers: those of the model, or "not X" and X where one class stands against the rest."""
    rows: Integers
    """(n,) places in the split of the rows that get an answer."""
    labels: Integers
    said: Integers
    """(n,) positions in `classes`, the truth and the answer."""
    probabilities: Floats
    """(n, C)"""
    threshold: float
    total: int
    """Rows of the split."""
    positive: int | None
    """Position in `classes` of the class that the threshold is about; None: it is about the top probability."""

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(n,) booleans."""
        return self.labels == self.said

    @property
    def score(self) -> Floats:
        """(n,) the probability that the threshold is compared with."""
        return self.probabilities.max(1, initial=0) if self.positive is None else self.probabilities[:, self.positive]

    @property
    def score_name(self) -> str:
        """What that probability is called."""
        return "P(said)" if self.positive is None else f"P({self.classes[self.positive]})"

    @cached_property
    def counts(self) -> Integers:
        """(C, C), rows true, columns said."""
        return np.array(confusion(self.labels, self.said, len(self.classes)), np.int64)

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """Share of right answers and its 95 % interval."""
        hits, n = int(self.correct.sum()), len(self.rows)
        return (hits / n if n else float("nan"), *share_interval(hits, n))


def decide(labels: Integers, probabilities: Floats, classes: Sequence[str], rule: str, threshold: float) -> Decision:
    """The answers at a threshold.

    Args:
        labels: (n,).
        probabilities: (n, C).
        classes: C names.
        rule: Two classes: without meaning, the threshold is on the second. More: `ANSWER`, a row whose top
            probability is not above the threshold gets no answer; or a class, which then stands against the rest.
        threshold: A class is said where its probability is above this.
    """
    every = np.arange(len(labels))
    if len(classes) > 2 and rule not in classes:
        rows = every[probabilities.max(1, initial=0) > threshold]
        kept = probabilities[rows]
        said = kept.argmax(1) if len(rows) else every[:0]
        return Decision(tuple(classes), rows, labels[rows], said, kept, threshold, len(labels), None)
    if len(classes) == 2:
        names, truth, chance = tuple(classes), labels, probabilities[:, 1]
    else:
        number = list(classes).index(rule)
        names = (f"not {rule}", rule)
        truth, chance = (labels == number).astype(np.int64), probabilities[:, number]
    said = (chance > threshold).astype(np.int64)
    return Decision(names, every, truth, said, np.stack([1 - chance, chance], 1), threshold, len(labels), 1)


def _drawn(decision: Decision) -> list[int]:
    return list(range(len(decision.classes))) if decision.positive is None else [decision.positive]


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def rates(decision: Decision, number: int) -> tuple[float, float, float]:
    """False positive rate, recall and precision of a class at the threshold."""
    counts = decision.counts
    hits, own, said = counts[number, number], counts[number].sum(), counts[:, number].sum()
    return _share(said - hits, counts.sum() - own), _share(hits, own), _share(hits, said)


def roc_curves(decision: Decision) -> list[Curve]:
    """Recall against the false positive rate; classes of which there is nothing, or nothing else, are left out."""
    curves = []
    for number in _drawn(decision):
        points = roc_points(decision.labels, decision.probabilities, number)
        if not points["fpr"]:
            continue
        own = int((decision.labels == number).sum())
        false, recall, _ = rates(decision, number)
        curves.append(
            Curve(
                decision.classes[number],
                *_thin(points["fpr"], points["tpr"]),
                _area(decision, number, ranking=True),
                own,
                len(decision.labels) - own,
                None if decision.positive is None else (false, recall),
            )
        )
    return curves


def pr_curves(decision: Decision) -> list[Curve]:
    """Precision against recall; classes of which there is nothing are left out."""
    curves = []
    for number in _drawn(decision):
        points = pr_points(decision.labels, decision.probabilities, number)
        if not points["recall"]:
            continue
        own = int((decision.labels == number).sum())
        _, recall, precision = rates(decision, number)
        known = decision.positive is not None and not np.isnan(precision)
        curves.append(
            Curve(
                decision.classes[number],
                *_thin(points["recall"], points["precision"]),
                _area(decision, number, ranking=False),
                own,
                len(decision.labels) - own,
                (recall, precision) if known else None,
            )
        )
    return curves


def _thin(x: Sequence[float], y: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """At most `DRAWN` points, both ends among them."""
    places = np.unique(np.linspace(0, len(x) - 1, min(len(x), DRAWN)).round().astype(int))
    return tuple(x[place] for place in places), tuple(y[place] for place in places)


def _area(decision: Decision, number: int, *, ranking: bool) -> float:
    scores = Scores(decision.labels, decision.probabilities)
    curve = reached(scores, np.ones((1, len(scores.labels))), number)
    return float((roc_area if ranking else precision_area)(*curve)[0])


def reliability(decision: Decision) -> list[Bin]:
    """The bins that hold a row: mean probability and share of rows that are so, with its 95 % interval."""
    happened = decision.correct if decision.positive is None else decision.labels == decision.positive
    places = np.minimum((decision.score * BINS).astype(int), BINS - 1)
    bins = []
    for place in range(BINS):
        inside = places == place
        if n := int(inside.sum()):
            hits = int(happened[inside].sum())
            claimed = float(decision.score[inside].mean())
            bins.append(Bin(place / BINS, (place + 1) / BINS, n, claimed, hits / n, wilson(hits, n)))
    return bins


def bin_table(bins: Sequence[Bin]) -> pd.DataFrame:
    """The bins as a table."""
    columns = ["from", "to", "n", "claimed", "true", "low", "high"]
    return pd.DataFrame([(b.low, b.high, b.n, b.claimed, b.true, *b.interval) for b in bins], columns=columns)


def cell_rows(decision: Decision, examples: pd.DataFrame, true: int, said: int) -> pd.DataFrame:
    """The sentences of a cell of the matrix."""
    return examples.iloc[decision.rows[(decision.labels == true) & (decision.said == said)]]


def outcomes(decision: Decision) -> tuple[Integers, Integers]:
    """How many right and wrong answers lie in each of `BARS` equal bins of the probability."""
    places = np.minimum((decision.score * BARS).astype(int), BARS - 1)
    right = np.bincount(places[decision.correct], minlength=BARS)
    return right, np.bincount(places[~decision.correct], minlength=BARS)


def class_table(decision: Decision) -> pd.DataFrame:
    """Each class at the threshold: precision, recall, F1 and n."""
    rows = []
    for number, name in enumerate(decision.classes):
        _, recall, precision = rates(decision, number)
        both = decision.counts[number].sum() + decision.counts[:, number].sum()
        f1 = _share(2 * decision.counts[number, number], both)
        n = int(decision.counts[number].sum())
        rows.append({"Class": name, "Precision": precision, "Recall": recall, "F1": f1, "n": n})
    return pd.DataFrame(rows)


def phenomena(decision: Decision, names: Sequence[str], yardstick: dict[str, float]) -> pd.DataFrame:
    """Share of right answers for each phenomenon, the worst first.

    Args:
        decision: At the threshold.
        names: The phenomenon of each row of the split.
        yardstick: TF-IDF's accuracy by phenomenon; may be empty.

    Returns:
        Columns phenomenon, accuracy, low, high, n, tfidf.
    """
    found = pd.DataFrame({"phenomenon": np.asarray(names, dtype=object)[decision.rows], "correct": decision.correct})
    rows = []
    for name, group in found.groupby("phenomenon"):
        hits, n = int(group["correct"].sum()), len(group)
        low, high = wilson(hits, n)
        known = yardstick.get(str(name), float("nan"))
        row = {"phenomenon": str(name), "accuracy": hits / n, "low": low, "high": high, "n": n, "tfidf": known}
        rows.append(row)
    columns = ["phenomenon", "accuracy", "low", "high", "n", "tfidf"]
    return pd.DataFrame(rows, columns=columns).sort_values("accuracy", ignore_index=True)


def few(sizes: dict[str, int]) -> str:
    """What rests on fewer than `FEW` sentences, in words; empty if nothing does."""
    small = [f"{name} on {n}" for name, n in sizes.items() if n < FEW]
    return f"{', '.join(small[:4])}{f' and {len(small) - 4} more' if len(small) > 4 else ''}" if small else ""
