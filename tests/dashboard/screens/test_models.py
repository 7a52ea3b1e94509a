"""The page Models: search, details, comparison, training."""

from functools import partial

import pages
import pytest
from pages import press, words
from tiny_backbones import classifier

from core.api.models import ClassifierOpening
from core.models.presets import PRESETS
from core.runs.store import RunStore
from dashboard import state
from dashboard.figures.model_plan import ALL

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(app, runs):
    """opened(**parameters) → the page as a link shows it, with all its parts open."""
    return partial(pages.opened, app, "models", more="all")


def table(app, start: str):
    return next(frame.value for frame in app.dataframe if frame.proto.alt.startswith(start))


def test_link_restores_paper_model_and_comparison(opened):
    app = opened(paper="SentiFormer", model="sentiformer-full", against="vanilla", sizes="usual")
    assert table(app, "All models")["model"].tolist() == [n for n in PRESETS if n.startswith("sentiformer")]
    assert "every token sees every other" in words(app) and "30\u202f000 tokens" in words(app)
    compared = table(app, "Settings in which sentiformer-full and vanilla differ")
    assert "model.attention.gate" in compared["setting"].tolist()


def test_comparison_follows_the_model_to_its_most_similar_preset(opened):
    app = opened(model="sentiformer-no-gate")
    assert app.selectbox(key=state.AGAINST).value == "sentiformer"
    app.selectbox(key=state.PRESET).set_value("lexical-last").run()
    assert app.selectbox(key=state.AGAINST).value == "lexical-all"


def test_sizes_are_those_of_the_chosen_run_or_the_default(opened):
    app = opened(run="finished", model="vanilla")
    own = table(app, "All models").set_index("model").loc["vanilla", "parameters"]
    assert "Suggested experiments" not in words(app)
    app.button_group(key=state.SIZES).set_value("usual").run()
    assert table(app, "All models").set_index("model").loc["vanilla", "parameters"] > own


def test_run_of_the_model_is_linked(opened):
    app = press(opened(model="ndt-01-n3"), "run-finished")
    assert app.session_state[state.RUN] == "finished" and "16 are wrong:" in words(app)


def test_deviations_from_the_paper_are_listed_if_there_are_any(opened):
    app = opened(model="tweet-v8-p2")
    assert "Differences from the paper" in words(app)
    rows = table(app, "Differences of tweet-v8-p2 from its paper").set_index("what")
    assert rows.loc["feed-forward width", ["here", "instead"]].tolist() == ["model.ff_width=192", "model.ff_width=288"]
    app.selectbox(key=state.PAPER).set_value("Baselines").run()
    app.selectbox(key=state.PRESET).set_value("tfidf-svm").run()
    assert "Differences from the paper" not in words(app)


def test_backbones_of_a_paper_show_missing_files_but_no_server_folder(opened, tmp_path, monkeypatch):
    folder = tmp_path / "own" / "distilbert" / "distilbert-base-uncased"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "distilbert"}')
    monkeypatch.setenv("SENTISCOPE_BACKBONES", str(tmp_path / "own"))
    shown = table(opened(paper="SentiFormer"), "Pretrained encoders").set_index("recipe")
    assert shown["state"].to_dict() == {"sentiformer-distilbert": "lacks config.json", "sentiformer-bert": "not here"}
    assert shown.loc["sentiformer-bert", "get"].startswith("hf download google-bert/bert-base-uncased config.json")
    assert not shown.map(lambda cell: str(tmp_path) in cell).to_numpy().any()
    app = opened()
    app.selectbox(key=state.PAPER).set_value(ALL).run()
    assert len(table(app, "Pretrained encoders")) == 15


def test_a_classifier_is_opened_from_a_folder_that_the_visitor_may_read(opened, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("dashboard.access.is_local", lambda: False)
    monkeypatch.setattr(ClassifierOpening, "start", ClassifierOpening.compute)  # in this process
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path / "shared"))
    app, folder = opened(), classifier(tmp_path / "shared" / "tiny", labels=2)
    classifier(tmp_path / "private")
    for name in ("private", "gone"):
        app.text_input(key=state.CLASSIFIER).set_value(str(tmp_path / name)).run()
        assert "This classifier cannot be opened" in words(app) and "no file that may be opened" in words(app)
        assert not [button for button in app.button if button.key == "open-classifier"]
    film = tmp_path / "shared" / "films.csv"
    film.write_text("text,label\n" + "good film,LABEL_1\nawful film,-1\n" * 3)
    app.session_state["classifier-data"] = str(film)
    app.text_input(key=state.CLASSIFIER).set_value(str(folder)).run()
    assert app.button(key="open-classifier").disabled and "First choose a class for &#x27;-1&#x27;" in words(app)
    film.write_text("text,label\n" + "good film,LABEL_1\nawful film,label_0\n" * 3)
    assert not app.run().button(key="open-classifier").disabled
    app.text_input(key=state.OPENED_NAME).set_value("starter-x").run()
    assert "are reserved for runs that come with" in words(app)
    app.text_input(key=state.OPENED_NAME).set_value("Guest").run()
    assert "Guest is opened" in words(press(app, "open-classifier"))
    assert RunStore(runs).read("Guest").results["metrics"]["test"]["accuracy"] in (0, 0.5, 1)
    press(app, "errors-opened")
    assert app.session_state[state.RUN] == "Guest"
