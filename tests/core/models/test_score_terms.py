import cmath
import itertools
import math

import pytest
import torch
from small_models import make, small

from core.models import attention as attention_module
from core.models.attention_kernels import build_support_mask, draw_global_positions
from core.models.config import AttentionConfig, ModelConfig
from core.models.presets import PRESETS
from core.models.score_terms import AttentionInputs, LexicalTerm, apply_rotary
from core.models.trace import Intervention

B, L = 3, 7
X = torch.linspace(-2, 2, B * L * 16, dtype=torch.float64).sin().mul(1.7).view(B, L, 16)
KEEP = torch.arange(L) < torch.tensor([7, 4, 1])[:, None]
POLARITY = torch.linspace(0, 9, B * L * 3, dtype=torch.float64).cos().mul(2).view(B, L, 3).softmax(-1)
LEXICONS = [POLARITY, torch.linspace(2, 7, B * L * 3, dtype=torch.float64).sin().mul(3).view(B, L, 3).softmax(-1)]
NDT = {"components": 3, "mixing": "additive", "heads": 2, "qk_width": "half"}
DIFFERENTIAL = {"components": 2, "mixing": "differential", "heads": 2, "qk_width": "half", "head_norm": True}
PARTS = {
    "nothing": {},
    "gate": {"gate": True},
    "lexicon gate": {"gate": True, "lexicon_gate": True},
    "rotary": {"rotary": True},
    "qk-norm": {"qk_norm": True},
    "rotary and qk-norm": {"rotary": True, "qk_norm": True},
    "sigma": {"lexical": "add"},
    "sigma scaled": {"lexical": "add", "lexical_scaled": True, "lexical_strength": 2.5},
    "sigma in the last head": {"lexical": "add", "lexical_heads": "last", "learn_strength": True},
    "sigma times content": {"lexical": "hadamard"},
    "sigma times content, last head": {"lexical": "hadamard", "lexical_heads": "last", "lexical_strength": 3.0},
    "two lexicons": {"lexical": "add", "lexicons": 2, "learn_strength": True},
    "two lexicons apart": {"lexical": "add", "lexicons": 2, "lexical_heads": "apart", "lexical_strength": 2.0},
    "two lexicons in the last head": {"lexical": "add", "lexicons": 2, "lexical_heads": "last", "lexical_scaled": True},
    "two lexicons times content": {"lexical": "hadamard", "lexicons": 2, "lexical_heads": "apart"},
    "two lexicons in one map": {**NDT, "lexical": "add", "lexicons": 2, "lexical_component": 1, "learn_strength": True},
    "two lexicons in the gate": {"gate": True, "lexicon_gate": True, "lexical": "add", "lexicons": 2},
    "window": {"window": 2, "random_globals": 1},
    "lexical NDT with gates": {**NDT, "gate": True, "lexical": "add", "lexical_scaled": True},
    "banded NDT": {**NDT, "window": 2, "random_globals": 0, "constraint": "pm1"},
    "NDT, rotary, qk-norm": {**NDT, "rotary": True, "qk_norm": True},
    "sigma on one component": {**NDT, "lexical": "add", "lexical_component": 1, "learn_strength": True},
    "five components": {**NDT, "components": 5},
    "lambda of the head": {**NDT, "lambda_per_head": True, "constraint": "free"},
    "lambda without an upper end": {**NDT, "constraint": "pos"},
    "lambda of the token": {**NDT, "lambda_input": True},
    "differential": DIFFERENTIAL,
    "differential, rows of weight one": {**DIFFERENTIAL, "head_norm": False, "row_norm": True},
    "differential v2": {**DIFFERENTIAL, "mixing": "differential-v2", "head_norm": False},
    "NDT, rows of weight one": {**NDT, "row_norm": True, "constraint": "pm1"},
    "NDT, norm of each head": {**NDT, "head_norm": True},
    "everything": {
        **NDT,
        **{"gate": True, "lexicon_gate": True, "rotary": True, "qk_norm": True, "lambda_per_head": True},
        **{"lexical": "hadamard", "lexical_component": 2, "lexical_heads": "last", "window": 2, "head_norm": True},
    },
}
SILENT = {"off": Intervention(lexical_off=frozenset({1})), "mean": Intervention(lexical_mean=frozenset({1}))}
MULTIPLIED = [name for name, part in PARTS.items() if part.get("lexical") == "hadamard"]


