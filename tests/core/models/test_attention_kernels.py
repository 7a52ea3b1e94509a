import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from refused import check_raises
from torch.utils._python_dispatch import TorchDispatchMode

from core.exceptions import ConfigError
from core.models import attention_kernels
from core.models.attention_kernels import (
    ABSENT,
    attend_banded,
    attend_explicit,
    attend_fused,
    build_support_mask,
    draw_global_positions,
)

B, H, L, E, V = 5, 2, 9, 4, 6
KEEP = torch.arange(L) < torch.tensor([9, 5, 1, 2, 0])[:, None]


def inputs(n: int, shape: tuple[int, ...]) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(n)
    sizes = [(B, n, H, L, E), (B, n, H, L, E), (B, H, L, V), shape]
    return [torch.randn(size, generator=g, dtype=torch.float64).requires_grad_() for size in sizes]


def written_out(q, k, v, c, keep):
    """Compute out = sum_i c_i softmax(q_i k_i^T) v in Python, one query at a time."""
    n = q.shape[1]
    c = c.expand(B, n, H, L, 1)
    out = torch.zeros(B, H, L, V, dtype=q.dtype)
    for b in range(B):
        kept = [j for j in range(L) if keep[b, j]]
        for h in range(H):
            for i in range(L):
                for m in range(n):
                    weights = [math.exp(float(q[b, m, h, i].detach() @ k[b, m, h, j].detach())) for j in kept]
                    for weight, j in zip(weights, kept, strict=True):
                        out[b, h, i] += c[b, m, h, i, 0] * weight / sum(weights) * v[b, h, j]
    return out


def stacked(q, k, v, c, keep):
    return attention_kernels._compute_stacked(q, k, v, c, keep[:, None, None])


def explicit(q, k, v, c, keep):
    return attend_explicit(q, k, v, c, keep)[0]


each_way = pytest.mark.parametrize("way", [attend_fused, stacked, explicit])
SHAPES = {"layer": (1, 3, 1, 1, 1), "head": (1, 3, H, 1, 1), "token": (B, 3, H, L, 1)}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@each_way
def test_fused_attention_equals_the_equation(way, shape):
    q, k, v, c = inputs(3, shape)
    torch.testing.assert_close(way(q, k, v, c, KEEP), written_out(q, k, v, c, KEEP), atol=1e-12, rtol=1e-10)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("way", [attend_fused, stacked])
def test_fused_gradients_equal_the_explicit_form(way, shape):
    tensors = inputs(3, shape)
    weight = torch.randn(B, H, L, V, dtype=torch.float64)
    fast = torch.autograd.grad((way(*tensors, KEEP) * weight).sum(), tensors)
    for got, wanted in zip(fast, torch.autograd.grad((explicit(*tensors, KEEP) * weight).sum(), tensors), strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-11, rtol=1e-9)


@pytest.mark.slow
def test_the_combined_kernel_passes_a_numerical_gradient_check():
    tensors = [t[:2, ..., :4, :] if t.dim() == 5 and t.shape[3] == L else t for t in inputs(2, (1, 2, H, 1, 1))]
    q, k, v, c = (t.detach().requires_grad_() for t in (tensors[0], tensors[1], tensors[2][:2, :, :4], tensors[3]))
    assert torch.autograd.gradcheck(lambda *a: attend_fused(*a, KEEP[:2, :4]), (q, k, v, c))


