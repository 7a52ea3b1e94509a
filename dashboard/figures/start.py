"""The page Start as a browser component: sentences, classes, links and what happened to a typed sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from core.behavioral_tests.suite import infer_polarity
from core.error_analysis.quiz import Question
from core.formatting import count
from dashboard.figures.drawing import Component
from dashboard.figures.results import get_nested
from dashboard.figures.theme import Look, choose_text_color

if TYPE_CHECKING:
    from core.runs.record import RunRecord

NAME = "start"
ENOUGH = 5  # saved sentences from which the page offers to train with them
CLASSES = ("negative", "positive")  # of sentences that come with Sentiscope, where there is no model


@dataclass(frozen=True)
class TypedSentence:
    """A sentence that a visitor typed, and what the model answered."""

    number: int  # given by the browser, which may have asked for another one meanwhile
    text: str
    label: int
    question: Question | None = None
    problem: str = ""  # why the model did not answer; `link` opens a page where it does
    link: str = ""
    saved: bool = False


@dataclass(frozen=True)
class StartView:
    """What the page Start shows: a model with its quiz, or why there is none."""

    classes: Sequence[str]
    questions: Sequence[Question]
    links: Mapping[str, str]
    record: RunRecord | None = None
    model: str = ""  # the name of the run for people
    at: int = 0
    note: str = ""
    again: Mapping[str, str] | None = None
    """One line on unfinished work, and the label of the button that leads there: `text` and `action`."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """Why no model answers: `title`, `text`, `action` and `other` (each `text` and `href`); empty: one does."""
    typed: TypedSentence | None = None
    saved: int = 0


def draw_start(view: StartView, look: Look) -> Component:
    """Draw the page Start as one component that answers without the server until somebody types."""
    record, classes = view.record, list(view.classes)
    order, ends = order_classes(classes, ordered=record is not None and record.ordered)
    writer, t = len(classes) == 2 and all(map(infer_polarity, classes)), look.tokens
    ask = (
        f"Is the writer {' or '.join(classes[place] for place in reversed(order))}?" if writer else "Which label fits?"
    )
    scales, own = {"plus": t.plus_scale, "minus": t.minus_scale}, None
    if typed := view.typed:
        own = {name: getattr(typed, name) for name in ("number", "problem", "link", "saved")}
        own |= {"question": typed.question and _describe_question(typed.question, classes)}
    data = {
        "subject": [record.run if record else "", [each.text for each in view.questions]],
        **{name: getattr(view, name) for name in ("model", "at", "note", "again", "saved")},
        **{"classes": classes, "order": order, "ends": ends, "writer": writer, "ask": ask, "enough": ENOUGH},
        "questions": [_describe_question(each, classes) for each in view.questions],
        **{"links": dict(view.links), "state": view.state or None, "accuracy": _write_accuracy(record)},
        "own": own,
        "ramps": {name: [(each, choose_text_color(t, each)) for each in scale] for name, scale in scales.items()},
    }
    return Component(NAME, data, look)


def order_classes(classes: Sequence[str], *, ordered: bool = False) -> tuple[list[int], dict[str, int | None]]:
    """Return class numbers from left to right, and those at the negative (minus) and the positive end (plus).

    Of several classes without an order, only those with a polarity in their names are ends.
    """
    sides = [infer_polarity(name) for name in classes]
    order = list(range(len(classes)))
    if not ordered:
        order.sort(key=lambda place: {"negative": 0, "positive": 2}.get(sides[place] or "", 1))
    first, last, known = order[0], order[-1], len(classes) == 2 or ordered
    minus, plus = (known or sides[at] == side for at, side in ((first, "negative"), (last, "positive")))
    return order, {"minus": first if minus else None, "plus": last if plus else None}


def _write_accuracy(record: RunRecord | None) -> str:
    accuracy = None if record is None else get_nested(record.results, "metrics", "test", "accuracy")
    if accuracy is None:
        return ""
    return f"On its own test set this model gets {count(round(100 * accuracy))} of 100 right."


def _describe_question(question: Question, classes: Sequence[str]) -> dict[str, Any]:
    numbers = {name: place for place, name in enumerate(classes)}
    units = [0, *accumulate(1 + (sign > "\uffff") for sign in question.text)]  # a browser counts an emoji as two
    words = [(units[start], units[end]) for start, end in question.words]
    labels = {"label": numbers.get(question.label), "predicted": numbers.get(question.predicted)}
    found = {**asdict(question), **labels, "words": words}
    return {name: value for name, value in found.items() if name not in ("kind", "split")}
