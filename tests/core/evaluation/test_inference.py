import math
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from refused import check_raises
from scipy.special import expit, softmax
from small_models import batch_of
from torch import nn

from core.evaluation import inference
from core.evaluation.inference import count_parameters, measure_inference, measure_memory, measure_time
from core.evaluation.metrics import evaluate
from core.exceptions import NotAvailable
from core.interpret.attribution_math import compute_log_odds
from core.models.trace import Batch, Intervention, Output
from core.text.config import TextConfig
from core.text.token_table import TokenTable
from core.text.tokenizer_factory import fit_tokenizer
from core.text.words import split_passages
from core.training.temperature import ABSENT, UNSCALED, Scaling

TEXTS = ["b a a", "", "a", "b b b b b", "a b"]
TOKENIZER = fit_tokenizer(["a a b"], TextConfig(min_freq=1))
CHANCE = {"single": lambda logits: softmax(logits, -1), "multi": expit}


class Counts(nn.Module):
    """A model whose logits count a and b, and which records its batches."""

    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.weight = nn.Parameter(torch.ones(2))
        self.asked: list[Batch] = []
        self.changed: list[Intervention | None] = []

    def forward(self, batch, *, trace=False, intervene=None):
        self.asked.append(batch)
        self.changed.append(intervene)
        logits = torch.stack([((batch.ids == each) & batch.keep).sum(1) for each in (2, 3)], 1) * self.weight
        return Output(self.dropout(logits), logits.repeat(1, 2))


@pytest.mark.parametrize("batch_size", [1, 2, 128])
def test_predictions_keep_the_order_of_texts(batch_size):
    found = inference.predict_texts(Counts(), TOKENIZER, TEXTS, batch_size=batch_size)
    expected = np.array([[2, 1], [0, 0], [1, 0], [0, 5], [1, 1]], np.float32)
    np.testing.assert_array_equal(found.logits, expected)
    np.testing.assert_array_equal(found.pooled, np.tile(expected, 2))
    np.testing.assert_allclose(found.probabilities, torch.tensor(expected).softmax(1), rtol=1e-6)
    assert {each.dtype for each in (found.logits, found.probabilities, found.pooled)} == {np.dtype(np.float32)}


def test_empty_input_gives_empty_arrays_and_functions_are_accepted():
    found = inference.predict_texts(Counts(), TOKENIZER, [])
    assert (found.logits.shape, found.probabilities.shape, found.pooled.shape) == ((0, 2), (0, 2), (0, 4))
    assert inference.predict_passages(count_words, [], 3).whole.logits.shape == (0, 2)

    def silent(batch, *, intervene=None):
        return Output(torch.zeros(len(batch.ids), 2), torch.zeros(len(batch.ids), 1))

    np.testing.assert_array_equal(inference.predict_texts(silent, TOKENIZER, TEXTS).probabilities, np.full((5, 2), 0.5))


def test_batches_have_similar_lengths_and_the_mode_is_restored_after_an_error():
    model = Counts().train()
    model.dropout.eval()
    inference.predict_texts(model, TOKENIZER, TEXTS)
    assert (model.training, model.dropout.training, model.weight.grad) == (True, False, None)
    model.weight.data = torch.ones(7)
    check_raises(RuntimeError, None, inference.predict_texts, model, TOKENIZER, TEXTS)
    assert (model.training, model.dropout.training) == (True, False)
    model, change = Counts(), Intervention(heads_off=frozenset({(0, 1)}))
    inference.predict_texts(model, TOKENIZER, TEXTS, batch_size=2, intervene=change)
    assert [tuple(each.ids.shape) for each in model.asked] == [(2, 5), (2, 2), (1, 1)] and model.changed == [change] * 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_scaled_logits_shrink_towards_the_prior(dtype):
    logits = torch.tensor([[1.0, -2.0, 0.5], [3.0, 3.0, -1.0]], dtype=dtype)
    prior, temperature, exact = (0.6, 0.1, 0.3), 1.8, logits.double().numpy()
    given = Scaling(temperature, prior)
    naive = np.array(prior) ** (1 - 1 / temperature) * np.exp(exact) ** (1 / temperature)
    found = inference.compute_probabilities(logits, "single", given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, naive / naive.sum(1, keepdims=True), rtol=1e-5)
    odds = (np.array(prior) / (1 - np.array(prior))) ** (1 - 1 / temperature) * np.exp(exact) ** (1 / temperature)
    np.testing.assert_allclose(inference.compute_probabilities(logits, "multi", given), odds / (1 + odds), rtol=1e-5)


@pytest.mark.parametrize("weight", [float("nan"), 3e38])
def test_nonfinite_outputs_are_refused(weight):
    model = Counts()
    with torch.no_grad():
        model.weight[0] = weight
    check_raises(NotAvailable, "are not finite", inference.predict_texts, model, TOKENIZER, TEXTS)


