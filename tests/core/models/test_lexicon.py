"""The lexicon baseline: two numbers of a text, and a closed formula."""

import pytest
import torch
import torch.nn.functional as F

from core.exceptions import InputError
from core.models.baselines import LexiconClassifier
from core.models.trace import Batch, Intervention

GOOD, BAD, PLAIN = [0.8, 0.2, 0.0], [0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]


@pytest.fixture
def label_names() -> Batch:
    """Three texts of four, one and no tokens; where padded, something that must not count."""
    polarity = torch.tensor([[GOOD, PLAIN, BAD, GOOD], [BAD, GOOD, GOOD, GOOD], [GOOD, GOOD, GOOD, GOOD]])
    keep = torch.arange(4) < torch.tensor([4, 1, 0])[:, None]
    return Batch(torch.ones(3, 4, dtype=torch.long), keep, polarity=polarity)


def made() -> LexiconClassifier:
    model = LexiconClassifier(classes=3)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 0.0, -1.0], [0.5, 0.25, 0.0]]))
        model.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
    return model.eval()


def test_logits_are_linear_in_sum_and_mean_of_the_valences(label_names):
    output = made()(label_names)
    first, second = 0.8 + 0.0 - 0.6 + 0.8, -0.6
    torch.testing.assert_close(output.pooled, torch.tensor([[first, first / 4], [second, second], [0, 0]]))
    expected = [[0.1 + s + 0.5 * m, 0.2 + 0.25 * m, 0.3 - s] for s, m in ((first, first / 4), (second, second), (0, 0))]
    torch.testing.assert_close(output.logits, torch.tensor(expected))


def test_padding_changes_nothing_and_words_do_not_matter_but_for_their_polarity(label_names):
    model = made()
    longer = Batch(
        F.pad(label_names.ids, (0, 5)) + 7,
        F.pad(label_names.keep, (0, 5)),
        polarity=F.pad(label_names.polarity, (0, 0, 0, 5), value=9),
    )
    torch.testing.assert_close(model(longer).logits, model(label_names).logits)


def test_a_trace_shows_the_valence_of_each_token(label_names):
    model = made()
    trace = model(label_names, trace=True, intervene=Intervention()).trace
    assert trace.layers == ()
    torch.testing.assert_close(trace.embedded[0, :, 0], torch.tensor([0.8, 0.0, -0.6, 0.8]))
    assert torch.equal(trace.polarity, label_names.polarity)
    with pytest.raises(InputError, match="no attention"):
        model(label_names, intervene=Intervention(heads_off=frozenset({(0, 0)})))


def test_it_needs_polarities(label_names):
    with pytest.raises(RuntimeError, match="polarity"):
        made()(label_names._replace(polarity=None))
