"""Likely label errors, and differences between a split and training."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pages
import pytest
from answering import answering, texts
from pages import drawn, words
from refused import check_raises

from core.api.error_analysis import make_verb
from core.error_analysis.analyses.shift import DatasetShift
from core.error_analysis.label_errors import LabelErrors
from core.error_analysis.split_analysis import SplitAnalysis
from core.exceptions import NotAvailable
from core.runs.background_jobs import Offer
from core.runs.store import RunStore
from dashboard.data import data
from dashboard.figures import data_quality, registry
from dashboard.figures.data_quality import DOUBTED, SHIFT, SHIFT_WORDS, SplitShift, build_shift_table, build_words_table
from dashboard.figures.figure import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader

FIELDS = ("split", "row", "key", "text", "likely", "true", "likelier", "p_true", "p_likelier", "margin")
ROWS = [
    ("train", 3, "a", "=one", True, "bad", "good", 0.1, 0.9, -0.8),
    ("test", 1, "b", "two", False, "good", "bad", 0.4, 0.6, -0.2),
]
FOUND = {
    "rows": [dict(zip(FIELDS, each, strict=True)) for each in ROWS],
    "likely": {"train": 1, "test": 0},
    "n": {"train": 1200, "test": 40},
    "left_out": "",
    "conflicts": [{"text": "both", "labels": {"bad": 2, "good": 1}, "rows": []}],
}


@pytest.fixture
def source(tmp_path):
    store = RunStore(tmp_path / "runs")
    answering(store, "one", np.full((4, 2), 0.5), texts([0, 1, 0, 1]))
    return Source(store.read("one"), Reader(store))


def test_label_errors_are_listed_most_doubtful_first(source, tmp_path):
    check_raises(NotAvailable, "sentiscope errors one --label-errors", DOUBTED.read_data, source)
    here = LabelErrors.from_run(RunStore(tmp_path / "runs"), source.record, "test")
    here.folder.mkdir(parents=True)
    here.get_path("json").write_text("[1, 2")
    check_raises(NotAvailable, None, DOUBTED.read_data, source)
    here.get_path("json").write_text(json.dumps(FOUND))
    shown = DOUBTED.read_data(source)
    assert DOUBTED.note(shown) == "1 of 1\u202f200 in train, 0 of 40 in test"
    rows = DOUBTED.draw(shown, Look()).rows
    assert rows["text"].tolist() == ["=one", "two"] and rows["likely"].tolist() == ["yes", ""]
    numbers = DOUBTED.build_tables(shown)
    assert numbers["Two labels"]["labels"].tolist() == ["bad 2, good 1"]
    assert numbers["Label errors"]["margin"].tolist() == [-0.8, -0.2]


def row(name, log_odds):
    ends = {"log_odds": log_odds, "low": log_odds - 1, "high": log_odds + 1, "p_holm": 0.0001}
    return {"words": name, "split": 9, "training": 1, **ends}


def difference(training, other, p):
    ends = {"training": training, "other": other, "difference": other - training}
    return {**ends, "interval": [other - training - 0.1, other - training + 0.1], "p_holm": p}


SHIFT_FOUND = {
    "n": {"training": 48, "split": 16},
    "read": {"training": 48, "split": 16},
    "left_out": "",
    "auc": {"value": 0.71, "interval": [0.65, 0.77], "p": 0.0001},
    "measures": [
        {"name": "words", "about": "40", **difference(0.1, 0.3, 0.02)},
        {"name": "labels", "about": "<b>", **difference(0.5, 0.25, 0.02)},
    ],
    "words": [row("slow", 2.0), row("<i>good", 1.5), row("warm", -2.0)],
    "tried": 100,
}


@pytest.mark.parametrize(("low", "said"), [(0.51, "can separate"), (0.49, "cannot separate")])
def test_shift_sentence_follows_the_interval(low, said):
    found = SplitShift({**SHIFT_FOUND, "auc": {"value": 0.55, "interval": [low, 0.6], "p": 0.04}}, "test")
    assert f"{said} test from training: AUC 0.55 ({low:.2f} to 0.60)" in found.sentence


def test_shift_tables_have_all_numbers_and_words_of_the_split_first():
    shown = SplitShift(SHIFT_FOUND, "test")
    table = build_shift_table(shown)
    assert list(table["measure"]) == ["AUC of separating them", "unknown words", "share of <b>"]
    assert list(table["p"]) == [0.0001, 0.02, 0.02] and table["difference"].tolist()[1:] == [pytest.approx(0.2), -0.25]
    rows = SHIFT.draw(shown, Look()).rows
    assert rows["95 % interval"].tolist() == ["0.650 to 0.770", "+0.100 to +0.300", "−0.350 to −0.150"]
    assert rows["p"].tolist() == ["< 0.001", "0.020", "0.020"]
    marks = build_words_table(SplitShift(SHIFT_FOUND, "test")).marks
    assert [each.id for each in marks.rows] == ["slow", "<i>good", "warm"]
    assert [each.apart for each in marks.rows] == [False, False, True]
    assert SHIFT_WORDS.resolve_text(SHIFT_WORDS.note, SplitShift(SHIFT_FOUND, "test")) == "3 of 100 tried"
    none = SplitShift({**SHIFT_FOUND, "words": []}, "test")
    assert SHIFT_WORDS.resolve_text(SHIFT_WORDS.reading, none).startswith("No word or phrase")


@pytest.mark.slow
def test_errors_page_offers_the_analysis_and_shows_its_result(app, runs):
    store = RunStore(runs)
    assert data.find_tags(store.read("finished"), "test", 60.0)
    shown = pages.opened(app, "errors", run="finished", select="all;word=slow", more="all")
    assert [each for each in shown.button if each.key == "look-for-shift"]
    here = DatasetShift.from_run(store, store.read("finished"), "test").get_path("json")
    here.parent.mkdir(parents=True, exist_ok=True)
    here.write_text(json.dumps(SHIFT_FOUND))
    app.run()
    assert "A word classifier can separate test from training: AUC 0.71" in words(app)
    marks = next(each for each in drawn(app, "marks") if "test or training" in json.dumps(each))
    assert marks["picked"] == "slow" and not [each for each in app.button if each.key == "look-for-shift"]


@dataclass(frozen=True)
class Sizes(SplitAnalysis[dict[str, Any]]):
    """Count the words of each text."""

    name = "sizes"
    VERSION = 1
    offer = Offer("Count them", "Words of a text", "They could not be counted", "It takes a second.")

    def find(self, tell):
        return {"texts": 16, "rows": [{"words": 4, "n": 16}]}


@pytest.mark.slow
def test_analysis_class_alone_gives_verb_button_and_table(app, runs, monkeypatch):
    monkeypatch.setattr(registry, "ALL", (*registry.ALL, data_quality.make_analysis_figure(Sizes)))
    monkeypatch.setattr("core.error_analysis.analyses.load", lambda name: Sizes)
    store = RunStore(runs)
    assert data.find_tags(store.read("finished"), "test", 60.0)
    shown = pages.opened(app, "errors", run="finished", more="all")
    (button,) = [each for each in shown.button if each.key == "look-for-sizes"]
    assert button.label == "Count them" and ">Words of a text</h2>" in words(app)
    assert Sizes.from_run(store, store.read("finished"), "test").words == ("sizes", "finished", "--split", "test")
    assert make_verb("sizes")("finished", store=store)["rows"] == [{"words": 4, "n": 16}]
    app.run()
    assert "Count the words of each text." in words(app) and "texts 16" in words(app)
    assert not [each for each in app.button if each.key == "look-for-sizes"]
