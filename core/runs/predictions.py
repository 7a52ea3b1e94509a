"""What a run predicts for the texts of a split, read with distrust: the file may come from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from core.exceptions import DataError, RunDamaged
from core.runs.record import EVALUATION, PREDICTIONS

if TYPE_CHECKING:
    import pandas as pd


def evaluated_splits(run: Path) -> list[str]:
    """The splits that a run directory has predictions of, in alphabetical order."""
    return sorted(path.parent.name for path in (run / EVALUATION).glob(f"*/{PREDICTIONS}"))


def read_predictions(path: Path) -> pd.DataFrame:
    """The table that `core.runs.results.write_split` has written.

    Raises:
        RunDamaged: it cannot be read, or is larger than any that is written here; the message names it.
    """
    from core.data.parquet import read_parquet

    try:
        return read_parquet(path)
    except DataError as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
