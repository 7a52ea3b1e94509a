"""What a model should be able to do, asked sentence by sentence: suites, answers, failure rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.lazy import open_door

if TYPE_CHECKING:
    from core.behaviour import answers, polarity, read, report

__getattr__ = open_door(__name__)
