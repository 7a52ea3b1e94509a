"""Pages with runs of other kinds: word tags, text pairs and a pretrained encoder; the last have no special code."""

import json
import re
import shutil

import pytest
from named_words import write_conll
from pages import opened, press, text_of, words
from tiny_backbones import backbone, classifier
from trained_runs import TINY, train_runs

from core import api
from core.error_analysis.predictions_table import read_table
from core.runs.store import RunStore
from core.text.text_pairs import SIGN
from dashboard import access, state
from dashboard.screens import PAGES

pytestmark = pytest.mark.slow  # trains three models first
OF_PAIRS = ("runs", "data", "train", "performance", "errors", "behave", "compare", "embeddings", "sentence", "steps")
SAID = {
    "models": "as in tuned on reviews.csv",
    "train": "finished after",
    "performance": "n = 16",
    "embeddings": "PCA, 2-D",
    "sentence": ">Attention</h2>",
    "steps": "Stronger colour = larger",
}
"""By page: words that it shows with a run of a pretrained encoder."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory, table, paired):
    """The runs on pairs, `names` (tags), and of an encoder `tuned` (all weights, sigma) and `probe` (only the head)."""
    root = tmp_path_factory.mktemp("special")
    shutil.copytree(paired.folder, root / "runs")
    tags = TINY | {"data.split": "", "text.min_freq": 2, "training.epochs": 3, "training.lr": 0.01}
    common = {"data.split": "0.6/0.2/0.2", "training.threads": 1, "training.epochs": 2, "training.batch_size": 8}
    common |= {"model.backbone": str(backbone(root / "backbones" / "bert", "bert"))}
    common |= {"training.lr": 1e-3, "text.max_length": 12}
    own = {"tuned": {"model.attention.lexical": "add", "text.lexicon": "vader"}, "probe": {"training.frozen": 3}}
    encoders = {name: (table, "pretrained", common | more) for name, more in own.items()}
    store = train_runs(root, names=(write_conll(root / "names.conll", 80), "vanilla", tags), **encoders)
    folder = classifier(root / "guest", labels=2, id2label={0: "negative", 1: "positive"})
    for name, data in (("opened", table), ("unread", "")):
        api.open_classifier(folder, data=data, name=name, store=store)
    return store.folder


@pytest.fixture(autouse=True)
def _at_this_machine(monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)


def test_tokens_page_shows_metrics_sentences_types_and_a_typed_sentence(runs, app):
    text = words(opened(app, "tokens", run="names", more="all"))
    for part in ("Span F1", "Sentences", "Per type", "Error types", "Tag probabilities"):
        assert part in text
    assert re.search(r"Span F1 <small>n = \d+ sentences", text)


@pytest.mark.parametrize("page", ["performance", "sentence"])
def test_pages_about_text_labels_explain_what_to_use_instead(runs, app, page):
    assert PAGES[page].of_texts in words(opened(app, page, run="names"))


@pytest.mark.parametrize("page", ["runs", "data", "train"])
def test_pages_without_predictions_show_the_run(runs, app, page, table):
    assert "gives each word a tag" not in words(opened(app, page, run="names", data=str(table), view="run"))


@pytest.mark.parametrize(("page", "run"), [*((page, "both") for page in OF_PAIRS), ("sentence", "counted")])
def test_all_pages_show_a_run_on_pairs(app, runs, page, run):
    assert not opened(app, page, run=run, data=RunStore(runs).read(run).config.data.name).error


def test_missing_second_text_is_reported_and_errors_show_both_texts(app, runs):
    assert "This run reads two texts" in text_of(opened(app, "sentence", run="both", text="the film was good"))
    opened(app, "errors", run="both")
    texts = read_table(RunStore(runs), "both", "test").frame["text"]
    parts = [json.loads(each.proto.json or "{}") for each in app.get("bidi_component")]
    shown = words(app) + json.dumps(parts, ensure_ascii=False)
    assert all(SIGN in text for text in texts) and any(text in shown for text in texts)


@pytest.mark.parametrize("page", SAID)
def test_pretrained_run_is_shown_on_each_page(app, runs, table, page):
    assert SAID[page] in text_of(opened(app, page, run="tuned", data=str(table), view="run"))


@pytest.mark.parametrize("page", [*OF_PAIRS, "attention", "models"])
def test_each_page_shows_an_opened_classifier(app, runs, page):
    shown = text_of(opened(app, page, run="opened", view="run", text="good film, not bad", more="all"))
    expected = {**SAID, "performance": "n = 80", "models": "Open a classifier", "train": ""}
    assert expected.get(page, "") in shown and "This page cannot continue" not in shown


@pytest.mark.parametrize("page", ["sentence", "steps", "behave", "performance", "errors", "embeddings"])
def test_without_data_an_opened_classifier_reads_sentences(app, runs, page, monkeypatch):
    monkeypatch.setattr("dashboard.access.is_local", lambda: True)
    shown = opened(app, page, run="unread", text="good film, not bad", more="all")
    assert ("This run has not been evaluated" in words(shown)) == (page in ("performance", "errors", "embeddings"))
    if page == "errors":
        press(shown, "empty-action")
        assert shown.text_input(key=state.CLASSIFIER).value == RunStore(runs).read("unread").config.model.backbone
    assert ("or measure it once below" in words(shown)) == (page == "performance")


@pytest.mark.parametrize(
    ("page", "run", "said"),
    [
        ("sentence", "probe", ("stores no copy of the weights that it did not change", "SHA-256", "put it back")),
        ("performance", "probe", (SAID["performance"],)),  # the run stores its measurements
        ("sentence", "tuned", (SAID["sentence"],)),  # training changed all weights
    ],
)
def test_missing_backbone_is_named_with_advice(app, runs, trained, table, page, run, said):
    place, away = trained.with_name("backbones"), trained.with_name("away")
    shutil.move(place, away)
    try:
        shown = text_of(opened(app, page, run=run, data=str(table)))
    finally:
        shutil.move(away, place)
    assert all(each in shown for each in said)
