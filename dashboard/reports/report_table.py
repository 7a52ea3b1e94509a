"""The table of predictions in a report, which readers can search, filter and save as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.error_analysis.annotation_store import name_author
from core.error_analysis.predictions_table import SEVERAL, PredictionTable
from core.error_analysis.row_annotations import Annotations

EXACT = 2**53  # larger integers are not exact in a browser, so they are written as text
FEW = 60  # most distinct values of a column with a menu to filter by
MOST_ROWS, MOST_BYTES = 25_000, 5_000_000
"""Limits of rows and of their bytes of text in a report; coded sentences and errors come first."""


@dataclass(frozen=True)
class KeptRows:
    """The numbers of the rows of a prediction table that fit into a report."""

    places: np.ndarray  # (m,) row numbers of the table, ascending
    of: int  # rows of the table

    @property
    def whole(self) -> bool:
        """Return whether a report contains all rows of the prediction table."""
        return len(self.places) == self.of


def select_rows(wrong: np.ndarray, sizes: Sequence[int] | np.ndarray, coded: np.ndarray | None = None) -> KeptRows:
    """Select the prediction rows that fit into a report: all rows with annotation codes, then errors, then others."""
    given = np.zeros(len(wrong), bool) if coded is None else coded
    order = np.argsort(np.select([given, wrong], [0, 1], 2), kind="stable")
    place = np.arange(len(order))
    fits = (place < MOST_ROWS) & (np.cumsum(np.asarray(sizes)[order]) <= MOST_BYTES)
    return KeptRows(np.sort(order[fits | (place < given.sum())]), len(wrong))


def measure_rows(table: PredictionTable) -> np.ndarray:
    """Return the size of each row in bytes, counting the text and the columns of the user's data."""
    written = [table.texts, *(map(str, table.frame[name]) for name in table.own)]
    return np.array([[len(cell.encode("utf-8", "replace")) for cell in column] for column in written]).sum(0)


def make_text_column(label: str, values: Iterable[Any], **more: Any) -> dict[str, Any]:
    """Return a searchable text column for the prediction table of a report."""
    return {"label": label, "kind": "text", "values": ["" if each is None else str(each) for each in values], **more}


def hide_in_print(column: dict[str, Any]) -> dict[str, Any]:
    """Return a column of a report's prediction table, marked to be left out in print."""
    return {**column, "aside": True}


def make_number_column(label: str, values: Any, places: int = 3) -> dict[str, Any]:
    """Return a number column for the prediction table of a report; missing and infinite values are left empty."""
    plain = [round(each, places + 2) if math.isfinite(each) else None for each in np.asarray(values, float).tolist()]
    return {"label": label, "kind": "number", "places": places, "values": plain}


