"""Through which part an answer comes: what it loses when a head, a component, a gate or a lexicon falls silent.

On a page each cell is a lever too: pressed, its part is silent. A λ stands above the column that it weighs, as its own
curve: what the answer is wherever the λ is put. A gate is opened and closed as far as one likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from core.interpret.learned import Learned, learned
from core.numbers import signed
from core.runs.record import RunRecord
from dashboard.figures.attention import coefficient_names
from dashboard.figures.drawing import Component
from dashboard.figures.edits import LARGEST, STEP, STRONGEST, Editable, Edits, allowed
from dashboard.figures.figure import Figure
from dashboard.figures.heads import LAYER, attended, layer
from dashboard.figures.numbers import number, subscript
from dashboard.figures.pushed import full_colour
from dashboard.figures.sentence import difference, subtracts
from dashboard.figures.source import Source
from dashboard.figures.theme import Look, Tokens, readable
from dashboard.figures.words import STEPS, TOWARDS, sides, target

if TYPE_CHECKING:
    from core.interpret.lambdas import LambdaCurve, LambdaCurves
    from core.interpret.parts import Part, Parts
    from core.interpret.sentence import SentenceView

Cells = dict[str, Any]
LONG = 8
"""Letters of a word above a gate."""


@dataclass(frozen=True, eq=False)
class Levers:
    """The parts of a model with their pushes, and what is changed."""

    record: RunRecord
    trained: SentenceView
    view: SentenceView
    """As changed."""
    parts: Parts
    curves: LambdaCurves | None
    """As changed; None: it has no λ."""
    allowed: Editable
    learned: Learned
    edits: Edits
    layer: int
    """The one that the page looks into, from 0."""

    @property
    def minus(self) -> bool:
        """The model takes its second map away."""
        return subtracts(self.record)


def levers(source: Source) -> Levers:
    """Of a text with maps.

    Raises:
        NotAvailable: the model has no attention, or the text no word or too many.
    """
    view, record = attended(source), source.record
    trained, minus = source.reader.sentence(record.run, source.text), subtracts(record)
    run, text, towards, edits = record.run, source.text, target(source), source.edits
    parts, can = source.reader.parts(run, text, towards), allowed(record, trained, minus)
    curves = source.reader.lambdas(run, text, towards, edits) if can.components > 1 else None
    return Levers(record, trained, view, parts, curves, can, learned(trained, minus), edits, layer(source))


@dataclass(frozen=True)
class _Painter:
    """How pushes are written and coloured; all cells share one scale."""

    towards: Sequence[str]
    away: Sequence[str]
    top: float
    tokens: Tokens
    target: str
    digits: int

    def cell(self, parts: Sequence[str], name: str, part: Part, off: bool, silent: Sequence[str] = ()) -> Cells:
        """A part: `parts` are what the link calls it, `silent` what it says when it is, if that is more."""
        push = part.zero
        plain = abs(push) < 0.5 / 10**self.digits
        scale = self.towards if push >= 0 else self.away or self.towards
        colour = scale[min(STEPS, round(STEPS * abs(push) / self.top))]
        return {
            "parts": dict(zip(parts, silent or parts, strict=True)),
            "push": f"{0:.{self.digits}f}" if plain else signed(push, self.digits),
            "colour": colour,
            "ink": readable(self.tokens, colour),
            "away": push < 0 and not self.away and colour != self.tokens.paper,
            "off": off,
            "about": f"silence {name}, push {signed(push, 3)} towards {self.target}, against its mean "
            f"{signed(part.mean, 3)}",
        }


def _draw(shown: Levers, look: Look) -> Component:
    found, t = shown.parts.parts, look.tokens
    top = full_colour(part.zero for part in found)
    towards, away = sides(shown.record, shown.parts.target, t)
    paint = _Painter(towards, away, top, t, shown.parts.target, 2 if shown.allowed.heads <= LONG - 2 else 1)
    drag = ", drag a λ along its P" if shown.allowed.components > 1 else ""
    data = {
        "grids": [grid for grid in (_grid(shown, paint), _gates(shown, paint)) if grid],
        "alone": [*([_factor(shown)] if shown.curves else []), *([_strength(shown)] if shown.allowed.lexical else [])],
        "layer": shown.layer + 1,
        "changed": shown.edits.words(),
        "said": difference(shown.trained, shown.view, _what(shown.record)) if shown.edits else "",
        "hint": f"push of each part; press one to silence it{drag}",
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
    scale = f"log-odds of {shown.parts.target} lost without the part, full colour {number(top, 1)}{_key(shown)}"
    return ". ".join(filter(None, (scale, _lexical(shown), shown.parts.note)))


def _lexical(shown: Levers) -> str:
    """What the term of a lexicon pushes in each layer that has one; its lever is one for all of them."""
    terms = [part for part in shown.parts.parts if part.kind == "lexical"]
    pushes = ", ".join(f"layer {part.layer + 1} {signed(part.zero)}" for part in terms)
    return f"Push of the lexicon’s term: {pushes}" if pushes else ""


def _what(record: RunRecord) -> str:
    return "answer" if record.task == "single" else "most probable label"


def _find(parts: Iterable[Part], kind: str, **place: int) -> Part | None:
    """The one at a place; None where the core has not asked for it."""
    return next(
        (part for part in parts if part.kind == kind and all(getattr(part, at) == i for at, i in place.items())), None
    )


def _grid(shown: Levers, paint: _Painter) -> Cells:
    """Heads below each other, components beside each other; of one component layers and heads."""
    can = shown.allowed
    if can.components == 1:
        rows = [{"label": f"layer {at + 1}", "cells": list(_heads(shown, paint, at))} for at in range(can.layers)]
        return {
            "title": "",
            "columns": [*(str(head + 1) for head in range(can.heads)), "all"],
            "corner": "head",
            "rows": rows,
        }
    names = [
        f"A{subscript(0)}",
        *(f"{name}A{subscript(i)}" for i, name in enumerate(coefficient_names(can.components, shown.minus), start=1)),
    ]
    rows = [row for at in range(can.layers) for row in _layer(shown, paint, at, names)]
    return {"title": "", "columns": [*names, "whole head"], "corner": "", "rows": rows}


def _heads(shown: Levers, paint: _Painter, at: int) -> Iterator[Cells]:
    off, parts = shown.edits.heads_off, shown.parts.parts
    for head in range(shown.allowed.heads):
        if part := _find(parts, "head", layer=at, head=head):
            key = f"h{at + 1}.{head + 1}"
            yield paint.cell([key], f"head {head + 1} of layer {at + 1}", part, (at, head) in off)
    if part := _find(parts, "layer", layer=at):
        keys = [f"h{at + 1}.{head + 1}" for head in range(shown.allowed.heads)]
        silent = all((at, head) in off for head in range(shown.allowed.heads))
        yield paint.cell(keys, f"all heads of layer {at + 1}", part, silent)


def _layer(shown: Levers, paint: _Painter, at: int, names: Sequence[str]) -> Iterator[Cells]:
    can, edits, parts = shown.allowed, shown.edits, shown.parts.parts
    sliders = [_lambda(shown, at, component) for component in range(1, can.components)]
    yield {"label": f"layer {at + 1}", "layer": at + 1, "sliders": ["weight 1", *sliders, None]}
    whole = list(_heads(shown, paint, at))
    for head in range(can.heads):
        cells = [
            paint.cell(
                [f"m{at + 1}.{head + 1}.{i}"],
                f"{name} of head {head + 1} of layer {at + 1}",
                part,
                (at, head, i) in edits.maps_off,
            )
            for i, name in enumerate(names)
            if (part := _find(parts, "map", layer=at, head=head, component=i))
        ]
        yield {"label": f"head {head + 1}", "of": at + 1, "cells": [*cells, whole[head]]}
    cells = [
        paint.cell([f"c{at + 1}.{i}"], f"{name} of layer {at + 1}", part, (at, i) in edits.components_off)
        for i, name in enumerate(names)
        if (part := _find(parts, "component", layer=at, component=i))
    ]
    yield {"label": "all heads", "all": at + 1, "cells": [*cells, whole[-1]]}


def _lambda(shown: Levers, at: int, component: int) -> Cells:
    own, now = shown.learned.values[at][component - 1], shown.edits.value(at, component)
    mean = " on average" if shown.learned.varies else ""
    found = shown.curves.curves if shown.curves else ()
    curve = next((each for each in found if (each.layer, each.component) == (at, component)), None)
    return {
        "part": f"l{at + 1}c{component}",
        "label": f"λ{subscript(component)}",
        "about": f"λ{subscript(component)} of layer {at + 1}, learned {number(own, 2)}{mean}",
        **{"low": shown.allowed.low, "high": shown.allowed.high, "step": STEP},
        "learned": round(own, 2),
        "value": round(own * shown.edits.factor if now is None else now, 2),
        "moved": now is not None,
        "curve": curve and _curve(shown, curve),
    }


def _factor(shown: Levers) -> Cells:
    curve = shown.curves and shown.curves.curves[-1]
    return {
        "part": "l",
        "label": "all λ ×",
        "about": "factor on every λ that is not set by hand, trained at 1",
        **{"low": 0.0, "high": LARGEST, "step": STEP, "learned": 1.0},
        "value": shown.edits.factor,
        "moved": shown.edits.factor != 1,
        "curve": curve and _curve(shown, curve),
    }


def _curve(shown: Levers, curve: LambdaCurve) -> Cells:
    """The curve under a slider: probability of the target wherever it is put."""
    return {
        "values": [round(value, 4) for value in curve.values],
        "chances": [round(chance, 4) for chance in curve.probabilities],
        "start": curve.start,
        "half": len(shown.record.classes) == 2 and shown.record.task == "single",
        "what": f"P({shown.parts.target})",
    }


def _strength(shown: Levers) -> Cells:
    return {
        "part": "s",
        "label": "lexicon ×",
        "about": "strength of the lexicon’s term, trained at 1",
        **{"low": 0.0, "high": STRONGEST, "step": STEP, "learned": 1.0},
        "value": shown.edits.lexical,
        "moved": shown.edits.lexical != 1,
    }


def _gates(shown: Levers, paint: _Painter) -> Cells:
    gates = [part for part in shown.parts.parts if part.kind == "gate"]
    if not gates:
        return {}
    tokens = sorted({part.token for part in gates if part.token is not None})
    words = [shown.parts.tokens[token] for token in tokens]
    paint = replace(paint, digits=paint.digits if len(tokens) <= LONG else 1)
    rows = []
    for at in range(shown.allowed.layers):
        cells = []
        for token, word in zip(tokens, words, strict=True):
            if part := _find(gates, "gate", layer=at, token=token):
                key = f"g{at + 1}.{token + 1}"
                closed = shown.edits.gate(at, token) == 0
                cells.append(paint.cell([key], f"the gate of {word} in layer {at + 1}", part, closed, [f"{key}:0"]))
        rows.append({"label": f"layer {at + 1}", "of": at + 1, "cells": cells})
        if at == shown.layer:
            rows.append({"label": "gate", "gates": [_gate(shown, *each) for each in zip(tokens, words, strict=True)]})
    short = [word if len(word) <= LONG else f"{word[: LONG - 1]}…" for word in words]
    about = {"title": "Through each gate", "hint": "press to close it, drag to open it", "corner": "", "slant": True}
    return {**about, "columns": short, "rows": rows}


def _gate(shown: Levers, token: int, word: str) -> Cells:
    at = shown.layer
    own, now = (view.layers[at].gates for view in (shown.trained, shown.view))
    assert own is not None and now is not None
    trained = float(own[token])
    return {
        "part": f"g{at + 1}.{token + 1}",
        "about": f"gate of {word} in layer {at + 1}, trained {number(trained, 2)}",
        **{"low": 0.0, "high": 1.0, "step": STEP, "learned": round(trained, 2)},
        "value": round(float(now[token]), 2),
        "moved": shown.edits.gate(at, token) is not None,
    }


def part_table(shown: Levers) -> pd.DataFrame:
    """One row for each part, counted as on the page: components from 0, all else from 1."""

    def place(value: int | None, first: int = 1) -> int | None:
        return None if value is None else value + first

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
        }
        for part in shown.parts.parts
    ]
    return pd.DataFrame(rows).astype({name: "Int64" for name in ("head", "component", "token")})


LEVERS = Figure(
    "levers",
    "sentence",
    "Push of each part",
    levers,
    _draw,
    note=lambda shown: (
        f"towards {shown.parts.target}, pushes as trained" + (", curves as edited" if shown.edits else "")
    ),
    reading=lambda shown: (
        f"The number is what the log-odds of {shown.parts.target} lose when this part alone falls silent, in the "
        "model as trained."
    ),
    how=(
        "A part that is silent gives 0, all else stays as it is; later layers read what the changed one gives. Pushes "
        "need not add up: where one part falls silent, another may speak for it."
    ),
    needs="maps",
    options=(TOWARDS, LAYER),
    tables=lambda shown: {"Parts": part_table(shown)},
)
