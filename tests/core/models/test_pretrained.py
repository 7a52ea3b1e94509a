"""Backbones with Sentiscope's attention, compared with their library; quick tests use one family."""

import dataclasses
import math

import pytest
import torch
from tiny_backbones import FAMILIES, PLACES, backbone

from core.config import compose
from core.models.builder import build_model
from core.models.model_description import PLACES as USUAL_PLACES
from core.models.model_description import count_parameters
from core.models.pretrained import Call
from core.models.score_terms import AttentionInputs
from core.models.trace import Batch, Intervention
from core.runs.backbone_weights import read_tokenizer, split_backbone
from core.runs.backbones import Backbone
from core.text.config import TextConfig
from core.text.token_table import build_token_table
from core.text.tokenizer_factory import fit_tokenizer
from core.training.config import TrainingConfig
from core.training.training_stage import freeze_layers, group_parameters

TEXTS = ["good film", "the plot was not bad and very great", "", "awful"]
LEXICAL = {"model.attention.lexical": "add", "text.lexicon": "vader"}
STRONG = {**LEXICAL, "model.attention.lexical_strength": 3}
EVERY = [pytest.param(name, marks=() if name == "bert" else pytest.mark.slow) for name in FAMILIES]
ONE = pytest.mark.parametrize("known", ["bert"], indirect=True)  # for behaviour that is equal in all families


@pytest.fixture(scope="module", params=EVERY)
def known(request, tmp_path_factory):
    """A backbone of each family with its tokenizer."""
    found = Backbone(request.param, backbone(tmp_path_factory.mktemp(request.param), request.param))
    config = TextConfig(tokenizer="pretrained", normaliser="none", lexicon="vader")
    return found, fit_tokenizer(TEXTS, config, read_tokenizer(found))


@pytest.fixture
def make(known):
    """make(**settings): a model on that backbone, with the same head for all settings."""
    found, tokenizer = known

    def made(classes=3, dtype=torch.float32, **settings):
        given = {"model.backbone": str(found.folder), "model.dropout": 0, **found.settings, **settings}
        config = compose("pretrained", given).model
        body = split_backbone(found.architecture, config.dropout, tokenizer, found.folder)
        torch.manual_seed(1)
        return build_model(config, vocabulary=0, classes=classes, body=body).to(dtype).eval()

    return made


@pytest.fixture
def batch(known):
    return Batch.from_arrays(build_token_table(known[1], TEXTS).pad_all())


def run_transformers(known, batch, kind):
    """Return the last vectors and maps of transformers for the same texts."""
    import transformers

    found, tokenizer = known
    first, last, padding = (tokenizer.specials[place] for place in (2, 3, 0))
    rows = []
    for ids, keep in zip(batch.ids, batch.keep, strict=True):
        own = [tokenizer.specials[1] if each == 1 else each - 2 for each in ids[keep].tolist()]
        rows.append([first, *own, last] + [padding] * (len(ids) - len(own)))
    keep = torch.arange(batch.ids.shape[1] + 2) < batch.keep.sum(1, keepdim=True) + 2
    model = transformers.AutoModel.from_pretrained(found.folder, attn_implementation=kind, local_files_only=True).eval()
    with torch.no_grad():
        said = model(torch.tensor(rows), attention_mask=keep.long(), output_attentions=kind == "eager")
    return said, keep


@pytest.mark.parametrize("kind", ["eager", "sdpa"])
def test_outputs_equal_both_implementations_of_the_library(known, make, batch, kind):
    """The fast path is bit-identical to the fused one; maps equal those of the explicit one."""
    said, keep = run_transformers(known, batch, kind)
    model = make()
    with torch.no_grad():
        expected = model.head.forward(said.last_hidden_state, keep, trace=False).logits
        fast, traced = (model(batch, trace=trace) for trace in (False, True))
    assert torch.allclose(fast.logits, expected, atol=1e-5) and torch.allclose(traced.logits, expected, atol=1e-5)
    assert kind == "eager" or fast.logits.equal(expected)
    for layer, maps in zip(traced.trace.layers, said.attentions or (), strict=kind == "eager"):
        rows = keep[:, None].expand(-1, 3, -1)
        assert torch.allclose(layer.combined[rows], maps[rows], atol=1e-6)
        assert torch.allclose(layer.maps.sum(-1), torch.ones(()), atol=1e-6)
        assert not layer.maps.masked_select(~keep[:, None, None, None]).any()


