"""The parts of a model with their effects when switched off, and the sliders of λ, lexicons and gates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.interpret.editable import LARGEST, STRONGEST, Editable, allowed
from core.interpret.edits import Edits
from core.interpret.trace_summary import Learned, learned
from core.runs.record import RunRecord
from dashboard.figures.heads import attended, layer
from dashboard.figures.numbers import number, subscript
from dashboard.figures.sentence import subtracts
from dashboard.figures.source import Option, Source
from dashboard.figures.words import target

if TYPE_CHECKING:
    from core.interpret.lambdas import LambdaCurve, LambdaCurves
    from core.interpret.parts import Part, Parts
    from core.interpret.sentence import SentenceView

ZERO, MEAN = "zero", "mean"
WAYS = [
    [ZERO, "A silent part says nothing"],
    [MEAN, "A silent part says at every word the mean of what it says: what it reads in the text as a whole stays"],
]
"""Of silencing: value in the link, and in words."""
SILENT = Option(
    "silent",
    "A silent part says",
    lambda source: (ZERO, MEAN),
    "zero: nothing; mean: at every word the mean of what it says over the words, so that what it reads in the text as "
    "a whole stays.",
    words=lambda source, way: "",
)


@dataclass(frozen=True, eq=False)
class Levers:
    """The parts of a model with their pushes, and what is changed."""

    record: RunRecord
    trained: SentenceView
    view: SentenceView
    """As changed."""
    parts: Parts
    """As changed."""
    before: Parts | None
    """As trained; None: nothing is changed."""
    curves: LambdaCurves | None
    """As changed; None: it has no λ."""
    allowed: Editable
    learned: Learned
    edits: Edits
    layer: int
    """The one that the page looks into, from 0."""
    mean: bool
    """A silent part says its mean, in place of nothing."""

    def push(self, part: Part) -> float:
        """What the log-odds lose when it falls silent."""
        return part.mean if self.mean else part.zero

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
    can = allowed(record.config.model, trained)
    before = source.reader.parts(run, text, towards)
    parts = source.reader.parts(run, text, towards, edits) if edits else before
    curves = source.reader.lambdas(run, text, towards, edits) if can.components > 1 else None
    own, mean = learned(trained, minus), source.chosen(SILENT) == MEAN
    known = before if edits else None
    return Levers(record, trained, view, parts, known, curves, can, own, edits, layer(source), mean)


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
