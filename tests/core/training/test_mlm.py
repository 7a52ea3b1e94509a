import dataclasses
import math

import numpy as np
import pytest
import torch
from stopping import StopAfter, copy_weights, have_same_bits, rows_without_time
from torch.nn import functional as F

from core.config import compose
from core.exceptions import Cancelled
from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig
from core.models.trace import Batch
from core.text.special_ids import FIRST, UNKNOWN
from core.text.token_table import TokenTable
from core.training.config import TrainingConfig
from core.training.history import read_history
from core.training.mlm import Masking, compute_ppmi, compute_word_vectors, mask_words, place_vectors, sum_cooccurrences
from core.training.training_stage import Events

PART = AttentionConfig(heads=2, qk_width="half", components=3, mixing="additive")
MODEL = ModelConfig(width=8, layers=2, ff_width=8, norm="rms", feedforward="swiglu", attention=PART)
WORDS = 20


def texts(count=60):
    """Each text repeats one word eight times, so that a masked word follows from its neighbours."""
    return TokenTable.from_ids([[word] * 8 for word in np.random.default_rng(0).integers(FIRST, WORDS, count)])


@pytest.fixture
def make(tmp_path):
    def masking(name="run", events=None, model=MODEL, tokens=None, **settings):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        config = TrainingConfig(**{"masked_epochs": 3, "batch_size": 8, "lr": 1e-2, **settings})
        torch.manual_seed(config.seed)
        built = build_model(model, vocabulary=WORDS, classes=2)
        parts = {"model": built, "tokens": tokens or texts(), "config": config}
        parts |= {"history": folder / "masked.jsonl", "checkpoint": folder / "checkpoint"}
        return Masking(**parts, device=torch.device("cpu"), events=events or Events())

    return masking


def test_masked_words_are_hidden_swapped_or_unchanged_in_the_given_shares():
    torch.manual_seed(0)
    ids = torch.randint(FIRST, 1000, (400, 100))
    read, places = mask_words(Batch(ids, torch.ones_like(ids, dtype=torch.bool)), 1000)
    swapped = read.ids[places]
    assert places.float().mean() == pytest.approx(0.15, abs=0.006)
    assert (swapped == UNKNOWN).float().mean() == pytest.approx(0.8, abs=0.02)
    assert (swapped == ids[places]).float().mean() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(read.ids[~places], ids[~places])
    assert read.ids.min() >= UNKNOWN and read.ids.max() < 1000


def test_padding_and_unknown_words_are_never_masked_and_features_are_hidden(make):
    torch.manual_seed(0)
    ids = torch.tensor([[UNKNOWN] * 50 + [0] * 50]).repeat(20, 1)
    read, places = mask_words(Batch(ids, ids > 0), 30)
    assert not places.any() and torch.equal(read.ids, ids)
    job = make(tokens=TokenTable.from_ids([[UNKNOWN], []]), masked_epochs=1)
    job.run()
    assert read_history(job.history).select_kind("epoch")[0]["train_loss"] == 0, (
        "without a word to guess nothing changes"
    )
    torch.manual_seed(1)
    ids = torch.full((50, 20), 5)
    polarity, grams = torch.tensor([1.0, 0, 0]).expand(50, 20, 3), torch.tensor([7, 9]).expand(50, 20, 2)
    read, places = mask_words(Batch(ids, torch.ones_like(ids, dtype=torch.bool), polarity=polarity, grams=grams), 30)
    hidden = read.ids == UNKNOWN
    assert torch.equal(read.polarity[hidden], torch.full((int(hidden.sum()), 3), 1 / 3))
    assert torch.equal(read.polarity[~places], polarity[~places]) and not read.grams[hidden].any()
    assert torch.equal(read.grams[~places], grams[~places])


def test_the_loss_is_the_cross_entropy_of_masked_words(make):
    job, rows = make(), np.arange(16)
    job.model.eval()
    torch.manual_seed(7)
    (loss,) = job._yield_losses(rows)
    torch.manual_seed(7)
    whole = Batch.from_arrays(job.tokens.pad_rows(rows))
    read, places = mask_words(whole, WORDS)
    losses, norm = [], job.guess.norm
    vectors = job.model.encode_tokens(read)
    for row, place in places.nonzero().tolist():
        inner = F.gelu(job.guess.hidden(vectors[row, place]))
        inner = F.layer_norm(inner, (MODEL.width,), norm.weight, norm.bias)
        scores = job.model.embedding.weight @ inner + job.guess.bias
        losses.append(-scores.log_softmax(0)[whole.ids[row, place]].item())
    assert len(losses) > 5 and loss.item() == pytest.approx(np.mean(losses), rel=1e-5)


@pytest.mark.slow
def test_masked_words_are_learned_from_context(make):
    job = make(masked_epochs=12, lr=2e-2)
    job.run()
    losses = [row["train_loss"] for row in read_history(job.history).select_kind("epoch")]
    assert len(losses) == 12 and losses[0] > 2.5 and losses[-1] < 1.5
    assert not job.model.training and job.progress.step == job.steps == 12 * 8


