"""The inside of one text in another: all of the last layer is the donor, nothing changes nothing, linear parts."""

import dataclasses

import numpy as np
import pytest
import torch
from small_readers import TEXT, reader

from core.exceptions import InputError
from core.interpret.ablation import patch_activations
from core.interpret.attribution import explain_text
from core.models.baselines import BagOfNgrams
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch

DONOR = "but never bad , very good very"
PRESETS = ["vanilla", "ndt-pm1-n3", "sentiformer", "inceptive-16"]


def index_patches(found):
    return {(each.kind, each.layer, each.token, each.head): each for each in found.patches}


def compute_odds(own, text):
    return explain_text(own, text, target="good").log_odds


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_patching_the_last_layer_gives_the_donors_prediction(preset, pooling):
    own = reader(preset, pooling=pooling)
    found = patch_activations(own, TEXT, DONOR, "good")
    assert found.log_odds == pytest.approx(compute_odds(own, TEXT), abs=1e-4)
    assert found.donor_log_odds == pytest.approx(compute_odds(own, DONOR), abs=1e-4)
    last = len(own.model.layers) - 1
    assert index_patches(found)["layer", last, None, None].log_odds == pytest.approx(found.donor_log_odds, abs=1e-5)
    assert len(found.patches) == (last + 1) * (1 + len(found.tokens) + own.model.heads)
    assert len(found.tokens) == 7 + own.model.first and found.tokens[own.model.first :] == tuple(TEXT.split())
    same = patch_activations(own, TEXT, TEXT, "good")
    assert max(abs(each.moved) for each in same.patches) < 1e-5


def test_token_patches_add_up_for_mean_pooling():
    own = reader("ndt-pm1-n3")
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    tokens = [found["token", 1, token, None].moved for token in range(7)]
    assert sum(tokens) == pytest.approx(found["layer", 1, None, None].moved, abs=1e-5)
    assert np.std(tokens) > 1e-4
    own = reader("vanilla", pooling="cls")
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    assert found["token", 1, 0, None].moved == pytest.approx(found["layer", 1, None, None].moved, abs=1e-5)
    assert max(abs(found["token", 1, token, None].moved) for token in range(1, 8)) < 1e-6


def test_head_patches_equal_the_difference_in_a_linear_model():
    own = reader("ndt-pm1-n3", layers=1, norm="none")
    model = own.model
    with torch.no_grad():
        for each in model.layers[0].feedforward.parameters():
            each.zero_()
        says = [
            model(Batch.from_arrays(to_batch(own.tokenizer.encode(text))), trace=True)
            .trace.layers[0]
            .head_outputs[0]
            .mean(1)
            for text in (TEXT, DONOR)
        ]
        into = (model.head.weight[1] - model.head.weight[0]) @ model.layers[0].attention.out.weight
        expected = ((says[1] - says[0]) * into.view(model.heads, -1)).sum(1)
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    for head in range(model.heads):
        assert found["head", 0, None, head].moved == pytest.approx(float(expected[head]), abs=1e-5)


def test_patched_layers_feed_later_layers_and_edits_apply_to_both():
    change = Intervention(heads_off=frozenset({(1, 0)}))
    own = reader("ndt-01-n3", change)
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    assert found["layer", 0, None, None].log_odds == pytest.approx(compute_odds(own, DONOR), abs=1e-4)
    assert found["layer", 0, None, None].log_odds != pytest.approx(compute_odds(reader("ndt-01-n3"), DONOR), abs=1e-4)


def test_unsuitable_models_and_different_lengths_are_refused():
    own = reader("vanilla")
    with pytest.raises(InputError, match="class 'nice': this run has bad, good"):
        patch_activations(own, "never bad", "very good", "nice")
    bag = BagOfNgrams(vocabulary=50, classes=2).eval()
    with pytest.raises(InputError, match="no layer or head to take"):
        patch_activations(dataclasses.replace(own, model=bag), "never bad", "very good")
    batch = Batch.from_arrays(to_batch(own.tokenizer.encode("never bad")))
    taking = Intervention(hidden_from=frozenset({(0, 1)}))
    with pytest.raises(InputError, match="from a donor: there is none"):
        own.model(batch, intervene=taking)
    longer = own.model(Batch.from_arrays(to_batch(own.tokenizer.encode(TEXT))), trace=True).trace
    with pytest.raises(InputError, match="it has 7 tokens, and the text 2"):
        own.model(batch, intervene=taking, donor=longer)
    with pytest.raises(InputError, match="token 5"):
        own.model(batch, intervene=Intervention(hidden_from=frozenset({(0, 5)})), donor=longer)
    said = r"differ in their number of tokens. The first has 2: never \| bad; the second 3: very \| good \| film"
    with pytest.raises(InputError, match=said):
        patch_activations(reader("vanilla"), "never bad", "very good film")


@pytest.mark.parametrize("text", ["", " "])
def test_empty_texts_have_equal_length(text):
    assert max(abs(each.moved) for each in patch_activations(reader("vanilla"), text, "").patches) < 1e-6
