"""SentiFormer's theory: the rule and its corners, hand-set weights, exact ceilings, the kernel, and kept results."""

from collections import Counter

import numpy as np
import pytest
import torch
from refused import check_raises

from core.api import public as sentiscope
from core.exceptions import InputError, NotAvailable
from core.models.trace import Batch
from core.papers import theory
from core.papers.reported_results import read_theory
from core.runs.load import load_run
from core.runs.store import RunStore

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("starters")]


@pytest.mark.parametrize("n", [2, 5, 64])
def test_the_four_corners_are_balanced_and_the_label_follows_the_rule(n):
    batch, labels = theory.draw_texts(n, 400, 1)
    first, last = batch.ids[:, 0] == theory.NOT, batch.ids[:, -1] == theory.GOOD
    assert Counter(zip(first.tolist(), last.tolist(), strict=True)) == dict.fromkeys(
        [(False, False), (False, True), (True, False), (True, True)], 100
    )
    assert torch.equal(labels.bool(), first & last) and batch.ids.min() >= 1 and batch.ids.max() < theory.OTHERS
    if n > 2:  # both words also stand where they mean nothing
        assert all((batch.ids[:, 1:-1] == word).any() for word in (theory.NOT, theory.GOOD))


def test_weights_set_by_hand_are_exact_and_a_window_reads_nothing_before_it():
    model = theory.build_transformer()
    theory.set_weights(model)
    for n in range(2, 65):
        assert theory.count_right(model, n, seed=3) == {"accuracy": 1, "hard": 1}, n
    model = theory.MODELS["window of 4"]()
    batch, _ = theory.draw_texts(9, 8, 0)
    other = batch._replace(ids=torch.cat([batch.ids[:, :5].flip(0), batch.ids[:, 5:]], 1))
    assert torch.equal(model(batch).logits, model(other).logits)
    assert not torch.equal(model(batch).logits, model(batch._replace(ids=batch.ids.flip(1))).logits)


@pytest.mark.parametrize("n", [4, 16, 64])
def test_its_two_heads_look_at_the_first_and_at_the_last_word(n):
    traced = theory.trace_hand_set(n)
    first, last = traced["rows"][0], traced["rows"][-1]
    assert len(traced["rows"]) == n and (first["word"], last["word"]) == ("not", "good")
    assert first["head_1"] == pytest.approx(1) and last["head_2"] == pytest.approx(1) and traced["positive"] > 0.999


def test_all_short_sequences_are_listed_once_and_word_counts_give_their_majority():
    ids = theory.list_sequences()
    assert ids.shape == (340, 4) and len({tuple(row) for row in ids.tolist()}) == 340 == sum(4**n for n in range(1, 5))
    ids = torch.tensor([[1, 2], [2, 1], [1, 1], [2, 2]])
    assert theory.count_best_by_words(ids, torch.tensor([0, 1, 1, 0])) == 0.75
    assert theory.count_best_by_words(ids, torch.tensor([1, 1, 0, 0])) == 1


def test_a_short_training_learns_the_rule_and_a_window_or_tfidf_does_not():
    model, steps = theory.train_markov_model("transformer", 4, seed=0)
    assert steps < theory.STEPS and theory.count_right(model, 4)["accuracy"] == 1
    model, steps = theory.train_markov_model("window of 2", 8, seed=0)
    assert steps == theory.FEW_STEPS and theory.count_right(model, 8)["hard"] == pytest.approx(0.5, abs=0.08)
    model = theory.MODELS["TF-IDF"]()
    batch, _ = theory.draw_texts(7, 8, 0)
    assert torch.allclose(model(batch).logits, model(batch._replace(ids=batch.ids.flip(1))).logits)
    vector = model(Batch(torch.tensor([[1, 1, 2]]), torch.ones(1, 3, dtype=torch.bool))).pooled
    assert vector[0, 1:3].tolist() == pytest.approx(np.array([1 + np.log(2), 1]) / np.hypot(1 + np.log(2), 1))


def test_kept_results_are_what_the_propositions_say():
    found = read_theory("markov")
    lengths, means = tuple(found["lengths"]), found["means"]
    assert lengths == theory.LENGTHS == (4, 8, 16, 32, 64) and list(means) == list(theory.MODELS)
    assert len(found["rows"]) == len(theory.MODELS) * len(lengths) * len(found["seeds"])
    for model, shares in means.items():
        hard = [[row["hard"] for row in found["rows"] if (row["model"], row["n"]) == (model, n)] for n in lengths]
        assert shares == pytest.approx(np.mean(hard, 1))
    # an RNN too: the paper's sections III.C and VI.A are wrong
    assert min(means["LSTM"]) > 0.995 and min(means["transformer"]) > 0.995
    for k in theory.WINDOWS:
        for n, right in zip(lengths, means[f"window of {k}"], strict=True):
            assert right > 0.995 if k >= n else right == pytest.approx(0.5, abs=0.04), (k, n)
    assert found["hand"] == {str(n): 1 for n in range(2, 65)}
    assert found["maps"]["rows"] == theory.trace_hand_set(theory.DRAWN)["rows"]
    memory = read_theory("memorise")
    assert memory["sequences"] == 340 and all(row["accuracy"] == 1 for row in memory["rows"])
    assert all(0.5 < row["counts"] < 0.75 for row in memory["rows"])
    assert found["seconds"] + memory["seconds"] < 180


def test_attention_is_the_normalised_kernel_and_the_gate_a_factor_on_its_keys():
    run = load_run(RunStore(), "starter-sentiformer")
    found = theory.compare_with_kernel(run, "The plot is thin, but I never got bored.", 1)
    maps, weights, gates = (np.array(found[name]) for name in ("maps", "weights", "gates"))
    assert found["layer"] == 1 and found["tokens"][0] == "[CLS]" and maps.shape == (4, 12, 12)
    assert weights == pytest.approx(maps, abs=1e-6) and found["difference"] < 1e-6 and found["distance"] < 1e-12
    assert weights.sum(-1) == pytest.approx(1) and weights.min() >= 0, "means of the values are inside their hull"
    assert gates[0] == 1 and (gates[1:] < 1).all()
    assert (theory.compute_kernel(*np.ones((2, 1, 12, 8)), np.ones(12), np.ones((12, 12), bool)) == 1).all()
    q, k = np.random.default_rng(0).normal(size=(2, 2, 5, 4))
    gates, seen = np.array([1, 0.5, 0.1, 1, 1]), np.tril(np.ones((5, 5), bool))
    plain, gated = (theory.compute_kernel(q, k, each, seen) for each in (np.ones(5), gates))
    assert gated / gated.sum(-1, keepdims=True) == pytest.approx(plain * gates / (plain * gates).sum(-1, keepdims=True))
    row = np.exp(q[1, 3, :] @ k[1, :4].T / 2)
    assert plain[1, 3, :4] / plain[1, 3, :4].sum() == pytest.approx(row / row.sum()) and plain[1, 3, 4] == 0


def test_what_has_no_kernel_is_refused_and_a_mistyped_name_lists_all():
    store = RunStore()
    for run, said in (("starter-ndt-01-n3", "no single attention map"), ("starter-lexical-last", "more terms")):
        check_raises(NotAvailable, said, theory.compare_with_kernel, load_run(store, run), "good")
    check_raises(InputError, "layer 9: this model has layers 1 to", sentiscope.theory, "kernel", layer=9)
    check_raises(NotAvailable, "knows no word", sentiscope.theory, "kernel", text="")
    with pytest.raises(InputError, match="no experiment 'turing'; choose one of kernel, memorise, markov"):
        sentiscope.theory("turing")
