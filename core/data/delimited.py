"""Text to rows: delimiter, quoting and header found by inspection."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from core.exceptions import DataError

DELIMITERS = ("\t", ",", ";", "|", "|||", "::")
"""Tried in this order when none is named."""
NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "blank", "": "none"}
"""How a person calls a delimiter."""

_LEAST_REGULAR = 0.9
"""Least share of rows with the same number of fields for a delimiter to be believed."""
_SAMPLE = 400_000
"""Characters that the delimiter is chosen from."""
_HEADER_WORDS = frozenset(
    "text sentence review document tweet content comment message body utterance phrase headline title id label labels "
    "sentiment polarity class classes category target rating stars score emotion date user query author index "
    "tweet_id review_id document_id sentence_id split y".split()
)
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")

csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True)
class Parsed:
    """The rows of a delimited text, header apart."""

    columns: tuple[str, ...]
    """Names from the header, or 0-based numbers as text."""
    rows: list[list[str]]
    delimiter: str
    """Empty: one text a line, no columns."""
    quoted: bool
    header: bool
    ragged: tuple[int, ...] = ()
    """1-based numbers of rows left out because they have too many or too few fields."""


def parse(text: str, delimiter: str = "", header: str = "", *, file: str = "") -> Parsed:
    """Rows and columns of a delimited text.

    Args:
        text: The whole file.
        delimiter: One or more characters, or `tab`; empty: found by inspection.
        header: `yes` or `no`: whether the first row names the columns; empty: found by inspection.
        file: Name for messages.

    Raises:
        DataError: if the named delimiter does not occur.
    """
    wanted = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}.get(delimiter, delimiter)
    chosen = wanted or _find_delimiter(text)
    rows, quoted = _best_rows(text, chosen)
    width, _ = _shape(rows)
    if wanted and width < 2:
        found = _find_delimiter(text)
        hint = f"; the file seems to use {_spoken(found)}" if found else ""
        raise DataError(f"the delimiter {_spoken(wanted)} does not divide its lines into columns{hint}", file=file)
    regular = [row for row in rows if len(row) == width]
    named = has_header(regular, header)
    ragged = tuple(number for number, row in enumerate(rows, 0 if named else 1) if len(row) != width)
    columns = column_names(regular[0]) if named else tuple(map(str, range(width)))
    return Parsed(columns, regular[1:] if named else regular, chosen, quoted, named, ragged)


def has_header(rows: list[list[str]], asked: str = "") -> bool:
    """Whether the first row names the columns instead of being data: as `asked` (`yes`, `no`), else by inspection.

    By inspection it does if it holds a usual column name, or words above a column of numbers, or short words above a
    column of few values none of which is that word.
    """
    if asked and rows:
        return asked == "yes"
    if len(rows) < 2:
        return False
    first, rest = rows[0], rows[1:2001]
    columns = list(zip(*rest, strict=True))
    cells = [cell.strip() for cell in first]
    usual = [n for n, cell in enumerate(cells) if cell.casefold() in _HEADER_WORDS and cell not in columns[n]]
    if usual:
        return True
    if any(_NUMBER.fullmatch(cell) or len(cell) > 40 or not cell for cell in cells) or len(set(cells)) < len(cells):
        return False
    if any(all(_NUMBER.fullmatch(value.strip()) for value in column) for column in columns):
        return True
    few = [n for n, column in enumerate(columns) if len(column) >= 20 and len(set(column)) <= len(column) // 4]
    return bool(few) and all(cells[n] not in columns[n] for n in few)


def column_names(cells: list[str]) -> tuple[str, ...]:
    """Distinct names for the columns: blanks become `column N`, repeats get a number."""
    seen: Counter[str] = Counter()
    names = []
    for number, cell in enumerate(cells):
        name = cell.strip() or f"column {number}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(names)


def _spoken(delimiter: str) -> str:
    return NAMES.get(delimiter, f"'{delimiter}'")


def _find_delimiter(text: str) -> str:
    """The delimiter under which most rows have the same number of fields; none if no one is regular enough."""
    sample = text[:_SAMPLE]
    best, best_share = "", _LEAST_REGULAR
    for delimiter in DELIMITERS:
        if delimiter not in sample:
            continue
        for quoted in (True, False) if len(delimiter) == 1 else (False,):
            rows = _rows(sample, delimiter, quoted)
            width, share = _shape(rows[:-1] if len(text) > _SAMPLE else rows)
            if width > 1 and (share > best_share or (share == best_share and not best)):
                best, best_share = delimiter, share
    # «a|||b» is regular under «|» as well, with empty fields between.
    return "|||" if best == "|" and _shape(_rows(sample, "|||", False))[0] > 1 else best


def _best_rows(text: str, delimiter: str) -> tuple[list[list[str]], bool]:
    """Rows with quotes understood or taken as ordinary characters, whichever fits the file, and which it was."""
    plain = _rows(text, delimiter, quoted=False)
    if '"' not in text or len(delimiter) != 1:
        return plain, False
    try:
        strict = _rows(text, delimiter, quoted=True, strict=True)
        return (strict, True) if _shape(strict)[1] >= _shape(plain)[1] else (plain, False)
    except csv.Error:
        lenient = _rows(text, delimiter, quoted=True)
        return (lenient, True) if _shape(lenient)[1] > _shape(plain)[1] else (plain, False)


def _rows(text: str, delimiter: str, quoted: bool, strict: bool = False) -> list[list[str]]:
    if quoted:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict) if row]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.split(delimiter) if delimiter else [line] for line in lines if line.strip()]


def _shape(rows: list[list[str]]) -> tuple[int, float]:
    """Most usual number of fields, and the share of rows that have it."""
    if not rows:
        return 0, 0.0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    return width, count / len(rows)
