"""Predictions, metrics with intervals, representation quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.evaluation import comparison, differences, efficiency, intervals, neighbourhood, projection
    from core.evaluation import representation, scores, spans, yardstick

__getattr__ = open_door(__name__)