def make_choice_column(label: str, values: Iterable[Any], order: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Return a table column with one category in each row, stored as indices into its list of `options`."""
    column = make_set_column(label, [[str(each)] for each in values], order)
    return column | {"kind": "choice", "values": [place for (place,) in column["values"]], **more}


def make_set_column(label: str, values: Sequence[Sequence[str]], order: Sequence[str] = ()) -> dict[str, Any]:
    """Return a table column with any number of categories in each row, as indices into its list of `options`."""
    there = {name for each in values for name in each}
    options = list(dict.fromkeys((*(name for name in order if name in there), *sorted(there))))
    place = {name: at for at, name in enumerate(options)}
    return {"label": label, "kind": "set", "options": options, "values": [[place[n] for n in each] for each in values]}


def list_run_columns(
    table: PredictionTable, places: np.ndarray, tags: Mapping[str, np.ndarray], *, told: bool
) -> list[dict[str, Any]]:
    """Return the columns of a run's prediction table for a report, optionally with texts and row keys."""
    frame, classes = table.frame.iloc[places], list(table.classes)
    columns = _list_text_columns(frame, told=told)
    wrong = ["wrong" if each else "right" for each in frame["wrong"].tolist()]
    columns.append(make_choice_column("outcome", wrong, ("wrong", "right"), marks="wrong"))
    columns += _list_label_columns(table, frame, classes)
    columns += [make_number_column("p_predicted", frame["p_predicted"])]
    columns += [hide_in_print(make_number_column(name, frame[name])) for name in ("p_true", "margin")]
    names = list(tags)
    has = np.array([tags[name][places] for name in names], bool).reshape(len(names), -1).T
    given = [[names[at] for at in np.flatnonzero(row)] for row in has]
    columns.append(hide_in_print(make_set_column("tags", given, names)))
    columns += [hide_in_print(_make_own_column(name, frame[name])) for name in table.own]
    return columns + _list_key_columns(frame, told=told)


def _list_text_columns(frame: pd.DataFrame, *, told: bool) -> list[dict[str, Any]]:
    row = make_number_column("row", frame["row"], 0)
    return [row, make_text_column("text", frame["text"], main=True)] if told else [row]


def _list_key_columns(frame: pd.DataFrame, *, told: bool) -> list[dict[str, Any]]:
    return [hide_in_print(make_text_column("key", frame["key"], small=True))] if told else []


def _list_label_columns(table: PredictionTable, frame: pd.DataFrame, classes: list[str]) -> list[dict[str, Any]]:
    if table.task == "single":
        return [make_choice_column(name, frame[name], classes) for name in ("true", "predicted")]
    places = frame.index.to_numpy()
    columns = [
        make_set_column(name, [[classes[at] for at in np.flatnonzero(row)] for row in has[places]], classes)
        for name, has in (("true", table.true), ("predicted", table.said))
    ]
    return columns + [make_text_column(name, frame[name]) for name in SEVERAL]


def _make_own_column(name: str, column: pd.Series) -> dict[str, Any]:
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numbers and not (pd.api.types.is_integer_dtype(column) and column.abs().max() > EXACT):
        whole = bool((column.dropna() % 1 == 0).all())
        return make_number_column(name, column.astype(float), 0 if whole else 3)
    words = ["" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return make_choice_column(name, words) if len(set(words)) <= FEW else make_text_column(name, words)


def list_code_columns(coded: Annotations, keys: Sequence[str], *, told: bool) -> list[dict[str, Any]]:
    """Return two table columns, one of annotation codes and one of notes with authors; empty without annotations."""
    codes = [coded.get_codes(key) for key in keys]
    notes = [coded.notes.get(key, {}) for key in keys]
    columns = []
    if any(codes):
        columns.append(make_set_column("codes", codes, [code.name for code in coded.book]))
    if told and any(notes):
        columns.append(make_text_column("notes", [_join_notes(each) for each in notes]))
    return columns


def _join_notes(said: Mapping[str, str]) -> str:
    return "; ".join(f"{name_author(author)}: {note}" if author else note for author, note in said.items())


def list_model_columns(
    tables: Mapping[str, PredictionTable], places: np.ndarray, *, told: bool
) -> list[dict[str, Any]]:
    """Return the columns that compare several runs on the same rows: which runs are right, and each prediction."""
    first = next(iter(tables.values()))
    frame, classes = first.frame.iloc[places], list(first.classes)
    columns = _list_text_columns(frame, told=told)
    columns.append(make_choice_column("who is right", _name_correct(tables, places), ("none", "all")))
    columns += _list_label_columns(first, frame, classes)[:1]
    for name, table in tables.items():
        own = table.frame.iloc[places]
        said = _list_label_columns(table, own, classes)[1]
        columns.append(said | {"label": f"predicted by {name}"})
        columns.append(hide_in_print(make_number_column(f"p_true of {name}", own["p_true"])))
    columns += [hide_in_print(_make_own_column(name, frame[name])) for name in first.own]
    return columns + _list_key_columns(frame, told=told)


def _name_correct(tables: Mapping[str, PredictionTable], places: np.ndarray) -> list[str]:
    names, right = list(tables), np.array([~table.wrong[places] for table in tables.values()])
    found = []
    for row in right.T:
        who = [name for name, is_right in zip(names, row, strict=True) if is_right]
        found.append("all" if len(who) == len(names) else f"only {', '.join(who)}" if who else "none")
    return found
