"""Files to raw tables, their kinds told apart by content.

CSV, TSV, JSON, JSON Lines, XLSX, Parquet, treebank brackets and plain text.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from core.data.decode import decode, without_surrogates
from core.data.delimited import column_names, has_header, parse
from core.data.findings import Finding, plural
from core.exceptions import DataError

_LEAF = re.compile(r"\((\d+) ([^()]+)\)")
_TREE = re.compile(r"\(\d+ \(.*\)\s*|\(\d+ [^()]+\)\s*")
_BRACKETS = {"-LRB-": "(", "-RRB-": ")"}
_FOREIGN = {
    b"\x1f\x8b": "it is compressed with gzip; unpack it first",
    b"\xd0\xcf\x11\xe0": "it is an old Excel file; save it as .xlsx or CSV",
    b"%PDF": "it is a PDF; save its table as CSV",
    b"SQLite format 3": "it is an SQLite database; export the table as CSV",
    b"\x80\x04": "it is a Python pickle, which can run code and is never opened; save the table as Parquet or CSV",
    b"\x80\x05": "it is a Python pickle, which can run code and is never opened; save the table as Parquet or CSV",
}


@dataclass(frozen=True)
class RawTable:
    """A file's cells before anything is known about text and labels."""

    frame: pd.DataFrame
    """Columns named as in the file (or numbered from 0); cells as the file gives them, missing = nan."""
    kind: str
    """csv, tsv, text, json, jsonl, xlsx, parquet or trees."""
    encoding: str = ""
    delimiter: str = ""
    quoted: bool = False
    header: bool = True
    findings: tuple[Finding, ...] = ()


def read_table(path: Path, *, delimiter: str = "", encoding: str = "", header: str = "") -> RawTable:
    """The cells of one file; its kind is decided by its content, not by its name.

    Args:
        path: The file.
        delimiter: Field delimiter of a text file, `tab` for the tabulator; empty: found.
        encoding: Encoding of a text file; empty: found.
        header: `yes` or `no`: whether the first row of a delimited text or Excel sheet names its columns; empty: found.

    Raises:
        DataError: if there is no such file, it is empty, or it is of a kind that cannot be read.
    """
    data = _bytes(path)
    for mark, reason in _FOREIGN.items():
        if data.startswith(mark):
            raise DataError(reason, file=path.name)
    if data.startswith(b"PAR1"):
        return _parquet(path)
    if data.startswith(b"PK\x03\x04"):
        return _xlsx(data, path.name, header)
    return _text(data, path.name, delimiter, encoding, header)


