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
    view: SentenceView  # as changed
    parts: Parts  # as changed
    before: Parts | None  # as trained; None: nothing is changed
    curves: LambdaCurves | None  # as changed; None: it has no λ
    allowed: Editable
    learned: Learned
    edits: Edits
    layer: int  # the one that the page looks into, from 0
    mean: bool  # a silent part says its mean, in place of nothing

    def push(self, part: Part) -> float:
        """Return what the log-odds lose when a part falls silent."""
        return part.mean if self.mean else part.zero


def levers(source: Source) -> Levers:
    """Return those of a text with maps; raises as `heads.attended`."""
    view, record, edits = attended(source), source.record, source.edits
    of = record.run, source.text, target(source)
    trained = source.reader.sentence(record.run, source.text)
    can, before = allowed(record.config.model, trained), source.reader.parts(*of)
    return Levers(
        record,
        trained,
        view,
        source.reader.parts(*of, edits) if edits else before,
        before if edits else None,
        source.reader.lambdas(*of, edits) if can.components > 1 else None,
        can,
        learned(trained, subtracts(record)),
        edits,
        layer(source),
        source.chosen(SILENT) == MEAN,
    )


Cells = dict[str, Any]
STEP = 0.01  # of a slider


def of_lambda(shown: Levers, at: int, component: int) -> Cells:
    """Describe the slider of a λ above the column that it weighs."""
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
    """Describe the slider of a factor on every λ that is not set by hand."""
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
    return {
        "values": [round(value, 4) for value in curve.values],
        "chances": [round(chance, 4) for chance in curve.probabilities],
        "start": curve.start,
        "half": len(shown.record.classes) == 2 and shown.record.task == "single",
        "what": f"P({shown.parts.target})",
    }


def of_strength(shown: Levers) -> Cells:
    """Describe the slider of the strength of what a lexicon adds."""
    return {
        "part": "s",
        "label": "lexicon ×",
        "about": "strength of the lexicon’s term, trained at 1",
        **{"low": 0.0, "high": STRONGEST, "step": STEP, "learned": 1.0},
        "value": shown.edits.lexical,
        "moved": shown.edits.lexical != 1,
    }


def of_gate(shown: Levers, token: int, word: str) -> Cells:
    """Describe the slider of the gate of a token in the layer that the page looks into."""
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
