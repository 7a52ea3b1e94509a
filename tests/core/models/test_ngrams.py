"""Rows for the character n-grams of words."""

import dataclasses

import pytest
import torch
from small_models import VOCABULARY, example, make, small

from core.exceptions import InputError
from core.models.build import build
from core.models.config import ModelConfig
from core.models.presets import PRESETS
from core.models.provides import provides
from core.models.trace import Intervention

BUCKETS = 11


def config(preset="vanilla", **changes):
    return dataclasses.replace(small(PRESETS[preset].model), ngram_buckets=BUCKETS, **changes)


def spelt(batch, most=5):
    """The batch with up to five n-grams a token, none at some."""
    random = torch.Generator().manual_seed(2)
    grams = torch.randint(1, BUCKETS + 1, (*batch.ids.shape, most), generator=random)
    count = torch.randint(0, most + 1, batch.ids.shape, generator=random)
    return batch._replace(grams=grams * (torch.arange(most) < count[..., None]) * batch.keep[..., None])


def test_the_row_of_an_unknown_word_is_that_of_unknown_ones_plus_the_mean_of_its_n_grams():
    model, batch = make(config(position="none")), spelt(example())
    batch = batch._replace(ids=torch.ones_like(batch.ids) * batch.keep)
    embedded = model(batch, trace=True).trace.embedded
    words, table = model.embedding.weight, model.ngrams.table.weight
    for row, place in batch.keep.nonzero().tolist():
        ours = [table[gram - 1] for gram in batch.grams[row, place].tolist() if gram]
        expected = words[1] + (torch.stack(ours).mean(0) if ours else 0)
        assert torch.allclose(embedded[row, place], expected * model.scale)


@pytest.mark.parametrize(
    "preset", ["vanilla", "ndt-01-n3", "sentiformer", "lexical-all", "tweet-v1-p1", "inceptive-16"]
)
def test_traced_or_not_alone_or_among_others_the_answer_is_the_same(preset):
    model, batch = make(config(preset)), spelt(example())
    logits = model(batch).logits
    assert torch.allclose(model(batch, trace=True).logits, logits)
    longer = batch._replace(grams=torch.nn.functional.pad(batch.grams, (0, 4)))
    assert torch.equal(model(longer).logits, logits)
    silent = batch._replace(grams=torch.zeros_like(batch.grams))
    assert not torch.allclose(model(silent).logits[0], logits[0])


@pytest.mark.parametrize("first", [0, 1])
def test_a_silenced_piece_adds_nothing_and_the_others_weigh_as_before(first):
    model = make(config(position="none", pooling="cls" if first else "mean"))
    batch = spelt(example((4,)))
    batch = batch._replace(grams=torch.arange(1, 11).remainder(BUCKETS).add(1).view(1, 1, 10).expand(1, 4, 10).clone())
    before = model(batch, trace=True).trace
    off = Intervention(pieces_off=frozenset({(first + 2, 3), (first + 2, 4)}))
    after = model(batch, trace=True, intervene=off).trace
    moved = (after.embedded - before.embedded)[0]
    table = model.ngrams.table.weight
    gone = (table[batch.grams[0, 2, 3] - 1] + table[batch.grams[0, 2, 4] - 1]) / 10
    assert torch.allclose(moved[first + 2], -gone * model.scale)
    assert not torch.cat([moved[: first + 2], moved[first + 3 :]]).any()
    assert after.grams[0, first + 2].tolist() == [
        *batch.grams[0, 2, :3].tolist(),
        0,
        0,
        *batch.grams[0, 2, 5:].tolist(),
    ]
    assert torch.allclose(model(batch, intervene=off).logits, model(batch, trace=True, intervene=off).logits)
    assert torch.equal(model(batch, trace=True).trace.grams, before.grams)


def test_each_text_may_have_pieces_of_its_own_silenced():
    model, batch = make(config()), spelt(example((4, 3)))
    each = [Intervention(pieces_off=frozenset({(1, 0)})), Intervention(pieces_off=frozenset({(2, 1), (0, 0)}))]
    together = model(batch, intervene=each).logits
    for text, one in enumerate(each):
        assert torch.allclose(together[text], model(batch, intervene=one).logits[text])
    assert not torch.allclose(together, model(batch).logits)


def test_what_is_not_there_cannot_be_silenced():
    model, batch = make(config()), spelt(example((4,)))
    with pytest.raises(InputError, match="token 9, n-gram 0: this text has tokens 0 to 3 and n-grams 0 to 4"):
        model(batch, intervene=Intervention(pieces_off=frozenset({(9, 0)})))
    plain = make(small(ModelConfig()))
    with pytest.raises(InputError, match="this model reads no character n-grams"):
        plain(batch, intervene=Intervention(pieces_off=frozenset({(0, 0)})))
    with pytest.raises(InputError, match="these texts come without them"):
        model(example())


def test_a_model_says_that_it_has_them():
    assert "ngrams" in provides(config()) and "ngrams" not in provides(ModelConfig())
    table = build(dataclasses.replace(ModelConfig(), ngram_buckets=500), vocabulary=VOCABULARY, classes=2).ngrams.table
    assert table.weight.std().item() == pytest.approx(128**-0.5, rel=0.02)
