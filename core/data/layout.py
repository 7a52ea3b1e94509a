"""Which columns of a table hold texts and labels, and how the several labels of a text are written.

Several labels stand in one cell, as a list (`["calm", "joy"]`, also as words) or with a sign between them
(`calm;joy`), or in a 0/1 column for each label: `y_calm`, `y_joy`, or any columns that a person names.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from core.data.columns import LABEL_NAMES, Column, as_word, as_words, choose, choose_pair, clean_label, describe
from core.data.config import ONE_LABEL
from core.data.table import Task
from core.exceptions import DataError

PREFIX = "y_"
"""Begins the names of 0/1 columns that are taken for labels without being asked for."""
MARKS = (";", "|", ",", " ")
"""Signs that may stand between labels, the surest first."""
_NEGATIONS = frozenset({"not", "no", "non", "nicht", "kein", "pas", "ne", "niet", "não"})
"""Words that make another class of the word behind them: `not good` is one label, also beside `not` and `good`."""

_BITS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}
_LIST = re.compile(r"\[.*\]", re.DOTALL)
_OBJECT = re.compile(r'\{\s*".*\}', re.DOTALL)
_CHOICES = ("choices", "labels", "label", "taxonomy", "value", "name")
"""Keys of an object in a label cell that hold its labels."""


@dataclass(frozen=True)
class Layout:
    """How a table is read; found on the training table, and the same for further splits."""

    text: str
    labels: tuple[str, ...]
    """One column, or the 0/1 columns."""
    form: Literal["one", "list", "separated", "columns", "tags"] = "one"
    """one: a label a cell · list, separated: several in a cell · columns: 0 or 1 for each label · tags: one for each
    word of the text."""
    mark: str = ""
    """The sign between separated labels; empty: no cell has more than one."""
    pair: str = ""
    """The column of second texts; empty: texts are single."""
    listed: bool = False
    """Of form one: each cell is a list of one label."""

    @property
    def task(self) -> Task:
        """What the labels are of: a text, which has one or may have several, or each of its words."""
        return {"one": "single", "tags": "tokens"}.get(self.form, "multi")  # type: ignore[return-value]

    @property
    def label(self) -> str:
        """The labels as a person would name them in `data.label`."""
        return ",".join(self.labels)

    def fits(self, frame: pd.DataFrame) -> bool:
        """Whether another table has these columns."""
        return {self.text, *self.labels, *filter(None, [self.pair])} <= set(map(str, frame.columns))


TAGGED = Layout("text", ("label",), "tags")
"""Of the sentences of a CoNLL file."""


def find_layout(
    frame: pd.DataFrame,
    text: str = "",
    label: str = "",
    separator: str = "",
    *,
    pair: str = "",
    multi: bool = False,
    columns: Sequence[Column] = (),
    file: str = "",
) -> Layout:
    """How to read a table.

    Args:
        frame: The raw table.
        text: Name or number of the text column; empty: guessed.
        label: Likewise for the labels; `a,b,c` or `y_*` names 0/1 columns.
        separator: The sign between labels of a cell, `none` where each cell is one label; empty: found.
        pair: Name or number of the column of second texts, `none` where texts are single; empty: found by name.
        multi: Texts have several labels, whatever this table looks like.
        columns: Profiles of the columns (`describe`), where they are known already.
        file: Name for messages.

    Raises:
        DataError: if a named column is absent or not 0/1, or none can be guessed.
    """
    columns = list(columns) or describe(frame)
    text, second = choose_pair(columns, text, pair, file=file)
    if not second:
        return _single(frame, columns, text, label, separator, multi, file)
    columns = [column for column in columns if column.name != second]
    found = _single(frame.drop(columns=second), columns, text, label, separator, multi, file)
    return dataclasses.replace(found, pair=second)


def _single(
    frame: pd.DataFrame, columns: list[Column], text: str, label: str, separator: str, multi: bool, file: str
) -> Layout:
    indicators = _indicators(frame, columns, label, file)
    if indicators:
        rest = [column for column in columns if column.name not in indicators]
        text_name = choose([*rest, _stand_in(columns)], len(frame), text, _STAND_IN, file=file)[0].name
        return Layout(text_name, indicators, "columns")
    chosen = choose(columns, len(frame), text, label, file=file)
    text_name, label_name = chosen[0].name, chosen[1].name
    cells = _distinct(frame[label_name].dropna())
    if strange := next((cell for cell in cells if _is_object(cell) and _choices(cell) is None), None):
        seen = ", ".join(map(str, _loaded(strange)))
        raise DataError(f"the cells hold objects, not labels (their keys: {seen:.80})", file=file, field=label_name)
    lists = _are_lists(cells)
    if lists and not separator and not multi and all(len(_listed(cell)) == 1 for cell in cells):
        return Layout(text_name, (label_name,), listed=True)
    if separator == ONE_LABEL:
        return Layout(text_name, (label_name,))
    if lists:
        return Layout(text_name, (label_name,), "list")
    mark = separator or _mark(sorted({clean_label(word) for word in as_words(cells)} - {""}))
    if mark or multi:
        return Layout(text_name, (label_name,), "separated", mark)
    return Layout(text_name, (label_name,))


def label_sets(frame: pd.DataFrame, layout: Layout, *, file: str = "") -> pd.Series:
    """The labels of each row as a sorted tuple of words without repeats; missing where the row does not say.

    An empty list, or 0 in every column, says that no label applies; an empty cell says nothing.

    Raises:
        DataError: a 0/1 column holds something else; the message names row and column.
    """
    if layout.form == "columns":
        names = label_columns(layout)
        bits = pd.DataFrame({name: _bits(frame[column], file) for name, column in names.items()})
        known = bits.notna().all(axis=1)
        rows: list[Any] = [tuple(name for name, bit in zip(names, row, strict=True) if bit) for row in bits.to_numpy()]
        return pd.Series(rows, index=frame.index, dtype=object).where(known)
    cells = frame[layout.labels[0]]
    parts = _listed if layout.form == "list" else lambda cell: str(cell).split(layout.mark) if layout.mark else [cell]
    words = [None if _missing(cell) else _words(parts(cell)) for cell in cells]
    return pd.Series(words, index=frame.index, dtype=object)


def single_labels(frame: pd.DataFrame, layout: Layout, *, file: str = "") -> pd.Series:
    """Return the one label of each row, out of the lists of one where they stand in such.

    Raises:
        DataError: a list holds several labels, and those of the table that the layout was found on held one each.
    """
    cells = frame[layout.label]
    if not layout.listed:
        return cells
    parts = [None if _missing(cell) else _listed(cell) for cell in cells]
    if wrong := next((row for row, part in enumerate(parts, 1) if part and len(part) > 1), 0):
        message = "the cell has several labels and the others one; data.separator=, reads all as lists"
        raise DataError(message, file=file, row=wrong, field=layout.label)
    return pd.Series([part[0] if part else None for part in parts], index=frame.index, dtype=object)


def label_columns(layout: Layout) -> dict[str, str]:
    """Label → its 0/1 column; `y_` at the beginning of every name is no part of the labels."""
    prefixed = all(name.startswith(PREFIX) for name in layout.labels)
    return {name.removeprefix(PREFIX) if prefixed else name: name for name in layout.labels}


def other_bits(frame: pd.DataFrame, layout: Layout) -> list[str]:
    """0/1 columns besides the label column of a single-label table: perhaps they are what was meant."""
    if layout.task != "single":
        return []
    return [
        name
        for name in map(str, frame.columns)
        if name not in (layout.text, layout.pair, *layout.labels) and _is_bits(frame[name])
    ]


def prefixed_bits(frame: pd.DataFrame) -> list[str]:
    """The 0/1 columns called `y_…`."""
    return [name for name in map(str, frame.columns) if name.startswith(PREFIX) and _is_bits(frame[name])]


_STAND_IN = "\0labels"


def _stand_in(columns: list[Column]) -> Column:
    """The 0/1 columns as one, so that the text column can be chosen as always."""
    return Column(_STAND_IN, 2, 0, 1.0, numeric=True, nested=False)


def _indicators(frame: pd.DataFrame, columns: list[Column], label: str, file: str) -> tuple[str, ...]:
    """The 0/1 columns that are named, or that nothing speaks against; empty: the labels stand in one column."""
    names = [column.name for column in columns]
    if label in names or (label and "," not in label and "*" not in label):
        return ()
    if not label:
        if any(name.strip().casefold() in LABEL_NAMES for name in names):
            return ()
        found = prefixed_bits(frame)
        return tuple(found) if len(found) > 1 else ()
    wanted: list[str] = []
    for part in (each.strip() for each in label.split(",")):
        matched = [name for name in names if fnmatch.fnmatchcase(name, part)] if "*" in part else [part]
        if not set(matched) & set(names):
            raise DataError(f"no column '{part}' for data.label (columns: {', '.join(names[:30])})", file=file)
        wanted += [name for name in matched if name not in wanted]
    if len(wanted) < 2:
        raise DataError(f"data.label={label}: one column only ({wanted[0]}); name two or more 0/1 columns", file=file)
    strange = next((name for name in wanted if not _is_bits(frame[name])), None)
    if strange is not None:
        raise DataError(f"data.label={label}: several columns must hold nothing but 0 and 1", file=file, field=strange)
    return tuple(wanted)


def _is_bits(values: pd.Series) -> bool:
    present = values.dropna()
    if not len(present) or not pd.api.types.is_scalar(present.iloc[0]):
        return False
    return set(as_words(present).str.strip().str.lower().unique()) <= {*_BITS, ""}


def _bits(values: pd.Series, file: str) -> pd.Series:
    words = as_words(values).str.strip().str.lower()
    strange = words.notna() & (words != "") & ~words.isin(list(_BITS))
    if strange.any():
        row = int(strange.to_numpy().argmax())
        raise DataError(f"'{words.iloc[row]}' is neither 0 nor 1", file=file, row=row + 1, field=str(values.name))
    return words.map(_BITS).astype(object)


def _are_lists(cells: pd.Series) -> bool:
    if not len(cells):
        return False
    if not pd.api.types.is_scalar(cells.iloc[0]) or any(map(_is_object, cells)):
        return True
    words = as_words(cells).str.strip()
    return bool(words.map(lambda word: _LIST.fullmatch(word) is not None).all())


def _is_object(cell: Any) -> bool:
    return isinstance(cell, dict) or (isinstance(cell, str) and _OBJECT.fullmatch(cell.strip()) is not None)


def _loaded(cell: Any) -> dict[str, Any]:
    """Return an object, parsed where it is written in words; empty: it is none."""
    if isinstance(cell, dict):
        return cell
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _choices(cell: Any) -> list[Any] | None:
    """Return the labels in an object such as `{"choices": ["calm", "joy"]}`; None: it has none."""
    found = _loaded(cell)
    for key in _CHOICES:
        if isinstance(found.get(key), (list, str, int)):
            return found[key] if isinstance(found[key], list) else [found[key]]
    return None


def _listed(cell: Any) -> list[Any]:
    """A list, or one in words: `["a", "b"]`, `['a', 'b']`, `[0 3]`."""
    if isinstance(cell, (list, tuple, np.ndarray)):
        return list(cell)
    if _is_object(cell):
        return _choices(cell) or []
    text = str(cell).strip()
    if not text.startswith("["):
        return [text]
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except (ValueError, RecursionError):  # words without quotes, or brackets without end
        inside = text.removeprefix("[").removesuffix("]")
        parts = inside.split(",") if "," in inside or "'" in inside else inside.split()
        return [part.strip().strip("'\"") for part in parts]


def _missing(cell: Any) -> bool:
    if isinstance(cell, (list, tuple, np.ndarray)):
        return False
    return bool(pd.isna(cell)) if pd.api.types.is_scalar(cell) else False


def _words(parts: list[Any]) -> tuple[str, ...] | None:
    """Distinct words; an empty list stays empty, a cell of nothing but blanks is missing."""
    if not parts:
        return ()
    words = {clean_label(as_word(part)) for part in parts if not _missing(part)}
    return tuple(sorted(words - {""})) or None


def _distinct(cells: pd.Series) -> pd.Series:
    """Return the distinct cells of a column, or all of them where they are lists."""
    try:
        return pd.Series(cells.unique(), dtype=cells.dtype)
    except TypeError:
        return cells


def _mark(labels: Sequence[str]) -> str:
    """Find the separator of labels such as `pharma rushed` beside `pharma` and `rushed`; empty: none.

    A blank or comma counts if nine in ten of the parts also stand alone; `;` and `|` are in no label's name.
    """
    for mark in MARKS:
        parts = [{part.strip() for part in str(value).split(mark)} - {""} for value in labels]
        several = sum(len(part) > 1 for part in parts)
        single = {next(iter(part)) for part in parts if len(part) == 1}
        atoms: set[str] = set().union(*parts) if parts else set()
        if mark == " " and any(atom.casefold() in _NEGATIONS for atom in atoms):
            continue
        met = several > 1 or any(len(part) > 1 and part & single for part in parts)
        sure = met and mark in MARKS[:2] and len(atoms) <= len(labels) + 1
        if sure or (several > 1 and len(atoms) < len(labels) and len(atoms & single) >= 0.9 * len(atoms)):
            return mark
    return ""
