import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
import torch
from refused import check_raises
from rounding import same_but_for_rounding
from small_models import small
from small_readers import CLASSES, TEXT, lent, reader

from core.evaluation.inference import predict_texts
from core.exceptions import InputError
from core.interpret.ablation import MOST_TOKENS, VARIES, compute_lambda_curves, patch_activations, silence_parts
from core.interpret.attribution import METHODS, explain_text
from core.interpret.attribution_math import compute_log_odds
from core.interpret.forward_pass import compute_stages
from core.interpret.sentence_inspection import CLASS_TOKEN, inspect_text
from core.interpret.trace_summary import average_attention
from core.models.baselines import BagOfNgrams
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.trace import Batch, Intervention
from core.text.config import TextConfig
from core.text.token_table import to_batch
from core.text.tokenizer_factory import fit_tokenizer
from core.training.temperature import Scaling

ENCODERS = ["ndt-01-n3", "sentiformer", "lexical-last"]  # with components, gates and a lexical term
DONOR = "but never bad , very good very"
SENTENCE = "Not bad at all, but the ending never works"
SCALING = Scaling(1.7, (0.2, 0.8))
MODELS = ["ndt-01-n3", "ndt-pm1-n4", "ndt-free-n2", "differential"]


def index_effects(found):
    """(kind, layer, head, component, token) → the part."""
    return {(each.kind, each.layer, each.head, each.component, each.token): each for each in found.parts}


@pytest.fixture
def straight():
    """One layer whose logits are linear in its heads: no norm, no feed-forward, mean pooling."""
    own = reader("ndt-pm1-n3", layers=1, norm="none")
    with torch.no_grad():
        for each in own.model.layers[0].feedforward.parameters():
            each.zero_()
    return own


def test_zero_ablation_removes_a_parts_contribution(straight):
    model, batch = straight.model, Batch.from_arrays(to_batch(straight.tokenizer.encode(TEXT)))
    with torch.no_grad():
        output = model(batch, trace=True)
        layer, attention = output.trace.layers[0], model.layers[0].attention
        v = attention.value(output.trace.embedded[0]).unflatten(1, (model.heads, -1)).transpose(0, 1)
        each = (layer.coefficients * layer.maps) @ v  # (1, N, H, L, d/H)
        into = ((model.head.weight[1] - model.head.weight[0]) @ attention.out.weight).view(model.heads, -1)  # (H, d/H)
        added = (each[0].mean(2) * into).sum(-1)  # (N, H)
    found = index_effects(silence_parts(straight, TEXT, "good"))
    for i, head in product(range(model.components), range(model.heads)):
        assert found["map", 0, head, i, None].zero == pytest.approx(float(added[i, head]), abs=1e-5)
    for head in range(model.heads):
        assert found["head", 0, head, None, None].zero == pytest.approx(float(added[:, head].sum()), abs=1e-5)
    for i in range(model.components):
        assert found["component", 0, None, i, None].zero == pytest.approx(float(added[i].sum()), abs=1e-5)
    assert found["layer", 0, None, None, None].zero == pytest.approx(float(added.sum()), abs=1e-5)
    found = silence_parts(straight, TEXT)
    assert max(abs(part.mean) for part in found.parts) < 1e-5 < max(abs(part.zero) for part in found.parts)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ENCODERS)
