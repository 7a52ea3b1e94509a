"""The names of everything that outlives one rerun: URL parameters, which make links, and session keys, which do not."""

from __future__ import annotations

from typing import Any

import streamlit as st

# URL parameters: a link with these restores what is on screen. Each is the key of a widget with bind="query-params".
RUN = "run"
PROJECTOR = "projector"
SPLIT = "split"
TEXT = "text"
LAYER = "layer"
MAP = "map"
GRID = "grid"
COMPARED = "runs"
COURSE = "course"

# Session keys: drafts and things to say once.
MISSING = "missing-run"
PRESET = "train-preset"
DATA = "train-data"
EPOCHS = "train-epochs"
LIMIT = "train-limit"
SEED = "train-seed"
NAME = "train-name"
SETTINGS = "train-settings"
PROBLEM = "train-problem"
ROWS = "runs-table"
EXAMPLES = "examples-table"
CELL = "fig-confusion"


def run() -> str:
    """The chosen run; empty when there is none."""
    return str(st.session_state.get(RUN) or "")


def choose_run(name: str) -> None:
    """Choose a run on every page; only from a callback, before its picker is drawn."""
    st.session_state[RUN] = name


def asked_run() -> str:
    """The run named in the link, whether it exists or not."""
    return str(st.query_params.get(RUN, ""))


def projector() -> bool:
    """Is the page meant for a projector?"""
    return bool(st.session_state.get(PROJECTOR) or st.query_params.get(PROJECTOR) == "true")


def initial(key: str, value: Any) -> None:
    """Give a bound widget its first value in a way that shows in the URL, so that a copied link is complete."""
    if key not in st.session_state and key not in st.query_params:
        st.query_params[key] = st.session_state[key] = value  # the URL alone would be seen one run later


def follow(key: str, of: str, value: Any) -> None:
    """Give a bound widget `value` again whenever what it depends on (`of`) has changed; a link's own value stands."""
    seen = st.session_state.get(f"{key}-of")
    if seen is None:
        initial(key, value)
    elif seen != of:
        st.query_params[key] = st.session_state[key] = value
    st.session_state[f"{key}-of"] = of


def draft(key: str, default: Any) -> Any:
    """The value of a session key, `default` before the person touched it."""
    return st.session_state.get(key, default)


def put(key: str, value: Any) -> None:
    """Set a session key; for widgets only from a callback or before they are drawn."""
    st.session_state[key] = value


def take(key: str) -> Any:
    """Read a session key once."""
    return st.session_state.pop(key, None)


def forget(*keys: str) -> None:
    """Drop session keys, so that their widgets start afresh."""
    for key in keys:
        st.session_state.pop(key, None)


def selected_cell() -> tuple[int, int] | None:
    """The clicked cell of the confusion matrix as (true, predicted) label numbers."""
    points = (st.session_state.get(CELL) or {}).get("selection", {}).get("points", [])
    return (int(points[0]["customdata"][0]), int(points[0]["customdata"][1])) if points else None
