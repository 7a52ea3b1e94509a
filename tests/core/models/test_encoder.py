import copy
import dataclasses

import pytest
import torch
from refused import check_raises
from small_models import CLASSES, longer, make, rows, small
from structures import QUICK, STRUCTURES, encoders, same_structure, structure

from core.exceptions import InputError
from core.models.positions import compute_sinusoid
from core.models.presets import PRESETS
from core.models.trace import Intervention

OPTIONS = {
    "post-norm": ("vanilla", {"norm_place": "post"}),
    "cls": ("ndt-01-n3", {"pooling": "cls"}),
    "no positions": ("vanilla", {"position": "none"}),
    "gelu": ("vanilla", {"feedforward": "gelu"}),
}
MODELS = [
    *(pytest.param(small(PRESETS[name].model), id=name, marks=marks) for (name,), marks, _ in encoders()),
    *(
        pytest.param(dataclasses.replace(small(PRESETS[preset].model), **change), id=name)
        for name, (preset, change) in OPTIONS.items()
    ),
]
EVERY = pytest.mark.parametrize("config", MODELS)


@pytest.mark.slow
@EVERY
def test_untraced_and_traced_outputs_agree(config, batch):
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 2e-5)):
        model = make(config, dtype)
        read = batch._replace(polarity=batch.polarity.to(dtype))
        fast, traced = model(read), model(read, trace=True)
        torch.testing.assert_close(fast.logits, traced.logits, atol=tolerance, rtol=tolerance)
        torch.testing.assert_close(fast.pooled, traced.pooled, atol=tolerance, rtol=tolerance)
        assert fast.trace is None and fast.logits.isfinite().all()


