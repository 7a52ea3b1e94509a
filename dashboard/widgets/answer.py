"""What a model says of one text: classes that share one bar, or labels that each have their own."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from core.runs.record import RunRecord
from dashboard.figures.labels import named_limits
from dashboard.figures.numbers import number
from dashboard.figures.theme import Look
from dashboard.widgets.figure import caption
from dashboard.widgets.tokens import ROOMY, probability_bar

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

READING = "Each label by itself, so the numbers do not sum to 1. The mark is its threshold{}: it is predicted above it."
TUNED = ", chosen on validation"


def answer(
    record: RunRecord,
    view: SentenceView,
    look: Look,
    *,
    before: SentenceView | None = None,
    small: bool = False,
    roomy: float = ROOMY,
) -> None:
    """The answer of a run to a text.

    Args:
        record: The run.
        view: Its reading.
        look: Theme and size.
        before: Its reading without a change; marked.
        small: For a column, without words on how to read it.
        roomy: As of `probability_bar`.
    """
    if record.task == "single":
        changed = before.probabilities if before else None
        probability_bar(view.probabilities, look, ordered=record.ordered, before=changed, small=small, roomy=roomy)
        return
    limits = named_limits(record)
    label_bars(view.probabilities, limits, before=before.probabilities if before else None)
    if not small:
        caption(READING.format(TUNED if record.results.get("tuned") else ""))


def label_bars(
    probabilities: Mapping[str, float], limits: Mapping[str, float], *, before: Mapping[str, float] | None = None
) -> None:
    """A bar for each label in label order, its threshold as a mark; predicted ones stand out."""
    items = "".join(_bar(name, p, limits[name], (before or {}).get(name)) for name, p in probabilities.items())
    st.html(f'<ul class="s-labels" aria-label="probability of each label">{items}</ul>')


def _bar(name: str, p: float, limit: float, before: float | None) -> str:
    said = p > limit
    about = f"{'predicted' if said else 'not predicted'}, threshold {number(limit)}"
    about += "" if before is None else f", as trained {number(before)}"
    was = "" if before is None else f'<i style="left:{100 * before:.1f}%"></i>'
    return (
        f'<li class="{"s-on" if said else ""}" title="{about}"><span>{escape(name)}</span>'
        f'<div><b style="width:{100 * p:.1f}%"></b><u style="left:{100 * limit:.1f}%"></u>{was}</div>'
        f"<em>{number(p)}</em></li>"
    )
