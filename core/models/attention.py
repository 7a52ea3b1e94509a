"""The attention module of all encoders: scores with their terms, mixing of attention maps, head norm and output."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models.attention_kernels import attend_banded, attend_explicit, attend_fused, build_support_mask
from core.models.config import DENSE_TRACE
from core.models.mixing import Additive, Differential, DifferentialV2, SingleMap
from core.models.score_terms import AttentionInputs, Terms, apply_rotary
from core.models.trace import Changes, Intervention, LayerTrace, LexicalChanges, Record

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
