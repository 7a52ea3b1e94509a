"""Schemas of stored faithfulness measurements, and the verdict on attribution methods. Has no heavy imports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from core.formatting import whole_percent
from core.json_store import Count, Figure

POINTS = 11  # Of a curve
Some = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Chance = Annotated[float, msgspec.Meta(ge=0, le=1)]
Chances = Annotated[tuple[Chance, ...], msgspec.Meta(min_length=POINTS, max_length=POINTS)]


@dataclass(frozen=True)
class Number:
    """A measured mean over sentences with its 95 % interval."""

    value: Figure
    low: Figure
    high: Figure
    n: Some  # Sentences that have a value


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
    tests: dict[
        str, Number
    ]  # By name in `faithfulness_verdict.THRESHOLDS` but `answers`, as far as they could be measured
    areas: dict[str, Number]  # Under the curves: of `insertion`, `deletion` (not of itself) and `random` orders
    control: dict[str, Number]  # `insertion` and `deletion` on the model of shuffled weights, by the same method
    curves: dict[
        str, ProbabilityCurve
    ]  # `insertion`, `random`: words put back; `deletion` (not of itself), read backwards
    agreement: dict[str, Number]  # By other method the rank agreement of pushes; of sizes where one has no side


@dataclass(frozen=True)
class Belief:
    """The faithfulness measurements of a run's attribution methods on many sentences (schema)."""

    sentences: Some
    left_out: Count  # Sentences of fewer than three words
    cut: Count  # Sentences of more than sixty words or more tokens than the model reads; the first are read
    answers: Number  # Right answers beyond chance
    methods: tuple[MethodMeasurements, ...]


Outcome = Literal["passed", "between", "failed", "not measured"]
Answer = Literal["evidence", "illustration", "neither"]


@dataclass(frozen=True)
class Threshold:
    """A faithfulness test's description and the thresholds that its whole 95 % interval must meet."""

    asks: str
    evidence: float  # Beyond it the test is passed
    neither: float | None  # Unless the interval lies beyond this one it is failed; None: it cannot be
    small: bool = False  # Small is good


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
"""By test. Calibrated on 200 sentences of ten words, eight draws of each; ends of 95 % intervals:

|           | exact pushes of a known sum | shuffled ones | exact pushes of random weights |
|-----------|-----------------------------|---------------|--------------------------------|
| insertion | 0.85 or more                | 0.56 or less  | 0.87 or more                   |
| deletion  | 0.85 or more                | 0.56 or less  | 0.87 or more                   |
| pairs     | 1.00                        | 0.08 or less  | 1.00                           |
| stability | 1.00                        | 0.07 or less  | 1.00                           |
| control   | 0.23 or less                | 0.11 or less  | 0.16 or less                   |
| answers   | 1.00                        | 1.00          | mean 0.06 or less              |

Exact are deletion, Shapley values and both gradient methods on models whose answer is a sum over words: every sixth of
220 words has a weight (`tests/support/toys.py`; a smaller version is in `test_faithfulness_verdict.py`). Most
thresholds lie about halfway between the first two columns; of the control, between those and the 1 of a method that
does not look at the weights. A model of random weights is explained as exactly as any other. What it does not have is
right answers, so that explanations of it are illustrations at most.
"""
MEANING = (
    f"Evidence: words in the order of the method beat {whole_percent(THRESHOLDS['insertion'].evidence)} of random "
    "orders, and every other test is passed. It does not mean that the method names the decisive word."
)
"""What the verdict *evidence* says, wherever it is shown."""
FEW = 30  # Sentences: the interval of fewer may have no width at all
DELETES = "deletion"
"""Words taken out are its own doing: it is asked about two at once in their place, and the other methods are not."""


def list_tests(method: str) -> tuple[str, ...]:
    """Return the names of the faithfulness tests by which an attribution method is judged."""
    return tuple(name for name in THRESHOLDS if name != (DELETES if method == DELETES else "pairs"))


@dataclass(frozen=True)
class Verdict:
    """The verdict on an attribution method's faithfulness, with the outcome of each test."""

    verdict: Answer
    outcomes: dict[str, Outcome]  # By test, of those by which the method is judged


def judge_method(method: str, found: Mapping[str, Number | None]) -> Verdict:
    """Judge an attribution method: *evidence* if all tests pass, *neither* if one fails, else *illustration*.

    `found` has the numbers by test; what is None or left out could not be measured, so that it is not passed.
    """
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
    if threshold.neither is not None and sign * (worst - threshold.neither) < 0:
        return "failed"
    return "between"
