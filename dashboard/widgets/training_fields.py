"""Form fields for training: the paper and its model preset, the data set, and the run to start from."""

from __future__ import annotations

import streamlit as st

from core.models.config import ModelConfig
from core.models.model_description import write_equation
from core.models.presets import PAPERS
from core.recipes import RECIPES
from dashboard import access, state
from dashboard.data import data
from dashboard.figures.model_plan import ALL, list_presets
from dashboard.widgets.figure import show_caption

STRONG = "strong"
WIDTH = 180


def pick_preset(default: str, *, help: str = "") -> str:
    """Show URL-bound menus of papers and model presets; return the preset, at first `default` if it is listed."""
    paper = st.selectbox(
        "Paper",
        [ALL, *PAPERS.values()],  # the shown names are the values in the URL
        key=state.PAPER,
        bind="query-params",
        width=WIDTH,
    )
    names = list_presets(paper)
    state.drop_stale(state.PRESET, names)
    first = names.index(default) if default in names else 0
    return st.selectbox(
        "Model", names, index=first, key=state.PRESET, bind="query-params", width=WIDTH, help=help or None
    )


def show_equation(model: ModelConfig) -> None:
    """Show a model's equations, each followed by an explanation in words."""
    for index, line in enumerate(write_equation(model)):
        with st.container(key=f"equation-{index}", gap=None):
            st.latex(line.latex)
            show_caption(line.words)


def pick_dataset(*, more: str = "") -> None:
    """Show the menu of data sets for a training (name or path), bound to the URL; `more` is added to its help text."""
    st.selectbox(
        "Data",
        access.list_names(here=True),
        key=state.DATA,
        bind="query-params",
        width=WIDTH,
        accept_new_options=True,
        help=f"A known name, or the path of a file or folder on this machine{more}",
    )


def pick_start(key: str) -> None:
    """Show the menu of finished runs whose tokenizer, vocabulary and layers a training may start from."""
    names = data.name_runs()
    st.selectbox(
        "Start from",
        [each.run for each in data.list_runs() if each.status == "done" and each.config.model.family == "encoder"],
        index=None,
        placeholder="scratch",
        key=key,
        format_func=lambda run: names[run].full,
        persist_state="session",
        width=WIDTH,
        help="A finished run: its tokenizer, words and layers are reused where they fit (training.start)",
    )


def show_recipe_switch(key: str, more: str) -> None:
    """Show the switch of the strong training recipe; `more` extends its help text."""
    st.toggle("Strong recipe", key=key, persist_state="session", help=f"{RECIPES[STRONG].line} {more}")


def get_recipe(switched: bool) -> str:
    """Return the name of the training recipe that the switch selects; empty if the switch is off."""
    return STRONG if switched else ""
