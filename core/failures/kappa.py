"""How far two authors agree on the rows that both have coded: Cohen's κ."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.evaluation.intervals import LEVEL
from core.exceptions import InputError
from core.failures.coded import Coded
from core.failures.names import known_as


class Kappa(NamedTuple):
    """κ and its 95 % interval; None where both always say the same one thing."""

    value: float | None
    interval: tuple[float, float] | None


def cohen(first: Sequence[Hashable], second: Sequence[Hashable]) -> Kappa:
    """Cohen's κ (1960) of two raters of the same n rows: agreement beyond chance as a share of what is beyond it.

    The interval is the normal one with the variance of Fleiss, Cohen and Everitt (Psychological Bulletin 1969).
    """
    kinds = {each: place for place, each in enumerate(dict.fromkeys((*first, *second)))}
    table = np.zeros((len(kinds), len(kinds)))
    np.add.at(table, ([kinds[each] for each in first], [kinds[each] for each in second]), 1.0)
    return _of_table(table)


def _of_table(table: np.ndarray) -> Kappa:
    """Of rows by what the first rater says of them and, across, the second."""
    n = table.sum()
    shares = table / max(1, n)
    rows, columns = shares.sum(1), shares.sum(0)
    observed, chance = float(np.trace(shares)), float(rows @ columns)
    if chance >= 1 or not n:
        return Kappa(None, None)
    kappa = (observed - chance) / (1 - chance)
    beside = rows[None, :] + columns[:, None]  # of cell (i, j): how often the first says j and the second i
    agreed = (np.diag(shares) * (1 - (rows + columns) * (1 - kappa)) ** 2).sum()
    apart = (1 - kappa) ** 2 * ((shares * beside**2).sum() - (np.diag(shares) * np.diag(beside) ** 2).sum())
    spread = agreed + apart - (kappa - chance * (1 - kappa)) ** 2
    half = statistics.NormalDist().inv_cdf((1 + LEVEL) / 2)
    half *= math.sqrt(max(0.0, spread) / n) / (1 - chance)
    return Kappa(kappa, (max(-1.0, kappa - half), min(1.0, kappa + half)))


def agreement(coded: Coded, first: str, second: str, keys: Sequence[str]) -> dict[str, Any]:
    """Two authors on the rows of a selection that both have coded.

    Returns:
        `first` and `second`; `n` rows that both have coded; `same`, on how many all codes are the same; `kappa` and its
        95 % `interval` with all codes of a row as one; `codes`: of each `code` that one of them gave, `first`, `second`
        and `both` rows, its own `kappa` and `interval`; `apart`: the `key` of each row that they coded differently, and
        the codes of the `first` and the `second`.

    Raises:
        InputError: one of them has coded nothing.
    """
    authors = coded.authors
    for author in (first, second):
        if author not in authors:
            raise InputError(
                f"{known_as(author)} has coded nothing; coded have: {', '.join(map(known_as, authors)) or 'none'}"
            )
    both = [key for key in keys if first in (said := coded.given.get(key, {})) and second in said]
    ours, theirs = ([coded.given[key][author] for key in both] for author in (first, second))
    whole = cohen(ours, theirs)
    one, other = (Counter(code for codes in each for code in codes) for each in (ours, theirs))
    same = Counter(code for a, b in zip(ours, theirs, strict=True) for code in a if code in b)
    codes = [_of_code(name, len(both), one[name], other[name], same[name]) for name in sorted({*one, *other})]
    apart = [
        {"key": key, "first": list(a), "second": list(b)}
        for key, a, b in zip(both, ours, theirs, strict=True)
        if a != b
    ]
    return {
        "first": first,
        "second": second,
        "n": len(both),
        "same": len(both) - len(apart),
        **_told(whole),
        "codes": codes,
        "apart": apart,
    }


def _of_code(name: str, n: int, first: int, second: int, both: int) -> dict[str, Any]:
    """One code, of `n` rows: how many have it by the `first`, by the `second`, by `both`."""
    table = np.array([[both, first - both], [second - both, n - first - second + both]], float)
    return {"code": name, "first": first, "second": second, "both": both, **_told(_of_table(table))}


def _told(found: Kappa) -> dict[str, Any]:
    return {"kappa": found.value, "interval": None if found.interval is None else list(found.interval)}
