"""Which column holds the texts and which the labels: named by the person, or guessed by name and content."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from core.data.cells import as_words
from core.data.findings import plural, shown
from core.exceptions import DataError

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

SINGLE = "none"
"""As `data.pair`: each text is read by itself, whatever the columns are called."""
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
