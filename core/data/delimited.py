"""Text to rows: delimiter, quoting and header found by inspection."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from core.data import limits
from core.data.columns import PAIR_NAMES
from core.exceptions import DataError
from core.numbers import count

DELIMITERS = ("\t", ",", ";", "|", "|||", "::")
"""Tried in this order when none is named."""
NAMES = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar", " ": "blank", "": "none"}
"""How a person calls a delimiter."""

_LEAST_REGULAR = 0.9
"""Least share of rows with the same number of fields for a delimiter to be believed."""
HEADER_ROWS = 2_001
"""Rows that tell whether the first one names the columns."""
_SAMPLE = 400_000
"""Characters that the delimiter is chosen from."""
_HEADER_WORDS = frozenset(
    "text sentence review document tweet content comment message body utterance phrase headline title id label labels "
    "sentiment polarity class classes category target rating stars score emotion date user query author index "
    "tweet_id review_id document_id sentence_id split y gold_label is_duplicate".split()
) | {name for pair in PAIR_NAMES for name in pair}
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

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
        DataError: if the named delimiter does not occur, or the table is larger than allowed (`limits`).
    """
    wanted = {"tab": "\t", "\\t": "\t", "blank": " ", "space": " "}.get(delimiter, delimiter)
    chosen = wanted or _find_delimiter(text)
    rows, quoted = _best_rows(text, chosen, file)
    width, _ = _shape(rows)
    limits.check_shape(len(rows), width, file=file)
    if wanted and width < 2:
        found = _find_delimiter(text)
        hint = f"; the file seems to use {_spoken(found)}" if found else ""
        raise DataError(f"the delimiter {_spoken(wanted)} does not divide its lines into columns{hint}", file=file)
    regular = [row for row in rows if len(row) == width]
    named = has_header(regular, header)
    ragged = tuple(number for number, row in enumerate(rows, 0 if named else 1) if len(row) != width)
    columns = column_names(regular[0]) if named else tuple(map(str, range(width)))
    return Parsed(columns, regular[1:] if named else regular, chosen, quoted, named, ragged)


def rows_like(lines: Iterable[str], like: Parsed, *, file: str = "") -> Iterator[list[str]]:
    """The rows below the header, read as the beginning of the same file was found to be written.

    Raises:
        DataError: a row has another number of fields, or there are more rows than allowed.
    """
    for number, row in enumerate(_bounded(_rows(lines, like.delimiter, like.quoted), file), 0 if like.header else 1):
        if len(row) != len(like.columns):
            raise DataError(
                f"has {count(len(row))} fields and the others {count(len(like.columns))}; put texts that hold the "
                "delimiter into double quotes, or name another one with data.delimiter",
                file=file,
                row=number,
            )
        if number:
            yield row


def has_header(rows: list[list[str]], asked: str = "") -> bool:
    """Whether the first row names the columns instead of being data: as `asked` (`yes`, `no`), else by inspection.

    By inspection it does if it holds a usual column name, or words above a column of numbers, or short words above a
    column of few values none of which is that word.
    """
    if asked and rows:
        return asked == "yes"
    if len(rows) < 2:
        return False
    first, rest = rows[0], rows[1:HEADER_ROWS]
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
    return unique(cell.strip() or f"column {number}" for number, cell in enumerate(cells))


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each but once: what was there before gets a number behind it."""
    seen: set[str] = set()
    found = []
    for name in names:
        free = (f"{name} ({number})" for number in itertools.count(2))
        seen_as = name if name not in seen else next(other for other in free if other not in seen)
        seen.add(seen_as)
        found.append(seen_as)
    return tuple(found)


def _spoken(delimiter: str) -> str:
    return NAMES.get(delimiter, f"'{delimiter}'")


def _find_delimiter(text: str) -> str:
    """The delimiter under which most rows have the same number of fields; none if no one is regular enough."""
    # Own: of 19 files csv.Sniffer was right on 9, clevercsv on 11, this on 18; both of them cut plain sentences up.
    sample = text[:_SAMPLE]
    best, best_share = "", _LEAST_REGULAR
    for delimiter in DELIMITERS:
        if delimiter not in sample:
            continue
        for quoted in (True, False) if len(delimiter) == 1 else (False,):
            rows = list(_rows(_lines(sample), delimiter, quoted))
            width, share = _shape(rows[:-1] if len(text) > _SAMPLE else rows)
            if width > 1 and (share > best_share or (share == best_share and not best)):
                best, best_share = delimiter, share
    # «a|||b» is regular under «|» as well, with empty fields between.
    return "|||" if best == "|" and _shape(_rows(_lines(sample), "|||", False))[0] > 1 else best


def _best_rows(text: str, delimiter: str, file: str) -> tuple[list[list[str]], bool]:
    """Rows with quotes understood or taken as ordinary characters, whichever fits the file, and which it was.

    Only the better reading is kept: of a large file the other one would fill the memory a second time.
    """

    def shape(quoted: bool, strict: bool = False) -> tuple[int, float]:
        return _shape(_bounded(_rows(_lines(text), delimiter, quoted, strict), file))

    quoted = False
    if '"' in text and len(delimiter) == 1:
        plain = shape(False)[1]
        try:
            quoted = shape(True, strict=True)[1] >= plain
        except csv.Error:
            quoted = shape(True)[1] > plain
    return list(_bounded(_rows(_lines(text), delimiter, quoted), file)), quoted


def _bounded(rows: Iterable[list[str]], file: str) -> Iterator[list[str]]:
    """The same rows, as long as they are no more and no longer than allowed.

    Raises:
        DataError: they are.
    """
    allowed, cells = limits.current(), 0
    for number, row in enumerate(rows, 1):
        cells += len(row)
        if number > allowed.rows + 1 or cells > allowed.cells + allowed.columns:  # a header is no row
            limits.check_shape(number, -(-cells // number), file=file)
        longest = max(map(len, row))
        if longest > allowed.characters:
            raise limits.refusal(f"a cell has {count(longest)} characters", "characters", file=file, row=number)
        yield row


def _lines(text: str) -> Iterator[str]:
    return (found.group() for found in _LINE.finditer(text))


def _rows(lines: Iterable[str], delimiter: str, quoted: bool, strict: bool = False) -> Iterator[list[str]]:
    if quoted:
        return (row for row in csv.reader(lines, delimiter=delimiter, strict=strict) if row)
    bare = (line.rstrip("\r\n") for line in lines)
    return (line.split(delimiter) if delimiter else [line] for line in bare if line.strip())


def _shape(rows: Iterable[list[str]]) -> tuple[int, float]:
    """Most usual number of fields, and the share of rows that have it."""
    widths = Counter(map(len, rows))
    if not widths:
        return 0, 0.0
    width, count = widths.most_common(1)[0]
    return width, count / widths.total()
