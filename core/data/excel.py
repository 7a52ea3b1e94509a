"""Reading of an Excel sheet row by row, without trusting the sizes that the workbook declares."""

import io
import re
import zipfile
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple
from xml.etree.ElementTree import ParseError

import pandas as pd

from core.data import limits
from core.data.cells import ERRORS, check_cell
from core.data.columns import HEADER_ROWS, KNOWN_NAMES, find_head, is_repeated_header
from core.data.findings import Finding, RawTable, list_finding, name_sheets, shorten
from core.data.reading_decisions import describe_head, find_left_out
from core.exceptions import DataError
from core.formatting import count, plural

_MOST_PACKED = 200  # Unpacked bytes per packed byte in a real sheet, at most
_LARGE_PART = 20 * limits.MEGABYTE
_SHEET_ROWS = 1_048_576
_MOST_SHEETS = 50
_LOOKED_AT = 20
_MOST_MERGED = 1_000_000
_MERGED = re.compile(rb'<mergeCell[^>]{0,80}?ref="([A-Z]{1,3}[0-9]{1,7}:[A-Z]{1,3}[0-9]{1,7})"')
_LONGEST_ELEMENT = 300
_DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, ParseError, EOFError, OSError, ArithmeticError),
    *(AssertionError, AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError),
)  # Errors that the library raises for a damaged workbook, as it trusts every attribute of the XML


def read_excel(data: bytes, file: str, sheet: str = "", header: str = "") -> RawTable:
    """Read one sheet of a workbook (empty: the first visible table of two columns); `header` is yes, no or empty."""
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(archive, file)
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
            if not book.worksheets:
                raise DataError("the workbook has no sheet with cells", file=file)
            visible = tuple(each.title for each in book.worksheets if each.sheet_state == "visible")
            chosen, findings = _choose_sheet(book.worksheets, sheet, file)
            with name_sheets(visible, chosen.title):
                part = _Part.from_sheet(archive, chosen)
                places, seen = _read_rows(chosen, part.merged, file)
                if not places:
                    raise DataError(f"the sheet '{shorten(chosen.title)}' is empty", file=file)
            lost = _count_formulas(data, chosen.title, places) if part.formulas else {}
            rows = list(places.values())
        book.close()
    except _DAMAGED as error:
        what = str(error).split("\n", 1)[0][:200] or type(error).__name__
        problem = f"this is a zip archive but not a readable Excel workbook ({what})"
        raise DataError(f"{problem}; unpack it, or save it again as .xlsx", file=file) from None
    width = max(map(len, rows))
    filled = [row + [None] * (width - len(row)) for row in rows]
    top = [["" if cell is None else str(cell) for cell in row] for row in filled[: HEADER_ROWS + 20]]
    head = find_head(top, width, header)
    more = f" (one of {len(visible)}; if each is a class, put all on one, with a column for it)" if visible[1:] else ""
    kept = [row for row in filled[head.begin :] if not is_repeated_header(row, head)]
    with name_sheets(visible, chosen.title):
        of_formulas = _refuse_lost(lost, head.columns, len(kept), file)
    left_out = find_left_out(head, len(filled) - head.begin - len(kept))
    return RawTable(
        pd.DataFrame(kept, columns=list(head.columns), dtype=object),
        "xlsx",
        header=head.named,
        findings=(*findings, *seen, *left_out, *of_formulas),
        seen=f"the sheet '{shorten(chosen.title)}'{more}",
        sheets=visible,
        sheet=chosen.title,
        decisions=(describe_head(head),),
    )


def _refuse_lost(lost: dict[int, int], names: tuple[str, ...], rows: int, file: str) -> list[Finding]:
    """Warn about columns with formulas without a stored value; refuse a text or label column with nothing else."""
    found = []
    for column, number in sorted(lost.items()):
        name = names[column] if column < len(names) else str(column)
        message = f"'{shorten(name)}' has {plural(number, 'formula')} without a value"
        if number >= rows and name.strip().casefold() in KNOWN_NAMES:
            how = "open the workbook in a spreadsheet program, which computes them, and save it"
            raise DataError(f"{message}; {how}", file=file)
        found.append(Finding("formulas", "warning", number, f"{message}; such a cell is missing"))
    return found


