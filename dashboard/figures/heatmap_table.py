"""Colours for attributions of words and model parts, and tables of coloured numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.formatting import number, signed
from dashboard.figures.drawing import Component
from dashboard.figures.theme import Look, Tokens, choose_text_color, shade_ink

if TYPE_CHECKING:
    from core.interpret.attribution import Explanation

STEPS = 5  # number of colour steps, without the background
FAINTEST = 0.5  # log-odds in the strongest colour if no effect is larger, so that tiny effects stay pale
Cell = dict[str, Any]
Ramps = tuple[Sequence[str], Sequence[str]]
"""Colour steps of effects towards a class and away from it, background first."""


@dataclass(frozen=True, eq=False)
class AttributedWords:
    """Effect of each word of a text on the prediction, and the tokens that each word consists of."""

    found: Explanation
    belongs: NDArray[np.float64]  # (words, tokens) share of each token that belongs to each word
    read: Explanation | None = None
    """Attention that each word receives, by the method `attention`; None: no attention, or the text is too long."""


def find_full_color(pushes: Iterable[float]) -> float:
    """Return the absolute attribution that gets the strongest colour: the largest one, but at least a minimum."""
    return max([FAINTEST, *map(abs, pushes)])


def shade_push(push: float, top: float, ramps: Ramps, t: Tokens) -> Cell:
    """Return the cell and text colour of an attribution, and whether to hatch it; size `top` gets the full colour."""
    towards, away = ramps
    color = (towards if push >= 0 else away or towards)[min(STEPS, round(STEPS * abs(push) / top))]
    return {"colour": color, "ink": choose_text_color(t, color), "away": push < 0 and not away and color != t.paper}


def write_push(push: float) -> str:
    """Format an attribution with its sign; one that rounds to 0.00 has no sign."""
    return signed(push) if abs(push) >= 0.005 else "0.00"


def draw_heatmap(heads: list[Cell], rows: list[Cell], label: str, lines: list[str], look: Look) -> Component:
    """Draw a table of coloured numbers with row and column names; each cell has a tooltip."""
    colors = look.tokens.select_colors("ink", "muted", "grid", "paper")
    return Component("cells", {"heads": heads, "rows": rows, "label": label, "lines": lines, "colours": colors}, look)


def make_push_cell(push: float, top: float, ramps: Ramps, about: str, t: Tokens) -> Cell:
    """Return the coloured table cell of a signed attribution; one of size `top` gets the strongest colour."""
    return {"text": write_push(push), **shade_push(push, top, ramps, t), "about": about}


def make_ink_cell(value: float, top: float, about: str, t: Tokens) -> Cell:
    """Return the table cell of a value in shades of the text colour: the larger its absolute value, the stronger."""
    color = shade_ink(t, abs(value), top)
    drawn = {"text": number(value, 2), "colour": color, "ink": choose_text_color(t, color)}
    return {**drawn, "away": value < 0, "about": about}
