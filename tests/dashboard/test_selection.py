"""The selection: result of clicks, restoring by link, and text and actions of the bar on every page."""

import numpy as np
import pytest
from answering import code_rows
from pages import opened, press, words
from streamlit.testing.v1 import AppTest

from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.predictions_table import read_table
from core.error_analysis.selection import PickedRows, Selection, read_picked, store_picked
from core.error_analysis.slices import read_slices, save_slice
from core.runs.store import RunStore
from dashboard import access, state
from dashboard.figures.error_rates import CLASS

pytestmark = pytest.mark.slow


def called(script, **session) -> AppTest:
    """A script with values from the browser, in the session that callbacks use."""
    app = AppTest.from_function(script, default_timeout=60)
    for key, value in session.items():
        app.session_state[key] = value
    app.run()
    return app


def link(app: AppTest, name: str = state.SELECT) -> str:
    """What stands in it under a name."""
    found = app.query_params[name]
    return found if isinstance(found, str) else found[0]


def take_cell() -> None:
    import streamlit as st
    from pages import source_of_test

    from dashboard import state
    from dashboard.figures import thresholding
    from dashboard.screens.performance_selection import select_cell

    source = source_of_test()
    source.choices["threshold"] = st.session_state["wanted"]
    select_cell(source, source.read_once(thresholding.read_decision), state.CELL)


def take_bar() -> None:
    from pages import source_of_test

    from dashboard.figures import thresholding
    from dashboard.screens.performance_selection import select_bar

    source = source_of_test()
    select_bar(source, source.read_once(thresholding.read_decision))


def test_cell_at_another_threshold_is_selected_by_rows(runs):
    app = called(take_cell, wanted=0.0, **{state.CELL: {"selection": {"points": [{"customdata": [0, 1]}]}}})
    frame = read_table(RunStore(runs), "finished").frame
    rule = link(app)
    group = read_picked(RunStore(runs), rule.removeprefix("ids:"))
    assert group.about == "label negative, predicted positive at 0.00" and group.by_outcome
    assert sorted(group.keys) == sorted(frame["key"][frame["true"] == "negative"])
    again = called(take_cell, wanted=0.0, **{state.CELL: {"selection": {"points": []}}, state.SELECT: rule})
    assert state.SELECT not in again.query_params  # a second click deselects it


def test_confidence_bar_selects_its_predictions(runs):
    table = read_table(RunStore(runs), "finished")
    chance = table.probabilities[:, table.classes.index("positive")]
    place = int(chance[~table.wrong][0] * 20)
    points = [{"x": (place + 0.5) / 20, "curve_number": 0}]
    app = called(take_bar, **{"fig-confidence": {"selection": {"points": points}}})
    group = read_picked(RunStore(runs), link(app).removeprefix("ids:"))
    inside = ~table.wrong & (np.minimum((chance * 20).astype(int), 19) == place)
    assert sorted(group.keys) == sorted(table.frame["key"][inside]) and group.about.startswith("right, P(positive) 0.")


@pytest.mark.parametrize("page", ["runs", "data", "train", "compare", "steps"])
def test_selection_bar_is_on_each_page_and_clear_removes_it(app, runs, page, table, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)
    shown = words(opened(app, page, run="finished", select="true=negative", data=str(table)))
    negative = int(read_table(RunStore(runs), "finished").true[:, 0].sum())
    assert f"<b>{negative} of 16</b> <span>label negative</span>" in shown
    assert 'class="s-now"' not in words(press(app, "selected-clear")) and "select" not in app.query_params


def test_old_link_opens_and_a_click_writes_the_new_parameters(app, runs):
    frame = read_table(RunStore(runs), "finished").frame
    asked = "split=test;truth=negative;p_said>0.1"
    n = int(((frame["true"] == "negative") & (frame["p_predicted"] > 0.1)).sum())
    for page in ("performance", "errors"):
        opened(app, page, run="finished", select=asked)
        assert f"<b>{n} of 16</b> <span>label negative, P(predicted class) &gt; 0.1</span>" in words(app), page
    app.text_input(key=state.SLICE_NAME).set_value("old").run()
    press(app, "selected-keep")
    [kept] = read_slices(RunStore(runs), RunStore(runs).read("finished"))
    assert kept.select == "split=test;true=negative;p_predicted>0.1"


