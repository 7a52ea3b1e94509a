"""Long computations on Sentence: a message, a stop button that keeps the prediction, and resuming."""

import pytest
from pages import drawn, press, sentence
from pages import words as markup
from waiting import until

from core.interpret.model_edits import UNCHANGED
from dashboard.data import data

TEXT = "slow and dull, but a good film"
ABOUT = ("finished", TEXT, "positive", UNCHANGED)
BENCH = (("pushed", *ABOUT), ("parts", *ABOUT), ("lambdas", *ABOUT))


def hold(monkeypatch, name: str, *told) -> None:
    """Make that computation report the same progress for ever."""

    def held(*about, tell):
        while True:
            tell(*told)

    monkeypatch.setattr(data, name, held)


@pytest.mark.slow
def test_long_text_shows_progress_and_can_be_stopped_with_its_prediction_visible(app, runs, monkeypatch):
    monkeypatch.setattr("dashboard.screens.sentence_bench.SHORT", 0)
    monkeypatch.setattr("dashboard.widgets.progress.PATIENCE", 0.2)
    with monkeypatch.context() as slow:
        hold(slow, "parts", "parts", 0.25)
        sentence(app, text=TEXT)
        known = data.request_all(*BENCH).known
        until(lambda: known.what == "parts")
        app.run()
        assert known.running and known.share == 0.25
        assert "Switching off one part at a time" in markup(app) and 'aria-valuenow="25"' in markup(app)
        press(app, "bench-stop")
        known._thread.join(5)
        assert not known.running and not known.whole
    app.run()
    assert "Some effects are missing" in markup(app) and 'class="s-bar' in markup(app)
    assert "What would change the prediction" not in markup(app)
    monkeypatch.setattr("dashboard.widgets.progress.PATIENCE", 60.0)
    press(app, "bench-on")
    assert known.whole and "What would change the prediction" in markup(app) and len(drawn(app, "words")) == 1