def layer(**part):
    return make(ModelConfig(width=16, ff_width=8, dropout=0.0, attention=AttentionConfig(**part))).layers[1].attention


def run(attention, *, trace=False, keep=KEEP, polarity=None, intervene=None, class_token=False):
    changes = () if intervene is None else (intervene,)
    if polarity is None:
        lexical = attention.terms.lexical
        polarity = torch.cat(LEXICONS, -1) if lexical is not None and len(lexical.reach) > 1 else POLARITY
    return attention(X, AttentionInputs(keep, polarity, class_token), trace=trace, intervene=changes)


def rotate_complex(vector: torch.Tensor, place: int) -> torch.Tensor:
    """Compute rotary positions with complex numbers."""
    width = len(vector)
    out = []
    for j in range(width // 2):
        z = complex(vector[2 * j], vector[2 * j + 1]) * cmath.exp(1j * place / 10_000 ** (2 * j / width))
        out += [z.real, z.imag]
    return torch.tensor(out, dtype=torch.float64)


def log_gate(attention, b: int, j: int) -> torch.Tensor:
    if attention.terms.gate is None:
        return torch.zeros(())
    logit = X[b, j] @ attention.terms.gate.weight + attention.terms.gate.bias[0]
    if attention.terms.gate.strength is not None:
        read = (
            LEXICONS if attention.terms.lexical is not None and len(attention.terms.lexical.reach) > 1 else [POLARITY]
        )
        logit = logit + attention.terms.gate.strength[0] * sum(each[b, j, 0] - each[b, j, 2] for each in read).abs()
    return logit.sigmoid().log()


def factor(attention, part: AttentionConfig, h: int, b: int, i: int, j: int, silent: str) -> torch.Tensor:
    """Return sigma of query i and key j of text b in head h; its mean is over the visible tokens."""
    there = KEEP[b].nonzero().flatten().tolist() if silent == "mean" else [j]
    found = torch.zeros((), dtype=torch.float64)
    for k in range(part.lexicons):
        if part.lexical_heads != "apart" or h % part.lexicons == k:
            said = sum(LEXICONS[k][b, i] @ LEXICONS[k][b, each] for each in there) / len(there)
            found = found + attention.terms.lexical.strength[k] * said
    return found


def score(
    attention, part: AttentionConfig, reached: bool, at: tuple[int, int, int, int], q, k, silent=""
) -> torch.Tensor:
    """Return the content score of query i and key j of text b in head h; the lexical factor may be off or averaged."""
    h, b, i, j = at
    root = math.sqrt(len(q))
    if part.qk_norm:
        q, k = q / q.norm(), k / k.norm()
    if part.rotary:
        q, k = rotate_complex(q, i), rotate_complex(k, j)
    content = q @ k * attention.temperature[0] if part.qk_norm else q @ k / root
    if reached and part.lexical != "none" and silent != "off":
        sigma = factor(attention, part, h, b, i, j, silent)
        content = (
            content * sigma if part.lexical == "hadamard" else content + sigma / (root if part.lexical_scaled else 1)
        )
    return content + log_gate(attention, b, j)


def support(part: AttentionConfig, b: int) -> torch.Tensor:
    if not part.window:
        return KEEP[b].expand(L, L)
    places = draw_global_positions(KEEP.sum(1), layer=1, random=part.random_globals, seed=part.support_seed)
    return build_support_mask(KEEP, places, part.window)[b]


def naive(attention, part: AttentionConfig, b: int, silent: str = "") -> tuple[torch.Tensor, torch.Tensor]:
    """Return maps (N, H, L, L) and output (L, d) of one text, computed in loops."""
    N, H = part.components, part.heads
    q_all, k_all, v_all = attention.query(X[b]), attention.key(X[b]), attention.value(X[b])
    e, dv, seen = q_all.shape[-1] // N // H, 16 // H, support(part, b)
    maps = torch.zeros(N, H, L, L, dtype=torch.float64)
    for n, h, i in itertools.product(range(N), range(H), range(L)):
        cut = slice((n * H + h) * e, (n * H + h + 1) * e)
        reached = (part.lexical_heads != "last" or h == H - 1) and part.lexical_component in (-1, n)
        keys = seen[i].nonzero().flatten().tolist()
        scores = [score(attention, part, reached, (h, b, i, j), q_all[i, cut], k_all[j, cut], silent) for j in keys]
        if keys:
            maps[n, h, i, keys] = torch.stack(scores).softmax(0)
    c = attention.mixing(X)
    c = c[b if len(c) > 1 else 0].expand(N, H, L, 1)
    c = c / c.abs().sum(0) if part.row_norm else c
    heads = [(c[:, h] * maps[:, h]).sum(0) @ v_all[:, h * dv : (h + 1) * dv] for h in range(H)]
    if attention.head_norm is not None:
        heads = [head / (head.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() for head in heads]
        heads = [attention.head_norm.weight * head * attention.mixing.scale for head in heads]
    return maps, attention.out(torch.cat(heads, -1))


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_attention_follows_its_equation(part):
    """Both paths give the same result and gradients."""
    attention = layer(**part)
    fast, (traced, seen) = run(attention)[0], run(attention, trace=True)
    with torch.no_grad():
        for b in range(B):
            maps, out = naive(attention, AttentionConfig(**part), b)
            torch.testing.assert_close(fast[b], out)
            torch.testing.assert_close(traced[b], out)
            torch.testing.assert_close(seen.maps[b], maps)
    names, parameters = zip(*attention.named_parameters(), strict=True)
    weight = torch.linspace(-1, 1, B * L * 16, dtype=torch.float64).view(B, L, 16)
    gradients = (torch.autograd.grad((out * weight).sum(), parameters) for out in (fast, traced))
    for name, one, other in zip(names, *gradients, strict=True):
        torch.testing.assert_close(one, other, msg=lambda text, name=name: f"{name}: {text}")


def test_one_component_is_plain_attention_with_half_width():
    one = {"heads": 2, "qk_width": "half", "components": 1}
    additive, plain = layer(**one, mixing="additive"), layer(**one)
    weights = {name: value for name, value in additive.state_dict().items() if not name.startswith("mixing.")}
    plain.load_state_dict(weights)
    torch.testing.assert_close(run(additive)[0], run(plain)[0], atol=0, rtol=0)


def test_rotary_scores_depend_only_on_distance():
    q, k = X[0, :1, :8].expand(12, 8), X[1, :1, :8].expand(12, 8)
    scores = apply_rotary(q) @ apply_rotary(k).T
    for distance in range(-11, 12):
        line = scores.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line))
    assert not torch.allclose(scores[0, 1], scores[0, 5])
    torch.testing.assert_close(apply_rotary(q).norm(dim=-1), q.norm(dim=-1))