@pytest.mark.slow
def test_pretraining_is_reproducible_and_resumes_bit_identically(make):
    whole = make("whole")
    whole.run()
    with pytest.raises(Cancelled):
        make("cut", StopAfter(11)).run()
    rest = make("cut")
    rest.run()
    assert have_same_bits(whole.module, rest.module)
    assert rows_without_time(whole.history) == rows_without_time(rest.history)
    ended = make("cut")
    ended._update_weights = None  # a finished stage does not run again
    ended.run()
    assert have_same_bits(ended.module, whole.module)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "cls"},
        {"attention": AttentionConfig(heads=2, window=4)},
        {"norm_place": "post", "norm": "layer", "feedforward": "relu"},
    ],
)
def test_every_encoder_can_be_pretrained(make, changes):
    job = make(model=dataclasses.replace(MODEL, **changes), masked_epochs=1)
    before = copy_weights(job.model)
    job.run()
    untouched = {name for name, tensor in job.model.named_parameters() if torch.equal(tensor, before[name])}
    assert untouched == {name for name in before if name.startswith("head.")}


def test_portions_sum_to_the_gradient_of_the_batch(make):
    """Texts of uneven lengths, with unevenly distributed masked words."""
    random = np.random.default_rng(0)
    tokens = TokenTable.from_ids([random.integers(FIRST, WORDS, 1 + 3 * row).tolist() for row in range(12)])
    found = []
    for portions in (1, 3):
        job = make(f"in {portions}", model=dataclasses.replace(MODEL, dropout=0.0), tokens=tokens, portions=portions)
        torch.manual_seed(3)
        losses = [loss for loss in job._yield_losses(np.arange(12)) if loss.backward() is None]
        assert len(losses) == portions
        found.append((sum(losses).item(), {name: each.grad for name, each in job.module.named_parameters()}))
    (whole, gradient), (sum_of_parts, added) = found
    assert whole > 1 and sum_of_parts == pytest.approx(whole, abs=1e-6)
    learned = {name for name, each in gradient.items() if each is not None}
    assert learned == {name for name in gradient if not name.startswith("model.head.")}
    assert all(torch.allclose(gradient[name], added[name], atol=1e-6) for name in learned)


RANDOM = np.random.default_rng(0)
WEIGHTS = 1 / np.arange(1, 29) / (1 / np.arange(1, 29)).sum()
TEXTS = [RANDOM.choice(np.arange(1, 29), RANDOM.integers(0, 14), p=WEIGHTS).tolist() for _ in range(60)]
SIZE = 30  # ids 28 and 29 occur never or rarely; 1 is the unknown word


def dense(texts, size):
    counts = np.zeros((size, size))
    for text in texts:
        for i, word in enumerate(text):
            for j, context in enumerate(text):
                if 0 < abs(i - j) <= 4 and min(word, context) >= FIRST:
                    counts[word, context] += 1 / abs(i - j)
    chance = counts.sum(0) ** 0.75 / (counts.sum(0) ** 0.75).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        mutual = np.log(counts / counts.sum(1, keepdims=True) / chance)
    return counts, np.where(counts > 0, np.maximum(mutual, 0), 0)


def test_cooccurrences_and_ppmi_match_their_definition():
    counts, expected = dense(TEXTS, SIZE)
    found = sum_cooccurrences(TokenTable.from_ids(TEXTS), SIZE)
    assert found.toarray() == pytest.approx(counts) and compute_ppmi(found).toarray() == pytest.approx(expected)
    assert not counts[UNKNOWN].any() and counts.any()


@pytest.mark.parametrize("width", [6, 64])
def test_vectors_equal_a_dense_svd(width):
    """Equal up to the sign of a column; with fewer words than columns the last ones are 0."""
    found, known = compute_word_vectors(TokenTable.from_ids(TEXTS), size=SIZE, width=width, seed=3)
    _, expected = dense(TEXTS, SIZE)
    left, singular, _ = np.linalg.svd(expected)
    rows = left[:, :width] * np.sqrt(singular[:width])
    rows = rows[known] / np.linalg.norm(rows[known], axis=1, keepdims=True)
    assert known.tolist() == expected.any(1).tolist() and found.shape == (SIZE, width)
    assert found[known] @ found[known].T == pytest.approx(rows @ rows.T, abs=1e-5)
    assert not found[~known].any() and not found[:, SIZE:].any()
    again, _ = compute_word_vectors(TokenTable.from_ids(TEXTS), size=SIZE, width=width, seed=3)
    assert np.array_equal(again, found), "the same seed gives the same bits"
    for texts in ([], [[]], [[5], [UNKNOWN, 6]]):
        vectors, known = compute_word_vectors(TokenTable.from_ids(texts), size=SIZE, width=width, seed=0)
        assert not vectors.any() and not known.any(), "without a pair of words there are none"


@pytest.mark.parametrize(("preset", "long"), [("vanilla", 1), ("tweet-v1-p1", math.sqrt(128)), ("cnn", math.sqrt(300))])
def test_vectors_have_the_length_of_random_rows_and_unknown_words_keep_theirs(preset, long):
    torch.manual_seed(0)
    model = build_model(compose(preset).model, vocabulary=SIZE, classes=2, max_length=8)
    drawn = model.embedding.weight.detach().clone()
    vectors, known = compute_word_vectors(TokenTable.from_ids(TEXTS), size=SIZE, width=drawn.shape[1], seed=0)
    place_vectors(model, vectors, known)
    rows = model.embedding.weight.detach()
    assert rows[known].norm(dim=1).numpy() == pytest.approx(long, rel=1e-5)
    assert torch.equal(rows[~known], drawn[~known]) and not known[:FIRST].any()
    assert drawn.norm(dim=1).mean().item() == pytest.approx(long, rel=0.1)
