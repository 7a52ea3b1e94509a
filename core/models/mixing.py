"""The modules that compute the coefficients c with which the attention maps of a head are combined.

A mixing module turns the layer's input (B, L, d) into coefficients (B|1, N, H|1, L|1, 1) with c_0 = 1 and
c_i = sign * lambda_i. `get_lambdas()` returns the lambdas themselves, (N-1, S) with S = 1 (one per layer) or H (one
per head), or None where they depend on the input.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from core.models.attention_config import ADDITIVE, DIFFERENTIAL, OF_TOKEN, Constraint
from core.models.trace import SILENT, Record

LAMBDA_STD = 0.02
NEAR_ZERO = LAMBDA_STD / 10  # root mean square of a vector's entries, below which λ hardly has a gradient
_CONSTRAIN: dict[Constraint, Callable[[Tensor], Tensor]] = {
    "01": torch.sigmoid,
    "pm1": torch.tanh,
    "pos": torch.relu,
    "free": lambda x: x,
}


class SingleMap(nn.Module):
    """The coefficients of plain attention, which has a single map with c = 1."""

    sign = 1.0
    scale = 1.0

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Return the constant coefficient of a single attention map, shape (1, 1, 1, 1, 1)."""
        return x.new_ones(1, 1, 1, 1, 1)

    def get_lambdas(self) -> Tensor:
        """Return an empty tensor (0, 1), as a single attention map needs no weight λ."""
        return torch.empty(0, 1)


class Differential(nn.Module):
    """The map coefficients 1, -λ of the Differential Transformer: λ = exp(q1.k1) - exp(q2.k2) + λ_init (2410.05258).

    `layer` counts from 1 and sets λ_init unless there is a `start`. The four vectors have length `head_width`; `sets`
    is 1, or the number of heads for one λ per head.
    """

    sign = -1.0

    def __init__(self, *, layer: int, head_width: int, sets: int, start: float | None = None) -> None:
        super().__init__()
        self.lambda_init = compute_lambda_init(layer) if start is None else start
        self.scale = 1 - self.lambda_init
        self.lambda_q = nn.Parameter(torch.randn(2, sets, head_width) * 0.1)
        self.lambda_k = nn.Parameter(torch.randn(2, sets, head_width) * 0.1)

    def get_lambdas(self) -> Tensor:
        """Return the weight λ of a layer's second attention map, (1, 1), or one λ per head, (1, H)."""
        first, second = (self.lambda_q * self.lambda_k).sum(-1).exp()
        return (first - second + self.lambda_init)[None]

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Return the coefficients 1 and -λ of the two attention maps, (1, 2, S, 1, 1)."""
        if record:
            first, second = (self.lambda_q * self.lambda_k).sum(-1).exp()[:, None, None, :, None]  # (1, 1, S, 1)
            parts = (first,), (-1.0, second), (self.lambda_init,)
            record(r"\lambda", first - second + self.lambda_init, DIFFERENTIAL, parts)
        return _build_coefficients(self.get_lambdas(), self.sign)


class DifferentialV2(nn.Module):
    """The map coefficients 1 and -λ of the second Differential Transformer: λ = sigmoid(x W) per token and head."""

    sign = -1.0
    scale = 1.0

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        self.logit = nn.Linear(width, heads, bias=False)

    def get_lambdas(self) -> Tensor | None:
        """Return None, as the map weight λ depends on the input; a trace holds its values as coefficients."""
        return None

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Return the coefficients 1 and -λ of the two attention maps for each query token, (B, 2, H, L, 1)."""
        logit = self.logit(x).transpose(1, 2)[:, None, :, :, None]  # (B, 1, H, L, 1)
        lam = logit.sigmoid()
        if record:
            record(r"\lambda", lam[..., 0], OF_TOKEN, ((logit[..., 0],),), "sigmoid")
        return torch.cat([torch.ones_like(lam), -lam], 1)


