"""Every page with a tagging run."""

import re

import pytest
from named_words import write_conll
from pages import opened, words
from trained_runs import TINY, train_runs

from dashboard import access
from dashboard.screens import PAGES

pytestmark = pytest.mark.slow  # trains a tagging model first


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run directory with `names`."""
    place = tmp_path_factory.mktemp("names")
    settings = TINY | {"data.split": "", "text.min_freq": 2, "training.epochs": 3, "training.lr": 0.01}
    return train_runs(place, names=(write_conll(place / "names.conll", 80), "vanilla", settings)).folder


def test_tokens_page_shows_metrics_sentences_types_and_a_typed_sentence(runs, app):
    text = words(opened(app, "tokens", run="names", more="all"))
    for part in ("Span F1", "Sentences", "Per type", "Error types", "Tag probabilities"):
        assert part in text
    assert re.search(r"Span F1 <small>n = \d+ sentences", text)


@pytest.mark.parametrize("page", ["performance", "sentence"])
def test_pages_about_text_labels_explain_what_to_use_instead(runs, app, page):
    assert PAGES[page].of_texts in words(opened(app, page, run="names"))


@pytest.mark.parametrize("page", ["runs", "data", "train"])
def test_pages_without_predictions_show_the_run(runs, app, page, table, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)
    assert "gives each word a tag" not in words(opened(app, page, run="names", data=str(table), view="run"))
