"""Evaluation of models: predictions, metrics with intervals, comparisons, and quality of embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.evaluation import comparison, split_differences, intervals, metrics, projection
    from core.evaluation import class_separability, span_metrics, baseline

__getattr__ = make_getattr(__name__)
