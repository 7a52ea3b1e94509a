"""*Evaluate on other data* on Performance: match labels, measure in a process, show warnings."""

import dataclasses
import json

import pages
import pandas as pd
import pytest
from pages import press
from typer.testing import CliRunner

from core import api, cli
from core.api.evaluation import Evaluation
from core.exceptions import InputError
from core.runs import background_jobs
from core.runs.evaluation_data import DataRequest, list_labels
from core.runs.store import RunStore
from dashboard import access, state
from dashboard.figures import metrics
from dashboard.figures.theme import LIGHT, Look


@pytest.fixture
def other(tmp_path):
    """A labelled file with other label names."""
    rows = [("good film", "Positive", "a"), ("dull film", "neg", "b"), ("flat", "neg", "a"), ("so", "-1", "b")] * 10
    pd.DataFrame(rows, columns=["text", "label", "source"]).to_csv(tmp_path / "other.csv", index=False)
    return tmp_path / "other.csv"


@pytest.fixture
def at_once(monkeypatch):
    """Run requested measurements at once in this process; returns the requests."""
    asked = []

    def measure(asking):
        asked.append(asking)
        asking.compute()

    monkeypatch.setattr(Evaluation, "start", measure)
    monkeypatch.setattr(access, "is_local", lambda: True)
    return asked


def test_labels_have_suggested_classes_and_are_renamed_as_in_training(runs, other):
    found = list_labels(RunStore(runs).read("finished"), DataRequest(str(other)))
    assert (found.split, found.rows) == ("all", 40) and found.columns == ["label", "source"]
    assert found.labels == {"-1": 10, "neg": 20, "Positive": 10}
    assert found.meant == {"-1": None, "neg": "negative", "Positive": "positive"}
    record = RunStore(runs).read("finished")
    renamed = dataclasses.replace(record.config.data, rename="neg=negative,-1=")
    record = dataclasses.replace(record, config=dataclasses.replace(record.config, data=renamed))
    assert list_labels(record, DataRequest(str(other))).meant == {"-1": "", "neg": "negative", "Positive": "positive"}
    assert list_labels(record, DataRequest(str(other), rename={"-1": "negative"})).meant["-1"] == "negative"


@pytest.mark.slow
def test_run_is_evaluated_on_a_file_by_path(app, runs, other, at_once):
    frame = pd.read_csv(other, dtype=str)
    frame[frame["label"] != "-1"].to_csv(other, index=False)
    app.session_state["elsewhere-data"] = str(other)
    pages.opened(app, "performance", run="finished", more="Other data")
    app.selectbox(key=f"elsewhere-by-{other}").set_value("source").run()
    press(app, "elsewhere-start")
    (asked,) = at_once
    assert (asked.run, asked.wanted.data, asked.by) == ("finished", str(other), "source")
    assert asked.wanted.rename == {"Positive": "positive", "neg": "negative"}
    shown = pages.words(app)
    for said in ("Metrics on these data", "Confusion on these data", "By source", "n = 30"):
        assert said in shown
    labels = {each.label.removesuffix(" · CSV") for each in app.get("download_button")}
    assert {"Metrics there", "Confusion there", "By value there"} <= labels


@pytest.mark.slow
def test_meaning_of_minus_one_must_be_confirmed_first(app, runs, other, at_once):
    app.session_state["elsewhere-data"] = str(other)
    pages.opened(app, "performance", run="finished", more="Other data")
    assert app.button(key="elsewhere-start").disabled
    assert "First choose a class for &#x27;-1&#x27;" in pages.words(app)


@pytest.mark.slow
def test_unreadable_data_are_reported(app, runs, tmp_path):
    app.session_state["elsewhere-data"] = str(tmp_path / "nowhere.csv")
    pages.opened(app, "performance", run="finished", more="Other data")
    assert "These data cannot be used" in pages.words(app)


@pytest.mark.slow
@pytest.mark.parametrize(("run", "there"), [("finished", False), ("baseline", True)])
def test_results_of_another_run_are_not_shown(app, runs, run, there):
    app.session_state[state.ELSEWHERE] = asked = Evaluation.from_request(RunStore(runs), "baseline", DataRequest())
    asked.compute()
    pages.opened(app, "performance", run=run, more="Other data")
    assert ("Metrics on these data" in pages.words(app)) == there


@pytest.mark.slow
def test_tables_have_the_measured_values(runs):
    found = api.evaluate("finished", by="label", store=RunStore(runs))
    table = metrics.build_metric_table(found).set_index("metric")
    assert table.loc["accuracy", "value"] == found["metrics"]["accuracy"]
    assert table.loc["f1_macro", "tfidf-logreg"] == found["yardsticks"]["tfidf-logreg"]["metrics"]["f1_macro"]
    assert metrics.build_value_table(found)["rows"].sum() == found["n"]
    counts = metrics.ELSEWHERE_CONFUSION.build_tables(found)["Confusion there"]
    assert counts["predicted negative"].tolist() == [row[0] for row in found["confusion"]]
    look = Look(LIGHT)
    for figure in (metrics.ELSEWHERE_METRICS, metrics.ELSEWHERE_CONFUSION, metrics.ELSEWHERE_VALUES):
        assert figure.draw(found, look) is not None and figure.build_tables(found)


@pytest.mark.slow
def test_typed_command_gives_the_result_that_the_page_finds(runs, other):
    wanted = DataRequest(str(other), "all", {"neg": "negative", "-1": ""}, 15, {"data.text": "text"})
    asked = Evaluation.from_request(RunStore(runs), "finished", wanted, "source", against="baseline")
    assert asked.words[1:] == (
        *("finished", "--data", str(other), "--split", "all", "--limit", "15", "--set", "data.text=text"),
        *("--map", "neg=negative", "--map", "-1=", "--by", "source", "--against", "baseline"),
    )
    assert asked.read() is None
    said = json.loads(CliRunner().invoke(cli.app, [*asked.words, "--json"]).stdout)
    found = asked.read()
    assert found == said and found["n"] == 15 and found["dropped"] == {"-1": 10}
    half = Evaluation.from_request(RunStore(runs), "finished", DataRequest(str(other), rename={"neg": "negative"}))
    assert half.read() is None
    with pytest.raises(InputError, match=r"'-1' \(10 rows\)"):
        half.compute()
    assert background_jobs.read_job(half).status == "failed" and "'-1'" in background_jobs.read_job(half).what
