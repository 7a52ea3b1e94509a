"""A pretrained encoder computed anew: every family and head, sigma, a pair and edits, against what it says."""

import numpy as np
import pytest
import torch
from stepping import CLOSE, check, lent, traced
from tiny_backbones import FAMILIES, backbone, changed

from core.config import compose
from core.exceptions import NotAvailable
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.forward_pass import compute_stages
from core.models.builder import build_model
from core.models.trace import Intervention
from core.runs.backbone_weights import read_tokenizer, split_backbone
from core.runs.backbones import Backbone
from core.text import text_pairs
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer

TEXT = "the plot was not bad and very great"
SIGMA = {"model.attention.lexical": "add", "text.lexicon": "vader", "model.attention.lexical_strength": 3}
KINDS = {
    "linear": {},
    "sigma in the last head": {
        **SIGMA,
        "model.attention.lexical_heads": "last",
        "model.attention.lexical_scaled": True,
    },
    "Inceptive": {"model.head.kernels": "2,3", "model.head.channels": 4, "model.head.attention_heads": 2},
    "mean": {"model.pooling": "mean"},
}


def make_reader(folder, text=TEXT, change=UNCHANGED, **settings) -> ExplainContext:
    found = Backbone("tiny", folder)
    config = TextConfig(tokenizer="pretrained", normaliser="none", lexicon=settings.get("text.lexicon", ""))
    tokenizer = fit_tokenizer([text], config, read_tokenizer(found))
    given = {"model.backbone": str(folder), "model.dropout": 0, **found.settings, **settings}
    chosen = compose("pretrained", given).model
    body = split_backbone(found.architecture, 0.0, tokenizer, folder)
    torch.manual_seed(1)
    model = build_model(chosen, vocabulary=0, classes=3, body=body, pairs=tokenizer.pairs).eval()
    return lent(model, tokenizer, change)


EVERY = [pytest.param(name, marks=() if name == "bert" else pytest.mark.slow) for name in FAMILIES]


@pytest.fixture(scope="module", params=EVERY)
def folder(request, tmp_path_factory):
    return backbone(tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage_equals_its_formula_and_the_pretrained_encoder(folder, kind):
    own = make_reader(folder, **KINDS[kind])
    seen = traced(own, TEXT).trace
    for layer in (1, 2):
        found = check(own, TEXT, layer=layer, head=3)
        assert (found.tokens[0], found.tokens[-1]) == ("[CLS]", "[SEP]")
        np.testing.assert_allclose(found.find_stage("embedding").made, seen.embedded[0], **CLOSE)
        shown = found.find_stage("softmax").matrices[0].values
        np.testing.assert_allclose(shown, seen.layers[layer - 1].maps[0, 0, 2], **CLOSE)
        np.testing.assert_allclose(found.find_stage("feedforward").made, seen.layers[layer - 1].hidden[0], **CLOSE)


def test_text_pairs_have_two_segment_types(folder):
    text = text_pairs.join_pair("good film", "not bad")
    own = make_reader(folder, text)
    found = check(own, text)
    np.testing.assert_allclose(found.find_stage("embedding").made, traced(own, text).trace.embedded[0], **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["bert"], indirect=True)
@pytest.mark.parametrize(
    "change",
    [Intervention(heads_off=frozenset({(0, 1)})), Intervention(lexical_scale=0.5, lexical_off=frozenset({1}))],
    ids=["a head", "half of sigma and none of a layer"],
)
def test_stages_of_an_edited_encoder_end_at_its_prediction(folder, change):
    check(make_reader(folder, change=change, **SIGMA), TEXT)


@pytest.mark.slow
def test_unknown_activations_are_refused(tmp_path):
    folder = backbone(tmp_path / "tiny", "bert")
    changed(folder, hidden_act="gelu_new")
    with pytest.raises(NotAvailable, match="NewGELUActivation, which Steps cannot compute"):
        compute_stages(make_reader(folder), TEXT)
    changed(folder, hidden_act="relu")
    check(make_reader(folder), TEXT)