def read_parquet(path: Path) -> pd.DataFrame:
    """A Parquet file as a frame.

    Raises:
        DataError: if it is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"this Parquet file is damaged or incomplete ({_first_line(error)})", file=path.name) from None


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DataError("no such file", file=str(path)) from None
    except IsADirectoryError:
        raise DataError("this is a folder, not a file", file=str(path)) from None
    except OSError as error:
        raise DataError(f"cannot be opened: {error.strerror or error}", file=str(path)) from None
    if not data.strip():
        raise DataError("the file is empty", file=path.name)
    return data


def _parquet(path: Path) -> RawTable:
    frame = read_parquet(path)
    frame.columns = pd.Index(map(str, frame.columns))
    return RawTable(frame, "parquet")


def _xlsx(data: bytes, file: str, asked: str) -> RawTable:
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        cells = [list(row) for row in sheet.iter_rows(values_only=True) if any(cell is not None for cell in row)]
        others = len(book.worksheets) - 1
        book.close()
    except (InvalidFileException, zipfile.BadZipFile, KeyError, IndexError, ValueError, OSError):
        raise DataError(
            "this is a zip archive but not a readable Excel workbook; unpack it or save it as .xlsx", file=file
        ) from None
    if not cells:
        raise DataError("the first sheet is empty", file=file)
    width = max(map(len, cells))
    cells = [row + [None] * (width - len(row)) for row in cells]
    words = [["" if cell is None else str(cell) for cell in row] for row in cells]
    header = has_header(words, asked)
    names = column_names(words[0]) if header else tuple(map(str, range(width)))
    message = f"only the first sheet is read; {plural(others, 'further sheet')} left out"
    found = (Finding("sheets", "note", others, message),) if others else ()
    return RawTable(_frame(cells[1:] if header else cells, names), "xlsx", header=header, findings=found)


def _text(data: bytes, file: str, delimiter: str, encoding: str, header: str) -> RawTable:
    decoded = decode(data, encoding, file=file)
    text, found = decoded.text, []
    if decoded.damaged:
        message = f"{plural(decoded.damaged, 'character')} could not be read as {decoded.encoding} and became \ufffd"
        found.append(Finding("damaged-characters", "warning", decoded.damaged, message))
    start = text.lstrip()[:1]
    if not delimiter and start in "[{":
        table = _json(text, file)
        if table is not None:
            return RawTable(table[0], table[1], encoding=decoded.encoding, findings=tuple(found))
    if not delimiter and start == "(" and _are_trees(text):
        return RawTable(_trees(text), "trees", encoding=decoded.encoding, header=False, findings=tuple(found))
    parsed = parse(text, delimiter, header, file=file)
    if parsed.ragged:
        _refuse_if_shapeless(parsed.ragged, len(parsed.rows), file)
        shown = ", ".join(map(str, parsed.ragged[:3]))
        message = f"{plural(len(parsed.ragged), 'row')} with too many or too few fields left out (first: row {shown})"
        found.append(Finding("ragged-rows", "warning", len(parsed.ragged), message))
    kind = {"\t": "tsv", "": "text"}.get(parsed.delimiter, "csv")
    frame = _frame([[cell or None for cell in row] for row in parsed.rows], parsed.columns)
    return RawTable(frame, kind, decoded.encoding, parsed.delimiter, parsed.quoted, parsed.header, tuple(found))


def _refuse_if_shapeless(ragged: tuple[int, ...], good: int, file: str) -> None:
    if len(ragged) > 0.2 * (good + len(ragged)):
        raise DataError(
            f"{len(ragged):,} of {good + len(ragged):,} rows have another number of fields than the rest; put texts "
            "that hold the delimiter into double quotes, or name another one with data.delimiter",
            file=file,
            row=ragged[0],
        )


def _frame(rows: list[list[Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def _json(text: str, file: str) -> tuple[pd.DataFrame, str] | None:
    """Rows of a JSON list or of JSON Lines, and which it was; None if it only looks like JSON at its start."""
    try:
        whole = _decoded(text, file)
    except json.JSONDecodeError:
        return _json_lines(text, file)
    if isinstance(whole, dict) and not all(isinstance(value, list) for value in whole.values()):
        whole = [whole]
    rows = (
        whole
        if isinstance(whole, list)
        else [dict(zip(whole, cells, strict=False)) for cells in zip(*whole.values(), strict=False)]
    )
    return _objects(rows, file), "json"


def _decoded(text: str, file: str) -> Any:
    """What the text holds; a JSONDecodeError where it is no JSON at all."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:  # nested without end, or a number of thousands of digits
        raise DataError(f"is JSON that cannot be read: {error}", file=file) from None


def _json_lines(text: str, file: str) -> tuple[pd.DataFrame, str] | None:
    rows = []
    for number, line in enumerate(filter(str.strip, re.split(r"\r\n|\n|\r", text)), 1):
        try:
            rows.append(_decoded(line, file))
        except json.JSONDecodeError as error:
            if not rows:
                if file.lower().endswith((".json", ".jsonl", ".ndjson")):
                    raise DataError(f"is not valid JSON: {error.msg}", file=file, row=number) from None
                return None
            raise DataError(f"this line is not valid JSON: {error.msg}", file=file, row=number) from None
    return _objects(rows, file), "jsonl"


def _objects(rows: list[Any], file: str) -> pd.DataFrame:
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError('every row must be an object such as {"text": "…", "label": "…"}', file=file, row=number)
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    if not names:
        raise DataError("the list holds no rows", file=file)
    return _frame([[_cell(row.get(name)) for name in names] for row in rows], tuple(names))


def _cell(value: Any) -> Any:
    return without_surrogates(value) if isinstance(value, str) else value


def _are_trees(text: str) -> bool:
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    return bool(lines) and all(_TREE.fullmatch(line) for line in lines)


def _trees(text: str) -> pd.DataFrame:
    """Sentence and root label of trees in bracket notation, `(3 (2 It) (4 …))`, as the Stanford treebank has them."""
    lines: Iterable[str] = (line for line in text.splitlines() if line.strip())
    rows = []
    for line in lines:
        words = (word for _, word in _LEAF.findall(line))
        rows.append([" ".join(_BRACKETS.get(word, word) for word in words), line[1 : line.index(" ")]])
    return _frame(rows, ("text", "label"))


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0][:200]