def _choose_sheet(sheets: Sequence[Any], asked: str, file: str) -> tuple[Any, list[Finding]]:
    visible = [each for each in sheets if each.sheet_state == "visible"] or list(sheets)
    if asked:
        found = next((each for each in sheets if each.title == asked), None)
        if found is None:
            there = ", ".join(f"'{shorten(each.title)}'" for each in sheets[:_MOST_SHEETS])
            raise DataError(f"no sheet '{shorten(asked)}' for data.sheet; the workbook has {there}", file=file)
        return found, []
    found, *more = visible[:_MOST_SHEETS]
    if more:
        sizes = [(each, *_count_filled(each)) for each in (found, *more)]
        tables = [each for each, rows, columns in sizes if rows > 2 and columns > 1]
        texts = [f"'{shorten(each.title)}'" for each, rows, columns in sizes if rows > 2 and columns == 1]
        if len(texts) > 1 and not tables:
            problem = f"the workbook has {len(texts)} sheets of one column ({', '.join(texts[:8])})"
            how = "if each holds the texts of one class, put all texts on one sheet, with the class in a second column"
            raise DataError(f"{problem}; {how}", file=file)
        found = next(iter([*tables, *(each for each, rows, _ in sizes if rows), found]))
    hidden = [(each, " (hidden)") for each in sheets if each.sheet_state != "visible"]
    listed = [*((each, "") for each in visible), *hidden]
    if not (others := [f"'{shorten(each.title)}'{mark}" for each, mark in listed if each is not found]):
        return found, []
    message = f"the sheet '{shorten(found.title)}' is read; left out: {', '.join(others[:8])}; data.sheet names another"
    return found, [Finding("sheets", "note", len(others), message)]


def _count_filled(sheet: Any) -> tuple[int, int]:
    """Return how many of an Excel sheet's first rows are filled, and the number of cells in the second-fullest row."""
    sheet.reset_dimensions()
    counts = [
        sum(cell is not None for cell in cells)
        for cells in sheet.iter_rows(values_only=True, max_row=_LOOKED_AT, max_col=_LOOKED_AT)
    ]
    filled = sorted(filter(None, counts), reverse=True)
    return len(filled), filled[1] if len(filled) > 1 else 0


class _Part(NamedTuple):
    """Facts about an Excel sheet that openpyxl's read-only mode omits (merged cells, formulas), read from XML."""

    merged: list[tuple[int, int, int]]  # Column (from 0), first and last row (from 1) of vertically merged cells
    formulas: bool

    @classmethod
    def from_sheet(cls, archive: zipfile.ZipFile, sheet: Any) -> "_Part":
        """Scan the XML of an Excel sheet for merged cells and formulas."""
        merged, formulas, before = list[tuple[int, int, int]](), False, b""
        with archive.open(sheet._worksheet_path.lstrip("/")) as stream:
            while block := stream.read(limits.MEGABYTE):
                seen = before + block
                formulas = formulas or b"<f>" in seen or b"<f " in seen
                for found in _MERGED.finditer(seen):
                    if found.end() > len(before):
                        merged += _parse_merge(found[1].decode("ascii"))
                before = seen[-_LONGEST_ELEMENT:]
                if len(merged) > _MOST_MERGED:
                    break
        return cls(merged, formulas)


def _parse_merge(area: str) -> list[tuple[int, int, int]]:
    from openpyxl.utils.cell import range_boundaries

    try:
        left, first, _, last = range_boundaries(area)
    except (ValueError, TypeError):
        return []
    return [(left - 1, first, last)] if left and first and last and first < last else []


