"""Curves over λ: the same as a person's intervention at every value, as trained where it should be, nothing left."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from rounding import same_but_for_rounding
from small_models import small
from small_readers import lent

from core.exceptions import InputError
from core.interpret.ablation import VARIES, compute_lambda_curves
from core.interpret.sentence_inspection import inspect_text
from core.models.builder import build_model
from core.models.presets import PRESETS
from core.models.trace import Intervention
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer
from core.training.calibration import Scaling

TEXT = "Not bad at all, but the ending never works"
CLASSES = ("bad", "good")
SCALING = Scaling(1.7, (0.2, 0.8))


class Own:
    """Return the context of a small model with random weights."""

    def __init__(self, preset: str, **attention: object) -> None:
        self.tokenizer = fit_tokenizer([TEXT], TextConfig(min_freq=1, max_length=12))
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
        return compute_lambda_curves(self.reader, TEXT, self.config.attention, target, **asked)

    def p(self, **change):
        return self.inspect(TEXT, Intervention(**change)).probabilities["good"]


MODELS = ["ndt-01-n3", "ndt-pm1-n4", "ndt-free-n2", "differential"]


@pytest.mark.slow
@pytest.mark.parametrize("preset", MODELS)
def test_every_point_equals_one_intervention(preset):
    own = Own(preset)
    found, [said] = own.curves(), own.reader.predict([TEXT]).probabilities.tolist()
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
        [said] = own.reader.predict([TEXT]).probabilities.tolist()
        assert found.note == VARIES
        assert found.curves[-1].get_point(1.0)[1] == pytest.approx(said[1], abs=1e-6)


def test_a_curve_replaces_only_its_own_lambda():
    own = Own("ndt-01-n3")
    change = Intervention(lambdas=((0, 1, 0.9), (1, 2, 0.4)), lambda_scale=0.5, heads_off=frozenset({(1, 0)}))
    first, second, *_, every = own.curves(change=change, starts=((0.1, 0.2), (0.3, 0.4))).curves
    now = own.inspect(TEXT, change).probabilities["good"]
    assert (first.now, first.start, every.now) == (0.9, 0.1, 0.5)
    assert second.now == pytest.approx(0.5 * second.learned)
    for each in (first, second, every):
        assert each.get_point(each.now)[1] == pytest.approx(now, abs=1e-5)
    back = dataclasses.replace(change, lambdas=((0, 1, 0.1), (1, 2, 0.4)))
    assert first.get_point(0.1)[1] == pytest.approx(own.inspect(TEXT, back).probabilities["good"], abs=1e-5)


def test_unsuitable_models_are_refused(starter):
    with pytest.raises(InputError, match="class 'nice': this run has bad, good"):
        Own("ndt-01-n3").curves("nice")
    with pytest.raises(InputError, match="this model has no λ"):
        Own("vanilla").curves()
    loaded = starter("ndt-pm1-n2")
    with pytest.raises(InputError, match="no word in this text that the model reads"):
        loaded.measure_lambdas(" ")


@pytest.mark.slow
def test_initial_lambdas_are_known_and_threads_get_equal_results(starter):
    loaded = starter("differential")
    alone, view = loaded.measure_lambdas(TEXT), loaded.inspect(TEXT)
    *curves, every = alone.curves
    assert [each.start for each in curves] == pytest.approx([0.206323, 0.319918, 0.496448], abs=1e-6)
    learned = [value for layer in loaded.record.results["lambda"] for value in layer]
    assert [each.learned for each in curves] == pytest.approx(learned, abs=1e-6) and every.start is None
    assert every.get_point(1.0)[1] == pytest.approx(view.probabilities[alone.target], abs=1e-5)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(loaded.measure_lambdas, TEXT) for _ in range(4)]
        visits = [pool.submit(loaded.inspect, TEXT) for _ in range(20)]
    assert all(same_but_for_rounding(each.result(), alone) for each in answers)
    assert all(same_but_for_rounding(each.result().probabilities, view.probabilities) for each in visits)
