"""Ablation of model parts: how a prediction changes if a head, attention map, gate or lexicon is switched off.

A part that is switched off (`silent` in links) outputs zero, or at every token its mean over the tokens.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from core.exceptions import InputError, NotAvailable
from core.formatting import format_subscript, number, signed
from core.interpret.model_edits import COLDEST, HOTTEST, LARGEST, STRONGEST, Editable, Edits, get_text_editable
from core.interpret.trace_summary import LearnedLambdas, get_learned_lambdas
from core.runs.record import RunRecord
from core.text.graphemes import clip_text
from dashboard.figures.attention import describe_difference, has_subtraction, name_maps
from dashboard.figures.attention_heads import LAYER, get_layer, read_attention
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, QuietOption, Source
from dashboard.figures.part_importance import read_importance
from dashboard.figures.theme import Look, Tokens
from dashboard.figures.word_attributions import TOWARDS, find_full_color, get_target_class, make_ramps, shade_push

if TYPE_CHECKING:
    from core.interpret.ablation import AblationEffects, LambdaCurve, LambdaCurves, PartEffect
    from core.interpret.sentence_inspection import SentenceView

ZERO, MEAN = "zero", "mean"
WAYS = [
    [ZERO, "Set the output of the part to zero"],
    [MEAN, "Replace the output at every word by its mean: the effect on the text as a whole stays"],
]
"""Ways to switch a part off: the value in the link, and a description."""
Cells = dict[str, Any]
STEP = 0.01  # of a slider
LONG = 8  # letters of a word above a gate
Place = tuple[str, int, int | None, int | None, int | None]
"""Kind of a model part, with its layer, head, component and token; None if the part has none."""
CLEAR, IDLE = "clear", "idle"
MEASURED = {CLEAR: "; costs accuracy in this run", IDLE: "; no measured effect in this run"}


def read_measured(source: Source) -> dict[str, str]:
    """Return which parts, as edits, cost accuracy in the run's stored importance, and which have no measured effect."""
    try:
        rows = read_importance(source).found["parts"]
    except (NotAvailable, InputError):
        return {}
    found = dict[str, str]()
    for row in (row for row in rows if row["how"] == ZERO):
        if row["interval"][1] < 0:
            found[row["part"]] = CLEAR
        elif all(low <= 0 <= high for low, high in (row["interval"], row["loss_interval"])):
            found[row["part"]] = IDLE
    return found


SILENT = QuietOption(
    "silent",
    "A switched-off part outputs",
    lambda source: (ZERO, MEAN),
    "zero: nothing; mean: its mean over the words, so that its effect on the text as a whole stays.",
    version=lambda source: str(len(source.read_once(read_measured))),  # importance may be measured later
)


@dataclass(frozen=True, eq=False)
class Levers:
    """Effects of ablating each model part on one text's prediction, for the model as the user has edited it."""

    record: RunRecord
    trained: SentenceView
    view: SentenceView  # of the edited model
    parts: AblationEffects  # of the edited model
    before: AblationEffects | None  # of the trained model; None: no edits
    curves: LambdaCurves | None  # of the edited model; None: it has no λ
    allowed: Editable
    learned: LearnedLambdas
    edits: Edits
    layer: int  # shown on the page, from 0
    mean: bool  # an ablated part outputs its mean, not zero
    measured: Mapping[str, str]  # part as an edit → `clear` or `idle`, by its stored importance in this run

    def get_effect(self, part: PartEffect) -> float:
        """Return how far a class's log-odds fall when a model part is set to zero, or to its mean if chosen."""
        return part.mean if self.mean else part.zero