def test_link_restores_individually_chosen_sentences_and_the_current_one(app, runs):
    frame = read_table(RunStore(runs), "finished").frame
    rule = store_picked(RunStore(runs), PickedRows(tuple(frame["key"].iloc[[7, 2, 5]]), "chosen on <i>the map</i>"))
    opened(app, "performance", run="finished", select=rule, at=frame["key"].iloc[2])
    assert "<b>3 of 16</b> <span>chosen on &lt;i&gt;the map&lt;/i&gt;</span>" in words(app)
    assert "2<i> / 3</i>" in words(app) and frame["text"].iloc[2] in words(app)
    table = next(each.value for each in app.dataframe if "p_predicted" in each.value)
    assert table["key"].tolist() == frame["key"].iloc[[7, 2, 5]].tolist()
    press(app, "selected-Next")
    assert link(app, state.AT) == frame["key"].iloc[5] and app.button(key="selected-Next").disabled
    assert not app.button(key="selected-Previous").disabled


def test_sentences_outside_splits_keep_their_bar_and_label(app, runs):
    picked = PickedRows(("a", "b"), "fails praise", ("good film", "bad <b>film"), ("positive", ""))
    opened(app, "sentence", run="finished", select=store_picked(RunStore(runs), picked), at="a")
    assert "<b>2</b> <span>fails praise</span>" in words(app) and app.text_input(key=state.TEXT).value == "good film"
    assert "true label <b>positive</b>" in words(app)
    press(app, "selected-Next")
    assert app.text_input(key=state.TEXT).value == "bad <b>film" and "true label" not in words(app)


@pytest.mark.parametrize(
    ("select", "said"), [("ids:../../../etc", "names no sentences that were selected"), ("<script>", "&lt;script&gt;")]
)
def test_link_without_matches_explains_why_and_the_page_is_complete(app, runs, select, said):
    opened(app, "performance", run="finished", select=select)
    assert "Nothing is selected" in words(app) and said in words(app) and "16 are wrong:" in words(app)
    assert "Nothing is selected" not in words(press(app, "selected-clear"))


def test_selection_is_saved_as_a_slice_and_an_invalid_name_is_reported(app, runs):
    opened(app, "performance", run="finished", select="true=negative")
    app.text_input(key=state.SLICE_NAME).set_value("two\x07bells").run()
    assert "Not saved:" in words(press(app, "selected-keep"))
    app.text_input(key=state.SLICE_NAME).set_value("bad <ones>").run()
    assert "Saved as “bad &lt;ones&gt;”" in words(press(app, "selected-keep"))
    (kept,) = read_slices(RunStore(runs), RunStore(runs).read("finished"))
    assert (kept.name, kept.select) == ("bad <ones>", "true=negative")
    app.text_input(key=state.SLICE_NAME).set_value("").run()
    assert "Saved as “label negative”" in words(press(app, "selected-keep")), "named by what selects it"


def test_slices_are_listed_renamed_and_removed_on_performance(app, runs):
    store = RunStore(runs)
    record = store.read("finished")
    save_slice(store, record, "bad ones", Selection(("true=negative",)))
    opened(app, "performance", run="finished", more="Saved slices")
    app.text_input(key="slice-renamed").set_value("<i>denied</i>")
    assert "“bad ones” is “&lt;i&gt;denied&lt;/i&gt;” now." in words(press(app, "slice-rename"))
    assert [each.name for each in read_slices(store, record)] == ["<i>denied</i>"]
    assert "Not changed:" in words(press(app, "slice-rename"))
    press(app, "slice-remove")
    assert read_slices(store, record) == [] and "No slices yet." in words(app)


def take_slice() -> None:
    from pages import source_of_test

    from dashboard.figures.error_rates import SAVED
    from dashboard.screens.performance_selection import select_slice

    source = source_of_test()
    select_slice(source, SAVED.read_data(source))


def test_slice_or_its_class_is_picked_and_a_second_click_clears_it(runs):
    store = RunStore(runs)
    save_slice(store, store.read("finished"), "sure", Selection(("p_predicted>0.5",)))
    both = f"sure{CLASS}negative", "p_predicted>0.5;true=negative"
    for picked, rules in (("sure", "p_predicted>0.5"), both, (f"{CLASS}negative", "true=negative")):
        app = called(take_slice, **{"fig-slices": {"picked": picked}})
        assert link(app) == rules and app.session_state[state.SELECTOR] == "fig-slices"
    app = called(take_slice, **{"fig-slices": {"picked": ""}, state.SELECT: "p_predicted>0.5"})
    assert state.SELECT not in app.query_params