def test_effects_equal_the_loss_under_the_same_intervention(starter, preset):
    loaded = starter(preset)
    found = silence_parts(loaded.make_reader(), TEXT, "positive")
    place = loaded.record.classes.index("positive")

    def odds(**change):
        view = loaded.inspect(TEXT, Intervention(**change))
        return compute_log_odds(np.array(list(view.probabilities.values())), place, "single")

    assert found.log_odds == pytest.approx(odds(), abs=1e-4)
    model, last = loaded.model, len(loaded.model.layers) - 1
    switches = {
        ("layer", last, None, None, None): {"heads_off": frozenset((last, head) for head in range(model.heads))},
        ("head", 0, 1, None, None): {"heads_off": frozenset({(0, 1)})},
    }
    if model.components > 1:
        switches["component", last, None, 1, None] = {"components_off": frozenset({(last, 1)})}
        switches["map", last, 1, 1, None] = {"maps_off": frozenset({(last, 1, 1)})}
    for name, change in switches.items():
        part = index_effects(found)[name]
        assert part.zero == pytest.approx(found.log_odds - odds(**change), abs=1e-4)
        mean = {name.replace("off", "mean"): named for name, named in change.items()}
        assert part.mean == pytest.approx(found.log_odds - odds(**mean), abs=1e-4)
    gates = [part for part in found.parts if part.kind == "gate"]
    words = [place for place, token in enumerate(found.tokens) if token != CLASS_TOKEN]
    assert [part.token for part in gates] == ("gates" in model.provides) * (last + 1) * words
    for part in gates[:3]:
        mean = loaded.inspect(TEXT).layers[0].gates[words].mean()
        assert part.zero == pytest.approx(found.log_odds - odds(gates=((0, part.token, 0.0),)), abs=1e-4)
        assert part.mean == pytest.approx(found.log_odds - odds(gates=((0, part.token, float(mean)),)), abs=1e-4)
    lexical = [part for part in found.parts if part.kind == "lexical"]
    assert len(lexical) == (preset == "lexical-last") * (last + 1)
    for part in lexical:
        without = found.log_odds - odds(lexical_off=frozenset({part.layer}))
        assert part.zero == part.mean == pytest.approx(without, abs=1e-4)


@pytest.mark.slow
def test_ablating_a_lexical_factor_follows_its_equation():
    own = reader("lexical-hadamard")
    found = index_effects(silence_parts(own, TEXT, "good"))

    def odds(**change):  # of a float64 pass computed from the weights
        stages = compute_stages(dataclasses.replace(own, change=Intervention(**change)), TEXT).stages
        return float(np.log(stages[-1].made[0, 1] / stages[-1].made[0, 0]))

    for layer in (0, 1):
        part = found["lexical", layer, None, None, None]
        assert part.zero == pytest.approx(odds() - odds(lexical_off=frozenset({layer})), abs=1e-5)
        assert part.mean == pytest.approx(odds() - odds(lexical_mean=frozenset({layer})), abs=1e-5)
        assert abs(part.zero) > 1e-4 and abs(part.zero - part.mean) > 1e-5


def test_single_components_are_not_listed_twice():
    assert set([part.kind for part in silence_parts(reader("vanilla"), TEXT).parts]) == {"layer", "head"}
    three = reader("ndt-pm1-n3")
    assert len(silence_parts(three, TEXT).parts) == 2 * (1 + three.model.heads + 3 + 3 * three.model.heads)
    classed = silence_parts(reader("sentiformer", pooling="cls"), "not bad")
    assert classed.tokens == (CLASS_TOKEN, "not", "bad")
    assert {part.token for part in classed.parts if part.kind == "gate"} == {1, 2}


@pytest.mark.slow
def test_long_texts_have_a_note_on_closed_gates():
    found = silence_parts(reader("sentiformer", max_length=80, layers=1), "bad " * 100)
    assert sum(part.kind == "gate" for part in found.parts) == MOST_TOKENS == 64
    assert found.note == (
        "The model reads the first 80 tokens; 20 at the end are cut off. Gates are closed of the first 64 of 80 tokens."
    )


def test_empty_texts_have_effects_and_unsuitable_models_are_refused():
    nothing, place = silence_parts(reader("ndt-pm1-n3"), ""), silence_parts(reader("sentiformer"), "")
    assert nothing.parts and not any(part.zero or part.mean for part in nothing.parts)
    assert place.tokens == (CLASS_TOKEN,) and any(part.zero for part in place.parts)
    assert max(abs(part.mean) for part in place.parts) < 1e-6
    check_raises(InputError, "class 'nice': this run has bad, good", silence_parts, reader("vanilla"), TEXT, "nice")
    with pytest.raises(InputError, match="no attention, so there is no layer, head or component to silence"):
        silence_parts(dataclasses.replace(reader("vanilla"), model=BagOfNgrams(vocabulary=50, classes=2).eval()), TEXT)


