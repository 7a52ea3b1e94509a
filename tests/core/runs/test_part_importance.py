"""Importance of parts over a split: equal to the loop of single edits, and kept on disk."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from refused import check_raises

from core import api
from core.api.evaluation import evaluate
from core.api.prediction import predict
from core.config import compose
from core.evaluation.comparison import McNemar
from core.exceptions import InputError
from core.interpret.attention_findings import describe_demos, describe_effects
from core.metrics import TUNED, get_metric
from core.models.trace import Intervention
from core.runs import attention_files, part_importance
from core.runs.attention_files import AttentionMaps, DemoSentences, PartEffects, PartImportance, WordEffects
from core.runs.evaluation_data import DataRequest, predict_rows, read_evaluation_data
from core.runs.load import load_run
from core.runs.part_importance import (
    COMMON,
    EACH,
    METRICS,
    compute_losses,
    find_demos,
    list_silencings,
    measure_edit,
    measure_effects,
    measure_importance,
)
from core.runs.store import RunStore


@pytest.fixture(scope="module")
def components(trained_on_reviews):
    """The folder of `mine`, whose heads have two maps each."""
    return trained_on_reviews("ndt-01-n2", "mine", **{"training.epochs": 1}).parent


@pytest.fixture
def run(store, components):
    shutil.copytree(components, store.folder)
    return "mine"


def test_silencing_over_a_split_is_the_loop_of_single_edits(store, run):
    loaded = load_run(store, run)
    given = read_evaluation_data(loaded.record, DataRequest(split="test", limit=30))
    found = measure_importance(loaded, given, maps=True)
    heads, components, layers = loaded.model.heads, loaded.model.components, len(loaded.model.layers)
    assert len(found["parts"]) == 2 * layers * (heads + components + heads * components)
    trained = predict_rows(loaded, given)
    labels, texts = given.rows["label"].to_numpy(), given.rows["text"].tolist()
    assert found["log_loss"] == pytest.approx(compute_losses(labels, trained.probabilities).mean())
    for row in found["parts"]:
        edit = row["part"] + (":mean" if row["how"] == "mean" else "")
        single = measure_edit(loaded, loaded.edit_all(edit), given)
        assert (row["accuracy"], row["changed"], row["p"]) == (single["edited"], single["changed"], single["p"]), edit
        assert row["value"] == pytest.approx(single["difference"]) and row["p_holm"] >= row["p"]
        assert row["interval"][0] <= row["value"] <= row["interval"][1]
        silent = predict_rows(loaded.edit_all(edit), given).probabilities
        lost = compute_losses(labels, silent).mean()
        assert row["log_loss"] == pytest.approx(lost, abs=1e-6)
        assert row["loss"] == pytest.approx(lost - found["log_loss"], abs=1e-6)
    for row in found["lambdas"]:
        change = Intervention(lambda_scale=row["factor"])
        if row["layer"] is not None:
            change = Intervention(lambdas=((row["layer"] - 1, row["component"], row["lambda"]),))
        chances = loaded.predict(texts, intervene=change).probabilities
        assert row["accuracy"] == pytest.approx((chances.argmax(1) == labels).mean()), row
        assert row["log_loss"] == pytest.approx(compute_losses(labels, chances).mean(), abs=1e-6)
    assert len(found["lambdas"]) == len(COMMON) + layers * (components - 1) * len(EACH)


def test_effects_are_those_of_the_edits_that_they_name(store, run):
    loaded = load_run(store, run)
    given = read_evaluation_data(loaded.record, DataRequest(split="test", limit=30))
    found = measure_effects(loaded, given)
    assert [row["what"] for row in found["effects"]] == ["every λ at 0", "every λ back at its start", "all heads off"]
    for row in found["effects"]:
        single = measure_edit(loaded, loaded.edit_all(row["edit"]), given)
        assert (row["accuracy"], row["changed"], row["p"]) == (single["edited"], single["changed"], single["p"]), row
        assert row["interval"][0] <= row["value"] <= row["interval"][1]
    starts = [value for layer in loaded.read_first_lambdas() for value in layer]
    assert found["effects"][1]["edit"].count(":") == len(starts) == 2
    assert f":{starts[0]:.4f}" in found["effects"][1]["edit"]
    said = describe_effects({"effects": found})
    n = found["effects"][0]
    points = f"(accuracy {100 * found['accuracy']:.1f} → {100 * found['effects'][0]['accuracy']:.1f} %)"
    assert said.startswith(
        f"With every λ at 0, {n['changed']} of 12 test answers change {points}; with every λ back at "
    )
    assert found["trapped"] == [] and said.endswith(" λ does little here.") == (n["changed"] < 0.05 * 12)
    stuck = {**found, "trapped": [{"layer": 2, "component": 1}]}
    assert describe_effects({"effects": stuck}).endswith("since it has no gradient there: λ₁ of layer 2.")
    assert api.attend(run, limit=20, only="effects", store=store)["effects"]["effects"][0] == n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("starter", "kinds"),
    [
        ("sentiformer", ["all gates open"]),
        ("lexical-last", ["σ off in all layers"]),
        ("inceptive-16", ["the head's convolutions at 0", "the head's attention uniform"]),
    ],
)
def test_gates_lexicon_and_own_head_are_switched_off_as_a_whole(starter, kinds):
    loaded = load_run(RunStore(Path(__file__).parents[3] / "trained"), f"starter-{starter}")
    found = measure_effects(loaded, read_evaluation_data(loaded.record, DataRequest(split="test", limit=40)))
    assert [row["what"] for row in found["effects"]] == [*kinds, "all heads off"]
    assert found["effects"][-1]["changed"] > 5 and all(abs(row["loss"]) > 0 for row in found["effects"])
    if starter == "inceptive-16":
        flat = {part: loaded.flatten_head(part).inspect("It was never dull.") for part in ("branches", "attention")}
        assert all((values == 0).all() for values in flat["branches"].branches.values())
        assert flat["attention"].head_maps == pytest.approx(1 / len(flat["attention"].tokens), abs=1e-6)
        assert loaded.inspect("It was never dull.").head_maps.max() > 0.25


def decide_by_loop(loaded, text: str) -> list[tuple[str, int]]:
    """The parts without which the answer to a text is another one, as edits, each with that answer."""
    model, lengths = loaded.model, len(loaded.inspect(text).tokens)
    edits = [f"h{at}.{head + 1}" for at in range(1, len(model.layers) + 1) for head in range(model.heads)]
    for at in range(1, len(model.layers) + 1):
        edits += [f"l{at}c{i}:0" if i else f"c{at}.0" for i in range(model.components if model.components > 1 else 0)]
        edits += [f"s{at}"] * (model.lexical != "none")
        edits += [",".join(f"g{at}.{i}:1" for i in range(1, lengths + 1))] * ("gates" in model.provides)
    answer = loaded.predict([text]).probabilities[0].argmax()
    changes = [loaded.parse_edits(text, edit).to_intervention() for edit in edits]
    after = [loaded.predict([text], intervene=change).probabilities[0] for change in changes]
    assert len(set(edits)) == len(edits)
    return [(edit, int(each.argmax())) for edit, each in zip(edits, after, strict=True) if each.argmax() != answer]


@pytest.mark.slow
@pytest.mark.parametrize("starter", ["ndt-01-n3", "sentiformer", "lexical-last"])
def test_a_demo_sentence_is_decided_by_one_part_in_a_loop_of_single_edits(starter, monkeypatch):
    monkeypatch.setattr(part_importance, "CLEAR", 0.0)
    monkeypatch.setattr(part_importance, "SINGLE", 0.0)
    loaded = load_run(RunStore(Path(__file__).parents[3] / "trained"), f"starter-{starter}")
    given = read_evaluation_data(loaded.record, DataRequest(split="challenge", limit=40))
    found, classes = find_demos(loaded, given), loaded.record.classes
    short = [text for text in given.rows["text"] if len(text.split()) <= 12]
    looped = {text: decide_by_loop(loaded, text) for text in short}
    assert found["texts"] == len(short) and found["decided"] == sum(len(each) == 1 for each in looped.values()) > 0
    for row in found["rows"]:
        assert looped[row["text"]] == [(row["edit"], classes.index(row["after"]))] and row["what"], row
        assert row["others"] > 0.5 and loaded.inspect(row["text"]).label == row["answer"]


def test_log_loss_is_that_of_the_true_labels():
    chances = np.array([[0.25, 0.75], [0.5, 0.5]])
    assert compute_losses(np.array([1, 0]), chances).tolist() == pytest.approx((-np.log([0.75, 0.5])).tolist())
    several = compute_losses(np.array([[1.0, 0.0]]), np.array([[0.5, 0.25]]))
    assert several.tolist() == pytest.approx([-(np.log(0.5) + np.log(0.75)) / 2])
    assert np.isfinite(compute_losses(np.array([0]), np.array([[0.0, 1.0]]))).all()


@pytest.mark.slow
def test_gates_are_opened_and_lexical_terms_silenced():
    shipped = RunStore(Path(__file__).parents[3] / "trained")
    loaded = load_run(shipped, "starter-sentiformer")
    found = measure_importance(loaded, read_evaluation_data(loaded.record, DataRequest(split="test", limit=10)))
    gates = [row for row in found["parts"] if row["kind"] == "gates"]
    assert [(row["part"], row["how"]) for row in gates[:2]] == [("gates1", "open"), ("gates1", "mean")]
    assert any(abs(row["loss"]) > 0 for row in gates) and found["lambdas"] == []
    loaded = load_run(shipped, "starter-lexical-last")
    parts = {each.part for each in list_silencings(loaded.model)}
    assert {"s1", "s2", "s3", "h1.1"} <= parts and not any(part.startswith("c") for part in parts)


def test_attend_stores_both_steps_and_reads_them_again(store, run, monkeypatch):
    found = api.attend(run, limit=20, store=store)
    told = "entropy mass distance deviation gates importance words effects demos".split()
    assert list(found["findings"]) == told
    assert {"entropy", "mass", "distance", "deviation", "gates", "importance", "words"} <= found.keys()
    assert all({"value", "interval"} <= row.keys() for row in (*found["entropy"], *found["mass"], *found["distance"]))
    assert all("untrained" in row["control"] for row in found["entropy"])
    assert (found["texts"], found["importance"]["texts"], found["split"]) == (12, 12, "test")
    assert found["demos"]["texts"] == 12 and found["demos"]["decided"] == len(found["demos"]["rows"]) < 6
    none = {"demos": {"texts": 12, "decided": 0, "rows": []}}
    assert describe_demos(none) == "A single part decides the answer in 0 of 12 short sentences."
    assert found["words"]["texts"] == 12
    assert {row["class"] for row in found["words"]["rows"]} == {"negative", "positive"}
    for analysis in (AttentionMaps, PartImportance, WordEffects, PartEffects, DemoSentences):
        here = analysis.from_run(store, run, "test", 20)
        assert here.get_path("json").is_file() and here.folder == store.get_path(run) / "attention"
        limit = "5000" if analysis is DemoSentences else "20"
        assert here.words == ("attend", "mine", "--split", "test", "--limit", limit, "--only", here.name)
        monkeypatch.setattr(analysis, "find", lambda self, tell: pytest.fail("computed again"))
    assert api.attend(run, limit=20, store=store) == found == json.loads(json.dumps(found))
    own = PartImportance.from_run(store, run, "test", 20, each_map=True)
    assert own.words[-1] == "--each-map" and own.stem != PartImportance.from_run(store, run, "test", 20).stem
    maps = api.attend(run, limit=20, only="maps", store=store)
    assert maps["importance"] is None and maps["entropy"] == found["entropy"]
    assert api.attend(run, limit=20, only="importance", store=store)["entropy"] is None


def test_the_second_step_reads_three_hundred_texts_at_most(store, run):
    assert PartImportance.from_run(store, run, "", 2000).limit == attention_files.SILENCED
    assert AttentionMaps.from_run(store, run, "", 2000).limit == 2000
    stems = {AttentionMaps.from_run(store, run, split, limit).stem for split in ("", "validation") for limit in (9, 10)}
    assert len(stems) == 4


def test_what_cannot_be_attended_is_refused_with_a_sentence(store, run):
    compared = "--against compares maps: leave --only {} out"
    for said, how in (
        ("--split nowhere", {"split": "nowhere"}),
        *((f"--limit {limit}: a number of texts from 1 to 5000", {"limit": limit}) for limit in (0, 5001)),
        ("--only gates: no such step; choose maps, importance, words, effects, demos", {"only": "gates"}),
        *((compared.format(only), {"only": only, "against": run}) for only in ("importance", "effects")),
        ("both runs need a class token", {"limit": 5, "only": "maps", "against": run}),
    ):
        check_raises(InputError, said, api.attend, run, **how, store=store)
    check_raises(InputError, "--edit ,,: this names no part", api.evaluate, run, edit=",,", store=store)
    assert all(get_metric(name).whole_rows for name in METRICS.values()) and METRICS["multi"].startswith(TUNED)
    assert "no short text" in describe_demos({"demos": {"texts": 0, "decided": 0, "rows": []}})
    for preset in ("tfidf-logreg", "cnn", "bilstm"):
        store.create(compose(preset), preset, preset)
        said = f"'{preset}' .* has no attention; choose a run of an encoder"
        check_raises(InputError, said, api.attend, preset, store=store)


def test_an_edit_of_all_texts_is_the_edit_of_each_and_names_no_token(store, run, tmp_path):
    usual, edited = (evaluate(run, limit_test=40, edit=edit, store=store) for edit in ("", "h1.1"))
    found = edited["edited"]
    assert (found["edit"], found["rows"]) == ("h1.1", usual["n"])
    assert (found["trained"], found["edited"]) == (usual["metrics"]["accuracy"], edited["metrics"]["accuracy"])
    assert found["difference"] == pytest.approx(found["edited"] - found["trained"])
    assert found["interval"][0] <= found["difference"] <= found["interval"][1]
    texts = ["a good film", "The BAD film was long", ""]
    file = tmp_path / "texts.csv"
    with file.open("w") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in texts[:2])])
    alone = [predict(run, texts=[text], edit="h1.1", store=store)["predictions"][0] for text in texts[:2]]
    whole = predict(run, file=file, edit="h1.1", store=store)
    assert whole["edit"] == "h1.1"
    for one, each in zip(alone, whole["predictions"], strict=True):
        assert each["probabilities"] == pytest.approx(one["probabilities"], abs=1e-6)
    for edit in ("g1.1:0", "h1.1,g1.1:0"):
        said = rf"--edit {edit.split(',')[-1]}: this names a word of one text; an edit of many texts names parts"
        check_raises(InputError, said, evaluate, run, edit=edit, store=store)
    check_raises(InputError, r"--edit h9\.1: this run has layers 1 to", evaluate, run, edit="h9.1", store=store)


def test_the_answers_that_an_edit_changes_are_those_of_the_loop_of_single_edits(store, run):
    found = evaluate(run, limit_test=30, edit="h1.1,t:0.5", store=store)["edited"]
    rows = read_evaluation_data(store.read(run), DataRequest(limit=30)).rows
    pairs = []
    for text, label in zip(rows["text"], rows["label"], strict=True):
        answers = [predict(run, [text], edit=x, store=store)["predictions"][0]["label"] for x in ("", "h1.1,t:0.5")]
        pairs.append([answers[0] != answers[1], *(store.read(run).classes[label] == each for each in answers)])
    changed, trained, edited = np.array(pairs).T
    assert (found["changed"], found["trained"], found["edited"]) == (changed.sum(), trained.mean(), edited.mean())
    lost, won = int((trained & ~edited).sum()), int((edited & ~trained).sum())
    assert found["interval"] == pytest.approx(McNemar(won, lost, len(rows)).compute_interval(0.05))
