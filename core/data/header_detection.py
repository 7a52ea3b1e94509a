"""Detection of a table's header: title rows, the row of column names, and rows that belong to it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.data.cells import is_missing
from core.data.columns import KNOWN_NAMES

HEADER_ROWS = 2_001
"""Rows that decide whether the first one names the columns."""
_MOST_TITLES = 20
"""Title rows above the header, at most."""
_HEADER_WORDS = KNOWN_NAMES.union(
    "date user query author index id tweet_id review_id document_id sentence_id split summary title".split()
)
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
_RULE = re.compile(r"\s*(:?-{2,}:?)?\s*")
"""A cell in the line below the header of a Markdown table."""
_IMPORT = '{"ImportId"'
"""Prefix of the cells in a second header row of survey exports."""
ROW_NAMES = "row"
_MOST_BLANKS = 2
"""Blanks in a row name, at most; a cell with more is half of a text with an unquoted delimiter."""


@dataclass(frozen=True)
class TableHead:
    """The rows of a table above its first data row: titles, the header and further header rows."""

    columns: tuple[str, ...]
    named: bool
    titles: int = 0
    further: int = 0
    """Rows below the header that belong to it."""
    cells: tuple[str, ...] = ()

    @property
    def begin(self) -> int:
        """Return the number of rows of a table before its first data row."""
        return self.titles + self.named + self.further


def find_head(rows: Sequence[Sequence[str]], width: int, asked: str = "") -> TableHead:
    """Find the header of a table (the row of column names), and the rows around it that are no data.

    `width` is the width of most rows; `asked` (`yes`, `no` or empty) is the user's setting.
    """
    none = TableHead(tuple(map(str, range(width))), named=False)
    if asked == "no" or not rows:
        return none
    if asked == "yes":
        cells = _fit_row(rows[0], rows[1:], width) or [*rows[0], *[""] * width][:width]
        return TableHead(make_column_names(cells), named=True, cells=tuple(rows[0]))
    for at, row in enumerate(rows[: _MOST_TITLES + 1]):
        usual = is_usual(row)
        rest = [each for each in rows[at + 1 :] if len(each) == width and not (usual and list(each) == list(row))]
        names = _fit_row(row, rest, width)
        if names is not None and has_header([names, *rest]):
            further = _count_further(rows[at + 1 : at + 4], rest)
            return TableHead(make_column_names(names), True, at, further, tuple(row))
        if not _is_title(row, width):
            break
    titles = next((at for at, row in enumerate(rows) if not (_is_title(row, width) and len(row) < width)), 0)
    return TableHead(none.columns, named=False, titles=titles) if titles <= _MOST_TITLES else none


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a table names the columns.

    It does if it has a usual name, words above numbers, or short words above a few other words.
    """
    if len(rows) < 2:
        return False
    first, rest = rows[0], rows[1:HEADER_ROWS]
    columns = [[cell.strip() for cell in column] for column in zip(*rest, strict=True)]
    cells = [cell.strip() for cell in first]
    if any(cell.casefold() in _HEADER_WORDS and cell not in columns[n] for n, cell in enumerate(cells)):
        return True
    filled = [n for n, column in enumerate(columns) if any(column)]
    numeric = [n for n in filled if all(_NUMBER.fullmatch(value) for value in columns[n])]
    named = [cells[n] for n in filled if cells[n] or n not in numeric]
    if any(_NUMBER.fullmatch(cell) or len(cell) > 40 or not cell for cell in named) or len(set(named)) < len(named):
        return False
    if not named or numeric:
        return bool(named)
    few = [n for n in filled if len(columns[n]) >= 20 and len(set(columns[n])) <= len(columns[n]) // 4]
    return bool(few) and all(cells[n] not in columns[n] for n in few)


def is_repeated_header(row: Sequence[object], head: TableHead) -> bool:
    """Return whether a row repeats the header of its table, as in concatenated files."""
    return bool(head.cells) and row[0] == head.cells[0] and tuple(row) == head.cells


def is_usual(cells: Iterable[str]) -> bool:
    """Return whether one of a row's cells is a usual column name, such as `text` or `label`."""
    return any(cell.strip().casefold() in _HEADER_WORDS for cell in cells)


def make_column_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Make distinct column names of a header's cells: blank ones become `column N`, repeated ones get a number."""
    return make_unique(cell.strip() or f"column {number}" for number, cell in enumerate(cells))


def make_unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return column names with a number added to each repeated one, so that all are distinct."""
    found: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({number})" for number in itertools.count(2))
        found[next(each for each in itertools.chain([name], numbered) if each not in found)] = None
    return tuple(found)


def _fit_row(row: Sequence[str], rest: Sequence[Sequence[str]], width: int) -> list[str] | None:
    cells = list(row)
    if len(cells) > width:
        return cells[:width] if not any(cell.strip() for cell in cells[width:]) else None
    missing = width - len(cells)
    if not missing:
        return cells
    regular = [each for each in rest if len(each) == width]
    if not regular or len(cells) < 1 or not all(cell.strip() for cell in cells):
        return None
    if not any(cell.strip() for each in regular for cell in each[len(cells) :]):
        return cells + [""] * missing
    firsts = [each[0].strip() for each in regular]
    cut = sum(first.count(" ") > _MOST_BLANKS or first.startswith('"') for first in firsts) > len(firsts) // 2
    if missing == 1 and len(cells) > 1 and len(set(firsts)) == len(firsts) and not cut:
        return [ROW_NAMES, *cells]
    return None


def _is_title(row: Sequence[str], width: int) -> bool:
    filled = sum(bool(cell.strip()) for cell in row)
    return width > 1 and (filled <= 1 or (len(row) != width and row[0].lstrip().startswith(("#", "//"))))


def _count_further(below: Sequence[Sequence[str]], rest: Sequence[Sequence[str]]) -> int:
    """Count the rows right below the column names that are no data yet, such as the import codes of a survey export."""
    for number, row in enumerate(below, 1):
        is_rule = any(map(str.strip, row)) and all(map(_RULE.fullmatch, row))
        if is_rule or any(cell.lstrip().startswith(_IMPORT) for cell in row):
            return number
    if len(rest) < 20:
        return 0
    for number in (2, 1):
        columns = list(zip(*rest[number:], strict=True))
        numeric = [n for n, column in enumerate(columns) if all(_NUMBER.fullmatch(cell.strip()) for cell in column)]
        if numeric and all(_is_header_like(row, numeric) for row in rest[:number]):
            return number
    return 0


def _is_header_like(row: Sequence[str], numeric: list[int]) -> bool:
    cells = [cell.strip() for cell in row]
    wordy = all(cells) and all(not _NUMBER.fullmatch(cells[n]) and len(cells[n]) > 1 for n in numeric)
    return wordy and all(len(cell) <= 40 and not is_missing(cell) for cell in cells)
