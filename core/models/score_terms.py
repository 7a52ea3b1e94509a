"""The terms of an attention score besides q·k: rotary angles, temperature, gates and lexicon polarity.

Every additive term is an extra column of Q and K, so that attention stays one softmax(Q' K'^T) V without an (L, L)
bias: a gate adds [1] to the queries and [log g] to the keys, sigma = polarity · polarity adds polarity to both, and
several lexicons add one column group each. Columns are appended last, without the factors of the content score.
"""

import math
from dataclasses import dataclass, fields
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models.attention_config import Term
from core.models.attention_kernels import Support
from core.models.trace import SILENT, LayerTrace, LexicalChanges, Record

NEUTRAL = 1 / 3  # Each share of the polarity of a token that no lexicon lists
GATE_STD, GATE_OPEN = 0.02, 2.0  # SentiFormer: gates start at sigmoid(2) = 0.88, nearly the same for all tokens
LEXICON_GATE = 1.0


@dataclass(frozen=True)
class AttentionInputs:
    """The inputs of an attention layer besides token vectors: masks, polarities, donor trace and record."""

    keep: Tensor  # (B, L) bool, including the class token
    polarity: Tensor | None  # (B, L, 3K)
    class_token: bool  # Whether the first position is a class token
    donor: tuple[LayerTrace, ...] = ()  # Layer traces of another text, for interventions
    record: Record = SILENT  # Record of this layer, for the display of single steps
    places: Tensor | None = None  # (B, L): positions by which rotary queries and keys are turned; None: as they stand


def compute_valence(polarity: Tensor) -> Tensor:
    """Map word polarities (..., 3K) of K lexicons to valences (...): the sum of positive minus negative."""
    return polarity[..., 0::3].sum(-1) - polarity[..., 2::3].sum(-1)


def apply_rotary(x: Tensor, places: Tensor | None = None) -> Tensor:
    """Rotate entry pairs of x (..., L, e) at position i, or at `places` (B, L), by i / 10000^(2j/e)."""
    length, width = x.shape[-2:]
    rate = torch.exp(torch.arange(0, width, 2, dtype=torch.float32, device=x.device) * (-math.log(10_000) / width))
    angle = torch.arange(length, dtype=torch.float32, device=x.device)[:, None] * rate
    if places is not None:
        angle = angle[places][:, None, None]  # (B, 1, 1, L, e/2)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class KeyGate(nn.Module):
    """A learned gate on keys, g_j = sigmoid(x_j · w + b), that weighs tokens in all heads (SentiFormer, eq. 4).

    With a lexicon, strength · |positive - negative| of the token is added to the logit; the strength is learned.
    """

    def __init__(self, *, width: int, lexicon: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width) * GATE_STD)
        self.bias = nn.Parameter(torch.full((1,), GATE_OPEN))
        self.strength = nn.Parameter(torch.full((1,), LEXICON_GATE)) if lexicon else None

    def forward(self, x: Tensor, polarity: Tensor | None, record: Record = SILENT) -> Tensor:
        """Compute the log of each key's gate (B, L) from token vectors x (B, L, d) and lexicon polarities."""
        content, opened = x @ self.weight, None
        logit = content + self.bias
        if self.strength is not None:
            if polarity is None:
                raise RuntimeError("a gate guided by a lexicon needs the polarity of the tokens")
            opened = self.strength, compute_valence(polarity).abs()
            logit = logit + opened[0] * opened[1]
        if record:
            parts = (content,), (self.bias,), *([opened] if opened else [])
            record("g", logit.sigmoid(), parts=parts, after="sigmoid")
        return F.logsigmoid(logit)


