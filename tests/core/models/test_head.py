import math

import pytest
import torch
import torch.nn.functional as F

from core.exceptions import ConfigError
from core.models.head import Branch, Head, HeadAttention

WIDTH, CHANNELS, KERNELS = 12, 5, (2, 3, 5, 7)
JOINED = WIDTH + CHANNELS * len(KERNELS)


WHOLE = {"width": WIDTH, "classes": 3, "kernels": KERNELS, "channels": CHANNELS, "attention_heads": 4, "dense": 6}


def make_head(**changes) -> Head:
    """Return the full head in float64 with random parameters and running statistics."""
    torch.manual_seed(0)
    head = Head(**{**WHOLE, "pooling": "mean", **changes}).double()
    with torch.no_grad():
        for tensor in head.state_dict().values():
            if tensor.is_floating_point():
                tensor.add_(0.3 * torch.rand_like(tensor))
    return head.eval()


@pytest.fixture
def texts() -> tuple[torch.Tensor, torch.Tensor]:
    """Return vectors of four texts (full, short, one token, none) with arbitrary values at padding."""
    x = torch.randn(4, 9, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return x, torch.arange(9) < torch.tensor([9, 5, 1, 0])[:, None]


def naive_branch(branch: Branch, x: torch.Tensor, kernel: int) -> torch.Tensor:
    """Convolve one text (n, d) by the paper's sum, at index i + j - (k - 1) // 2."""
    weight, bias, norm = branch.convolution.weight, branch.convolution.bias, branch.norm
    rows = []
    for i in range(len(x)):
        total = bias.clone()
        for j in range(kernel):
            place = i + j - (kernel - 1) // 2
            if 0 <= place < len(x):
                total += weight[:, :, j] @ x[place]
        rows.append((total - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias)
    return torch.stack(rows).clamp(min=0)


def naive_head(head: Head, x: torch.Tensor) -> torch.Tensor:
    """Compute the logits of one text (n, d) without padding, step by step."""
    joined = torch.cat([x, *(naive_branch(head.branches[str(k)], x, k) for k in KERNELS)], 1)
    attention, size = head.attention, JOINED // head.attention.heads
    outs = []
    for h in range(attention.heads):
        part = slice(h * size, (h + 1) * size)
        q, k, v = (each(joined)[:, part] for each in (attention.query, attention.key, attention.value))
        outs.append((q @ k.T / math.sqrt(size)).softmax(-1) @ v)
    dense = (attention.out(torch.cat(outs, 1)).sum(0) / len(x) @ head.dense.weight.T + head.dense.bias).clamp(min=0)
    normed = (dense - dense.mean()) / (dense.var(correction=0) + 1e-5).sqrt()
    return F.linear(normed * head.dense_norm.weight + head.dense_norm.bias, head.weight, head.bias)


def test_head_steps_follow_the_paper(texts):
    x, keep = texts
    head = make_head()
    found = head(x, keep, trace=False).logits
    for row, length in enumerate([9, 5, 1]):
        torch.testing.assert_close(found[row], naive_head(head, x[row, :length]))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_minimal_head_is_pooling_and_a_linear_map(texts, pooling):
    x, keep = texts
    head = make_head(kernels=(), attention_heads=0, dense=0, pooling=pooling)
    assert set(head.state_dict()) == {"weight", "bias"}
    output = head(x, keep, trace=True)
    mean = [x[0].mean(0), x[1, :5].mean(0), x[2, 0], torch.zeros(WIDTH, dtype=x.dtype)]
    torch.testing.assert_close(output.pooled, torch.stack(mean) if pooling == "mean" else x[:, 0])
    torch.testing.assert_close(output.logits, F.linear(output.pooled, head.weight, head.bias))
    assert (output.trace.branches, output.trace.maps) == ({}, None)


@pytest.mark.parametrize(("kernel", "sees"), [(1, [0]), (2, [0, 1]), (3, [-1, 0, 1]), (5, [-2, -1, 0, 1, 2])])
def test_convolutions_read_only_their_window(kernel, sees):
    """The width 2 reads a token and the one after it."""
    branch = Branch(width=WIDTH, channels=400, kernel=kernel).eval()
    x = torch.randn(1, 11, WIDTH, requires_grad=True)
    branch(x, torch.ones(1, 11, dtype=torch.bool))[0, 5].sum().backward()
    assert [i - 5 for i in range(11) if x.grad[0, i].abs().sum() > 0] == sees


@pytest.mark.parametrize("training", [False, True])
def test_padding_has_no_effect_in_training(texts, training):
    """More padding with arbitrary values gives the same logits and running statistics."""
    x, keep = texts
    longer, kept = F.pad(x, (0, 0, 0, 6), value=7.0), F.pad(keep, (0, 6))
    longer[~kept] += 5.0
    heads = make_head().train(training), make_head().train(training)
    torch.testing.assert_close(heads[0](x, keep, trace=False).logits, heads[1](longer, kept, trace=False).logits)
    for name, tensor in heads[0].state_dict().items():
        torch.testing.assert_close(tensor, heads[1].state_dict()[name])


def test_batch_statistics_ignore_padding(texts):
    x, keep = texts
    branch = make_head().branches["3"].train()
    out = branch(x, keep)
    tokens = branch.convolution(x, keep)[keep]
    normed = (tokens - tokens.mean(0)) / (tokens.var(0, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(out[keep], (normed * branch.norm.weight + branch.norm.bias).clamp(min=0))
    assert not out[~keep].any()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("lengths", [[0, 0], [1, 0], [1], [3, 0]])
def test_very_short_texts_give_finite_logits_and_gradients(lengths, training):
    keep = torch.arange(4) < torch.tensor(lengths)[:, None]
    x = torch.randn(len(lengths), 4, WIDTH, dtype=torch.float64, requires_grad=True)
    head = make_head().train(training)
    logits = head(x, keep, trace=False).logits
    logits.square().sum().backward()
    assert logits.isfinite().all() and x.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters()) and not x.grad[~keep].any()


@pytest.mark.parametrize("kernels", [(), (2, 7, 3, 5), KERNELS])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_head_traces_show_the_computed_values(texts, kernels, pooling):
    x, keep = texts
    head = make_head(kernels=kernels, pooling=pooling)
    seen, fast = head(x, keep, trace=True), head(x, keep, trace=False)
    torch.testing.assert_close(seen.logits, fast.logits)
    assert fast.trace is None
    assert {k: branch.shape for k, branch in seen.trace.branches.items()} == dict.fromkeys(kernels, (4, 9, CHANNELS))
    maps = seen.trace.maps
    assert maps.shape == (4, 4, 9, 9)
    torch.testing.assert_close(maps[:3].sum(-1), torch.ones(3, 4, 9, dtype=x.dtype))
    assert not maps[(~keep)[:, None, None].expand_as(maps)].any()


def test_one_logit_gives_binary_cross_entropy(texts):
    x, keep = texts
    head = make_head(classes=2, one_logit=True)
    logits = head(x, keep, trace=False).logits
    labels = torch.tensor([1, 0, 1, 0])
    assert head.weight.shape == (1, 6) and not logits[:, 0].any()
    expected = F.binary_cross_entropy_with_logits(logits[:, 1], labels.double())
    torch.testing.assert_close(F.cross_entropy(logits, labels), expected)


@pytest.mark.parametrize(
    ("channels", "joined", "added"),
    [(16, 832, 3_409_858), (32, 896, 4_094_338), (64, 1024, 5_561_602), (128, 1280, 8_889_346)],
)
def test_head_parameters_match_the_paper(channels, joined, added):
    with torch.device("meta"):
        sizes = {"width": 768, "classes": 2, "channels": channels, "attention_heads": 8, "dense": 512}
        head = Head(**{**WHOLE, **sizes}, pooling="mean")
    assert head.dense.in_features == joined and sum(parameter.numel() for parameter in head.parameters()) == added


@pytest.mark.parametrize(("heads", "nearest"), [(12, 13), (7, 8), (60, 64)])
def test_invalid_head_counts_are_refused_with_the_nearest_valid_one(heads, nearest):
    with pytest.raises(ConfigError, match=f"{heads} heads over a width of 832: .* the nearest is {nearest}"):
        HeadAttention(width=832, heads=heads)


def test_head_dropout_acts_on_token_vectors_in_training(texts):
    x, keep = texts
    head = make_head(kernels=(), attention_heads=0, dense=0, pooling="cls", dropout=0.5)
    assert torch.equal(head(x, keep, trace=False).pooled, x[:, 0])
    assert set((head.train()(x, keep, trace=False).pooled / x[:, 0]).flatten().tolist()) == {0.0, 2.0}
