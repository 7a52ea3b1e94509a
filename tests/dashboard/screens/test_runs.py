"""The page Runs: every state of its tables, the order in the link, the link to Compare."""

import json

import pytest
from finished import copied
from pages import opened, press, words

from dashboard import state

pytestmark = pytest.mark.slow


def tables(app) -> dict[str, list[str]]:
    """By label of a table of marks, the names in its rows."""
    found = {}
    for component in app.get("bidi_component"):
        if component.proto.component_name.endswith("sentiscope_marks"):
            _, attributes, _, _, (_, _, *rows) = json.loads(component.proto.json)["table"]
            found[attributes["aria-label"]] = [row[1]["data-id"] for row in rows if "data-id" in row[1]]
    return found


def test_models_of_a_data_set_are_listed_together_best_first(app, runs):
    copied(runs, "worse", config__training__lr=1e-3, results__metrics__test__accuracy=0.1)
    copied(runs, "elsewhere", config__data__name="my__reviews.csv")
    shown = tables(opened(app, "runs"))
    assert set(shown["Models on reviews.csv, best first"]) == {"finished", "baseline", "worse"}
    assert shown["Models on reviews.csv, best first"][-1] == "worse"
    assert shown["Models on my__reviews.csv, best first"] == ["elsewhere"]
    assert "Run “damaged” is damaged" in words(app)


def test_order_is_in_the_link(app, runs):
    reached = {"results__metrics__test__accuracy": 0.1, "results__metrics__test__loss": 0.0}
    copied(runs, "surer", config__training__lr=1e-3, **reached)
    opened(app, "runs", metric="Loss")
    (rows,) = tables(app).values()
    assert rows[0] == "surer" and app.selectbox(key=state.METRIC).value == "Loss"


def test_unfinished_runs_show_their_status_and_cannot_be_ticked(app, runs):
    copied(runs, "broken", status="failed", reason="out of memory", results={})
    opened(app, "runs")
    drawn = next(each.proto.json for each in app.get("bidi_component") if "out of memory" in each.proto.json)
    assert "failed" in drawn and '"aria-label": "compare finished"' in drawn and "compare broken" not in drawn


def test_two_ticked_models_can_be_compared(app, runs):
    opened(app, "runs")
    assert app.button(key="compare-reviews.csv").label == "Compare all 2"
    app.session_state[state.get_figure_key(f"{state.ROWS}-reviews.csv")] = {"ticked": ["finished", "baseline"]}
    app.run()
    assert app.button(key="compare-reviews.csv").label == "Compare 2 selected"
    assert set(press(app, "compare-reviews.csv").session_state[state.COMPARE]) == {"finished", "baseline"}


@pytest.mark.parametrize("lost", ["evaluation/test/predictions.parquet", "evaluation/test/metrics.json"])
def test_missing_file_removes_the_curves_but_not_the_page(app, runs, lost):
    (runs / "finished" / lost).unlink()
    assert ("could not be tested" in words(opened(app, "runs"))) == lost.endswith("parquet")


def test_beside_own_data_the_built_in_corpus_is_cut_and_unfolds(app, runs, monkeypatch):
    for place in range(5):
        given = {"config__training__lr": (place + 1) / 1000, "results__metrics__test__accuracy": 0.9 - place / 10}
        copied(runs, f"c{place}", config__data__name="built-in", **given)
    starters = runs.parent / "starters"
    starters.mkdir()
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(starters))
    for place in range(5):
        (runs / f"c{place}").rename(starters / f"starter-c{place}")
    shown = tables(opened(app, "runs"))
    assert list(shown) == ["Models on reviews.csv, best first", "Models on built-in, best first"]
    cut = [f"starter-c{place}" for place in range(3)]
    assert shown["Models on built-in, best first"] == cut and "2 more, 0.500 to 0.600" in words(app)
    assert "<h2>reviews.csv: " in words(app) and "8</b> runs" in words(app)
    assert len(tables(press(app, "runs-unfold"))["Models on built-in, best first"]) == 5
