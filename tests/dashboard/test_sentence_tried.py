"""Sentence: undo, redo, earlier sentences, clearing; a long computation that is stopped and resumed."""

import pages
import pytest
from pages import TEXT, drawn, press, sentence
from pages import type_text as typed
from pages import words as markup
from waiting import until

from core.interpret.model_edits import UNCHANGED
from dashboard import state
from dashboard.data import data
from dashboard.screens import sentence_history

pytestmark = pytest.mark.slow
HELD = "slow and dull, but a good film"
ABOUT = ("finished", HELD, "positive", UNCHANGED)
BENCH = (("pushed", *ABOUT), ("parts", *ABOUT), ("lambdas", *ABOUT))


@pytest.fixture(autouse=True)
def _slowly(monkeypatch):
    """Make every change a separate step."""
    monkeypatch.setattr(sentence_history, "PAUSE", 0.0)


def read_state(app) -> tuple[str, str, str]:
    return app.text_input(key=state.TEXT).value, "".join(app.query_params.get(state.EDIT, "")), app.session_state["run"]


def lines(app) -> list[str]:
    return [each.label for each in app.button if each.key[6:].isdigit()]


def test_undo_and_redo_restore_text_levers_and_run(app, runs):
    sentence(app, edit="h1.1")
    assert app.button(key="tried-undo").disabled and app.button(key="tried-redo").disabled
    typed(app, "bad film")
    press(app, "flip-start")
    app.selectbox(key=state.RUN).set_value("baseline").run()
    for expected in (("bad film", "h1.1", "finished"), (TEXT, "h1.1", "finished")):
        assert read_state(press(app, "tried-undo")) == expected
    assert app.button(key="tried-undo").disabled
    assert pages.drawn(app, "levers")[0]["changed"] == "head 1 of layer 1 off"
    press(app, "tried-redo")
    assert read_state(press(app, "tried-redo")) == ("bad film", "", "baseline"), "which has no heads"
    assert app.button(key="tried-redo").disabled


def test_each_earlier_sentence_has_its_prediction_and_opens_by_a_click(app, runs):
    sentence(app, edit="h1.1")
    first = "".join(pages.words(app).split('aria-label="')[1].split(";")[0])
    label, chance = max((each.rsplit(" ", 1) for each in first.split(", ")), key=lambda each: float(each[1]))
    typed(typed(app, "bad"), " ")
    assert [line.split(" — ")[0] for line in lines(app)] == ["bad", TEXT.replace(",", "\\,")]
    assert f"{label} {chance}".replace(".", "\\.") in lines(app)[1] and "head 1 of layer 1 off" in lines(app)[1]
    assert read_state(press(app, "tried-1")) == (TEXT, "h1.1", "finished")
    assert not [key for key in app.query_params if "tried" in key or "past" in key]
    press(app, "tried-clear")
    assert not lines(app) and app.button(key="tried-undo").disabled


def test_user_text_is_not_read_as_markdown(app, runs):
    typed(sentence(app), "**good** [link](http://evil.example) ![x](http://evil.example/x.png)")
    assert "**" not in lines(app)[0] and "\\!\\[x\\]" in lines(app)[0]


def test_long_text_shows_progress_and_can_be_stopped_with_its_prediction_visible(app, runs, monkeypatch):
    monkeypatch.setattr("dashboard.screens.sentence_bench.SHORT", 0)
    monkeypatch.setattr("dashboard.widgets.progress.PATIENCE", 0.2)

    def held(*about, tell):
        while True:
            tell("parts", 0.25)

    with monkeypatch.context() as slow:
        slow.setattr(data, "parts", held)
        sentence(app, text=HELD)
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
