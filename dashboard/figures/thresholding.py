"""Chosen decision threshold of a run, and the predictions at this threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.dataset import VALIDATION
from core.evaluation.costs import find_cheapest
from core.exceptions import NotAvailable
from dashboard.figures import multilabel
from dashboard.figures.decisions import (
    ANSWER,
    Decision,
    Floats,
    SplitPredictions,
    apply_threshold,
    decide_label,
    find_top_label,
)
from dashboard.figures.source import Option, Source, ValueRange

SHARE = ValueRange(0.0, 1.0, 0.01)
RATIOS = ValueRange(0.0, 1000.0, 1.0)


def list_rules(source: Source) -> list[str]:
    """Return what a decision threshold can apply to (the top class, or one named class); empty: nothing to choose."""
    classes = list(source.report.classes)
    if source.record.task == "multi":
        return classes
    return [] if len(classes) == 2 else [ANSWER, *classes]


def get_class(source: Source) -> str:
    """Return the class or label that the decision threshold applies to; empty: the top class of each row."""
    classes = source.report.classes
    if source.record.task == "single" and len(classes) == 2:
        return classes[1]
    rule = str(source.get_choice(RULE))
    return rule if rule in classes else ""


def get_class_scores(report: SplitPredictions, name: str) -> tuple[NDArray[np.bool_], Floats]:
    """Return for each row whether it belongs to a class, and its predicted probability of that class."""
    number = report.classes.index(name)
    own = report.labels[:, number] > 0 if report.labels.ndim == 2 else report.labels == number
    return own, report.probabilities[:, number]


def _find_cheapest(source: Source) -> float:
    """Return the threshold whose errors cost least on validation data; NotAvailable: that split was not evaluated."""
    if VALIDATION not in source.splits:
        raise NotAvailable("a threshold at a cost ratio is chosen on validation, which was not evaluated")
    report = source.reader.make_report(source.record, VALIDATION)
    return find_cheapest(*get_class_scores(report, get_class(source)), float(source.get_choice(COST)))


def _get_label_threshold(source: Source) -> float:
    """Return the chosen label's decision threshold: the cheapest one if a cost ratio is set, else tuned or 0.5."""
    if source.get_choice(COST):
        return source.read_once(_find_cheapest)
    label, choice = str(source.get_choice(RULE)), str(source.get_choice(LIMITS))
    return float(multilabel.pick_thresholds(source.record, choice)[source.report.classes.index(label)])


def _make_range(name: str) -> Callable[[Source], ValueRange | tuple[()]]:
    """Return a function that returns the range of a threshold slider, or no range if the slider is not in use."""
    return lambda source: SHARE if get_slider(source).name == name else ()


RULE = Option(
    "rule",
    "Threshold on",
    list_rules,
    "Top answer: the most likely class, if its probability is above the threshold; otherwise no answer. "
    "A class: predicted if its own probability is above the threshold.",
    usual=lambda source: find_top_label(source.report) if source.record.task == "multi" else ANSWER,
    words=lambda source, rule: (
        f"label {rule}" if source.record.task == "multi" else "" if rule == ANSWER else f"threshold on {rule}"
    ),
)
"""With several labels per text: the label that is shown."""
COST = Option(
    "cost",
    "Cost of a false negative",
    lambda source: RATIOS if get_class(source) else (),
    "One false negative costs as much as this many false positives; the threshold then costs least on validation. "
    "0: no costs",
    usual=lambda source: 0.0,
    words=lambda source, ratio: f"a false negative costs {ratio:g} false positives" if ratio else "",
)
THRESHOLD = Option(
    "threshold",
    "Threshold",
    _make_range("threshold"),
    usual=lambda source: source.read_once(_find_cheapest) if source.get_choice(COST) else 0.5,
)
LEAST = Option(
    "least",
    "Threshold on the top answer",
    _make_range("least"),
    "Below this the model gives no answer; all figures below follow",
    usual=lambda source: 0.0,
)
LIMITS = Option(
    "thresholds",
    "Thresholds",
    lambda source: multilabel.list_choices(source.record) if source.record.task == "multi" else [],
    "tuned: the threshold of each label with the best F1 on validation; the slider changes one label",
)
LIMIT = Option("limit", "Threshold", _make_range("limit"), usual=_get_label_threshold)
OPTIONS = (RULE, COST, THRESHOLD, LEAST, LIMITS, LIMIT)


def get_slider(source: Source) -> Option:
    """Return the option (slider) that sets the decision threshold for the chosen rule."""
    if source.record.task == "multi":
        return LIMIT
    return LEAST if list_rules(source) and source.get_choice(RULE) == ANSWER else THRESHOLD


def read_decision(source: Source) -> Decision:
    """Compute a run's predictions on a split at the chosen decision threshold."""
    return decide_report(source, source.report)


def decide_report(source: Source, report: SplitPredictions) -> Decision:
    """Compute predictions at the chosen decision threshold from given class probabilities of a split."""
    threshold = float(source.get_choice(get_slider(source)))
    rule: Any = source.get_choice(RULE) if list_rules(source) else ANSWER
    if source.record.task == "multi":
        return decide_label(report, rule, threshold)
    return apply_threshold(report.labels, report.probabilities, report.classes, rule, threshold)
