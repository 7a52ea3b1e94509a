"""Lessons in four stages, with everything computed from the starter runs, and the tally of a class's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy_imports import make_getattr

if TYPE_CHECKING:
    from core.lessons import catalog, lesson, tally

__getattr__ = make_getattr(__name__)
