"""What a run said of the texts of a split, read with distrust: the file may come from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.exceptions import DataError, RunDamaged

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 512 * 1024**2
"""Bytes of a split's predictions, unpacked: a run has no more on the disk."""
CELLS = 50_000_000


def read_predictions(path: Path) -> pd.DataFrame:
    """The table that `core.runs.results.write_split` has written.

    Raises:
        RunDamaged: it cannot be read, or is larger than any that is written here; the message names it.
    """
    from core.data.files import read_parquet

    if refusal := oversize(path):
        raise RunDamaged(f"{path}: {refusal}")
    try:
        return read_parquet(path)
    except DataError as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error


def oversize(path: Path) -> str:
    """Why a table is not unpacked, by what it says of itself: a few kB can be many GB. Empty: it may be tried."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        about = parquet.read_metadata(path)
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        size = sum(group.column(each).total_uncompressed_size for group in groups for each in range(group.num_columns))
    except (pa.ArrowException, OSError, ValueError):
        return ""  # damaged, as who reads it will say
    if size <= LARGEST and about.num_rows * about.num_columns <= CELLS:
        return ""
    return (
        f"unpacks to {size // 1024**2:,} MB in {about.num_rows:,} rows of {about.num_columns:,} columns, more than any "
        f"run has ({LARGEST // 1024**2} MB, {CELLS:,} cells)"
    )
