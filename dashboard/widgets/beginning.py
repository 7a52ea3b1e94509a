"""What a training begins with, in the same words wherever one is planned: a finished run, a recipe."""

from __future__ import annotations

import streamlit as st

from core.recipes import RECIPES
from dashboard.data import data

STRONG = "strong"


def start_picker(key: str) -> None:
    """The run whose tokenizer, words and layers a training begins with."""
    st.selectbox(
        "Start from",
        [each.run for each in data.runs() if each.status == "done" and each.config.model.family == "encoder"],
        index=None,
        placeholder="random numbers",
        key=key,
        persist_state="session",
        width=180,
        help="A finished run: its tokenizer, words and layers are taken over as far as they fit (training.start)",
    )


def recipe_switch(key: str, more: str, *, bind: bool = False) -> None:
    """The strong recipe on or off; `more` says what stands above it, `bind` whether it goes into the link."""
    help_text = f"{RECIPES[STRONG].line} {more}"
    st.toggle("Strong recipe", key=key, bind="query-params" if bind else None, help=help_text)


def recipe(switched: bool) -> str:
    """The name of the recipe that the switch stands for."""
    return STRONG if switched else ""