def test_block_size_does_not_change_the_result(monkeypatch):
    tensors = inputs(3, SHAPES["token"])
    whole = torch.autograd.grad(attend_fused(*tensors, KEEP).pow(2).sum(), tensors)
    monkeypatch.setattr(attention_kernels, "BUFFER_BYTES", 1)
    for got, wanted in zip(torch.autograd.grad(attend_fused(*tensors, KEEP).pow(2).sum(), tensors), whole, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@each_way
def test_empty_texts_give_zero_and_finite_gradients(way):
    tensors = inputs(2, (1, 2, 1, 1, 1))
    out = way(*tensors, KEEP)
    assert (out[4] == 0).all() and all(grad.isfinite().all() for grad in torch.autograd.grad(out.sum(), tensors))


def test_maps_are_distributions_over_visible_keys():
    _, maps = attend_explicit(*inputs(3, SHAPES["layer"]), KEEP)
    assert (maps.masked_select(~KEEP[:, None, None, None].expand_as(maps)) == 0).all()
    torch.testing.assert_close(maps[:4].sum(-1), torch.ones(4, 3, H, L, dtype=torch.float64))
    assert (maps[4] == 0).all()


def test_long_texts_use_the_flash_kernel_with_equal_results(monkeypatch):
    tensors = [t.detach().float() for t in inputs(2, (1, 2, 1, 1, 1))]
    short = attend_fused(*tensors, KEEP)
    monkeypatch.setattr(attention_kernels, "COMBINED_LENGTH", 0)
    torch.testing.assert_close(attend_fused(*tensors, KEEP), short, atol=1e-6, rtol=1e-5)


def test_training_under_cpu_autocast_uses_the_explicit_form():
    tensors = [t.detach().float() for t in inputs(2, (1, 2, 1, 1, 1))]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(attend_fused(*tensors, KEEP), explicit(*tensors, KEEP))


COEFFICIENTS = {
    "layer": lambda B, N, H, L: (1, N, 1, 1, 1),
    "head": lambda B, N, H, L: (1, N, H, 1, 1),
    "token": lambda B, N, H, L: (B, N, H, L, 1),
    "token of all heads": lambda B, N, H, L: (B, N, 1, L, 1),
}


def draw_inputs(B, N, H, L, e, dv, per, seed, dtype=torch.float64):
    g = torch.Generator().manual_seed(seed)
    shapes = [(B, N, H, L, e), (B, N, H, L, e), (B, H, L, dv), COEFFICIENTS[per](B, N, H, L)]
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def mask_lengths(lengths, L):
    return torch.arange(L) < torch.tensor(lengths)[:, None]


def draw_globals(keep, **how):
    return draw_global_positions(keep.sum(1), **{"layer": 0, "random": 2, "seed": 0, **how})


def dense(q, k, v, c, keep, positions, *, window):
    return attend_explicit(q, k, v, c, keep, build_support_mask(keep, positions, window))[0]


def with_gradients(way, tensors, *args, **kwargs):
    """Return the output and the gradients of a random projection of it."""
    out = way(*tensors, *args, **kwargs)
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(out.dtype)
    return [out, *torch.autograd.grad((out * weight).sum(), tensors)]


def assert_same(some, others, atol):
    for got, wanted in zip(some, others, strict=True):
        torch.testing.assert_close(got, wanted, atol=atol, rtol=atol)


@pytest.mark.slow
@settings(max_examples=80)
@given(data=st.data())
def test_banded_attention_equals_masked_dense_attention_and_gradients(data):
    draw = data.draw
    L = draw(st.sampled_from([1, 2, 3, 17, 31, 32, 33, 64, 97, 160]) | st.integers(1, 170), "L")
    lengths = draw(st.lists(st.integers(0, L), min_size=1, max_size=4), "lengths")
    keep = mask_lengths(lengths, L)
    how = {"layer": draw(st.integers(0, 5)), "random": draw(st.integers(0, 4)), "seed": draw(st.integers(0, 9))}
    positions = draw_globals(keep, **how)
    seed = draw(st.integers(0, 999), "seed")
    if draw(st.booleans(), "closed gates"):  # hides keys, also global ones, after the global tokens were drawn
        keep = keep & (torch.rand(keep.shape, generator=torch.Generator().manual_seed(seed)) > 0.3)
    window = 2 * draw(st.integers(1, 50), "half window")
    e, dv = draw(st.integers(1, 5), "e"), draw(st.integers(1, 5), "dv")
    N, H, per = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.sampled_from(list(COEFFICIENTS)))
    tensors = draw_inputs(len(lengths), N, H, L, e, dv, per, seed)
    got, wanted = (with_gradients(way, tensors, keep, positions, window=window) for way in (attend_banded, dense))
    assert_same(got, wanted, 1e-10)


@pytest.mark.slow
def test_long_float32_texts_match_to_1e6():
    keep = mask_lengths([700, 650], 700)
    positions = draw_globals(keep)
    tensors = draw_inputs(2, 2, 2, 700, 8, 8, "token", 5, torch.float32)
    with torch.no_grad():
        for x in tensors[:2]:  # scores with a standard deviation of about 1
            x.mul_(8**-0.25)
    got = with_gradients(attend_banded, tensors, keep, positions, window=64)
    wanted = with_gradients(dense, [x.detach().double().requires_grad_() for x in tensors], keep, positions, window=64)
    for x, y in zip(got, wanted, strict=True):
        assert (x - y).abs().max().item() < 1e-6 * max(1.0, y.abs().max().item())


@pytest.mark.slow
def test_banded_attention_passes_a_numerical_gradient_check(monkeypatch):
    monkeypatch.setattr(attention_kernels, "BLOCK", 3)
    keep = mask_lengths([7, 5], 7)
    tensors = draw_inputs(2, 2, 1, 7, 2, 2, "token", 3)
    assert torch.autograd.gradcheck(lambda *x: attend_banded(*x, keep, draw_globals(keep, random=1), window=2), tensors)


