"""A run on pairs on every page: both texts in sight, two fields to type them in, one link for both."""

import json

import pytest
from pages import opened, words
from pairs import pair_folder

from core import api
from core.failures.table import read_table
from core.runs.store import RunStore
from core.text.pair import SIGN
from dashboard import access

pytestmark = pytest.mark.slow
PAGES = ("overview", "data", "train", "performance", "errors", "behave", "compare", "embeddings", "sentence", "steps")
FIRST, SECOND = "the film was good", "the meal was <b>bad</b>"
TINY = {"model.width": 8, "model.ff_width": 8, "training.epochs": 1, "training.threads": 1, "text.min_freq": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return pair_folder(tmp_path_factory.mktemp("data") / "alike", 80, 30)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, folder):
    """`both`, a transformer, and `counted`, TF-IDF."""
    store = RunStore(tmp_path_factory.mktemp("runs"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        api.train(str(folder), "ndt-01-n2", TINY, name="both", store=store)
        api.train(str(folder), "tfidf-logreg", {"text.min_freq": 1}, name="counted", store=store)
    return store.folder


@pytest.mark.parametrize(("page", "run"), [*((page, "both") for page in PAGES), ("sentence", "counted")])
def test_every_page_shows_a_run_on_pairs(app, runs, folder, monkeypatch, page, run):
    monkeypatch.setattr(access, "local", lambda: True)
    opened(app, page, run=run, data=str(folder))
    assert not app.error


def test_a_missing_second_text_is_said(app, runs):
    opened(app, "sentence", run="both", text=FIRST)
    assert "This run reads two texts" in words(app) + " ".join(str(each.value) for each in app.markdown)


def test_errors_show_both_texts_of_the_sentence_that_is_read(app, runs):
    opened(app, "errors", run="both")
    texts = read_table(RunStore(runs), "both", "test").frame["text"]
    parts = [json.loads(each.proto.json or "{}") for each in app.get("bidi_component")]
    shown = words(app) + json.dumps(parts, ensure_ascii=False)
    assert all(SIGN in text for text in texts)
    assert [text for text in texts if text in shown]
