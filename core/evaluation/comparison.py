"""Several models on the same rows: which test, which intervals, and what may be said in the end.

A family is all tests that are looked at together. Holm (1979) keeps the chance of any wrong "better" among equally good
models at 5 %; each interval is drawn at the level of its step, so that it leaves out 0 exactly where p after Holm is
below 0.05.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from core.evaluation.mcnemar import McNemar
from core.evaluation.significance import ALPHA, Both, Draws, Run, compare
from core.evaluation.wilcoxon import LEAST, Wilcoxon
from core.metrics import Metric, named
from core.numbers import count

SAME = 0.01
"""Within this, two models are called the same."""
METHOD = (
    "Accuracy: McNemar's exact test on the rows that one model alone has right, with Tango's score interval at its "
    "critical value. Other metrics, and several seeds: a paired bootstrap over the rows, which the seeds share, with "
    "the spread between seeds (Student's t); of the calibration error each row's two answers change sides by chance in "
    "place of a draw, unless the two models err in unlike ways; below 10 rows that differ there is no "
    "interval. Six folds or more: Wilcoxon's signed ranks. All p are "
    "Holm's over the differences that stand together, and each interval is drawn at the level of its step."
)


class Tested(Protocol):
    """A difference of two models with its test; interval, p and plan are of one thing."""

    @property
    def test(self) -> str:
        """Its name."""

    @property
    def difference(self) -> float:
        """First less second."""

    @property
    def p(self) -> float:
        """Two-sided."""

    @property
    def effect(self) -> float:
        """McNemar: Cohen's g · bootstrap and swaps: Cohen's d over rows · Wilcoxon: rank-biserial correlation."""

    def interval(self, alpha: float) -> tuple[float, float] | None:
        """Leaves out 0 exactly where p is below alpha; None where nothing can be said at this level."""

    def rows_needed(self, alpha: float) -> int | None:
        """For 80 % power at alpha; None where no number of rows would do."""


@dataclass(frozen=True)
class Step:
    """A test within its family."""

    p: float
    """After Holm."""
    alpha: float
    """What its own p is compared with."""


def judge(pairs: Mapping[Run, Both], metric: Metric, draws: Draws | None = None) -> Tested:
    """The test that suits two models on the same rows.

    Args:
        pairs: by seed and fold.
        metric: what they are compared by.
        draws: of the metric, where several comparisons share them.
    """
    draws = draws or Draws(metric)
    folds = sorted({fold for _, fold in pairs if fold >= 0})
    if len(folds) >= LEAST:
        return Wilcoxon(tuple(_of_fold(pairs, fold, draws) for fold in folds))
    if metric.whole_rows and len(pairs) == 1:
        (both,) = pairs.values()
        return McNemar(*one_right(both), both.rows)
    return compare(pairs, draws)


def _of_fold(pairs: Mapping[Run, Both], fold: int, draws: Draws) -> float:
    """The mean difference of its seeds."""
    found = [draws.of(both.first)[0] - draws.of(both.second)[0] for run, both in pairs.items() if run[1] == fold]
    return statistics.fmean(found)


def one_right(both: Both) -> tuple[int, int]:
    """Rows that only the first, and only the second, has right."""
    first, second = both.first.correct > 0, both.second.correct > 0
    return int((first & ~second).sum()), int((second & ~first).sum())


def holm(ps: Sequence[float]) -> list[Step]:
    """p after Holm (1979) and the level of each test's step, in the order given.

    The smallest p is compared with 0.05 / K, the next with 0.05 / (K − 1), and so on. From the first that fails on no
    test succeeds, and all share the level at which it failed: at its own a later one could seem to succeed.
    """
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    steps: dict[int, Step] = {}
    adjusted, left = 0.0, len(ps)
    for number, place in enumerate(order):
        adjusted = min(1.0, max(adjusted, ps[place] * (len(ps) - number)))
        if adjusted < ALPHA:
            left = len(ps) - number - 1
        steps[place] = Step(adjusted, ALPHA / (len(ps) - number if adjusted < ALPHA else left))
    return [steps[place] for place in range(len(ps))]


def better(pair: Mapping[str, Any]) -> str:
    """Which of two models is better, by name; empty where that cannot be said.

    Args:
        pair: as `core.runs.comparison.compare` has it.
    """
    if pair["p_holm"] >= ALPHA:
        return ""
    return str(pair["first" if (pair["difference"] > 0) == (named(pair["metric"]).better == "higher") else "second"])


def same(pair: Mapping[str, Any]) -> bool:
    """Whether the whole interval of a measured difference lies within `SAME`."""
    interval = pair["interval"]
    return not better(pair) and interval is not None and -SAME <= interval[0] and interval[1] <= SAME


def verdict(pair: Mapping[str, Any], letters: Mapping[str, str] | None = None) -> str:
    """What may be said of two models, in words; `letters` stand for their names."""
    if winner := better(pair):
        return f"{(letters or {}).get(winner, winner)} is better"
    if same(pair):
        return f"the same within {SAME}"
    rows = pair["rows_needed"]
    return f"cannot be told apart{f'; about {rough(rows)} rows needed' if rows else ''}"


def finding(pairs: Sequence[Mapping[str, Any]]) -> str:
    """What all pairs of one metric say together, in a sentence."""
    wins = Counter(filter(None, map(better, pairs)))
    if len(pairs) == 1 and not wins:
        (pair,) = pairs
        two = f"{pair['first']} and {pair['second']}"
        return f"{two} are {verdict(pair)}." if same(pair) else f"{two} {verdict(pair)}."
    if not wins:
        return f"No two of the {len(models(pairs))} models can be told apart."
    won: dict[tuple[str, ...], list[str]] = {}
    for name, _ in wins.most_common():
        beaten = (str(pair["second" if pair["first"] == name else "first"]) for pair in pairs if better(pair) == name)
        won.setdefault(tuple(beaten), []).append(name)
    told = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} better than {listed(beaten)}"
        for beaten, names in won.items()
    ]
    open_pairs = len(pairs) - wins.total()
    rest = [f"{open_pairs} of {len(pairs)} pairs cannot be told apart"] if open_pairs else []
    return f"{'; '.join([*told, *rest])}."


def models(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Who is compared."""
    return list(dict.fromkeys(str(pair[side]) for pair in pairs for side in ("first", "second")))


def listed(names: Sequence[str]) -> str:
    """`A, B and C`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def rough(rows: int) -> str:
    """How many rows are needed, to two digits: the difference itself is not known better."""
    return count(round(rows, 2 - len(str(rows))))


def lettered(names: Sequence[str]) -> dict[str, str]:
    """A, B, C … for names, for tables of pairs; beyond Z their numbers."""
    return {name: chr(65 + place) if place < 26 else str(place + 1) for place, name in enumerate(names)}
