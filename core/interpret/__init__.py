"""Explanations of a run's prediction on one typed sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.interpret import belief, edits, explain, flip, push, sentence, several, stages, templates, trace_summary
    from core.interpret import verdict

__getattr__ = open_door(__name__)
