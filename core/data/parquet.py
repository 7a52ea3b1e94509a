"""Reading of Parquet files: the declared size is checked first, then the actual size of each batch."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from core.data import limits
from core.data.columns import make_unique
from core.data.findings import Finding, shorten
from core.exceptions import DataError
from core.formatting import count

_BATCH = 4_096
_DEEPEST = 3  # Levels of nested lists in a feature, at most
_HUB = b"huggingface"  # Metadata key of the library `datasets`
_INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a Parquet file as a data frame; see `parse_parquet`."""
    return parse_parquet(limits.read_bytes(path), path.name)


def parse_parquet(data: bytes, file: str) -> pd.DataFrame:
    """Parse the bytes of a Parquet file to a data frame without the pandas index; refuse a damaged or large file."""
    schema, batches = read_batches(pa.BufferReader(data), file)
    found = list(batches)
    with _convert_errors(file):
        return (pa.Table.from_batches(found) if found else schema.empty_table()).to_pandas(ignore_metadata=True)


def apply_class_names(
    frame: pd.DataFrame, classes: Mapping[str, tuple[str, ...]]
) -> tuple[pd.DataFrame, list[Finding]]:
    """Replace class numbers in table columns by the class names that the file gives; numbers without a name stay."""
    found: list[Finding] = []
    for column, names in classes.items():
        if column not in frame.columns:
            continue
        named: dict[Any, str] = dict(enumerate(names))
        cells = [_name_cell(cell, named) for cell in frame[column]]
        frame = frame.assign(**{column: pd.Series(cells, index=frame.index, dtype=object)})
        message = f"the class names of '{shorten(column)}' are those of the file: "
        message += ", ".join(f"{number} = {shorten(name)}" for number, name in list(named.items())[:8])
        found.append(Finding("class-names", "note", len(names), message))
    return frame, found


def read_class_names(data: bytes) -> dict[str, tuple[str, ...]]:
    """Return column → class names for columns of a Parquet file that `datasets` wrote as `ClassLabel` features."""
    try:
        features = json.loads((pq.read_schema(pa.BufferReader(data)).metadata or {})[_HUB])["info"]["features"]
        return {column: names for column, feature in features.items() if (names := _find_class_names(feature))}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def read_viewer_classes(whole: Any) -> dict[str, tuple[str, ...]]:
    """Return column → class names from an answer of the Hugging Face hub's data viewer."""
    features = whole.get("features") if isinstance(whole, dict) else None
    given = [each for each in features if isinstance(each, dict)] if isinstance(features, list) else []
    return {str(each.get("name")): names for each in given if (names := _find_class_names(each.get("type")))}


def _find_class_names(feature: Any) -> tuple[str, ...]:
    for _ in range(_DEEPEST):
        if isinstance(feature, list) and feature:
            feature = feature[0]
        elif isinstance(feature, dict) and "feature" in feature:
            feature = feature["feature"]
    names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _name_cell(cell: Any, names: dict[Any, str]) -> Any:
    if isinstance(cell, (np.ndarray, list, tuple)):
        return [_name_cell(each, names) for each in cell]
    return names.get(cell, cell) if isinstance(cell, (int, float, np.number)) else cell


def read_batches(stream: BinaryIO | pa.BufferReader, file: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return the schema of a Parquet file and an iterator over its batches of rows, without the pandas index."""
    with _convert_errors(file):
        schema = pq.ParquetFile(stream).schema_arrow.remove_metadata()
        kept = [place for place, name in enumerate(schema.names) if not _INDEX.fullmatch(name)]
        names = make_unique(schema.names)

    def check_batches() -> Iterator[pa.RecordBatch]:
        with _convert_errors(file):
            for batch in _iterate_batches(stream, file):
                for place in kept:
                    _check_words(batch.column(place), names[place], file)
                yield pa.RecordBatch.from_arrays([batch.column(n) for n in kept], [names[n] for n in kept])

    return pa.schema([pa.field(names[place], schema.field(place).type) for place in kept]), check_batches()


@contextlib.contextmanager
def _convert_errors(file: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:  # Arrow's memory error is also an ArrowException
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, LookupError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise DataError(f"this Parquet file is damaged or incomplete ({reason})", file=file) from None


def _iterate_batches(data: Any, file: str) -> Iterator[pa.RecordBatch]:
    words = _check_claims(pq.ParquetFile(data).metadata, file)
    # Texts are read as dictionaries until their total size is known; 200 kB can expand to 2 GB.
    left, rows = limits.get_limits().size * limits.MEGABYTE, 0
    for batch in pq.ParquetFile(data, read_dictionary=words).iter_batches(batch_size=_BATCH):
        rows += batch.num_rows
        limits.check_shape(rows, batch.num_columns, file=file)
        if (left := left - sum(map(_measure_size, batch.columns))) < 0:
            raise limits.make_error("its cells unpack to more", "size", file=file)
        cells = [each.dictionary_decode() if pa.types.is_dictionary(each.type) else each for each in batch.columns]
        yield pa.RecordBatch.from_arrays(cells, batch.schema.names)


def _check_words(column: pa.ChunkedArray | pa.Array, name: str, file: str) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError("holds text that is not UTF-8", file=file, field=name) from None
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        if (longest := pc.max(pc.utf8_length(column)).as_py() or 0) > limits.get_limits().characters:
            raise limits.make_error(f"a cell has {count(longest)} characters", "characters", file=file, field=name)


def _check_claims(metadata: pq.FileMetaData, file: str) -> list[str]:
    """Refuse a Parquet file whose declared size is too large, and return its flat text columns."""
    limits.check_shape(metadata.num_rows, metadata.num_columns, file=file)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = sum(group.column(n).total_uncompressed_size for group in groups for n in range(metadata.num_columns))
    if size > limits.get_limits().size * limits.MEGABYTE:
        raise limits.make_error(f"it unpacks to {count(size // limits.MEGABYTE)} MB", "size", file=file)
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    texts = ("NONE", "STRING", "JSON", "ENUM")
    return [each.path for each in leaves if each.physical_type == "BYTE_ARRAY" and each.logical_type.type in texts]


def _measure_size(column: Any) -> int:
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
