"""The sentences of a split that are nearest to one of them, or to any text, in a space of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.evaluation.neighbourhood import NEIGHBOURS, nearest
from core.exceptions import InputError
from core.failures.report import records
from core.failures.table import Table
from core.runs.projections import Space

MOST = 200
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


def report(found: pd.DataFrame) -> list[dict[str, Any]]:
    """Them as plain data."""
    return records(found)
