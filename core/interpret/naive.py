"""An encoder computed anew from its weights, plainly and in float64, with everything that lies between.

The model computes the same fused and in its own precision; tests hold the two to each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from core.interpret.rules import Array, Dot, Norm, Softmax, Sum, activated
from core.models.attention import Attention
from core.models.encoder import Layer
from core.models.feedforward import FeedForward, SwiGLU
from core.models.mixing import Additive, Differential, DifferentialV2
from core.models.support import support_mask
from core.models.terms import rotate
from core.models.trace import Intervention

UNTOUCHED = Intervention()
TINY = 1e-12
"""Below that a query or key counts as this long where it is divided by its length."""
RANGES = {"01": "sigmoid", "pos": "relu"}
"""What brings the vectors of lambda into their range; of `pm1` tanh, of `free` nothing."""


@dataclass(frozen=True, eq=False)
class Given:
    """What all layers read besides the vectors; L tokens, the class token among them."""

    keep: Tensor
    """(1, L) bool."""
    polarity: Array | None
    """(L, 3)."""
    class_token: bool
    change: Intervention = UNTOUCHED
    """What is changed inside."""

    @property
    def weights(self) -> Array:
        """(L,): of a mean over the tokens that are read."""
        keep = self.keep[0].cpu().numpy().astype(float)
        shares: Array = keep / max(1.0, keep.sum())
        return shares


@dataclass(frozen=True, eq=False)
class Seen:
    """One attention, all N components and H heads of it; e and v are how wide a head's queries and values are."""

    x: Array
    """(L, d): what it reads, normalised where the norm stands before."""
    plain: tuple[Array, Array]
    """Queries and keys (N, H, L, e), as projected."""
    turned: tuple[Array, Array]
    """The same, turned where positions are rotary."""
    content: Array
    """(N, H, L, L): their products, over sqrt(e) unless they are cosines."""
    sigma: Array | None
    """(L, L): products of polarities."""
    log_gate: Array | None
    """(L,)."""
    scores: Array
    """(N, H, L, L): content with all terms."""
    allowed: Array
    """(L, L) bool."""
    maps: Array
    """(N, H, L, L)."""
    coefficients: Array
    """(N, H, L); 0 of what is silent."""
    combined: Array
    """(H, L, L)."""
    values: Array
    """(H, L, v)."""
    left: Array
    """(H, 1, v): what stays of components that say their mean; 0 where none does."""
    read: Array
    """(H, L, v): combined map times values, and what stays."""
    said: Array
    """(H, L, v): after the norm of the head, where there is one; of a silent head 0, or its mean."""
    joined: Array
    """(L, d): the heads side by side."""
    out: Array
    """(L, d): after the output map."""


@dataclass(frozen=True, eq=False)
class Passed:
    """One layer."""

    before: Array
    """(L, d)."""
    attention: Seen
    added: Array
    """(L, d): before + attention."""
    middle: Array
    """(L, d): what goes on from there, normalised where the norm stands behind."""
    inner: Array
    """(L, d): what the feed-forward part reads."""
    raised: tuple[Array, ...]
    """What its middle is a product of, (L, f) each: one, of SwiGLU two."""
    rewritten: Array
    """(L, d): its output."""
    summed: Array
    """(L, d): middle + output."""
    after: Array
    """(L, d)."""


def exact(weight: Tensor | None) -> Array:
    """A weight in float64, on the CPU.

    Raises:
        RuntimeError: there is none.
    """
    if weight is None:
        raise RuntimeError("this part of the model has no such weight")
    found: Array = weight.detach().double().cpu().numpy()
    return found


def bias_of(module: nn.Module) -> Array | None:
    """The bias of a module that may have none."""
    bias = getattr(module, "bias", None)
    return None if bias is None else exact(bias)


def linear(x: Array, module: nn.Linear, part: slice = slice(None)) -> Dot:
    """x W^T + b, or those of its outputs."""
    bias = bias_of(module)
    return Dot(x, exact(module.weight).T[:, part], None if bias is None else bias[part])