def _count_formulas(data: bytes, title: str, rows: dict[int, list[Any]]) -> dict[int, int]:
    """Count, for each column of an Excel sheet, the formulas that are stored without a value."""
    import openpyxl

    lost, most = Counter[int](), limits.get_limits().columns
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    sheet = book[title]
    sheet.reset_dimensions()
    for place, cells in enumerate(sheet.iter_rows(values_only=True, max_row=max(rows, default=0) + 1), 1):
        values = rows.get(place, [])
        lost.update(
            number
            for number, cell in enumerate(cells[:most])
            if cell is not None and (number >= len(values) or values[number] is None) and cell not in ERRORS
        )
    book.close()
    return dict(lost)


def _check_size(archive: zipfile.ZipFile, file: str) -> None:
    """Refuse an Excel workbook whose parts declare too large an unpacked size or too high a compression."""
    parts = archive.infolist()
    if (size := sum(part.file_size for part in parts)) > limits.get_limits().size * limits.MEGABYTE:
        raise limits.make_error(f"it unpacks to {count(size // limits.MEGABYTE)} MB", "size", file=file)
    for part in parts:
        if part.file_size > max(_LARGE_PART, _MOST_PACKED * part.compress_size):
            problem = f"the part {part.filename} is packed {count(part.file_size // max(1, part.compress_size))} to 1"
            raise DataError(f"{problem}, as no filled sheet is; save the table as CSV", file=file)


def _read_rows(sheet: Any, merged: list[tuple[int, int, int]], file: str) -> tuple[dict[int, list[Any]], list[Finding]]:
    """Return the cells of an Excel sheet by row number, without empty rows and trailing empty cells; also findings."""
    allowed = limits.get_limits()
    sheet.reset_dimensions()  # the declared size may be a billion empty cells
    rows: dict[int, list[Any]] = {}
    errors, width = Counter[int](), 0
    for place, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        if place > _SHEET_ROWS:
            raise DataError("a row has an impossible number; save it again as .xlsx", file=file)
        filled = len(cells)
        while filled and cells[filled - 1] is None:
            filled -= 1
        if not (row := cells[:filled]):
            continue
        width = max(width, len(row))
        if width > allowed.columns:
            found = f"row {count(place)} of the sheet has {count(filled)} columns"
            raise limits.make_error(found, "columns", file=file)
        limits.check_shape(len(rows), width, file=file)
        wrong = {n for n, cell in enumerate(row) if isinstance(cell, str) and cell in ERRORS}
        errors.update(wrong)
        rows[place] = [
            None if n in wrong else check_cell(cell, allowed.characters, file=file, row=place, field=f"column {n}")
            for n, cell in enumerate(row)
        ]
    return rows, [*_report_cells("merged-cells", _fill_merged(rows, merged)), *_report_cells("error-cells", errors)]


def _fill_merged(rows: dict[int, list[Any]], merged: list[tuple[int, int, int]]) -> Counter[int]:
    """Give each cell of a vertically merged block the value of its first cell; count the filled cells by column."""
    filled, places = Counter[int](), list(rows)
    for column, first, last in merged:
        above = rows.get(first, [])
        value = above[column] if column < len(above) else None
        for place in places[bisect_right(places, first) : bisect_right(places, last)] if value is not None else ():
            row = rows[place]
            row += [None] * (column + 1 - len(row))
            if row[column] is None:
                row[column] = value
                filled[column] += 1
    return filled


def _report_cells(kind: Literal["merged-cells", "error-cells"], cells: Counter[int]) -> list[Finding]:
    from openpyxl.utils.cell import get_column_letter

    number, merged = cells.total(), kind == "merged-cells"
    columns = ", ".join(get_column_letter(column + 1) for column in sorted(cells)[:8])
    read = "read as the first of their block"
    error = f"with an error of Excel (#N/A, #NAME? …) count{'s' if number == 1 else ''} as missing"
    message = f"{plural(number, 'merged cell' if merged else 'cell')} in column {columns} {read if merged else error}"
    return list_finding(kind, "note" if merged else "warning", number, message)
