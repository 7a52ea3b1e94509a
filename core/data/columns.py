"""Which column holds the texts and which the labels: named by the person, or guessed by name and content."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.data.decode import without_surrogates
from core.data.findings import plural, shown
from core.data.limits import refusal
from core.exceptions import DataError
from core.numbers import count

TEXT_NAMES = (
    "text sentence review document tweet content comment message body utterance phrase headline cleaned clean_text "
    "reviewtext review_text review_body tweet_text"
).split()
LABEL_NAMES = (
    "label sentiment polarity class classes category target emotion airline_sentiment rating overall stars score "
    "labels y gold_label is_duplicate intent annotation accept"
).split()
PAIR_NAMES = (
    ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"),
    ("sentence_a", "sentence_b"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question_1", "question_2"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("text_a", "text_b"),
)
"""Two columns of these names are the texts of a pair."""

MISSING = frozenset({"\\N", "#N/A", "#N/A N/A", "#NAME?", "#REF!", "#VALUE!", "#DIV/0!", "#NULL!", "#NUM!", "NULL"})
"""What databases and spreadsheets write where there is no value."""
SINGLE = "none"
"""As `data.pair`: each text is read by itself, whatever the columns are called."""
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    "|(?<![^\\x00-\\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\\x00-\\x7f])"
)
"""Joiners stay inside emoji and between letters of other scripts, where they change what is seen."""
_WHOLE = re.compile(r"[-+]?\d+\.0+")
MOST_NESTED = 20
"""Levels of lists and objects in a cell."""
_FLAGS = frozenset("true false True False TRUE FALSE yes no Yes No y n Y N t f 0 1".split())
_MOST_RATINGS = 11
"""Distinct numbers of a rating at most: 0 to 10."""
MOST_GUESSED = 50
"""A column with more distinct values is not guessed to be the label."""
ALONE = "holds a single row; if that is a header, the rows below it are missing"
"""What is said of a table that may be a header and no more."""


@dataclass(frozen=True)
class Column:
    """What inspection says about one column."""

    name: str
    distinct: int
    missing: int
    mean_length: float
    """Mean number of characters of the values that are there."""
    numeric: bool
    """Every value is a number."""
    nested: bool
    """Cells are lists or objects."""
    flag: bool = False
    """Every value is one of two that mean yes and no."""


def clean_label(word: str) -> str:
    """Return a label as a reader sees it: composed, without invisible characters or blanks around, `1` for `1.0`.

    A cell that only says that there is no value becomes empty.
    """
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFC", word)).strip()
    if is_missing(seen):
        return ""
    return seen.partition(".")[0] if _WHOLE.fullmatch(seen) else seen


def is_missing(cell: str) -> bool:
    """Return whether a cell says that there is no value, as databases and spreadsheets do."""
    return cell.strip() in MISSING


def as_words(values: pd.Series) -> pd.Series:
    """Cells as text, the way a person would write them (`4`, not `4.0`); missing stays missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("str")
    return values.map(as_word, na_action="ignore").astype("str")


def describe(frame: pd.DataFrame) -> list[Column]:
    """Every column's profile, in order."""
    return [_column(str(name), frame.iloc[:, number]) for number, name in enumerate(frame.columns)]


def choose(
    columns: Sequence[Column], rows: int, text: str = "", label: str = "", *, file: str = ""
) -> tuple[Column, Column]:
    """The text column and the label column.

    Args:
        columns: Profiles of all columns.
        rows: Number of rows of the table.
        text: Name or 0-based number of the text column; empty: guessed by name, then the longest distinct texts.
        label: Likewise for the label; guessed by name, then the fewest (at least two) distinct values.
        file: Name for messages.

    Raises:
        DataError: if a named column is absent, or none can be guessed.
    """
    if len(columns) == 1 and not (text and label):
        raise DataError(
            f"{plural(rows, 'row')} with one column and no labels; if each file holds the texts of one class, put them "
            "in one folder as CLASS.txt (or NAME.CLASS) and give the folder, else name the delimiter with "
            "data.delimiter",
            file=file,
        )
    if rows == 1 and not label and columns[0].name == "0":  # numbered: no header was found
        raise DataError(ALONE, file=file)
    named_text = _named(columns, text, "text", file) if text else None
    named_label = _named(columns, label, "label", file) if label else None
    text_column = named_text or _guess_text([c for c in columns if c is not named_label])
    if text_column is None:
        raise DataError(f"no column looks like text; name it with data.text ({_list(columns)})", file=file)
    label_column = named_label or _guess_label([c for c in columns if c is not text_column], rows)
    if label_column is None:
        raise DataError(f"no column looks like a label; name it with data.label ({_list(columns)})", file=file)
    if text_column is label_column:
        raise DataError(f"'{text_column.name}' cannot be both the text and the label", file=file)
    return text_column, label_column


def choose_pair(columns: Sequence[Column], text: str = "", pair: str = "", *, file: str = "") -> tuple[str, str]:
    """The names of the columns of a pair's texts; the second is empty where texts are single, the first where guessed.

    Args:
        columns: Profiles of all columns.
        text: What is asked for as the (first) text; empty: found.
        pair: What is asked for as the second; `none`: texts are single; empty: found by name.
        file: Name for messages.

    Raises:
        DataError: a named column is absent, or one is to be both.
    """
    if pair == SINGLE:
        return text, ""
    names = {column.name.strip().casefold(): column.name for column in columns if column.distinct}
    known = [(names[first], names[second]) for first, second in PAIR_NAMES if first in names and second in names]
    if pair:
        second = _named(columns, pair, "pair", file).name
        usual = {after: before for before, after in known}.get(second, "")
        first = _named(columns, text, "text", file).name if text else usual
        if first == second:
            raise DataError(f"'{first}' cannot be both texts of a pair", file=file)
        return first, second
    return next(((first, second) for first, second in known if text in ("", first)), (text, ""))


