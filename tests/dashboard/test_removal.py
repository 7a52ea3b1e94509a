"""Deleting a run on a page: it asks for confirmation and explains refusals."""

import shutil
from pathlib import Path

import pytest
from pages import opened, press, words

from core.config import compose
from core.runs.store import RunStore, get_own_process
from dashboard import state

pytestmark = pytest.mark.slow


@pytest.fixture
def chosen(app, runs):
    """chosen(run): the page Runs with the row of this run selected."""

    def choose(run: str):
        data = Path(RunStore(runs).read(run).config.data.name).name
        app.session_state[state.get_figure_key(f"{state.ROWS}-{data}")] = {"picked": run}
        return opened(app, "runs", run=run)

    return choose


def test_run_is_removed_after_confirmation_and_no_page_shows_it(chosen, runs):
    app = chosen("baseline")
    assert "Delete “baseline”?" in words(press(app, "remove-baseline")) and (runs / "baseline").is_dir()
    press(app, "remove-no")
    assert (runs / "baseline").is_dir()
    press(app, "remove-baseline")
    press(app, "remove-yes")
    assert not (runs / "baseline").exists()
    assert "“baseline” is deleted" in words(app) and app.session_state[state.RUN] == "finished"
    assert (runs / "finished" / "run.json").is_file()


def test_damaged_run_can_be_deleted_next_to_its_message(app, runs):
    press(opened(app, "performance", run="damaged"), "remove-damaged")
    press(app, "remove-yes")
    assert not (runs / "damaged").exists()


def test_damaged_starter_cannot_be_deleted_and_has_advice(app, runs, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(runs / "starters"))
    shutil.copytree(runs / "damaged", runs / "starters" / "starter-vanilla")
    opened(app, "performance", run="starter-vanilla")
    assert "Run “starter-vanilla” is damaged" in words(app) and "reinstall Sentiscope" in words(app)
    assert "delete" not in words(app) and "remove-starter-vanilla" not in [button.key for button in app.button]


def test_running_training_cannot_be_deleted_and_has_advice(chosen, runs):
    store = RunStore(runs)
    store.create(compose("vanilla"), "vanilla", "live")
    store.update("live", status="running", process=get_own_process())
    app = chosen("live")
    assert "This run cannot be deleted" in words(press(app, "remove-live")) and "cancel it first" in words(app)
    assert "remove-yes" not in [button.key for button in app.button] and (runs / "live").is_dir()
