"""Which text of a pair a token stands in: added once, seen in the trace, silenced on request, absent elsewhere."""

import numpy as np
import pytest
import torch
from small_models import CLASSES, VOCABULARY, batch_of, example, longer, make, rows, small
from structures import encoders

from core.exceptions import InputError
from core.models.baselines import BagOfPairs
from core.models.build import build
from core.models.positions import MARK, segments
from core.models.presets import PRESETS
from core.models.trace import Batch, Intervention

FAMILIES = [*encoders(), "bilstm", "cnn"]
MASKED = [each for each in FAMILIES if isinstance(each, str) or PRESETS[each.values[0]].model.pad_mode == "masked"]


def config_of(name):
    config = PRESETS[name].model
    return small(config) if config.family == "encoder" else config


def pairs(lengths=((4, 4), (2, 2), (0, 1), (1, 0), (3, 0))) -> Batch:
    """Texts of these lengths with a mark between them; no other token is one."""
    batch = example(tuple(a + 1 + b for a, b in lengths))
    ids = torch.where(batch.ids == MARK, MARK + 1, batch.ids)
    for row, (first, _) in enumerate(lengths):
        ids[row, first] = MARK
    return batch._replace(ids=ids)


def test_a_mark_ends_the_first_text():
    assert segments(torch.tensor([[5, 2, 7, 2, 9], [5, 6, 7, 0, 0]])).tolist() == [[0, 0, 1, 1, 1], [0] * 5]


@pytest.mark.slow
@pytest.mark.parametrize("name", MASKED)
def test_padding_and_neighbours_in_a_batch_change_nothing(name):
    model, batch = make(config_of(name), pairs=True), pairs()
    together = model(batch).logits
    torch.testing.assert_close(model(longer(batch, 3)).logits, together, rtol=0, atol=1e-10)
    for row, length in enumerate(batch.keep.sum(1).tolist()):
        alone = model(rows(batch, slice(row, row + 1), length)).logits
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
def test_traced_it_says_what_it_says_untraced(name):
    model, batch = make(config_of(name), pairs=True), pairs()
    traced = model(batch, trace=True)
    torch.testing.assert_close(traced.logits, model(batch).logits, rtol=0, atol=1e-9)
    if PRESETS[name].model.family == "encoder":
        assert "segments" in model.provides
        assert torch.equal(traced.trace.segments[:, model.first :][batch.keep], segments(batch.ids)[batch.keep])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_of_single_texts_has_nothing_of_it(name):
    config = config_of(name)
    torch.manual_seed(3)
    single = build(config, vocabulary=VOCABULARY, classes=CLASSES, max_length=15)
    torch.manual_seed(3)
    pair = build(config, vocabulary=VOCABULARY, classes=CLASSES, max_length=15, pairs=True)
    assert not [key for key in single.state_dict() if "segments" in key]
    assert set(pair.state_dict()) - set(single.state_dict()) == {"segments.table.weight"}
    assert single.mark is None and pair.mark == MARK


def test_silenced_the_two_texts_are_alike():
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
    with pytest.raises(InputError, match="segments"):
        make(config)(batch, intervene=Intervention(segments_off=True))


def test_bags_of_pairs_read_both_texts_their_difference_and_their_product():
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
