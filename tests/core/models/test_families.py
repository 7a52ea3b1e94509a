"""The baselines as configurations: built from one `ModelConfig`, and no setting of it is silently ignored."""

import dataclasses

import pytest

from core.exceptions import ConfigError
from core.models.build import build
from core.models.config import READS, AttentionConfig, HeadConfig, ModelConfig
from core.models.presets import PRESETS
from core.models.provides import provides
from core.text.config import TextConfig

BASELINES = [family for family in READS if family != "pretrained"]
CNN = {"family": "cnn", "head": HeadConfig(kernels="3,4,5", channels=100)}


@pytest.mark.slow
def test_the_bilstm_has_the_size_of_its_description():
    """300-d embeddings; two layers of 2 × 256 states (four gates, two biases each, both ways), the upper to classes."""
    config = PRESETS["bilstm"].model
    model = build(config, vocabulary=1000, classes=5)
    layers = 2 * 4 * 256 * (300 + 256 + 2) + 2 * 4 * 256 * (2 * 256 + 256 + 2)
    assert sum(each.numel() for each in model.parameters()) == 1000 * 300 + layers + 512 * 5 + 5
    model = build(config, vocabulary=TextConfig().max_vocab, classes=2)
    assert sum(each.numel() for each in model.parameters()) == 11_720_770


def test_the_cnn_has_the_size_of_its_description():
    """300-d embeddings, 100 filters of each width 3, 4 and 5, 300 values to classes."""
    model = build(PRESETS["cnn"].model, vocabulary=1000, classes=5)
    assert sum(each.numel() for each in model.parameters()) == 1000 * 300 + 300 * 100 * (3 + 4 + 5) + 300 + 300 * 5 + 5
    assert model.dropout.p == 0.5


@pytest.mark.parametrize("family", ["bilstm", "cnn"])
def test_one_logit_and_a_dense_layer_are_there_as_in_every_head(family):
    base = PRESETS[family].model
    head = dataclasses.replace(base.head, one_logit=True, dense=11)
    model = build(dataclasses.replace(base, head=head), vocabulary=30, classes=2)
    assert model.head.weight.shape == (1, 11)


@pytest.mark.parametrize("family", BASELINES)
def test_what_a_family_shows_is_what_its_model_shows(family):
    config = PRESETS[family].model
    assert config.family == family
    model = build(config, vocabulary=30, classes=3)
    assert model.provides == provides(config)
    assert not model.provides & {"maps", "hidden", "lambda", "gates"}
    assert ("pooled" in model.provides) == (family in ("bilstm", "cnn"))
    assert (model.lambdas(), model.lambda_parameters(), model.scalars()) == ([], set(), {})


@pytest.mark.parametrize("family", BASELINES)
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("attention.heads", {"attention": AttentionConfig(heads=2)}),
        ("attention.rotary", {"attention": AttentionConfig(rotary=True)}),
        ("position", {"position": "none"}),
        ("pooling", {"pooling": "cls"}),
        ("norm", {"norm": "rms"}),
        ("head.attention_heads", {"head": HeadConfig(attention_heads=4)}),
    ],
)
def test_a_setting_that_a_family_does_not_read_is_refused_by_name(family, name, changes):
    start = CNN if family == "cnn" else {"family": family}
    if "head" in changes and family == "cnn":
        changes = {"head": dataclasses.replace(CNN["head"], attention_heads=4)}
    with pytest.raises(ConfigError, match=f"model.{name}=.*: no effect on model.family={family}"):
        ModelConfig(**{**start, **changes})


@pytest.mark.parametrize(
    "changes", [{"attention": AttentionConfig(rotary=True)}, {"position": "none"}, {"norm": "rms"}]
)
def test_what_a_backbone_brings_along_is_no_setting(changes):
    with pytest.raises(
        ConfigError, match=r"no effect on model\.family=pretrained; of the model it reads backbone, width"
    ):
        ModelConfig(family="pretrained", **changes)


@pytest.mark.parametrize("family", [family for family, read in READS.items() if not read])
def test_a_model_solved_in_one_go_reads_no_setting(family):
    with pytest.raises(ConfigError, match=f"model.width=64: .*{family}; it reads no setting of the model"):
        ModelConfig(family=family, width=64)
    assert not ModelConfig(family=family).by_steps


def test_widths_that_heads_would_not_divide_are_fine_without_heads():
    model = build(ModelConfig(family="bilstm", width=7, ff_width=5), vocabulary=30, classes=2)
    assert model.embedding.embedding_dim == 7
    assert ModelConfig(**CNN, width=51).by_steps


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_limits_hold_for_every_family(dropout):
    with pytest.raises(ConfigError, match=r"model\.dropout"):
        ModelConfig(family="bilstm", dropout=dropout)


def test_a_cnn_needs_windows():
    with pytest.raises(ConfigError, match=r"choose model\.head\.kernels=3,4,5"):
        ModelConfig(family="cnn")


def test_only_the_lexicon_needs_a_lexicon():
    assert [family for family in BASELINES if PRESETS[family].model.needs_lexicon] == ["lexicon"]
    assert PRESETS["lexicon"].settings["text.lexicon"] == "vader"
