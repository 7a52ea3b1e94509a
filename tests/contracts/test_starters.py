"""The starter runs in every checkout: small, complete and loadable."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.data.sources.builtin.generate import generate_corpus
from core.error_analysis.quiz import compute_probabilities, locate_file, make_quiz
from core.interpret.faithfulness_verdict import judge_method
from core.interpret.sentence_inspection import CLASS_TOKEN, inspect_text
from core.models.presets import PAPERS, PRESETS
from core.runs.attention_files import PartEffects
from core.runs.faithfulness_files import BeliefFiles
from core.runs.load import load_run
from core.runs.projections import MapFiles
from core.runs.record import CHECKPOINT, EMBEDDINGS, EVALUATION, PREDICTIONS
from core.runs.store import RunStore
from core.text.word_spans import remove_words
from core.training.history import read_history

TRAINED = Path(__file__).resolve().parents[2] / "trained"
ALONE = {"ndt-small", "ndt-shares", "ndt-shares-s1", "tweet-v1-p2"}  # starter runs trained only on the built-in corpus
ENGLISH = {"vanilla", "differential", "ndt-01-n3", "sentiformer", "lexical-last", "inceptive-16"}
"""Starter runs with an encoder pretrained on much more text."""
STARTERS = ALONE | ENGLISH
MEGABYTES = 41
STORE = RunStore(TRAINED)
EVERY = pytest.mark.parametrize("run", sorted(f"starter-{name}" for name in STARTERS))


def test_each_paper_has_a_starter_and_together_they_are_small():
    assert {PRESETS[STORE.read(f"starter-{name}").preset].paper for name in STARTERS} == set(PAPERS) - {"baseline"}
    found = sorted(TRAINED.glob("starter-*"))
    assert {path.name for path in found} >= {f"starter-{name}" for name in STARTERS}
    files = [file for path in found for file in path.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= MEGABYTES * 1e6
    assert not [file for file in files if CHECKPOINT in file.parts]


@EVERY
def test_starter_is_done_with_metrics_intervals_baseline_and_history(run):
    record = STORE.read(run)
    assert record.status == "done" and (run == f"starter-{record.preset}" or run.startswith("starter-ndt-s"))
    for split in ("validation", "test", "challenge", "everyday"):
        low, high = record.results["intervals"][split]["accuracy"]
        assert low <= record.results["metrics"][split]["accuracy"] <= high
        assert record.results["yardstick"]["splits"][split]["accuracy"] > 0
    history = read_history(TRAINED / run / "history.jsonl")
    assert history.skipped == 0 and len(history.select_kind("epoch")) >= record.results["best_epoch"]


@pytest.mark.slow
@EVERY
def test_starter_weights_reproduce_its_predictions(run):
    loaded = load_run(STORE, run)
    saved = pd.read_parquet(TRAINED / run / EVALUATION / "challenge" / PREDICTIONS)
    found = loaded.predict(saved["text"].tolist())
    for number, name in enumerate(loaded.record.classes):
        np.testing.assert_allclose(found.probabilities[:, number], saved[f"probability:{name}"], atol=1e-5)
    vectors = np.load(TRAINED / run / EVALUATION / "test" / EMBEDDINGS, allow_pickle=False)
    tested = pd.read_parquet(TRAINED / run / EVALUATION / "test" / PREDICTIONS)["text"].tolist()[:50]
    rounding = 2.0 ** -(7 if run == "starter-inceptive-16" else 10)  # half precision, of the largest file 7 bits
    np.testing.assert_allclose(loaded.predict(tested).pooled, vectors[:50], atol=1e-4, rtol=rounding)
    assert [path.parent.name for path in (TRAINED / run / EVALUATION).glob(f"*/{EMBEDDINGS}")] == ["test"]
    lambdas = [layer.tolist() for layer in loaded.model.get_lambdas()]
    assert np.allclose(np.squeeze(lambdas, -1) if lambdas else [], loaded.record.results.get("lambda", []), atol=1e-6)
    view = inspect_text(loaded.model, loaded.tokenizer, loaded.record.classes, "not bad at all")
    assert len(view.layers) == loaded.record.config.model.layers
    words = tuple(token.strip() for token in view.tokens if token != CLASS_TOKEN)
    assert words == ("not", "bad", "at", "all")


@pytest.mark.slow
@EVERY
def test_its_quiz_says_what_its_weights_say(run):
    loaded, path = load_run(STORE, run), locate_file(STORE, run)
    assert path.parent == TRAINED / run / "quiz" and [*path.parent.iterdir()] == [path]
    questions = make_quiz(STORE, run).questions
    assert [each.right for each in questions].count(False) == 3 and len(questions) == 5
    for each in questions:
        flipped = remove_words(each.text, [each.words[word] for word in each.flip])
        bits = sum(1 << each.subset.index(word) for word in each.flip)
        found = loaded.predict([each.text, flipped]).probabilities
        for row, chances in zip((0, bits), found, strict=True):
            np.testing.assert_allclose(compute_probabilities(each.scores, row), chances, atol=1e-3)
        assert [loaded.record.classes[place] == each.predicted for place in found.argmax(1)] == [True, False]


@pytest.fixture(scope="module")
def tested() -> list[str]:
    """The test texts of the built-in corpus."""
    return generate_corpus(2)["test"]["text"].tolist()


@pytest.mark.slow
@EVERY
def test_starter_predictions_are_on_the_present_corpus(run, tested):
    saved = pd.read_parquet(TRAINED / run / EVALUATION / "test" / PREDICTIONS)
    assert saved["text"].tolist() == tested


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(ENGLISH))
def test_pretrained_starters_read_whole_words_and_pieces_of_made_up_ones(preset):
    loaded = load_run(STORE, f"starter-{preset}")
    assert loaded.record.results["start"]["run"] == f"first-{preset}"
    assert "people" in loaded.record.config.data.parse_list("add")
    assert loaded.record.vocabulary == 16_000 and loaded.record.config.data.parse_list("add")
    view = loaded.inspect("The waiter was unfriendly.")
    assert not any(view.unknown) and view.layers


@EVERY
@pytest.mark.parametrize("method", ["tsne", "umap"])
def test_starter_maps_exist_and_belong_to_its_embeddings(run, method):
    from core.evaluation.projection import ProjectionConfig

    made = MapFiles.from_run(STORE, run, "test", ProjectionConfig(method)).read()
    assert made.places.shape == (3000, 2) and np.isfinite(made.places).all()


@pytest.mark.slow
def test_starter_records_have_no_paths_or_user_names():
    for file in TRAINED.glob("starter-*/**/*.json"):
        text = json.dumps(json.loads(file.read_text()))
        assert "/root" not in text and "/home" not in text and "/work" not in text, file


@EVERY
def test_starter_has_its_faithfulness_result_for_deletion(run):
    found = BeliefFiles.from_run(STORE, run, "deletion").read()
    assert found is not None and found.sentences == 200
    verdicts = [judge_method(each.method, {**each.tests, "answers": found.answers}) for each in found.methods]
    assert [each.verdict for each in verdicts] == ["evidence"]


@pytest.mark.slow
@EVERY
def test_starter_keeps_what_its_parts_do(run):
    files = PartEffects.from_run(STORE, run)
    kept, again = files.read(), files.find(lambda what, share: None)
    assert kept is not None and again["texts"] == 500
    for first, second in zip(kept["effects"], again["effects"], strict=True):
        assert (first["what"], first["changed"]) == (second["what"], pytest.approx(second["changed"], abs=1))
        assert first["accuracy"] == pytest.approx(second["accuracy"], abs=0.003)


@pytest.mark.parametrize(("run", "least", "most"), [("shares", 50, 500), ("shares-s1", 50, 500), ("small", 0, 25)])
def test_lambda_moves_and_matters_only_where_it_started_at_one(run, least, most):
    kept = PartEffects.from_run(STORE, f"starter-ndt-{run}").read()
    zero = next(row for row in kept["effects"] if row["edit"] == "l:0")
    assert least <= zero["changed"] <= most
    rows = read_history(TRAINED / f"starter-ndt-{run}" / "history.jsonl").select_kind("step")
    first, *_, last = (np.array(row["lambda"]) for row in rows if "lambda" in row)
    assert (np.abs(last - first).max() >= 0.5) == (least > 0)
