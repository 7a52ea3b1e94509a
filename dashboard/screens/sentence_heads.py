"""Head view: words on both sides, lines between them. Colour is sign, width is weight, a head is a column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from dashboard.figures.theme import Look
from dashboard.widgets.style import asset

# Scripts and styles are constants of ours; what a person typed travels in `data` and is set as text only.
_view = st.components.v2.component(
    "sentiscope_head_view", html='<div class="hv"></div>', css=asset("head_view.css"), js=asset("head_view.js")
)


def head_view(weights: NDArray[np.floating], tokens: Sequence[str], top: float, look: Look, *, label: str) -> None:
    """Draw one layer's map, everything else happens in the browser.

    Args:
        weights: (H, L, L) signed; rows read, columns are read.
        tokens: L words.
        top: The |weight| that gets full colour, shared with the maps beside it.
        look: Theme and size.
        label: What it shows, for a screen reader.
    """
    t = look.tokens
    _view(
        key="head-view",
        data={
            "tokens": list(tokens),
            "maps": np.round(weights, 3).tolist(),
            "top": round(top, 4),
            "size": look.size(18),
            "plus": t.plus,
            "minus": t.minus,
            "muted": t.muted,
            "label": label,
            "name": "sentiscope-heads",
            "hint": "Point at a word, or reach it with Tab and the arrow keys.",
        },
    )
