"""Predictions of a run on a split: probabilities and labels, a table of the texts, and decisions at a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.evaluation.intervals import Bands, compute_bands, compute_class_intervals, compute_wilson
from core.evaluation.metrics import HALF, compute_confusion
from core.formatting import count
from core.runs.predictions import refuse_misfit
from core.runs.record import LABEL, PROBABILITY
from dashboard.figures.drawing import Panels
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.floating]
Integers = NDArray[np.int64]
PHENOMENON, PREDICTED = "phenomenon", "predicted:"
COLUMN = "column:"  # prefix of the data's own columns
ANSWER = "top answer"
PARTS = ("Precision", "Recall", "F1")
FEW = 30  # fewer texts than this make a figure uncertain
BINS, BARS, TICKS = 10, 20, [0, 0.25, 0.5, 0.75, 1]


@dataclass(frozen=True)
class SplitPredictions:
    """Saved predictions of a run on one split: texts, true labels and class probabilities."""

    classes: tuple[str, ...]
    examples: pd.DataFrame
    """text, label and predicted (class names), probability (of the predicted class); phenomenon if it is known."""
    labels: Integers  # (n,) positions in `classes`; with several labels per text (n, C) zeros and ones
    probabilities: Floats  # (n, C)
    kept: dict[tuple[str, float], Bands | None] = field(default_factory=dict, compare=False, repr=False)
    """Cached confidence bands of the curves, by class and by the threshold below which rows have no prediction."""


def parse_predictions(saved: pd.DataFrame, classes: tuple[str, ...]) -> SplitPredictions:
    """Convert a split's saved predictions to labels and probabilities; RunDamaged: a column or a class is missing.

    `saved` has text, label and predicted by name, and a column `probability:CLASS` for each of the C classes in label
    order; with several labels per text also a 0/1 column `label:CLASS` each.
    """
    try:
        if not classes:
            raise ValueError("there are none")
        probabilities = saved[[f"{PROBABILITY}{name}" for name in classes]].to_numpy(float)
        bits = [f"{LABEL}{name}" for name in classes]
        places = {name: number for number, name in enumerate(classes)}
        given = saved[bits] if bits[0] in saved else saved["label"].map(places)
        labels = np.asarray(given.to_numpy(np.int64), np.int64)
        shown = ["text", "label", "predicted", *([PHENOMENON] if PHENOMENON in saved else [])]
        examples = saved[shown].assign(probability=compute_confidence(probabilities, multi=labels.ndim == 2))
    except (KeyError, ValueError):
        refuse_misfit(saved, classes)
    return SplitPredictions(classes, examples, labels, probabilities)


def compute_confidence(probabilities: Floats, *, multi: bool) -> Floats:
    """Return the predicted probability of each text's top class; for several labels, of the whole predicted set."""
    return np.maximum(probabilities, 1 - probabilities).prod(1) if multi else probabilities.max(1)


def build_points_table(saved: pd.DataFrame, classes: tuple[str, ...]) -> pd.DataFrame:
    """Return a table of a split's predictions: text, label, predicted, its probability, and phenomenon.

    With several labels per text also 0/1 columns `label:CLASS` and `predicted:CLASS` (at 0.5) each. The data's own
    columns are `column:NAME`. RunDamaged: a column is missing.
    """
    try:
        bits = [name for name in (f"{LABEL}{each}" for each in classes) if name in saved]
        chances = saved[[f"{PROBABILITY}{name}" for name in classes]].to_numpy(float)
        kept = ["text", "label", "predicted", *([PHENOMENON] if PHENOMENON in saved else []), *bits]
        predicted = {f"{PREDICTED}{name}": chances[:, i] > HALF for i, name in enumerate(classes)} if bits else {}
        own = {f"{COLUMN}{name}": saved[name] for name in saved if name not in (*kept, "row") and ":" not in str(name)}
        return saved[kept].assign(**own, probability=compute_confidence(chances, multi=bool(bits)), **predicted)
    except (KeyError, ValueError):
        refuse_misfit(saved, classes)


@dataclass(frozen=True)
class Decision:
    """Predictions of a split at a decision threshold, without texts whose probability is too low for a prediction."""

    classes: tuple[str, ...]  # the classes of the model, or "not X" and X if one class is compared with the rest
    rows: Integers  # (n,) row numbers in the split, of the rows with a prediction
    labels: Integers
    predicted: Integers  # (n,) indices into `classes`, as `labels`
    probabilities: Floats
    threshold: float
    total: int  # rows of the split
    positive: int | None
    """Index in `classes` of the class that the threshold applies to; None: it applies to the top probability."""

    @property
    def correct(self) -> NDArray[np.bool_]:
        """Return whether each row is predicted correctly, as booleans (n,)."""
        return self.labels == self.predicted

    @property
    def score(self) -> Floats:
        """Return each row's probability that is compared with the decision threshold, (n,)."""
        return self.probabilities.max(1, initial=0) if self.positive is None else self.probabilities[:, self.positive]

    @property
    def score_name(self) -> str:
        """Return the name of the probability that is compared with the threshold, such as `P(positive)`."""
        return "P(predicted)" if self.positive is None else f"P({self.classes[self.positive]})"

    @cached_property
    def counts(self) -> Integers:
        """Return the confusion matrix (C, C) of the decisions: rows are true classes, columns predicted ones."""
        return np.array(compute_confusion(self.labels, self.predicted, len(self.classes)), np.int64)

    @property
    def accuracy(self) -> tuple[float, float, float]:
        """Return the accuracy of the decisions and its 95 % interval."""
        hits, n = int(self.correct.sum()), len(self.rows)
        return (hits / n if n else float("nan"), *compute_wilson(hits, n))


