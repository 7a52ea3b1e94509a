"""Behavioural tests of a model: suites of test sentences, predictions, failure rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.behaviour import answers, polarity, read, report

__getattr__ = open_door(__name__)
