import dataclasses

import pytest
import torch
from drawn_models import drawn
from seeds import seeds

from core.config import compose
from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig
from core.models.model_description import count_parameters, describe_addition, list_features, list_parts, write_equation
from core.models.presets import PAPERS, PRESETS


def built(config: ModelConfig, vocabulary: int, classes: int) -> int:
    with torch.device("meta"):
        model = build_model(config, vocabulary=vocabulary, classes=classes, max_length=20)
    return sum(parameter.numel() for parameter in model.parameters())


FURTHER = {
    "two layers of LSTM": ("bilstm", {"model.layers": 2, "model.head.dense": 32}),
    "CNN with a dense layer": ("cnn", {"model.head.dense": 32, "model.head.one_logit": True}),
    "dense layer with tanh": ("inceptive-16", {"model.head.activation": "tanh"}),
    "one logit": ("inceptive-16", {"model.head.one_logit": True}),
}


@pytest.mark.slow
def test_counted_parameters_equal_the_built_model():
    """All presets except the pretrained one (see `test_pretrained`), and further settings."""
    models = {name: preset.model for name, preset in PRESETS.items() if name != "pretrained"}
    models |= {name: compose(*chosen).model for name, chosen in FURTHER.items()}
    for name, model in models.items():
        for vocabulary, classes in ((1_000, 2), (67, 2 if model.head.one_logit else 5)):
            counted = count_parameters(model, vocabulary=vocabulary, classes=classes)
            assert counted == built(model, vocabulary, classes), name


@pytest.mark.slow
@seeds(30)
def test_counted_parameters_are_right_for_every_combination(seed):
    config = drawn(seed)
    assert count_parameters(config, vocabulary=50, classes=3) == built(config, 50, 3)


# parameters with 30,000 tokens of phase 1 and 2; V8 is 7,835,911 with 35,000.
TWEETS = {
    "v1": (4_139_010, 4_139_013),
    "v2": (4_437_762, 4_437_768),
    "v3": (9_261_826, 9_261_829),
    "v4": (4_139_010, 4_139_013),
    "v5": (4_139_010, 4_139_013),
    "v6": (4_437_762, 4_437_768),
    "v7": (4_636_930, 4_636_938),
    "v8": (6_875_906, 6_875_911),
    "v9": (4_437_762, 4_437_768),
    "v10": (4_437_762, 4_437_768),
}
RELEASED = {"v5": (20_000, 2_859_013), "v6": (35_000, 5_077_768), "v7": (35_000, 5_276_938), "v8": (35_000, 7_835_911)}
NOT_HALVED = {"v1": (256, 4_237_698), "v2": (256, 4_635_138), "v3": (1024, 10_049_794), "v8": (576, 7_615_106)}


@pytest.mark.parametrize("version", TWEETS)
def test_tweet_encoder_sizes_match_the_table(version):
    for phase, expected in enumerate(TWEETS[version], start=1):
        assert count_parameters(PRESETS[f"tweet-{version}-p{phase}"].model, vocabulary=30_000, classes=2) == expected
    if version in RELEASED:  # with the vocabulary of the released code
        vocabulary, expected = RELEASED[version]
        assert count_parameters(PRESETS[f"tweet-{version}-p2"].model, vocabulary=vocabulary, classes=2) == expected
    if version in NOT_HALVED:
        width, expected = NOT_HALVED[version]
        config = compose(f"tweet-{version}-p1", {"model.ff_width": width}).model
        assert count_parameters(config, vocabulary=30_000, classes=2) == expected


def list_sizes(config: ModelConfig, key: str, vocabulary: int = 67_400, classes: int = 5) -> list[int]:
    return [part.parameters for part in list_parts(config, vocabulary=vocabulary, classes=classes) if part.key == key]


def test_sentiformer_size_is_the_sum_of_its_parts():
    """Six blocks of 789,760 numbers and a gate; 12 tags, class token and padding are 14 rows of a table."""
    config, plain = PRESETS["sentiformer"].model, PRESETS["sentiformer-no-gate"].model
    block = list_sizes(plain, "attention"), list_sizes(plain, "feedforward"), sum(list_sizes(plain, "norm")[:2])
    assert block == ([263_168], [525_568], 1_024) and 263_168 + 525_568 + 1_024 == 789_760
    layers = [part for part in list_parts(plain, vocabulary=9, classes=5) if part.layer]
    assert sum(part.parameters * part.times for part in layers) == 6 * 789_760
    assert list_sizes(config, "attention") == [263_168 + 256 + 1]
    rest = count_parameters(config, vocabulary=0, classes=5) - 6 * 789_760
    gates, table, factors, class_token, norm, classifier = 6 * 257, 14 * 256, 3, 256, 512, 5 * 257
    assert rest == gates + table + factors + class_token + norm + classifier == 7_182
    for vocabulary, millions in ((67_400, 22.0), (30_522, 12.56)):
        assert round(count_parameters(config, vocabulary=vocabulary, classes=5) / 1e6, 2) == millions