def norm(x: Array, module: nn.Module, scale: float = 1.0) -> Norm | None:
    """LayerNorm or RMSNorm; None where there is none."""
    if not isinstance(module, nn.LayerNorm | nn.RMSNorm):
        return None
    eps = torch.finfo(torch.float32).eps if module.eps is None else module.eps
    return Norm(x, exact(module.weight), bias_of(module), eps, isinstance(module, nn.LayerNorm), scale)


def normed(x: Array, module: nn.Module) -> Array:
    """x where there is no norm."""
    rule = norm(x, module)
    return x if rule is None else rule.values()


def attend(attention: Attention, x: Array, given: Given) -> Seen:
    """Every number of one attention over x (L, d)."""
    plain = tuple(_heads(linear(x, each).values(), attention) for each in (attention.query, attention.key))
    turned = tuple(_turned(each) if attention.terms.rotary else each for each in plain)
    q, k = turned
    content = q @ k.swapaxes(-1, -2)
    if attention.temperature is None:
        content = content / math.sqrt(q.shape[-1])
    sigma = sigma_of(attention, given)
    gate = log_gate(attention, x, given)
    scores = _scored(attention, content, lengths(turned), sigma, gate, given)
    allowed = allowed_pairs(attention, given)
    maps = Softmax(np.where(allowed, scores, -np.inf)).values()
    off, level = silent_maps(attention, given.change)
    whole = coefficients(attention, x, given.change)
    c = np.where(off | level, 0.0, whole)
    combined = (c[..., None] * maps).sum(0)
    values = linear(x, attention.value).values().reshape(len(x), attention.heads, -1).swapaxes(0, 1)
    left = given.weights[None, None] @ ((level * whole)[..., None] * maps).sum(0) @ values
    read = combined @ values + left
    said = read
    if attention.head_norm is not None:
        rules = [norm(each, attention.head_norm, attention.mixing.scale) for each in read]
        said = np.stack([rule.values() for rule in rules if rule is not None])
    said = _spoken(said, attention, given)
    joined = said.swapaxes(0, 1).reshape(len(x), -1)
    out = linear(joined, attention.out).values()
    return Seen(
        *(x, plain, turned, content, sigma, gate, scores, allowed, maps, c),  # type: ignore[arg-type]
        *(combined, values, left, read, said, joined, out),
    )


def passed(layer: Layer, x: Array, given: Given) -> Passed:
    """Every number of one layer over x (L, d)."""
    seen = attend(layer.attention, normed(x, layer.attention_norm) if layer.pre else x, given)
    added = x + seen.out
    middle = added if layer.pre else normed(added, layer.attention_norm)
    inner = normed(middle, layer.feedforward_norm) if layer.pre else middle
    raised = raise_(layer.feedforward, inner)
    down = layer.feedforward.down
    rewritten = linear(math.prod(raised[1:], start=raised[0]), down).values()  # type: ignore[arg-type]
    summed = middle + rewritten
    after = summed if layer.pre else normed(summed, layer.feedforward_norm)
    return Passed(x, seen, added, middle, inner, raised, rewritten, summed, after)


def raise_(module: nn.Module, x: Array) -> tuple[Array, ...]:
    """What the middle of a feed-forward part is a product of."""
    if isinstance(module, SwiGLU):
        return activated(linear(x, module.gate).values(), "silu"), linear(x, module.up).values()
    if not isinstance(module, FeedForward):
        raise TypeError(f"{type(module).__name__} is no feed-forward part")
    kind = "relu" if module.activation is torch.nn.functional.relu else "gelu"
    return (activated(linear(x, module.up).values(), kind),)  # type: ignore[arg-type]


def lengths(vectors: tuple[Array, ...]) -> tuple[Array, ...]:
    """(…, L) of vectors (…, L, e)."""
    return tuple(np.maximum(np.linalg.norm(each, axis=-1), TINY) for each in vectors)


def angles(length: int, width: int) -> tuple[Array, Array]:
    """Cosine and sine (L, e/2) by which rotary positions turn, in the precision in which the model has them."""
    unit = torch.zeros(length, width)
    unit[:, 0::2] = 1
    turned = exact(rotate(unit))
    return turned[:, 0::2], turned[:, 1::2]