def apply_threshold(
    labels: Integers, probabilities: Floats, classes: Sequence[str], rule: str, threshold: float
) -> Decision:
    """Compute the predictions that follow from labels (n,), probabilities (n, C) and a decision threshold.

    A class is predicted if its probability is above the threshold: of two classes the second. For more, `rule` is
    `ANSWER`, which gives no prediction to a row whose top probability is not above it, or a class to compare with the
    rest.
    """
    every = np.arange(len(labels))
    if len(classes) > 2 and rule not in classes:
        rows = every[probabilities.max(1, initial=0) > threshold]
        kept = probabilities[rows]
        predicted = kept.argmax(1) if len(rows) else every[:0]
        return Decision(tuple(classes), rows, labels[rows], predicted, kept, threshold, len(labels), None)
    names, truth, chance = tuple(classes), labels, probabilities[:, 1]
    if len(classes) > 2:
        number = list(classes).index(rule)
        names, truth, chance = (f"not {rule}", rule), (labels == number).astype(np.int64), probabilities[:, number]
    predicted = (chance > threshold).astype(np.int64)
    return Decision(names, every, truth, predicted, np.stack([1 - chance, chance], 1), threshold, len(labels), 1)


def get_bands(report: SplitPredictions, decision: Decision, number: int) -> Bands | None:
    """Return the cached confidence bands of a class's ROC and precision-recall curves; None: too few rows."""
    least = decision.threshold if len(decision.rows) < decision.total else 0.0
    key = decision.classes[number], least
    if key not in report.kept:
        report.kept[key] = compute_bands(decision.labels == number, decision.probabilities[:, number])
    return report.kept[key]


def compute_share(part: float, whole: float) -> float:
    """Divide a part by a whole; NaN if the whole is 0."""
    return float(part / whole) if whole else float("nan")


def compute_rates(decision: Decision, number: int) -> tuple[float, float, float]:
    """Return false positive rate, recall and precision of one class at the decision threshold."""
    counts = decision.counts
    hits, own, predicted = counts[number, number], counts[number].sum(), counts[:, number].sum()
    return compute_share(predicted - hits, counts.sum() - own), compute_share(hits, own), compute_share(hits, predicted)


def build_class_metrics(decision: Decision) -> pd.DataFrame:
    """Return precision, recall and F1 of each class with 95 % intervals, and the number of rows of the class."""
    import pandas as pd  # the first page shows its heading before pandas is loaded

    rows, every = [], range(len(decision.classes))
    ranges = compute_class_intervals(decision.labels[:, None] == every, decision.predicted[:, None] == every)
    for number, name in enumerate(decision.classes):
        _, recall, precision = compute_rates(decision, number)
        both = decision.counts[number].sum() + decision.counts[:, number].sum()
        f1 = compute_share(2 * decision.counts[number, number], both)
        row: dict[str, object] = {"Class": name}
        for title, value in zip(PARTS, (precision, recall, f1), strict=True):
            low, high = ranges[number].get(title.lower(), (nan, nan))
            row |= {title: value, f"{title}, low": low, f"{title}, high": high}
        rows.append({**row, "n": int(decision.counts[number].sum())})
    return pd.DataFrame(rows)


def write_sample_size(decision: Decision) -> str:
    """Write the number of texts that a figure is based on, such as `n = 500`."""
    return f"n = {count(len(decision.rows))}"


def name_small_samples(sizes: Mapping[str, int]) -> str:
    """Return the parts of a figure with fewer than 30 sentences as text, such as `A on 12`; empty if there are none."""
    small = [f"{name} on {n}" for name, n in sizes.items() if n < FEW]
    return ", ".join(small[:4]) + (f" and {len(small) - 4} more" if len(small) > 4 else "")


def draw_threshold_line(figure: Panels, threshold: float, look: Look) -> None:
    """Draw the decision threshold as a vertical line on an axis of probabilities."""
    figure.add_vline(x=threshold, line={"color": look.tokens.ink, "width": look.scale_size(1.6)})


def decide_label(report: SplitPredictions, label: str, threshold: float) -> Decision:
    """Return the predictions of one label alone at a threshold, in a multi-label run."""
    number = report.classes.index(label)
    chance = report.probabilities[:, number]
    pair = np.stack([1 - chance, chance], 1)
    return apply_threshold(report.labels[:, number], pair, (f"not {label}", label), "", threshold)


def format_rows(figure: Panels, title: str, names: Sequence[str], sizes: Sequence[int], look: Look) -> None:
    """Set up a chart of shares with a named row for each group, and write the size of each group at the right."""
    for name, n in zip(names, sizes, strict=True):
        figure.add_annotation(x=1.02, y=name, xanchor="left", text=count(n), font={"size": look.scale_size(14)})
    figure.update_xaxes(title=f"{title}, n at the right", tickvals=TICKS, showgrid=True)
    figure.update_yaxes(showgrid=False, tickfont={"color": look.tokens.ink})
    figure.update_layout(margin={"t": 8})


def draw_dotted_line(figure: Panels, y: tuple[float, float], look: Look) -> None:
    """Draw a dotted reference line across a plot: the diagonal, or a horizontal line at chance level."""
    figure.add_scatter(x=(0, 1), y=y, stroke=(look.tokens.right, 1.2, "dot"), hoverinfo="skip")


def draw_threshold_ring(figure: Panels, at: tuple[float, float], hover: str, look: Look, **more: Any) -> None:
    """Draw a ring on a curve at the decision threshold; `hover` is the text with its values."""
    more |= {"marker": {"line": {"width": look.scale_size(3), "color": look.tokens.ink}}}
    figure.add_scatter(x=[at[0]], y=[at[1]], dots=(look.tokens.paper, 15), hover=f"at the threshold<br>{hover}", **more)