def test_constant_gates_have_no_effect_and_all_but_class_tokens_can_be_set_or_closed():
    gated, plain = layer(gate=True), layer()
    plain.load_state_dict({name: value for name, value in gated.state_dict().items() if not name.startswith("gate.")})
    with torch.no_grad():
        gated.terms.gate.weight.zero_()
        torch.testing.assert_close(run(gated)[0], run(plain)[0])
    hidden = KEEP & (torch.arange(L) != 2)
    closing = Intervention(gates=((1, 2, 0.0),))
    for trace in (False, True):
        torch.testing.assert_close(run(gated, intervene=closing, trace=trace)[0], run(plain, keep=hidden)[0])
    seen = run(gated, intervene=closing, trace=True)[1]
    assert (seen.gates[:, 2] == 0).all() and (seen.maps[..., 2] == 0).all()
    gated = layer(gate=True)
    seen = run(gated, trace=True, intervene=Intervention(gates=((1, 3, 0.25), (0, 4, 0.5))), class_token=True)[1]
    torch.testing.assert_close(seen.gates[:, 3], torch.full((B,), 0.25, dtype=torch.float64))
    assert (seen.gates[:, 0] == 1).all()
    assert not torch.isclose(seen.gates[:, 4], torch.tensor(0.5, dtype=torch.float64)).any(), "that was another layer"


