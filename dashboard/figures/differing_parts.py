"""Two readings beside each other: what each part of the model pushes here and there, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.numbers import signed
from dashboard.figures.attention import coefficient_names
from dashboard.figures.coloured import Cell, block, coloured_tables, no_cell, push_cell
from dashboard.figures.counterparts import Counterparts, counterparts
from dashboard.figures.differing import OTHER_TEXT, against, named, paired, same_class
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.heads import attended
from dashboard.figures.numbers import count, subscript
from dashboard.figures.pushed import full_colour
from dashboard.figures.sentence import subtracts
from dashboard.figures.source import Source
from dashboard.figures.words import TOWARDS, sides, target

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.parts import Part, Parts
    from core.runs.record import RunRecord
    from dashboard.figures.theme import Look

    Painted = Callable[[Part | None], Cell]

GATED = 24
"""Tokens whose gates are shown: those that push most."""
WHOLE = "whole"
INSIDE = ("layer", "head", "component", "map", "lexical")


@dataclass(frozen=True, eq=False)
class Side:
    """One of two readings."""

    record: RunRecord
    name: str
    parts: Parts


@dataclass(frozen=True, eq=False)
class DifferingParts:
    """The parts of two readings, those that correspond as pairs."""

    now: Side
    other: Side
    pairs: Mapping[Part, Part]
    """A part of this reading and its counterpart."""
    matching: Counterparts


def differing_parts(now: Source, other: Source) -> DifferingParts:
    """The parts of both, silenced one by one as each is edited, towards the same class.

    Raises:
        NotAvailable: one has no maps of its text, or the other no such class.
    """
    same = same_class(now, other)
    for each in (now, same):
        attended(each)
    about, names = target(now), named(now, other)
    first, second = (
        Side(each.record, name, each.reader.parts(each.record.run, each.text, about, each.edits))
        for each, name in zip((now, same), names, strict=True)
    )
    matching = counterparts(now.record, other.record)
    return DifferingParts(first, second, pairs(first.parts, second.parts, matching), matching)


def pairs(now: Parts, other: Parts, matching: Counterparts) -> dict[Part, Part]:
    """Each part of one reading that has a counterpart in the other; gates by the words of their tokens."""
    there = {_place(part): part for part in other.parts}
    tokens = {mine: its for mine, its in paired(now.tokens, other.tokens) if mine is not None and its is not None}
    found = {}
    for part in now.parts:
        token = None if part.token is None else tokens.get(part.token, -1)
        counterpart = there.get(replace(_place(part), token=token))
        if counterpart is not None and _corresponds(part, matching):
            found[part] = counterpart
    return found


def _place(part: Part) -> Part:
    """Where a part stands, without what it pushes."""
    return replace(part, zero=0.0, mean=0.0)


def _corresponds(part: Part, matching: Counterparts) -> bool:
    of_component = part.component is None or part.component in matching.components
    return {
        "layer": matching.layers,
        "head": matching.heads,
        "component": of_component,
        "map": matching.heads and of_component,
        "gate": matching.layers,
        "lexical": matching.lexicon,
    }[part.kind]


def _draw(shape: DifferingParts, look: Look) -> Component:
    t, about = look.tokens, shape.now.parts.target
    ramps = sides(shape.now.record, about, t)
    gaps = {mine: mine.zero - its.zero for mine, its in shape.pairs.items()}
    every = [part.zero for side in (shape.now, shape.other) for part in side.parts.parts]
    top = full_colour([*every, *gaps.values()])

    def plain(part: Part | None) -> Cell:
        if part is None:
            return no_cell("", t)
        return push_cell(part.zero, top, ramps, f"push {signed(part.zero, 3)} towards {about}", t)

    def apart(part: Part | None) -> Cell:
        if part is None or part not in shape.pairs:
            return no_cell("" if part is None else "–", t)
        its = shape.pairs[part].zero
        said = f"{signed(part.zero, 3)} against {signed(its, 3)}: {signed(gaps[part], 3)}"
        return push_cell(gaps[part], top, ramps, said, t)

    drawn = [
        (shape.now, shape.now.parts.parts, plain, shape.now.name, "this reading"),
        (shape.other, shape.other.parts.parts, plain, shape.other.name, "the other reading"),
        (shape.now, tuple(shape.pairs), apart, "Difference", "difference of the two"),
    ]
    tables: list[Cell] = []
    for kind, kinds in (("part", INSIDE), ("gate", ("gate",))):
        above = len(tables)
        for side, parts, paint, title, label in drawn:
            if chosen := [part for part in parts if part.kind in kinds]:
                rows = (_gates if kind == "gate" else _grid)(side, chosen, paint)
                named_so = f"{title}, gates" if kind == "gate" else title
                first = 0 < above == len(tables)
                tables.append(block(named_so, *rows, f"push of each {kind}, {label}", below=first))
    notes = dict.fromkeys(side.parts.note for side in (shape.now, shape.other))
    return coloured_tables(tables, [*shape.matching.said, *filter(None, notes)], look)


def _grid(side: Side, parts: Sequence[Part], paint: Painted) -> tuple[list[Cell], list[Cell]]:
    """Layers and their heads below each other, components beside each other, the whole last."""
    by_row: dict[tuple[int, int, str], dict[int | None, Part]] = {}
    for part in parts:
        by_row.setdefault(_row(part), {})[part.component] = part
    components = sorted({part.component for part in parts if part.component is not None})
    several = side.record.config.model.attention.components
    terms = [
        f"{name}A{subscript(i)}" for i, name in enumerate(["", *coefficient_names(several, subtracts(side.record))])
    ]
    columns: list[int | None] = [*components, None]
    heads = [
        {"name": WHOLE if i is None else terms[i], "about": "all components" if i is None else "one component"}
        for i in columns
    ]
    rows = [
        {"name": name, "cells": [paint(found.get(i)) for i in columns]}
        for (_, _, name), found in sorted(by_row.items())
    ]
    return heads, rows


def _row(part: Part) -> tuple[int, int, str]:
    """Layer, place within it, and what the row is called."""
    layer = f"layer {part.layer + 1}"
    if part.kind == "lexical":
        return part.layer, 1_001, f"{layer}, lexicon"
    if part.head is None:
        return part.layer, 1_000, f"{layer}, all heads"
    return part.layer, part.head, f"{layer}, head {part.head + 1}"


def _gates(side: Side, gates: Sequence[Part], paint: Painted) -> tuple[list[Cell], list[Cell]]:
    """Tokens below each other, layers beside each other."""
    layers = sorted({part.layer for part in gates})
    of_token: dict[int, dict[int, Part]] = {}
    for part in gates:
        assert part.token is not None
        of_token.setdefault(part.token, {})[part.layer] = part
    strongest = sorted(of_token, key=lambda token: -max(abs(part.zero) for part in of_token[token].values()))
    heads = [{"name": f"layer {layer + 1}", "about": ""} for layer in layers]
    rows = [
        {"name": side.parts.tokens[token], "cells": [paint(of_token[token].get(layer)) for layer in layers]}
        for token in sorted(strongest[:GATED])
    ]
    if hidden := len(of_token) - len(rows):
        rows.append({"name": f"… {count(hidden)} more", "cells": []})
    return heads, rows


def differing_part_table(shape: DifferingParts) -> pd.DataFrame:
    """One row for each part of either reading, counted as on the page: components from 0, all else from 1."""
    import pandas as pd

    there = set(shape.pairs.values())
    rows = [_line(shape, part, shape.pairs.get(part)) for part in shape.now.parts.parts]
    rows += [_line(shape, None, part) for part in shape.other.parts.parts if part not in there]
    return pd.DataFrame(rows).astype({name: "Int64" for name in ("layer", "head", "component")})


def _line(shape: DifferingParts, mine: Part | None, its: Part | None) -> dict[str, Any]:
    part = mine or its
    assert part is not None

    def word(side: Side, each: Part | None) -> str:
        return "" if each is None or each.token is None else side.parts.tokens[each.token]

    return {
        "part": part.kind,
        "layer": part.layer + 1,
        "head": None if part.head is None else part.head + 1,
        "component": part.component,
        "word": word(shape.now, mine),
        "other word": word(shape.other, its),
        "towards": shape.now.parts.target,
        "push": mine and mine.zero,
        "other push": its and its.zero,
        "difference": None if mine is None or its is None else mine.zero - its.zero,
    }


def _from_others(source: Source) -> DifferingParts:
    return differing_parts(source, against(source))


PARTS_DIFFERENCE = Figure(
    "difference-parts",
    "sentence",
    "Difference of each part",
    _from_others,
    _draw,
    note=lambda shape: f"towards {shape.now.parts.target}, each as edited",
    reading=lambda shape: (
        f"What the log-odds of {shape.now.parts.target} lose when a part falls silent, in either reading; the last "
        "grid is the first minus the second, on the same scale. A dash: there is no counterpart."
    ),
    how=(
        "Layers correspond where both models have as many; heads within one run, or where both trainings began with "
        "the heads of the same run; components by their place in the sum, where it tells them apart; gates by the "
        "words."
    ),
    needs="maps",
    options=(TOWARDS, OTHER_TEXT),
    tables=lambda shape: {"Difference of parts": differing_part_table(shape)},
)
