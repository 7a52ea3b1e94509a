"""Methods side by side on the Sentence page: what the core says, what a model lacks, all of them, and a stop."""

from __future__ import annotations

import pages
import pytest
from pages import words as markup

from core.interpret.edits import UNCHANGED
from core.models.trace import Intervention
from core.numbers import signed
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state
from dashboard.data import data
from dashboard.figures.methods import NAMES, QUICK_METHODS
from dashboard.reader.models import Asking

pytestmark = pytest.mark.slow

TEXT = "good film, dull and slow"


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "finished", "text": TEXT, **parameters})


def names(table) -> list[str]:
    return [head["name"] for head in table["heads"]]


def together(runs, name="finished"):
    *_, found = load_run(RunStore(runs), name).side_by_side(TEXT, "positive")
    return found


def test_every_word_stands_with_its_push_by_each_method(app, runs):
    opened(app)
    (words,) = pages.drawn(app, "cells")
    found = together(runs)
    assert names(words) == [NAMES[name] for name in found.by if name != "shapley"]
    assert [row["name"] for row in words["rows"]] == ["good", "film", ",", "dull", "and", "slow"]
    push = found.by["integrated"].words[3].push
    place = names(words).index("integrated gradients")
    assert words["rows"][3]["cells"][place]["about"] == f"dull, integrated gradients: {signed(push, 3)}"
    assert found.tests["deletion", "attention"].words == 6
    assert "Attention and deletion: no verdict below 8 words. " in markup(app)
    complete = found.by["integrated"].completeness
    assert words["lines"] == [
        f"Integrated gradients: completeness error {signed(complete.error, 3)} after {complete.steps} steps, "
        "from every word's vector zero, its place kept."
    ]
    most = found.most
    needed = found.by["deletion"].words[most.needed].word
    assert f"“{needed}”" in markup(app) and "Most read against most needed" in markup(app)


def test_of_a_baseline_there_is_what_it_provides_and_why_not_more(app, runs):
    opened(app, run="baseline", methods="all")
    (words,) = pages.drawn(app, "cells")
    assert names(words) == ["deletion", "Shapley"]
    assert "Most read against most needed" not in markup(app)
    assert words["lines"][-2:] == [
        "No gradient × input and no integrated gradients: this model reads no vectors of words.",
        "No attention and no layer-0 collapse: this model has no attention.",
    ]


def test_shapley_values_are_asked_for_by_name_in_the_link(app, runs):
    opened(app, methods="all")
    (words,) = pages.drawn(app, "cells")
    assert names(words) == list(NAMES.values())
    word = together(runs).by["shapley"].words[0]
    about = words["rows"][0]["cells"][1]["about"]
    assert about.startswith(f"good, Shapley: {signed(word.push, 3)} ±")


def test_they_are_those_of_the_edited_model(app, runs):
    opened(app, edit="h1.1")
    (words,), loaded = pages.drawn(app, "cells"), load_run(RunStore(runs), "finished")
    off = Intervention(heads_off=frozenset({(0, 0)}))
    gradient = loaded.explain(TEXT, "gradient", "positive", off).words[0].push
    place = names(words).index("gradient × input")
    assert words["rows"][0]["cells"][place]["about"] == f"good, gradient × input: {signed(gradient, 3)}"
    assert "as edited" in markup(app)


def asked(text: str) -> Asking:
    return data.asking(("each_method", "finished", text, "positive", UNCHANGED, QUICK_METHODS))


def test_what_was_stopped_shows_what_was_found_and_goes_on(app, runs, monkeypatch):
    text = "slow film, good and dull"
    monkeypatch.setenv("SENTISCOPE_RUNS", str(runs))
    asking = asked(text)
    steps = load_run(RunStore(runs), "finished").side_by_side(text, "positive", named=QUICK_METHODS)
    asking.known.found = list(steps)[1]
    asking.known.stop()
    app.session_state[f"{state.ENOUGH}methods"] = asking.wanted
    opened(app, text=text)
    (words,) = (each for each in pages.drawn(app, "cells") if each["label"].startswith("words by method"))
    assert names(words) == ["deletion", "attention"] and "Not every method was asked" in markup(app)
    next(button for button in app.button if button.key == "methods-on").click().run()
    words = next(each for each in pages.drawn(app, "cells") if each["label"].startswith("words by method"))
    assert names(words) == [NAMES[name] for name in QUICK_METHODS]


def test_what_somebody_else_stopped_is_asked_to_the_end(app, runs, monkeypatch):
    text = "good and slow, dull film"
    monkeypatch.setenv("SENTISCOPE_RUNS", str(runs))
    asked(text).known.stop()
    opened(app, text=text)
    words = next(each for each in pages.drawn(app, "cells") if each["label"].startswith("words by method"))
    assert names(words) == [NAMES[name] for name in QUICK_METHODS]
