"""The description of a model's parts: words, sizes, and their places in the equation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class EquationLine(NamedTuple):
    """One line of an equation and its explanation."""

    latex: str
    words: str


class Formula(NamedTuple):
    """The equation out = norm(combined V) with the maps softmax_seen(before q·k / below factor + added), in LaTeX."""

    q: str
    k: str
    below: str
    before: str = ""
    factor: str = ""
    added: str = ""
    seen: str = "j"
    combined: str = "A"
    norm: str = ""
    words: str = "One map weighs the values."  # What is said of how the maps combine


@dataclass(frozen=True)
class Term:
    """An addition to plain queries, keys and values in an attention."""

    name: str  # Short, as it stands in a table: `gate`
    detail: str  # What it does, in a few words
    parameters: int = 0
    write: Callable[[Formula], Formula] = field(default=lambda formula: formula, compare=False)
    """What it does to the equation."""
    lines: tuple[EquationLine, ...] = ()  # What defines the letters that it brings there
