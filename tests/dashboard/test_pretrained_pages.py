"""Every page on runs of a pretrained encoder: none has a line about them, so each is asked."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest
from pages import opened, text_of
from tiny_backbones import backbone

from core import api
from core.runs.store import RunStore
from dashboard import access

APP = Path(__file__).resolve().parents[2] / "dashboard" / "app.py"
pytestmark = pytest.mark.slow
SAID = {
    "overview": "Try to fool",
    "data": "reviews.csv",
    "models": "of reviews.csv, as in RUN",
    "train": "finished after",
    "sweeps": "No sweep has been planned here yet",
    "performance": "n = 16",
    "errors": "n = 16",
    "behave": "passes",
    "compare": "the same test sentences",
    "embeddings": "PCA, 2-D",
    "sentence": "Attention is not an explanation",
    "steps": "More ink is further from zero",
    "tokens": "RUN gives a text a label, and no tags to its words",
    "lambdas": "lambda",
}
"""By page: words that it shows with such a run, whose name stands for RUN."""


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory, table):
    """`tuned`, all of whose weights learned, with sigma, and `probe`, of which the head did."""
    root = tmp_path_factory.mktemp("pretrained")
    place = str(backbone(root / "backbones" / "bert", "bert"))
    common = {"data.split": "0.6/0.2/0.2", "training.threads": 1, "training.epochs": 2, "training.batch_size": 8}
    common |= {"model.backbone": place, "training.lr": 1e-3, "text.max_length": 12}
    sigma = {"model.attention.lexical": "add", "text.lexicon": "vader"}
    store = RunStore(root / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(tmp_path_factory.mktemp("cache")))
        api.train(str(table), "pretrained", {**common, **sigma}, name="tuned", store=store)
        api.train(str(table), "pretrained", {**common, "training.frozen": 3}, name="probe", store=store)
    return root


@pytest.fixture
def own(pretrained, tmp_path, monkeypatch):
    """A copy that a test may change, as the app's run directory."""
    shutil.copytree(pretrained / "runs", tmp_path / "runs")
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(access, "local", lambda: True)
    return pretrained


@pytest.mark.parametrize("page", SAID)
def test_it_is_shown_on_every_page(app, own, table, page):
    assert SAID[page].replace("RUN", "tuned") in text_of(opened(app, page, run="tuned", data=str(table)))


def test_these_are_all_pages_of_the_navigation():
    (pages,) = re.findall(r"^PAGES = (\(.*?^\))", APP.read_text(), re.DOTALL | re.MULTILINE)
    assert {file for file, _, _ in ast.literal_eval(pages)} == set(SAID)


@pytest.mark.parametrize("page", ["sentence", "behave", "steps", "performance"])
def test_where_its_backbone_is_gone_a_page_says_which_and_what_to_do(app, own, table, page, tmp_path):
    place, away = own / "backbones", tmp_path / "away"
    shutil.move(place, away)
    try:
        shown = text_of(opened(app, page, run="probe", data=str(table)))
    finally:
        shutil.move(away, place)
    if page == "performance":  # what was measured stands in the run
        assert "n = 16" in shown
        return
    assert "keeps no copy of the weights that it did not change" in shown
    assert "SHA-256" in shown and "put it back" in shown


def test_where_all_of_its_weights_changed_the_backbone_may_be_gone(app, own, tmp_path):
    place, away = own / "backbones", tmp_path / "away"
    shutil.move(place, away)
    try:
        assert SAID["sentence"] in text_of(opened(app, "sentence", run="tuned"))
    finally:
        shutil.move(away, place)
