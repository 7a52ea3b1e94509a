"""Words that a batch forgets."""

import dataclasses

import pytest
import torch
from stopping import StopAfter

from core.config import compose
from core.exceptions import Cancelled, ConfigError
from core.models.trace import Batch
from core.text.ids import UNKNOWN
from core.training import loop
from core.training.history import read_history
from core.training.masked import forget_words


def batch(rows=200, length=50):
    keep = torch.arange(length) < torch.arange(rows).remainder(length + 1)[:, None]
    ids = torch.randint(2, 30, keep.shape, generator=torch.Generator().manual_seed(0)) * keep
    return Batch(ids, keep, tags=keep.long() * 3, polarity=torch.tensor([0.9, 0.1, 0.0]).expand(*keep.shape, 3))


def test_about_that_share_of_the_words_is_unknown_and_nothing_else_changes():
    torch.manual_seed(0)
    before = batch()
    after = forget_words(before, 0.1)
    forgotten = after.ids != before.ids
    assert (after.ids[forgotten] == UNKNOWN).all()
    assert forgotten[before.keep].float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert not forgotten[~before.keep].any()
    assert after.keep is before.keep and after.tags is before.tags
    assert torch.equal(after.polarity[~forgotten], before.polarity[~forgotten])
    assert after.polarity[forgotten].unique().tolist() == pytest.approx([1 / 3])


def test_without_it_nothing_is_drawn():
    before, state = batch(), torch.get_rng_state()
    assert forget_words(before, 0.0) is before
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.slow
def test_a_training_that_forgets_words_resumes_to_the_bit_and_is_another_than_without(make):
    whole, without = make("whole", word_dropout=0.2), make("without")
    whole.run()
    without.run()
    with pytest.raises(Cancelled):
        make("cut", word_dropout=0.2, events=StopAfter(9)).run()
    torch.rand(5)
    resumed = make("cut", word_dropout=0.2)
    resumed.run()
    weights = [job.model.state_dict() for job in (whole, resumed, without)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not all(torch.equal(weights[0][name], weights[2][name]) for name in weights[0])


@pytest.mark.slow
def test_validation_reads_every_word(make, monkeypatch):
    job = make(word_dropout=0.9, epochs=1)
    read = []
    monkeypatch.setattr(loop, "forget_words", lambda batch, share, mark: read.append(len(batch.ids)) or batch)
    job.run()
    assert sum(read) == len(job.training.labels)  # and no validation text among them
    epoch = read_history(job.history).kind("epoch")[0]
    logits, labels = job._predict(), torch.from_numpy(job.validation.labels)
    assert epoch["validation"]["loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, labels).item())


def test_a_model_without_steps_refuses_it():
    with pytest.raises(ConfigError, match=r"training\.word_dropout=0\.1: this model is solved in one go"):
        compose("tfidf-logreg", {"training.word_dropout": 0.1})
    with pytest.raises(ConfigError, match=r"word_dropout=1: a share of the words, 0 to below 1"):
        dataclasses.replace(compose("vanilla").training, word_dropout=1)
