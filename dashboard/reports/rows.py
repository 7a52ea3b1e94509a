"""The predictions of a split as columns that the script of a report shows, searches, filters and writes as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.failures.coded import Coded
from core.failures.names import known_as
from core.failures.table import SEVERAL, Table

EXACT = 2**53  # up to here a browser's numbers are exact: ids beyond are words
FEW = 60  # values of a column up to which it can be chosen by
MOST_ROWS, MOST_BYTES = 25_000, 5_000_000
"""Rows, and bytes of what is written in them, that a report holds; what was coded and what is wrong come first."""


@dataclass(frozen=True)
class Kept:
    """The rows that a report holds."""

    places: np.ndarray  # (m,) of the table, rising
    of: int  # rows of the table

    @property
    def whole(self) -> bool:
        """Return whether the report holds all rows."""
        return len(self.places) == self.of


def kept(wrong: np.ndarray, sizes: Sequence[int] | np.ndarray, coded: np.ndarray | None = None) -> Kept:
    """Choose the rows that a report holds within its limits: all coded rows, then errors first."""
    given = np.zeros(len(wrong), bool) if coded is None else coded
    order = np.argsort(np.select([given, wrong], [0, 1], 2), kind="stable")
    place = np.arange(len(order))
    fits = (place < MOST_ROWS) & (np.cumsum(np.asarray(sizes)[order]) <= MOST_BYTES)
    return Kept(np.sort(order[fits | (place < given.sum())]), len(wrong))


def sizes(table: Table) -> np.ndarray:
    """Return (n,) bytes of each row's text and own columns."""
    written = [table.texts, *(map(str, table.frame[name]) for name in table.own)]
    return np.array([[len(cell.encode("utf-8", "replace")) for cell in column] for column in written]).sum(0)


def text_column(label: str, values: Iterable[Any], **more: Any) -> dict[str, Any]:
    """Return a column of text, which can be searched."""
    return {"label": label, "kind": "text", "values": ["" if each is None else str(each) for each in values], **more}


def aside(column: dict[str, Any]) -> dict[str, Any]:
    """Mark a column as one that is not printed."""
    return {**column, "aside": True}


def number_column(label: str, values: Any, places: int = 3) -> dict[str, Any]:
    """Return a column of numbers; missing and infinite ones are left empty."""
    plain = [round(each, places + 2) if math.isfinite(each) else None for each in np.asarray(values, float).tolist()]
    return {"label": label, "kind": "number", "places": places, "values": plain}


def choice_column(label: str, values: Iterable[Any], order: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Return a column with one of few words in each row, as numbers of `options`."""
    column = set_column(label, [[str(each)] for each in values], order)
    return column | {"kind": "choice", "values": [place for (place,) in column["values"]], **more}


def set_column(label: str, values: Sequence[Sequence[str]], order: Sequence[str] = ()) -> dict[str, Any]:
    """Return a column with some of few words in each row, as numbers of `options`."""
    there = {name for each in values for name in each}
    options = list(dict.fromkeys((*(name for name in order if name in there), *sorted(there))))
    place = {name: at for at, name in enumerate(options)}
    return {"label": label, "kind": "set", "options": options, "values": [[place[n] for n in each] for each in values]}


def of_run(table: Table, places: np.ndarray, tags: Mapping[str, np.ndarray], *, told: bool) -> list[dict[str, Any]]:
    """Return the columns of a run's rows, with `tags` by name, and with texts and keys where these may be shown."""
    frame, classes = table.frame.iloc[places], list(table.classes)
    columns = _named(frame, told=told)
    wrong = ["wrong" if each else "right" for each in frame["wrong"].tolist()]
    columns.append(choice_column("outcome", wrong, ("wrong", "right"), marks="wrong"))
    columns += _labels(table, frame, classes)
    columns += [number_column("p_said", frame["p_said"])]
    columns += [aside(number_column(name, frame[name])) for name in ("p_truth", "margin")]
    names = list(tags)
    has = np.array([tags[name][places] for name in names], bool).reshape(len(names), -1).T
    columns.append(aside(set_column("tags", [[names[at] for at in np.flatnonzero(row)] for row in has], names)))
    columns += [aside(_own(name, frame[name])) for name in table.own]
    return columns + _keys(frame, told=told)


def _named(frame: pd.DataFrame, *, told: bool) -> list[dict[str, Any]]:
    row = number_column("row", frame["row"], 0)
    return [row, text_column("text", frame["text"], main=True)] if told else [row]


def _keys(frame: pd.DataFrame, *, told: bool) -> list[dict[str, Any]]:
    return [aside(text_column("key", frame["key"], small=True))] if told else []


def _labels(table: Table, frame: pd.DataFrame, classes: list[str]) -> list[dict[str, Any]]:
    if table.task == "single":
        return [choice_column(name, frame[name], classes) for name in ("truth", "said")]
    places = frame.index.to_numpy()
    columns = [
        set_column(name, [[classes[at] for at in np.flatnonzero(row)] for row in has[places]], classes)
        for name, has in (("truth", table.true), ("said", table.said))
    ]
    return columns + [text_column(name, frame[name]) for name in SEVERAL]


def _own(name: str, column: pd.Series) -> dict[str, Any]:
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numbers and not (pd.api.types.is_integer_dtype(column) and column.abs().max() > EXACT):
        whole = bool((column.dropna() % 1 == 0).all())
        return number_column(name, column.astype(float), 0 if whole else 3)
    words = ["" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return choice_column(name, words) if len(set(words)) <= FEW else text_column(name, words)


def of_codes(coded: Coded, keys: Sequence[str], *, told: bool) -> list[dict[str, Any]]:
    """Return the columns of codes and notes, these with their authors; none if there are no annotations."""
    codes = [coded.of(key) for key in keys]
    notes = [coded.notes.get(key, {}) for key in keys]
    columns = []
    if any(codes):
        columns.append(set_column("codes", codes, [code.name for code in coded.book]))
    if told and any(notes):
        columns.append(text_column("notes", [_notes(each) for each in notes]))
    return columns


def _notes(said: Mapping[str, str]) -> str:
    return "; ".join(f"{known_as(author)}: {note}" if author else note for author, note in said.items())


def of_models(tables: Mapping[str, Table], places: np.ndarray, *, told: bool) -> list[dict[str, Any]]:
    """Return the columns of several runs on the same rows: which are right, and what each predicts."""
    first = next(iter(tables.values()))
    frame, classes = first.frame.iloc[places], list(first.classes)
    columns = _named(frame, told=told)
    columns.append(choice_column("who is right", _right(tables, places), ("nobody", "all")))
    columns += _labels(first, frame, classes)[:1]
    for name, table in tables.items():
        own = table.frame.iloc[places]
        said = _labels(table, own, classes)[1]
        columns += [said | {"label": f"said by {name}"}, aside(number_column(f"p_truth of {name}", own["p_truth"]))]
    return columns + [aside(_own(name, frame[name])) for name in first.own] + _keys(frame, told=told)


def _right(tables: Mapping[str, Table], places: np.ndarray) -> list[str]:
    names, right = list(tables), np.array([~table.wrong[places] for table in tables.values()])
    found = []
    for row in right.T:
        who = [name for name, is_right in zip(names, row, strict=True) if is_right]
        found.append("all" if len(who) == len(names) else f"only {', '.join(who)}" if who else "nobody")
    return found
