"""Thresholds of a run at cost ratios: chosen on its validation split, priced on other rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.data.table import VALIDATION
from core.evaluation.costs import cheapest, priced
from core.exceptions import InputError
from core.runs.answers import read_answers
from core.runs.predictions import evaluated_splits
from core.runs.record import RunRecord
from core.runs.store import RunStore


@dataclass(frozen=True)
class Line:
    """The threshold of a class where one mistake is worse than the other."""

    ratio: float
    """How many false positives a false negative is as bad as."""
    threshold: float
    validation: dict[str, Any]


def lines(store: RunStore, record: RunRecord, ratios: Mapping[str, float]) -> dict[str, Line]:
    """Choose by class the threshold that costs least on validation, at its ratio of a false negative to a positive.

    Raises InputError for no class of the run, a ratio that is no positive number, or if validation was not evaluated.
    """
    if strange := [name for name in ratios if name not in record.classes]:
        raise InputError(f"--cost {strange[0]}: no class of run '{record.run}'; it has {', '.join(record.classes)}")
    if not ratios:
        return {}
    if VALIDATION not in evaluated_splits(store.path(record.run)):
        raise InputError(f"--cost: run '{record.run}' has no predictions of validation, on which a threshold is chosen")
    answers, found = read_answers(store, record, VALIDATION), {}
    for name, ratio in ratios.items():
        given = of_class(record, name, answers.labels, answers.probabilities)
        threshold = cheapest(*given, ratio)
        found[name] = Line(ratio, threshold, priced(*given, ratio, threshold))
    return found


def costs(
    record: RunRecord, chosen: Mapping[str, Line], labels: np.ndarray, probabilities: np.ndarray
) -> dict[str, dict[str, Any]]:
    """Price thresholds of `lines` on rows: `ratio`, `threshold`, `core.evaluation.costs.priced`, and on `validation`.

    `labels` are (n,) class numbers or (n, C) zeros and ones, `probabilities` (n, C).
    """
    return {
        name: {
            "ratio": line.ratio,
            "threshold": line.threshold,
            **priced(*of_class(record, name, labels, probabilities), line.ratio, line.threshold),
            "validation": line.validation,
        }
        for name, line in chosen.items()
    }


def of_class(
    record: RunRecord, name: str, labels: np.ndarray, probabilities: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (n,) booleans, who is of a class, and (n,) the probability that the model gives it."""
    number = record.classes.index(name)
    return labels[:, number] > 0 if labels.ndim == 2 else labels == number, probabilities[:, number]
