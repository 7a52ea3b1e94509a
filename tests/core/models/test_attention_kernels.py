"""All attention kernels agree with the equation and with each other."""

import math

import pytest
import torch

from core.models import attention_kernels
from core.models.attention_kernels import attend_explicit, attend_fused

B, H, L, E, V = 5, 2, 9, 4, 6
KEEP = torch.arange(L) < torch.tensor([9, 5, 1, 2, 0])[:, None]


def inputs(n: int, shape: tuple[int, ...]) -> list[torch.Tensor]:
    """Return q, k, v and coefficients in float64, with gradients."""
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
    plain = torch.autograd.grad((explicit(*tensors, KEEP) * weight).sum(), tensors)
    for got, wanted in zip(fast, plain, strict=True):
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
    single = torch.autograd.grad(attend_fused(*tensors, KEEP).pow(2).sum(), tensors)
    for got, wanted in zip(single, whole, strict=True):
        torch.testing.assert_close(got, wanted, atol=1e-12, rtol=1e-12)


@each_way
def test_empty_texts_give_zero_and_finite_gradients(way):
    tensors = inputs(2, (1, 2, 1, 1, 1))
    out = way(*tensors, KEEP)
    assert (out[4] == 0).all()
    assert all(grad.isfinite().all() for grad in torch.autograd.grad(out.sum(), tensors))


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
