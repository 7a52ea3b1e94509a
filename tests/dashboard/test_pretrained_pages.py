"""Pages with runs of a pretrained encoder; no page has special code for them."""

import shutil

import pytest
from pages import opened, text_of
from tiny_backbones import backbone
from trained_runs import train_runs

from dashboard import access

pytestmark = pytest.mark.slow
SAID = {
    "models": "of reviews.csv, as in tuned",
    "train": "finished after",
    "performance": "n = 16",
    "embeddings": "PCA, 2-D",
    "sentence": ">Attention</h2>",
    "steps": "Darker = larger",
}
"""By page: words that it shows with such a run."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory, table):
    """`tuned`, with all weights trained and sigma, and `probe`, with only the head trained."""
    root = tmp_path_factory.mktemp("pretrained")
    place = str(backbone(root / "backbones" / "bert", "bert"))
    common = {"data.split": "0.6/0.2/0.2", "training.threads": 1, "training.epochs": 2, "training.batch_size": 8}
    common |= {"model.backbone": place, "training.lr": 1e-3, "text.max_length": 12}
    own = {"tuned": {"model.attention.lexical": "add", "text.lexicon": "vader"}, "probe": {"training.frozen": 3}}
    return train_runs(root, **{name: (table, "pretrained", common | more) for name, more in own.items()}).folder


@pytest.fixture(autouse=True)
def _at_this_machine(monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: True)


@pytest.mark.parametrize("page", SAID)
def test_pretrained_run_is_shown_on_each_page(app, runs, table, page):
    assert SAID[page] in text_of(opened(app, page, run="tuned", data=str(table), view="run"))


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
