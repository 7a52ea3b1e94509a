"""Long texts read in passages: the fast path and a plain loop over passages, gradients, traces and refusals."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from core.config import compose
from core.exceptions import ConfigError, NotAvailable
from core.models import encoder
from core.models.builder import build_model
from core.models.passages import Passages
from core.models.trace import Batch, Intervention, Record
from core.text.token_table import TokenTable

MOST, LENGTHS = 5, (23, 3, 0, 5, 11)
TINY = {"model.width": 16, "model.layers": 2, "model.attention.heads": 2, "model.ff_width": 24}
OFF = Intervention(heads_off=frozenset({(0, 1)}))
CANNOT = {"vanilla": {"model.pooling": "cls"}, "tweet-v1-p2": {"model.pad_mode": "as_released"}}


def make(preset="vanilla"):
    torch.manual_seed(0)
    model = build_model(compose(preset, TINY).model, vocabulary=60, classes=3, passages=MOST)
    torch.nn.init.normal_(model.passages.query)  # as after training, so that passages weigh differently
    return model.eval()


def make_batch(lengths=LENGTHS):
    random = np.random.default_rng(1)
    return Batch.from_arrays(TokenTable.from_ids([random.integers(4, 60, n).tolist() for n in lengths]).pad_all())


def read_plainly(model, ids, **more):
    """Logits of one text, passage by passage, weighted by numpy's softmax."""
    count = max(1, -(-len(ids) // MOST))
    spans = pairwise(len(ids) * place // count for place in range(count + 1))
    outputs = [model(Batch.from_arrays(TokenTable.from_ids([ids[a:b]]).pad_all()), **more) for a, b in spans]
    scores = np.exp([(each.pooled[0] @ model.passages.query).item() for each in outputs])
    return scores / scores.sum() @ np.stack([each.logits[0].detach().numpy() for each in outputs])


@pytest.mark.parametrize("preset", ["vanilla", "ndt-01-n3", "differential", "tweet-v1-p2"])
def test_the_fast_path_equals_a_plain_loop_over_passages(preset, monkeypatch):
    model, batch, order = make(preset), make_batch(), torch.tensor([3, 0, 4, 2, 1])
    shuffled = model(Batch(batch.ids[order], batch.keep[order])).logits[order.argsort()]
    each = [OFF if row % 2 else Intervention() for row in range(len(LENGTHS))]
    changed, mixed = (model(batch, intervene=change).logits.detach() for change in (OFF, each))
    found = [shuffled, model(batch).logits]
    monkeypatch.setattr(encoder, "PORTION", 2 * MOST)  # now without gradients, in portions of two passages
    with torch.no_grad():
        found += [model(batch).logits, model(batch, trace=True).logits]
    for row, length in enumerate(LENGTHS):
        ids = batch.ids[row, :length].tolist()
        plain, off = read_plainly(model, ids), read_plainly(model, ids, intervene=OFF)
        for logits in found:
            np.testing.assert_allclose(logits[row].detach(), plain, atol=1e-6)
        np.testing.assert_allclose(changed[row], off, atol=1e-6)
        np.testing.assert_allclose(mixed[row], off if row % 2 else plain, atol=1e-6)


def test_every_passage_and_the_attention_over_them_gets_a_gradient():
    model, batch = make(), make_batch((23, 11))
    embedded = model.embed_tokens(batch).detach().requires_grad_()
    output = model(batch, embedded=embedded)
    torch.testing.assert_close(output.logits, model(batch).logits)
    output.logits.square().sum().backward()
    assert bool((embedded.grad.abs().sum(-1)[batch.keep] > 0).all()) and model.passages.query.grad.abs().max() > 0


def test_a_trace_has_the_values_of_the_passages_whose_gates_are_changed_alone():
    model, batch = make("ndt-01-n3"), make_batch((23, 0, 8))
    one = Batch(batch.ids[2:, 4:8], batch.keep[2:, 4:8])
    trace, alone = (model(each, trace=True).trace for each in (batch, one))
    for whole, part in zip(trace.layers, alone.layers, strict=True):
        assert whole.maps is None
        torch.testing.assert_close(whole.hidden[2, 4:8], part.hidden[0])
        torch.testing.assert_close(whole.head_outputs[2, :, 4:8], part.head_outputs[0])
        torch.testing.assert_close(whole.coefficients[2, :, :, 4:8], part.coefficients[0])
    torch.testing.assert_close(trace.embedded[2, 4:8], alone.embedded[0])
    torch.testing.assert_close(model.encode_tokens(batch)[2, 4:8], model.encode_tokens(one)[0])
    for asked in ({"record": Record()}, {"donor": trace}):
        with pytest.raises(NotAvailable, match="a text of 5 tokens"):
            model(batch, **asked)
    closed = Intervention(gates=((0, 22, 0.0), (1, 4, 0.5)))  # a text of 23 tokens has passages from 0, 4, 9, 13, 18
    own = [each.gates for each in Passages.split_texts(make_batch().keep, MOST).split_interventions([closed])][:5]
    assert own == [(), ((1, 0, 0.5),), (), (), ((0, 4, 0.0),)]


@pytest.mark.parametrize("preset", [*CANNOT, "inceptive-16", "cnn", "tfidf-logreg"])
def test_a_model_that_cannot_read_passages_is_refused(preset):
    with pytest.raises(ConfigError, match=r"training\.passages"):
        compose(preset, {**CANNOT.get(preset, {}), "training.passages": 8})
