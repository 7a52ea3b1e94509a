"""Table cells: their conversion to text, cleaning of labels, checks of size and nesting, and writing of tables."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import unicodedata
from collections.abc import Callable, Iterator, ValuesView
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.atomic import replace_file
from core.data.decoding import replace_surrogates
from core.data.limits import make_error
from core.exceptions import DataError, InputError
from core.formatting import count, escape_formula

if TYPE_CHECKING:
    import pyarrow as pa

ERRORS = frozenset(
    "#N/A #NAME? #REF! #VALUE! #DIV/0! #NULL! #NUM! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #BUSY! #UNKNOWN! "
    "#GETTING_DATA #ERROR! #NV #BEZUG! #WERT! #ZAHL! #NOM? #VALEUR! #NOMBRE!".split()
)  # Error values of spreadsheet formulas, also in German and French
MISSING = ERRORS | {"\\N", "#N/A N/A", "NULL"}  # Missing values as databases and spreadsheets write them
MOST_NESTED = 20  # Levels of lists and objects in a cell, at most
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    "|(?<![^\\x00-\\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\\x00-\\x7f])"
)  # Joiners are kept inside emoji and between non-ASCII letters, where they are visible
_WHOLE = re.compile(r"[-+]?\d+\.0+")


def as_word(value: object) -> str:
    """Return the value of a table cell as text, as a person would write it: `4` for 4.0, `true` for True."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return replace_surrogates(str(value))


def as_words(values: pd.Series) -> pd.Series:
    """Return table cells as text, the way a person would write them (`4`, not `4.0`); missing cells stay missing."""
    if isinstance(values.dtype, pd.StringDtype):
        return values
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype("str")
    return values.map(as_word, na_action="ignore").astype("str")


def clean_label(word: str) -> str:
    """Clean a label: NFC, no invisible characters or outer blanks, `1` for `1.0`; empty if it marks a missing value."""
    seen = _INVISIBLE.sub("", unicodedata.normalize("NFC", word)).strip()
    if seen.strip() in MISSING:
        return ""
    return seen.partition(".")[0] if _WHOLE.fullmatch(seen) else seen


def check_cell(value: Any, longest: int, *, file: str, row: int, field: str) -> Any:
    """Return a table cell, with text made storable as UTF-8; refuse one that is too long or too deeply nested."""
    if isinstance(value, str):
        if len(value) > longest:
            found = f"the cell has {count(len(value))} characters"
            raise make_error(found, "characters", file=file, row=row, field=replace_surrogates(field))
        return replace_surrogates(value)
    inside = [value]
    for _ in range(MOST_NESTED):
        groups = (each.values() if isinstance(each, dict) else each for each in inside)
        inside = [part for group in groups if isinstance(group, (list, tuple, ValuesView)) for part in group]
        if not inside:
            return value
    problem = f"the cell is nested more than {MOST_NESTED} levels deep; write it as text"
    raise DataError(problem, file=file, row=row, field=replace_surrogates(field))


Write = Callable[["pa.RecordBatch"], None]
SEPARATOR = ";"  # Separates several labels in a cell of a CSV file; it is detected when such a file is read
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
            columns = ([_format_cell(value) for value in column.to_pylist()] for column in batch.columns)
            table.writerows(zip(*columns, strict=True))

        yield write_rows


def _format_cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value if value and _NUMBER.fullmatch(value) else escape_formula(value or "")
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return escape_formula(SEPARATOR.join(value))
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, (list, dict)) else as_word(value)


@contextlib.contextmanager
def _write_json_lines(path: Path, schema: pa.Schema) -> Iterator[Write]:
    nested = {each.name for each in schema if each.metadata == NESTED}
    with path.open("w", encoding="utf-8", newline="") as stream:

        def write_rows(batch: pa.RecordBatch) -> None:
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
