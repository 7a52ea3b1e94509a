"""Formulas of the cells of a forward-pass matrix: computed for all cells, and written out with numbers for one.

Every rule has `compute_values()`, its formula for the whole matrix (float64), and `format_cell(i, j)`, the same for one
cell as text: `0.42·1.10 + 0.31·(−0.20) + …`; `…` marks omitted terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from core.formatting import MINUS
from core.lazy_imports import scipy
from core.models.activation_record import Parts

Array = np.ndarray
After = Literal["", "relu", "gelu", "silu", "sigmoid", "abs"]
SHOWN = 3  # Largest products that are written of a long sum
FEW = 4  # Products of a short sum, which are all written, in order
CALM = 12  # Larger scores are written relative to the largest of their row, which does not change the softmax


@dataclass(frozen=True, eq=False)
class Dot:
    """A scaled matrix product, cell by cell: activation( scale · Σ_k left_ik right_kj + bias_j )."""

    left: Array  # (R, K)
    right: Array  # (K, C)
    bias: Array | None = None  # (C,)
    scale: float = 1.0
    after: After = ""

    def compute_values(self) -> Array:
        """Compute the values (R, C) of a scaled matrix product with bias and activation."""
        total = self.scale * (self.left @ self.right)
        return apply_activation(total if self.bias is None else total + self.bias, self.after)

    def format_cell(self, i: int, j: int) -> str:
        """Write one cell of a matrix product as text, with its largest products."""
        left, right = self.left[i], self.right[:, j]
        there = np.arange(len(left))
        some = there if len(left) <= FEW else np.argsort(-np.abs(left * right), kind="stable")[:SHOWN]
        words = " + ".join(f"{_format_factor(left[k])}·{_format_factor(right[k])}" for k in some)
        words += f" + … {len(left) - len(some)} more" if len(some) < len(left) else ""
        words = f"{format_number(self.scale)} · ({words})" if self.scale != 1 else words
        words = words if self.bias is None else f"{words} + {_format_factor(self.bias[j])}"
        return _wrap_activation(words, self.after)


@dataclass(frozen=True, eq=False)
class Sum:
    """An elementwise sum of products, cell by cell: activation( Σ_n Π_m part_nm )."""

    parts: tuple[tuple[Array | float, ...], ...]  # Arrays that broadcast to (R, C), and numbers
    shape: tuple[int, int]  # (R, C)
    after: After = ""

    def compute_values(self) -> Array:
        """Compute the values (R, C) of an elementwise sum of products."""
        total = np.zeros(self.shape)
        for factors in self.parts:
            total = total + math.prod(factors, start=np.ones(self.shape))
        return apply_activation(total, self.after)

    def format_cell(self, i: int, j: int) -> str:
        """Write one cell of an elementwise sum of products as text, with all products."""
        cells = [[float(np.broadcast_to(each, self.shape)[i, j]) for each in factors] for factors in self.parts]
        words = " + ".join("·".join(_format_factor(each) for each in factors) for factors in cells)
        return _wrap_activation(words, self.after)


@dataclass(frozen=True, eq=False)
class MaskedScores:
    """Masked attention scores, cell by cell: scores of keys that a query may see, −∞ for all others."""

    scores: Array  # (R, C)
    allowed: Array  # (R, C) bool

    def compute_values(self) -> Array:
        """Compute the masked attention scores (R, C)."""
        return np.where(self.allowed, self.scores, -np.inf)

    def format_cell(self, i: int, j: int) -> str:
        """Write whether a query may see a key, with the attention score if it may."""
        return f"seen: {format_number(self.scores[i, j])}" if self.allowed[i, j] else "hidden"


@dataclass(frozen=True, eq=False)
class Softmax:
    """A softmax over rows, cell by cell, e^s_ij / Σ_m e^s_im; a key at −∞ has weight 0."""

    scores: Array  # (R, C)

    def compute_values(self) -> Array:
        """Compute the softmax (R, C), whose rows sum to 1, or to 0 where every key is hidden."""
        top = self.scores.max(-1, keepdims=True)
        raised = np.exp(self.scores - np.where(np.isfinite(top), top, 0))
        total = raised.sum(-1, keepdims=True)
        shares: Array = raised / np.where(total > 0, total, 1)
        return shares

    def format_cell(self, i: int, j: int) -> str:
        """Write one softmax cell as a fraction: the exponential of its score over the sum of the row."""
        row = self.scores[i]
        if not np.isfinite(row[j]):
            return "hidden, so it weighs 0"
        shift = float(row.max()) if abs(row.max()) > CALM else 0.0
        total = float(np.exp(row - shift).sum())
        power = f"({format_number(row[j])} − {format_number(shift)})" if shift else format_number(row[j])
        return f"e^{power} / Σ = {format_number(math.exp(row[j] - shift))} / {format_number(total)}"


@dataclass(frozen=True, eq=False)
class Norm:
    """A layer norm, cell by cell: scale · weight_j (x_ij − mean_i) / deviation_i + bias_j; RMSNorm: no mean."""

    x: Array  # (R, C)
    weight: Array  # (C,)
    bias: Array | None  # (C,)
    eps: float
    centered: bool
    scale: float = 1.0

    def compute_values(self) -> Array:
        """Compute the layer-normalised matrix (R, C)."""
        mean, deviation = self._compute_moments()
        found: Array = self.scale * self.weight * (self.x - mean) / deviation
        return found if self.bias is None else found + self.bias

    def format_cell(self, i: int, j: int) -> str:
        """Write one cell of a layer norm as text, with the mean and deviation of its row."""
        mean, deviation = self._compute_moments()
        above = format_number(self.x[i, j])
        above = f"({above} − {_format_factor(mean[i, 0])})" if self.centered else above
        factors = [format_number(self.scale)] if self.scale != 1 else []
        words = "·".join([*factors, _format_factor(self.weight[j]), f"{above} / {format_number(deviation[i, 0])}"])
        return words if self.bias is None else f"{words} + {_format_factor(self.bias[j])}"

    def _compute_moments(self) -> tuple[Array, Array]:
        mean = self.x.mean(-1, keepdims=True) if self.centered else np.zeros((len(self.x), 1))
        return mean, np.sqrt(((self.x - mean) ** 2).mean(-1, keepdims=True) + self.eps)


@dataclass(frozen=True, eq=False)
class Largest:
    """The formula of each cell of a max pooling, as shown on Steps: the largest value of each column."""

    x: Array  # (R, C)
    names: tuple[str, ...] = field(default=())  # Of the rows

    def compute_values(self) -> Array:
        """Compute the largest value of each column, (1, C)."""
        found: Array = self.x.max(0, keepdims=True)
        return found

    def format_cell(self, i: int, j: int) -> str:
        """Write at which row a column has its largest value."""
        place = int(self.x[:, j].argmax())
        return f"the largest of {len(self.x)}, at {self.names[place]}"


def to_float64(weight: Tensor | None) -> Array:
    """Convert a model weight to a float64 array on the CPU; RuntimeError if the model lacks this weight."""
    if weight is None:
        raise RuntimeError("this part of the model has no such weight")
    found: Array = weight.detach().double().cpu().numpy()
    return found


def make_linear_rule(x: Array, module: nn.Linear, part: slice = slice(None)) -> Dot:
    """Return the cell by cell formula x W^T + b of a linear layer, for all or some of its outputs."""
    bias = None if module.bias is None else to_float64(module.bias)[part]
    return Dot(x, to_float64(module.weight).T[:, part], bias)


def make_norm_rule(x: Array, module: nn.Module, scale: float = 1.0) -> Norm | None:
    """Return the formula of each cell of a LayerNorm or RMSNorm module; None if the module is neither."""
    if not isinstance(module, nn.LayerNorm | nn.RMSNorm):
        return None
    eps = torch.finfo(torch.float32).eps if module.eps is None else module.eps
    bias = None if (bias := getattr(module, "bias", None)) is None else to_float64(bias)
    return Norm(x, to_float64(module.weight), bias, eps, isinstance(module, nn.LayerNorm), scale)


def make_sum_rule(parts: Parts, shape: tuple[int, int], after: str, pick: Callable[[Tensor], Array]) -> Sum:
    """Return the formula of each cell of a sum of products that was recorded in a forward pass."""
    factors = (tuple(pick(each) if isinstance(each, Tensor) else each for each in part) for part in parts)
    return Sum(tuple(factors), shape, after)  # type: ignore[arg-type]


Rule = Dot | Sum | MaskedScores | Softmax | Norm | Largest


def apply_activation(x: Array, after: After) -> Array:
    """Apply ReLU, GELU, SiLU, sigmoid or absolute value elementwise; an empty name changes nothing."""
    found: Array = {
        "": lambda: x,
        "relu": lambda: np.maximum(x, 0),
        "gelu": lambda: x * (1 + scipy.special.erf(x / math.sqrt(2))) / 2,
        "silu": lambda: x * scipy.special.expit(x),
        "sigmoid": lambda: scipy.special.expit(x),
        "abs": lambda: np.abs(x),
    }[after]()
    return found


def format_number(value: float) -> str:
    """Format a number with two decimals, three below 0.1, or in powers of ten; with a true minus sign."""
    size = abs(float(value))
    if not math.isfinite(size):
        return f"{MINUS}∞" if value < 0 else "∞"
    if size == 0:
        return "0"
    if size >= 1e5 or size < 0.0005:
        return f"{value:.1e}".replace("-", MINUS)
    return f"{value:.{2 if size >= 0.095 else 3}f}".replace("-", MINUS)


def _format_factor(value: float) -> str:
    """Format a factor of a product, in brackets if it is negative."""
    said = format_number(value)
    return f"({said})" if said.startswith(MINUS) else said


def _wrap_activation(words: str, after: After) -> str:
    return {"": words, "relu": f"max(0, {words})", "abs": f"|{words}|"}.get(after, f"{after}({words})")
