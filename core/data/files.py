"""Files to raw tables, their kinds told apart by content.

CSV, TSV, JSON, JSON Lines, XLSX, Parquet, treebank brackets and plain text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from core.data import conll, limits
from core.data.columns import cell_of
from core.data.decisions import Decision
from core.data.decode import decode, without_surrogates
from core.data.delimited import HEADER_ROWS, column_names, has_header, parse, unique
from core.data.excel import read_excel
from core.data.findings import Finding, plural
from core.data.parquet import read_parquet
from core.data.reading_decisions import describe_encoding, describe_table
from core.exceptions import DataError
from core.numbers import count

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
    """csv, tsv, text, json, jsonl, xlsx, parquet, trees or conll."""
    encoding: str = ""
    delimiter: str = ""
    quoted: bool = False
    header: bool = True
    findings: tuple[Finding, ...] = ()
    decisions: tuple[Decision, ...] = ()


def read_table(path: Path, *, delimiter: str = "", encoding: str = "", header: str = "", quoting: str = "") -> RawTable:
    """The cells of one file; its kind is decided by its content, not by its name.

    Args:
        path: The file.
        delimiter: Field delimiter of a text file, `tab` for the tabulator, `conll`: a word and its tag a line; empty:
            found.
        encoding: Encoding of a text file; empty: found.
        header: `yes` or `no`: whether the first row of a delimited text or Excel sheet names its columns; empty: found.
        quoting: How fields of a delimited text are quoted, one of `QUOTINGS`; empty: found.

    Raises:
        DataError: if there is no such file, it is empty, of a kind that cannot be read, damaged, or asks for more than
            is allowed (`limits`).
    """
    data = limits.read_bytes(path)
    if not data.strip():
        raise DataError("the file is empty", file=path.name)
    for mark, reason in _FOREIGN.items():
        if data.startswith(mark):
            raise DataError(reason, file=path.name)
    if data.startswith(b"PAR1"):
        return RawTable(read_parquet(path), "parquet")
    if data.startswith(b"PK\x03\x04"):
        return _xlsx(data, path.name, header)
    return _text(data, path.name, delimiter, encoding, header, quoting)


def _xlsx(data: bytes, file: str, asked: str) -> RawTable:
    cells, others = read_excel(data, file)
    words = [["" if cell is None else str(cell) for cell in row] for row in cells[:HEADER_ROWS]]
    header = has_header(words, asked)
    names = column_names(words[0]) if header else tuple(map(str, range(len(words[0]))))
    message = f"only the first sheet is read; {plural(others, 'further sheet')} left out"
    found = (Finding("sheets", "note", others, message),) if others else ()
    return RawTable(_frame(cells[1:] if header else cells, names), "xlsx", header=header, findings=found)


def _text(data: bytes, file: str, delimiter: str, encoding: str, header: str, quoting: str) -> RawTable:
    decoded = decode(data, encoding, file=file)
    text = decoded.text
    decisions, found = describe_encoding(decoded)
    if delimiter == conll.KIND or (not delimiter and conll.is_conll(text, file)):
        frame, told = conll.read_conll(text, file)
        return RawTable(
            frame,
            conll.KIND,
            encoding=decoded.encoding,
            header=False,
            findings=(*found, *told),
            decisions=tuple(decisions),
        )
    start = text.lstrip()[:1]
    if not delimiter and start in "[{":
        table = _json(text, file)
        if table is not None:
            return RawTable(
                table[0], table[1], encoding=decoded.encoding, findings=tuple(found), decisions=tuple(decisions)
            )
    if not delimiter and start == "(" and _are_trees(text):
        return RawTable(
            _trees(text, file),
            "trees",
            encoding=decoded.encoding,
            header=False,
            findings=tuple(found),
            decisions=tuple(decisions),
        )
    parsed = parse(text, delimiter, header, quoting, file=file)
    _refuse_if_shapeless(parsed.ragged, len(parsed.rows), file)
    kind = {"\t": "tsv", "": "text"}.get(parsed.delimiter, "csv")
    frame = _frame([[cell or None for cell in row] for row in parsed.rows], parsed.columns)
    of_table, told = describe_table(parsed)
    return RawTable(
        frame,
        kind,
        decoded.encoding,
        parsed.delimiter,
        parsed.quoted,
        parsed.header,
        (*found, *told),
        (*decisions, *of_table),
    )


def _refuse_if_shapeless(ragged: tuple[int, ...], good: int, file: str) -> None:
    if len(ragged) > 0.2 * (good + len(ragged)):
        raise DataError(
            f"{count(len(ragged))} of {count(good + len(ragged))} rows have another number of fields than the rest; "
            "put texts that hold the delimiter into double quotes, or name another one with data.delimiter",
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
    rows: list[Any] = []
    for number, line in enumerate(filter(str.strip, re.split(r"\r\n|\n|\r", text)), 1):
        limits.check_shape(number, 1, file=file)
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
    """A table of objects: their keys are the columns, in the order in which they come."""
    keys: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise DataError('every row must be an object such as {"text": "…", "label": "…"}', file=file, row=number)
        keys.update(dict.fromkeys(row))
        if len(keys) > limits.current().columns:
            raise limits.refusal(f"the rows have {count(len(keys))} different keys", "columns", file=file, row=number)
    if not keys:
        raise DataError("the list holds no rows", file=file)
    limits.check_shape(len(rows), len(keys), file=file)
    most = limits.current().characters
    cells = [
        [cell_of(row.get(key), most, file=file, row=number, field=key) for key in keys]
        for number, row in enumerate(rows, 1)
    ]
    return _frame(cells, unique(map(without_surrogates, keys)))


def _are_trees(text: str) -> bool:
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    return bool(lines) and all(_TREE.fullmatch(line) for line in lines)


def _trees(text: str, file: str) -> pd.DataFrame:
    """Sentence and root label of trees in bracket notation, `(3 (2 It) (4 …))`, as the Stanford treebank has them."""
    rows = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), 1):
        limits.check_shape(number, 1, file=file)
        if not _TREE.fullmatch(line):
            raise DataError("this line is no tree as the first ones are: (3 (2 It) (4 works))", file=file, row=number)
        words = (word for _, word in _LEAF.findall(line))
        rows.append([" ".join(_BRACKETS.get(word, word) for word in words), line[1 : line.index(" ")]])
    return _frame(rows, ("text", "label"))
