"""Schemas of stored faithfulness measurements, and the verdict on attribution methods. Has no heavy imports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from core.formatting import whole_percent
from core.json_store import Count, Figure

POINTS = 11  # Points of a curve
Some = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Chance = Annotated[float, msgspec.Meta(ge=0, le=1)]
Chances = Annotated[tuple[Chance, ...], msgspec.Meta(min_length=POINTS, max_length=POINTS)]


@dataclass(frozen=True)
class Number:
    """A measured mean over sentences with its 95 % interval."""

    value: Figure
    low: Figure
    high: Figure
    n: Some  # Sentences with a value


@dataclass(frozen=True)
class ProbabilityCurve:
    """The mean probability of the predicted class as more and more words are added, with 95 % intervals."""

    values: Chances
    low: Chances
    high: Chances


@dataclass(frozen=True)
class MethodMeasurements:
    """The faithfulness measurements of one attribution method: test results, curves and agreements."""

    method: str
    tests: dict[str, Number]  # Name in `THRESHOLDS` except `answers` → result, if it could be measured
    areas: dict[str, Number]  # Under the curves of `insertion`, `deletion` (not for method deletion) and `random`
    control: dict[str, Number]  # `insertion` and `deletion` with shuffled weights, by the same method
    curves: dict[str, ProbabilityCurve]  # As `areas`; `deletion` is read backwards
    agreement: dict[str, Number]  # Other method → rank agreement, of absolute values if one of the two is unsigned


@dataclass(frozen=True)
class Belief:
    """The faithfulness measurements of a run's attribution methods on many sentences (schema)."""

    sentences: Some
    left_out: Count  # Sentences with fewer than three words
    cut: Count  # Sentences that were cut after sixty words or the model's maximum length
    answers: Number  # Accuracy above chance (Cohen's kappa)
    methods: tuple[MethodMeasurements, ...]


Outcome = Literal["passed", "between", "failed", "not measured"]
Answer = Literal["evidence", "illustration", "neither"]


@dataclass(frozen=True)
class Threshold:
    """A faithfulness test's description and the thresholds that its whole 95 % interval must meet."""

    asks: str
    evidence: float  # The test is passed if the interval is beyond this
    neither: float | None  # The test is failed unless the interval is beyond this; None: it cannot be failed
    small: bool = False  # Whether small values are good


FASTER = "words {}, those first that push most: share of random orders that are slower"
THRESHOLDS = {
    "insertion": Threshold(FASTER.format("put back"), 0.7, 0.55),
    "deletion": Threshold(FASTER.format("taken out"), 0.7, 0.55),
    "pairs": Threshold("two words taken out together: rank agreement with the sum of their pushes", 0.5, None),
    "stability": Threshold("the sentence said otherwise: rank agreement of the words that stay", 0.5, None),
    "control": Threshold(
        "the weights in random order: rank agreement of sizes with those there", 0.5, 0.75, small=True
    ),
    "answers": Threshold("right answers beyond chance (Cohen's kappa) on these sentences", 0.2, None),
}
"""Test → thresholds, calibrated on 200 sentences of ten words, eight samples; ends of 95 % intervals:

|           | exact effects, known weights | shuffled     | exact effects, random weights  |
|-----------|------------------------------|--------------|--------------------------------|
| insertion | 0.85 or more                 | 0.56 or less | 0.87 or more                   |
| deletion  | 0.85 or more                 | 0.56 or less | 0.87 or more                   |
| pairs     | 1.00                         | 0.08 or less | 1.00                           |
| stability | 1.00                         | 0.07 or less | 1.00                           |
| control   | 0.23 or less                 | 0.11 or less | 0.16 or less                   |
| answers   | 1.00                         | 1.00         | mean 0.06 or less              |

Deletion, Shapley values and both gradient methods are exact for models that sum word weights: every sixth of 220 words
has a weight (`tests/support/toys.py`; a smaller version is in `test_faithfulness_verdict.py`). Most thresholds are
about halfway between the first two columns; that of the control is between these and 1, the value of a method that
ignores the weights. A model with random weights is explained as exactly as any other, but its predictions are wrong, so
that its explanations are illustrations at most.
"""
MEANING = (
    "Evidence means that words in the order of the method beat "
    f"{whole_percent(THRESHOLDS['insertion'].evidence)} of random orders, and every other test is passed. "
    "It does not mean that the method names the decisive word."
)  # The meaning of the verdict *evidence*, shown with it
FEW = 30  # Sentences needed: with fewer, an interval may have no width
DELETES = "deletion"
"""The deletion test would be circular for this method, so that it is tested on pairs of words instead."""


def list_tests(method: str) -> tuple[str, ...]:
    """Return the names of the faithfulness tests by which an attribution method is judged."""
    return tuple(name for name in THRESHOLDS if name != (DELETES if method == DELETES else "pairs"))


@dataclass(frozen=True)
class Verdict:
    """The verdict on an attribution method's faithfulness, with the outcome of each test."""

    verdict: Answer
    outcomes: dict[str, Outcome]  # Test of the method → outcome


def judge_method(method: str, found: Mapping[str, Number | None]) -> Verdict:
    """Judge a method by test → result: *evidence* if all pass, *neither* if one fails, else (None) *illustration*."""
    outcomes = {name: decide_outcome(THRESHOLDS[name], found.get(name)) for name in list_tests(method)}
    said = set(outcomes.values())
    return Verdict("neither" if "failed" in said else "evidence" if said == {"passed"} else "illustration", outcomes)


def decide_outcome(threshold: Threshold, number: Number | None) -> Outcome:
    """Return whether a faithfulness test, by its 95 % interval, is passed, failed, undecided or not measured."""
    if number is None or number.n < FEW:
        return "not measured"
    sign, worst = (-1, number.high) if threshold.small else (1, number.low)
    if sign * (worst - threshold.evidence) >= 0:
        return "passed"
    return "failed" if threshold.neither is not None and sign * (worst - threshold.neither) < 0 else "between"
