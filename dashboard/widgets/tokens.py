"""A sentence as its tokens, and a prediction as a bar."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate

import streamlit as st

from dashboard.figures.numbers import count, number, signed
from dashboard.figures.theme import Look, class_colours, readable, shade

ROOMY = 0.3
"""Share of a bar from which its words fit in, also where the page is narrow; else all of them stand below."""
_MARKS = re.compile(r"[!-/:-@\[-`{-~]")
CUT = 30
"""Words of a cut-off end that are shown; the rest is counted."""


def literal(text: str) -> str:
    """A person's text as the label of a widget: labels are markdown, and nothing in this one is a mark."""
    return _MARKS.sub(r"\\\g<0>", text)


def token_strip(
    tokens: Sequence[str],
    unknown: Sequence[bool],
    weights: Sequence[float],
    top: float,
    look: Look,
    *,
    special: Sequence[str] = (),
    cut: str = "",
    least: str = "taken away",
    name: str = "tokens",
) -> None:
    """One chip for each token, coloured by a signed weight that also stands below it; unknown words are marked.

    Args:
        tokens: L.
        unknown: L, True where the vocabulary lacks the word.
        weights: L.
        top: The |weight| of full colour, that of the maps below, so that equal colour means equal value.
        look: Theme and size.
        special: Tokens that are no words of the text, should the first or the last be one of them.
        cut: The end of the text that was not read, struck through.
        least: What a negative weight means.
        name: Of the list, for a screen reader.
    """
    t = look.tokens
    items, outer = [], (0, len(tokens) - 1)
    for place, (token, missing, weight) in enumerate(zip(tokens, unknown, weights, strict=True)):
        colour = shade(t, weight, top)
        about = "not in the vocabulary; " if missing else ""
        kind = "s-unknown" if missing else "s-special" if place in outer and token in special else ""
        items.append(
            f'<li class="{kind}" title="{about}is read {signed(weight, 3)}">'
            f'<b style="background:{colour};color:{readable(t, colour)}">{escape(token)}</b>'
            f"<small>{number(weight, 2)}</small></li>"
        )
    negative = any(weight < 0 for weight in weights)
    ramp = ",".join([*(reversed(t.minus_scale[1:5]) if negative else ()), *t.plus_scale[:5]])
    ends = least if negative else "hardly read"
    dash = '<span><i class="s-dash"></i>not in the vocabulary</span>' if any(unknown) else ""
    st.html(
        f'<ul class="s-toks" aria-label="{escape(name)}">{"".join(items)}{_cut(cut)}</ul>'
        f'<div class="s-key"><span>{ends}<i style="background:linear-gradient(90deg,{ramp})"></i>much read</span>'
        f"{dash}</div>"
    )


def _cut(text: str) -> str:
    words = text.split()
    more = f" and {count(len(words) - CUT)} more words" if len(words) > CUT else ""
    shown = escape(" ".join(words[:CUT]))
    return f'<li class="s-cut" title="cut off, not read"><del>{shown}</del>{more}</li>' if words else ""


def probability_bar(
    probabilities: Mapping[str, float],
    look: Look,
    *,
    ordered: bool = False,
    before: Mapping[str, float] | None = None,
    small: bool = False,
) -> None:
    """One segment for each class in label order; the words where there is room, all of them for a screen reader.

    Args:
        probabilities: By class.
        look: Theme and size.
        ordered: Whether the classes stand in an order, the worst first.
        before: What they were without a change; marked by lines where its segments met.
        small: For a column: less high.
    """
    colours = class_colours(look.tokens, list(probabilities), ordered=ordered)
    label_names = ", ".join(f"{name} {number(p)}" for name, p in probabilities.items())
    segments = []
    for (name, p), colour in zip(probabilities.items(), colours, strict=True):
        text = f"<span>{escape(name)} {number(p)}</span>" if p > ROOMY else ""
        ink = readable(look.tokens, colour)
        segments.append(f'<div style="width:{100 * p:.1f}%;background:{colour};color:{ink}">{text}</div>')
    marks = ""
    if before is not None:
        ends = list(accumulate(before.values()))[:-1]
        marks = "".join(f'<u style="left:{100 * end:.1f}%" title="as trained"></u>' for end in ends)
        label_names += "; as trained " + ", ".join(f"{name} {number(p)}" for name, p in before.items())
    size = " s-small" if small else ""
    st.html(f'<div class="s-bar{size}" role="img" aria-label="{escape(label_names)}">{"".join(segments)}{marks}</div>')
    if min(probabilities.values()) <= ROOMY:
        names = (
            f'<span><i class="s-dot" style="background:{colour}"></i>{escape(name)} {number(p)}</span>'
            for (name, p), colour in zip(probabilities.items(), colours, strict=True)
        )
        st.html(f'<div class="s-key" aria-hidden="true">{"".join(names)}</div>')
