"""The history on Sentence: undo, redo, earlier sentences, clearing, and no trace in links."""

import pages
import pytest
from pages import TEXT
from pages import press as clicked
from pages import sentence as opened
from pages import type_text as typed

from dashboard import state
from dashboard.screens import sentence_history

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _slowly(monkeypatch):
    """Make every change a separate step."""
    monkeypatch.setattr(sentence_history, "PAUSE", 0.0)


def read_state(app) -> tuple[str, str, str]:
    return app.text_input(key=state.TEXT).value, "".join(app.query_params.get(state.EDIT, "")), app.session_state["run"]


def lines(app) -> list[str]:
    return [each.label for each in app.button if each.key[6:].isdigit()]


def test_undo_and_redo_restore_text_levers_and_run(app, runs):
    opened(app, edit="h1.1")
    assert app.button(key="tried-undo").disabled and app.button(key="tried-redo").disabled
    typed(app, "bad film")
    clicked(app, "flip-start")
    app.selectbox(key=state.RUN).set_value("baseline").run()
    for expected in (("bad film", "h1.1", "finished"), (TEXT, "h1.1", "finished")):
        assert read_state(clicked(app, "tried-undo")) == expected
    assert app.button(key="tried-undo").disabled
    assert pages.drawn(app, "levers")[0]["changed"] == "head 1 of layer 1 off"
    clicked(app, "tried-redo")
    assert read_state(clicked(app, "tried-redo")) == ("bad film", "", "baseline"), "which has no heads"
    assert app.button(key="tried-redo").disabled


def test_each_earlier_sentence_has_its_prediction_and_opens_by_a_click(app, runs):
    opened(app, edit="h1.1")
    first = "".join(pages.words(app).split('aria-label="')[1].split(";")[0])
    label, chance = max((each.rsplit(" ", 1) for each in first.split(", ")), key=lambda each: float(each[1]))
    typed(typed(app, "bad"), " ")
    assert [line.split(" — ")[0] for line in lines(app)] == ["bad", TEXT.replace(",", "\\,")]
    assert f"{label} {chance}".replace(".", "\\.") in lines(app)[1] and "head 1 of layer 1 off" in lines(app)[1]
    assert read_state(clicked(app, "tried-1")) == (TEXT, "h1.1", "finished")
    assert not [key for key in app.query_params if "tried" in key or "past" in key]
    clicked(app, "tried-clear")
    assert not lines(app) and app.button(key="tried-undo").disabled


def test_user_text_is_not_read_as_markdown(app, runs):
    typed(opened(app), "**good** [link](http://evil.example) ![x](http://evil.example/x.png)")
    assert "**" not in lines(app)[0] and "\\!\\[x\\]" in lines(app)[0]
