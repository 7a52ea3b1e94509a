"""The parts of a model with what they push when they fall silent, and how they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.interpret.editable import Editable, allowed
from core.interpret.edits import Edits
from core.interpret.learned import Learned, learned
from core.runs.record import RunRecord
from dashboard.figures.heads import attended, layer
from dashboard.figures.sentence import subtracts
from dashboard.figures.source import Option, Source
from dashboard.figures.words import target

if TYPE_CHECKING:
    from core.interpret.lambdas import LambdaCurves
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
