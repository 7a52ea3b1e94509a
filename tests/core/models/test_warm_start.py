"""Warm start from another model: copied weights are equal, the others are listed."""

import dataclasses

import pytest
import torch

from core.models.builder import build_model
from core.models.config import AttentionConfig, HeadConfig, ModelConfig
from core.models.trace import Batch
from core.models.warm_start import copy_weights

BODY = ModelConfig(width=8, layers=2, ff_width=12, norm="rms", feedforward="swiglu", attention=AttentionConfig(heads=2))
NDT = AttentionConfig(heads=2, components=3, mixing="additive", head_norm=True)


def model(config=BODY, vocabulary=9, classes=2, seed=0):
    torch.manual_seed(seed)
    return build_model(config, vocabulary=vocabulary, classes=classes).eval()


def copy_and_compare(target, source, origins=(), same_classes=True):
    before = {name: tensor.clone() for name, tensor in target.state_dict().items()}
    found = copy_weights(target, source, origins=origins, same_classes=same_classes)
    return found, before, target.state_dict(), source.state_dict()


def test_copied_models_give_the_same_predictions():
    target, source = model(seed=1), model()
    found, *_ = copy_and_compare(target, source)
    ids = torch.tensor([[2, 3, 4, 5]])
    batch = Batch(ids, ids > 0)
    assert torch.equal(target(batch).logits, source(batch).logits)
    assert found.numbers == found.of and found.fresh == () == found.partly


def test_other_classes_keep_a_new_head():
    found, before, own, theirs = copy_and_compare(model(classes=3, seed=1), model(), same_classes=False)
    assert found.fresh == ("head.weight", "head.bias")
    assert torch.equal(own["head.weight"], before["head.weight"])
    assert all(torch.equal(own[name], theirs[name]) for name in own if not name.startswith("head."))
    assert found.of - found.numbers == 3 * 8 + 3


def test_plain_attention_becomes_the_base_map_of_ndt():
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


def test_the_base_map_of_ndt_becomes_plain_attention():
    _, _, own, theirs = copy_and_compare(model(seed=1), model(dataclasses.replace(BODY, attention=NDT)))
    name = "layers.0.attention.key.weight"
    assert torch.equal(own[name], theirs[name][:8])


def test_new_words_start_as_the_mean_of_their_pieces():
    found, before, own, theirs = copy_and_compare(model(vocabulary=12, seed=1), model(), origins=[[2, 3, 4], [], [5]])
    words, known = own["embedding.weight"], theirs["embedding.weight"]
    assert torch.equal(words[:9], known)
    assert torch.allclose(words[9], (known[2] + known[3] + known[4]) / 3)
    assert torch.equal(words[10], before["embedding.weight"][10]), "of an unknown word nothing is known"
    assert torch.equal(words[11], known[5])
    assert found.partly == ("embedding.weight",) and found.of - found.numbers == 8


def test_embeddings_are_rescaled_between_models():
    _, _, own, theirs = copy_and_compare(model(dataclasses.replace(BODY, initial="torch"), seed=1), model())
    assert torch.allclose(own["embedding.weight"], theirs["embedding.weight"] * 8**0.5)


def test_other_shapes_layers_and_parts_keep_their_random_start():
    larger = dataclasses.replace(BODY, layers=3, ff_width=16, pooling="cls", head=HeadConfig(dense=4))
    found, before, own, theirs = copy_and_compare(model(larger, seed=1), model())
    fresh = set(found.fresh)
    assert {"class_token", "layers.0.feedforward.up.weight", "layers.2.attention.query.weight"} <= fresh
    assert all(torch.equal(own[name], before[name]) for name in fresh)
    assert torch.equal(own["layers.1.attention.query.weight"], theirs["layers.1.attention.query.weight"])
    assert all(torch.equal(own[name], theirs[name]) for name in set(own) - fresh)


def test_with_another_width_only_matching_biases_are_copied():
    found, *_ = copy_and_compare(model(dataclasses.replace(BODY, width=16), seed=1), model())
    kept = {name for name in model().state_dict()} - set(found.fresh)
    assert kept == {f"layers.{n}.feedforward.{part}.bias" for n in range(2) for part in ("gate", "up")} | {"head.bias"}


def test_inconsistent_vocabularies_are_refused():
    with pytest.raises(ValueError, match="12 words, but 9 known and 1 new ones"):
        copy_weights(model(vocabulary=12), model(), origins=[[2]], same_classes=True)
