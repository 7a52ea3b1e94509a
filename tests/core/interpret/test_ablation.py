"""What silencing a part does: closed formulas, the same as a person's intervention, and nothing left behind."""

import dataclasses
from itertools import product

import numpy as np
import pytest
import torch
from small_readers import TEXT, reader

from core.exceptions import InputError
from core.interpret.ablation import MOST_TOKENS, silence_parts
from core.interpret.attribution_math import compute_log_odds
from core.interpret.forward_pass import compute_stages
from core.interpret.sentence_inspection import CLASS_TOKEN
from core.models.baselines import BagOfNgrams
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch


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
        class_weights = model.head.weight[1] - model.head.weight[0]
        into = (class_weights @ attention.out.weight).view(model.heads, -1)  # (H, d/H)
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


ENCODERS = ["ndt-01-n3", "sentiformer", "lexical-last"]  # with components, gates and a lexical term


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
    kinds = [part.kind for part in silence_parts(reader("vanilla"), TEXT).parts]
    assert set(kinds) == {"layer", "head"}
    three = reader("ndt-pm1-n3")
    number = 2 * (1 + three.model.heads + 3 + 3 * three.model.heads)
    assert len(silence_parts(three, TEXT).parts) == number
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
    with pytest.raises(InputError, match="class 'nice': this run has bad, good"):
        silence_parts(reader("vanilla"), TEXT, "nice")
    with pytest.raises(InputError, match="no attention, so there is no layer, head or component to silence"):
        silence_parts(dataclasses.replace(reader("vanilla"), model=BagOfNgrams(vocabulary=50, classes=2).eval()), TEXT)
