"""SentiFormer's theory: the rule and its corners, hand-set weights, exact ceilings, the kernel, and kept results."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from core.api import public as sentiscope
from core.exceptions import InputError, NotAvailable
from core.papers import kernel_view, theory
from core.papers.theory_names import LENGTHS, MODELS, WINDOWS, average_over_seeds, read_theory
from core.runs.load import load_run
from core.runs.store import RunStore

pytestmark = pytest.mark.slow

TRAINED = Path(__file__).resolve().parents[3] / "trained"


@pytest.fixture(autouse=True)
def _starters(monkeypatch):
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(TRAINED))


@pytest.mark.parametrize("n", [2, 5, 64])
def test_the_four_corners_are_balanced_and_the_label_follows_the_rule(n):
    batch, labels = theory.draw_texts(n, 400, torch.Generator().manual_seed(1))
    first, last = batch.ids[:, 0] == theory.NOT, batch.ids[:, -1] == theory.GOOD
    assert Counter(zip(first.tolist(), last.tolist(), strict=True)) == dict.fromkeys(
        [(False, False), (False, True), (True, False), (True, True)], 100
    )
    assert torch.equal(labels.bool(), first & last) and batch.ids.min() >= 1 and batch.ids.max() < theory.OTHERS
    if n > 2:  # both words also stand where they mean nothing
        assert all((batch.ids[:, 1:-1] == word).any() for word in (theory.NOT, theory.GOOD))


def test_weights_set_by_hand_are_exact_for_every_length():
    model = theory.build_transformer()
    theory.set_weights(model)
    for n in range(2, 65):
        assert theory.count_right(model, n, seed=3) == {"accuracy": 1, "hard": 1}, n


@pytest.mark.parametrize("n", [4, 16, 64])
def test_its_two_heads_look_at_the_first_and_at_the_last_word(n):
    traced = theory.trace_hand_set(n)
    heads = np.array(traced["heads"])
    assert heads.shape == (2, n) and heads[0, 0] == pytest.approx(1) and heads[1, -1] == pytest.approx(1)
    assert traced["words"][0] == "not" and traced["words"][-1] == "good" and traced["positive"] > 0.999


def test_a_window_reads_nothing_before_it():
    model = theory.build_markov_model("window-4")
    batch, _ = theory.draw_texts(9, 8, torch.Generator().manual_seed(0))
    other = batch._replace(ids=torch.cat([batch.ids[:, :5].flip(0), batch.ids[:, 5:]], 1))
    assert torch.equal(model(batch).logits, model(other).logits)
    assert not torch.equal(model(batch).logits, model(batch._replace(ids=batch.ids.flip(1))).logits)


def test_tfidf_gives_words_in_another_order_the_same_answer():
    model = theory.build_markov_model("tfidf")
    batch, _ = theory.draw_texts(7, 8, torch.Generator().manual_seed(0))
    assert torch.allclose(model(batch).logits, model(batch._replace(ids=batch.ids.flip(1))).logits)
    vector, _ = model.pool_tokens(torch.eye(theory.OTHERS)[torch.tensor([[1, 1, 2]])], batch.keep, None)
    expected = np.array([1 + np.log(2), 1]) / np.hypot(1 + np.log(2), 1)
    assert vector[0, 1:3].tolist() == pytest.approx(expected)


def test_all_short_sequences_are_listed_once():
    ids = theory.list_sequences()
    assert ids.shape == (340, 4) and len({tuple(row) for row in ids.tolist()}) == 340 == sum(4**n for n in range(1, 5))


def test_the_best_of_word_counts_is_the_majority_of_equal_counts():
    ids = torch.tensor([[1, 2], [2, 1], [1, 1], [2, 2]])
    assert theory.count_best_by_words(ids, torch.tensor([0, 1, 1, 0])) == 0.75
    assert theory.count_best_by_words(ids, torch.tensor([1, 1, 0, 0])) == 1


def test_a_short_training_learns_the_rule_and_a_window_does_not():
    model, steps = theory.train_markov_model("transformer", 4, seed=0)
    assert steps < theory.STEPS and theory.count_right(model, 4)["accuracy"] == 1
    model, steps = theory.train_markov_model("window-2", 8, seed=0)
    assert steps == theory.FEW_STEPS and theory.count_right(model, 8)["hard"] == pytest.approx(0.5, abs=0.08)


def test_kept_results_are_what_the_propositions_say():
    found = read_theory("markov")
    assert len(found["rows"]) == len(MODELS) * len(LENGTHS) * len(found["seeds"])
    for n in LENGTHS:
        for model in ("lstm", "transformer"):  # an RNN too: the paper's sections III.C and VI.A are wrong
            assert average_over_seeds(found["rows"], model, n) > 0.995, (model, n)
        for k in WINDOWS:
            right = average_over_seeds(found["rows"], f"window-{k}", n)
            assert right > 0.995 if k >= n else right == pytest.approx(0.5, abs=0.04), (k, n)
    assert [row["n"] for row in found["hand"]] == [*range(2, 65)] and all(row["accuracy"] == 1 for row in found["hand"])
    memory = read_theory("memorise")
    assert memory["sequences"] == 340 and all(row["accuracy"] == 1 for row in memory["rows"])
    assert all(0.5 < row["counts"] < 0.75 for row in memory["rows"])
    assert found["seconds"] + memory["seconds"] < 180


def test_attention_is_the_normalised_kernel_and_outputs_stay_in_the_hull():
    run = load_run(RunStore(), "starter-sentiformer")
    seen = kernel_view.compute_view(run, "The plot is thin, but I never got bored.", 1)
    assert seen.layer == 1 and seen.tokens[0] == "[CLS]" and seen.maps.shape == (4, 12, 12)
    assert seen.difference < kernel_view.LIMIT and seen.output_difference < 1e-12 and seen.outside == 0
    assert seen.weights.sum(-1) == pytest.approx(1) and seen.weights.min() >= 0
    assert seen.gates[0] == 1 and (seen.gates[1:] < 1).all()
    without = kernel_view.compute_kernel(*np.ones((2, 1, 12, 8)), np.ones(12), np.ones((12, 12), bool))
    assert (without == 1).all()


def test_the_gate_is_a_factor_on_keys_and_hidden_keys_weigh_nothing():
    draw = np.random.default_rng(0)
    q, k = draw.normal(size=(2, 2, 5, 4))
    gates, seen = np.array([1, 0.5, 0.1, 1, 1]), np.tril(np.ones((5, 5), bool))
    plain, gated = (kernel_view.compute_kernel(q, k, each, seen) for each in (np.ones(5), gates))
    assert gated / gated.sum(-1, keepdims=True) == pytest.approx(plain * gates / (plain * gates).sum(-1, keepdims=True))
    row = np.exp(q[1, 3, :] @ k[1, :4].T / 2)
    assert plain[1, 3, :4] / plain[1, 3, :4].sum() == pytest.approx(row / row.sum()) and plain[1, 3, 4] == 0


def test_what_has_no_kernel_is_refused():
    store = RunStore()
    for run, said in (("starter-ndt-01-n3", "no single attention map"), ("starter-lexical-last", "more terms")):
        with pytest.raises(NotAvailable, match=said):
            kernel_view.compute_view(load_run(store, run), "good")
    with pytest.raises(InputError, match="layer 9: this model has layers 1 to"):
        sentiscope.theory("kernel", layer=9)
    with pytest.raises(NotAvailable, match="knows no word"):
        sentiscope.theory("kernel", text="")


def test_a_mistyped_name_lists_all():
    with pytest.raises(InputError, match="no theory 'turing'; choose one of kernel, memorise, markov"):
        sentiscope.theory("turing")
