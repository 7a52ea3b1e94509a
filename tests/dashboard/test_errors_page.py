"""The page Errors: the list of a selection, its filter, and messages for empty lists."""

from functools import partial

import numpy as np
import pages
import pandas as pd
import pytest
from answering import answering, right_where, texts
from pages import drawn, press, words
from streamlit.testing.v1 import AppTest
from trained_runs import write_films

from core import api
from core.api.public_classes import Run
from core.error_analysis.predictions_table import read_table
from core.error_analysis.selection import read_picked
from core.runs.store import RunStore
from dashboard import state
from dashboard.data import data

pytestmark = pytest.mark.slow


@pytest.fixture
def page(app, runs):
    """page(**parameters): as a link shows it."""
    return partial(pages.opened, app, "errors", run="finished", more="all")


def whole(app):
    """The page once all tags have been found."""
    return pages.rerun_while(app, lambda: "Finding tags" in words(app))


def test_tags_words_slices_and_columns_are_below_the_reader(page, runs):
    app = whole(page(run="finished", split="validation"))
    for title in ("Error rate by tag", "Over-represented words", "Weak slices", "Distinguishing features"):
        assert f">{title}</h2>" in words(app)
    assert drawn(app, "marks")[0]["table"][1]["aria-label"] == "Tags and column values with their error risk"
    assert "No property or pair" in words(app)  # too few sentences: no rows, so no table
    (said,) = drawn(app, "filter")
    assert "tag" in [word["name"] for word in said["words"]]


def forget(*names: str) -> None:
    """Clear the caches of these readings."""
    for name in data.memo.caches.keys() & set(names):
        data.memo.caches[name].clear()


def test_failed_tag_search_shows_the_list_and_the_next_visit_tries_again(page, monkeypatch):
    whole(page(split="validation"))
    forget("read_tagged_rows")
    with monkeypatch.context() as patch:
        patch.setattr("core.error_analysis.predictions_table.Phrases", lambda texts: 1 / 0)
        app = whole(page(split="validation"))
        assert "There are no tags" in words(app) and "division by zero" in words(app)
        assert drawn(app, "reader")
    assert ">Error rate by tag</h2>" in words(whole(page(split="validation")))


def test_errors_are_listed_without_a_selection(page, runs):
    app = page(split="validation")
    frame = read_table(RunStore(runs), "finished", "validation").frame
    wrong = frame[frame["wrong"]].sort_values("p_predicted", ascending=False, kind="stable")
    (reader,) = drawn(app, "reader")
    assert [row["key"] for row in reader["rows"]] == wrong["key"].tolist()
    assert f"n = {len(frame)}</b> validation · {len(wrong)} error" in words(app)


def test_link_selects_rows_and_the_open_one_and_sets_the_filter(page, runs):
    frame = read_table(RunStore(runs), "finished").frame
    own = frame[(frame["true"] == "positive") & frame["text"].str.contains("film number")]
    app = page(select="all;true=positive;text~film number", at=own["key"].iat[3])
    (reader,), (said,) = drawn(app, "reader"), drawn(app, "filter")
    assert reader["at"] == own["key"].iat[3] and {row["key"] for row in reader["rows"]} == set(own["key"])
    assert [word["shown"] for word in said["words"]][:3] == ["right or wrong", "test", "positive"]
    assert said["contains"] == "film number"


def test_invalid_rule_is_reported_and_can_be_removed(page):
    app = page(select="sources=web")
    assert "This selection cannot be made here" in words(app) and "sources=web" in words(app)
    press(app, "select-wrong")
    assert drawn(app, "reader") and app.query_params.get(state.SELECT, [""]) == [""]


def test_user_texts_are_escaped(page, runs):
    rows = texts([0, 1]).assign(text=["<b>bold</b>", "<script>"])
    answering(RunStore(runs), "odd", [[0.1, 0.9], [0.9, 0.1]], rows)
    app = page(run="odd")
    assert "<b>bold" not in words(app) and drawn(app, "reader")[0]["rows"][0]["text"] == "<b>bold</b>"


def test_label_errors_and_dropout_uncertainty_are_computed_on_demand(page, monkeypatch):
    begun = []
    start = "core.runs.background_jobs.start_job"
    monkeypatch.setattr(start, lambda store, files, command, kind: begun.append(command[3:]))
    app = whole(page())
    assert "Likely label errors" in words(app)
    for key, option in (("look-for-labels", "--label-errors"), ("find-unsure", "--unsure")):
        press(app, key)
        assert begun.pop() == ["core.cli", "errors", "finished", "--split", "test", option]


def test_doubtful_labels_become_the_selection(app, tmp_path):
    frame = pd.read_csv(write_films(tmp_path / "films.csv", {"bad": ("dull",), "good": ("warm",)}, 60))
    frame.loc[::12, "label"] = frame.loc[::12, "label"].map({"bad": "good", "good": "bad"})
    strange = pd.DataFrame({"text": ["a strange one"] * 20, "label": ["bad", "good"] * 10})
    pd.concat([frame, strange]).to_csv(tmp_path / "films.csv", index=False)
    split = {"data.split": "0.6/0.2/0.2"}
    api.train(str(tmp_path / "films.csv"), "tfidf-logreg", split, name="films")
    likely = [row for row in Run("films").errors(label_errors=True)["label_errors"]["rows"] if row["likely"]]
    doubted = {split: {row["text"] for row in likely if row["split"] == split} for split in ("test", "train")}
    assert all(doubted.values())
    page = whole(pages.opened(app, "errors", run="films", more="all"))
    for place, split in enumerate(("test", "train")):
        button = next(each for each in page.button if each.key == f"select-doubted-{place}")
        assert button.label.startswith(f"Select the {len(doubted[split])} in {split}")
        button.click().run()
        assert "labels that are likely wrong" in words(page)
        page = whole(page)
    listed = next(each.value for each in page.dataframe if "Sentence" in each.value)
    assert set(listed["Sentence"]) == doubted["train"], "they are none of the split, and stand there all the same"
    next(each for each in page.button if each.label.endswith("in train with several labels")).click().run()
    listed = next(each.value for each in whole(page).dataframe if "Sentence" in each.value)
    assert "a strange one" in set(listed["Sentence"]) and "bad or good" in set(listed["Label"])


