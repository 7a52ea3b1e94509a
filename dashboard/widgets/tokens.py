"""A sentence as its tokens, and a prediction as a bar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from itertools import accumulate

import streamlit as st

from dashboard.figures.numbers import number
from dashboard.figures.theme import Look, class_colours, readable

ROOMY = 0.3
"""Share of a bar from which its words fit in, also where the page is narrow; else all of them stand below."""
_MARKS = re.compile(r"[!-/:-@\[-`{-~]")
CUT = 30
"""Words of a cut-off end that are shown; the rest is counted."""


def literal(text: str) -> str:
    """A person's text as the label of a widget: labels are markdown, and nothing in this one is a mark."""
    return _MARKS.sub(r"\\\g<0>", text)


def probability_bar(
    probabilities: Mapping[str, float],
    look: Look,
    *,
    ordered: bool = False,
    before: Mapping[str, float] | None = None,
    small: bool = False,
    roomy: float = ROOMY,
) -> None:
    """One segment for each class in label order; the words where there is room, all of them for a screen reader.

    Args:
        probabilities: By class.
        look: Theme and size.
        ordered: Whether the classes stand in an order, the worst first.
        before: What they were without a change; marked by lines where its segments met.
        small: For a column: less high.
        roomy: Share of the bar from which words fit in; more of a narrow one.
    """
    colours = class_colours(look.tokens, list(probabilities), ordered=ordered)
    label_names = ", ".join(f"{name} {number(p)}" for name, p in probabilities.items())
    segments = []
    for (name, p), colour in zip(probabilities.items(), colours, strict=True):
        text = f"<span>{escape(name)} {number(p)}</span>" if p > roomy else ""
        ink = readable(look.tokens, colour)
        segments.append(f'<div style="width:{100 * p:.1f}%;background:{colour};color:{ink}">{text}</div>')
    marks = ""
    if before is not None:
        ends = list(accumulate(before.values()))[:-1]
        marks = "".join(f'<u style="left:{100 * end:.1f}%" title="as trained"></u>' for end in ends)
        label_names += "; as trained " + ", ".join(f"{name} {number(p)}" for name, p in before.items())
    size = " s-small" if small else ""
    st.html(f'<div class="s-bar{size}" role="img" aria-label="{escape(label_names)}">{"".join(segments)}{marks}</div>')
    if len(probabilities) > 2 and min(probabilities.values()) <= roomy:  # of two the other one says it all
        names = (
            f'<span><i class="s-dot" style="background:{colour}"></i>{escape(name)} {number(p)}</span>'
            for (name, p), colour in zip(probabilities.items(), colours, strict=True)
        )
        st.html(f'<div class="s-key" aria-hidden="true">{"".join(names)}</div>')