@pytest.mark.parametrize("task", ["single", "multi"])
def test_temperature_one_without_prior_is_bit_identical(task):
    logits = 4 * torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(inference.scale_logits(logits, task, Scaling(1.0, (0.6, 0.1, 0.3))), logits)
    assert torch.equal(inference.scale_logits(logits, task, Scaling(1.7)), logits / 1.7)


@pytest.mark.parametrize("task", ["single", "multi"])
def test_predictions_of_the_prior_do_not_change_with_temperature(task):
    prior = torch.tensor([0.5, 0.1, 0.4], dtype=torch.float64)
    logits = prior.log() if task == "single" else prior.logit()
    for temperature in (0.3, 2.0, 50.0):
        found = inference.compute_probabilities(logits[None], task, Scaling(temperature, tuple(prior.tolist())))
        np.testing.assert_allclose(found[0], prior, atol=1e-12)


def test_probabilities_are_softmax_or_sigmoid_by_task():
    logits = torch.tensor([[2.0, -1.0, 0.3], [0.1, 0.2, -3.0]], dtype=torch.float64)
    assert inference.compute_probabilities(logits, "multi", Scaling(4.0))[0, 0].item() == pytest.approx(
        1 / (1 + math.exp(-0.5))
    )
    assert inference.compute_probabilities(logits, "single").sum(-1).tolist() == pytest.approx([1, 1])
    assert inference.compute_probabilities(logits, "multi")[0, 0].item() == pytest.approx(1 / (1 + math.exp(-2)))


def count_words(texts):
    """Return logits, pooled vectors and parts from the number of words and of the word good."""
    said = np.array([(len(text.split()), text.split().count("good")) for text in texts], np.float32).reshape(-1, 2)
    return inference.Predictions(said, said / 100, said.repeat(2, 1), inference.EnsembleLogits(2 * said, 3 * said))


def test_passage_predictions_are_averaged_as_log_odds_between_pairs_of_classes():
    texts = ["good " * 3 + "bad " * 4, "good", "", "bad " * 6]
    read = inference.predict_passages(count_words, texts, 3)
    assert read.cut == [split_passages(text, 3) for text in texts]
    np.testing.assert_array_equal(read.each.logits, count_words([each for own in read.cut for each in own]).logits)
    found = read.whole
    expected = [count_words(split_passages(text, 3)).logits.mean(0) for text in texts]
    np.testing.assert_allclose(found.logits, expected)
    np.testing.assert_allclose(found.logits[0], [7 / 3, 1.0])
    np.testing.assert_allclose(found.pooled, np.repeat(expected, 2, 1))
    np.testing.assert_allclose(found.parts.network, 2 * np.array(expected))
    assert found.logits.dtype == np.float32

    def read(texts):
        logits = np.array([[len(text), text.count("o"), 2 * text.count("a")] for text in texts], np.float32)
        return inference.Predictions(logits, logits, logits).apply_scaling(UNSCALED, "single")

    found = inference.predict_passages(read, ["good bad so bad"], 1).apply_scaling(UNSCALED, "single")
    whole, each = np.log(found.whole.probabilities[0]), np.log(found.each.probabilities)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        np.testing.assert_allclose(whole[one] - whole[other], (each[:, one] - each[:, other]).mean(), atol=1e-5)
    against_all = compute_log_odds(found.each.probabilities, 0, "single").mean()
    assert abs(compute_log_odds(found.whole.probabilities, 0, "single")[0] - against_all) > 0.01


