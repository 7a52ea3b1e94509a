"""The equation of a model has exactly the terms that the model has."""

from __future__ import annotations

import pytest
from drawn_models import drawn
from seeds import seeds

from core.models.config import ModelConfig
from core.models.describe import equation
from core.models.presets import PRESETS


def text(name: str) -> str:
    return "\n".join(line.latex for line in equation(PRESETS[name].model))


def test_the_first_line_combines_the_maps():
    first = {
        name: equation(PRESETS[name].model)[0].latex for name in PRESETS if PRESETS[name].model.family == "encoder"
    }
    assert first["vanilla"] == r"\mathrm{out} = A\,V"
    assert first["ndt-01-n3"] == r"\mathrm{out} = \Big(A_0 + \lambda_{1} A_{1} + \lambda_{2} A_{2}\Big)\,V"
    assert first["differential-v2"] == r"\mathrm{out} = \Big(A_0 - \lambda_i A_1\Big)\,V"
    assert r"(1-\lambda_{\mathrm{init}})\,\operatorname{RMSNorm}" in first["differential"]


# Setting of the model → a piece of LaTeX that stands there exactly when the setting is on.
PIECES = {
    r"\log g_j": lambda c: c.attention.gate,
    r"\sigma_{ij} =": lambda c: c.attention.lexical != "none",
    r"c\,|\rho_j": lambda c: c.attention.lexicon_gate,
    r"\tau": lambda c: c.attention.qk_norm,
    "R_i": lambda c: c.attention.rotary,
    "S_i =": lambda c: c.attention.window > 0,
    r"\gamma": lambda c: c.needs_tags,
    r"\beta\,[": lambda c: c.position == "polarity-aware" and c.recency,
    r"\operatorname{RMSNorm}": lambda c: c.attention.head_norm,
    r"\sum_n|c_n|": lambda c: c.attention.row_norm,
    r"[h=H": lambda c: c.attention.lexical != "none" and c.attention.lexical_heads == "last",
    r"s\,": lambda c: c.attention.learn_strength,
    "C_{": lambda c: bool(c.head.kernels),
    r"\operatorname{Attention}": lambda c: c.head.attention_heads > 0,
    r"\operatorname{LayerNorm}": lambda c: c.head.dense > 0,
    r"p^{\sin}": lambda c: c.position != "none",
}


@seeds(60)
def test_a_term_stands_there_exactly_when_the_model_has_it(seed):
    config: ModelConfig = drawn(seed)
    whole = "\n".join(line.latex for line in equation(config))
    for piece, has in PIECES.items():
        assert (piece in whole) == has(config), piece
    assert whole.count("{") == whole.count("}")
    assert whole.count(r"\Big(") == whole.count(r"\Big)")
    components = config.attention.components
    subtracts = config.attention.mixing.startswith("differential")
    assert subtracts or whole.split("\n")[0].count(r"\lambda_{") - (r"n,\mathrm" in whole) == components - 1


def test_what_is_in_the_score_is_also_defined():
    whole = text("lexical-last-scaled")
    assert r"\frac{\sigma_{ij}}{\sqrt{64}}\,[h=H]" in whole
    assert r"\sigma_{ij} = \rho_i\cdot\rho_j" in whole


@pytest.mark.parametrize("name", ["bilstm", "cnn", "tfidf-logreg", "lexicon"])
def test_a_baseline_has_an_equation_without_attention(name):
    assert "softmax" not in text(name)
    assert r"\mathrm{logits}" in text(name)


def test_models_that_differ_in_more_than_sizes_have_different_equations():
    names = [
        "vanilla",
        "ndt-01-n2",
        "ndt-pm1-n2",
        "differential",
        "sentiformer",
        "sentiformer-full",
        "sentiformer-no-pos",
    ]
    names += [
        "lexical-all",
        "lexical-all-scaled",
        "lexical-hadamard",
        "inceptive-64",
        "inceptive-no-dense",
        "tweet-v1-p2",
    ]
    assert len({text(name) for name in names}) == len(names)
