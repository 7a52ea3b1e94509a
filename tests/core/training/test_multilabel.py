"""The loop on several labels per text."""

import dataclasses

import numpy as np
import pytest
import torch

from core.training.batches import Examples
from core.training.history import read_history
from core.training.loss import Loss

pytestmark = pytest.mark.slow


def even(labels, probabilities):
    return {"f1_macro": 0.5}


@pytest.fixture
def several(make):
    """several(name, **settings): the tiny task with a second label on every other row."""

    def build_one(name="run", score=None, **settings):
        job = make(name, **settings)
        parts = {part: getattr(job, part) for part in ("training", "validation")}
        told = {
            part: Examples(each.tokens, np.stack([each.labels, np.arange(len(each.labels)) % 2], 1).astype(np.float32))
            for part, each in parts.items()
        }
        return dataclasses.replace(job, **told, task="multi", score=score or (lambda labels, logits: {"f1_macro": 0.5}))

    return build_one


def test_the_score_sees_logits_and_both_losses_are_those_of_each_decision(several):
    seen = []

    def score(labels, logits):
        seen.append((labels, logits))
        return {"f1_macro": 0.5}

    job = several(score=score, epochs=1)
    job.run()
    ((labels, logits),) = seen
    assert labels.shape == logits.shape == (20, 2)
    row = read_history(job.history).kind("epoch")[0]
    assert row["validation"]["loss"] == pytest.approx(Loss("multi")(logits, torch.from_numpy(labels)).item())


@pytest.mark.parametrize(("value", "epochs"), [(0.0, 5), (0.25, 2)])
def test_patience_begins_when_a_first_label_is_right(several, value, epochs):
    job = several(score=lambda labels, logits: {"f1_macro": value}, epochs=5, patience=1)
    job.run()
    assert len(read_history(job.history).kind("epoch")) == epochs


def test_a_training_of_several_labels_resumes_to_the_same_bits(several, tmp_path):
    from core.exceptions import Cancelled
    from core.training.stage import Events

    class Stop(Events):
        calls = 0

        def stopped(self):
            self.calls += 1
            return self.calls == 5

    whole, cut, rest = several("whole"), several("cut", events=Stop()), several("cut")
    whole.run()
    with pytest.raises(Cancelled):
        cut.run()
    rest.run()
    for (name, one), other in zip(whole.model.state_dict().items(), rest.model.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