def index_patches(found):
    return {(each.kind, each.layer, each.token, each.head): each for each in found.patches}


def compute_odds(own, text):
    return explain_text(own, text, target="good").log_odds


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["vanilla", "ndt-pm1-n3", "sentiformer", "inceptive-16"])
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
    assert max(abs(each.moved) for each in patch_activations(own, TEXT, TEXT, "good").patches) < 1e-5


def test_patches_of_linear_models_add_up_and_later_layers_read_them():
    own = reader("ndt-pm1-n3")
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    tokens = [found["token", 1, token, None].moved for token in range(7)]
    assert sum(tokens) == pytest.approx(found["layer", 1, None, None].moved, abs=1e-5) and np.std(tokens) > 1e-4
    own = reader("vanilla", pooling="cls")
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    assert found["token", 1, 0, None].moved == pytest.approx(found["layer", 1, None, None].moved, abs=1e-5)
    assert max(abs(found["token", 1, token, None].moved) for token in range(1, 8)) < 1e-6
    own = reader("ndt-01-n3", Intervention(heads_off=frozenset({(1, 0)})))
    found = index_patches(patch_activations(own, TEXT, DONOR, "good"))
    assert found["layer", 0, None, None].log_odds == pytest.approx(compute_odds(own, DONOR), abs=1e-4)
    assert found["layer", 0, None, None].log_odds != pytest.approx(compute_odds(reader("ndt-01-n3"), DONOR), abs=1e-4)


def test_head_patches_equal_the_difference_in_a_linear_model(straight):
    model, batches = straight.model, [to_batch(straight.tokenizer.encode(text)) for text in (TEXT, DONOR)]
    with torch.no_grad():
        layers = [model(Batch.from_arrays(each), trace=True).trace.layers[0] for each in batches]
        says = [layer.head_outputs[0].mean(1) for layer in layers]
        into = (model.head.weight[1] - model.head.weight[0]) @ model.layers[0].attention.out.weight
        expected = ((says[1] - says[0]) * into.view(model.heads, -1)).sum(1)
    found = index_patches(patch_activations(straight, TEXT, DONOR, "good"))
    for head in range(model.heads):
        assert found["head", 0, None, head].moved == pytest.approx(float(expected[head]), abs=1e-5)


def test_unsuitable_models_and_different_lengths_are_refused():
    own = reader("vanilla")
    with pytest.raises(InputError, match="class 'nice': this run has bad, good"):
        patch_activations(own, "never bad", "very good", "nice")
    bag = BagOfNgrams(vocabulary=50, classes=2).eval()
    with pytest.raises(InputError, match="no layer or head to take"):
        patch_activations(dataclasses.replace(own, model=bag), "never bad", "very good")
    batch = Batch.from_arrays(to_batch(own.tokenizer.encode("never bad")))
    taking = Intervention(hidden_from=frozenset({(0, 1)}))
    check_raises(InputError, "from a donor: there is none", own.model, batch, intervene=taking)
    longer = own.model(Batch.from_arrays(to_batch(own.tokenizer.encode(TEXT))), trace=True).trace
    check_raises(InputError, "it has 7 tokens, and the text 2", own.model, batch, intervene=taking, donor=longer)
    with pytest.raises(InputError, match="token 5"):
        own.model(batch, intervene=Intervention(hidden_from=frozenset({(0, 5)})), donor=longer)
    said = r"differ in their number of tokens. The first has 2: never \| bad; the second 3: very \| good \| film"
    check_raises(InputError, said, patch_activations, reader("vanilla"), "never bad", "very good film")


