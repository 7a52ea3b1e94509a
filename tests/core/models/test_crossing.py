import pytest
import torch
from drawn_models import drawn, put_together
from seeds import seeds
from small_models import CLASSES, LONGEST, VOCABULARY, example

from core.exceptions import ConfigError
from core.models.builder import build_model
from core.models.config import AttentionConfig, ModelConfig

TWO = {"attention.mixing": "additive", "attention.components": 2}
V1, V2 = ({"attention.mixing": name, "attention.components": 2} for name in ("differential", "differential-v2"))


@pytest.mark.slow
@seeds(30)
def test_random_models_train_and_both_paths_agree(seed):
    torch.manual_seed(seed)
    config = drawn(seed)
    model = build_model(config, vocabulary=VOCABULARY, classes=CLASSES, max_length=LONGEST)
    batch = example((9, 5, 1, 2, 0), torch.float32)
    labels = torch.tensor([0, 1, 2, 1, 0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(model(batch).logits, labels)
        optimizer.zero_grad()
        loss.backward()
        assert loss.isfinite(), config
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters()), config
        optimizer.step()
    model.eval()
    with torch.no_grad():
        fast, traced = model(batch), model(batch, trace=True)
    torch.testing.assert_close(fast.logits, traced.logits, atol=2e-4, rtol=2e-4)
    assert (traced.trace.layers[0].gates is not None) == config.attention.gate


@pytest.mark.parametrize(
    ("settings", "way_out"),
    [
        ({"attention.mixing": "single", "attention.components": 3}, "mixing=additive"),
        ({"attention.mixing": "differential"}, "has two; choose components=2"),
        ({"attention.mixing": "additive", "attention.components": 17}, "1 to 16"),
        ({"attention.learn_beta": True}, "only mixing 'additive'"),
        ({"attention.lambda_per_head": True}, "no lambda of a layer"),
        ({"attention.heads": 0}, "1 to 1024"),
        ({"attention.lambda_start": "0.5"}, "no lambda that it would start; choose lambda_start=paper"),
        ({**V2, "attention.lambda_start": "0.5"}, "no lambda that it would start; choose lambda_start=paper"),
        ({**TWO, "attention.lambda_start": "half"}, "paper, or a number such as 0.5"),
        ({**TWO, "attention.lambda_start": "nan"}, "paper, or a number such as 0.5"),
        ({**TWO, "attention.lambda_start": "1.5"}, "0.01 to 0.99 with this rule for lambda; the nearest is 0.99"),
        ({**TWO, "attention.constraint": "pos", "attention.lambda_start": "-1"}, "the nearest is 0"),
        ({**V1, "attention.lambda_start": "1"}, "0 to 0.99 with this rule for lambda; the nearest is 0.99"),
        ({"attention.lexicon_gate": True}, "gate=true"),
        ({"attention.window": 5}, "6"),
        ({"attention.random_globals": 1}, "window=64"),
        ({"attention.lexical_scaled": True}, "lexical=add"),
        ({"attention.lexical": "hadamard", "attention.learn_strength": True}, "lexical=add"),
        ({"attention.lexical": "add", "attention.lexical_component": 2}, "-1 (all) to 0"),
        ({"attention.lambda_input": True}, "mixing=additive"),
        ({"attention.constraint": "pos"}, "mixing=additive"),
        ({"attention.row_norm": True}, "components=2"),
        ({"norm": "none", "norm_place": "post"}, "model.norm=layer"),
        ({"attention.heads": 3}, "nearest is 18"),
        ({"attention.heads": 16, "attention.rotary": True}, "nearest is 32"),
        ({"recency": False}, "polarity-aware"),
        ({"pad_mode": "as_released", "pooling": "cls"}, "masked"),
        ({"head.attention_heads": 3}, "nearest is 2"),
        ({"head.kernels": "2,2"}, "2,3,5,7"),
        ({"head.kernels": "two"}, "2,3,5,7"),
    ],
)
def test_invalid_configurations_are_refused_with_the_nearest_valid_one(settings, way_out):
    with pytest.raises(ConfigError) as refusal:
        put_together(settings)
    assert way_out in str(refusal.value)


@pytest.mark.slow
def test_the_penalty_makes_maps_less_similar():
    torch.manual_seed(0)
    attention = AttentionConfig(heads=2, components=3, mixing="additive", qk_width="half")
    model = build_model(ModelConfig(width=16, ff_width=12, attention=attention, dropout=0.0), vocabulary=40, classes=3)
    batch = example((9, 5, 4), torch.float32)
    start = model.train()(batch, similarity=True).similarity
    assert model(batch).similarity is None
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(30):
        similarity = model(batch, similarity=True).similarity
        optimizer.zero_grad()
        similarity.backward()
        optimizer.step()
    assert model(batch, similarity=True).similarity < start - 0.1


def test_map_similarity_is_one_for_equal_and_zero_for_disjoint_maps():
    from core.models.encoder import compute_map_similarity
    from core.models.trace import LayerTrace

    keep = torch.tensor([[True, True, False]])

    def layer(second):
        maps = torch.stack([torch.eye(3), second])[None, :, None]
        return LayerTrace(maps=maps, coefficients=maps, hidden=maps, head_outputs=maps)

    assert compute_map_similarity([layer(torch.eye(3))], keep).item() == pytest.approx(1)
    assert compute_map_similarity([layer(torch.eye(3).roll(1, 1))], keep).item() == pytest.approx(0)
    half = compute_map_similarity([layer(torch.full((3, 3), 1 / 3)), layer(torch.eye(3))], keep)
    assert half.item() == pytest.approx((1 / 3**0.5 + 1) / 2)
