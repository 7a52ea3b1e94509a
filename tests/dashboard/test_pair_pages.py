"""A run on pairs on every page: both texts visible, two fields, one link."""

import json

import pytest
from pages import opened, text_of, words

from core.error_analysis.predictions_table import read_table
from core.runs.store import RunStore
from core.text.text_pairs import SIGN
from dashboard import access

pytestmark = pytest.mark.slow
PAGES = ("runs", "data", "train", "performance", "errors", "behave", "compare", "embeddings", "sentence", "steps")
FIRST = "the film was good"


@pytest.fixture
def trained(paired):
    return paired.folder


@pytest.mark.parametrize(("page", "run"), [*((page, "both") for page in PAGES), ("sentence", "counted")])
def test_all_pages_show_a_run_on_pairs(app, runs, monkeypatch, page, run):
    monkeypatch.setattr(access, "is_local", lambda: True)
    assert not opened(app, page, run=run, data=RunStore(runs).read(run).config.data.name).error


def test_missing_second_text_is_reported(app, runs):
    assert "This run reads two texts" in text_of(opened(app, "sentence", run="both", text=FIRST))


def test_errors_page_shows_both_texts_of_the_open_sentence(app, runs):
    opened(app, "errors", run="both")
    texts = read_table(RunStore(runs), "both", "test").frame["text"]
    parts = [json.loads(each.proto.json or "{}") for each in app.get("bidi_component")]
    shown = words(app) + json.dumps(parts, ensure_ascii=False)
    assert all(SIGN in text for text in texts) and any(text in shown for text in texts)