@ONE
@pytest.mark.parametrize("trace", [False, True], ids=["fused", "explicit"])
@pytest.mark.parametrize("strength", [0, 3])
def test_attention_rows_sum_to_one_in_every_implementation(make, batch, strength, trace):
    """With all values 1 each head gives 1, as fused attention has no maps to check."""
    layer = make(**LEXICAL, **{"model.attention.lexical_strength": strength}).layers[0].attention
    q, k = torch.randn(2, 2, 3, 6, 8)
    keep = torch.arange(6) < torch.tensor([[6], [3]])
    call = Call(layer, AttentionInputs(keep, torch.rand(2, 6, 3).softmax(-1), class_token=False), trace, ())
    with torch.no_grad():
        out, seen = layer((q, k, torch.ones(2, 3, 6, 8)), 8**-0.5, call)
    assert torch.allclose(out, torch.ones(()), atol=1e-6) and (seen is not None) is trace
    if trace:
        assert torch.allclose(seen.maps.sum(-1), torch.ones(()), atol=1e-6)


@ONE
@pytest.mark.slow
@pytest.mark.parametrize(
    "further", [{}, {"model.attention.lexical_heads": "last"}, {"model.attention.lexical_scaled": True}]
)
def test_strength_zero_does_not_change_the_logits(make, batch, further):
    plain = make()
    with torch.no_grad():
        untouched = plain(batch).logits
        none = {**LEXICAL, **further, "model.attention.lexical_strength": 0}
        assert make(**none)(batch).logits.equal(untouched)
        assert make(**none, **{"model.attention.learn_strength": True})(batch).logits.equal(untouched)
        assert not make(**STRONG, **further)(batch).logits.allclose(untouched, atol=1e-4)


@ONE
@pytest.mark.slow
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("reach", ["all", "last"])
def test_sigma_is_added_to_its_heads(make, batch, reach, scaled):
    """In the first layer, log maps differ by sigma and a constant per row."""
    settings = {"model.attention.lexical_heads": reach, "model.attention.lexical_scaled": scaled}
    with torch.no_grad():
        plain = make(dtype=torch.float64)(batch, trace=True).trace
        wide = batch._replace(polarity=batch.polarity.double())
        added = make(dtype=torch.float64, **STRONG, **settings)(wide, trace=True).trace
    sigma = 3 * (added.polarity @ added.polarity.transpose(1, 2)) / (math.sqrt(8) if scaled else 1)
    for row, keep in enumerate(added.keep):
        for head in range(3):
            apart = (added.layers[0].maps[row, 0, head].log() - plain.layers[0].maps[row, 0, head].log())[keep][:, keep]
            moved = apart - (sigma[row][keep][:, keep] if reach == "all" or head == 2 else torch.zeros_like(apart))
            assert torch.allclose(moved, moved[:, :1].expand_as(moved), atol=1e-9)


@pytest.mark.parametrize("kind", ["add", "hadamard"])
def test_traces_show_the_computed_values(make, batch, kind):
    model = make(**{**STRONG, "model.attention.lexical": kind})
    changes = Intervention(heads_off=frozenset({(0, 1)}), lexical_off=frozenset({1}))
    with torch.no_grad():
        for change in (None, changes):
            fast, traced = model(batch, intervene=change), model(batch, trace=True, intervene=change)
            assert torch.allclose(fast.logits, traced.logits, atol=1e-5)
            assert fast.trace is None and len(traced.trace.layers) == 2


