"""Labelled text data: reading and checking of files, named data sets, splits and data cards."""

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.data import card, cells, columns, conll, decoding, folders, labeled_files, limits, load, mixture
    from core.data import parquet, sandbox, sources, splits

__getattr__ = make_getattr(__name__)