@pytest.mark.parametrize("block", [1, 5, 32, 64])
@pytest.mark.parametrize("buffer", [1, 20_000, 10**9])
def test_block_and_buffer_sizes_do_not_change_the_result(monkeypatch, block, buffer):
    keep = mask_lengths([90, 61, 0], 90)
    tensors = draw_inputs(3, 2, 2, 90, 3, 4, "token", 2)
    wanted = with_gradients(dense, tensors, keep, draw_globals(keep), window=10)
    monkeypatch.setattr(attention_kernels, "BLOCK", block)
    monkeypatch.setattr(attention_kernels, "BANDED_BUFFER_BYTES", buffer)
    assert_same(with_gradients(attend_banded, tensors, keep, draw_globals(keep), window=10), wanted, 1e-11)


def test_hidden_keys_have_no_weight_and_queries_without_keys_finite_gradients():
    keep = mask_lengths([90, 70], 90)
    positions = draw_globals(keep)
    hidden = [0, 13, 40, int(positions[1, 2]), 69]  # the ends, two in between and a random global
    keep[1, hidden] = False
    tensors = [x.detach().float() for x in draw_inputs(2, 1, 2, 90, 3, 3, "layer", 4)]
    other = [x.clone() for x in tensors]
    for x in other[1:3]:  # keys and values
        x[1, ..., [*hidden, *range(70, 90)], :] = 1e4
    assert torch.equal(*[attend_banded(*x, keep, positions, window=8) for x in (tensors, other)])
    keep = mask_lengths([100, 0], 100)
    positions = draw_globals(keep)
    keep[0, positions[0]] = False  # hides all global keys, and a whole stretch
    keep[0, 20:60] = False
    tensors = draw_inputs(2, 2, 2, 100, 3, 3, "token", 4)
    out, *gradients = with_gradients(attend_banded, tensors, keep, positions, window=8)
    assert (out[0, :, [i for i in range(24, 56) if i not in positions[0].tolist()]] == 0).all()
    assert (out[1] == 0).all()
    assert (out[0, :, positions[0]] != 0).all()  # a global query still sees the others
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert all((gradient[1] == 0).all() for gradient in gradients)


def test_strided_projections_and_autocast_to_float32_give_the_same_result():
    keep = mask_lengths([70, 50], 70)
    q, k, v, c = (x.detach() for x in draw_inputs(2, 3, 2, 70, 4, 5, "token", 1))
    strided = [x.permute(0, 3, 1, 2, 4).contiguous().permute(0, 2, 3, 1, 4) for x in (q, k)]
    values = v.transpose(1, 2).contiguous().transpose(1, 2)
    assert not strided[0].is_contiguous()
    args = keep, draw_globals(keep)
    got, wanted = (attend_banded(*x, c, *args, window=8) for x in ((*strided, values), (q, k, v)))
    torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)
    tensors = [x.detach().float().requires_grad_() for x in draw_inputs(2, 2, 2, 70, 4, 4, "layer", 1)]
    plain = attend_banded(*tensors, *args, window=8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = attend_banded(*tensors, *args, window=8)
        rounded = attend_banded(tensors[0].bfloat16(), *tensors[1:], *args, window=8)  # like the output of projections
    gradients = (torch.autograd.grad(out.sum(), tensors) for out in (mixed, plain))
    assert torch.equal(mixed, plain)
    assert_same(*gradients, 0.0)
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, mixed, atol=0.1, rtol=0.1)