@EVERY
def test_traces_have_the_documented_shapes(config, batch):
    model = make(config)
    trace = model(batch, trace=True).trace
    b, n, h = len(batch.ids), config.attention.components, config.attention.heads
    length = batch.ids.shape[1] + (config.pooling == "cls")
    assert len(trace.layers) == config.layers and trace.keep.shape == (b, length)
    assert trace.embedded.shape == (b, length, config.width)
    for layer in trace.layers:
        assert layer.maps.shape == (b, n, h, length, length) and layer.coefficients.shape == (b, n, h, length, 1)
        assert layer.combined.shape == (b, h, length, length) and layer.hidden.shape == (b, length, config.width)
        assert layer.head_outputs.shape == (b, h, length, config.width // h)
        assert (layer.gates is not None) == ("gates" in model.provides)
        assert bool(layer.terms) == ("lexical" in model.provides)
        assert (layer.temperature is not None) == ("temperature" in model.provides)
        assert (layer.support is not None) == ("support" in model.provides)
    assert ("lambda" in model.provides) == (n > 1) and bool(trace.positions) == ("positions" in model.provides)
    assert bool(trace.head.branches if trace.head is not None else {}) == ("branches" in model.provides)
    assert model.provides >= {"maps", "hidden", "pooled"}


@pytest.mark.slow
@EVERY
def test_combined_map_rows_sum_to_one_plus_the_lambdas(config, batch):
    model = make(config)
    trace = model(batch, trace=True).trace
    some = trace.keep.any(1)
    for number, layer in enumerate(trace.layers):
        sums = layer.combined.sum(-1)[some]
        torch.testing.assert_close(sums, layer.coefficients.sum(1)[some].squeeze(-1))
        lambdas = model.get_lambdas()[number] if "lambda" in model.provides else torch.empty(0, 1)
        if lambdas is not None:
            sign = -1 if config.attention.mixing == "differential" else 1
            torch.testing.assert_close(sums, (1 + sign * lambdas.sum(0))[None, :, None].expand_as(sums).to(sums))
        assert (layer.combined[~some] == 0).all()


@pytest.mark.slow
@EVERY
def test_logits_do_not_depend_on_batch_or_padding(config, batch):
    model = make(config)
    together = model(batch)
    for row in range(len(batch.ids)):
        alone = rows(batch, slice(row, row + 1), max(1, int(batch.keep[row].sum())))
        torch.testing.assert_close(model(alone).logits[0], together.logits[row])
        torch.testing.assert_close(model(longer(alone, 6)).logits[0], together.logits[row])


@EVERY
def test_gradients_are_finite_and_reach_every_parameter(config, batch):
    model = make(config).train()
    (model(batch).logits * torch.arange(1.0, CLASSES + 1)).pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
        # A constant added to all scores of a row does not change the softmax, so a key's bias has no gradient.
        assert parameter.grad.abs().max() > 0 or name.endswith("key.bias"), name


def changes(config) -> Intervention:
    lambdas = ((0, 1, 0.7), (1, 1, -0.4)) if config.attention.components > 1 else ()
    off = frozenset({(0, config.attention.components - 1)})
    return Intervention(lambdas=lambdas, heads_off=frozenset({(1, 0)}), components_off=off)


@EVERY
def test_interventions_act_alike_on_both_paths_and_leave_no_state(config, batch):
    model = make(config)
    before, weights = model(batch).logits, copy.deepcopy(model.state_dict())
    torch.testing.assert_close(model(batch, intervene=Intervention()).logits, before, atol=0, rtol=0)
    changed = model(batch, intervene=changes(config))
    traced = model(batch, trace=True, intervene=changes(config))
    torch.testing.assert_close(changed.logits, traced.logits, atol=1e-12, rtol=1e-12)
    assert not torch.allclose(changed.logits[:4], before[:4])
    assert (traced.trace.layers[1].head_outputs[:, 0] == 0).all()
    assert (traced.trace.layers[0].coefficients[:, -1] == 0).all()
    torch.testing.assert_close(model(batch).logits, before, atol=0, rtol=0)
    assert all(torch.equal(weights[name], tensor) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("preset", ["ndt-01-n3", "differential", "differential-v2", "ndt-pos-n3"])
def test_the_lambda_factor_does_not_change_replaced_lambdas(preset, batch):
    model = make(small(PRESETS[preset].model))
    plain = model(batch, trace=True).trace.layers
    both = Intervention(lambdas=((1, 1, 0.25),), lambda_scale=0.5)
    first, second = model(batch, trace=True, intervene=both).trace.layers
    torch.testing.assert_close(first.coefficients[:, 1:], 0.5 * plain[0].coefficients[:, 1:], atol=1e-12, rtol=0)
    sign = -1 if preset.startswith("differential") else 1
    assert (first.coefficients[:, 0] == 1).all() and (second.coefficients[:, 1] == sign * 0.25).all()
    off = frozenset((layer, i) for layer in range(2) for i in range(1, model.components))
    torch.testing.assert_close(
        model(batch, intervene=Intervention(lambda_scale=0.0)).logits,
        model(batch, intervene=Intervention(components_off=off)).logits,
        atol=1e-12,
        rtol=1e-12,
    )


@EVERY
def test_maps_can_be_off_in_one_head_or_all(config, batch):
    model, last = make(config), config.attention.components - 1
    one = Intervention(maps_off=frozenset({(0, 1, last)}))
    traced, plain = model(batch, trace=True, intervene=one), model(batch, trace=True).trace.layers[0]
    torch.testing.assert_close(model(batch, intervene=one).logits, traced.logits, atol=1e-12, rtol=1e-12)
    seen, heads = traced.trace.layers[0], [head for head in range(config.attention.heads) if head != 1]
    assert (seen.coefficients[:, last, 1] == 0).all()
    torch.testing.assert_close(seen.coefficients[:, :, heads], plain.coefficients[:, :, heads], atol=0, rtol=0)
    torch.testing.assert_close(seen.head_outputs[:, heads], plain.head_outputs[:, heads], atol=1e-12, rtol=1e-12)
    every = Intervention(maps_off=frozenset((0, head, last) for head in range(config.attention.heads)))
    whole = Intervention(components_off=frozenset({(0, last)}))
    assert torch.equal(model(batch, intervene=every).logits, model(batch, intervene=whole).logits)


def different(config) -> list[Intervention]:
    """Return at least one intervention of each kind that the model supports."""
    part, last = config.attention, config.attention.components - 1
    found = [
        Intervention(),
        changes(config),
        Intervention(maps_mean=frozenset({(0, 1, last), (1, 0, 0)}), maps_off=frozenset({(0, 0, last)})),
        Intervention(heads_mean=frozenset({(0, 0), (1, 1)})),
        Intervention(components_off=frozenset({(1, 0)})),
    ]
    if part.gate:
        found[0] = Intervention(gates=((0, 1, 0.0), (1, 2, 0.25)))
        found[4] = Intervention(gates=((1, 0, 0.0),), heads_off=frozenset({(0, 1)}))
    if part.components > 1:
        found[4] = Intervention(lambda_scale=-0.5, lambdas=((0, 1, 0.3),))
    if part.lexical == "add":
        found[0] = Intervention(lexical_scale=0.5, lexical_off=frozenset({1}))
    return found


@pytest.mark.slow
@EVERY
def test_texts_of_a_batch_can_have_different_interventions(config, batch):
    model, each = make(config), different(config)
    together, traced = (model(batch, intervene=each, trace=trace) for trace in (False, True))
    for text, one in enumerate([model(batch, intervene=one, trace=True) for one in each]):
        torch.testing.assert_close(together.logits[text], one.logits[text], atol=1e-12, rtol=1e-12)
        torch.testing.assert_close(traced.logits[text], one.logits[text], atol=1e-12, rtol=1e-12)
        for seen, own in zip(traced.trace.layers, one.trace.layers, strict=True):
            for field in ("maps", "coefficients", "head_outputs", "gates"):
                if getattr(own, field) is not None:
                    ours, theirs = getattr(seen, field)[text], getattr(own, field)[text]
                    torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)


@EVERY
def test_one_text_can_have_several_interventions(config, batch):
    model, text = make(config), batch.select_texts(slice(0, 1))
    each = [*different(config), Intervention(), Intervention(heads_mean=frozenset({(1, 0)})), Intervention()]
    repeated = model(text.repeat_text(len(each)), intervene=each).logits
    torch.testing.assert_close(model(text, intervene=each).logits, repeated, atol=1e-12, rtol=1e-12)


def test_interventions_are_for_all_texts_or_each_and_traces_are_not_for_training(batch):
    model = make(small(PRESETS["vanilla"].model))
    check_raises(ValueError, "2 interventions for 5 texts", model, batch, intervene=[Intervention()] * 2)
    with pytest.raises(InputError, match="head 9"):
        model(batch, intervene=[*[Intervention()] * 4, Intervention(heads_off=frozenset({(0, 9)}))])
    check_raises(RuntimeError, "eval", model.train(), batch, trace=True)


@EVERY
def test_heads_can_be_replaced_by_their_mean(config, batch):
    model, off = make(config), Intervention(heads_mean=frozenset({(0, 1)}))
    traced, plain = model(batch, trace=True, intervene=off), model(batch, trace=True)
    torch.testing.assert_close(model(batch, intervene=off).logits, traced.logits, atol=1e-12, rtol=1e-12)
    before, now = (each.trace.layers[0].head_outputs for each in (plain, traced))
    keep = torch.ones_like(plain.trace.keep) if model.fill else plain.trace.keep
    for text in range(len(keep)):
        said = before[text, 1, keep[text]]
        mean = said.mean(0) if len(said) else before.new_zeros(before.shape[-1])
        torch.testing.assert_close(now[text, 1], mean.expand_as(now[text, 1]), atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(now[:, 0], before[:, 0], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("preset", ["ndt-pm1-n3", "differential"])
def test_maps_can_be_replaced_by_their_mean(preset, batch):
    model = make(small(PRESETS[preset].model))
    off = Intervention(maps_mean=frozenset({(0, 1, 1)}), components_mean=frozenset({(0, 0)}))
    traced, plain = model(batch, trace=True, intervene=off), model(batch, trace=True).trace
    torch.testing.assert_close(model(batch, intervene=off).logits, traced.logits, atol=1e-12, rtol=1e-12)
    layer, block, keep = plain.layers[0], model.layers[0], plain.keep[0]
    attention, entering = block.attention, block.attention_norm(plain.embedded) if block.pre else plain.embedded
    v = attention.value(entering).view(*entering.shape[:2], model.heads, -1).transpose(1, 2)
    said = (layer.coefficients * layer.maps)[0] @ v[0]  # (N, H, L, d/H): outputs of all maps in the first text
    left = said.clone()
    for component, head in ((0, 0), (0, 1), (1, 1)):
        left[component, head] = said[component, head][keep].mean(0)
    expected = left.sum(0)
    if attention.head_norm is not None:
        expected = attention.head_norm(expected) * attention.mixing.scale
    found = traced.trace.layers[0].head_outputs[0]
    torch.testing.assert_close(found[:, keep], expected[:, keep], atol=1e-12, rtol=1e-12)


@pytest.mark.slow
def test_the_lexical_term_can_be_off_in_one_layer(batch):
    model = make(small(PRESETS["lexical-all"].model))
    one, every = (Intervention(lexical_off=frozenset(layers)) for layers in ({1}, {0, 1}))
    trace = model(batch, trace=True, intervene=one).trace
    assert (trace.layers[1].terms["lexical"] == 0).all() and (trace.layers[0].terms["lexical"] != 0).any()
    none = model(batch, intervene=Intervention(lexical_scale=0.0)).logits
    assert torch.equal(model(batch, intervene=every).logits, none)
    assert not torch.allclose(model(batch, intervene=one).logits[:3], none[:3])
    with pytest.raises(InputError, match="on the lexical term: this model has none"):
        make(small(PRESETS["vanilla"].model))(batch, intervene=one)
    with pytest.raises(InputError, match="on the strength of the lexical term: this model adds none"):
        make(small(PRESETS["lexical-hadamard"].model))(batch, intervene=Intervention(lexical_scale=0.5))


@pytest.mark.parametrize(
    "wrong",
    [
        Intervention(lambdas=((2, 1, 0.1),)),
        Intervention(lambdas=((0, 3, 0.1),)),
        Intervention(lambdas=((0, 0, 0.1),)),
        Intervention(heads_off=frozenset({(0, 2)})),
        Intervention(components_off=frozenset({(-1, 0)})),
        Intervention(maps_off=frozenset({(0, 2, 0)})),
        Intervention(maps_off=frozenset({(0, 0, 3)})),
        Intervention(maps_off=frozenset({(2, 0, 0)})),
        Intervention(lexical_off=frozenset({0})),
    ],
)
def test_interventions_on_absent_parts_are_refused(wrong, batch):
    model = make(small(PRESETS["ndt-01-n3"].model))
    before = model(batch).logits
    check_raises(InputError, "intervention on", model, batch, intervene=wrong)
    torch.testing.assert_close(model(batch).logits, before, atol=0, rtol=0)


def test_positions_are_standard_sinusoids_and_embeddings_scaled_to_their_size(batch):
    table = compute_sinusoid(50, 8, torch.device("cpu"))
    for position in (0, 1, 49):
        for i in range(4):
            angle = torch.tensor(position / 10_000 ** (2 * i / 8))
            torch.testing.assert_close(table[position, 2 * i], angle.sin(), atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(table[position, 2 * i + 1], angle.cos(), atol=1e-5, rtol=1e-5)
    model = make(small(PRESETS["vanilla"].model))
    embedded = model(batch, trace=True).trace.embedded
    wanted = model.embedding.weight[batch.ids] * 4 + compute_sinusoid(9, 16, torch.device("cpu"))
    torch.testing.assert_close(embedded, wanted)


@pytest.mark.slow
def test_structures_cover_every_preset_without_duplicates():
    assert [name for name in PRESETS if not same_structure(name)] == []
    twice = [name for name in STRUCTURES if len(same_structure(name)) > 1]
    assert twice == ["tfidf-logreg", "tfidf-logreg-chars"], "these differ in what they read of a text"
    assert set(QUICK) < set(STRUCTURES)


def test_structures_ignore_sizes_but_not_choices():
    assert structure(PRESETS["tweet-v1-p2"].model) == structure(PRESETS["tweet-v8-p2"].model)
    assert structure(PRESETS["sentiformer"].model) != structure(PRESETS["sentiformer-full"].model)
    assert structure(PRESETS["lexical-all"].model) != structure(PRESETS["lexical-last"].model)
