"""The BiLSTM against its equations, one token after the other."""

import pytest
import torch
import torch.nn.functional as F

from core.exceptions import InputError
from core.models.baselines import BiLSTM
from core.models.head import Head
from core.models.trace import Batch, Intervention

STATES = 6


def made(**changes) -> BiLSTM:
    torch.manual_seed(0)
    head = {"classes": 3, "kernels": (), "channels": 1, "attention_heads": 0, "dense": 0, "one_logit": False}
    choices = {"vocabulary": 41, "width": 5, "states": STATES, "layers": 1, "dropout": 0.0, **changes}
    model = BiLSTM(head=Head(width=2 * STATES, pooling="cls", **head), **choices)
    return model.double().eval()


def naive_states(model: BiLSTM, x: torch.Tensor, layer: int, suffix: str) -> torch.Tensor:
    """(n, states) of one text (n, d) in the order of x: i, f, g, o = W x + U h + b; c = f c + i g; h = o tanh(c)."""
    lstm = model.lstm
    w, u, b, v = (
        getattr(lstm, f"{name}_l{layer}{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h = c = torch.zeros(STATES, dtype=x.dtype)
    found = []
    for row in x:
        i, f, g, o = (w @ row + b + u @ h + v).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        found.append(h)
    return torch.stack(found)


def naive_pooled(model: BiLSTM, x: torch.Tensor, layers: int) -> torch.Tensor:
    """(2 * states,) of one text without padding: each direction's state when it has read everything."""
    for layer in range(layers):
        forward = naive_states(model, x, layer, "")
        backward = naive_states(model, x.flip(0), layer, "_reverse").flip(0)
        x = torch.cat([forward, backward], 1)
    return torch.cat([forward[-1], backward[0]])


@pytest.mark.parametrize("layers", [1, 2])
def test_the_last_states_are_those_of_the_equations(batch, layers):
    model = made(layers=layers)
    output = model(batch)
    for row, length in enumerate(batch.keep.sum(1).tolist()):
        expected = torch.zeros(2 * STATES, dtype=torch.float64)
        if length:
            expected = naive_pooled(model, model.embedding.weight[batch.ids[row, :length]], layers)
        torch.testing.assert_close(output.pooled[row], expected)
    torch.testing.assert_close(output.logits, F.linear(output.pooled, model.head.weight, model.head.bias))


def test_padding_and_neighbours_change_nothing(batch):
    model = made(layers=2)
    found = model(batch).logits
    padded = Batch(F.pad(batch.ids, (0, 7), value=5), F.pad(batch.keep, (0, 7)))
    torch.testing.assert_close(model(padded).logits, found)
    alone = [model(Batch(batch.ids[row : row + 1], batch.keep[row : row + 1])).logits for row in range(len(found))]
    torch.testing.assert_close(torch.cat(alone), found)


def test_the_order_of_words_matters():
    model = made()
    keep = torch.ones(2, 4, dtype=torch.bool)
    first, second = model(Batch(torch.tensor([[4, 5, 6, 7], [7, 6, 5, 4]]), keep)).logits
    assert (first - second).abs().max() > 1e-3


def test_the_gradient_of_padding_is_zero(batch):
    model = made()
    model(batch._replace(ids=batch.ids.masked_fill(~batch.keep, 40))).logits.sum().backward()
    assert not model.embedding.weight.grad[40].any()


@pytest.mark.parametrize("layers", [1, 2])
def test_dropout_acts_in_training_only(batch, layers):
    model = made(dropout=0.5, layers=layers)
    torch.testing.assert_close(model(batch).logits, made(layers=layers)(batch).logits)
    model.train()
    assert (model(batch).logits[0] - model(batch).logits[0]).abs().max() > 1e-3


def test_a_trace_shows_the_embeddings_and_nothing_can_be_changed(batch):
    model = made()
    trace = model(batch, trace=True, intervene=Intervention()).trace
    assert trace.layers == ()
    torch.testing.assert_close(trace.embedded, model.embedding(batch.ids))
    with pytest.raises(InputError, match="no attention"):
        model(batch, intervene=Intervention(heads_off=frozenset({(0, 0)})))
    with pytest.raises(RuntimeError, match="eval"):
        model.train()(batch, trace=True)
