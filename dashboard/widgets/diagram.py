"""The parts of a model as a drawing."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.models.describe import Part
from dashboard.figures.diagram import diagram
from dashboard.widgets.style import asset, look

_drawing = st.components.v2.component(
    "sentiscope_diagram",
    html='<div class="dg"></div>',
    css=".dg svg { display: block; max-width: 100%; height: auto; }",
    js=asset("diagram.js"),
)


def draw(parts: Sequence[Part], name: str) -> None:
    """Draw it; `name` is that of the model, and names the exported file."""
    _drawing(key=f"diagram-{name}", data={"svg": diagram(parts, look()), "name": f"sentiscope-model-{name}"})
