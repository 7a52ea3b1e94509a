"""Two readings beside each other: their words by every method that both have, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.numbers import signed
from dashboard.figures.coloured import Cell, block, coloured_tables, ink_cell, no_cell, push_cell
from dashboard.figures.differing import OTHER_TEXT, Pair, against, named, paired, same_class
from dashboard.figures.figure import Figure
from dashboard.figures.methods import ABOUT, EXTENT, NAMES, READ, Together, together
from dashboard.figures.numbers import count
from dashboard.figures.pushed import full_colour
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS, sides

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.figures.drawing import Component
    from dashboard.figures.theme import Look


@dataclass(frozen=True, eq=False)
class DifferingMethods:
    """The words of two readings by several methods, those that correspond side by side."""

    now: Together
    other: Together
    names: tuple[str, str]
    pairs: Sequence[Pair]
    """Places of the words; None where there is no counterpart."""

    @property
    def both(self) -> list[str]:
        """The methods that both have."""
        return [name for name in self.now.methods.by if name in self.other.methods.by]

    @property
    def lacking(self) -> list[str]:
        """Which method only one of them has, and why, in sentences."""
        lines = []
        for side, name in zip((self.now, self.other), self.names, strict=True):
            lines += [f"No {NAMES[method]} of {name}: {reason}." for method, reason in side.methods.left_out.items()]
        return lines


def differing_methods(now: Source, other: Source) -> DifferingMethods:
    """The words of both by the methods that are chosen, towards the same class.

    Raises:
        NotAvailable: one reads no word, or the other has no such class.
    """
    same = same_class(now, other)
    if EXTENT.name in now.choices:
        same = same.with_choices(**{EXTENT.name: now.choices[EXTENT.name]})
    mine, theirs = together(now), together(same)
    words = ([word.word for word in each.first.words] for each in (mine, theirs))
    return DifferingMethods(mine, theirs, named(now, other), paired(*words))


def _draw(shape: DifferingMethods, look: Look) -> Component:
    t, about = look.tokens, shape.now.first.target
    ramps = sides(shape.now.record, about, t)
    pushes = {name: [side.methods.by[name].pushes for side in (shape.now, shape.other)] for name in shape.both}
    tops = {
        name: float(max(np.abs(each).max(initial=0) for each in both)) or 1.0
        if name in READ
        else full_colour(np.concatenate(both))
        for name, both in pushes.items()
    }

    def cell(name: str, value: float, said: str) -> Cell:
        if name in READ:
            return ink_cell(value, tops[name], said, t)
        return push_cell(value, tops[name], ramps, said, t)

    def single(side: int) -> Callable[[str, int], Cell]:
        return lambda name, place: cell(
            name, float(pushes[name][side][place]), f"{NAMES[name]}: {signed(float(pushes[name][side][place]), 3)}"
        )

    def gap(name: str, pair: Pair) -> Cell:
        mine, its = pair
        if mine is None or its is None:
            return no_cell("–", t)
        first, second = float(pushes[name][0][mine]), float(pushes[name][1][its])
        said = f"{NAMES[name]}: {signed(first, 3)} against {signed(second, 3)}: {signed(first - second, 3)}"
        return cell(name, first - second, said)

    heads = [{"name": NAMES[name], "about": ABOUT[name]} for name in shape.both]
    tables = []
    for side, (reading, title) in enumerate(zip((shape.now, shape.other), shape.names, strict=True)):
        paint, words = single(side), reading.first.words
        rows = [
            {"name": words[place].word, "cells": [paint(name, place) for name in shape.both]} for place in reading.shown
        ]
        tables.append(block(title, heads, rows, f"words by method, {('this', 'the other')[side]} reading"))
    kept = [pair for pair in shape.pairs if pair[0] in shape.now.shown or pair[1] in shape.other.shown]
    rows = [{"name": _word(shape, pair), "cells": [gap(name, pair) for name in shape.both]} for pair in kept]
    tables.append(block("Difference", heads, rows, "words by method, difference of the two"))
    hidden = len(shape.pairs) - len(kept)
    lines = [f"… {count(hidden)} more words, which push less."] * bool(hidden)
    return coloured_tables(tables, [*lines, *shape.lacking], look)


def _word(shape: DifferingMethods, pair: Pair) -> str:
    mine, its = (
        "" if place is None else side.first.words[place].word
        for place, side in zip(pair, (shape.now, shape.other), strict=True)
    )
    if not (mine and its):
        return f"{mine}, only here" if mine else f"{its}, only there"
    return mine if mine == its else f"{mine} ← {its}"


def differing_method_table(shape: DifferingMethods) -> pd.DataFrame:
    """One row for each pair of words and each method that both have: here, there, and the difference."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for name in shape.both:
        for pair in shape.pairs:
            mine, its = (
                None if place is None else side.methods.by[name].words[place]
                for place, side in zip(pair, (shape.now, shape.other), strict=True)
            )
            rows.append(
                {
                    "method": name,
                    "word": mine and mine.word,
                    "other word": its and its.word,
                    "towards": shape.now.first.target,
                    "here": mine and mine.push,
                    "there": its and its.push,
                    "difference": None if mine is None or its is None else mine.push - its.push,
                }
            )
    return pd.DataFrame(rows)


METHODS_DIFFERENCE = Figure(
    "difference-methods",
    "sentence",
    "Difference by method",
    lambda source: differing_methods(source, against(source)),
    _draw,
    note=lambda shape: f"towards {shape.now.first.target}, each as edited",
    reading=(
        "The words of both readings by the methods that both have, and the first minus the second. Each method has one "
        "scale in all three; what is hatched is read less here than there."
    ),
    options=(EXTENT, TOWARDS, OTHER_TEXT),
    tables=lambda shape: {"Difference by method": differing_method_table(shape)},
)
