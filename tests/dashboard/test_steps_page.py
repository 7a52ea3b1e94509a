"""The page Steps: links, texts that cannot be shown, all kinds of runs."""

import pytest
from pages import drawn, opened, press, words

from core import api
from core.interpret import forward_pass as computing
from core.runs.store import RunStore
from dashboard import state

pytestmark = pytest.mark.slow

NOTHING = "There are no steps to show"


def shown(app, **link):
    """The data that the component draws."""
    (data,) = drawn(opened(app, "steps", **link), "steps")
    return data


def test_link_opens_a_stage_with_its_layer_head_and_map(app, runs):
    data = shown(app, run="finished", text="a good film", stage="softmax", layer="1", head="2", component="2")
    assert data["at"] == "softmax" and data["place"] == "layer 1, head 2, A₂"
    found = api.steps("finished", "a good film", layer=1, head=2, component=2, store=RunStore(runs))
    maps = next(stage for stage in data["stages"] if stage["key"] == "softmax")["matrices"]
    assert maps[2]["cells"][1] == pytest.approx(found["stages"][6]["matrices"][2]["values"][1], abs=1e-3)


def test_baseline_has_a_short_version_without_layers(app, runs):
    data = shown(app, run="baseline", text="a good film", stage="softmax")
    assert [stage["key"] for stage in data["stages"]] == ["tokens", "weights", "logits", "probabilities"]
    assert data["at"] == "tokens" and data["place"] == "no attention"
    assert not app.get("button_group")


def test_text_without_words_has_a_next_step(app, runs):
    opened(app, "steps", run="finished")
    app.text_input(key=state.TEXT).set_value("").run()
    assert NOTHING in words(app) and drawn(app, "steps") == []


def test_too_long_text_is_reported(app, runs, monkeypatch):
    monkeypatch.setattr(computing, "MOST_TOKENS", 4)
    assert "more than 4 tokens" in words(opened(app, "steps", run="finished", text="a good film number one"))


def test_edits_of_the_link_change_the_steps_and_can_be_reset(app, runs):
    link = {"run": "finished", "text": "a good film"}
    data = shown(app, **link, stage="probabilities", edit="h1.2,l2c1:0.5")
    found = api.steps("finished", "a good film", edit="h1.2,l2c1:0.5", store=RunStore(runs))
    cells = data["stages"][-1]["matrices"][-1]["cells"]
    assert cells[0] == pytest.approx(found["stages"][-1]["matrices"][-1]["values"][0], abs=1e-3)
    assert "Your changes: head 2 of layer 1 off, λ₁ of layer 2 = 0.50." in words(app)
    assert "Your changes" not in words(press(app, "steps-as-trained")) and state.EDIT not in app.query_params
    trained = api.steps("finished", "a good film", store=RunStore(runs))
    (data,) = drawn(app, "steps")
    cells = data["stages"][-1]["matrices"][-1]["cells"]
    assert cells[0] == pytest.approx(trained["stages"][-1]["matrices"][-1]["values"][0], abs=1e-3)
