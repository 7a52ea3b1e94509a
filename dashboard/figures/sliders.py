"""The sliders of the levers: λ along its own curve, a factor on all, the strength of a lexicon, gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.interpret.editable import LARGEST, STRONGEST
from dashboard.figures.numbers import number, subscript
from dashboard.figures.silencing import Levers

if TYPE_CHECKING:
    from core.interpret.lambdas import LambdaCurve

Cells = dict[str, Any]
STEP = 0.01
"""Of a slider."""


def of_lambda(shown: Levers, at: int, component: int) -> Cells:
    """A λ above the column that it weighs."""
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


def of_factor(shown: Levers) -> Cells:
    """The factor on every λ that is not set by hand."""
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


def of_strength(shown: Levers) -> Cells:
    """The strength of what a lexicon adds."""
    return {
        "part": "s",
        "label": "lexicon ×",
        "about": "strength of the lexicon’s term, trained at 1",
        **{"low": 0.0, "high": STRONGEST, "step": STEP, "learned": 1.0},
        "value": shown.edits.lexical,
        "moved": shown.edits.lexical != 1,
    }


def of_gate(shown: Levers, token: int, word: str) -> Cells:
    """The gate of a token in the layer that the page looks into."""
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
