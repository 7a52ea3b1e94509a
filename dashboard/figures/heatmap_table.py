"""A table of coloured numbers: names on both sides, each cell with its words for the pointer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.numbers import signed
from dashboard.figures.drawing import Component
from dashboard.figures.numbers import number
from dashboard.figures.theme import Look, Tokens, ink_shade, readable
from dashboard.figures.words import STEPS

Cell = dict[str, Any]
Ramps = tuple[Sequence[str], Sequence[str]]
"""Steps of colour, page first, towards a class and away from it; see `words.sides`."""


def coloured_table(heads: list[Cell], rows: list[Cell], label: str, lines: list[str], look: Look) -> Component:
    """The table."""
    colours = {name: getattr(look.tokens, name) for name in ("ink", "muted", "grid", "paper")}
    return Component("cells", {"heads": heads, "rows": rows, "label": label, "lines": lines, "colours": colours}, look)


def push_cell(push: float, top: float, ramps: Ramps, about: str, t: Tokens) -> Cell:
    """A number with a side; `top` has full colour."""
    towards, away = ramps
    colour = (towards if push >= 0 else away or towards)[min(STEPS, round(STEPS * abs(push) / top))]
    return {
        "text": signed(push) if abs(push) >= 0.005 else "0.00",
        "colour": colour,
        "ink": readable(t, colour),
        "away": push < 0 and not away and colour != t.paper,
        "about": about,
    }


def ink_cell(value: float, top: float, about: str, t: Tokens) -> Cell:
    """A number without a side: the larger in size, the more ink."""
    colour = ink_shade(t, abs(value), top)
    return {
        "text": number(value, 2),
        "colour": colour,
        "ink": readable(t, colour),
        "away": value < 0,
        "about": about,
    }