class Largest(TorchDispatchMode):
    """Records the size of the largest tensor that any operation creates, forward or backward."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else [result]:
            if isinstance(x, torch.Tensor):
                # Memory and not shape, as stretches are overlapping views.
                self.numel = max(self.numel, x.untyped_storage().nbytes() // x.element_size())
        return result


def largest(L):
    keep = torch.ones(1, L, dtype=torch.bool)
    tensors = [x.detach().float().requires_grad_() for x in draw_inputs(1, 1, 2, L, 4, 4, "layer", 1)]
    with Largest() as seen:
        with_gradients(attend_banded, tensors, keep, draw_globals(keep), window=64)
    return seen.numel


@pytest.mark.slow
def test_memory_is_linear_in_the_text_length(monkeypatch):
    monkeypatch.setattr(attention_kernels, "BANDED_BUFFER_BYTES", 10**9)  # all scores at once
    small, large = largest(512), largest(2048)
    assert large == pytest.approx(4 * small, rel=0.05) and large < 2048**2 / 4


@pytest.mark.parametrize(("window", "better"), [(63, 64), (1, 2), (0, 2), (-4, 2)])
def test_invalid_windows_are_refused_with_the_nearest_valid_one(window, better):
    keep = mask_lengths([9], 9)
    for call in (
        lambda: build_support_mask(keep, draw_globals(keep), window),
        lambda: attend_banded(*draw_inputs(1, 1, 1, 9, 2, 2, "layer", 0), keep, draw_globals(keep), window=window),
    ):
        check_raises(ConfigError, f"window={window}: .*use {better}$", call)


ROW = {
    "length": st.integers(0, 300),
    "layer": st.integers(0, 11),
    "random": st.integers(0, 5),
    "seed": st.integers(0, 2**31),
}


def draw_positions(length: int, *, layer: int = 0, random: int = 2, seed: int = 0) -> list[int]:
    return draw_global_positions(torch.tensor([length]), layer=layer, random=random, seed=seed)[0].tolist()


@pytest.mark.slow
@given(**ROW)
def test_global_tokens_are_first_last_and_distinct_inner_positions(length, layer, random, seed):
    row = draw_positions(length, layer=layer, random=random, seed=seed)
    present = [place for place in row if place != ABSENT]
    assert len(row) == 2 + random and len(set(present)) == len(present) == min(length, 2 + random)
    assert set(present) >= ({0, length - 1} if length else set()) and all(0 <= place < length for place in present)
    assert row[len(present) :] == [ABSENT] * (2 + random - len(present))  # the absent ones are last


@pytest.mark.slow
@given(lengths=st.lists(st.integers(0, 60), min_size=1, max_size=6), layer=st.integers(0, 3))
def test_texts_have_the_same_global_tokens_in_every_batch(lengths, layer):
    together = draw_global_positions(torch.tensor(lengths), layer=layer, random=2, seed=3)
    assert together.tolist() == [draw_positions(length, layer=layer, seed=3) for length in lengths]


def test_global_positions_depend_on_seed_layer_and_length_and_never_change():
    # Recorded values: other versions of Python and torch must draw the same.
    assert draw_positions(100) == [0, 99, 80, 82] and draw_positions(9) == [0, 8, 3, 7]
    assert draw_positions(3) == [0, 2, 1, ABSENT]
    assert len({tuple(draw_positions(200, layer=layer)) for layer in range(20)}) > 15
    assert len({tuple(draw_positions(200, seed=seed)) for seed in range(20)}) > 15
    assert len({draw_positions(length)[2] for length in range(200, 220)}) > 10


@pytest.mark.slow
def test_inner_positions_are_drawn_uniformly():
    count = torch.zeros(12)
    for seed in range(4000):
        count[draw_positions(12, seed=seed)[2:]] += 1
    expected = 4000 * 2 / 10
    assert (count[[0, 11]] == 0).all()
    # Two of ten positions per draw: the standard deviation of a count is sqrt(4000 * 0.2 * 0.8) = 25.
    assert (count[1:11] - expected).abs().max() < 5 * 25


def test_the_mask_equals_its_definition_and_a_wide_window_shows_all_keys():
    keep = torch.tensor([[True, True, False, True, True, True, True, False], [True, True, True] + 5 * [False]])
    positions = torch.tensor([[0, 6, 4], [0, 2, ABSENT]])
    mask = build_support_mask(keep, positions, window=2)
    for b in range(2):
        everywhere = set(positions[b].tolist())
        for i in range(8):
            for j in range(8):
                assert mask[b, i, j] == (bool(keep[b, j]) and (abs(i - j) <= 1 or i in everywhere or j in everywhere))
    keep = torch.arange(9) < torch.tensor([9, 4, 0])[:, None]
    mask = build_support_mask(keep, draw_global_positions(keep.sum(1), layer=0, random=0, seed=0), window=16)
    assert torch.equal(mask, keep[:, None].expand(3, 9, 9))


@pytest.mark.parametrize("window", [2, 6, 64])
def test_visibility_is_symmetric_and_includes_half_the_window_on_each_side(window):
    keep = torch.arange(100) < torch.tensor([100, 70, 1, 0])[:, None]
    positions = draw_global_positions(keep.sum(1), layer=1, random=2, seed=5)
    mask = build_support_mask(keep, positions, window)
    both = keep[:, :, None] & keep[:, None]
    assert torch.equal(mask & both, (mask & both).mT) and torch.equal(mask.diagonal(dim1=1, dim2=2), keep)
    for i in [i for i in range(window // 2, 70 - window // 2) if i not in positions[1].tolist()]:
        inside = range(i - window // 2, i + window // 2 + 1)
        assert mask[1, i].nonzero().flatten().tolist() == sorted({*inside, *positions[1].tolist()})
