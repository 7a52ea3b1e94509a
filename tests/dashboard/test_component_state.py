"""What outlives a rerun: data of components, a widget and its link, the history of a sentence."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.runs.store import RunStore
from dashboard import selection, state
from dashboard.figures.filtering import TEXT, find_word
from dashboard.figures.row_selection import apply_query, make_facts
from dashboard.screens.errors_statistics import _apply_words
from dashboard.screens.sentence_history import MOST, PAUSE, EditHistory, TriedSentence

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


def script() -> None:
    """Draw a menu and a list whose options have labels, as run pickers have."""
    import streamlit as st

    from dashboard import state

    if st.session_state.get("drawn", True):
        state.follow_link("one")
        st.selectbox("one", ["a", "b"], index=None, key="one", format_func=str.upper)
        state.follow_link("many", several=True)
        st.multiselect("many", ["a", "b", "c"], key="many", format_func=str.upper)


def shown(app: AppTest) -> tuple[str | None, list[str], dict[str, list[str]]]:
    """Return both values and the link."""
    link = {name: [given] if isinstance(given, str) else given for name, given in app.query_params.items()}
    return app.selectbox[0].value, app.multiselect[0].value, link


def test_links_are_taken_come_back_and_have_values_in_place_of_labels():
    app = AppTest.from_function(script)
    app.query_params["one"], app.query_params["many"] = "b", ["c", "a"]
    app.run()
    assert shown(app) == ("b", ["c", "a"], {"one": ["b"], "many": ["c", "a"]})
    app.selectbox[0].set_value("a").run()
    app.multiselect[0].set_value(["b"]).run()
    assert shown(app) == ("a", ["b"], {"one": ["a"], "many": ["b"]})
    app = AppTest.from_function(script)
    app.query_params["one"] = "b"
    app.run()
    app.selectbox[0].set_value("a").run()
    app.query_params["one"] = "b"  # *Back*
    assert shown(app.run())[0] == "b"
    app.selectbox[0].set_value(None).run()
    app.multiselect[0].set_value([]).run()
    assert shown(app.run()) == (None, [], {})


def test_another_page_that_draws_neither_does_not_lose_them():
    app = AppTest.from_function(script)
    app.query_params["one"], app.query_params["many"] = "b", ["c"]
    app.run()
    app.session_state["drawn"] = False
    app.query_params.clear()
    app.run()
    app.session_state["drawn"] = True
    assert shown(app.run()) == ("b", ["c"], {"one": ["b"], "many": ["c"]})


def tried(text="good", edit="", run="first", **more) -> TriedSentence:
    return TriedSentence(run, text, edit, **more)


def walked(*steps: TriedSentence, apart: float = 10 * PAUSE) -> EditHistory:
    past = EditHistory()
    for place, step in enumerate(steps):
        past = past.add_state(step, place * apart)
    return past


def test_undo_and_redo_cover_texts_levers_and_runs_and_lose_no_sentence():
    steps = [tried("good"), tried("bad"), tried("bad", "h1.1"), tried("bad", "h1.1", "second")]
    past = walked(*steps)
    assert past.steps == tuple(steps) and past.can_undo and not past.can_redo
    for place in (2, 1, 0):
        past = past.move_by(-1)
        assert past.steps[past.at] == steps[place] and past.can_redo
        assert past.add_state(steps[place], 1e6) == past, "what undo brought back is no new step"
    assert not past.can_undo and past.move_by(-1).at == 0
    assert past.move_by(1).steps[past.move_by(1).at] == steps[1] and past.move_by(9).at == 3
    past = walked(tried("one"), tried("two"), tried("three")).move_by(-1).add_state(tried("four"), 1e6)
    assert [step.text for step in past.steps] == ["one", "two", "four"] and not past.can_redo
    assert [each.text for each in past.tried] == ["four", "three", "two", "one"]


def test_continuous_typing_is_one_step_and_sentences_are_listed_once():
    typed = [tried("a film"), *(tried("a film" + " so good"[:end]) for end in range(1, 9))]
    past = walked(*typed, apart=PAUSE / 4)
    assert [step.text for step in past.steps] == ["a film", "a film so good"]
    assert [each.text for each in past.tried] == ["a film so good", "a film"]
    assert [step.text for step in walked(*typed[:3]).steps] == ["a film", "a film ", "a film s"], "with a pause"
    edits = ["", "l1c1:0.1", "l1c1:0.2", "l1c1:0.3", "h1.1,l1c1:0.3", "h1.1,h1.2,l1c1:0.3", "h1.2,l1c1:0.3"]
    past = walked(*(tried(edit=edit) for edit in edits), apart=PAUSE / 4)
    assert [step.edit for step in past.steps] == ["", *edits[3:]]
    assert len(walked(tried("a"), tried("b"), tried("b", "h1.1"), tried("c", "h1.1"), apart=PAUSE / 4).steps) == 4
    past = walked(tried("one"), tried("two"), tried(" "), tried("one"), tried("one", "h1.1"))
    assert [(each.text, each.edit) for each in past.tried] == [("one", "h1.1"), ("one", ""), ("two", "")]
    assert [step.text for step in past.steps] == ["one", "two", " ", "one", "one"], "an empty text can be undone"
    past = walked(*(tried(f"text {number}") for number in range(3 * MOST)))
    assert len(past.steps) == len(past.tried) == MOST and past.at == MOST - 1
    assert past.tried[0] == past.steps[-1] == tried(f"text {3 * MOST - 1}")
    past = walked(tried("one"), tried("two"), tried("three")).move_by(-1).clear_steps()
    assert past.steps == (tried("two"),) and not past.tried and not past.can_undo and not past.can_redo
    assert EditHistory().clear_steps() == EditHistory()
