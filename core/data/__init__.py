"""Labelled tables: sources, inspection, splits and data cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.data import apart, card, check, columns, conll, decode, folders, held, kept_examples, labeled_files
    from core.data import limits, lineage, load, parquet, splits, table_head, write

__getattr__ = open_door(__name__)
