import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F
from refused import check_raises
from small_models import batch_of

from core.exceptions import ConfigError, InputError
from core.models.baselines import BagOfNgrams, BiLSTM, ConvolutionClassifier, LexiconClassifier
from core.models.builder import build_model
from core.models.capabilities import list_capabilities
from core.models.config import READS, AttentionConfig, HeadConfig, ModelConfig
from core.models.head import Head
from core.models.presets import PRESETS
from core.models.trace import Batch, Intervention

BASELINES = [family for family in READS if family not in ("pretrained", "function")]
STATES, KERNELS, CHANNELS = 6, (3, 4, 5), 7
CNN = {"family": "cnn", "head": HeadConfig(kernels="3,4,5", channels=100)}
GOOD, BAD, PLAIN = [0.8, 0.2, 0.0], [0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]


def head(width: int) -> Head:
    return Head(width=width, classes=3, pooling="cls")


def bilstm(layers: int = 1, dropout: float = 0.0) -> BiLSTM:
    torch.manual_seed(0)
    model = BiLSTM(vocabulary=41, width=5, states=STATES, layers=layers, dropout=dropout, head=head(2 * STATES))
    return model.double().eval()


def cnn(dropout: float = 0.0) -> ConvolutionClassifier:
    torch.manual_seed(0)
    sizes = {"vocabulary": 41, "width": 5, "kernels": KERNELS, "channels": CHANNELS}
    return ConvolutionClassifier(head=head(len(KERNELS) * CHANNELS), dropout=dropout, **sizes).double().eval()


def naive_states(model: BiLSTM, x: torch.Tensor, layer: int, suffix: str) -> torch.Tensor:
    """(n, states) of one text (n, d) in the order of x: i, f, g, o = W x + U h + b; c = f c + i g; h = o tanh(c)."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w, u, b, v = (getattr(model.lstm, f"{name}_l{layer}{suffix}") for name in names)
    h = c = torch.zeros(STATES, dtype=x.dtype)
    found = []
    for row in x:
        i, f, g, o = (w @ row + b + u @ h + v).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        found.append(h)
    return torch.stack(found)


def last_states(model: BiLSTM, x: torch.Tensor) -> torch.Tensor:
    """(2 * states,) of one text without padding: each direction's state when it has read everything."""
    for layer in range(model.lstm.num_layers):
        forward = naive_states(model, x, layer, "")
        backward = naive_states(model, x.flip(0), layer, "_reverse").flip(0)
        x = torch.cat([forward, backward], 1)
    return torch.cat([forward[-1], backward[0]])


def largest_values(model: ConvolutionClassifier, x: torch.Tensor) -> torch.Tensor:
    """(kernels * channels,) of one text (n, d): the largest max(0, W · window + b) of the windows at its tokens."""
    found = []
    for k in KERNELS:
        branch = model.branches[str(k)]
        longer = torch.cat([x.new_zeros((k - 1) // 2, x.shape[1]), x, x.new_zeros(k, x.shape[1])])
        windows = [(branch.weight * longer[i : i + k].T).sum((1, 2)) + branch.bias for i in range(len(x))]
        found.append(torch.stack(windows).clamp(min=0).amax(0))
    return torch.cat(found)


@pytest.mark.parametrize(
    ("model", "naive"),
    [(bilstm(), last_states), (bilstm(layers=2), last_states), (cnn(), largest_values)],
    ids=["bilstm", "two layers", "cnn"],
)
def test_baselines_follow_their_equations_for_any_padding_or_batch(batch, model, naive):
    output = model(batch)
    for row, length in enumerate(batch.keep.sum(1).tolist()):
        expected = torch.zeros(output.pooled.shape[1], dtype=torch.float64)
        if length:
            expected = naive(model, model.embedding.weight[batch.ids[row, :length]])
        torch.testing.assert_close(output.pooled[row], expected)
    torch.testing.assert_close(output.logits, F.linear(output.pooled, model.head.weight, model.head.bias))
    padded = Batch(F.pad(batch.ids, (0, 7), value=5), F.pad(batch.keep, (0, 7)))
    torch.testing.assert_close(model(padded).logits, output.logits)
    model(batch._replace(ids=batch.ids.masked_fill(~batch.keep, 40))).logits.sum().backward()
    assert not model.embedding.weight.grad[40].any()


def test_traces_show_embeddings_of_a_bilstm_and_filters_of_a_cnn_before_dropout(batch):
    output = cnn()(batch, trace=True, intervene=Intervention())
    branches = output.trace.head.branches
    assert {k: tuple(branch.shape) for k, branch in branches.items()} == {k: (5, 9, CHANNELS) for k in KERNELS}
    torch.testing.assert_close(torch.cat([branch.amax(1) for branch in branches.values()], 1), output.pooled)
    assert not any(branch[~batch.keep].any() for branch in branches.values())
    model = bilstm()
    trace = model(batch, trace=True, intervene=Intervention()).trace
    assert trace.layers == ()
    torch.testing.assert_close(trace.embedded, model.embedding(batch.ids))
    check_raises(RuntimeError, "eval", model.train(), batch, trace=True)
    model, recurrent = cnn(dropout=0.5), bilstm(layers=2, dropout=0.5)
    plain = model(batch).pooled
    assert set((model.train()(batch).pooled / plain)[plain > 0].tolist()) == {0.0, 2.0}
    torch.testing.assert_close(recurrent(batch).logits, bilstm(layers=2)(batch).logits)
    recurrent.train()
    assert (recurrent(batch).logits[0] - recurrent(batch).logits[0]).abs().max() > 1e-3


def test_lexicon_logits_are_linear_in_sum_and_mean_of_valences():
    """Texts of four, one and no tokens, with arbitrary values at padding."""
    polarity = torch.tensor([[GOOD, PLAIN, BAD, GOOD], [BAD, GOOD, GOOD, GOOD], [GOOD, GOOD, GOOD, GOOD]])
    keep = torch.arange(4) < torch.tensor([4, 1, 0])[:, None]
    texts = Batch(torch.ones(3, 4, dtype=torch.long), keep, polarity=polarity)
    model = LexiconClassifier(classes=3).eval()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[1.0, 0.0, -1.0], [0.5, 0.25, 0.0]]))
        model.bias.copy_(torch.tensor([0.1, 0.2, 0.3]))
    output = model(texts, trace=True)
    first, second = 0.8 + 0.0 - 0.6 + 0.8, -0.6
    torch.testing.assert_close(output.pooled, torch.tensor([[first, first / 4], [second, second], [0, 0]]))
    expected = [[0.1 + s + 0.5 * m, 0.2 + 0.25 * m, 0.3 - s] for s, m in ((first, first / 4), (second, second), (0, 0))]
    torch.testing.assert_close(output.logits, torch.tensor(expected))
    torch.testing.assert_close(output.trace.embedded[0, :, 0], torch.tensor([0.8, 0.0, -0.6, 0.8]))
    assert output.trace.layers == () and torch.equal(output.trace.polarity, polarity)
    check_raises(RuntimeError, "polarity", model, texts._replace(polarity=None))