@pytest.mark.parametrize("text", ["", " "])
def test_empty_texts_have_equal_length(text):
    assert max(abs(each.moved) for each in patch_activations(reader("vanilla"), text, "").patches) < 1e-6


class Own:
    """Return the context of a small model with random weights."""

    def __init__(self, preset: str, **attention: object) -> None:
        self.tokenizer = fit_tokenizer([SENTENCE], TextConfig(min_freq=1, max_length=12))
        config = small(PRESETS[preset].model)
        self.config = dataclasses.replace(config, attention=dataclasses.replace(config.attention, **attention))
        torch.manual_seed(0)
        self.model = build_model(self.config, vocabulary=self.tokenizer.size, classes=2, max_length=12).eval()
        with torch.no_grad():
            for each in self.model.parameters():
                each.add_(0.2 * torch.randn_like(each))
        self.reader = lent(self.model, self.tokenizer, CLASSES, scaling=SCALING)

    def inspect(self, text, intervene=None):
        return inspect_text(self.model, self.tokenizer, CLASSES, text, intervene=intervene, scaling=SCALING)

    def curves(self, target="good", **asked):
        return compute_lambda_curves(self.reader, SENTENCE, self.config.attention, target, **asked)

    def p(self, **change):
        return self.inspect(SENTENCE, Intervention(**change)).probabilities["good"]


@pytest.mark.slow
@pytest.mark.parametrize("preset", MODELS)
def test_every_point_equals_one_intervention(preset):
    own = Own(preset)
    found, [said] = own.curves(), own.reader.predict([SENTENCE]).probabilities.tolist()
    assert found.probabilities["good"] == pytest.approx(said[1]) and found.note == ""
    *curves, every = found.curves
    places = [(layer, i) for layer in range(2) for i in range(1, own.model.components)]
    assert [(each.layer, each.component) for each in curves] == places
    for each in curves:
        assert list(each.values) == sorted({*each.values, 0.0, each.learned})
        assert each.get_point(each.learned) == pytest.approx((found.log_odds, said[1]), abs=1e-4)
        for value, chance, odds in zip(each.values, each.probabilities, each.log_odds, strict=True):
            assert chance == pytest.approx(own.p(lambdas=((each.layer, each.component, value),)), abs=1e-5)
            assert odds == pytest.approx(math.log(chance / (1 - chance)), abs=1e-6)
    for value, chance in zip(every.values, every.probabilities, strict=True):
        assert chance == pytest.approx(own.p(lambda_scale=value), abs=1e-5)


@pytest.mark.slow
def test_varying_lambdas_have_a_note():
    for preset, change in (("ndt-pm1-n2", {"lambda_per_head": True}), ("differential-v2", {})):
        own = Own(preset, **change)
        found = own.curves()
        [said] = own.reader.predict([SENTENCE]).probabilities.tolist()
        assert found.note == VARIES and found.curves[-1].get_point(1.0)[1] == pytest.approx(said[1], abs=1e-6)


def test_a_curve_replaces_only_its_own_lambda_and_other_models_are_refused(starter):
    own = Own("ndt-01-n3")
    change = Intervention(lambdas=((0, 1, 0.9), (1, 2, 0.4)), lambda_scale=0.5, heads_off=frozenset({(1, 0)}))
    first, second, *_, every = own.curves(change=change, starts=((0.1, 0.2), (0.3, 0.4))).curves
    now = own.inspect(SENTENCE, change).probabilities["good"]
    assert (first.now, first.start, every.now) == (0.9, 0.1, 0.5)
    assert second.now == pytest.approx(0.5 * second.learned)
    for each in (first, second, every):
        assert each.get_point(each.now)[1] == pytest.approx(now, abs=1e-5)
    back = dataclasses.replace(change, lambdas=((0, 1, 0.1), (1, 2, 0.4)))
    assert first.get_point(0.1)[1] == pytest.approx(own.inspect(SENTENCE, back).probabilities["good"], abs=1e-5)
    check_raises(InputError, "class 'nice': this run has bad, good", Own("ndt-01-n3").curves, "nice")
    check_raises(InputError, "this model has no λ", Own("vanilla").curves)
    check_raises(InputError, "no word in this text that the model reads", starter("ndt-small").measure_lambdas, " ")


