"""Metrics for each group of rows with the same value of a column, such as source, length or phenomenon."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.data.dataset import Task
from core.evaluation.intervals import compute_intervals
from core.evaluation.metrics import evaluate
from core.exceptions import InputError
from core.formatting import count, format_exact

MOST = 30  # values that get a group, at most
FEWEST = 10  # rows that a group needs
QUARTERS = 12  # a column with more different numbers is cut into quarters
MISSING = "(none)"


@dataclass(frozen=True)
class RowGroups:
    """The rows of a split grouped by the value of a column."""

    names: tuple[str, ...]  # the largest first; quarters of numbers in their order
    place: np.ndarray  # (n,) int64 positions in `names`
    folded: int = 0  # values with few rows, which share the last group
    folded_rows: int = 0


def group_rows(column: pd.Series) -> RowGroups:
    """Group rows by the value of a column; cut a column of many numbers into quarters, and join rare values."""
    numbers = pd.to_numeric(column, errors="coerce")
    if not column.isna().all() and numbers.notna().equals(column.notna()) and numbers.nunique() > QUARTERS:
        return cut_quarters(numbers, format_exact)
    words = column.map(_format_value, na_action="ignore").fillna(MISSING).astype("str")
    rows = words.value_counts()
    rows = rows.loc[sorted(rows.index, key=lambda name: (-rows[name], name))]
    own = [name for name in rows.index if rows[name] >= FEWEST][:MOST] if len(rows) > 2 else list(rows.index)
    rare = [name for name in rows.index if name not in set(own)]
    if len(rare) == 1 and len(own) < MOST:
        own, rare = [*own, *rare], []
    names = (*own, f"{count(len(rare))} rare values") if rare else tuple(own)
    place = {name: number for number, name in enumerate(own)}
    places = words.map(lambda name: place.get(name, len(own))).to_numpy(np.int64)
    return RowGroups(names, places, len(rare), int(rows[rare].sum()))


def evaluate_groups(
    groups: RowGroups,
    labels: np.ndarray,
    probabilities: np.ndarray,
    task: Task = "single",
    thresholds: np.ndarray | float = 0.5,
    *,
    ordered: bool = False,
) -> list[dict[str, Any]]:
    """Evaluate the predictions of each group of rows; return its `value`, `n`, `metrics` and `intervals`."""
    found = []
    for number, name in enumerate(groups.names):
        rows = np.flatnonzero(groups.place == number)
        given = labels[rows], probabilities[rows], task, thresholds
        metrics, ranges = evaluate(*given, ordered=ordered), compute_intervals(*given, ordered=ordered)
        found.append({"value": name, "n": len(rows), "metrics": metrics, "intervals": ranges})
    return found


def read_column(rows: pd.DataFrame, name: str, classes: Sequence[str]) -> pd.Series:
    """Return a column of a split's rows, labels as class names; InputError if there is no such column."""
    own = [str(each) for each in rows.columns if each != "text"]
    if name not in own:
        raise InputError(f"--by {name}: the data have no such column; there are {', '.join(own)}")
    if name != "label":
        return rows[name]
    several = [each if isinstance(each, tuple) else (each,) for each in rows["label"]]
    return pd.Series([", ".join(classes[number] for number in each) or MISSING for each in several])


def cut_quarters(column: pd.Series, write: Callable[[Any], str]) -> RowGroups:
    """Group rows into quarters by a column of numbers or dates; equal values stay together, missing ones are last."""
    edges = column.dropna().quantile([0.25, 0.5, 0.75]).drop_duplicates().to_numpy()
    places = np.where(column.isna(), len(edges) + 1, np.searchsorted(edges, column.to_numpy()))
    there, place = np.unique(places, return_inverse=True)
    names = []
    for each in there:
        inside = column[places == each]
        names.append(MISSING if each > len(edges) else f"{write(inside.min())} to {write(inside.max())}")
    return RowGroups(tuple(names), place.astype(np.int64))


def _format_value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip() or MISSING