def test_added_terms_can_be_scaled_or_off_and_their_mean_has_no_effect():
    lexical, plain = layer(lexical="add"), layer()
    plain.load_state_dict(lexical.state_dict())
    torch.testing.assert_close(run(lexical, intervene=Intervention(lexical_scale=0.0))[0], run(plain)[0])
    shown = run(lexical, trace=True, intervene=Intervention(lexical_scale=2.0))[1].terms["lexical"]
    torch.testing.assert_close(shown[:, 0], 2 * POLARITY @ POLARITY.transpose(1, 2))
    attention = layer(lexical="add")
    with torch.no_grad():
        off, level = (run(attention, trace=True, intervene=SILENT[name])[1] for name in ("off", "mean"))
    torch.testing.assert_close(off.maps, level.maps)
    q, k = (each(X[0]) for each in (attention.query, attention.key))
    mean = (POLARITY[0] @ POLARITY[0].T).mean(1, keepdim=True)
    torch.testing.assert_close(level.maps[0, 0, 0], (q[:, :4] @ k[:, :4].T / math.sqrt(4) + mean).softmax(-1))
    for part in ({}, {"qk_norm": True}):
        terms = run(layer(lexical="add", lexical_scaled=True, **part), trace=True)[1].terms
        torch.testing.assert_close(terms["lexical"][:, 0], POLARITY @ POLARITY.transpose(1, 2) / math.sqrt(4))


@pytest.mark.slow
@pytest.mark.parametrize("silent", SILENT)
@pytest.mark.parametrize("name", MULTIPLIED)
def test_lexical_factors_can_be_off_or_replaced_by_their_mean(name, silent):
    part, attention = PARTS[name], layer(**PARTS[name])
    with torch.no_grad():
        fast, (traced, seen) = (run(attention, trace=each, intervene=SILENT[silent]) for each in (False, True))
        plain = run(attention)[0]
        for b in range(B):
            maps, out = naive(attention, AttentionConfig(**part), b, silent)
            torch.testing.assert_close(seen.maps[b], maps)
            for found in (fast[0], traced):
                torch.testing.assert_close(found[b, KEEP[b]], out[KEEP[b]])
    assert (fast[0] - plain)[KEEP].abs().max() > 1e-5
    shown = seen.terms["lexical_factor"][0, -1]
    cells = itertools.product(range(L), repeat=2)
    config = AttentionConfig(**part)
    last = config.heads - 1
    expected = [1.0 if silent == "off" else float(factor(attention, config, last, 0, i, j, silent)) for i, j in cells]
    torch.testing.assert_close(shown.flatten(), torch.tensor(expected, dtype=torch.float64))


def test_off_overrides_mean_and_texts_can_differ():
    attention = layer(lexical="hadamard")
    both = Intervention(lexical_off=frozenset({1}), lexical_mean=frozenset({1}))
    with torch.no_grad():
        torch.testing.assert_close(run(attention, intervene=both)[0], run(attention, intervene=SILENT["off"])[0])
        each = (SILENT["off"], SILENT["mean"], Intervention())
        found = attention(X, AttentionInputs(KEEP, POLARITY, False), trace=False, intervene=each)[0]
        for b, change in enumerate(each):
            torch.testing.assert_close(found[b], run(attention, intervene=change)[0][b])
        elsewhere = Intervention(lexical_off=frozenset({0}))
        torch.testing.assert_close(run(attention, intervene=elsewhere)[0], run(attention)[0])


