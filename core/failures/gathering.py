"""Where errors gather: tags, values of the data's own columns, and slices of two, with the risk of an error in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.failures import risk
from core.failures.facets import OUTCOME, TAG, Facet
from core.failures.found import Slice, slices
from core.failures.selection import Selection, in_words
from core.failures.table import SEVERAL
from core.failures.tags import BY_DEFINITION

TAGGED = f"{TAG}="


def gathered(facets: Sequence[Facet], tags: Mapping[str, np.ndarray], wrong: np.ndarray) -> list[dict[str, Any]]:
    """Every tag and every value of an own column, one family for the correction: see `core.api.errors`.

    Args:
        facets: the words of the table; what says itself that a row is wrong, and classes, are left out.
        tags: by name, (n,) bool; also those that no row has.
        wrong: (n,) bool.

    Returns:
        rows of `core.failures.risk.table`, whose `tag` is the rule that selects its rows.
    """
    own = [facet for facet in facets if facet.name not in (OUTCOME, TAG, "truth", "said", *SEVERAL)]
    has = {f"{TAGGED}{name}": each for name, each in tags.items()}
    has |= {str(option.clause): option.has for facet in own for option in facet.options}
    return risk.table(has, wrong, frozenset(f"{TAGGED}{name}" for name in BY_DEFINITION))


def found(facets: Sequence[Facet], wrong: np.ndarray) -> list[dict[str, Any]]:
    """The slices of `core.failures.found` as plain data: `select` and `said` are the selection and its words."""
    rows = []
    for each in slices(facets, wrong).slices:
        row = {"select": rules_of(each), "said": in_words(each.clauses), "n": each.risk.n, "wrong": each.risk.wrong}
        row |= {"rate": each.risk.rate, "excess": each.risk.excess, "p_holm": each.p_holm}
        ratio, *ends = (value if math.isfinite(value) else None for value in (each.risk.ratio, *each.interval))
        rows.append({**row, "ratio": ratio, "ratio_interval": ends})
    return rows


def rules_of(one: Slice) -> str:
    """Its rules, as a link has them."""
    return str(Selection(tuple(map(str, one.clauses))))