def _read_levers(source: Source) -> Levers:
    view, record, edits = read_attention(source), source.record, source.edits
    of = record.run, source.text, get_target_class(source)
    trained, then = (source.reader.inspect_text(record.run, source.text, Edits(step=at)) for at in (None, edits.step))
    can, before = get_text_editable(record.config.model, then), source.reader.parts(*of)
    parts, untouched = (source.reader.parts(*of, edits), before) if edits else (before, None)
    curves = source.reader.lambdas(*of, edits) if can.components > 1 else None
    learned, mean = get_learned_lambdas(then, has_subtraction(record)), source.get_choice(SILENT) == MEAN
    layer, measured = get_layer(source), source.read_once(read_measured)
    return Levers(record, trained, view, parts, untouched, curves, can, learned, edits, layer, mean, measured)


def _describe_lambda(shown: Levers, at: int, component: int) -> Cells:
    own, now = shown.learned.values[at][component - 1], shown.edits.get_lambda(at, component)
    mean = " on average" if shown.learned.varies else ""
    found = shown.curves.curves if shown.curves else ()
    curve = next((each for each in found if (each.layer, each.component) == (at, component)), None)
    measured = shown.measured.get(f"c{at + 1}.{component}", "")
    return {
        "part": f"l{at + 1}c{component}",
        "label": f"λ{format_subscript(component)}",
        "about": f"λ{format_subscript(component)} of layer {at + 1}, learned {number(own, 2)}{mean}"
        + MEASURED.get(measured, ""),
        "measured": measured,
        **{"low": shown.allowed.low, "high": shown.allowed.high, "step": STEP},
        "learned": round(own, 2),
        "value": round(own * shown.edits.factor if now is None else now, 2),
        "moved": now is not None,
        "curve": curve and _describe_curve(shown, curve),
    }


def describe_factors(shown: Levers) -> Iterator[Cells]:
    """Yield two sliders as plain data: a factor on all λ (map weights) not set by hand, and one on lexicon effects."""
    span, factor, lexical = {"low": 0.0, "step": STEP, "learned": 1.0}, shown.edits.factor, shown.edits.lexical
    if shown.curves:
        about = {"label": "scale all λ", "about": "factor on every λ that is not set by hand, trained at 1"}
        curve = _describe_curve(shown, shown.curves.curves[-1])
        yield {"part": "l", **about, **span, "high": LARGEST, "value": factor, "moved": factor != 1, "curve": curve}
    if shown.allowed.lexical == "add":
        about = {"label": "lexicon ×", "about": "strength of the lexicon’s term, trained at 1"}
        yield {"part": "s", **about, **span, "high": STRONGEST, "value": lexical, "moved": lexical != 1}


def _describe_temperature(shown: Levers) -> Cells:
    value = shown.edits.temperature
    about = {"label": "temperature", "about": "temperature of attention, trained at 1; below it is sharper"}
    span = {"low": COLDEST, "high": HOTTEST, "step": STEP, "learned": 1.0}
    return {"part": "t", **about, **span, "value": value, "moved": value != 1}


def describe_positions(shown: Levers) -> list[Cells]:
    """Return the choice of positions as plain data: as trained, off or shuffled; empty if the model reads none."""
    ways = [["", "trained", "Positions as in training"], ["off", "off", "No word has a position"]]
    ways.append(["shuffled", "shuffled", "The positions are exchanged among the words"])
    return [{"part": "pos", "label": "positions", "now": shown.edits.positions, "ways": ways}] * shown.allowed.placed


def _describe_curve(shown: Levers, curve: LambdaCurve) -> Cells:
    return {
        "values": [round(value, 4) for value in curve.values],
        "chances": [round(chance, 4) for chance in curve.probabilities],
        "start": curve.start,
        "half": len(shown.record.classes) == 2 and shown.record.task == "single",
        "what": f"P({shown.parts.target})",
    }


def _describe_gate(shown: Levers, token: int, word: str) -> Cells:
    at = shown.layer
    own, now = (view.layers[at].gates for view in (shown.trained, shown.view))
    assert own is not None and now is not None
    trained = float(own[token])
    return {
        "part": f"g{at + 1}.{token + 1}",
        "about": f"gate of {word} in layer {at + 1}, trained {number(trained, 2)}",
        **{"low": 0.0, "high": 1.0, "step": STEP, "learned": round(trained, 2)},
        "value": round(float(now[token]), 2),
        "moved": shown.edits.get_gate(at, token) is not None,
    }