class Additive(nn.Module):
    """The map coefficients 1, λ_i of NDT: λ_i = p_i alpha_i + (1 - p_i) beta_i, p_i = mean(f(q_i) * f(k_i)) (eqs. 4-6).

    alpha and beta depend on the `layer`, from 1; beta is a constant, like alpha, unless it is learned. f gives the
    range of λ, the `constraint`. There are N `components`, the base included; the vectors have d / 4 entries. `sets` is
    1, or the number of heads for one λ per head. With `from_input` k_i is a linear map of each token, so that λ differs
    between tokens. `start` is the start of every λ; None: the fit to the paper's learned values.
    """

    sign = 1.0
    alpha: Tensor
    beta: Tensor

    def __init__(
        self,
        *,
        layer: int,
        components: int,
        constraint: Constraint,
        width: int,
        sets: int,
        learn_beta: bool,
        from_input: bool,
        start: float | None = None,
    ) -> None:
        super().__init__()
        extra = range(1, components)
        shape = (components - 1, sets, width // 4)
        ends = [compute_alpha_beta(constraint, layer, j, start) for j in extra]
        alpha, beta = (torch.tensor([[end[i]] * sets for end in ends]).view(components - 1, sets) for i in (0, 1))
        self.constraint = constraint
        self.lambda_q = nn.Parameter(torch.randn(shape) * LAMBDA_STD)
        self.from_input = from_input
        # Drawn so that a normalised token gives entries as large as those of the vectors.
        spread = LAMBDA_STD / math.sqrt(width) if from_input else LAMBDA_STD
        self.lambda_k = nn.Parameter(torch.randn((width, *shape) if from_input else shape) * spread)
        self.register_buffer("alpha", alpha)
        if learn_beta:
            self.beta = nn.Parameter(beta)
        else:
            self.register_buffer("beta", beta)
        self.scale = 1 / (1 + sum(compute_initial_lambda(constraint, layer, j, start) for j in extra))

    def get_lambdas(self) -> Tensor | None:
        """Return the weights λ of all attention maps but the first, (N-1, S); None if they depend on the input."""
        return None if self.from_input else self._compute_lambda(self.lambda_k)

    def find_trapped(self) -> Tensor:
        """Return which λ, (N-1,) bool, are at their start β and have no gradient there: f(q) and f(k) are near 0."""
        if self.from_input or isinstance(self.beta, nn.Parameter):  # λ moves with the token, or with β
            return torch.zeros(len(self.alpha), dtype=torch.bool)
        f = _CONSTRAIN[self.constraint]
        sizes = torch.stack([f(each).square().mean(-1).sqrt() for each in (self.lambda_q, self.lambda_k)])
        return (sizes < NEAR_ZERO).all(0).any(-1)

    def forward(self, x: Tensor, record: Record = SILENT) -> Tensor:
        """Return the coefficients 1, λ_1 … λ_{N-1} of the attention maps, constant or for each token of x."""
        if not self.from_input:
            return _build_coefficients(self._compute_lambda(self.lambda_k, record), self.sign)
        keys = torch.einsum("bld,dnse->blnse", x, self.lambda_k)
        lam = self._compute_lambda(keys, record).permute(0, 2, 3, 1)[..., None]
        return torch.cat([torch.ones_like(lam[:, :1]), lam], 1)

    def _compute_lambda(self, k: Tensor, record: Record = SILENT) -> Tensor:
        """Compute the map weights λ (…, N-1, S) from key vectors (…, N-1, S, d/4) and the learned query vectors."""
        f = _CONSTRAIN[self.constraint]
        p = (f(self.lambda_q) * f(k)).mean(-1)
        found = p * self.alpha + (1 - p) * self.beta
        if record:
            p, lam = (x.permute(0, 2, 3, 1) if self.from_input else x[None, ..., None] for x in (p, found))
            parts = (p, self.alpha[None, ..., None]), (1 - p, self.beta[None, ..., None])  # (B|1, N-1, S, L|1)
            record(r"\lambda", lam, ADDITIVE, parts)
        return found


def _build_coefficients(lambdas: Tensor, sign: float) -> Tensor:
    return torch.cat([lambdas.new_ones(1, lambdas.shape[1]), sign * lambdas])[None, :, :, None, None]


def compute_lambda_init(layer: int) -> float:
    """Return the Differential Transformer's initial map weight λ for a layer from 1: 0.2, 0.3555, … up to 0.8."""
    return 0.8 - 0.6 * math.exp(-0.3 * (layer - 1))


def compute_lambda_target(layer: int, component: int) -> float:
    """Return the value around which NDT's λ starts, by layer and map, at most 0.8.

    The paper gives none: these were fitted to its learned values, so agreement with them is no evidence.
    """
    if component == 1:
        return compute_lambda_init(layer)
    return min(0.8, 0.2 * 0.8 ** (component - 1) * 1.25 ** (layer - 1))


def compute_alpha_beta(
    constraint: Constraint, layer: int, component: int, start: float | None = None
) -> tuple[float, float]:
    """Return alpha and beta, the two values that NDT's map weight λ is mixed from; its paper does not give them.

    Without a start they are fitted to the paper's learned lambdas. With one they are as far apart as the range of
    lambda allows (1 if it is unbounded), so that lambda begins at the start: p is 1/4 for the range [0,1], else 0.
    """
    if start is not None and constraint == "01":
        return (4 * start, 0.0) if start <= 0.25 else (1.0, (4 * start - 1) / 3)
    if start is not None:
        return start + (1 - abs(start) if constraint == "pm1" else 1.0), start
    target = compute_lambda_target(layer, component)
    if constraint == "01":
        return min(target, 0.3), 0.1375 + 0.009 * (layer - 1)
    if constraint == "pm1":
        if layer == 1:
            return target, -target
        # Beyond the paper's four components, values decrease by the factor of layer 1.
        return target, (-0.06, -0.10, -0.08)[min(component, 3) - 1] * 0.8 ** max(0, component - 3)
    return target + min(target, 0.4), target


def compute_initial_lambda(constraint: Constraint, layer: int, component: int, start: float | None = None) -> float:
    """Return NDT's map weight λ before training, by layer and attention map, without its small random spread."""
    alpha, beta = compute_alpha_beta(constraint, layer, component, start)
    p = 0.25 if constraint == "01" else 0.0
    return p * alpha + (1 - p) * beta
