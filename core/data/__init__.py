"""Labelled text data: reading and checking of files, named data sets, splits and data cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.data import availability, card, check, columns, conll, counterexample_snapshot, decoding, folders
    from core.data import header_detection, labeled_files, limits, lineage, load, parquet, sandbox, splits, table_writer

__getattr__ = make_getattr(__name__)
