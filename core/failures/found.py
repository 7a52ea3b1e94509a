"""Slices that are found: one or two properties whose rows go wrong more often than chance, most excess errors first.

Every option of the table (tags, classes, values of own columns) and every pair of two of them is tried that at least
`risk.LEAST` rows have. Each is tested against all other rows by the score test of `core.failures.risk`; p is after Holm
over all that were tried, so that what is listed survives the search itself. A pair stands only where it is worth more
than either of its parts: its rate of errors is higher than each part's outside the pair, by the same test after Holm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.evaluation.comparison import holm
from core.evaluation.significance import ALPHA
from core.failures.facets import OUTCOME, TAG, Facet, Option
from core.failures.risk import LEAST, Risk, risk
from core.failures.rules import Clause
from core.failures.table import SEVERAL
from core.failures.tags import BY_DEFINITION, CONSEQUENCES, OF_MODELS

MOST = 12
"""Slices listed."""
CLASSES = {"truth", "said"}
"""Together they say whether a row is wrong."""
ALIKE = 0.8
"""Jaccard of the rows of two slices from which on they are one finding: the one with more excess errors stands."""


@dataclass(frozen=True)
class Slice:
    """One of them."""

    clauses: tuple[Clause, ...]
    risk: Risk
    interval: tuple[float, float]
    """Of the risk ratio, at the level of its Holm step."""
    p_holm: float


@dataclass(frozen=True)
class Found:
    """What was found, and among how many."""

    slices: tuple[Slice, ...]
    tried: int


def slices(facets: Sequence[Facet], wrong: np.ndarray) -> Found:
    """The slices of a table.

    Args:
        facets: its words; what says itself that a row is wrong, or follows from it, is left out, and so is what other
            models say of it.
        wrong: (n,) bool.
    """
    known = BY_DEFINITION | CONSEQUENCES
    causes = [facet for facet in facets if facet.name not in (OUTCOME, *SEVERAL)]
    options = [(facet.name, option) for facet in causes for option in facet.options if option.clause.value not in known]
    options = [each for each in options if each[0] != TAG or not each[1].clause.value.startswith(OF_MODELS)]
    options = [each for each in options if each[1].has.sum() >= LEAST]
    if not options or not 0 < wrong.sum() < len(wrong):
        return Found((), 0)
    tried = list(_tried(options, wrong))
    tested = [(each, found) for each, found in tried if found.enough]
    steps = holm([found.p for _, found in tested])
    kept = [
        (each, found, step)
        for (each, found), step in zip(tested, steps, strict=True)
        if step.p < ALPHA and found.ratio > 1 and _worth(each, wrong, len(tested))
    ]
    listed: list[tuple[np.ndarray, Slice]] = []
    for each, found, step in sorted(kept, key=lambda one: (-one[1].excess, len(one[0]))):
        has = np.all([option.has for option in each], axis=0)
        if len(listed) < MOST and all(_shared(has, other) <= ALIKE for other, _ in listed):
            ends = found.interval(step.alpha)
            listed.append((has, Slice(tuple(option.clause for option in each), found, ends, step.p)))
    return Found(tuple(each for _, each in listed), len(tested))


def _tried(options: Sequence[tuple[str, Option]], wrong: np.ndarray) -> list[tuple[tuple[Option, ...], Risk]]:
    """Every option, and every pair of different words that enough rows have; counted by one product of matrices."""
    has = np.stack([option.has for _, option in options]).astype(np.float32)
    rows, errors = has @ has.T, (has * wrong) @ has.T
    n, bad = len(wrong), int(wrong.sum())
    found: list[tuple[tuple[Option, ...], Risk]] = []
    for first, (name, option) in enumerate(options):
        for second, (other, another) in enumerate(options[first:], first):
            number, mistakes = int(rows[first, second]), int(errors[first, second])
            if first != second and (number < LEAST or (name == other and name != TAG) or {name, other} == CLASSES):
                continue
            # One that is inside the other is that one.
            if first != second and number in (int(rows[first, first]), int(rows[second, second])):
                continue
            pair = (option,) if first == second else (option, another)
            found.append((pair, Risk(number, mistakes, n - number, bad - mistakes)))
    return found


def _worth(each: tuple[Option, ...], wrong: np.ndarray, tried: int) -> bool:
    """Whether a pair goes wrong more often than the rest of each of its parts."""
    if len(each) == 1:
        return True
    has = each[0].has & each[1].has
    for option in each:
        inside = risk(has[option.has], wrong[option.has])
        if not inside.enough or inside.ratio <= 1 or inside.p * 2 * tried >= ALPHA:
            return False
    return True


def _shared(one: np.ndarray, other: np.ndarray) -> float:
    return float((one & other).sum() / max(1, (one | other).sum()))