def _index_parts(parts: AblationEffects | None) -> dict[Place, PartEffect]:
    of = parts.parts if parts else ()
    return {(part.kind, part.layer, part.head, part.component, part.token): part for part in of}


class _Painter:
    """Writer of coloured table cells for ablation effects, all on one colour scale."""

    def __init__(self, shown: Levers, tokens: Tokens) -> None:
        self.shown, self.tokens, self.digits = shown, tokens, 2 if shown.allowed.heads <= LONG - 2 else 1
        self.ramps = make_ramps(shown.record, shown.parts.target, tokens)
        self.top = find_full_color(shown.get_effect(part) for part in shown.parts.parts)
        self.parts, self.before = _index_parts(shown.parts), _index_parts(shown.before)

    def make_cells(
        self, keys: Sequence[str], name: str, how: str, place: Place, silent: Sequence[str] = ()
    ) -> list[Cells]:
        """Return a list with the table cell of a model part's ablation effect; an empty list if it was not computed.

        `keys` name the part in a link, `silent` its ablated state there; `how` replaces the number while it is ablated.
        """
        if (part := self.parts.get(place)) is None:
            return []
        push = self.shown.get_effect(part)
        plain = abs(push) < 0.5 / 10**self.digits
        behind = ":mean" if self.shown.mean else ""
        cell: Cells = {
            "parts": dict(zip(keys, silent or [f"{key}{behind}" for key in keys], strict=True)),
            "push": how or (f"{0:.{self.digits}f}" if plain else signed(push, self.digits)),
            **{"off": bool(how), "about": self._describe_part(name, part, self.before.get(place), how)},
            "measured": (measured := self.shown.measured.get(keys[0], "") if len(keys) == 1 else ""),
        }
        cell["about"] += MEASURED.get(measured, "")
        return [cell | shade_push(push, self.top, self.ramps, self.tokens)]

    def _describe_part(self, name: str, part: PartEffect, trained: PartEffect | None, how: str) -> str:
        shown, target = self.shown, self.shown.parts.target
        as_trained = f", as trained {signed(shown.get_effect(trained), 3)}" if trained else ""
        does = f"replace {name} by its mean" if shown.mean else f"switch off {name}"
        if how:
            return f"{does}, now {'at its mean' if how == MEAN else how}{as_trained}"
        push = f"{does}, effect {signed(shown.get_effect(part), 3)} towards {target}{as_trained}, compared with "
        return push + (f"zero {signed(part.zero, 3)}" if shown.mean else f"its mean {signed(part.mean, 3)}")


def _describe_silence(place: Any, off: Container[Any], level: Container[Any]) -> str:
    """Return in words how a model part is ablated: `off`, at its mean, or an empty text if it is not ablated."""
    return "off" if place in off else MEAN if place in level else ""


def _draw_levers(shown: Levers, look: Look) -> Component:
    t, paint = look.tokens, _Painter(shown, look.tokens)
    drag = "; drag λ" if shown.allowed.components > 1 else ""
    measured = " Thick frame: needed in this run; dotted: no measured effect." if shown.measured else ""
    what = "answer" if shown.record.task == "single" else "most probable label"
    said = describe_difference(shown.trained, shown.view, what) if shown.edits else ""
    if look.projector and shown.edits:  # one line
        said = said.partition(" against")[0] + f"; now {shown.view.label}" * (shown.view.label != shown.trained.label)
    data = {
        "grids": [grid for grid in (_build_grid(shown, paint), _build_gate_grid(shown, paint)) if grid],
        "alone": [*describe_factors(shown), *[_describe_temperature(shown)] * (not look.projector)],
        "choices": [] if look.projector else describe_positions(shown),
        "layer": shown.layer + 1,
        "changed": shown.edits.describe_changes(),
        "note": "after your changes" if shown.edits else "",
        "said": said,
        "hint": f"Click a part to {'leave its mean' if shown.mean else 'switch it off'}{drag}.{measured}",
        "silent": {"now": MEAN if shown.mean else ZERO, "ways": WAYS},
        "full": _write_legend(shown, paint.top),
        "brief": look.projector,
        "colours": t.select_colors("ink", "muted", "grid", "paper", "accent"),
    }
    return Component("levers", data, look)