def sigma_of(attention: Attention, given: Given) -> Array | None:
    """(N, H, L, L): products of polarities, where a lexicon does anything to the scores.

    Of several lexicons the sum of those that reach a head, each with its strength.
    """
    term = attention.terms.lexical
    if term is None or given.polarity is None:
        return None
    strengths, reach = exact(term.strength), exact(term.reach)
    each = [given.polarity[:, 3 * k : 3 * k + 3] for k in range(len(strengths))]
    if len(each) == 1:
        return np.broadcast_to(each[0] @ each[0].T, (*reach.shape[1:], len(each[0]), len(each[0])))
    found: Array = sum(
        strengths[k] * reach[k][..., None, None] * (polarity @ polarity.T) for k, polarity in enumerate(each)
    )
    return found


def gate_rule(attention: Attention, x: Array, given: Given) -> Sum | None:
    """(L, 1): the gate of each token; that of a class token is 1 whatever this says."""
    gate = attention.terms.gate
    if gate is None:
        return None
    parts: list[tuple[Array | float, ...]] = [((x @ exact(gate.weight))[:, None],), (float(exact(gate.bias)[0]),)]
    if gate.strength is not None and given.polarity is not None:
        parted = np.abs(given.polarity[:, 0::3].sum(1) - given.polarity[:, 2::3].sum(1))[:, None]
        parts.append((float(exact(gate.strength)[0]), parted))
    return Sum(tuple(parts), (len(x), 1), "sigmoid")


def gates(attention: Attention, x: Array, given: Given) -> Array | None:
    """(L,): the gate of each token, 1 of a class token, as changed; None: there are none."""
    rule = gate_rule(attention, x, given)
    if rule is None:
        return None
    found: Array = rule.values()[:, 0]
    if given.class_token:
        found[0] = 1.0
    for token, value in own_gates(attention, given):
        found[token] = value
    return found


def own_gates(attention: Attention, given: Given) -> list[tuple[int, float]]:
    """(token, value) of those that are set by hand."""
    return [(token, value) for layer, token, value in given.change.gates if layer == attention.index]


def log_gate(attention: Attention, x: Array, given: Given) -> Array | None:
    """(L,); 0 of a closed one, whose key is hidden."""
    found = gates(attention, x, given)
    return None if found is None else np.log(np.where(found > 0, found, 1.0))


def lexicon(attention: Attention, sigma: Array, given: Given) -> tuple[float, Array] | None:
    """A factor, and what it stands before: what is added to the scores, or multiplied with; None: a factor is out.

    The strength of a single lexicon is in the factor, those of several in sigma.
    """
    term, change, at = attention.terms.lexical, given.change, attention.index
    if term is None:
        return None
    strength = float(exact(term.strength)[0]) if len(term.strength) == 1 else 1.0
    if term.kind == "add":
        return strength * term.scale * change.lexical_factor(at), sigma
    if at in change.lexical_off:
        return None
    return strength, (sigma @ given.weights)[..., None] if at in change.lexical_mean else sigma


def _scored(
    attention: Attention,
    content: Array,
    long: tuple[Array, ...],
    sigma: Array | None,
    gate: Array | None,
    given: Given,
) -> Array:
    """(N, H, L, L): content with temperature, Hadamard factor, gate and lexical term."""
    lexical = attention.terms.lexical
    if attention.temperature is not None:
        q, k = long
        content = exact(attention.temperature)[0] * content / q[..., :, None] / k[..., None, :]
    if lexical is not None and sigma is not None:
        reach = (exact(lexical.reach).sum(0) > 0)[..., None, None]
        found = lexicon(attention, sigma, given)
        if found is not None and lexical.kind == "hadamard":
            content = np.where(reach, content * found[0] * found[1], content)
        elif found is not None:
            content = content + reach * found[0] * found[1]
    return content if gate is None else content + gate


def allowed_pairs(attention: Attention, given: Given) -> Array:
    """(L, L) bool: which key a query may see; not that of a closed gate."""
    length, area = given.keep.shape[1], attention.terms.support
    open_keys = given.keep[0].cpu().numpy().copy()
    for token, value in own_gates(attention, given):
        open_keys[token] &= value > 0
    keys = np.broadcast_to(open_keys, (length, length))
    if area is None or area.covers(length):
        return keys
    found: Array = support_mask(given.keep, area.globals(given.keep, attention.index), area.window)[0].cpu().numpy()
    return found & keys


