"""Steps, and on Sentence attribution methods, another sentence and belief: links, results of core, missing parts."""

import pages
import pytest
from pages import TEXT, drawn, opened, press, sentence, words
from pages import words as markup

from core import api
from core.formatting import signed
from core.interpret import forward_pass as computing
from core.interpret.ablation import patch_activations
from core.interpret.attribution import explain_by_methods, explain_text
from core.interpret.model_edits import UNCHANGED
from core.models.trace import Intervention
from core.runs.faithfulness_files import BeliefFiles
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard import state
from dashboard.data import data
from dashboard.figures.attribution_comparison import NAMES, QUICK_METHODS
from dashboard.reader.models import ModelRequest

pytestmark = pytest.mark.slow

NOTHING = "There are no steps to show"
DONOR = "good film, good and slow"


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
    assert data["at"] == "tokens" and data["place"] == "no attention" and not app.get("button_group")


def test_text_without_words_has_a_next_step(app, runs):
    opened(app, "steps", run="finished")
    app.text_input(key=state.TEXT).set_value("").run()
    assert NOTHING in words(app) and drawn(app, "steps") == []


def test_too_long_text_is_reported(app, runs, monkeypatch):
    monkeypatch.setattr(computing, "MOST_TOKENS", 4)
    assert "more than 4 tokens" in words(opened(app, "steps", run="finished", text="a good film number one"))


def test_edits_of_the_link_change_the_steps_and_can_be_reset(app, runs):
    data = shown(app, run="finished", text="a good film", stage="probabilities", edit="h1.2,l2c1:0.5")
    found = api.steps("finished", "a good film", edit="h1.2,l2c1:0.5", store=RunStore(runs))
    cells = data["stages"][-1]["matrices"][-1]["cells"]
    assert cells[0] == pytest.approx(found["stages"][-1]["matrices"][-1]["values"][0], abs=1e-3)
    assert "Your changes: head 2 of layer 1 off, λ₁ of layer 2 = 0.50." in words(app)
    assert "Your changes" not in words(press(app, "steps-as-trained")) and state.EDIT not in app.query_params
    trained = api.steps("finished", "a good film", store=RunStore(runs))
    (data,) = drawn(app, "steps")
    cells = data["stages"][-1]["matrices"][-1]["cells"]
    assert cells[0] == pytest.approx(trained["stages"][-1]["matrices"][-1]["values"][0], abs=1e-3)


def names(table) -> list[str]:
    return [head["name"] for head in table["heads"]]


def test_each_word_has_its_effect_by_each_method(app, runs):
    sentence(app)
    (words,) = pages.drawn(app, "cells")
    *_, found = explain_by_methods(load_run(RunStore(runs), "finished").make_reader(), TEXT, "positive")
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
        "baseline: zero word vectors with positions kept."
    ]
    needed = found.by["deletion"].words[found.most.needed].word
    assert f"“{needed}”" in markup(app) and "Attention against effect" in markup(app)


def test_baseline_shows_its_methods_and_why_others_are_missing(app, runs):
    sentence(app, run="baseline", methods="all", donor=DONOR)
    (words,) = pages.drawn(app, "cells")
    assert names(words) == ["deletion", "Shapley"]
    assert "Attention against effect" not in markup(app) and "Activation patching" not in markup(app)
    assert words["lines"][-2:] == [
        "No gradient × input and no integrated gradients: this model reads no vectors of words.",
        "No attention and no first-layer attention: this model has no attention.",
    ]


def test_methods_explain_the_edited_model(app, runs):
    sentence(app, edit="h1.1")
    (words,), loaded = pages.drawn(app, "cells"), load_run(RunStore(runs), "finished")
    off = Intervention(heads_off=frozenset({(0, 0)}))
    gradient = explain_text(loaded.make_reader(off), TEXT, "gradient", "positive").words[0].push
    place = names(words).index("gradient × input")
    assert words["rows"][0]["cells"][place]["about"] == f"good, gradient × input: {signed(gradient, 3)}"
    assert "after your changes" in markup(app)


def by_method(app) -> dict:
    (found,) = (each for each in pages.drawn(app, "cells") if each["label"].startswith("words by method"))
    return found


def request_methods(text: str) -> ModelRequest:
    return data.request_all(("each_method", "finished", text, "positive", UNCHANGED, QUICK_METHODS))


def test_stopped_computation_shows_its_results_and_can_continue(app, runs):
    text = "slow film, good and dull"
    asking = request_methods(text)
    steps = explain_by_methods(load_run(RunStore(runs), "finished").make_reader(), text, "positive", QUICK_METHODS)
    asking.known.found = list(steps)[1]
    asking.known.request_stop()
    app.session_state[f"{state.ENOUGH}methods"] = asking.wanted
    sentence(app, text=text)
    assert names(by_method(app)) == ["deletion", "attention"] and "Some methods have no result yet" in markup(app)
    press(app, "methods-on")
    assert names(by_method(app)) == [NAMES[name] for name in QUICK_METHODS]


def test_computation_stopped_by_another_visitor_is_completed(app, runs):
    text = "good and slow, dull film"
    request_methods(text).known.request_stop()
    sentence(app, text=text)
    assert names(by_method(app)) == [NAMES[name] for name in QUICK_METHODS]


def test_patched_places_change_the_prediction_as_in_core(app, runs):
    sentence(app, donor=DONOR)
    (grid,) = (each for each in pages.drawn(app, "cells") if each["label"].startswith("effect of each patched"))
    found = patch_activations(load_run(RunStore(runs), "finished").make_reader(), TEXT, DONOR, "positive")
    word = next(row for row in grid["rows"] if row["name"] == "dull ← good")
    moved = [each.moved for each in found.patches if each.token == 3]
    assert [cell["about"] for cell in word["cells"]] == [
        f"dull ← good, layer {layer}: log-odds of positive {signed(each, 3)}" for layer, each in enumerate(moved, 1)
    ]
    assert "Activation patching" in markup(app) and "towards positive" in markup(app)


def test_sentence_of_another_length_is_reported_with_both_token_lists(app, runs):
    sentence(app, donor="good <b>film</b>")
    said = markup(app)
    assert "sentences cannot be combined" in said and "The first has 6: good | film | , | dull | and | slow" in said
    assert "<b>film" not in said.partition("These sentences")[2][:600]
    assert not any(each["label"].startswith("effect of each patched") for each in pages.drawn(app, "cells"))


def test_faithfulness_is_measured_only_by_a_background_job(app, runs, monkeypatch):
    started = []
    monkeypatch.setattr(BeliefFiles, "start", lambda files: started.append((files.run, files.methods, files.limit)))
    shown = markup(sentence(app))
    assert "Can I trust this" in shown and "measured on 200 validation sentences" in shown and started == []
    press(app, "measure-deletion")
    press(app, "measure-all")
    assert started == [("finished", ("deletion",), 200), ("finished", (), 200)]


def test_partial_faithfulness_results_are_shown_and_the_rest_is_offered(app, runs):
    api.believe("finished", method="deletion", store=RunStore(runs))
    sentence(app)
    assert "attention" not in str(pages.drawn(app, "marks")[0]["table"])
    api.believe("finished", method="attention", store=RunStore(runs))
    app.run()
    assert "attention" in (text := str(pages.drawn(app, "marks")[0]["table"])) and "integrated" not in text
    labels = [button.label for button in app.button]
    assert "Measure all methods" in labels and "Measure deletion" not in labels