def _write_legend(shown: Levers, top: float) -> str:
    target, curves = shown.parts.target, ""
    if shown.curves is not None:
        start = "; box: initial λ" if any(curve.start is not None for curve in shown.curves.curves) else ""
        curves = f". Curve: P({target}). Tick: learned λ{start}"
    way = "setting the part to its mean" if shown.mean else "switching the part off"
    effect = f"Effect of {way} (log-odds); strongest = {number(top, 1)}{curves}"
    return ". ".join(filter(None, (effect, shown.parts.note)))


def _build_grid(shown: Levers, paint: _Painter) -> Cells:
    can = shown.allowed
    if can.components == 1:
        cells = [_build_head_cells(shown, paint, i) + _build_lexicon_cells(shown, paint, i) for i in range(can.layers)]
        rows: list[Cells] = [{"label": f"layer {i}", "cells": each} for i, each in enumerate(cells, start=1)]
        lexicon = ["lexicon"] if any(part.kind == "lexical" for part in shown.parts.parts) else []
        columns = [*(str(head + 1) for head in range(can.heads)), "all", *lexicon]
        return {"title": "", "columns": columns, "corner": "head", "rows": rows}
    names = name_maps(can.components, has_subtraction(shown.record))
    rows = [row for at in range(can.layers) for row in _build_layer_rows(shown, paint, at, names)]
    return {"title": "", "columns": [*names, "whole head"], "corner": "", "rows": rows}


def _build_head_cells(shown: Levers, paint: _Painter, at: int) -> list[Cells]:
    edits, cells, keys, hows = shown.edits, [], [], []
    for head in range(shown.allowed.heads):
        keys.append(f"h{at + 1}.{head + 1}")
        hows.append(_describe_silence((at, head), edits.heads_off, edits.heads_mean))
        place: Place = ("head", at, head, None, None)
        cells += paint.make_cells(keys[-1:], f"head {head + 1} of layer {at + 1}", hows[-1], place)
    place, how = ("layer", at, None, None, None), hows[0] if all(hows) else ""
    return cells + paint.make_cells(keys, f"all heads of layer {at + 1}", how, place)


def _build_lexicon_cells(shown: Levers, paint: _Painter, at: int) -> list[Cells]:
    how = _describe_silence(at, shown.edits.lexical_off, shown.edits.lexical_mean)
    place = ("lexical", at, None, None, None)
    return paint.make_cells([f"s{at + 1}"], f"the lexicon’s term of layer {at + 1}", how, place)


def _build_layer_rows(shown: Levers, paint: _Painter, at: int, names: Sequence[str]) -> Iterator[Cells]:
    can, edits = shown.allowed, shown.edits
    above = [_describe_lambda(shown, at, component) for component in range(1, can.components)]
    normed = shown.record.config.model.attention.row_norm
    first = number(float(shown.view.layers[at].coefficients[0].mean()), 2) if normed else "1"
    yield {"label": f"layer {at + 1}", "layer": at + 1, "sliders": [f"weight {first}", *above, None]}
    whole = _build_head_cells(shown, paint, at)
    for head in range(can.heads):
        cells = []
        for i, name in enumerate(names):
            how = _describe_silence((at, head, i), edits.maps_off, edits.maps_mean)
            key, about = f"m{at + 1}.{head + 1}.{i}", f"{name} of head {head + 1} of layer {at + 1}"
            cells += paint.make_cells([key], about, how, ("map", at, head, i, None))
        yield {"label": f"head {head + 1}", "of": at + 1, "cells": [*cells, whole[head]]}
    cells = []
    for i, name in enumerate(names):
        how = _describe_silence((at, i), edits.components_off, edits.components_mean)
        place = ("component", at, None, i, None)
        cells += paint.make_cells([f"c{at + 1}.{i}"], f"{name} of layer {at + 1}", how, place)
    yield {"label": "all heads", "all": at + 1, "cells": [*cells, whole[-1]]}
    if lexicon := _build_lexicon_cells(shown, paint, at):
        yield {"label": "lexicon", "all": at + 1, "cells": lexicon, "span": len(names) + 1}


