"""The sentences of a split that are nearest to one or several of them, or to any text, in a space of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.evaluation.neighbourhood import NEIGHBOURS, counted, nearest
from core.exceptions import InputError
from core.failures.report import records
from core.failures.table import Table
from core.runs.projections import Space

MOST = 200
LOOKED_AT = 500
"""Of several rows so many are asked for their neighbours, a sample of more."""
SHOWN = ["key", "row", "text", "truth", "said", "wrong"]


def place_of(table: Table, key: str) -> int:
    """The row of a key.

    Raises:
        InputError: no row has it.
    """
    found = np.flatnonzero((table.frame["key"] == key).to_numpy())
    if not len(found):
        raise InputError(
            f"no sentence of {table.split} has the key {key!r}; `sentiscope errors` and CSV files have them"
        )
    return int(found[0])


def neighbours(
    table: Table, space: Space, asked: np.ndarray, own: int | None = None, most: int = NEIGHBOURS
) -> pd.DataFrame:
    """The nearest rows by Euclidean distance, the nearest first: `SHOWN` and `distance`.

    Args:
        table: of the split.
        space: its rows, or some of them.
        asked: (d,).
        own: the row of the split that it is, which is no neighbour of itself; None: it is none of them.
        most: rows.

    Raises:
        InputError: so many cannot be asked for.
    """
    if not 1 <= most <= MOST:
        raise InputError(f"--most {most}: a number of sentences from 1 to {MOST}")
    at = np.flatnonzero(space.rows == own) if own is not None else np.empty(0, np.int64)
    rows, distances = nearest(asked[None], space.vectors, most, at if len(at) else None)
    return table.frame[SHOWN].iloc[space.rows[rows[0]]].assign(distance=distances[0])


def around(table: Table, space: Space, places: np.ndarray, most: int = NEIGHBOURS) -> pd.DataFrame:
    """The rows outside of some that are nearest to most of these: `SHOWN`, `near` and `distance`.

    Each has its ten nearest of the rows outside. One of them counts once for every row that has it among its ten
    (`near`); `distance` is the mean to these, Euclidean. Near to most first, then the nearest.

    Args:
        table: of the split.
        space: its rows, or some of them.
        places: (k,) rows of the table; of more than `LOOKED_AT` a sample is looked at.
        most: rows.
    """
    inside = np.isin(space.rows, places)
    asked, outside = space.vectors[inside], np.flatnonzero(~inside)
    if len(asked) > LOOKED_AT:
        asked = asked[np.sort(np.random.default_rng(0).choice(len(asked), LOOKED_AT, replace=False))]
    at, distances = nearest(asked, space.vectors[outside], NEIGHBOURS)
    votes, mean = counted(at, distances, len(outside))
    order = np.lexsort((mean, -votes))
    first = order[votes[order] > 0][:most]
    return table.frame[SHOWN].iloc[space.rows[outside[first]]].assign(near=votes[first], distance=mean[first])


def report(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Them as plain data."""
    return records(found)
