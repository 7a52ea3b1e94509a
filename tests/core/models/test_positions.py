import dataclasses
import math

import numpy as np
import pytest
import torch
from refused import check_raises
from small_models import CLASSES, VOCABULARY, batch_of, example, longer, make, rows, small
from structures import encoders

from core.exceptions import InputError
from core.models.baselines import BagOfPairs
from core.models.builder import build_model
from core.models.capabilities import list_capabilities
from core.models.config import ModelConfig
from core.models.positions import CLASS_TAG, MARK, PolarityAware, compute_recency, compute_sinusoid, number_segments
from core.models.presets import PRESETS
from core.models.trace import Batch, Intervention

KEEP = torch.arange(6) < torch.tensor([6, 3, 1, 0])[:, None]
BUCKETS = 11
FAMILIES = [*encoders(), "bilstm", "cnn"]
MASKED = [each for each in FAMILIES if isinstance(each, str) or PRESETS[each.values[0]].model.pad_mode == "masked"]


def test_positions_are_the_weighted_sum_of_three_terms_and_recency_depends_on_the_length():
    table = compute_recency(KEEP, 4)
    for row, n in enumerate((6, 3, 1)):
        for i in range(1, n + 1):
            wanted = [math.sin(math.pi * i / n), math.cos(math.pi * i / n)] * 2
            assert table[row, i - 1].tolist() == pytest.approx(wanted, abs=1e-6)
        assert table[row, n - 1, 1] == -1 and (table[row, : n - 1, 1] > -1).all()
    torch.manual_seed(0)
    positions = PolarityAware(width=8, recency=True, tags=True)
    tags = torch.arange(24).view(4, 6) % 13
    x = torch.zeros(4, 6, 8)
    wanted = compute_sinusoid(6, 8, x.device) + compute_recency(KEEP, 8) + positions.tags.weight[tags]
    torch.testing.assert_close(positions(x, KEEP, tags), wanted, msg="factors start at 1")
    with torch.no_grad():
        positions.alpha.fill_(2), positions.beta.fill_(-3), positions.gamma.fill_(0.5)
    wanted = 2 * compute_sinusoid(6, 8, x.device) - 3 * compute_recency(KEEP, 8) + 0.5 * positions.tags.weight[tags]
    torch.testing.assert_close(positions(x, KEEP, tags), wanted)


def test_texts_without_tags_or_with_unknown_ones_have_no_tag_term():
    positions = PolarityAware(width=8, recency=False, tags=True)
    assert (positions.tags.weight[0] == 0).all()
    assert positions.tags.weight.shape == (14, 8) and set(positions.get_factors()) == {"alpha", "gamma"}
    model = make(ModelConfig(width=16, position="polarity-aware", pooling="cls"))
    assert (model(example(), trace=True).trace.tags[:, 0] == CLASS_TAG).all()
    model = make(ModelConfig(width=16, position="polarity-aware"))
    with torch.no_grad():
        model.positions.tags.weight[0] = 0
    untagged, unknown = example()._replace(tags=None), example()._replace(tags=torch.zeros(5, 9, dtype=torch.long))
    torch.testing.assert_close(model(untagged).logits, model(unknown).logits)
    model.train()(untagged).logits.sum().backward()
    assert (model.positions.gamma.grad == 0).all() and model.positions.alpha.grad.abs() > 0


def test_released_padding_is_read_as_text():
    released, masked = make(ModelConfig(width=16, pad_mode="as_released")), make(ModelConfig(width=16))
    batch = example((9, 5))
    assert (released(batch).logits == released(longer(batch, 6)).logits).all()
    assert (released.layers[0].attention.query.weight == masked.layers[0].attention.query.weight).all()
    assert not torch.allclose(released(batch).logits, masked(batch).logits)
    full = longer(batch, 6)
    unmasked = full._replace(keep=torch.ones_like(full.keep))
    torch.testing.assert_close(released(batch).logits, masked(unmasked).logits, msg="all 15 positions count")
    assert released(batch, trace=True).trace.keep.sum(1).tolist() == [9, 5]


def make_config(preset="vanilla", **changes):
    return dataclasses.replace(small(PRESETS[preset].model), ngram_buckets=BUCKETS, **changes)


def add_grams(batch, most=5):
    """Return the batch with up to five n-grams per token, some without any."""
    random = torch.Generator().manual_seed(2)
    grams = torch.randint(1, BUCKETS + 1, (*batch.ids.shape, most), generator=random)
    count = torch.randint(0, most + 1, batch.ids.shape, generator=random)
    return batch._replace(grams=grams * (torch.arange(most) < count[..., None]) * batch.keep[..., None])


def test_unknown_words_have_their_n_gram_mean_added():
    model, batch = make(make_config(position="none")), add_grams(example())
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
def test_predictions_do_not_depend_on_trace_or_batch(preset):
    model, batch = make(make_config(preset)), add_grams(example())
    logits = model(batch).logits
    assert torch.allclose(model(batch, trace=True).logits, logits)
    assert torch.equal(model(batch._replace(grams=torch.nn.functional.pad(batch.grams, (0, 4)))).logits, logits)
    assert not torch.allclose(model(batch._replace(grams=torch.zeros_like(batch.grams))).logits[0], logits[0])


