"""Repeated random experiments: equally good models, and counts that agree with a rate."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from core.evaluation.metrics import SingleLabelScores
from core.evaluation.significance import ScorePair

FEW = 400  # studies of each kind unless `pytest -m study` requests all
LEVEL = 0.02
"""How often chance goes beyond a limit. Of 2,000 studies at a rate of 5 % the upper one is 6 %; of 400 it is 7.25 %,
and a test that calls chance in 10 %, twice as often as it should, goes beyond that with a probability of 96 %.
"""
CLASSES = 3


def in_full(*cases: Any) -> list[Any]:
    """Return test cases that CI skips: other cases run the same computation."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.full) for case in cases]


def agrees(hits: int, studies: int, least: float, most: float = 0.05) -> bool:
    """Return whether this number of hits agrees with a rate between `least` and `most`, by exact binomial limits."""
    print(f"{hits} of {studies}: {hits / studies:.4f}")
    return bool(binom.ppf(LEVEL, studies, least) <= hits <= binom.isf(LEVEL, studies, most))


def models(
    random: np.random.Generator, rows: int, *, several: int = 2, hardness: float = 1.0
) -> list[SingleLabelScores]:
    """Draw equally good models: sentences differ in difficulty, partly for all models and partly for each."""
    labels = random.integers(0, CLASSES, rows)
    shared = random.normal(0, 1, rows)
    drawn = []
    for _ in range(several):
        logits = random.normal(0, 1, (rows, CLASSES))
        logits[np.arange(rows), labels] += 1.2 + hardness * shared
        odds = np.exp(logits)
        drawn.append(SingleLabelScores(labels, odds / odds.sum(1, keepdims=True)))
    return drawn


def both(first: SingleLabelScores, second: SingleLabelScores) -> ScorePair:
    """Pair two models; they differ where their predictions do."""
    return ScorePair(first, second, first.answers != second.answers)


def all_apart(first: SingleLabelScores, second: SingleLabelScores) -> ScorePair:
    """Pair two models; they differ where any probability differs."""
    return ScorePair(first, second, (first.probabilities != second.probabilities).any(1))
