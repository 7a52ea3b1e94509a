"""What the points of a map are coloured by: groups that share a colour, or a value of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from core.exceptions import InputError
from core.failures.dates import dates, quarters
from core.failures.found_groups import FoundGroups
from core.runs.record import LABEL
from dashboard.figures.decisions import COLUMN, PHENOMENON, PREDICTED
from dashboard.figures.theme import Tokens, class_colours

Floats = NDArray[np.floating]
COLOURS = ("label", "prediction", "correctness", "confidence")
GROUP = "found group"
"""The way of colouring by the groups that were found in embedding space."""
OF = "label "
"""Before a label, the way of colouring by it, where sentences may have several."""
KINDS = 6
"""Kinds with a colour of their own: more categories than six are hard to tell apart."""
MOSTLY = 0.5
"""Share of the sentences whose kind has a colour: a column with less, such as one of names, is no way of colouring."""


@dataclass(frozen=True)
class Group:
    """Points that share a colour."""

    name: str
    points: NDArray[np.integer]
    """Positions on the map."""
    colour: str
    symbol: str = "circle"
    front: bool = False
    """Drawn above the others, a little larger."""


@dataclass(frozen=True)
class Shades:
    """One value for each point instead of groups."""

    title: str
    values: Floats
    low: float
    high: float


def ways(points: pd.DataFrame) -> list[str]:
    """What the points can be coloured by."""
    bits = [f"{OF}{name.removeprefix(LABEL)}" for name in map(str, points) if name.startswith(LABEL)]
    first = [*bits, *(way for way in COLOURS if way not in ("label", "prediction"))] if bits else list(COLOURS)
    return [*first, *([PHENOMENON] if PHENOMENON in points else []), *_own(points), GROUP]


def colouring(
    points: pd.DataFrame, way: str, classes: Sequence[str], tokens: Tokens, *, ordered: bool = False
) -> list[Group] | Shades:
    """The placed `points`, in the order of the map, as groups or shades."""
    if way.startswith(OF):
        return _with_label(points, way.removeprefix(OF), tokens)
    if way == "confidence":
        least = 0.0 if any(str(name).startswith(LABEL) for name in points) else 1 / len(classes)
        return Shades("P(predicted)", points["probability"].to_numpy(float), least, 1.0)
    if way == "correctness":
        wrong = (points["label"] != points["predicted"]).to_numpy()
        return [
            Group("correct", np.flatnonzero(~wrong), tokens.right),
            Group("wrong", np.flatnonzero(wrong), tokens.wrong, "x", front=True),
        ]
    if way == PHENOMENON:
        return _kinds(points[PHENOMENON].astype(str), tokens)
    if way in (own := _own(points)):
        values = own[way]
        if is_numeric_dtype(values) and values.nunique() > KINDS:
            return Shades(way, values.to_numpy(float), float(values.min()), float(values.max()))
        return _kinds(values.astype(str), tokens)
    column = points["label" if way == "label" else "predicted"].to_numpy()
    return [
        Group(name, np.flatnonzero(column == name), colour)
        for name, colour in zip(classes, class_colours(tokens, classes, ordered=ordered), strict=True)
    ]


def by_group(rows: NDArray[np.integer], found: FoundGroups | None, tokens: Tokens) -> list[Group]:
    """The largest groups in colour, all others and what belongs to none in grey behind them."""
    groups = () if found is None else found.groups
    at = [np.flatnonzero(np.isin(rows, each.places)) for each in groups]
    here = [(each.name, places) for each, places in zip(groups, at, strict=True) if len(places)]
    coloured = [
        Group(name, places, colour, front=True)
        for (name, places), colour in zip(here[:KINDS], tokens.categories, strict=False)
    ]
    others = np.concatenate([places for _, places in here[KINDS:]]) if here[KINDS:] else np.empty(0, np.int64)
    none = np.setdiff1d(np.arange(len(rows)), np.concatenate([*at, np.empty(0, np.int64)]))
    rest = (Group("no group", none, tokens.right), Group("smaller groups", others, tokens.right, "diamond"))
    return [*(each for each in rest if len(each.points)), *coloured]


def _with_label(points: pd.DataFrame, label: str, tokens: Tokens) -> list[Group]:
    """The sentences that have a label, found or missed at 0.5, in front of all others."""
    has = points[f"{LABEL}{label}"].to_numpy() != 0
    found = points[f"{PREDICTED}{label}"].to_numpy(bool)
    return [
        Group("others", np.flatnonzero(~has & ~found), tokens.right),
        Group(f"predicted {label}, is not", np.flatnonzero(~has & found), tokens.wrong, "x"),
        Group(f"{label}, missed", np.flatnonzero(has & ~found), tokens.categories[1], "diamond", front=True),
        Group(f"{label}, found", np.flatnonzero(has & found), tokens.accent, front=True),
    ]


def _own(points: pd.DataFrame) -> dict[str, pd.Series]:
    """The data's own columns that colours can show, by the name of the way: numbers, or mostly a few kinds."""
    found = {}
    for name in map(str, points):
        column = points[name]
        if not name.startswith(COLUMN) or column.nunique() < 2:
            continue
        column = _read(column)
        numbers = is_numeric_dtype(column) and not is_bool_dtype(column) and np.isfinite(column.to_numpy(float)).all()
        if numbers or column.astype(str).value_counts(normalize=True).iloc[:KINDS].sum() >= MOSTLY:
            own = name.removeprefix(COLUMN)
            found[f"data {own}" if own in (*COLOURS, GROUP) or own.startswith(OF) else own] = column
    return found


def _read(column: pd.Series) -> pd.Series:
    """A column as a file has it, where everything is text: its numbers, or its times in quarters; else itself.

    Whole numbers of which no two are alike are names of rows.
    """
    if is_numeric_dtype(column) or is_bool_dtype(column):
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        return column if column.is_unique and not (numbers % 1).any() else numbers
    try:
        times = dates(column)
    except InputError:  # day and month cannot be told apart
        return column
    if times is None or times.nunique() <= KINDS:
        return column
    found = quarters(times)
    return pd.Series(np.array(found.names, object)[found.place], column.index)


def _kinds(column: pd.Series, tokens: Tokens) -> list[Group]:
    """The most frequent kinds in colour, all others together in grey behind them."""
    order = list(column.value_counts().index[:KINDS])
    groups = [
        Group(kind, np.flatnonzero(column == kind), colour, front=True)
        for kind, colour in zip(order, tokens.categories, strict=False)
    ]
    rest = np.flatnonzero(~column.isin(order))
    return [Group("others", rest, tokens.right), *groups] if len(rest) else groups
