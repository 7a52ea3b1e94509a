"""What marks a selection: own columns and tags by how much their values differ between it and the other rows.

Measured by Cramér's V with the bias correction of Bergsma (Journal of the Korean Statistical Society 2013), 0 to 1, of
selected or not against the values (`core.evaluation.groups`: numbers in quarters, rare values together; dates in
quarters too); p is that of the chi-square test, after Holm over all that are ranked, and None where counts are too few
for it (Cochran 1954: an expected one below 1, or a fifth of them below 5).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from core.evaluation.comparison import holm
from core.evaluation.groups import Groups, grouped
from core.failures.dates import quarters
from core.failures.facets import times_of
from core.failures.table import Table

YES, NO = "yes", "no"


def grouped_columns(table: Table) -> dict[str, Groups]:
    """The rows by the value of each own column, of many dates by quarters, for many selections of them."""
    times = {name: times_of(table, name) for name in table.own}
    return {name: grouped(table.frame[name]) if each is None else quarters(each) for name, each in times.items()}


def marking(
    table: Table,
    tags: Mapping[str, np.ndarray],
    chosen: np.ndarray,
    without: Collection[str] = (),
    groups: Mapping[str, Groups] | None = None,
) -> list[dict[str, Any]]:
    """Own columns and tags, the one that marks the selection most first.

    Args:
        table: of all rows.
        tags: by name, (n,) bool.
        chosen: (n,) bool.
        without: columns and tags that are left out, since the selection was made by them.
        groups: as `grouped_columns` gives them; None: they are made.

    Returns:
        Of each `name` its `kind` (`column` or `tag`), `v`, `p` and `p_holm`, and the `value` that the selection has
        most more often than the rest: `selected` rows of it and their `share`, `rest` and `rest_share`; empty where
        nothing or everything is selected.
    """
    if chosen.all() or not chosen.any():
        return []
    found = []
    for name, values in (grouped_columns(table) if groups is None else groups).items():
        if name not in without:
            found.append({"name": name, "kind": "column", **_of(values.place, list(values.names), chosen)})
    for name in (name for name in tags if name not in without):
        found.append({"name": name, "kind": "tag", **_of(tags[name].astype(np.int64), [NO, YES], chosen)})
    found = [each for each in found if each["v"] is not None]
    tested = [each for each in found if each["p"] is not None]
    for each, step in zip(tested, holm([each["p"] for each in tested]), strict=True):
        each["p_holm"] = step.p
    return sorted(found, key=lambda each: (-each["v"], each["name"]))


def cramer(counts: np.ndarray) -> tuple[float, float | None]:
    """Bias-corrected V and p of a table of counts whose rows and columns all have some.

    Args:
        counts: (2, k).
    """
    from scipy.special import chdtrc

    n, (rows, columns) = counts.sum(), counts.shape
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / n
    square = float(((counts - expected) ** 2 / expected).sum())
    free = (rows - 1) * (columns - 1)
    phi = max(0.0, square / n - free / (n - 1))
    sides = (side - (side - 1) ** 2 / (n - 1) for side in (rows, columns))
    few = expected.min() < 1 or (expected < 5).mean() > 0.2
    least = min(sides) - 1
    return math.sqrt(phi / least) if least > 0 else 0.0, None if few else float(chdtrc(free, square))


def _of(place: np.ndarray, names: list[str], chosen: np.ndarray) -> dict[str, Any]:
    inside, rest = (np.bincount(place[rows], minlength=len(names)) for rows in (chosen, ~chosen))
    there = np.flatnonzero(inside + rest)
    if len(there) < 2:
        return {"v": None}
    v, p = cramer(np.stack([inside, rest])[:, there])
    shares = inside / inside.sum(), rest / rest.sum()
    top = names.index(YES) if names == [NO, YES] else int((shares[0] - shares[1]).argmax())
    return {
        "v": v,
        "p": p,
        "p_holm": None,
        "value": names[top],
        "selected": int(inside[top]),
        "share": float(shares[0][top]),
        "rest": int(rest[top]),
        "rest_share": float(shares[1][top]),
    }
