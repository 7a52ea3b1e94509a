"""Through which part an answer comes: what it loses when a head, a component, a gate or a lexicon falls silent.

Silent means that a part says nothing, or that it says everywhere the mean of what it says: a switch, and `silent` in
the link. On a page each cell is a lever too: pressed, its part is silent in that way. A λ stands above the column that
it weighs, as its own curve (`sliders`). A gate is opened and closed as far as one likes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from core.numbers import signed
from core.runs.record import RunRecord
from core.text.clusters import clipped
from dashboard.figures import ablation
from dashboard.figures.ablation import MEAN, SILENT, WAYS, ZERO, Levers, levers
from dashboard.figures.attention import coefficient_names
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.heads import LAYER
from dashboard.figures.numbers import number, subscript
from dashboard.figures.pushes import full_colour
from dashboard.figures.sentence import difference
from dashboard.figures.theme import Look, Tokens, readable
from dashboard.figures.words import STEPS, TOWARDS, sides

if TYPE_CHECKING:
    from core.interpret.parts import Part

Cells = dict[str, Any]
LONG = 8
"""Letters of a word above a gate."""


@dataclass(frozen=True)
class _Painter:
    """How pushes are written and coloured; all cells share one scale."""

    shown: Levers
    towards: Sequence[str]
    away: Sequence[str]
    top: float
    tokens: Tokens
    digits: int

    def cell(self, keys: Sequence[str], name: str, part: Part, how: str, silent: Sequence[str] = ()) -> Cells:
        """A part.

        Args:
            keys: What the link calls it.
            name: What a person calls it.
            part: With its pushes.
            how: What is written in its place while it is silent; empty: it is not.
            silent: What the link says when it is, if that is more.
        """
        push = self.shown.push(part)
        plain = abs(push) < 0.5 / 10**self.digits
        scale = self.towards if push >= 0 else self.away or self.towards
        colour = scale[min(STEPS, round(STEPS * abs(push) / self.top))]
        behind = ":mean" if self.shown.mean else ""
        return {
            "parts": dict(zip(keys, silent or [f"{key}{behind}" for key in keys], strict=True)),
            "push": how or (f"{0:.{self.digits}f}" if plain else signed(push, self.digits)),
            "colour": colour,
            "ink": readable(self.tokens, colour),
            "away": push < 0 and not self.away and colour != self.tokens.paper,
            "off": bool(how),
            "about": self._about(name, part, how),
        }

    def _about(self, name: str, part: Part, how: str) -> str:
        shown, target = self.shown, self.shown.parts.target
        trained = _find(shown.before.parts, part.kind, **_place(part)) if shown.before else None
        as_trained = f", as trained {signed(shown.push(trained), 3)}" if trained else ""
        does = f"put {name} at its mean" if shown.mean else f"silence {name}"
        if how:
            return f"{does}, {'at its mean' if how == MEAN else how} now{as_trained}"
        push = f"{does}, push {signed(shown.push(part), 3)} towards {target}{as_trained}"
        if shown.mean:
            return f"{push}, against nothing {signed(part.zero, 3)}"
        return f"{push}, against its mean {signed(part.mean, 3)}"


def _place(part: Part) -> dict[str, int | None]:
    return {name: getattr(part, name) for name in ("layer", "head", "component", "token")}


def _how(place: Any, off: Container[Any], level: Container[Any]) -> str:
    """What is written in place of the push of a silent part; empty: it speaks."""
    return "off" if place in off else MEAN if place in level else ""


def _draw(shown: Levers, look: Look) -> Component:
    found, t = shown.parts.parts, look.tokens
    top = full_colour(shown.push(part) for part in found)
    towards, away = sides(shown.record, shown.parts.target, t)
    paint = _Painter(shown, towards, away, top, t, 2 if shown.allowed.heads <= LONG - 2 else 1)
    drag = ", drag a λ along its P" if shown.allowed.components > 1 else ""
    data = {
        "grids": [grid for grid in (_grid(shown, paint), _gates(shown, paint)) if grid],
        "alone": [
            *([ablation.of_factor(shown)] if shown.curves else []),
            *([ablation.of_strength(shown)] if shown.allowed.lexical == "add" else []),
        ],
        "layer": shown.layer + 1,
        "changed": shown.edits.words(),
        "note": "as edited" if shown.edits else "",
        "said": difference(shown.trained, shown.view, _what(shown.record)) if shown.edits else "",
        "hint": f"push of each part; press one to {'leave its mean' if shown.mean else 'silence it'}{drag}",
        "silent": {"now": MEAN if shown.mean else ZERO, "ways": WAYS},
        "full": _legend(shown, top),
        "brief": look.projector,
        "colours": {name: getattr(t, name) for name in ("ink", "muted", "grid", "paper", "accent")},
    }
    return Component("levers", data, look)


def _key(shown: Levers) -> str:
    """How to read the curves under the sliders."""
    if shown.curves is None:
        return ""
    start = ", box start" if any(curve.start is not None for curve in shown.curves.curves) else ""
    return f"; curves: P({shown.parts.target}) from 0 to 1, dot now, long tick learned{start}, short tick zero"


def _legend(shown: Levers, top: float) -> str:
    lost = "when the part says at every word the mean of what it says" if shown.mean else "without the part"
    scale = f"log-odds of {shown.parts.target} lost {lost}, full colour {number(top, 1)}{_key(shown)}"
    return ". ".join(filter(None, (scale, shown.parts.note)))


def _what(record: RunRecord) -> str:
    return "answer" if record.task == "single" else "most probable label"


def _find(parts: Iterable[Part], kind: str, **place: int | None) -> Part | None:
    """The one at a place; None where the core has not asked for it."""
    return next(
        (part for part in parts if part.kind == kind and all(getattr(part, at) == i for at, i in place.items())), None
    )


def _grid(shown: Levers, paint: _Painter) -> Cells:
    """Heads below each other, components beside each other; of one component layers and heads."""
    can = shown.allowed
    if can.components == 1:
        rows = [
            {"label": f"layer {at + 1}", "cells": [*_heads(shown, paint, at), *_lexicon(shown, paint, at)]}
            for at in range(can.layers)
        ]
        columns = [*(str(head + 1) for head in range(can.heads)), "all", *(["lexicon"] if _has_lexicon(shown) else [])]
        return {"title": "", "columns": columns, "corner": "head", "rows": rows}
    names = [
        f"A{subscript(0)}",
        *(f"{name}A{subscript(i)}" for i, name in enumerate(coefficient_names(can.components, shown.minus), start=1)),
    ]
    rows = [row for at in range(can.layers) for row in _layer(shown, paint, at, names)]
    return {"title": "", "columns": [*names, "whole head"], "corner": "", "rows": rows}


def _heads(shown: Levers, paint: _Painter, at: int) -> Iterator[Cells]:
    edits, parts, heads = shown.edits, shown.parts.parts, range(shown.allowed.heads)
    keys = [f"h{at + 1}.{head + 1}" for head in heads]
    hows = [_how((at, head), edits.heads_off, edits.heads_mean) for head in heads]
    for head in heads:
        if part := _find(parts, "head", layer=at, head=head):
            yield paint.cell([keys[head]], f"head {head + 1} of layer {at + 1}", part, hows[head])
    if part := _find(parts, "layer", layer=at):
        yield paint.cell(keys, f"all heads of layer {at + 1}", part, hows[0] if all(hows) else "")


def _has_lexicon(shown: Levers) -> bool:
    return _find(shown.parts.parts, "lexical") is not None


def _lexicon(shown: Levers, paint: _Painter, at: int) -> Iterator[Cells]:
    """The lexical term of a layer, where it has one."""
    if part := _find(shown.parts.parts, "lexical", layer=at):
        how = _how(at, shown.edits.lexical_off, shown.edits.lexical_mean)
        yield paint.cell([f"s{at + 1}"], f"the lexicon’s term of layer {at + 1}", part, how)


def _layer(shown: Levers, paint: _Painter, at: int, names: Sequence[str]) -> Iterator[Cells]:
    can, edits, parts = shown.allowed, shown.edits, shown.parts.parts
    above = [ablation.of_lambda(shown, at, component) for component in range(1, can.components)]
    yield {"label": f"layer {at + 1}", "layer": at + 1, "sliders": ["weight 1", *above, None]}
    whole = list(_heads(shown, paint, at))
    for head in range(can.heads):
        cells = [
            paint.cell(
                [f"m{at + 1}.{head + 1}.{i}"],
                f"{name} of head {head + 1} of layer {at + 1}",
                part,
                _how((at, head, i), edits.maps_off, edits.maps_mean),
            )
            for i, name in enumerate(names)
            if (part := _find(parts, "map", layer=at, head=head, component=i))
        ]
        yield {"label": f"head {head + 1}", "of": at + 1, "cells": [*cells, whole[head]]}
    cells = [
        paint.cell(
            [f"c{at + 1}.{i}"],
            f"{name} of layer {at + 1}",
            part,
            _how((at, i), edits.components_off, edits.components_mean),
        )
        for i, name in enumerate(names)
        if (part := _find(parts, "component", layer=at, component=i))
    ]
    yield {"label": "all heads", "all": at + 1, "cells": [*cells, whole[-1]]}
    if lexicon := list(_lexicon(shown, paint, at)):
        yield {"label": "lexicon", "all": at + 1, "cells": lexicon, "span": len(names) + 1}


def _gates(shown: Levers, paint: _Painter) -> Cells:
    gates = [part for part in shown.parts.parts if part.kind == "gate"]
    if not gates:
        return {}
    tokens = sorted({part.token for part in gates if part.token is not None})
    words = [shown.parts.tokens[token] for token in tokens]
    paint = replace(paint, digits=paint.digits if len(tokens) <= LONG else 1)
    rows = []
    for at in range(shown.allowed.layers):
        cells, silent = [], _silent_gate(shown, at, tokens[0])
        for token, word in zip(tokens, words, strict=True):
            if part := _find(gates, "gate", layer=at, token=token):
                key, name = f"g{at + 1}.{token + 1}", f"the gate of {word} in layer {at + 1}"
                by_hand = shown.edits.gate(at, token)
                how = "" if by_hand is None else "off" if by_hand == 0 else number(by_hand, paint.digits) * shown.mean
                cells.append(paint.cell([key], name, part, how, [f"{key}:{silent:g}"]))
        rows.append({"label": f"layer {at + 1}", "of": at + 1, "cells": cells})
        if at == shown.layer:
            rows.append(
                {"label": "gate", "gates": [ablation.of_gate(shown, *each) for each in zip(tokens, words, strict=True)]}
            )
    short = [clipped(word, LONG) for word in words]
    press = "press for the mean" if shown.mean else "press to close it"
    about = {"title": "Through each gate", "hint": f"{press}, drag to open it", "corner": "", "slant": True}
    return {**about, "columns": short, "rows": rows}


def _silent_gate(shown: Levers, at: int, first: int) -> float:
    """Where a gate stands that does not speak: closed, or as open as those of its layer in the mean."""
    gates = shown.view.layers[at].gates
    if not shown.mean or gates is None:
        return 0.0
    return round(float(gates[first : len(shown.parts.tokens)].mean()), 4)


def part_table(shown: Levers) -> pd.DataFrame:
    """One row for each part, counted as on the page: components from 0, all else from 1."""

    def place(value: int | None, first: int = 1) -> int | None:
        return None if value is None else value + first

    trained = shown.before.parts if shown.before else (None,) * len(shown.parts.parts)
    rows = [
        {
            "part": part.kind,
            "layer": part.layer + 1,
            "head": place(part.head),
            "component": place(part.component, 0),
            "token": place(part.token),
            "word": "" if part.token is None else shown.parts.tokens[part.token],
            "towards": shown.parts.target,
            "push": part.zero,
            "push_against_mean": part.mean,
            **({} if before is None else {"as_trained": before.zero, "as_trained_against_mean": before.mean}),
        }
        for part, before in zip(shown.parts.parts, trained, strict=True)
    ]
    return pd.DataFrame(rows).astype({name: "Int64" for name in ("head", "component", "token")})


LEVERS = Figure(
    "levers",
    "sentence",
    "Push of each part",
    levers,
    _draw,
    note=lambda shown: (
        f"towards {shown.parts.target}"
        + (", against their mean" if shown.mean else "")
        + (", as edited" if shown.edits else "")
    ),
    reading=lambda shown: (
        f"The number is what the log-odds of {shown.parts.target} lose when this part alone "
        + ("says at every word the mean of what it says" if shown.mean else "falls silent")
        + f", in the model as {'edited' if shown.edits else 'trained'}."
    ),
    how=(
        "A part that is silent gives 0, or at every token the mean of what it gives; all else stays as it is, and "
        "later layers read what the changed one gives. Pushes need not add up: where one part falls silent, another "
        "may speak for it."
    ),
    needs="maps",
    options=(TOWARDS, LAYER, SILENT),
    tables=lambda shown: {"Parts": part_table(shown)},
)
