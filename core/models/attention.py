"""The attention module of all encoders: scores with their terms, mixing of attention maps, head norm and output.

The mixing modules compute the coefficients c with which the attention maps of a head are combined. They turn the
layer's input (B, L, d) into coefficients (B|1, N, H|1, L|1, 1) with c_0 = 1 and c_i = sign * lambda_i. `get_lambdas()`
returns the lambdas themselves, (N-1, S) with S = 1 (one per layer) or H (one per head), or None where they depend on
the input.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models.attention_config import ADDITIVE, DIFFERENTIAL, OF_TOKEN, Constraint
from core.models.attention_kernels import attend_banded, attend_explicit, attend_fused, build_support_mask
from core.models.config import DENSE_TRACE
from core.models.score_terms import AttentionInputs, Terms, apply_rotary
from core.models.trace import SILENT, Changes, Intervention, LayerTrace, LexicalChanges, Record

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


Mixing = SingleMap | Differential | DifferentialV2 | Additive

DENSE = 256  # With a window: up to this length masked dense attention is faster than banded attention


class AttentionCore(nn.Module):
    """The part of attention that computes the outputs of the heads from given queries, keys and values."""

    heads: int
    components: int
    index: int
    row_norm: bool
    mixing: Mixing
    terms: Terms
    head_norm: nn.RMSNorm | None
    temperature: nn.Parameter | None

    def compute_outputs(
        self,
        x: Tensor,
        scores: tuple[Tensor, Tensor, Tensor],
        reading: AttentionInputs,
        keys: Tensor,
        changes: Changes | None,
        *,
        trace: bool,
    ) -> tuple[Tensor, LayerTrace]:
        """Return the head outputs (B, H, L, d/H) after interventions, and a trace of attention maps and weights.

        Coefficients may depend on x (B, L, d). `scores` are Q' and K' (B, N, H, L, e'), whose product is the score with
        all its terms, and the values (B, H, L, d/H); `keys` (B, L) bool are the visible keys of `reading.keep`.
        """
        (q, k, v), record = scores, reading.record
        q = q if changes is None else changes.scale_scores(q)
        c, silent = self._compute_coefficients(x, changes, record)
        out, seen = self._compute_attention(q, k, v, c, reading.keep, keys, trace=trace)
        if silent is not None:
            rows = silent.flatten(1).any(1) if len(silent) == len(v) else slice(None)  # the others would get zeros
            asked = (each[rows] for each in (q, k, v, silent, reading.keep, keys))
            left = torch.zeros_like(v[:, :, :1])
            left[rows] = _average_tokens(self._compute_attention(*asked, trace=False)[0], reading.keep[rows])
            out = out + left
            record(r"\overline{o}", left)
        record("o", out, r"o_i = \sum_j P_{ij}\,v_j")
        if self.head_norm is not None:
            out = self.head_norm(out) * self.mixing.scale
            if record:
                record(r"\hat{o}", out, rf"\hat{{o}}_i = {self.mixing.scale:.2f}\,\operatorname{{RMSNorm}}(o_i)")
        if changes is not None:
            off, level = changes.find_silent_heads(self.heads, out.device)
            out = torch.where(off | level, _average_tokens(out, reading.keep) * level, out)
            out = changes.patch_head_outputs(out, reading.donor)
        if not trace:
            return out, seen
        B, H, L, _ = v.shape
        seen = replace(seen, coefficients=c.expand(B, self.components, H, L, 1), head_outputs=out)
        if record and seen.maps is not None:
            record("S", (keys[:, None] if seen.support is None else keys[:, None] & seen.support).expand(B, L, L))
            record("A", seen.maps)
            record("c", seen.coefficients)
            record(r"\tilde{o}", out)
        return out, seen

    def get_scalars(self) -> dict[str, float]:
        """Return an attention layer's learned scalars by name: temperature tau, and strengths of lexicon and gate."""
        named: dict[str, Tensor | None] = {"tau": self.temperature}
        lexical, gate = self.terms.lexical, self.terms.gate
        strengths = lexical.strength if lexical is not None and isinstance(lexical.strength, nn.Parameter) else None
        if strengths is not None and len(strengths) == 1:
            named["strength"] = strengths
        if gate is not None:
            named["lexicon_gate"] = gate.strength
        if strengths is not None and len(strengths) > 1:
            named |= {f"strength_{number}": each for number, each in enumerate(strengths, start=1)}
        return {name: value.item() for name, value in named.items() if value is not None}

    def _compute_attention(
        self, q: Tensor, k: Tensor, v: Tensor, c: Tensor, keep: Tensor, keys: Tensor, *, trace: bool
    ) -> tuple[Tensor, LayerTrace]:
        """Return head outputs (B, H, L, d/H) for given map coefficients, and a trace with maps and their mask."""
        L = q.shape[3]
        seen = LayerTrace(maps=None, coefficients=c, hidden=v, head_outputs=v)
        area = self.terms.support
        positions = None if area is None or area.can_see_all(L) else area.draw_globals(keep, self.index)
        if positions is None or area is None:
            support = None
        elif L > (DENSE_TRACE if trace else DENSE):
            return attend_banded(q, k, v, c, keys, positions, window=area.window), seen
        else:
            support = build_support_mask(keep, positions, area.window)
        if not trace:
            return attend_fused(q, k, v, c, keys, support), seen
        out, maps = attend_explicit(q, k, v, c, keys, support)
        return out, replace(seen, maps=maps, support=support)

    def _compute_coefficients(self, x: Tensor, changes: Changes | None, record: Record) -> tuple[Tensor, Tensor | None]:
        """Return the weights of attention maps after interventions, and the weights of maps replaced by their mean."""
        c: Tensor = self.mixing(x, record)
        if changes is not None:
            c = changes.change_lambdas(c, self.mixing.sign)
        if record:
            record("lambda", self.mixing.sign * c[:, 1:])
        if self.row_norm:
            c = c / c.abs().sum(1, keepdim=True)
        if changes is None:
            return c, None
        off, level = changes.find_silent_maps(self.components, self.heads, c.device)
        return c * ~(off | level), c * level if bool(level.any()) else None


class Attention(AttentionCore):
    """Multi-head attention with N attention maps (components) per head, which share one set of values.

    A score is computed in this order: normalise, rotate, temperature, Hadamard factor, then gate and lexical term.
    `qk_width` is the total width of the queries (and keys) of one component. `head_norm` is an RMSNorm of each head's
    output, times `mixing.scale`. `row_norm` divides the coefficients by the sum of their magnitudes. `index` is the
    layer, from 0.
    """

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        qk_width: int,
        components: int,
        mixing: Mixing,
        terms: Terms,
        head_norm: bool,
        row_norm: bool,
        index: int,
    ) -> None:
        super().__init__()
        self.heads, self.components, self.row_norm, self.index = heads, components, row_norm, index
        self.query = nn.Linear(width, components * qk_width)
        self.key = nn.Linear(width, components * qk_width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.mixing = mixing
        self.terms = terms
        self.temperature = nn.Parameter(torch.ones(1)) if terms.qk_norm else None
        for name, module in terms.list_modules().items():
            self.add_module(name, module)
        self.head_norm = nn.RMSNorm(width // heads, eps=1e-5) if head_norm else None

    def forward(
        self, x: Tensor, reading: AttentionInputs, *, trace: bool, intervene: Sequence[Intervention]
    ) -> tuple[Tensor, LayerTrace | None]:
        """Map token vectors x (B, L, d) to attention outputs (B, L, d), with a trace on request."""
        B, L, d = x.shape
        H, record = self.heads, reading.record
        changes = Changes(intervene, self.index) if intervene else None
        log_gate = self._log_gate(x, reading, changes)
        open_keys = None if changes is None else ~changes.find_closed_keys(reading.keep)
        keys = reading.keep if open_keys is None else reading.keep & open_keys
        lexical = None if changes is None else changes.get_lexical_changes(x)
        q, k = self._build_scores(x, reading, log_gate, lexical)
        v = self.value(x).view(B, L, H, d // H).transpose(1, 2)  # (B, H, L, d/H)
        trace = trace or bool(record)
        out, seen = self.compute_outputs(x, (q, k, v), reading, keys, changes, trace=trace)
        y = self.out(out.transpose(1, 2).reshape(B, L, d))
        if not trace:
            return y, None
        record("x", x)
        record("v", v, r"v_j = x_j W_V + b_V")
        record("y", y)
        return y, replace(
            seen,
            hidden=y,
            gates=log_gate if log_gate is None else log_gate.exp() * (1 if open_keys is None else open_keys),
            terms={} if seen.maps is None else self.terms.trace_terms(reading, lexical),
            temperature=self.temperature,
        )

    def _build_scores(
        self, x: Tensor, reading: AttentionInputs, log_gate: Tensor | None, lexical: LexicalChanges | None
    ) -> tuple[Tensor, Tensor]:
        """Compute queries and keys (B, N, H, L, e'), extended so that their product is the full attention score."""
        B, L, _ = x.shape
        N, H, record = self.components, self.heads, reading.record
        q, k = (p(x).view(B, L, N, H, -1).permute(0, 2, 3, 1, 4) for p in (self.query, self.key))  # (B, N, H, L, e)
        record("q", q)
        record("k", k)
        if self.temperature is not None:
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        if self.terms.rotary:
            q, k = apply_rotary(q, reading.places), apply_rotary(k, reading.places)
        q = q / math.sqrt(q.shape[-1]) if self.temperature is None else q * self.temperature
        q, k = self.terms.apply_factors(q, k, reading, lexical)
        columns = self.terms.build_columns(reading, log_gate, lexical)
        found = append_columns(q, k, columns)
        if record:
            record("s'", found[0] @ found[1].transpose(-1, -2))
            for name, pair in columns.items():
                query, key = (each.expand(*q.shape[:4], -1) for each in pair)
                products = zip(query[..., None].unbind(-2), key.mT[..., None, :].unbind(-3), strict=True)
                record.get_part("added")(name, query @ key.transpose(-1, -2), parts=tuple(products))
        return found

    def _log_gate(self, x: Tensor, reading: AttentionInputs, changes: Changes | None) -> Tensor | None:
        """Return the log of each key's gate (B, L); 0 at a class token and at closed gates, whose keys a mask hides."""
        if self.terms.gate is None:
            return None
        log_gate: Tensor = self.terms.gate(x, reading.polarity, reading.record)
        if reading.class_token:
            first = torch.arange(log_gate.shape[1], device=log_gate.device) == 0
            log_gate = log_gate.masked_fill(first, 0.0)
        return log_gate if changes is None else changes.change_gates(log_gate)


def append_columns(q: Tensor, k: Tensor, columns: Mapping[str, tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Append columns to queries q and keys k (B, N, H, L, e), so that terms are added to the attention scores."""
    if not columns:
        return q, k
    both = zip((q, k), zip(*columns.values(), strict=True), strict=True)
    return tuple(torch.cat([x, *(each.expand(*x.shape[:4], -1) for each in more)], -1) for x, more in both)  # type: ignore[return-value]


def _average_tokens(x: Tensor, keep: Tensor) -> Tensor:
    """Average head outputs (B, H, L, dv) over the real tokens of each text: (B, H, 1, dv), 0 for an empty text."""
    weight = keep.to(x.dtype)[:, None, :, None]
    return (x * weight).sum(2, keepdim=True) / weight.sum(2, keepdim=True).clamp(min=1)
