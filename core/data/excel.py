"""The first sheet of an Excel workbook, row by row, without trusting what the workbook says of itself."""

from __future__ import annotations

import io
import zipfile
import zlib
from typing import Any
from xml.etree.ElementTree import ParseError

from core.data import limits
from core.data.columns import cell_of
from core.exceptions import DataError
from core.numbers import count

_MOST_PACKED = 200
"""Unpacked bytes for each packed one, beyond which a large part is no sheet that somebody filled."""
_LARGE_PART = 20 * limits.MEGABYTE
_SHEET_ROWS = 1_048_576
_DAMAGED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    ParseError,
    EOFError,
    OSError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What the library raises at a damaged workbook: nearly anything, since it trusts every attribute of the XML."""


def read_excel(data: bytes, file: str) -> tuple[list[list[Any]], int]:
    """The cells of the first sheet.

    Args:
        data: The whole workbook.
        file: Name for messages.

    Returns:
        Rows that hold anything, all of the same width, empty cells None; and how many further sheets there are.

    Raises:
        DataError: it is damaged or empty, or asks for more than is allowed (`limits`).
    """
    import openpyxl

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_size(archive, file)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        if not book.worksheets:
            raise DataError("the workbook has no sheet with cells", file=file)
        rows, others = _rows(book.worksheets[0], file), len(book.worksheets) - 1
        book.close()
    except _DAMAGED as error:
        what = str(error).split("\n", 1)[0][:200] or type(error).__name__
        raise DataError(
            f"this is a zip archive but not a readable Excel workbook ({what}); unpack it, or save it anew as .xlsx",
            file=file,
        ) from None
    if not rows:
        raise DataError("the first sheet is empty", file=file)
    width = max(map(len, rows))
    return [row + [None] * (width - len(row)) for row in rows], others


def _check_size(archive: zipfile.ZipFile, file: str) -> None:
    """Look at what the parts unpack to; what they claim is what the library will not read beyond."""
    parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if size > limits.current().size * limits.MEGABYTE:
        raise limits.refusal(f"it unpacks to {count(size // limits.MEGABYTE)} MB", "size", file=file)
    for part in parts:
        if part.file_size > max(_LARGE_PART, _MOST_PACKED * part.compress_size):
            ratio = part.file_size // max(1, part.compress_size)
            raise DataError(
                f"the part {part.filename} is packed {count(ratio)} to 1, as no filled sheet is; save the table as CSV",
                file=file,
            )


def _rows(sheet: Any, file: str) -> list[list[Any]]:
    """Rows without the empty cells at their end; empty rows are left out."""
    allowed = limits.current()
    sheet.reset_dimensions()  # what it claims; a cell in the last corner would be a billion empty ones
    rows: list[list[Any]] = []
    width = 0
    for place, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        if place > _SHEET_ROWS:
            raise DataError("a row has a number that no sheet has; save it anew as .xlsx", file=file)
        filled = len(cells)
        while filled and cells[filled - 1] is None:
            filled -= 1
        if not filled:
            continue
        width = max(width, filled)
        if width > allowed.columns:
            raise limits.refusal(f"row {count(place)} of the sheet has {count(filled)} columns", "columns", file=file)
        limits.check_shape(len(rows), width, file=file)
        rows.append(
            [
                cell_of(cell, allowed.characters, file=file, row=place, field=f"column {number}")
                for number, cell in enumerate(cells[:filled])
            ]
        )
    return rows