@pytest.mark.slow
def test_initial_lambdas_are_known_and_threads_get_equal_results(starter):
    loaded = starter("differential")
    alone, view = loaded.measure_lambdas(SENTENCE), loaded.inspect(SENTENCE)
    *curves, every = alone.curves
    assert [each.start for each in curves] == pytest.approx([0.093427, 0.208940, 0.459548], abs=1e-6)
    learned = [value for layer in loaded.record.results["lambda"] for value in layer]
    assert [each.learned for each in curves] == pytest.approx(learned, abs=1e-6) and every.start is None
    assert every.get_point(1.0)[1] == pytest.approx(view.probabilities[alone.target], abs=1e-5)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(loaded.measure_lambdas, SENTENCE) for _ in range(4)]
        visits = [pool.submit(loaded.inspect, SENTENCE) for _ in range(20)]
    assert all(same_but_for_rounding(each.result(), alone) for each in answers)
    assert all(same_but_for_rounding(each.result().probabilities, view.probabilities) for each in visits)


def edited_odds(own, text, change):
    view = inspect_text(own.model, own.tokenizer, CLASSES, text, intervene=change)
    return float(compute_log_odds(np.array(list(view.probabilities.values())), 1, "single"))


EDITS = {
    "lambda": ("ndt-pm1-n3", Intervention(lambdas=((0, 1, 0.9), (1, 2, -0.5)))),
    "head": ("ndt-01-n3", Intervention(heads_off=frozenset({(0, 1), (1, 0)}))),
    "map": ("differential", Intervention(maps_off=frozenset({(1, 0, 1)}))),
    "lexicon": ("lexical-last", Intervention(lexical_scale=0.5)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EDITS)
def test_attributions_explain_the_edited_model(kind):
    preset, change = EDITS[kind]
    own = reader(preset, change)
    found, words = explain_text(own, TEXT, target="good"), TEXT.split()
    assert found.log_odds == pytest.approx(edited_odds(own, TEXT, change), abs=1e-5)
    left = [" ".join(words[:place] + words[place + 1 :]) for place in range(len(words))]
    expected = [found.log_odds - edited_odds(own, text, change) for text in left]
    np.testing.assert_allclose(found.pushes, expected, atol=1e-5)
    assert np.abs(found.pushes - explain_text(reader(preset), TEXT, target="good").pushes).max() > 1e-4
    found = explain_text(own, TEXT, "integrated", "good")
    assert found.log_odds == pytest.approx(edited_odds(own, TEXT, change), abs=1e-5)
    batch = Batch.from_arrays(to_batch(own.tokenizer.encode(TEXT)))
    embedded = own.model.embed_tokens(batch).detach().requires_grad_()
    logits = own.model(batch, intervene=change, embedded=embedded).logits[0]
    (logits[1] - logits[0]).backward()
    by_hand = (embedded.grad * embedded).sum(-1)[0].detach().numpy()
    np.testing.assert_allclose(explain_text(own, TEXT, "gradient", "good").pushes, by_hand, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_closed_gate_follows_its_token(pooling):
    first = int(pooling == "cls")
    change = Intervention(gates=((0, first + 1, 0.0), (1, first + 4, 0.25)))  # the second `very`, and `but`
    own = reader("sentiformer", change, pooling=pooling)
    found, words = explain_text(own, TEXT, target="good"), TEXT.split()
    for place in range(len(words)):
        moved = tuple(
            (layer, token - (place < token - first), value)
            for layer, token, value in change.gates
            if token - first != place
        )
        left = " ".join(words[:place] + words[place + 1 :])
        expected = found.log_odds - edited_odds(own, left, Intervention(gates=moved))
        assert found.words[place].push == pytest.approx(expected, abs=1e-5)


def test_deletions_in_truncated_texts_admit_no_new_tokens():
    own = reader("sentiformer", Intervention(gates=((0, 2, 0.0),)), max_length=4, pooling="mean")
    found = explain_text(own, TEXT, target="good")
    moved = edited_odds(own, "very good ,", Intervention(gates=((0, 1, 0.0),)))
    assert found.words[0].push == pytest.approx(found.log_odds - moved, abs=1e-5)
    without_good = edited_odds(own, "very very ,", Intervention())
    assert found.words[2].push == pytest.approx(found.log_odds - without_good, abs=1e-5)


@pytest.mark.parametrize("silent", ["heads_off", "heads_mean"])
def test_silenced_heads_have_no_attention_attribution(silent):
    own = reader("ndt-pm1-n3", Intervention(lambdas=((1, 1, 0.75),), **{silent: frozenset({(1, 0)})}))
    view = own.inspect(TEXT)
    heads = len(view.layers[1].combined)
    assert view.layers[1].coefficients[1].mean() == pytest.approx(0.75)
    expected = sum(average_attention(view.layers[1].combined[head : head + 1]) for head in range(1, heads)) / heads
    np.testing.assert_allclose(explain_text(own, TEXT, "attention").pushes, expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["ndt-pm1-n3", "sentiformer", "lexical-last"])
def test_ablation_adds_to_edits_and_parts_that_are_off_have_no_effect(preset):
    gated, lexical = preset == "sentiformer", preset == "lexical-last"
    change = Intervention(
        heads_off=frozenset({(0, 1)}),
        gates=((0, 1, 0.5), (1, 2, 0.0)) if gated else (),
        lexical_off=frozenset({0}) if lexical else frozenset(),
    )
    own = reader(preset, change)
    every = silence_parts(own, TEXT, "good").parts
    found = {(part.kind, part.layer, part.head, part.component, part.token): part for part in every}
    whole = edited_odds(own, TEXT, change)
    for name in (("head", 0, 1, None, None), ("lexical", 0, None, None, None)):
        if name in found:
            assert (found[name].zero, found[name].mean) == pytest.approx((0, 0), abs=1e-6)
    both = dataclasses.replace(change, heads_off=change.heads_off | {(1, 0)})
    level = dataclasses.replace(change, heads_mean=frozenset({(1, 0)}))
    head = found["head", 1, 0, None, None]
    assert head.zero == pytest.approx(whole - edited_odds(own, TEXT, both), abs=1e-5)
    assert head.mean == pytest.approx(whole - edited_odds(own, TEXT, level), abs=1e-5)
    if gated:
        closed = dataclasses.replace(change, gates=((1, 2, 0.0), (0, 1, 0.0)))
        assert found["gate", 0, None, None, 1].zero == pytest.approx(whole - edited_odds(own, TEXT, closed), abs=1e-5)
        assert found["gate", 1, None, None, 2].zero == pytest.approx(0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_an_empty_edit_changes_nothing(method):
    assert explain_text(reader("ndt-01-n3", Intervention()), TEXT, method) == explain_text(
        reader("ndt-01-n3"), TEXT, method
    )


def test_edits_of_missing_parts_are_refused():
    with pytest.raises(InputError, match="head 9"):
        explain_text(reader("vanilla", Intervention(heads_off=frozenset({(0, 9)}))), TEXT)
    closed, model = reader("vanilla", Intervention(gates=((0, 1, 0.0),))), BagOfNgrams(vocabulary=50, classes=2).eval()

    def predict(texts, intervene):
        return predict_texts(model, closed.tokenizer, texts, intervene=intervene)

    with pytest.raises(InputError, match="no attention: there is no head"):
        explain_text(dataclasses.replace(closed, model=model, predict=predict), TEXT)
