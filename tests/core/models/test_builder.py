"""Sizes, initial weights and parameter names of the models."""

import dataclasses
import math

import pytest
import torch

from core.config import compose
from core.exceptions import ConfigError
from core.models.builder import build_model
from core.models.config import ModelConfig
from core.models.mixing import LAMBDA_STD
from core.models.presets import PRESETS
from core.models.trace import Batch

# parameters with beta learned, as Table X of NDT counts them; vocabulary and classes of the four data sets.
SETS = {"IMDB": (26_284, 2), "SST-2": (8_865, 2), "YELP": (63_385, 5), "TFN": (3_137, 3)}
TABLE = {
    "vanilla": (3_629_826, 1_400_194, 8_379_141, 667_139),
    "differential": (3_794_434, 1_564_802, 8_543_749, 831_747),
    "ndt-01-n2": (3_794_180, 1_564_548, 8_543_495, 831_493),
    "ndt-01-n3": (3_827_334, 1_597_702, 8_576_649, 864_647),
    "ndt-01-n4": (3_860_488, 1_630_856, 8_609_803, 897_801),
}


def count(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def learning_beta(config: ModelConfig) -> ModelConfig:
    return dataclasses.replace(config, attention=dataclasses.replace(config.attention, learn_beta=True))


@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("preset", TABLE)
def test_parameter_counts_match_the_table(preset, data):
    config = PRESETS[preset].model
    config = learning_beta(config) if config.attention.mixing == "additive" else config
    vocabulary, classes = SETS[data]
    assert count(build_model(config, vocabulary=vocabulary, classes=classes)) == TABLE[preset][list(SETS).index(data)]


def test_initial_weights_follow_the_documented_distributions():
    torch.manual_seed(0)
    model = build_model(PRESETS["ndt-free-n4"].model, vocabulary=2_000, classes=2)
    assert model.embedding.weight.std().item() == pytest.approx(1 / math.sqrt(128), rel=0.02)
    attention = model.layers[1].attention
    bound = math.sqrt(6 / (128 + 64))  # fan-in 128, fan-out 64 of ONE component, not of the stack
    for block in (*attention.query.weight.chunk(4), *attention.key.weight.chunk(4)):
        assert block.abs().max().item() == pytest.approx(bound, rel=0.01)
    assert all((p == 0).all() for name, p in model.named_parameters() if name.endswith("bias") and "norm" not in name)
    assert attention.mixing.lambda_q.std().item() == pytest.approx(LAMBDA_STD, rel=0.25)
    assert (model.final_norm.weight == 1).all()


def test_parameter_names_never_change():
    one_layer = dataclasses.replace(PRESETS["ndt-01-n2"].model, layers=1)
    names = set(build_model(one_layer, vocabulary=9, classes=2).state_dict())
    block = "layers.0."
    parts = (
        *(f"attention.{p}" for p in ("query", "key", "value", "out")),
        *(f"feedforward.{p}" for p in ("gate", "up", "down")),
    )
    linear = {f"{block}{part}.{kind}" for part in parts for kind in ("weight", "bias")}
    mixing = {f"{block}attention.mixing.{p}" for p in ("lambda_q", "lambda_k", "alpha", "beta")}
    norms = {f"{block}attention_norm.weight", f"{block}feedforward_norm.weight", "final_norm.weight"}
    assert names == linear | mixing | norms | {"embedding.weight", "head.weight", "head.bias"}


IDS = torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0]])


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("vanilla", {}),
        ("ndt-01-n3", {"model.attention.heads": 2}),
        ("inceptive-64", {"model.attention.heads": 2, "model.head.channels": 4, "model.head.attention_heads": 2}),
        ("vanilla", {"model.pooling": "cls"}),
    ],
)
def test_token_taggers_give_every_token_logits_independent_of_padding(preset, settings):
    """Class tokens are excluded."""
    config = compose(preset, {"model.width": 16, "model.ff_width": 16, **settings}).model
    torch.manual_seed(0)
    model = build_model(config, vocabulary=20, classes=3, max_length=8, each_token=True).eval()
    both = model(Batch(IDS, IDS > 0)).logits
    alone = model(Batch(IDS[1:, :2], IDS[1:, :2] > 0)).logits
    assert both.shape == (2, 4, 3)
    torch.testing.assert_close(both[1, :2], alone[0])


@pytest.mark.parametrize(
    ("preset", "change"), [("bilstm", {}), ("tfidf-logreg", {}), ("vanilla", {"pad_mode": "as_released"})]
)
def test_invalid_models_for_tagging_and_single_classes_are_refused(preset, change):
    config = dataclasses.replace(compose(preset, {}).model, **change)
    with pytest.raises(ConfigError, match=r"has a tag|has no tag"):
        build_model(config, vocabulary=20, classes=3, max_length=8, each_token=True)
    with pytest.raises(ConfigError, match="at least two"):
        build_model(config, vocabulary=20, classes=1, max_length=8)
