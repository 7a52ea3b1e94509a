"""One sentence as several models read it, beside each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.exceptions import NotAvailable
from dashboard.figures.attention import MapRow, full_colour, map_grid
from dashboard.figures.comparing import letter_of
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import number
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look

LETTERS = ("A", "B", "C", "D", "E", "F")


def _letters(source: Source) -> list[str]:
    return [letter_of(source, side) for side in source.sides.sides]


WHO = Option(
    "who",
    "Model",
    _letters,
    "Whose map",
    words=lambda source, letter: "",
    endings={letter: f"-{letter.lower()}" for letter in LETTERS},
)


@dataclass(frozen=True, eq=False)
class Reading:
    """A sentence in one model."""

    name: str
    answer: str
    tokens: tuple[str, ...]
    weights: NDArray[np.floating]
    """(L, L), the last layer, mean over its heads, components added up."""
    layers: int
    top: float
    """The weight of full colour, one for all models."""


def _read(source: Source) -> Reading:
    letter = str(source.chosen(WHO))
    if not source.text.strip():
        raise NotAvailable("a sentence is needed: --text")
    side = next(side for side in source.sides.sides if letter_of(source, side) == letter)
    record = side.model.records[0]
    view = source.reader.sentence(record.run, source.text)
    name = f"{letter} {side.name}"
    said, chance = max(view.probabilities.items(), key=lambda known: known[1])
    if not view.layers:
        raise NotAvailable(f"{name} has no attention: it says {said} ({number(chance, 2)})")
    weights = view.layers[-1].combined
    if not weights.size:
        raise NotAvailable(f"{name}: the sentence is too long for maps, or the model knows no word of it")
    return Reading(name, f"{said} {number(chance, 2)}", view.tokens, weights.mean(0), len(view.layers), _top(source))


def _top(source: Source) -> float:
    views = [source.reader.sentence(side.model.records[0].run, source.text) for side in source.sides.sides]
    weights = [view.layers[-1].combined for view in views if view.layers and view.layers[-1].combined.size]
    return full_colour([MapRow("", each.mean(0)) for each in weights])


def _draw(shape: Reading, look: Look) -> go.Figure:
    return map_grid([MapRow("", shape.weights[None])], shape.tokens, look, top=shape.top, numbered=False, worded=True)


MAPS = Figure(
    "compare-map",
    "compare",
    lambda shape: shape.name,
    _read,
    _draw,
    note=lambda shape: f"says {shape.answer}",
    reading=lambda shape: f"Layer {shape.layers} of {shape.layers}, mean of its heads; one scale for all.",
    how=(
        "All components are added up with their coefficients. Attention is not an explanation: it says where a model "
        "looks, not why it answers as it does."
    ),
    options=(WHO,),
    spread=(WHO,),
)