class LexicalTerm(nn.Module):
    """The lexical attention term sigma_ij = polarity_i · polarity_j, added to the scores or multiplied with them.

    Sentiment Lexical Attention, section 3, and its baseline (`hadamard`, Xia et al. 2021). For K lexicons it is the sum
    of their sigmas, each times its strength (a parameter with `learn`) in the maps and heads of `reach` (K, N, H) bool;
    `scale` is a constant factor, 1 / sqrt(head width) if sigma is scaled.
    """

    reach: Tensor

    def __init__(
        self, *, kind: Literal["add", "hadamard"], reach: Tensor, strength: float, learn: bool, scale: float
    ) -> None:
        super().__init__()
        self.kind, self.scale = kind, scale
        self.register_buffer("reach", reach, persistent=False)
        start = torch.full((len(reach),), strength)
        if learn:
            self.strength: Tensor = nn.Parameter(start)
        else:
            self.register_buffer("strength", start, persistent=False)

    @property
    def silent(self) -> bool:
        """Return whether the lexical term adds nothing: its strength is 0 and is not being learned."""
        learning = torch.is_grad_enabled() and self.strength.requires_grad
        return self.kind == "add" and not learning and not bool(self.strength.any())

    def build_columns(self, polarity: Tensor, change: LexicalChanges | None) -> tuple[Tensor, Tensor]:
        """Return columns for queries and keys that add the lexical term to the attention scores, with interventions."""
        row = polarity[:, None, None]
        scale = self._spread_strengths(self.reach)[None, :, :, None] * self.scale
        return (scale if change is None else scale * change.factor.view(-1, 1, 1, 1, 1)) * row, row

    def multiply_scores(
        self, q: Tensor, k: Tensor, polarity: Tensor, keep: Tensor, change: LexicalChanges | None
    ) -> tuple[Tensor, Tensor]:
        """Expand queries and keys so that their product q·k is multiplied by the lexical term sigma."""
        alone = torch.zeros_like(polarity[0, 0])
        alone[0] = 1.0
        reach = self._get_reach(change)[..., None, None]
        row = torch.where(reach, polarity[:, None, None], alone)  # (B, N, H, L, 3K)
        keys = _get_key_polarity(polarity, keep, change)
        key = row if keys is polarity else torch.where(reach, keys[:, None, None], alone)
        weighted = torch.where(reach, self._spread_strengths(self.reach)[None, :, :, None], 1.0) * row
        return tuple((r[..., None] * x[..., None, :]).flatten(-2) for r, x in ((weighted, q), (key, k)))  # type: ignore[return-value]

    def trace_sigma(self, polarity: Tensor, keep: Tensor, change: LexicalChanges | None) -> Tensor:
        """Return the lexical term (B, H, L, L), which is added to the attention scores or multiplies them."""
        weights = self._spread_strengths(self.reach.any(1))[:, None]  # (H, 1, 3K)
        polarity = polarity.to(weights.dtype)
        if self.kind == "add":
            sigma = self.scale * ((weights * polarity[:, None]) @ polarity.transpose(1, 2)[:, None])
            return sigma if change is None else sigma * change.factor.view(-1, 1, 1, 1)
        sigma = (weights * polarity[:, None]) @ _get_key_polarity(polarity, keep, change).transpose(1, 2)[:, None]
        return torch.where(self._get_reach(change).any(1)[..., None, None], sigma, 1.0)

    def _spread_strengths(self, reach: Tensor) -> Tensor:
        """Return the strengths (..., 3K) of K lexicons, three equal entries each; 0 outside their masks (K, ...)."""
        strengths = self.strength.view(-1, *[1] * (reach.dim() - 1)) * reach
        return strengths.movedim(0, -1).repeat_interleave(3, -1)

    def _get_reach(self, change: LexicalChanges | None) -> Tensor:
        """Return for which texts, maps and heads the lexical term multiplies the scores, (B|1, N, H) bool."""
        reach = self.reach.any(0)[None]
        return reach if change is None else reach & ~change.off[:, None, None]


def _get_key_polarity(polarity: Tensor, keep: Tensor, change: LexicalChanges | None) -> Tensor:
    """Return the polarity of each key (B, L, 3K), or the mean over keys where an intervention averages it."""
    if change is None or not bool(change.mean.any()):
        return polarity
    weight = keep[..., None].to(polarity.dtype)
    mean = (polarity * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True).clamp(min=1)
    return torch.where(change.mean[:, None, None], mean, polarity)


@dataclass(frozen=True)
class Terms:
    """The terms of the attention scores besides q·k: rotation, temperature, gate, lexicon and window."""

    rotary: bool = False  # Rotate queries and keys by their position
    qk_norm: bool = False  # Cosines times a learned temperature, not q·k / sqrt(head width)
    gate: KeyGate | None = None
    lexical: LexicalTerm | None = None
    support: Support | None = None  # Window; None: every token sees every other
    said: tuple[Term, ...] = ()  # Descriptions of these terms, and of how maps combine

    def list_modules(self) -> dict[str, nn.Module]:
        """Return the score terms that are torch modules, by the names under which their weights are stored."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: term for name, term in found.items() if isinstance(term, nn.Module)}

    def apply_factors(
        self, q: Tensor, k: Tensor, reading: AttentionInputs, change: LexicalChanges | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return queries and keys (B, N, H, L, e), extended so that a lexicon multiplies their scores, if it should."""
        if self.lexical is None or self.lexical.kind != "hadamard":
            return q, k
        return self.lexical.multiply_scores(q, k, _get_polarity(reading), reading.keep, change)

    def build_columns(
        self, reading: AttentionInputs, log_gate: Tensor | None, change: LexicalChanges | None
    ) -> dict[str, tuple[Tensor, Tensor]]:
        """Return the added terms by name, as columns of queries and keys that are broadcast to (B, N, H, L, .)."""
        found = {}
        if log_gate is not None:
            found["gate"] = log_gate.new_ones(1), log_gate[:, None, None, :, None]
        if self.lexical is not None and self.lexical.kind == "add":
            found["lexical"] = self.lexical.build_columns(_get_polarity(reading), change)
        return found

    def trace_terms(self, reading: AttentionInputs, change: LexicalChanges | None) -> dict[str, Tensor]:
        """Return the lexical term of the attention scores by name, (B, H, L, L), for the trace."""
        if self.lexical is None:
            return {}
        name = "lexical" if self.lexical.kind == "add" else "lexical_factor"
        return {name: self.lexical.trace_sigma(_get_polarity(reading), reading.keep, change)}


def _get_polarity(reading: AttentionInputs) -> Tensor:
    if reading.polarity is None:
        raise RuntimeError("this model reads the polarity of tokens and got none")
    return reading.polarity
