"""The building blocks of a model's LaTeX description: equation lines, the attention formula and its terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple


class EquationLine(NamedTuple):
    """A line of a model's LaTeX equation with its explanation."""

    latex: str
    words: str


class Formula(NamedTuple):
    """The LaTeX parts of the attention equation: queries, keys, divisor, factors, added terms, mask, and norm."""

    q: str
    k: str
    below: str
    before: str = ""
    factor: str = ""
    added: str = ""
    seen: str = "j"
    combined: str = "A"
    norm: str = ""
    words: str = "One map weighs the values."  # How the maps combine


@dataclass(frozen=True)
class Term:
    """An extension of plain attention: name, description, parameters, and how it changes the equation."""

    name: str  # Short name for tables: `gate`
    detail: str  # What it does, in a few words
    parameters: int = 0
    write: Callable[[Formula], Formula] = field(default=lambda formula: formula, compare=False)
    """Changes the equation."""
    lines: tuple[EquationLine, ...] = ()  # Definitions of its symbols