@pytest.mark.parametrize("heads", ["all", "apart"])
def test_traces_show_sigma_of_several_lexicons_by_head(heads):
    attention = layer(lexical="add", lexicons=2, lexical_heads=heads, learn_strength=True)
    with torch.no_grad():
        attention.terms.lexical.strength.copy_(torch.tensor([0.5, 3.0]))
        shown = run(attention, trace=True)[1].terms["lexical"]
    products = [each @ each.transpose(1, 2) for each in LEXICONS]
    by_hand = [0.5 * products[0], 3 * products[1]]
    for h in range(4):
        torch.testing.assert_close(shown[:, h], sum(by_hand) if heads == "all" else by_hand[h % 2])


@pytest.mark.parametrize("name", ["everything", "banded NDT", "window"])
def test_global_tokens_do_not_depend_on_the_kernel(name, monkeypatch):
    attention = layer(**PARTS[name])
    dense = run(attention)[0]
    monkeypatch.setattr(attention_module, "DENSE", 1)
    torch.testing.assert_close(run(attention)[0][KEEP], dense[KEEP])
    closing = Intervention(gates=((1, 1, 0.0),)) if attention.terms.gate is not None else None
    banded = run(attention, intervene=closing)[0]
    torch.testing.assert_close(banded[KEEP], run(attention, intervene=closing, trace=True)[0][KEEP])


def test_long_texts_are_traced_without_maps_in_linear_memory(monkeypatch, batch):
    attention, model = layer(lexical="add", window=2), make(small(PRESETS["sentiformer"].model))
    assert set(run(attention, trace=True)[1].terms) == {"lexical"}
    monkeypatch.setattr(attention_module, "DENSE_TRACE", 4)
    assert run(attention, trace=True)[1].terms == {}
    traced = model(batch, trace=True)
    assert all(each.maps is None and each.gates is not None for each in traced.trace.layers)
    torch.testing.assert_close(traced.logits, model(batch).logits)
    with pytest.raises(RuntimeError, match="length"):
        _ = traced.trace.layers[0].combined


def test_learned_scalars_have_names():
    def count_scalars(**choices):
        return {name: len(values) for name, values in make(ModelConfig(width=16, **choices)).get_scalars().items()}

    part = AttentionConfig(gate=True, lexicon_gate=True, qk_norm=True, lexical="add", learn_strength=True)
    found = count_scalars(attention=part, position="polarity-aware", pos_tags=False)
    assert found == {"tau": 2, "strength": 2, "lexicon_gate": 2, "alpha": 1, "beta": 1}
    two = AttentionConfig(lexical="add", learn_strength=True, lexicons=2)
    assert (count_scalars(), count_scalars(attention=two)) == ({}, {"strength_1": 2, "strength_2": 2})


@pytest.mark.parametrize("kind", ["add", "hadamard"])
@pytest.mark.parametrize("strength", [0.0, 1.0])
@pytest.mark.parametrize("learn", [False, True])
def test_the_lexical_term_is_silent_only_without_effect_and_learning(kind, strength, learn):
    """A zero factor changes the scores, and a learned strength of 0 has a gradient."""
    reach = torch.ones(1, 1, 2, dtype=torch.bool)
    term = LexicalTerm(kind=kind, reach=reach, strength=strength, learn=learn, scale=1.0)
    nothing = kind == "add" and strength == 0
    assert term.silent is (nothing and not learn)
    with torch.no_grad():
        assert term.silent is nothing
        column, _ = term.build_columns(torch.full((1, 3, 3), 1 / 3), None)
        assert kind == "hadamard" or bool(column.any()) is not term.silent
    term.requires_grad_(False)
    assert term.silent is nothing
