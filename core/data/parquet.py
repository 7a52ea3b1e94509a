"""Parquet files as frames: measured by what they say of themselves, then read a batch at a time and measured again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from core.data import limits
from core.data.delimited import unique
from core.exceptions import DataError
from core.numbers import count

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_BATCH = 4_096
_INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path) -> pd.DataFrame:
    """A Parquet file as a frame; the index that pandas may have kept in it is left out.

    Raises:
        DataError: it is damaged, or asks for more than is allowed (`limits`).
    """
    import pyarrow as pa

    data = limits.read_bytes(path)
    try:
        table = _table(data, path.name)
        frame = table.to_pandas(ignore_metadata=True)
    except MemoryError:  # Arrow's own is also one of its errors
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError, LookupError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise DataError(f"this Parquet file is damaged or incomplete ({reason})", file=path.name) from None
    frame.columns = pd.Index(unique(table.column_names))
    return frame[[name for name in frame.columns if not _INDEX.fullmatch(name)]]


def _table(data: bytes, file: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = pq.ParquetFile(pa.BufferReader(data))
    words = _check_claims(source.metadata, file)
    # Words stay numbers of a dictionary until it is known how long they are written out: 200 kB can be 2 GB.
    source = pq.ParquetFile(pa.BufferReader(data), read_dictionary=words)
    left, rows = limits.current().size * limits.MEGABYTE, 0
    batches = []
    for batch in source.iter_batches(batch_size=_BATCH):
        rows += batch.num_rows
        limits.check_shape(rows, batch.num_columns, file=file)
        left -= sum(_written_out(column) for column in batch.columns)
        if left < 0:
            raise limits.refusal("its cells unpack to more", "size", file=file)
        batches.append(pa.RecordBatch.from_arrays([_plain(column) for column in batch.columns], batch.schema.names))
    if not batches:
        schema = source.schema_arrow
        return pa.Table.from_arrays([pa.array([], pa.null()) for _ in schema.names], schema.names)
    table = pa.Table.from_batches(batches)
    for name, column in zip(table.column_names, table.columns, strict=True):
        _check_words(column, name, file)
    return table


def _check_words(column: pa.ChunkedArray, name: str, file: str) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise DataError("holds text that is not UTF-8", file=file, field=name) from None
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        longest = pc.max(pc.utf8_length(column)).as_py() or 0
        if longest > limits.current().characters:
            raise limits.refusal(f"a cell has {count(longest)} characters", "characters", file=file, field=name)


def _check_claims(metadata: pq.FileMetaData, file: str) -> list[str]:
    """Refuse what is too large already by its own words.

    Returns:
        The flat columns of words.
    """
    limits.check_shape(metadata.num_rows, metadata.num_columns, file=file)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = sum(group.column(n).total_uncompressed_size for group in groups for n in range(metadata.num_columns))
    if size > limits.current().size * limits.MEGABYTE:
        raise limits.refusal(f"it unpacks to {count(size // limits.MEGABYTE)} MB", "size", file=file)
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    return [
        leaf.path
        for leaf in leaves
        if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type in ("NONE", "STRING", "JSON", "ENUM")
    ]


def _written_out(column: Any) -> int:
    """Bytes of a column with each cell standing for itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary)
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _plain(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
