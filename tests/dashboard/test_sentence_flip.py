"""What would change the answer, on the Sentence page: found, watched, stopped and read."""

from __future__ import annotations

import pages
import pytest
from pages import words as markup

from core import api
from core.runs.store import RunStore
from dashboard import state
from dashboard.screens import sentence_flip

pytestmark = pytest.mark.slow

TEXT = "good film, dull and slow"
LONG = " ".join(["good film number", "warm and funny", "wise but slow"] * 5)


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": TEXT, **parameters})


def begun(app):
    app.button(key="flip-start").click().run()
    assert not app.exception
    return app


def ended(app):
    for _ in range(60):
        if not [each for each in app.button if each.key == "flip-stop"]:
            return app
        app.run()
    raise AssertionError("the search does not end")


def button_keys(app):
    return [each.key for each in app.button]


@pytest.mark.parametrize("name", ["finished", "baseline"])
def test_the_flips_are_those_of_the_command_line(app, runs, name):
    found = api.flip(name, TEXT, store=RunStore(runs))
    shown = markup(ended(begun(opened(app, run=name))))
    flips = [found["flip"], *found["also"]]
    assert found["verdict"] == "proven" and "Proven the smallest within these moves: 1 move" in shown
    assert shown.count('class="s-flip"') == len(flips)
    for flip in flips:
        [move] = flip["moves"]
        new = "" if move["with"] is None else f" <ins>{move['with']}</ins>"
        assert f"{TEXT[: move['start']]}<del>{move['word']}</del>{new}{TEXT[move['end'] :]}" in shown
        assert ", ".join(f"{label} {p:.3f}" for label, p in flip["probabilities"].items()) in shown
    allowed = found["moves_allowed"]
    assert f"Moves: of 6 words up to 3 deleted, or up to 2 deleted or replaced; {len(allowed['with'])} " in shown


def test_an_edited_model_reads_each_text_as_edited(app, runs):
    edit, trained = "h1.1,h2.2:mean", api.flip("finished", TEXT, store=RunStore(runs))
    found = api.flip("finished", TEXT, edit=edit, store=RunStore(runs))
    assert found["flip"]["probabilities"] != trained["flip"]["probabilities"]
    shown = markup(ended(begun(opened(app, edit=edit))))
    assert ", ".join(f"{label} {p:.3f}" for label, p in found["flip"]["probabilities"].items()) in shown
    assert "as edited" in shown


def test_a_found_text_is_read_at_a_click(app, runs):
    found = api.flip("finished", TEXT, store=RunStore(runs))["flip"]
    ended(begun(opened(app)))
    app.button(key="flip-read-0").click().run()
    assert app.text_input(key=state.TEXT).value == found["text"]
    assert "flip-start" in button_keys(app) and "Proven" not in markup(app)
    assert f'aria-label="{", ".join(f"{n} {p:.3f}" for n, p in found["probabilities"].items())}"' in markup(app)


def test_a_search_is_watched_and_stopped_and_what_was_found_stays(app, runs, monkeypatch):
    monkeypatch.setattr(sentence_flip, "SLICE", 0.0)
    opened(app, text=LONG)
    assert "flip-stop" in button_keys(begun(app))
    assert "1 of at most 4\u202f000 texts read · no other answer yet" in markup(app)
    app.button(key="flip-stop").click().run()
    assert "flip-stop" not in button_keys(app)
    assert "No other answer was found" in markup(app)
    assert "Not every set of moves was read. The search was stopped. Texts read: 1." in markup(app)
    app.text_input(key=state.TEXT).set_value("good").run()
    assert "flip-start" in button_keys(app)


def test_what_a_person_wrote_is_escaped(app, runs):
    shown = markup(ended(begun(opened(app, text="good <b>film</b> dull"))))
    assert "<b>film" not in shown and "&lt;b&gt;film" in shown


def test_an_empty_text_has_nothing_to_change(app, runs):
    assert "flip-start" not in button_keys(opened(app, text=" "))