def test_tfidf_logits_are_linear_in_the_features():
    model = BagOfNgrams(vocabulary=4, classes=2)
    with torch.no_grad():
        model.get_buffer("idf").copy_(torch.tensor([0.0, 0.0, 2.0, 3.0]))
        model.weight.copy_(torch.tensor([[9.0, 9.0], [9.0, 9.0], [1.0, -1.0], [0.5, 4.0]]))
        model.bias.copy_(torch.tensor([0.1, 0.2]))
    output = model(batch_of([[3, 2, 3], [], [2]]))
    two, three = 2.0, 3 * (1 + math.log(2))
    length = math.hypot(two, three)
    first = [0.1 + (two + 0.5 * three) / length, 0.2 + (-two + 4 * three) / length]
    torch.testing.assert_close(output.logits, torch.tensor([first, [0.1, 0.2], [1.1, -0.8]]))
    assert output.pooled is output.logits
    torch.testing.assert_close(model(batch_of([[3, 3, 2]])).logits, output.logits[:1], msg="in whatever order")
    assert model.eval()(batch_of([[2]]), trace=True, intervene=Intervention()).trace is None


@pytest.mark.parametrize("family", BASELINES)
def test_capabilities_match_the_model_and_interventions_are_refused(family, batch):
    config = PRESETS[family].model
    assert config.family == family
    model = build_model(config, vocabulary=41, classes=3).eval()
    assert model.provides == list_capabilities(config)
    assert not model.provides & {"maps", "hidden", "lambda", "gates"}
    assert ("pooled" in model.provides) == (family in ("bilstm", "cnn"))
    assert (model.get_lambdas(), model.name_lambda_parameters(), model.get_scalars()) == ([], set(), {})
    assert config.needs_lexicon == (family == "lexicon")
    check_raises(InputError, "no attention", model, batch, intervene=Intervention(heads_off=frozenset({(0, 0)})))


@pytest.mark.parametrize("family", ["bilstm", "cnn"])
def test_baselines_support_one_logit_and_a_dense_layer(family):
    base = PRESETS[family].model
    chosen = dataclasses.replace(base.head, one_logit=True, dense=11)
    assert build_model(dataclasses.replace(base, head=chosen), vocabulary=30, classes=2).head.weight.shape == (1, 11)


@pytest.mark.parametrize("family", READS)
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("attention.rotary", {"attention": AttentionConfig(rotary=True)}),
        ("position", {"position": "none"}),
        ("norm", {"norm": "rms"}),
    ],
)
def test_settings_without_effect_are_refused(family, name, changes):
    start = CNN if family == "cnn" else {"family": family}
    reads = ", ".join(READS[family])
    told = f"of the model it reads {reads}" if reads else "it reads no setting of the model"
    with pytest.raises(ConfigError, match=f"model.{name}=.*: no effect on model.family={family}; {told}"):
        ModelConfig(**{**start, **changes})


def test_models_without_heads_can_have_any_width_within_the_limits_of_every_family():
    model = build_model(ModelConfig(family="bilstm", width=7, ff_width=5), vocabulary=30, classes=2)
    assert model.embedding.embedding_dim == 7
    assert ModelConfig(**CNN, width=51).by_steps and not ModelConfig(family="tfidf-nb").by_steps
    for dropout in (-0.1, 1.0):
        check_raises(ConfigError, r"model\.dropout", ModelConfig, family="bilstm", dropout=dropout)
    check_raises(ConfigError, r"choose model\.head\.kernels=3,4,5", ModelConfig, family="cnn")
