"""Labelled text data: reading and checking of files, named data sets, splits and data cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.data import (
        sandbox,
        card,
        check,
        columns,
        conll,
        decoding,
        folders,
        availability,
        counterexample_snapshot,
        labeled_files,
    )
    from core.data import limits, lineage, load, parquet, splits, header_detection, table_writer

__getattr__ = make_getattr(__name__)
