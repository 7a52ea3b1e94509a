"""What would change it, pins and templates of runs with three ordered classes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pages
import pytest
from pages import words as markup

from core import api
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow  # trains a model of three classes first

TEXT = "fine film, dull and slow"
WORDS = {"bad": ("bad", "dull", "slow"), "fair": ("fine", "usual", "plain"), "good": ("good", "warm", "wise")}


@pytest.fixture(scope="module")
def kept(trained, tmp_path_factory, tiny) -> Path:
    """`finished`, and beside it a run `graded`, whose classes are a scale."""
    folder = tmp_path_factory.mktemp("graded")
    file = folder / "grades.csv"
    lines = [f"{word} film number {n},{label}" for label, words in WORDS.items() for word in words for n in range(12)]
    file.write_text("text,label\n" + "\n".join(lines) + "\n")
    shutil.copytree(trained, folder / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTISCOPE_CACHE", str(folder / "cache"))
        settings = {**tiny, "data.order": "bad,fair,good"}
        api.train(str(file), "vanilla", settings, name="graded", store=RunStore(folder / "runs"))
    return folder / "runs"


@pytest.fixture
def graded(kept, monkeypatch) -> RunStore:
    """Where they are; these tests only read them."""
    monkeypatch.setenv("SENTISCOPE_RUNS", str(kept))
    assert RunStore(kept).read("graded").ordered
    return RunStore(kept)


def opened(app, **parameters: str):
    return pages.opened(app, "sentence", **{"run": "graded", "text": TEXT, **parameters})


@pytest.mark.parametrize("target", ["", "good"])
def test_a_flip_is_any_other_class_or_the_chosen_one(app, graded, target):
    opened(app, **({"towards": target} if target else {}))
    app.button(key="flip-start").click().run()
    for _ in range(40):
        if "flip-stop" not in [each.key for each in app.button]:
            break
        app.run()
    found = api.flip("graded", TEXT, target=target, store=graded)
    flips = [found["flip"], *found["also"]] if found["flip"] else []
    assert markup(app).count('class="s-flip"') == len(flips)
    for each in flips:
        assert ", ".join(f"{name} {p:.3f}" for name, p in each["probabilities"].items()) in markup(app)


def test_a_pin_has_its_difference_for_the_chosen_class(app, graded):
    opened(app, towards="good", pinned="good film", **{"pinned-run": "graded"})
    now, before = (api.predict("graded", [text], store=graded)["predictions"][0] for text in (TEXT, "good film"))
    line = re.search(r"P\(good\) (0\.\d{3}) against (0\.\d{3}) pinned", markup(app))
    assert line and [float(each) for each in line.groups()] == [
        pytest.approx(each["probabilities"]["good"], abs=6e-4) for each in (now, before)
    ]


def test_a_pinned_run_of_other_classes_has_no_difference(app, graded):
    opened(app, towards="good", pinned="good film", **{"pinned-run": "finished"})
    assert "The other run has no class good, so there is no difference." in markup(app)
    assert "The pushes have no difference: run 'finished' has no class 'good'." in markup(app).replace("&#x27;", "'")


def test_templates_follow_the_chosen_class_and_refuse_runs_without_it(app, graded):
    opened(app, of="fair")
    found = api.distance("graded", "not good", target="fair", store=graded)
    specs = [json.loads(each.proto.spec) for each in app.get("plotly_chart")]
    (drawn,) = [
        each for each in specs if each["layout"].get("xaxis", {}).get("title", {}).get("text") == "words between"
    ]
    assert drawn["data"][0]["y"] == pytest.approx(found["curves"][0]["probabilities"], abs=1e-6)
    app.multiselect(key=state.CURVES).set_value(["finished"]).run()
    assert "run 'finished' has no class 'fair'" in markup(app).replace("&#x27;", "'")
