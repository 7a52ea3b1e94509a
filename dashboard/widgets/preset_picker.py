"""Choosing a preset, by paper or among all."""

from __future__ import annotations

import streamlit as st

from core.models.presets import PAPERS
from dashboard import state
from dashboard.figures.models import ALL, names_of

WIDTH = 180


def preset_picker(default: str, *, help: str = "") -> str:
    """Paper and model, both in the URL; the chosen preset.

    Args:
        default: the model of a page that nobody has touched, where its paper is shown.
        help: of the model.
    """
    paper = st.selectbox(
        "Paper",
        [ALL, *PAPERS.values()],  # as they are: what is shown here is what the URL carries
        key=state.PAPER,
        bind="query-params",
        width=WIDTH,
    )
    names = names_of(paper)
    state.keep_to(state.PRESET, names)
    return st.selectbox(
        "Model",
        names,
        index=names.index(default) if default in names else 0,
        key=state.PRESET,
        bind="query-params",
        width=WIDTH,
        help=help or None,
    )