def drawn(task, rows=300, noise=(1.0, 1.5)):
    """Return logits of two models that each know some of the labels, and the labels."""
    random = np.random.default_rng(3)
    labels = random.integers(0, 3, rows) if task == "single" else random.integers(0, 2, (rows, 3))
    truth = 2.0 * (np.eye(3)[labels] if task == "single" else 2 * labels - 1)
    return inference.EnsembleLogits(*(truth + random.normal(0, 2 * each, truth.shape) for each in noise)), labels


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_mixtures_are_weighted_means_of_probabilities(task, weight):
    parts, _ = drawn(task)
    chance = CHANCE[task]
    expected = weight * chance(parts.network) + (1 - weight) * chance(parts.tfidf)
    np.testing.assert_allclose(chance(inference.blend_logits(parts, weight, task)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_the_temperature_scales_the_mixture(temperature):
    parts, _ = drawn("single")
    expected = (0.4 * softmax(parts.network, -1) + 0.6 * softmax(parts.tfidf, -1)) ** (1 / temperature)
    found = softmax(inference.blend_logits(parts, 0.4, "single") / temperature, -1)
    np.testing.assert_allclose(found, expected / expected.sum(1, keepdims=True), atol=1e-14)


def test_classes_unknown_to_tfidf_keep_the_network_share():
    parts = inference.EnsembleLogits(np.zeros((1, 2)), np.array([[0.0, ABSENT]]))
    np.testing.assert_allclose(softmax(inference.blend_logits(parts, 0.5, "single"), -1), [[0.75, 0.25]])


@pytest.mark.parametrize("task", ["single", "multi"])
@pytest.mark.parametrize("noise", [(1.0, 1.5), (2.0, 1.0), (1.3, 1.3)])
def test_the_weight_equals_a_grid_search(task, noise):
    parts, labels = drawn(task, noise=noise)
    grid = np.linspace(0, 1, 1001)
    true = np.eye(3)[labels] == 1 if task == "single" else labels == 1
    chances = [CHANCE[task](each) for each in parts]
    ours, theirs = (each[true] if task == "single" else np.where(true, each, 1 - each) for each in chances)
    losses = [-np.log(each * ours + (1 - each) * theirs).mean() for each in grid]
    found = inference.find_weight(parts, labels, task)
    assert abs(found - grid[np.argmin(losses)]) <= 0.001
    assert 0.05 < found < 0.95, "a case in which both count"


@pytest.mark.parametrize(("good", "weight"), [("network", 1.0), ("tfidf", 0.0)])
def test_harmful_models_get_weight_zero(good, weight):
    labels = np.arange(40) % 2
    right = 6.0 * np.eye(2)[labels]
    parts = inference.EnsembleLogits(**{"network": -right, "tfidf": -right, good: right})
    assert inference.find_weight(parts, labels, "single") == weight


@pytest.mark.parametrize("task", ["single", "multi"])
def test_each_model_has_its_own_metrics(task):
    parts, labels = drawn(task)
    found = inference.evaluate_parts(parts, labels, task)
    for name, logits in parts._asdict().items():
        assert found[name] == pytest.approx(evaluate(labels, CHANCE[task](logits), task), abs=1e-6)


class Slow(nn.Module):
    """A model that is slow at first, then takes 2 ms per pass."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.passes = 0

    def forward(self, batch):
        self.passes += 1
        assert not self.training and not torch.is_grad_enabled()
        time.sleep(0.05 if self.passes <= 3 else 0.002)
        return Output(torch.zeros(1, 2), torch.zeros(1, 2))


def test_only_trainable_parameters_are_counted():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2, bias=False))
    assert count_parameters(model) == 3 * 2 + 2 + 4
    model[1].requires_grad_(False)
    assert count_parameters(model) == 8


def test_timing_excludes_warm_up_and_restores_the_mode(monkeypatch):
    monkeypatch.setattr(inference, "REPEATS", 5)
    model = Slow().train()
    found = measure_time(model, batch_of([[2, 3], [2]]))
    assert model.passes == 8 and 2 <= found["low"] <= found["milliseconds"] <= found["high"]
    assert found["milliseconds"] < 40 and (found["rows"], found["tokens"], found["device"]) == (2, 2, "cpu")
    assert model.training


def test_errors_inside_the_model_are_raised():
    class Broken(Slow):
        def forward(self, batch):
            raise RuntimeError("broken")

    model = Broken().train()
    with pytest.raises(RuntimeError, match="broken"):
        measure_time(model, batch_of([[2]]))
    assert model.training


def test_memory_counts_live_tensors_without_views():
    """Two layers of 1 000 floats on 10 rows, whose results are in memory at the same time."""

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1000))

        def forward(self, batch):
            first = batch.ids[:, :1] * self.weight
            second = first + 1
            del first
            third = second + 1
            return Output(third, third)

    batch = batch_of([[2]] * 10)
    assert measure_memory(Two(), batch) == 1000 * 4 + 10 * 8 + 10 + 2 * 10 * 1000 * 4

    class Views(nn.Module):
        def forward(self, batch):
            logits = batch.ids.view(-1).reshape(2, 2).T.add_(1)
            return Output(logits, logits)

    assert measure_memory(Views(), batch_of([[2, 3], [2, 4]])) == 4 * 8 + 4


def test_measured_texts_have_lengths_like_the_split():
    seen = []

    class Watched(Slow):
        def forward(self, batch):
            seen.append(batch.keep.sum(1).tolist())
            return super().forward(batch)

    tokens = TokenTable.from_ids([[2] * length for length in list(range(1, 641))])
    before = torch.get_num_threads()
    found = measure_inference(Watched(), tokens)
    batch, one = max(seen, key=len), min(seen, key=len)
    assert batch == list(range(6, 641, 10)), "the middle of every 64th part"
    assert one == [321]
    assert (found["rows"], found["tokens"], found["one"]["rows"], found["one"]["tokens"]) == (64, 636, 1, 321)
    assert found["device"] == "cpu" and found["processor"] and torch.get_num_threads() == before
    found = measure_inference(Slow(), TokenTable.from_ids([[2, 3]]))
    assert (found["rows"], found["one"]["rows"]) == (1, 1)


@pytest.mark.slow
def test_counting_memory_does_not_load_torchs_compiler():
    """The import would delay every training by two seconds."""
    code = (
        "import sys, torch\n"
        "from core.evaluation.inference import _TensorMemoryCounter\n"
        "with _TensorMemoryCounter([]) as alive: torch.ones(3) + 1\n"
        "assert alive.peak > 0 and 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