def _build_gate_grid(shown: Levers, paint: _Painter) -> Cells:
    tokens = sorted({part.token for part in shown.parts.parts if part.kind == "gate" and part.token is not None})
    if not tokens:
        return {}
    words = {token: shown.parts.tokens[token] for token in tokens}
    paint.digits = paint.digits if len(tokens) <= LONG else 1
    rows = []
    for at in range(shown.allowed.layers):
        cells, gates, silent = [], shown.view.layers[at].gates, 0.0
        if shown.mean and gates is not None:  # the mean of its layer's gates
            silent = round(float(gates[tokens[0] : len(shown.parts.tokens)].mean()), 4)
        for token, word in words.items():
            key, by_hand = f"g{at + 1}.{token + 1}", shown.edits.get_gate(at, token)
            how = "" if by_hand is None else "off" if by_hand == 0 else number(by_hand, paint.digits) * shown.mean
            name, place = f"the gate of {word} in layer {at + 1}", ("gate", at, None, None, token)
            cells += paint.make_cells([key], name, how, place, [f"{key}:{silent:g}"])
        rows.append({"label": f"layer {at + 1}", "of": at + 1, "cells": cells})
        if at == shown.layer:
            rows.append({"label": "gate", "gates": [_describe_gate(shown, *each) for each in words.items()]})
    press = "click for the mean" if shown.mean else "click to close it"
    about = {"title": "Effect of each gate", "hint": f"{press}, drag to open it", "corner": "", "slant": True}
    return {**about, "columns": [clip_text(word, LONG) for word in words.values()], "rows": rows}


def build_part_table(shown: Levers) -> pd.DataFrame:
    """Return a table of model parts with their ablation effects; maps count from 0, layers, heads and tokens from 1."""
    trained = shown.before.parts if shown.before else (None,) * len(shown.parts.parts)
    rows = [
        {"part": part.kind, "layer": part.layer + 1, "head": part.head, "component": part.component}
        | {"token": part.token, "word": "" if part.token is None else shown.parts.tokens[part.token]}
        | {"towards": shown.parts.target, "push": part.zero, "push_against_mean": part.mean}
        | ({} if before is None else {"as_trained": before.zero, "as_trained_against_mean": before.mean})
        for part, before in zip(shown.parts.parts, trained, strict=True)
    ]
    table = pd.DataFrame(rows).astype({name: "Int64" for name in ("head", "component", "token")})
    return table.assign(head=table["head"] + 1, token=table["token"] + 1)


LEVERS = Figure("levers", "sentence", "Effect of each part", _read_levers, _draw_levers).add_details(
    note=lambda shown: (
        f"towards {shown.parts.target}"
        + (", compared with their mean" if shown.mean else "")
        + (", after your changes" if shown.edits else "")
    ),
    reading=lambda shown: (
        f"Log-odds of {shown.parts.target} lost when only this part is "
        + ("replaced by its mean." if shown.mean else "switched off.")
    ),
    how="A switched-off part outputs 0, or its mean output at every token. The rest of the model is unchanged; later "
    "layers read the changed output. Effects need not add up: if one part is off, another may replace it.",
    needs="maps",
    options=(TOWARDS, LAYER, SILENT),
    tables=lambda shown: {"Parts": build_part_table(shown)},
)