def test_parts_are_listed_in_order_of_computation():
    def keys(name):
        return [part.key for part in list_parts(PRESETS[name].model, vocabulary=9, classes=2)]

    layer = ["norm", "attention", "norm", "feedforward"]
    assert keys("vanilla") == ["embedding", "positions", *layer, "norm", "pooling", "classifier"]
    assert keys("tweet-v1-p2") == ["embedding", "attention", "norm", "feedforward", "norm", "pooling", "classifier"]
    head = ["convolutions", "head-attention", "pooling", "dense", "classifier"]
    assert keys("inceptive-64") == ["embedding", "positions", *layer, "norm", *head]
    assert keys("sentiformer-no-norm")[2:4] == ["attention", "feedforward"]
    assert keys("cnn") == ["embedding", "convolutions", "largest", "classifier"]
    assert keys("tfidf-svm") == ["counts", "classifier"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vanilla", ()),
        ("ndt-pm1-n4", ("4 maps, λ in [−1,1]",)),
        ("sentiformer", ("gate", "window 64", "positions with recency and part of speech")),
        ("tweet-v3-p2", ("rotary", "QK-norm")),
        ("lexical-last-scaled", ("σ added in the last head, scaled",)),
        ("inceptive-no-attention", ("convolutions 2,3,5,7", "dense layer")),
        ("tfidf-nb", ("TF-IDF", "naive Bayes")),
    ],
)
def test_features_list_enabled_options(name, expected):
    assert list_features(PRESETS[name].model) == expected


def test_every_attention_option_and_map_is_listed_and_the_first_equation_combines_them():
    base = ModelConfig(attention=AttentionConfig(mixing="additive", components=2, gate=True, lexical="add", window=4))
    changes = {"rotary": True, "qk_norm": True, "lexicon_gate": True, "window": 8, "lexical": "hadamard"}
    changes |= {"lexical_heads": "last", "constraint": "pos", "head_norm": True, "row_norm": True, "components": 3}
    for name, value in changes.items():
        changed = dataclasses.replace(base, attention=dataclasses.replace(base.attention, **{name: value}))
        assert list_features(changed) != list_features(base), name
    said = [describe_addition(PRESETS[name].model) for name in ("ndt-01-n2", "ndt-pm1-n4", "differential")]
    assert said == ["adds 1 attention map", "adds 3 maps, signed λ", "subtracts an attention map"]
    assert {preset.paper for preset in PRESETS.values()} == set(PAPERS)
    encoders = {name: preset.model for name, preset in PRESETS.items() if preset.model.family == "encoder"}
    first = {name: write_equation(model)[0].latex for name, model in encoders.items()}
    assert first["vanilla"] == r"\mathrm{out} = A\,V"
    assert first["ndt-01-n3"] == r"\mathrm{out} = \Big(A_0 + \lambda_{1} A_{1} + \lambda_{2} A_{2}\Big)\,V"
    assert first["differential-v2"] == r"\mathrm{out} = \Big(A_0 - \lambda_i A_1\Big)\,V"
    assert r"(1-\lambda_{\mathrm{init}})\,\operatorname{RMSNorm}" in first["differential"]


def text(name: str) -> str:
    return "\n".join(line.latex for line in write_equation(PRESETS[name].model))


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
    r"\operatorname{LayerNorm}": lambda c: c.head.dense > 0 and c.head.activation == "relu-norm",
    r"\operatorname{tanh}": lambda c: c.head.activation == "tanh",
    r"p^{\sin}": lambda c: c.position != "none",
}


@seeds(30)
def test_equations_contain_exactly_the_terms_of_the_model(seed):
    config: ModelConfig = drawn(seed)
    whole = "\n".join(line.latex for line in write_equation(config))
    for piece, has in PIECES.items():
        assert (piece in whole) == has(config), piece
    assert whole.count("{") == whole.count("}") and whole.count(r"\Big(") == whole.count(r"\Big)")
    components = config.attention.components
    subtracts = config.attention.mixing.startswith("differential")
    assert subtracts or whole.split("\n")[0].count(r"\lambda_{") - (r"n,\mathrm" in whole) == components - 1


def test_every_symbol_of_the_score_is_defined_and_different_structures_have_own_equations():
    whole = text("lexical-last-scaled")
    assert r"\frac{\sigma_{ij}}{\sqrt{64}}\,[h=H]" in whole and r"\sigma_{ij} = \rho_i\cdot\rho_j" in whole
    names = "vanilla ndt-01-n2 ndt-pm1-n2 differential sentiformer sentiformer-full sentiformer-no-pos lexical-all"
    names += " lexical-all-scaled lexical-hadamard inceptive-64 inceptive-no-dense tweet-v1-p2"
    assert len({text(name) for name in names.split()}) == len(names.split())


@pytest.mark.parametrize("name", ["bilstm", "cnn", "tfidf-logreg", "lexicon"])
def test_baseline_equations_have_no_attention(name):
    assert "softmax" not in text(name) and r"\mathrm{logits}" in text(name)
