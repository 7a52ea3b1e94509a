"""The one selection: what clicks come to, what a link restores, and what the bar says and does on every page."""

import numpy as np
import pytest
from pages import opened, press, words
from streamlit.testing.v1 import AppTest

from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.predictions_table import read_table
from core.error_analysis.selection import PickedRows, Selection, read_picked, store_picked
from core.error_analysis.slices import read_slices, save_slice
from core.runs.store import RunStore
from dashboard import access, state
from dashboard.figures.saved_slices import CLASS

pytestmark = pytest.mark.slow


def called(script, **session) -> AppTest:
    """A script with what a browser has sent, in the session that callbacks see."""
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


def test_a_cell_at_another_threshold_is_selected_one_by_one(runs):
    app = called(take_cell, wanted=0.0, **{state.CELL: {"selection": {"points": [{"customdata": [0, 1]}]}}})
    frame = read_table(RunStore(runs), "finished").frame
    rule = link(app)
    group = read_picked(RunStore(runs), rule.removeprefix("ids:"))
    assert group.about == "true negative, predicted positive at 0.00" and group.by_outcome
    assert sorted(group.keys) == sorted(frame["key"][frame["true"] == "negative"])
    again = called(take_cell, wanted=0.0, **{state.CELL: {"selection": {"points": []}}, state.SELECT: rule})
    assert state.SELECT not in again.query_params  # a second click takes it back


def test_a_bar_is_selected_by_what_is_right_there(runs):
    table = read_table(RunStore(runs), "finished")
    chance = table.probabilities[:, table.classes.index("positive")]
    place = int(chance[~table.wrong][0] * 20)
    points = [{"x": (place + 0.5) / 20, "curve_number": 0}]
    app = called(take_bar, **{"fig-confidence": {"selection": {"points": points}}})
    group = read_picked(RunStore(runs), link(app).removeprefix("ids:"))
    inside = ~table.wrong & (np.minimum((chance * 20).astype(int), 19) == place)
    assert sorted(group.keys) == sorted(table.frame["key"][inside]) and group.about.startswith("right, P(positive) 0.")


@pytest.mark.parametrize("page", ["runs", "data", "train", "compare", "steps"])
def test_the_bar_stands_on_every_page_and_clear_takes_it_away(app, runs, page, table, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)
    shown = words(opened(app, page, run="finished", select="true=negative", data=str(table)))
    negative = int(read_table(RunStore(runs), "finished").true[:, 0].sum())
    assert f"<b>{negative} of 16</b> <span>true negative</span>" in shown
    assert 'class="s-now"' not in words(press(app, "selected-clear")) and "select" not in app.query_params


def test_an_old_link_opens_on_the_pages_and_a_click_writes_the_new_words(app, runs):
    frame = read_table(RunStore(runs), "finished").frame
    asked = "split=test;truth=negative;p_said>0.1"
    n = int(((frame["true"] == "negative") & (frame["p_predicted"] > 0.1)).sum())
    for page in ("performance", "errors"):
        opened(app, page, run="finished", select=asked)
        assert f"<b>{n} of 16</b> <span>true negative, P(predicted class) &gt; 0.1</span>" in words(app), page
    app.text_input(key=state.SLICE_NAME).set_value("old").run()
    press(app, "selected-keep")
    [kept] = read_slices(RunStore(runs), RunStore(runs).read("finished"))
    assert kept.select == "split=test;true=negative;p_predicted>0.1"


def test_a_link_restores_sentences_chosen_one_by_one_with_the_one_looked_at(app, runs):
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


def test_sentences_of_no_split_keep_their_bar_and_their_label(app, runs):
    rule = store_picked(
        RunStore(runs), PickedRows(("a", "b"), "fails praise", ("good film", "bad <b>film"), ("positive", ""))
    )
    opened(app, "sentence", run="finished", select=rule, at="a")
    assert "<b>2</b> <span>fails praise</span>" in words(app) and app.text_input(key=state.TEXT).value == "good film"
    assert "true label <b>positive</b>" in words(app)
    press(app, "selected-Next")
    assert app.text_input(key=state.TEXT).value == "bad <b>film" and "true label" not in words(app)


@pytest.mark.parametrize(
    ("select", "said"), [("ids:../../../etc", "names no sentences that were selected"), ("<script>", "&lt;script&gt;")]
)
def test_a_link_that_selects_nothing_says_why_and_the_page_stands(app, runs, select, said):
    opened(app, "performance", run="finished", select=select)
    assert "Nothing is selected" in words(app) and said in words(app) and "Confusion matrix" in words(app)
    assert "Nothing is selected" not in words(press(app, "selected-clear"))


def test_a_selection_is_saved_as_a_slice_and_a_bad_name_is_told(app, runs):
    opened(app, "performance", run="finished", select="true=negative")
    app.text_input(key=state.SLICE_NAME).set_value("two\x07bells").run()
    assert "Not saved:" in words(press(app, "selected-keep"))
    app.text_input(key=state.SLICE_NAME).set_value("bad <ones>").run()
    assert "Saved as “bad &lt;ones&gt;”" in words(press(app, "selected-keep"))
    (kept,) = read_slices(RunStore(runs), RunStore(runs).read("finished"))
    assert (kept.name, kept.select) == ("bad <ones>", "true=negative")
    app.text_input(key=state.SLICE_NAME).set_value("").run()
    assert "Saved as “true negative”" in words(press(app, "selected-keep")), "named by what selects it"


