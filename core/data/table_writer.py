"""Atomic writing of tables in batches, as CSV, JSON Lines or Parquet by the file's suffix."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.atomic import replace_file
from core.data.cells import as_word
from core.exceptions import InputError
from core.formatting import escape_formula

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[["pa.RecordBatch"], None]
SEPARATOR = ";"
"""Separates several labels in a cell of a CSV file; it is detected when such a file is read."""
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
NESTED = {b"nested": b"json"}


def check_target(path: Path) -> None:
    """Refuse an output file with an unknown suffix or a missing folder, before any work is done."""
    if path.suffix.lower() not in WAYS:
        raise InputError(f"{path}: the name of the file to write must end in {', '.join(WAYS)}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "this is a folder" if path.is_dir() else f"there is no folder {path.absolute().parent}"
        raise InputError(f"{path}: {reason}; name a file in an existing folder")


@contextlib.contextmanager
def open_writer(path: Path, schema: pa.Schema) -> Iterator[Write]:
    """Yield a function that writes batches of rows to a file; the file appears only if the context ends normally."""
    with replace_file(path) as temporary, WAYS[path.suffix.lower()](temporary, schema) as write:
        yield write


@contextlib.contextmanager
def _write_csv(path: Path, schema: pa.Schema) -> Iterator[Write]:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(map(escape_formula, schema.names))

        def write_rows(batch: pa.RecordBatch) -> None:
            """Write the rows of a batch to a CSV file."""
            columns = ([_format_cell(value) for value in column.to_pylist()] for column in batch.columns)
            table.writerows(zip(*columns, strict=True))

        yield write_rows


def _format_cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value if value and _NUMBER.fullmatch(value) else escape_formula(value or "")
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return escape_formula(SEPARATOR.join(value))
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return as_word(value)


@contextlib.contextmanager
def _write_json_lines(path: Path, schema: pa.Schema) -> Iterator[Write]:
    nested = {each.name for each in schema if each.metadata == NESTED}
    with path.open("w", encoding="utf-8", newline="") as stream:

        def write_rows(batch: pa.RecordBatch) -> None:
            """Write a JSON line for each row of a batch."""
            for row in batch.to_pylist():
                row |= {name: json.loads(row[name]) for name in nested if row[name] is not None}
                plain = {name: None if value != value else value for name, value in row.items()}  # JSON has no NaN
                stream.write(json.dumps(plain, ensure_ascii=False, default=str) + "\n")

        yield write_rows


@contextlib.contextmanager
def _write_parquet(path: Path, schema: pa.Schema) -> Iterator[Write]:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, schema) as table:
        yield table.write_batch


WAYS = {".csv": _write_csv, ".jsonl": _write_json_lines, ".parquet": _write_parquet}
