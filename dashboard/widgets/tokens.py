"""A sentence as its tokens, and a prediction as a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from dashboard.charts.numbers import number, signed
from dashboard.charts.theme import Look, class_colours, readable, shade


def token_strip(
    tokens: Sequence[str], unknown: Sequence[bool], weights: Sequence[float], top: float, look: Look
) -> None:
    """One chip for each token, coloured by a signed weight that also stands below it; unknown words are marked.

    Args:
        tokens: L.
        unknown: L, True where the vocabulary lacks the word.
        weights: L.
        top: The |weight| of full colour, that of the maps below, so that equal colour means equal value.
        look: Theme and size.
    """
    t = look.tokens
    items = []
    for token, missing, weight in zip(tokens, unknown, weights, strict=True):
        colour = shade(t, weight, top)
        about = "not in the vocabulary; " if missing else ""
        items.append(
            f'<li class="{"s-unknown" if missing else ""}" title="{about}is read {signed(weight, 3)}">'
            f'<b style="background:{colour};color:{readable(t, colour)}">{escape(token)}</b>'
            f"<small>{number(weight, 2)}</small></li>"
        )
    negative = any(weight < 0 for weight in weights)
    ramp = ",".join([*(reversed(t.minus_scale[1:5]) if negative else ()), *t.plus_scale[:5]])
    ends = "taken away" if negative else "hardly read"
    dash = '<span><i class="s-dash"></i>not in the vocabulary</span>' if any(unknown) else ""
    st.html(f'<ul class="s-toks" aria-label="tokens">{"".join(items)}</ul>')
    st.html(
        f'<div class="s-key"><span>{ends}<i style="background:linear-gradient(90deg,{ramp})"></i>much read</span>'
        f"{dash}</div>"
    )


def probability_bar(probabilities: Mapping[str, float], look: Look) -> None:
    """One segment for each class in label order; the words where there is room, all of them for a screen reader."""
    colours = class_colours(look.tokens, list(probabilities))
    spoken = ", ".join(f"{name} {number(p)}" for name, p in probabilities.items())
    segments = []
    for (name, p), colour in zip(probabilities.items(), colours, strict=True):
        text = f"<span>{escape(name)} {number(p)}</span>" if p > 0.16 else ""
        ink = readable(look.tokens, colour)
        segments.append(f'<div style="width:{100 * p:.1f}%;background:{colour};color:{ink}">{text}</div>')
    st.html(f'<div class="s-bar" role="img" aria-label="{escape(spoken)}">{"".join(segments)}</div>')
    if len(probabilities) > 2:
        names = (
            f'<span><i class="s-dot" style="background:{colour}"></i>{escape(name)} {number(p)}</span>'
            for (name, p), colour in zip(probabilities.items(), colours, strict=True)
        )
        st.html(f'<div class="s-key" aria-hidden="true">{"".join(names)}</div>')
