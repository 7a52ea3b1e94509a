"""Behavioural tests of a model: suites of test sentences, predictions for the sentences, failure rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.behavioral_tests import report, suite_reader

__getattr__ = make_getattr(__name__)