def second_column(names: Sequence[str], text: str = "", pair: str = "", *, file: str = "") -> tuple[str, str]:
    """As `choose_pair`, of a table whose rows have to be pairs, by the names of its columns.

    Raises:
        DataError: a column is absent, or there is none for second texts.
    """
    columns = [Column(name, 1, 0, 1.0, numeric=False, nested=False) for name in names]
    first, second = choose_pair(columns, text, pair, file=file)
    if not second:
        raise DataError(f"no column of second texts; name it with data.pair ({_list(columns)})", file=file)
    return first, second


def is_label_name(name: str) -> bool:
    """Return whether a column is called what columns of labels usually are."""
    return name.strip().casefold() in LABEL_NAMES


def label_candidates(columns: Sequence[Column], rows: int) -> list[Column]:
    """Return the columns that could be labels by their content, those with the fewest values first."""
    few = [c for c in columns if not c.nested and 2 <= c.distinct <= min(MOST_GUESSED, max(2, rows // 3))]
    return sorted(few, key=lambda column: column.distinct)


def text_candidates(columns: Sequence[Column]) -> list[Column]:
    """Return the columns that could be texts by their content, the longest and most varied first."""
    words = [column for column in columns if column.distinct and not column.numeric and not column.nested]
    return sorted(words, key=lambda column: -column.mean_length * column.distinct)


def choose_text(columns: Sequence[Column], text: str = "", *, file: str = "") -> str:
    """The name of the text column of a table without labels; arguments and errors as of `choose`."""
    found = _named(columns, text, "text", file) if text else _guess_text(columns)
    if found is None:
        raise DataError(f"no column looks like text; name it with data.text ({_list(columns)})", file=file)
    return found.name


def as_word(value: object) -> str:
    """One cell as text; see `as_words`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return without_surrogates(str(value))


def cell_of(value: Any, longest: int, *, file: str, row: int, field: str) -> Any:
    """A cell that came out of somebody's file, fit to be worked with: its text can be stored, it is not nested deeply.

    Args:
        value: What the format's reader gave.
        longest: Characters that are allowed.
        file: Name for messages.
        row: 1-based number for messages.
        field: Name for messages.

    Raises:
        DataError: it is too long or too deeply nested.
    """
    if isinstance(value, str):
        if len(value) > longest:
            found = f"the cell has {count(len(value))} characters"
            raise refusal(found, "characters", file=file, row=row, field=without_surrogates(field))
        return without_surrogates(value)
    inside = [value]
    for _ in range(MOST_NESTED):
        inside = [part for each in inside for part in _parts(each)]
        if not inside:
            return value
    raise DataError(
        f"the cell is nested more than {MOST_NESTED} levels deep; write it as text",
        file=file,
        row=row,
        field=without_surrogates(field),
    )


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()


def _column(name: str, values: pd.Series) -> Column:
    present = values.dropna()
    nested = bool(len(present)) and not pd.api.types.is_scalar(present.iloc[0])
    words = as_words(present)
    lengths = words.str.len()
    distinct = int(words.nunique())
    numeric = pd.api.types.is_numeric_dtype(values.dtype) or (_numbers(words.head(100)) and _numbers(words))
    mean = float(lengths.mean()) if len(present) else 0.0
    flag = distinct == 2 and set(words.unique()[:2]) <= _FLAGS
    return Column(name, distinct, int(values.isna().sum()), mean, numeric, nested, flag)


def _numbers(words: pd.Series) -> bool:
    return bool(len(words)) and bool(pd.to_numeric(words, errors="coerce").notna().all())


def _named(columns: Sequence[Column], wanted: str, role: str, file: str) -> Column:
    for column in columns:
        if column.name == wanted:
            return column
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 and int(wanted) < len(columns):
        return columns[int(wanted)]
    near = difflib.get_close_matches(wanted, [column.name for column in columns], n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise DataError(f"no column '{wanted}' for data.{role}{hint} ({_list(columns)})", file=file)


def _list(columns: Sequence[Column]) -> str:
    return "columns: " + ", ".join(shown(column.name) for column in columns[:30])


def _by_name(columns: Sequence[Column], names: Sequence[str]) -> Column | None:
    for name in names:
        for column in columns:
            if column.name.strip().casefold() == name and column.distinct:
                return column
    return None


def _guess_text(columns: Sequence[Column]) -> Column | None:
    words = text_candidates(columns)
    return _by_name(words, TEXT_NAMES) or next(iter(words), None)


def _guess_label(columns: Sequence[Column], rows: int) -> Column | None:
    by_name = _by_name(columns, LABEL_NAMES)
    if by_name:
        return by_name
    few = label_candidates(columns, rows)
    ratings = [column for column in few if column.numeric and 3 <= column.distinct <= _MOST_RATINGS]
    if few and few[0].flag and ratings:
        return ratings[0]
    return next(iter(few), None)
