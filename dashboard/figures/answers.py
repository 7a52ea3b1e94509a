"""The chosen decision threshold, and the predictions that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.data.table import VALIDATION
from core.evaluation.costs import cheapest
from core.exceptions import NotAvailable
from dashboard.figures import labels
from dashboard.figures.decisions import ANSWER, Decision, Floats, Report, decide, decide_label, first_label
from dashboard.figures.source import Option, Source, Span

SHARE = Span(0.0, 1.0, 0.01)
RATIOS = Span(0.0, 1000.0, 1.0)


def rules(source: Source) -> list[str]:
    """List what the threshold can apply to; empty where there is nothing to choose."""
    classes = list(source.report.classes)
    if source.record.task == "multi":
        return classes
    return [] if len(classes) == 2 else [ANSWER, *classes]


def one_class(source: Source) -> str:
    """Return the class, or label, that the threshold applies to; empty where it applies to the top answer."""
    classes = source.report.classes
    if source.record.task == "single" and len(classes) == 2:
        return classes[1]
    rule = str(source.chosen(RULE))
    return rule if rule in classes else ""


def of_class(report: Report, name: str) -> tuple[NDArray[np.bool_], Floats]:
    """Return (n,) the membership in a class, and (n,) the probability that the model gives it."""
    number = report.classes.index(name)
    own = report.labels[:, number] > 0 if report.labels.ndim == 2 else report.labels == number
    return own, report.probabilities[:, number]


def _cheapest(source: Source) -> float:
    """Find the threshold that costs least on validation; NotAvailable: it was not evaluated."""
    if VALIDATION not in source.splits:
        raise NotAvailable("a threshold at a cost ratio is chosen on validation, which was not evaluated")
    report = source.reader.report(source.record, VALIDATION)
    return cheapest(*of_class(report, one_class(source)), float(source.chosen(COST)))


def _limit(source: Source) -> float:
    """Return the threshold of the chosen label, at a cost ratio or as the choice for all labels has it."""
    if source.chosen(COST):
        return source.once(_cheapest)
    label, choice = str(source.chosen(RULE)), str(source.chosen(LIMITS))
    return float(labels.limits(source.record, choice)[source.report.classes.index(label)])


def _span(name: str) -> Callable[[Source], Span | tuple[()]]:
    """Return a function that gives the slider of this name its range where it is the active one."""
    return lambda source: SHARE if slider(source).name == name else ()


RULE = Option(
    "rule",
    "Threshold on",
    rules,
    "Top answer: the class with the highest probability, if that is above the threshold; otherwise no answer. "
    "A class: against all others; it is predicted where its own probability is above the threshold.",
    usual=lambda source: first_label(source.report) if source.record.task == "multi" else ANSWER,
    words=lambda source, rule: (
        f"label {rule}" if source.record.task == "multi" else "" if rule == ANSWER else f"threshold on {rule}"
    ),
)
"""With several labels the one that is shown."""
COST = Option(
    "cost",
    "Cost of a miss",
    lambda source: RATIOS if one_class(source) else (),
    "How many false positives one false negative is as bad as; the threshold is then the one that costs least on "
    "validation. 0: no costs",
    usual=lambda source: 0.0,
    words=lambda source, ratio: f"a miss costs {ratio:g} false positives" if ratio else "",
)
THRESHOLD = Option(
    "threshold",
    "Threshold",
    _span("threshold"),
    usual=lambda source: source.once(_cheapest) if source.chosen(COST) else 0.5,
)
LEAST = Option(
    "least",
    "Threshold on the top answer",
    _span("least"),
    "Below this the model gives no answer; every figure and count below follows",
    usual=lambda source: 0.0,
)
LIMITS = Option(
    "thresholds",
    "Thresholds",
    lambda source: labels.choices(source.record) if source.record.task == "multi" else [],
    "tuned: for each label the threshold of the best F1 on validation; moved for one label with the slider",
)
LIMIT = Option("limit", "Threshold", _span("limit"), usual=_limit)
OPTIONS = (RULE, COST, THRESHOLD, LEAST, LIMITS, LIMIT)


def slider(source: Source) -> Option:
    """Return the option that is the threshold of the chosen rule."""
    if source.record.task == "multi":
        return LIMIT
    return LEAST if rules(source) and source.chosen(RULE) == ANSWER else THRESHOLD


def decision(source: Source) -> Decision:
    """Decide every row of the source's report at the chosen threshold."""
    return decided(source, source.report)


def decided(source: Source, report: Report) -> Decision:
    """Decide every row of a report with other probabilities at the chosen threshold."""
    threshold = float(source.chosen(slider(source)))
    rule: Any = source.chosen(RULE) if rules(source) else ANSWER
    if source.record.task == "multi":
        return decide_label(report, rule, threshold)
    return decide(report.labels, report.probabilities, report.classes, rule, threshold)
