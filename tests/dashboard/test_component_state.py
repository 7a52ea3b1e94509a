"""Data between components and the page: valid Streamlit keys, and no lost changes."""

import pytest
import streamlit as st

from core.runs.store import RunStore
from dashboard import selection, state
from dashboard.figures.filtering import TEXT, find_word
from dashboard.figures.row_selection import apply_query, make_facts
from dashboard.screens.errors_statistics import _apply_words

KEY = "fig-filter"


@pytest.fixture
def session(monkeypatch):
    """The session state without a page."""
    monkeypatch.setattr(st, "session_state", {})
    return st.session_state


def test_component_key_has_only_characters_that_streamlit_accepts(session):
    assert state.get_figure_key("levers") == "fig-levers"
    keys = [state.get_figure_key(name) for name in ("runs-my__reviews.csv", "runs-my_reviews.csv", "__", "a b", "")]
    assert len(set(keys)) == len(keys) and not any("__" in key for key in keys)
    state.clear_clicks(state.get_figure_key("__"))
    assert state.get_figure_key("__") not in keys


def test_all_changes_are_received_and_only_these_are_confirmed(session):
    session[KEY] = {"changes": [[5, "a"], [7, "b"]]}
    assert state.receive_changes(KEY) == ["a", "b"] and state.get_confirmed(KEY) == 7
    session[KEY] = {"changes": [[7, "b"], [8, "c"]]}
    assert state.receive_changes(KEY, after=7) == ["c"] and state.get_confirmed(KEY) == 8
    session[KEY] = {"changes": [[7, "b"]]}  # a message that arrived too late
    assert state.receive_changes(KEY, after=8) == [] and state.get_confirmed(KEY) == 8
    session[KEY] = None
    assert state.receive_changes(KEY) == []


def test_menu_choices_made_before_a_redraw_are_all_kept(session, monkeypatch, trained):
    chosen = []
    monkeypatch.setattr(selection, "select_rules", lambda record, found: chosen.append(";".join(found.rules)))
    store = RunStore(trained)
    shown = apply_query(make_facts(store, store.read("finished"), "test"), "all", store)
    word = find_word(shown.facets, "true=negative")
    session[KEY] = {"changes": [[1, {"word": word, "value": "true=negative"}], [2, {"word": TEXT, "value": "film"}]]}
    _apply_words(KEY, shown, 0)
    _apply_words(KEY, shown, 1)  # the first change is already drawn
    assert chosen == ["all;true=negative;text~film", "all;text~film"]
    session[KEY] = {"changes": [[3, {"word": TEXT, "value": "margin>=soon"}]]}
    _apply_words(KEY, shown, 2)
    assert len(chosen) == 2 and "soon" in str(session[state.SELECTION_PROBLEM])
