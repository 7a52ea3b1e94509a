import dataclasses
import math

import pytest
import torch
from refused import check_raises
from structures import encoders

from core.config import compose
from core.exceptions import ConfigError
from core.models.attention import LAMBDA_STD
from core.models.builder import build_model, copy_weights
from core.models.config import AttentionConfig, HeadConfig, ModelConfig
from core.models.dropout import Dropout
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
IDS = torch.tensor([[2, 3, 4, 5], [6, 7, 0, 0]])
BODY = ModelConfig(width=8, layers=2, ff_width=12, norm="rms", feedforward="swiglu", attention=AttentionConfig(heads=2))
NDT = AttentionConfig(heads=2, components=3, mixing="additive", head_norm=True)


@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("preset", TABLE)
def test_parameter_counts_match_the_table(preset, data):
    config = PRESETS[preset].model
    if config.attention.mixing == "additive":
        config = dataclasses.replace(config, attention=dataclasses.replace(config.attention, learn_beta=True))
    model = build_model(config, **dict(zip(("vocabulary", "classes"), SETS[data], strict=True)))
    assert sum(each.numel() for each in model.parameters()) == TABLE[preset][list(SETS).index(data)]


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
    check_raises(ConfigError, "at least two", build_model, config, vocabulary=20, classes=1, max_length=8)


def model(config=BODY, vocabulary=9, classes=2, seed=0):
    torch.manual_seed(seed)
    return build_model(config, vocabulary=vocabulary, classes=classes).eval()


def copy_and_compare(target, source, origins=(), same_classes=True):
    before = {name: tensor.clone() for name, tensor in target.state_dict().items()}
    found = copy_weights(target, source, origins=origins, same_classes=same_classes)
    return found, before, target.state_dict(), source.state_dict()


def test_copied_models_give_the_same_predictions_and_other_classes_keep_a_new_head():
    target, source = model(seed=1), model()
    found, *_ = copy_and_compare(target, source)
    ids = torch.tensor([[2, 3, 4, 5]])
    batch = Batch(ids, ids > 0)
    assert torch.equal(target(batch).logits, source(batch).logits)
    assert found.numbers == found.of and found.fresh == () == found.partly
    found, before, own, theirs = copy_and_compare(model(classes=3, seed=1), model(), same_classes=False)
    assert found.fresh == ("head.weight", "head.bias") and torch.equal(own["head.weight"], before["head.weight"])
    assert all(torch.equal(own[name], theirs[name]) for name in own if not name.startswith("head."))
    assert found.of - found.numbers == 3 * 8 + 3


@pytest.mark.parametrize("preset", encoders())
def test_every_encoder_can_start_from_one_of_its_kind(preset):
    target, source = (model(PRESETS[preset].model, seed=seed) for seed in (1, 0))
    found, _, own, theirs = copy_and_compare(target, source)
    assert found.numbers == found.of and found.fresh == () == found.partly
    assert all(torch.equal(own[name], theirs[name]) for name, _ in target.named_parameters())


def test_plain_attention_becomes_the_base_map_of_ndt_and_the_reverse():
    found, before, own, theirs = copy_and_compare(model(dataclasses.replace(BODY, attention=NDT), seed=1), model())
    for layer in range(2):
        for part in ("query", "key"):
            for kind in ("weight", "bias"):
                name = f"layers.{layer}.attention.{part}.{kind}"
                assert torch.equal(own[name][:8], theirs[name])
                assert torch.equal(own[name][8:], before[name][8:]), "further components keep their draw"
                assert name in found.partly
        value = f"layers.{layer}.attention.value.weight"
        assert torch.equal(own[value], theirs[value])
    assert {name.split(".")[-2] for name in found.fresh} <= {"mixing", "head_norm"}
    _, _, own, theirs = copy_and_compare(model(seed=1), model(dataclasses.replace(BODY, attention=NDT)))
    name = "layers.0.attention.key.weight"
    assert torch.equal(own[name], theirs[name][:8])


def test_copied_embeddings_are_rescaled_and_other_shapes_and_parts_keep_their_start():
    found, before, own, theirs = copy_and_compare(model(vocabulary=12, seed=1), model(), origins=[[2, 3, 4], [], [5]])
    words, known = own["embedding.weight"], theirs["embedding.weight"]
    assert torch.equal(words[:9], known) and torch.allclose(words[9], (known[2] + known[3] + known[4]) / 3)
    assert torch.equal(words[10], before["embedding.weight"][10]), "of an unknown word nothing is known"
    assert torch.equal(words[11], known[5])
    assert found.partly == ("embedding.weight",) and found.of - found.numbers == 8
    _, _, own, theirs = copy_and_compare(model(dataclasses.replace(BODY, initial="torch"), seed=1), model())
    assert torch.allclose(own["embedding.weight"], theirs["embedding.weight"] * 8**0.5)
    with pytest.raises(ValueError, match="12 words, but 9 known and 1 new ones"):
        copy_weights(model(vocabulary=12), model(), origins=[[2]], same_classes=True)
    larger = dataclasses.replace(BODY, layers=3, ff_width=16, pooling="cls", head=HeadConfig(dense=4))
    found, before, own, theirs = copy_and_compare(model(larger, seed=1), model())
    fresh = set(found.fresh)
    assert {"class_token", "layers.0.feedforward.up.weight", "layers.2.attention.query.weight"} <= fresh
    assert all(torch.equal(own[name], before[name]) for name in fresh)
    assert torch.equal(own["layers.1.attention.query.weight"], theirs["layers.1.attention.query.weight"])
    assert all(torch.equal(own[name], theirs[name]) for name in set(own) - fresh)
    found, *_ = copy_and_compare(model(dataclasses.replace(BODY, width=16), seed=1), model())
    kept = {name for name in model().state_dict()} - set(found.fresh)
    assert kept == {f"layers.{n}.feedforward.{part}.bias" for n in range(2) for part in ("gate", "up")} | {"head.bias"}


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_zeroes_a_share_and_keeps_the_mean(p):
    torch.manual_seed(0)
    y = Dropout(p)(torch.ones(400, 1001))
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=0.003)
    assert y[y != 0].unique().item() == pytest.approx(1 / (1 - p), rel=1e-4)
    assert y.mean().item() == pytest.approx(1, abs=0.03)


def test_dropout_draws_are_independent_off_in_evaluation_and_the_mask_of_the_gradient():
    torch.manual_seed(0)
    dropped = (Dropout(0.5)(torch.ones(400_000)) == 0).double().view(-1, 4)
    assert (torch.corrcoef(dropped.T) - torch.eye(4)).abs().max() < 0.01
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0)(x) is x
    torch.manual_seed(1)
    x = torch.ones(50, requires_grad=True)
    y = Dropout(0.4)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())