@ONE
def test_gradients_pass_through_sigma(make, batch):
    """Gradients of the strength (compared with differences) and of the words."""
    model = make(dtype=torch.float64, **{**STRONG, "model.attention.learn_strength": True})
    batch = batch._replace(polarity=batch.polarity.double())
    model(batch).logits[:, 0].sum().backward()
    strength = model.layers[0].attention.lexical.strength
    found, step = strength.grad.item(), 1e-5
    ends = []
    for sign in (1, -1):
        with torch.no_grad():
            strength += sign * step
            ends.append(model(batch).logits[:, 0].sum().item())
            strength -= sign * step
    assert found == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5) and abs(found) > 1e-6
    words = model.entering.word_embeddings.weight.grad
    assert words[batch.ids[batch.keep & (batch.ids > 1)] - 2].abs().sum(1).min() > 0


def test_pretrained_predictions_do_not_depend_on_the_batch_and_can_be_of_word_vectors(make, batch):
    model = make(**STRONG)
    with torch.no_grad():
        together = model(batch).logits
        for row, length in enumerate(batch.keep.sum(1).tolist()):
            here, wide = slice(row, row + 1), slice(max(length, 1))
            alone = Batch(batch.ids[here, wide], batch.keep[here, wide], polarity=batch.polarity[here, wide])
            assert torch.allclose(model(alone).logits[0], together[row], atol=1e-5)
    model = make()
    with torch.no_grad():
        own, said = model.embed_tokens(batch), model(batch).logits
        assert model(batch, embedded=own).logits.equal(said)
        assert not model(batch, embedded=torch.zeros_like(own)).logits[0].allclose(said[0])


def test_interventions_have_their_documented_effect(make, batch):
    """Patching the last layer at all tokens gives the donor's prediction; a head that is off gives 0."""
    model = make()
    one, other = (Batch(batch.ids[row : row + 1, :2], batch.keep[row : row + 1, :2]) for row in (0, 1))
    with torch.no_grad():
        donor = model(one, trace=True)
        taken = Intervention(hidden_from=frozenset((1, place) for place in range(4)))
        assert model(other, intervene=taken, donor=donor.trace).logits.allclose(donor.logits, atol=1e-6)
        assert not model(other).logits.allclose(donor.logits, atol=1e-3)
        silent = model(other, trace=True, intervene=Intervention(heads_off=frozenset({(0, 2)}))).trace.layers[0]
    assert not silent.head_outputs[:, 2].any() and silent.head_outputs[:, 0].any()


@ONE
@pytest.mark.parametrize(
    "head",
    [
        {"head.kernels": "2,3", "head.channels": 4, "head.attention_heads": 4, "head.dense": 12},
        {"head.one_logit": True},
        {"pooling": "mean"},
    ],
    ids=["inceptive", "one logit", "mean"],
)
def test_every_head_works_with_a_backbone(make, batch, head):
    model = make(classes=2, **{f"model.{name}": value for name, value in head.items()})
    model(batch).logits[:, 1].sum().backward()
    assert model.head.weight.grad.abs().sum() > 0 and model.entering.word_embeddings.weight.grad.abs().sum() > 0
    if "head.one_logit" in head:
        assert not model(batch).logits[:, 0].any()


@ONE
def test_learning_rates_decrease_towards_the_words_and_frozen_layers_have_none(make):
    model = make(**LEXICAL, **{"model.attention.learn_strength": True})
    config = TrainingConfig(layer_decay=0.5, decay="matrices")
    rates = {name: group["rate"] for group in group_parameters(model, config) for name in group["names"]}
    assert rates.keys() == dict(model.named_parameters()).keys()
    for name, rate in rates.items():
        depth = 3 if name.startswith("head.") else int(name.split(".")[1]) + 1 if name.startswith("layers.") else 0
        assert rate == 0.5 ** (3 - depth), name
    freeze_layers(model, dataclasses.replace(config, frozen=2))
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    assert learning == {name for name in rates if name.startswith(("layers.1.", "head."))}


@ONE
def test_bert_size_follows_the_formula_except_positions_and_types(known, make):
    found, tokenizer = known
    config = compose("pretrained", {"model.backbone": "x", **found.settings}).model
    fewer = (USUAL_PLACES - PLACES) * config.width
    built = sum(each.numel() for each in make().parameters())
    assert count_parameters(config, vocabulary=tokenizer.rows, classes=3) == built + fewer