def lambda_rule(attention: Attention, x: Array, head: int) -> Sum | None:
    """(1 or L, N − 1): lambda of one head, of each token where it depends on that; None: there is one map."""
    mixing, many = attention.mixing, attention.components - 1
    if isinstance(mixing, DifferentialV2):
        return Sum((((x @ exact(mixing.logit.weight)[head])[:, None],),), (len(x), 1), "sigmoid")
    if isinstance(mixing, Differential):
        products = (exact(mixing.lambda_q) * exact(mixing.lambda_k)).sum(-1)
        first, second = np.exp(products[:, min(head, products.shape[1] - 1)])
        return Sum(((float(first),), (-1.0, float(second)), (mixing.lambda_init,)), (1, 1))
    if not isinstance(mixing, Additive) or not many:
        return None
    own = min(head, mixing.alpha.shape[1] - 1)
    p = share(mixing, x, own)
    alpha, beta = exact(mixing.alpha)[:, own], exact(mixing.beta)[:, own]
    return Sum(((p, alpha), (1 - p, beta)), p.shape)


def share(mixing: Additive, x: Array, own: int) -> Array:
    """(1 or L, N − 1): p, how far lambda lies from beta towards alpha."""
    u, v = exact(mixing.lambda_q)[:, own], exact(mixing.lambda_k)
    v = np.einsum("ld,dne->lne", x, v[:, :, own]) if mixing.from_input else v[None, :, own]
    if mixing.constraint == "pm1":
        return (np.tanh(u) * np.tanh(v)).mean(-1)
    within = RANGES.get(mixing.constraint, "")
    found: Array = (activated(u, within) * activated(v, within)).mean(-1)  # type: ignore[arg-type]
    return found


def lambdas(attention: Attention, x: Array, head: int, change: Intervention) -> Array | None:
    """(1 or L, N − 1): lambda of one head as changed, those that are silent too; None: there is one map."""
    rule = lambda_rule(attention, x, head)
    if rule is None:
        return None
    found: Array = rule.values() * change.lambda_scale
    for layer, component, value in change.lambdas:
        if layer == attention.index:
            found[:, component - 1] = value
    return found


def coefficients(attention: Attention, x: Array, change: Intervention) -> Array:
    """(N, H, L): 1 and ± lambda of each token, divided by the sum of their magnitudes where rows are normalised."""
    c = np.ones((attention.components, attention.heads, len(x)))
    for head in range(attention.heads):
        if (found := lambdas(attention, x, head, change)) is not None:
            c[1:, head] = attention.mixing.sign * found.T
    return c / np.abs(c).sum(0) if attention.row_norm else c


def silent_maps(attention: Attention, change: Intervention) -> tuple[Array, Array]:
    """(N, H, 1) bool each: where a component of a head is off; where its mean alone stays."""
    shape, at = (attention.components, attention.heads, 1), attention.index
    off, level = np.zeros(shape, bool), np.zeros(shape, bool)
    for i, head in np.ndindex(shape[:2]):
        off[i, head] = (at, i) in change.components_off or (at, head, i) in change.maps_off
        level[i, head] = (at, i) in change.components_mean or (at, head, i) in change.maps_mean
    return off, level & ~off


def _spoken(said: Array, attention: Attention, given: Given) -> Array:
    """(H, L, v): what heads say, those that are silent 0 or their mean."""
    at, change, found = attention.index, given.change, said.copy()
    for head in range(attention.heads):
        if (at, head) in change.heads_off:
            found[head] = 0.0
        elif (at, head) in change.heads_mean:
            found[head] = given.weights @ said[head]
    return found


def _heads(x: Array, attention: Attention) -> Array:
    """(L, N · H · e) → (N, H, L, e)."""
    split = x.reshape(len(x), attention.components, attention.heads, -1)
    return split.transpose(1, 2, 0, 3)


def _turned(x: Array) -> Array:
    """(…, L, e), each pair of numbers turned by the place."""
    cos, sin = angles(*x.shape[-2:])
    even, odd = x[..., 0::2], x[..., 1::2]
    both = np.stack([even * cos - odd * sin, even * sin + odd * cos], -1)
    return both.reshape(x.shape)
