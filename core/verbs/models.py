"""Presets, as they are and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core import systems
from core.systems import CLASSES, VOCABULARY

if TYPE_CHECKING:
    pass


def presets(paper: str = "", *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> dict[str, Any]:
    """Every preset, or those of a paper, with source, one line, size and the parts that are switched on.

    Args:
        paper: its key or its short title; empty: all.
        vocabulary: tokens at which parameters are counted.
        classes: the same.

    Raises:
        InputError: no such paper, or sizes that no model has.
    """
    found = systems.listed(paper, vocabulary=vocabulary, classes=classes)
    return {"vocabulary": vocabulary, "classes": classes, "presets": found}


def presets_show(name: str, *, vocabulary: int = VOCABULARY, classes: int = CLASSES) -> dict[str, Any]:
    """One preset whole: source, line, equation, parts, size, its nearest relative, where it departs from its paper.

    Raises:
        InputError: no such preset, or sizes that no model has.
    """
    return systems.whole(name, vocabulary=vocabulary, classes=classes)
