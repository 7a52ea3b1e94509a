"""Thresholds of an explanation, calibrated on models that are known; here at a sixth of the size."""

import numpy as np
import pytest
from toys import labelled, opinions, sentences, toy

from core.interpret.belief import measure
from core.interpret.trials import Trials
from core.interpret.verdict import FEW, THRESHOLDS, Number, asked, judge, outcome

SENTENCES = 40
TWO = ("deletion", "gradient")
FAITHFUL = ("deletion", "shapley", "gradient", "integrated")


def verdicts(found):
    return {each.method: judge(each.method, {**each.tests, "answers": found.answers}).verdict for each in found.methods}


def mixed_up(weights, seed):
    return np.random.default_rng(seed).permutation(weights)


@pytest.fixture(scope="module")
def known():
    """A model whose pushes are known, one of random weights, and sentences with the answers of the first."""
    weights = opinions(0)
    own, control = toy(weights), toy(mixed_up(weights, 100))
    return weights, own, control, labelled(own, sentences(SENTENCES, 0))


@pytest.mark.slow
def test_faithful_methods_of_a_model_that_knows_are_evidence_and_of_random_weights_an_illustration(known):
    weights, own, control, said = known
    assert verdicts(measure(own, control, said, FAITHFUL)) == dict.fromkeys(FAITHFUL, "evidence")
    found = measure(control, toy(mixed_up(weights, 7)), said, TWO)
    assert set(verdicts(found).values()) == {"illustration"}, "faithful to a model that knows nothing"


@pytest.mark.slow
def test_shuffled_pushes_are_neither(known, monkeypatch):
    _, own, control, said = known
    random, real = np.random.default_rng(0), Trials.pushes
    monkeypatch.setattr(
        Trials, "pushes", lambda self, *about: [random.permutation(each) for each in real(self, *about)]
    )
    assert verdicts(measure(own, control, said, TWO)) == dict.fromkeys(TWO, "neither")


@pytest.mark.slow
def test_a_method_blind_to_the_weights_is_neither_and_pushes_that_are_half_noise_an_illustration(known, monkeypatch):
    _, own, control, said = known
    random, real = np.random.default_rng(0), Trials.pushes

    def by_length(self, method, cases, what):
        return [np.array([end - start + start / 100 for start, end in case.words]) for case in cases]

    monkeypatch.setattr(Trials, "pushes", by_length)
    found = measure(own, control, said, ["gradient"])
    assert judge("gradient", found.methods[0].tests).outcomes["control"] == "failed"
    assert verdicts(found) == {"gradient": "neither"}

    def noisy(self, *about):
        return [each + random.normal(size=len(each)) * 1.2 * each.std() for each in real(self, *about)]

    monkeypatch.setattr(Trials, "pushes", noisy)
    assert verdicts(measure(own, control, said, ["gradient"])) == {"gradient": "illustration"}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.71, 0.8, "passed"), (0.6, 0.8, "between"), (0.56, 0.9, "between"), (0.5, 0.9, "failed"), (0.1, 0.2, "failed")],
)
def test_the_whole_interval_has_to_lie_on_the_good_side(low, high, said):
    found = Number((low + high) / 2, low, high, 90)
    assert outcome(THRESHOLDS["insertion"], found) == outcome(THRESHOLDS["deletion"], found) == said
    assert outcome(THRESHOLDS["insertion"], Number(1, 1, 1, FEW - 1)) == "not measured"
    assert outcome(THRESHOLDS["pairs"], Number(0, -1, 0.1, 90)) == "between", "of these no value speaks against"


@pytest.mark.parametrize(("high", "said"), [(0.49, "passed"), (0.6, "between"), (0.8, "failed")])
def test_of_the_control_small_is_good(high, said):
    assert outcome(THRESHOLDS["control"], Number(0.3, 0.0, high, 90)) == said


def test_deletion_is_never_judged_by_deletion_and_what_is_not_measured_is_not_passed():
    good = Number(0.9, 0.8, 1.0, 90)
    all_ = dict.fromkeys(THRESHOLDS, good) | {"control": Number(0.1, 0.0, 0.2, 90)}
    bad = all_ | {"deletion": Number(0.1, 0.0, 0.2, 90)}
    assert judge("deletion", bad).verdict == "evidence" and "deletion" not in judge("deletion", bad).outcomes
    assert judge("gradient", bad).verdict == "neither" and "pairs" not in judge("gradient", bad).outcomes
    assert judge("gradient", all_ | {"pairs": Number(0.0, 0.0, 0.1, 90)}).verdict == "evidence"
    for method in ("deletion", "gradient"):
        for name in asked(method):
            left = {test: number for test, number in all_.items() if test != name}
            assert judge(method, left).verdict == "illustration"
            assert judge(method, left | {name: None}).outcomes[name] == "not measured"