def test_all_errors_are_selected_with_a_button(app, runs):
    opened(app, "performance", run="finished", split="validation")
    wrong = read_table(RunStore(runs), "finished", "validation").wrong
    button = app.button(key="select-wrong")
    assert button.label == f"Show the {wrong.sum()} errors"
    button.click().run()
    assert link(app) == "split=validation;wrong"
    assert f"<b>{wrong.sum()} of {len(wrong)}</b> <span>wrong</span>" in words(app)


def test_selection_bar_counts_only_codes_visible_to_the_author(runs):
    """Ann has coded two, Ben one of these: among sentences coded only by Ann, Ben's selection is empty."""
    store = RunStore(runs)
    record = store.read("finished")
    codes, keys = Codes(store.folder, get_data_name(record)), read_table(store, "finished").frame["key"].tolist()
    codes.add_code("irony")
    code_rows(codes, keys[:2], ["irony"], author="Ann")
    code_rows(codes, keys[:1], ["irony"], author="Ben")
    for author, n in (("Ann", 2), ("Ben", 1), ("", 2)):
        assert called(chosen, **{state.SELECT: "code=irony", state.AUTHOR: author}).session_state["found"] == keys[:n]


def chosen() -> None:
    import streamlit as st

    from dashboard import selection
    from dashboard.data import data

    now = selection.get_selection(data.store().read("finished"))
    st.session_state["found"] = sorted(now.keys, key=data.read_tagged_rows(now.table.record, "test").keys.index)


def search() -> None:
    import streamlit as st

    from dashboard import state
    from dashboard.data import data
    from dashboard.screens.data_rows import select_matches

    state.set_value(state.RUN, "finished")
    select_matches(st.session_state["name"] or data.store().read("finished").config.data.name)


@pytest.mark.parametrize(
    ("typed", "rules"),
    [
        ({state.FIND: " film; 3 "}, r"text~film\; 3"),
        ({state.FIND: "dull", state.CLASS: "negative"}, "true=negative;text~dull"),
        ({state.CLASS: "negative", state.PART: "validation"}, "split=validation;true=negative"),
    ],
)
def test_search_on_data_is_the_selection_of_all_pages(runs, typed, rules):
    assert link(called(search, name="", **typed)) == rules


def explain_search() -> None:
    import streamlit as st

    from dashboard.data import data
    from dashboard.figures.datasets import Filters
    from dashboard.screens.data_rows import explain_split

    record = data.store().read("finished")
    asked = [Filters(split, "", "", words) for split, words in (("", "x"), ("", ""), ("test", "x"))]
    st.session_state["told"] = [explain_split(record, each) for each in asked]


def test_search_in_all_splits_names_the_selected_split(runs):
    told = called(explain_search).session_state["told"]
    assert told == ["Other pages select the test matches. Choose a split to change this.", "", ""]


@pytest.mark.parametrize("left", [{}, {state.PART: "test"}, {state.FIND: "x", state.PART: "train"}])
def test_rows_without_a_prediction_are_not_selected_and_old_searches_are_cleared(runs, left):
    given = {"name": "", state.SELECT: "text~before", state.SELECTOR: state.FIND}
    assert called(search, **given, **left).session_state[state.SELECT] == ""
    assert called(search, **given | left | {"name": "other", state.FIND: "x"}).session_state[state.SELECT] == ""
    of_another = given | left | {state.SELECTOR: "fig-confusion"}
    assert called(search, **of_another).session_state[state.SELECT] == "text~before"


def test_selection_bar_compares_its_accuracy_with_the_other_rows_unless_it_is_of_errors(app, runs):
    table = read_table(RunStore(runs), "finished")
    has = (table.frame["true"] == table.classes[0]).to_numpy()
    here, others = (f"{100 * (1 - table.wrong[rows].mean()):.0f} %" for rows in (has, ~has))
    said = words(opened(app, "attention", run="finished", select=f"split=test;all;true={table.classes[0]}"))
    assert f"{here} right, the others {others}" in said
    frame = read_table(RunStore(runs), "finished").frame
    picked = PickedRows(tuple(frame["key"][frame["wrong"]][:2]), "2 drawn from wrong", by_outcome=True)
    for rules in ("wrong", "true=negative;predicted=positive", store_picked(RunStore(runs), picked)):
        assert "% right" not in words(opened(app, "attention", run="finished", select=f"split=test;{rules}"))