def test_tags_of_other_runs_are_shown_and_missing_ones_explained(app):
    """Two models can be shown next to the run, the better one first; a new seed appears after its training."""
    store, labels, rows = RunStore(), np.arange(60) % 2, texts(np.arange(60) % 2)
    answering(store, "one", right_where(np.arange(60) > 9, labels), rows)
    for name, width, errors, score in (("low", 48, 20, 0.6), ("high", 64, 5, 0.9)):
        found = {"metrics": {"test": {"accuracy": score, "f1_macro": score}}}
        answering(store, name, right_where(np.arange(60) >= errors, labels), rows, model__width=width, results=found)

    def tags():
        (word,) = (word for word in drawn(page, "filter")[0]["words"] if word["name"] == "tag")
        return {option["value"]: option["n"] for option in word["options"]}

    def picked(name):
        (picker,) = (each for each in page.selectbox if each.key == state.DISAGREE)
        assert picker.options == ["high", "low"]
        return whole(picker.set_value(name).run())

    select = "tag=models disagree with low"
    page = whole(pages.opened(app, "errors", run="one", more="all", select=select, disagree="high"))
    assert len(drawn(page, "reader")[0]["rows"]) == 10 and tags()["tag=models disagree with high"] == 0
    page = whole(pages.opened(app, "errors", run="one", more="all", select="all"))
    page = picked(None)
    assert not any(value.startswith("tag=models") for value in tags())
    assert "No tag “models disagree”: no model is chosen above" in words(page)
    assert "No tag “seeds disagree”: no other seed of this model" in words(page)
    page = picked("high")
    assert tags()["tag=models disagree with high"] == 5 and "No tag “models disagree”" not in words(page)
    page = picked("low")
    assert tags()["tag=models disagree with low"] == 10 and "tag=models disagree with high" not in tags()
    page = picked(None)
    assert "No tag “models disagree”: no model is chosen above" in words(page)
    answering(store, "seed", right_where(np.arange(60) > 12, labels), rows, training__seed=7)
    forget("_list_seeds")
    page = whole(page.run())
    assert tags()["tag=seeds disagree"] == 3 and "No tag “seeds disagree”" not in words(page)


def nearly() -> None:
    from dashboard.data import data
    from dashboard.screens.errors_reader import _select_nearly_wrong

    _select_nearly_wrong(data.select_tagged_rows(data.store().read("perfect"), "test", "wrong;true=good"))


def picked() -> None:
    from dashboard.data import data
    from dashboard.screens.errors_statistics import _select_slice

    _select_slice(data.select_tagged_rows(data.store().read("finished"), "test", "wrong"))


def test_picked_row_becomes_the_selection(runs):
    store, labels = RunStore(runs), np.arange(40) % 2
    answering(store, "perfect", right_where(np.ones(40, bool), labels), texts(labels))
    found = AppTest.from_function(nearly).run()
    assert (found.session_state[state.SELECT], found.session_state[state.ORDER]) == ("true=good", "margin")
    app = AppTest.from_function(picked)
    app.session_state["fig-error-slices"] = {"picked": "true=positive;text~film"}
    assert app.run().session_state[state.SELECT] == "wrong;true=positive;text~film"
    app.session_state["fig-error-slices"] = {"picked": ""}
    assert app.run().session_state[state.SELECT] == "wrong"


def doubted_row() -> None:
    from dashboard.data import data
    from dashboard.figures.figure import Source
    from dashboard.screens.errors_statistics import _select_row

    record = data.store().read("finished")
    source = Source(record, data, split="test")
    frame = data.read_table(record, "test").frame
    rows = [{"split": "test", "key": frame["key"].iat[2], "text": frame["text"].iat[2], "true": "positive"}]
    rows.append({"split": "train", "key": "0123456789ab", "text": "a training text", "true": "negative"})
    _select_row(source, rows)


def test_doubtful_row_is_selected_by_a_click_and_cleared_by_another(runs):
    key = read_table(RunStore(runs), "finished").frame["key"].iat[2]
    app = AppTest.from_function(doubted_row)
    for row, at, texts_of in ((0, key, ()), (1, None, ("a training text",))):
        app.session_state["fig-label-errors"] = {"selection": {"rows": [row]}}
        app.run()
        group = read_picked(RunStore(runs), app.session_state[state.SELECT].rpartition("ids:")[2])
        assert group.texts == texts_of and group.about.startswith("labels that are likely wrong")
        assert at is None or (group.keys == (at,) and app.session_state[state.AT] == at)
        assert app.session_state[state.SELECTOR] == "fig-label-errors"
    app.session_state["fig-label-errors"] = {"selection": {"rows": []}}
    assert app.run().session_state[state.SELECT] == ""
