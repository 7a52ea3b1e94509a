"""Compose your own: the parts of a model as fields, and at once the model that they make."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.config import SETTINGS, RunConfig
from core.models.config import ModelConfig
from core.models.describe import parts
from core.models.equation import equation
from core.runs.budget import Size
from dashboard import state
from dashboard.figures.diagram import DIAGRAM, Made, described
from dashboard.figures.train_plan import OFFERED, shown
from dashboard.screens.train_settings import HOW, field_rows
from dashboard.widgets.figure import caption, place
from dashboard.widgets.style import look

START = "Starts from the preset above; what has no effect on this model is not shown. "


def composer(defaults: RunConfig, model: ModelConfig | None, show: Callable[[], None]) -> None:
    """The fields of all parts that have an effect, folded.

    Args:
        defaults: what an empty field stands for.
        model: as the fields make it; None where they contradict each other.
        show: draws below the fields what they make, or why they make nothing.
    """
    own = state.typed(state.SETTING)
    with st.expander("Compose your own", key="composer"):
        caption(START + HOW)
        for title, names in shown(own, model).items():
            field_rows(title, [SETTINGS[name] for name in names], defaults, empty="none", model=model)
        if any(name in OFFERED for name in own):
            st.button("Back to the preset", key="compose-clear", on_click=_clear)
        show()


def composed(config: RunConfig, size: Size | None, words: str, command: str) -> None:
    """The model that the fields make: in words, drawn, as an equation, as a command."""
    caption(words)
    vocabulary = size.vocabulary if size else config.text.max_vocab
    with st.container(key="pair-composed"):
        left, right = st.columns([1.1, 1], gap="large")
        with left:
            made = Made(parts(config.model, vocabulary=vocabulary, classes=2), "composed")
            place(DIAGRAM.draw(made, look()), "composed", described(made.parts))
        with right:
            for index, line in enumerate(equation(config.model)):
                with st.container(key=f"equation-{index}", gap=None):
                    st.latex(line.latex)
                    caption(line.words)
    st.code(command, language=None, wrap_lines=True)


def _clear() -> None:
    """Button: every field of the builder is empty again."""
    state.forget(*(state.SETTING + name for name in OFFERED))
