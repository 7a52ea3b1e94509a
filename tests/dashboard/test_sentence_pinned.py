"""A pinned reading on the Sentence page: it stays while sentence, run and levers change, in the link too."""

from __future__ import annotations

import re

import pages
import pytest
from pages import words as markup

from core.models.trace import Intervention
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

TEXT = "good film, dull and slow"
PINNED = ("pinned", "pinned-run", "pinned-edit")


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": TEXT, **parameters})


def asked(runs, text: str = TEXT, **change) -> dict[str, float]:
    return load_run(RunStore(runs), "finished").inspect(text, Intervention(**change)).probabilities


def shown(app) -> list[str]:
    """What every bar of the page says, from the top."""
    return re.findall(r'class="s-bar[^"]*" role="img" aria-label="([^"]*)"', markup(app))


def said(probabilities: dict[str, float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in probabilities.items())


def pinned(app):
    app.button(key="pin-button").click().run()
    assert not app.exception
    return app


def link(app) -> list[str]:
    return ["".join(app.query_params.get(key, "")) for key in PINNED]


def strips(app) -> list[list[str]]:
    return [[item["word"] for item in each["items"]] for each in pages.drawn(app, "words")]


def test_a_pinned_sentence_stays_beside_the_next_one_with_its_difference(app, runs):
    pinned(opened(app))
    assert link(app) == [TEXT, "finished", ""]
    assert "This is what is pinned." in markup(app)
    app.text_input(key=state.TEXT).set_value("bad film").run()
    before, now = asked(runs), asked(runs, "bad film")
    assert shown(app) == [said(now), said(now), said(before)]
    gap = now["positive"] - before["positive"]
    line = f"P(positive) {now['positive']:.3f} against {before['positive']:.3f} pinned: {gap:+.3f}".replace("-", "−")
    assert f"Pinned: <b>“{TEXT}”</b>" in markup(app) and line in markup(app)
    assert strips(app)[1:] == [["bad", "film"], ["good", "film", ",", "dull", "and", "slow"]]
    assert "Difference of each push" in markup(app)


def test_levers_are_compared_with_the_pinned_ones(app, runs):
    opened(app, edit="h1.1", pinned=TEXT, **{"pinned-run": "finished", "pinned-edit": "h2.1"})
    first, second = (asked(runs, heads_off=frozenset({place})) for place in ((0, 0), (1, 0)))
    assert shown(app)[0] == f"{said(first)}; as trained {said(asked(runs))}"
    assert shown(app)[1:] == [said(first), said(second)]
    assert "head 1 of layer 2 off" in markup(app) and "the first minus the second" in markup(app)


def test_a_pinned_run_reads_its_sentence_beside_another_run(app, runs):
    opened(app, run="baseline", pinned="good", **{"pinned-run": "finished"})
    assert shown(app)[-1] == said(asked(runs, "good"))
    assert "Pinned: <b>“good”</b> (finished) · P(positive)" in markup(app)
    app.button(key="pin-button").click().run()
    assert link(app) == ["", "", ""] and "Pinned:" not in markup(app)


def test_a_pin_survives_a_visit_to_another_page(app, runs):
    opened(app, pinned="good", **{"pinned-run": "finished"})
    app.switch_page("screens/performance.py").run()
    app.switch_page("screens/sentence.py").run()
    assert link(app)[:2] == ["good", "finished"] and "Pinned:" in markup(app)


def test_hostile_and_stale_pins_are_told(app, runs):
    opened(app, pinned="<b>x</b>", **{"pinned-run": "gone", "pinned-edit": "h9.9"})
    assert "There is no run “gone” to compare with" in markup(app) and "<b>x</b>" not in markup(app)
    other = opened(app, pinned="<i>x</i> good", **{"pinned-run": "finished", "pinned-edit": "h9.9,<u>"})
    assert "<i>x</i>" not in markup(other) and "&lt;i&gt;x&lt;/i&gt; good" in markup(other)
    assert shown(other)[-1] == said(asked(runs, "<i>x</i> good"))


def test_an_empty_sentence_stands_beside_a_pinned_one(app, runs):
    opened(app, text=" ", pinned="good", **{"pinned-run": "finished"})
    assert shown(app)[-1] == said(asked(runs, "good"))
    assert "The pushes have no difference: there is no word in one of the texts." in markup(app)
