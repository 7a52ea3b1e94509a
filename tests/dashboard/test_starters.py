"""A new checkout shows every page and figure of each starter run without changing the files."""

from pathlib import Path
from typing import Any

import pages
import pytest
from pages import words

from core import api
from core.models.capabilities import list_capabilities
from core.models.trace import Intervention
from core.runs.load import load_run
from core.runs.store import RunStore
from core.text.special_ids import UNKNOWN
from dashboard.figures.behavioral_tests import STARTERS_APART
from dashboard.figures.registry import FIGURES
from dashboard.figures.results import SENTENCE, choose_default_run, choose_default_text
from dashboard.reader import Reader

pytestmark = pytest.mark.slow

TRAINED = Path(__file__).resolve().parents[2] / "trained"
STARTERS = sorted(path.parent.name for path in TRAINED.glob("starter-*/run.json"))
SAID = {
    "runs": "inceptive-16",
    "data": ">Baselines</h2>",
    "train": "finished after",
    "performance": "3\u202f202 are wrong",
    "errors": " wrong",
    "embeddings": "PCA, 2-D",
    "sentence": ">Attention</h2>",
    "steps": "Stronger colour = larger",
    "attention": "Reads up to 500 texts",
}
OF_SOME = {
    *("token-lambda", "gates", "polarity", "sigma", "support"),
    *("branches", "numbers"),
    *("tag-errors", "tag-types", "tag-sentences", "tag-chances", "tag-typed"),
}
HAS = {
    "sentiformer": {"numbers", "gates"},  # a window covers a short sentence: no support to draw
    "tweet-v1-p2": {"numbers"},
    "lexical-last": {"polarity", "sigma", "numbers"},
    "inceptive-16": {"branches"},
}
"""Figures of parts that only some models have."""
OF_LAMBDA = {"lambda-bench", "course", "course-value", "coefficients", "final-values"}


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".data" not in path.parts)
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


@pytest.fixture(autouse=True)
def starters(tmp_path, monkeypatch):
    """The starter runs next to an empty run folder."""
    monkeypatch.delenv("SENTISCOPE_STARTERS")
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "own"))
    before = state_of(TRAINED)
    yield
    assert state_of(TRAINED) == before


def opened(app, page: str, **link: str) -> str:
    """All words on the page of this link."""
    shown = words(pages.opened(app, page, **link))
    assert "This page cannot continue" not in shown
    return shown


def test_default_run_has_lambda_and_knows_all_words_of_the_default_sentence():
    first = choose_default_run(RunStore(TRAINED).list())
    assert first is not None and "lambda" in list_capabilities(first.config.model)
    text = choose_default_text(first, Reader().read_demos(first))
    words = load_run(RunStore(TRAINED), first.run).tokenizer.encode(text)
    assert UNKNOWN not in words.ids and words.truncated == 0
    assert f"`{text}`" in (TRAINED.parent / "README.md").read_text()


def test_default_sentence_is_predicted_correctly_and_each_lever_changes_it():
    first = choose_default_run(RunStore(TRAINED).list())
    assert first.run == "starter-ndt-01-n3"
    loaded = load_run(RunStore(TRAINED), first.run)

    def positive(**inside: Any) -> float:
        return loaded.inspect(SENTENCE, Intervention(**inside)).probabilities["positive"]

    assert positive() > 0.7
    model = first.config.model
    moved = [positive(lambdas=((layer, 1, value),)) for layer in range(model.layers) for value in (0.0, 1.0)]
    assert max(moved) - min(moved) > 0.05
    heads = [(layer, head) for layer in range(model.layers) for head in range(model.attention.heads)]
    assert min(positive(heads_off=frozenset({each})) for each in heads) < 0.5  # the prediction changes


@pytest.mark.parametrize("name", STARTERS)
def test_shipped_demo_sentences_are_decided_by_their_part(name):
    loaded, demos = load_run(RunStore(TRAINED), name), Reader().read_demos(RunStore(TRAINED).read(name)) or ()
    for row in demos:
        change = loaded.parse_edits(row["text"], row["edit"]).to_intervention()
        before, after = loaded.inspect(row["text"]), loaded.inspect(row["text"], change)
        assert (before.label, after.label) == (row["answer"], row["after"]) and row["answer"] != row["after"]
        assert before.probabilities[row["answer"]] == pytest.approx(row["probability"], abs=1e-3)


VISITS = [(page, run) for page in SAID for run in STARTERS if page == "sentence" or run == STARTERS[0]]
"""Other pages of one starter only: what they read is held for each in `tests/contracts`."""


@pytest.mark.parametrize(("page", "run"), VISITS)
def test_all_pages_show_all_starter_runs(app, page, run):
    words = opened(app, page, run=run, view="run", more="all")
    name = run.removeprefix("starter-")
    assert SAID[page] in words and (name in words or page in ("runs", "data"))


@pytest.mark.parametrize("method", ["t-SNE", "UMAP"])
def test_starter_run_includes_its_maps(app, method):
    words = opened(app, "embeddings", run=STARTERS[0], method=method, split="test")
    assert f"{method}, 2-D" in words and "There is no" not in words


def test_starter_run_can_run_the_behavioral_tests(app):
    words = opened(app, "behave", run="starter-vanilla")
    assert "vanilla passes" in words and "cannot be tested" not in words
    assert STARTERS_APART in words


def test_starter_runs_of_each_kind_have_the_figures_of_their_parts(tmp_path, monkeypatch):
    of_parts = {name: each for name, each in FIGURES.items() if name in OF_SOME | OF_LAMBDA}
    monkeypatch.setattr("dashboard.export.FIGURES", of_parts)
    for name in ("ndt-01-n3", *HAS):
        left_out = set(api.figures(f"starter-{name}", tmp_path / name, text="not bad at all")["left_out"])
        plain = RunStore(TRAINED).read(f"starter-{name}").config.model.attention.components == 1
        assert OF_SOME - left_out == HAS.get(name, set())
        assert left_out - OF_SOME == (OF_LAMBDA if plain else set())


def test_every_figure_is_drawn_or_its_absence_explained(tmp_path):
    found = api.figures("starter-ndt-01-n3", tmp_path, text="not bad at all", against=["starter-vanilla"], csv=True)
    drawn = {each["name"] for each in found["files"]}
    assert drawn | found["left_out"].keys() == FIGURES.keys() and {"confusion", "compare-pairs", "steps"} <= drawn
