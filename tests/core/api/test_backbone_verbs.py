"""Every command on a run with a tiny pretrained encoder; no command has special code for backbones."""

import inspect
from math import exp, log
from pathlib import Path

import numpy as np
import pytest
from refused import check_raises
from tiny_backbones import backbone
from trained_runs import train_runs

from core import api
from core.exceptions import InputError

pytestmark = pytest.mark.slow
TEXT, SHORT = "good film, not bad", "good film"
OF_FILES = ("codes_", "counter_examples_", "resume", "runs_cancel", "runs_export", "runs_remove", "runs_show")
"""What takes the files of a run and no model: held in tests of their own."""
SETTINGS = {
    "data.split": "0.6/0.2/0.2",
    "training.threads": 1,
    "training.epochs": 2,
    "training.batch_size": 16,
    "training.lr": 1e-3,
    "text.max_length": 24,
    "model.attention.lexical": "add",
    "text.lexicon": "vader",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Runs `own` and `plain`, with sigma and without, on an encoder whose positions begin at 2.

    `tests/core/models/test_pretrained.py` and `tests/core/interpret/test_encoder_stages.py` have all families.
    """
    folder, table = tmp_path_factory.mktemp("roberta"), ["text,label"]
    for label, words in (("positive", ("good", "great")), ("negative", ("bad", "awful"))):
        table += [f"{word} film {a}{b},{label}" for word in words for a in "abcdefgh" for b in "vwxyz"]
    (folder / "films.csv").write_text("\n".join(table) + "\n")
    given = {**SETTINGS, "model.backbone": str(backbone(folder / "tiny", "roberta"))}
    runs = {"own": given, "plain": {**given, "model.attention.lexical": "none", "text.lexicon": ""}}
    return train_runs(folder, **{name: (folder / "films.csv", "pretrained", each) for name, each in runs.items()})


@pytest.fixture
def answer(store):
    """The label of `TEXT` and the log-odds of this label."""
    (found,) = api.predict("own", [TEXT], store=store)["predictions"]
    return found["label"], log(found["probabilities"][found["label"]] / (1 - found["probabilities"][found["label"]]))


def test_all_verbs_that_take_a_run_are_tested_here():
    names = {each.partition(":")[2] for each in api.VERBS.values()}.union(*api.PYTHON.values())
    first = {name: next(iter(inspect.signature(getattr(api, name)).parameters), "") for name in names}
    named = [name for name, parameter in first.items() if parameter == "run" and not name.startswith(OF_FILES)]
    source = Path(__file__).read_text(encoding="utf-8")
    assert sorted(name for name in named if f"api.{name}(" not in source) == []


def test_history_has_its_epochs_and_predictions_match_the_metrics(store):
    history, rows = api.runs_history("own", store=store), api.runs_predictions("own", store=store)
    assert history["epoch"].max() == 1  # epochs count from 0
    found = api.evaluate("own", store=store)
    assert found["metrics"]["accuracy"] == pytest.approx((rows["label"] == rows["predicted"]).mean())
    assert found["metrics"]["accuracy"] == pytest.approx(store.read("own").results["metrics"]["test"]["accuracy"])


def test_quiz_has_the_predictions_of_the_run(store):
    questions = api.quiz("own", store=store)["questions"]
    said = api.predict("own", [each["text"] for each in questions], store=store)["predictions"]
    assert questions and [each["predicted"] for each in questions] == [each["label"] for each in said]


def test_verbs_on_a_sentence_agree_and_effects_are_lost_log_odds(store, answer):
    label, odds = answer
    inside = api.inspect("own", TEXT, store=store)
    assert 1 / (1 + exp(-odds)) == pytest.approx(inside["prediction"]["probabilities"][label], abs=1e-5)
    for asked in (api.explain, api.methods, api.parts):
        assert asked("own", TEXT, target=label, store=store)["log_odds"] == pytest.approx(odds, abs=1e-4)
    view = api.sentence("own", TEXT, store=store)
    assert view.tokens == tuple(inside["tokens"]) and view.tokens[0] == "[CLS]"  # the name in every family
    assert np.allclose(view.layers[0].components.sum(-1), 1, atol=1e-5)
    (push,) = [w["push"] for w in api.explain("own", TEXT, target=label, store=store)["words"] if w["word"] == "bad"]
    (without,) = api.predict("own", ["good film, not "], store=store)["predictions"]
    left = without["probabilities"][label]
    assert push == pytest.approx(odds - log(left / (1 - left)), abs=1e-4)


def test_all_methods_run_and_shapley_values_sum_to_the_effect(store, answer):
    found = api.methods("own", TEXT, target=answer[0], store=store)
    pushes = {"shapley", "integrated", "gradient", "attention", "deletion"}
    assert all(pushes <= set(word["pushes"]) for word in found["words"]) and len(found["words"]) == 5
    (nothing,) = [each["probabilities"][answer[0]] for each in api.predict("own", [" "], store=store)["predictions"]]
    added = answer[1] - log(nothing / (1 - nothing))
    assert sum(word["pushes"]["shapley"] for word in found["words"]) == pytest.approx(added, abs=1e-3)
    assert pushes <= {each["method"] for each in api.believe("own", TEXT, store=store)["methods"]}


def test_attention_of_a_split_starts_from_the_accuracy_of_the_run(store):
    found = api.attend("own", limit=100, store=store)
    assert found["importance"]["accuracy"] == pytest.approx(api.evaluate("own", store=store)["metrics"]["accuracy"])
    assert {row["layer"] for row in found["entropy"]} == {1, 2} and found["gates"] == []


def test_counterfactual_words_change_the_model_prediction(store):
    found = api.flip("own", SHORT, store=store)
    if found["flip"]:
        (again,) = api.predict("own", [found["flip"]["text"]], store=store)["predictions"]
        assert again["label"] == found["flip"]["label"] != found["label"]
    curve = api.distance("own", "the {} film", most=3, store=store)
    texts = [step["text"] for step in curve["steps"]]
    predicted = api.predict("own", texts, store=store)["predictions"]
    expected = [each["probabilities"][curve["target"]] for each in predicted]
    assert curve["curves"][0]["probabilities"] == pytest.approx(expected, abs=1e-5) and len(texts) == 4


def test_ablated_and_patched_parts_change_the_log_odds(store):
    assert {"layer", "head"} <= {each["kind"] for each in api.parts("own", TEXT, store=store)["parts"]}
    patched = api.patch("own", SHORT, "good mlif", store=store)
    last = max(each["layer"] for each in patched["patches"])
    (whole,) = [each for each in patched["patches"] if each["kind"] == "layer" and each["layer"] == last]
    assert whole["log_odds"] == pytest.approx(patched["donor_log_odds"], abs=1e-4)
    with pytest.raises(InputError, match="no λ"):
        api.lambdas("own", TEXT, store=store)
    found = api.steps("own", TEXT, store=store)
    assert [each["key"] for each in found["stages"]][:3] == ["tokens", "embedding", "queries"]


def test_embeddings_of_the_test_sentences_are_found(store):
    stages = [each["name"] for each in api.layers("own", store=store)["stages"]]
    assert stages == ["embedding", "layer 1", "layer 2", "head"]
    assert api.project("own", method="pca", store=store)["n"] == api.groups("own", store=store)["n"] == 32
    near = [each["distance"] for each in api.neighbours("own", TEXT, store=store)["neighbours"]]
    assert len(near) == 10 and near == sorted(near)


def test_errors_slices_shift_and_behavior_run(store):
    wrong = api.errors("own", store=store)
    rows = api.runs_predictions("own", store=store)
    assert wrong["wrong"] == (rows["label"] != rows["predicted"]).sum()
    api.slices("own", save="good", where=["text~good"], store=store)
    (slice,) = api.slices("own", store=store)["slices"]
    assert slice["name"] == "good" and slice["n"] == rows["text"].str.contains("good").sum()
    assert api.shift("own", store=store)["n"] == {"training": 96, "split": 32}
    assert [row["group"] for row in api.placement("own", store=store)["rows"] if row["kind"] == "place"]
    assert api.behave("own", store=store)["suite"]["tests"] > 40


def test_two_runs_are_compared_drawn_and_reported(store, tmp_path):
    pair = api.compare("own", "plain", store=store)["pairs"][0]
    scores = [store.read(name).results["metrics"]["test"]["accuracy"] for name in ("own", "plain")]
    assert pair["difference"] == pytest.approx(scores[0] - scores[1])
    assert api.figure("own", "roc", store=store).data
    assert api.figures("own", tmp_path / "all", only=["confusion"], store=store)["files"]
    report = api.report("own", tmp_path / "own.html", store=store)
    assert {"results", "errors", "map", "learning", "model"} <= {each["name"] for each in report["sections"]}


def test_hub_folder_of_a_backbone_run_is_imported_as_the_run(store, tmp_path):
    files = api.export("plain", tmp_path / "hub", format="huggingface", store=store)["files"]
    assert "tokenizer.json" not in files and "sentiscope/backbone.json" in files
    assert "split by Sentiscope's own tokenizer" in (tmp_path / "hub" / "README.md").read_text()
    check_raises(InputError, "--format onnx", api.export, "plain", tmp_path / "onnx", format="onnx", store=store)
