"""The CNN against its equations, window by window."""

import pytest
import torch
import torch.nn.functional as F

from core.exceptions import InputError
from core.models.baselines import ConvolutionClassifier
from core.models.head import Head
from core.models.trace import Batch, Intervention

KERNELS, CHANNELS = (3, 4, 5), 7


def made(**changes) -> ConvolutionClassifier:
    torch.manual_seed(0)
    head = {"classes": 3, "kernels": (), "channels": 1, "attention_heads": 0, "dense": 0, "one_logit": False}
    choices = {"vocabulary": 41, "width": 5, "kernels": KERNELS, "channels": CHANNELS, "dropout": 0.0, **changes}
    model = ConvolutionClassifier(head=Head(width=len(KERNELS) * CHANNELS, pooling="cls", **head), **choices)
    return model.double().eval()


def naive_pooled(model: ConvolutionClassifier, x: torch.Tensor) -> torch.Tensor:
    """(kernels * channels,) of one text (n, d): the largest max(0, W · window + b) of the windows at its tokens."""
    found = []
    for k in KERNELS:
        branch = model.branches[str(k)]
        before = (k - 1) // 2
        longer = torch.cat([x.new_zeros(before, x.shape[1]), x, x.new_zeros(k, x.shape[1])])
        windows = [(branch.weight * longer[i : i + k].T).sum((1, 2)) + branch.bias for i in range(len(x))]
        found.append(torch.stack(windows).clamp(min=0).amax(0))
    return torch.cat(found)


def test_the_largest_values_are_those_of_the_equation(batch):
    model = made()
    output = model(batch)
    for row, length in enumerate(batch.keep.sum(1).tolist()):
        expected = torch.zeros(len(KERNELS) * CHANNELS, dtype=torch.float64)
        if length:
            expected = naive_pooled(model, model.embedding.weight[batch.ids[row, :length]])
        torch.testing.assert_close(output.pooled[row], expected)
    torch.testing.assert_close(output.logits, F.linear(output.pooled, model.head.weight, model.head.bias))


def test_padding_and_neighbours_change_nothing(batch):
    model = made()
    found = model(batch).logits
    padded = Batch(F.pad(batch.ids, (0, 7), value=5), F.pad(batch.keep, (0, 7)))
    torch.testing.assert_close(model(padded).logits, found)
    alone = [model(Batch(batch.ids[row : row + 1], batch.keep[row : row + 1])).logits for row in range(len(found))]
    torch.testing.assert_close(torch.cat(alone), found)


def test_the_gradient_of_padding_is_zero(batch):
    model = made()
    model(batch._replace(ids=batch.ids.masked_fill(~batch.keep, 40))).logits.sum().backward()
    assert not model.embedding.weight.grad[40].any()


def test_a_pattern_is_found_wherever_it_stands():
    model = made()
    ids = torch.full((2, 20), 9)
    ids[0, 6:9] = ids[1, 11:14] = torch.tensor([4, 5, 6])
    first, second = model(Batch(ids, torch.ones(2, 20, dtype=torch.bool))).pooled
    torch.testing.assert_close(first, second)


def test_the_trace_shows_each_filter_at_each_token(batch):
    model = made()
    output = model(batch, trace=True, intervene=Intervention())
    branches = output.trace.head.branches
    assert {k: tuple(branch.shape) for k, branch in branches.items()} == {k: (5, 9, CHANNELS) for k in KERNELS}
    torch.testing.assert_close(torch.cat([branch.amax(1) for branch in branches.values()], 1), output.pooled)
    assert not any(branch[~batch.keep].any() for branch in branches.values())
    with pytest.raises(InputError, match="no attention"):
        model(batch, intervene=Intervention(heads_off=frozenset({(0, 0)})))


def test_dropout_acts_on_the_largest_values_in_training_only(batch):
    model = made(dropout=0.5)
    plain = model(batch).pooled
    dropped = model.train()(batch).pooled
    assert set((dropped / plain)[plain > 0].tolist()) == {0.0, 2.0}
