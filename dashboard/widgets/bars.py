"""Bars of a model's predicted probabilities, and large numbers with their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING

import streamlit as st

from core.formatting import MINUS, count, format_plus_minus, number
from core.runs.record import RunRecord
from dashboard.figures.results import Stat
from dashboard.figures.theme import Look, choose_text_color, color_classes
from dashboard.figures.thresholding import map_thresholds
from dashboard.widgets.figure import show_caption

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

ROOMY = 0.3  # smallest part of a bar with room for its label on a narrow page; other labels appear below
Chances = Mapping[str, float]  # probability by class
READING = "Labels are independent, so the numbers do not sum to 1. Mark: threshold{}."


def show_prediction(
    record: RunRecord,
    view: SentenceView,
    look: Look,
    *,
    before: SentenceView | None = None,
    small: bool = False,
    roomy: float = ROOMY,
) -> None:
    """Show a run's predicted probabilities for a text: one bar shared by all classes, or one bar per label.

    Args:
        record: The run.
        view: The run's prediction.
        look: Theme and size.
        before: The prediction without edits, which is marked.
        small: Whether to draw a narrow version without an explanation.
        roomy: Smallest part of the bar with room for its label.
    """
    was = before.probabilities if before else None
    if record.task == "single":
        _show_class_bar(view.probabilities, look, was, ordered=record.ordered, small=small, roomy=roomy)
        return
    limits = map_thresholds(record)
    items = (_format_label_bar(name, p, limits[name], (was or {}).get(name)) for name, p in view.probabilities.items())
    st.html(f'<ul class="s-labels" aria-label="probability of each label">{"".join(items)}</ul>')
    if not small:
        show_caption(READING.format(", chosen on validation" if record.results.get("tuned") else ""))


def _format_label_bar(name: str, p: float, limit: float, before: float | None) -> str:
    said = p > limit
    about = f"{'predicted' if said else 'not predicted'}, threshold {number(limit)}"
    about += "" if before is None else f", as trained {number(before)}"
    was = "" if before is None else f'<i style="left:{100 * before:.1f}%"></i>'
    return (
        f'<li class="{"s-on" if said else ""}" title="{about}"><span>{escape(name)}</span>'
        f'<div><b style="width:{100 * p:.1f}%"></b><u style="left:{100 * limit:.1f}%"></u>{was}</div>'
        f"<em>{number(p)}</em></li>"
    )


def _show_class_bar(
    chances: Chances, look: Look, before: Chances | None, *, ordered: bool, small: bool, roomy: float
) -> None:
    """Show class probabilities as segments of one bar; narrow segments have their text for screen readers only."""
    colors = color_classes(look.tokens, list(chances), ordered=ordered)
    names = ", ".join(f"{name} {number(p)}" for name, p in chances.items())
    segments, marks = [], ""
    for (name, p), color in zip(chances.items(), colors, strict=True):
        text = f"<span>{escape(name)} {number(p)}</span>" if p > roomy else ""
        ink = choose_text_color(look.tokens, color)
        segments.append(f'<div style="width:{100 * p:.1f}%;background:{color};color:{ink}">{text}</div>')
    if before is not None:
        ends = list(accumulate(before.values()))[:-1]
        marks = "".join(f'<u style="left:{100 * end:.1f}%" title="as trained"></u>' for end in ends)
        names += "; as trained " + ", ".join(f"{name} {number(p)}" for name, p in before.items())
    size = " s-small" if small else ""
    st.html(f'<div class="s-bar{size}" role="img" aria-label="{escape(names)}">{"".join(segments)}{marks}</div>')
    if len(chances) > 2 and min(chances.values()) <= roomy:  # with two classes, one part always has room
        key = (
            f'<span><i class="s-dot" style="background:{color}"></i>{escape(name)} {number(p)}</span>'
            for (name, p), color in zip(chances.items(), colors, strict=True)
        )
        st.html(f'<div class="s-key" aria-hidden="true">{"".join(key)}</div>')


def show_stats(items: Sequence[Stat]) -> None:
    """Show metrics as large numbers in a row, each with confidence interval, sample size and position on a scale."""
    st.html(f'<dl class="s-stats">{"".join(_format_stat(item) for item in items)}</dl>')


def show_stat_line(items: Sequence[Stat]) -> None:
    """Show metrics with half of their 95 % interval on one line."""
    cells = "".join(
        f"<div><dt>{escape(item.name)}</dt><dd>{number(item.value)}"
        f"<small>{format_plus_minus(item.value, item.low, item.high)[len(number(item.value)) :]}</small></dd></div>"
        for item in items
    )
    st.html(f'<dl class="s-line">{cells}</dl>')


def _format_stat(item: Stat) -> str:
    low = item.value if item.low is None else item.low
    high = item.value if item.high is None else item.high
    first, last = item.ends
    left, right, middle = (100 * (min(max(x, first), last) - first) / (last - first) for x in (low, high, item.value))
    spread = format_plus_minus(item.value, item.low, item.high)[len(number(item.value)) :]
    ends = "".join(f"<span>{f'{end:.2g}'.replace('-', MINUS)}</span>" for end in item.ends)
    return (
        f"<div><dt>{escape(item.name)} <small>n = {f'{count(item.n)} {item.unit}'.strip()}</small></dt>"
        f"<dd>{number(item.value)}<small>{spread}</small></dd>"
        f'<dd><u style="--a:{left:.1f}%;--w:{max(right - left, 0.6):.1f}%;--m:{middle:.1f}%"></u>'
        f"<em>{ends}</em></dd></div>"
    )