def test_slices_are_listed_renamed_and_removed_on_performance(app, runs):
    store = RunStore(runs)
    record = store.read("finished")
    save_slice(store, record, "bad ones", Selection(("true=negative",)))
    opened(app, "performance", run="finished")
    app.text_input(key="slice-renamed").set_value("<i>denied</i>")
    assert "“bad ones” is “&lt;i&gt;denied&lt;/i&gt;” now." in words(press(app, "slice-rename"))
    assert [each.name for each in read_slices(store, record)] == ["<i>denied</i>"]
    assert "Not changed:" in words(press(app, "slice-rename"))
    press(app, "slice-remove")
    assert read_slices(store, record) == [] and "No slices yet." in words(app)


def take_slice() -> None:
    from pages import source_of_test

    from dashboard.figures.saved_slices import SAVED
    from dashboard.screens.performance_selection import select_slice

    source = source_of_test()
    select_slice(source, SAVED.read_data(source))


def test_a_slice_is_picked_whole_or_one_class_of_it_and_a_second_click_takes_it_back(runs):
    store = RunStore(runs)
    save_slice(store, store.read("finished"), "sure", Selection(("p_predicted>0.5",)))
    both = f"sure{CLASS}negative", "p_predicted>0.5;true=negative"
    for picked, rules in (("sure", "p_predicted>0.5"), both, (f"{CLASS}negative", "true=negative")):
        app = called(take_slice, **{"fig-slices": {"picked": picked}})
        assert link(app) == rules and app.session_state[state.SELECTOR] == "fig-slices"
    app = called(take_slice, **{"fig-slices": {"picked": ""}, state.SELECT: "p_predicted>0.5"})
    assert state.SELECT not in app.query_params


def test_all_that_is_wrong_is_selected_with_a_button(app, runs):
    opened(app, "performance", run="finished", split="validation")
    wrong = read_table(RunStore(runs), "finished", "validation").wrong
    button = app.button(key="select-wrong")
    assert button.label == f"Show the {wrong.sum()} errors"
    button.click().run()
    assert link(app) == "split=validation;wrong"
    assert f"<b>{wrong.sum()} of {len(wrong)}</b> <span>wrong</span>" in words(app)


def test_the_bar_counts_only_codes_that_whoever_codes_may_see(runs):
    """Ann has coded two, Ben one of them: of those that Ann alone has coded, Ben's selection has none."""
    store = RunStore(runs)
    record = store.read("finished")
    codes, keys = Codes(store.folder, get_data_name(record)), read_table(store, "finished").frame["key"].tolist()
    codes.add_code("irony")
    codes.code_rows(keys[:2], ["irony"], author="Ann")
    codes.code_rows(keys[:1], ["irony"], author="Ben")
    for author, n in (("Ann", 2), ("Ben", 1), ("", 2)):
        app = called(chosen, **{state.SELECT: "code=irony", state.AUTHOR: author})
        assert app.session_state["found"] == keys[:n]


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
def test_what_is_looked_for_on_data_is_the_selection_of_all_pages(runs, typed, rules):
    assert link(called(search, name="", **typed)) == rules


def search_told() -> None:
    import streamlit as st

    from dashboard.data import data
    from dashboard.figures.datasets import Filters
    from dashboard.screens.data_rows import explain_split

    record = data.store().read("finished")
    st.session_state["told"] = [
        explain_split(record, Filters(split, "", "", words)) for split, words in (("", "x"), ("", ""), ("test", "x"))
    ]


def test_of_what_is_looked_for_in_all_splits_it_is_told_whose_are_selected(runs):
    told = called(search_told).session_state["told"]
    assert told == ["Other pages select the test matches. Choose a split to change this.", "", ""]


@pytest.mark.parametrize("left", [{}, {state.PART: "test"}, {state.FIND: "x", state.PART: "train"}])
def test_what_a_run_has_not_answered_is_not_selected_and_what_was_looked_for_before_no_longer(runs, left):
    given = {"name": "", state.SELECT: "text~before", state.SELECTOR: state.FIND}
    assert called(search, **given, **left).session_state[state.SELECT] == ""
    assert called(search, **given | left | {"name": "other", state.FIND: "x"}).session_state[state.SELECT] == ""
    of_another = given | left | {state.SELECTOR: "fig-confusion"}
    assert called(search, **of_another).session_state[state.SELECT] == "text~before"


def test_the_bar_tells_how_much_of_it_is_right_beside_the_others(app, runs):
    table = read_table(RunStore(runs), "finished")
    has = (table.frame["true"] == table.classes[0]).to_numpy()
    here, others = (f"{100 * (1 - table.wrong[rows].mean()):.0f} %" for rows in (has, ~has))
    said = words(opened(app, "lambdas", run="finished", select=f"split=test;all;true={table.classes[0]}"))
    assert f"{here} right, the others {others}" in said


def test_of_what_is_selected_for_being_wrong_it_does_not_say_that_none_is_right(app, runs):
    frame = read_table(RunStore(runs), "finished").frame
    draw = store_picked(
        RunStore(runs), PickedRows(tuple(frame["key"][frame["wrong"]][:2]), "2 drawn from wrong", by_outcome=True)
    )
    for rules in ("wrong", "true=negative;predicted=positive", draw):
        assert "% right" not in words(opened(app, "lambdas", run="finished", select=f"split=test;{rules}"))