def test_models_with_n_grams_say_so_and_refuse_texts_without_them():
    assert "ngrams" in list_capabilities(make_config()) and "ngrams" not in list_capabilities(ModelConfig())
    assert build_model(
        dataclasses.replace(ModelConfig(), ngram_buckets=500), vocabulary=VOCABULARY, classes=2
    ).ngrams.table.weight.std().item() == pytest.approx(128**-0.5, rel=0.02)
    check_raises(InputError, "these texts come without them", make(make_config()), example())


def config_of(name):
    config = PRESETS[name].model
    return small(config) if config.family == "encoder" else config


def pairs(lengths=((4, 4), (2, 2), (0, 1), (1, 0), (3, 0))) -> Batch:
    """Return pairs of texts of these lengths, with one mark each."""
    batch = example(tuple(a + 1 + b for a, b in lengths))
    ids = torch.where(batch.ids == MARK, MARK + 1, batch.ids)
    for row, (first, _) in enumerate(lengths):
        ids[row, first] = MARK
    return batch._replace(ids=ids)


def test_the_mark_ends_the_first_text():
    assert number_segments(torch.tensor([[5, 2, 7, 2, 9], [5, 6, 7, 0, 0]])).tolist() == [[0, 0, 1, 1, 1], [0] * 5]


@pytest.mark.slow
@pytest.mark.parametrize("name", MASKED)
def test_pair_predictions_do_not_depend_on_batch_or_padding(name):
    model, batch = make(config_of(name), pairs=True), pairs()
    together = model(batch).logits
    torch.testing.assert_close(model(longer(batch, 3)).logits, together, rtol=0, atol=1e-10)
    for row, length in enumerate(batch.keep.sum(1).tolist()):
        alone = model(rows(batch, slice(row, row + 1), length)).logits
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_traced_and_untraced_pairs_agree(name):
    model, batch = make(config_of(name), pairs=True), pairs()
    traced = model(batch, trace=True)
    torch.testing.assert_close(traced.logits, model(batch).logits, rtol=0, atol=1e-9)
    if PRESETS[name].model.family == "encoder":
        assert "segments" in model.provides
        assert torch.equal(traced.trace.segments[:, model.first :][batch.keep], number_segments(batch.ids)[batch.keep])


@pytest.mark.parametrize("name", FAMILIES)
def test_models_of_single_texts_have_no_segments(name):
    config = config_of(name)
    torch.manual_seed(3)
    single = build_model(config, vocabulary=VOCABULARY, classes=CLASSES, max_length=15)
    torch.manual_seed(3)
    pair = build_model(config, vocabulary=VOCABULARY, classes=CLASSES, max_length=15, pairs=True)
    assert not [key for key in single.state_dict() if "segments" in key]
    assert set(pair.state_dict()) - set(single.state_dict()) == {"segments.table.weight"}
    assert single.mark is None and pair.mark == MARK


def test_without_segments_both_texts_are_alike():
    config = small(PRESETS["vanilla"].model)
    model, batch = make(config, pairs=True), pairs()
    off = model(batch, intervene=Intervention(segments_off=True)).logits
    with torch.no_grad():
        model.segments.table.weight.zero_()
    torch.testing.assert_close(off, model(batch).logits, rtol=0, atol=1e-12)
    some = [Intervention(segments_off=row == 1) for row in range(len(batch.ids))]
    changed = make(config, pairs=True)
    said, plain = changed(batch, intervene=some).logits, changed(batch).logits
    assert [not torch.equal(a, b) for a, b in zip(said, plain, strict=True)] == [row == 1 for row in range(len(said))]
    check_raises(InputError, "segments", make(config), batch, intervene=Intervention(segments_off=True))


def test_pair_baselines_use_both_texts_difference_and_product():
    random = np.random.default_rng(0)
    model = BagOfPairs(vocabulary=9, classes=2).double().eval()
    with torch.no_grad():
        model.idf.copy_(torch.from_numpy(random.uniform(1, 3, 9)))
        model.weight.copy_(torch.from_numpy(random.normal(size=(36, 2))))
        model.bias.copy_(torch.tensor([0.5, -0.5]))
    texts = [([3, 4, 4, 7], [4, 8]), ([5], [5]), ([6, 3], []), ([], [])]

    def row(ids):
        counts = np.bincount(ids, minlength=9)
        values = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * model.idf.numpy()
        return values / max(np.linalg.norm(values), 1e-12)

    expected = []
    for first, second in texts:
        a, b = row(np.array(first, int)), row(np.array(second, int))
        features = np.concatenate([a, b, abs(a - b), a * b])
        expected.append(features @ model.weight.detach().numpy() + model.bias.detach().numpy())
    found = model(batch_of([[*first, MARK, *second] for first, second in texts])).logits
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-12)
