"""Thresholds of an explanation, calibrated on models that are known; here at a sixth of the size."""

import numpy as np
import pytest
from toys import labeled, opinions, sentences, toy

from core.interpret.faithfulness import Trials, measure_methods
from core.interpret.faithfulness_verdict import FEW, THRESHOLDS, Number, decide_outcome, judge_method, list_tests

SENTENCES = 40
TWO = ("deletion", "gradient")
FAITHFUL = ("deletion", "shapley", "gradient", "integrated")


def judge_all(found):
    return {
        each.method: judge_method(each.method, {**each.tests, "answers": found.answers}).verdict
        for each in found.methods
    }


def shuffle_attributions(weights, seed):
    return np.random.default_rng(seed).permutation(weights)


@pytest.fixture(scope="module")
def known():
    """A model with known effects, one with random weights, and sentences labelled by the first."""
    weights = opinions(0)
    own, control = toy(weights), toy(shuffle_attributions(weights, 100))
    return weights, own, control, labeled(own, sentences(SENTENCES, 0))


@pytest.mark.slow
def test_exact_methods_are_evidence_and_for_random_weights_illustration(known):
    weights, own, control, said = known
    assert judge_all(measure_methods(own, control, said, FAITHFUL)) == dict.fromkeys(FAITHFUL, "evidence")
    found = measure_methods(control, toy(shuffle_attributions(weights, 7)), said, TWO)
    assert set(judge_all(found).values()) == {"illustration"}, "faithful to a model that knows nothing"


@pytest.mark.slow
def test_shuffled_attributions_are_neither(known, monkeypatch):
    _, own, control, said = known
    random, real = np.random.default_rng(0), Trials.compute_attributions
    monkeypatch.setattr(
        Trials, "compute_attributions", lambda self, *about: [random.permutation(each) for each in real(self, *about)]
    )
    assert judge_all(measure_methods(own, control, said, TWO)) == dict.fromkeys(TWO, "neither")


@pytest.mark.slow
def test_methods_that_ignore_the_weights_are_neither(known, monkeypatch):
    _, own, control, said = known
    random, real = np.random.default_rng(0), Trials.compute_attributions

    def by_length(self, method, cases, what):
        return [np.array([end - start + start / 100 for start, end in case.words]) for case in cases]

    monkeypatch.setattr(Trials, "compute_attributions", by_length)
    found = measure_methods(own, control, said, ["gradient"])
    assert judge_method("gradient", found.methods[0].tests).outcomes["control"] == "failed"
    assert judge_all(found) == {"gradient": "neither"}

    def noisy(self, *about):
        return [each + random.normal(size=len(each)) * 1.2 * each.std() for each in real(self, *about)]

    monkeypatch.setattr(Trials, "compute_attributions", noisy)
    assert judge_all(measure_methods(own, control, said, ["gradient"])) == {"gradient": "illustration"}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.71, 0.8, "passed"), (0.6, 0.8, "between"), (0.56, 0.9, "between"), (0.5, 0.9, "failed"), (0.1, 0.2, "failed")],
)
def test_the_whole_interval_must_meet_the_threshold(low, high, said):
    found = Number((low + high) / 2, low, high, 90)
    assert decide_outcome(THRESHOLDS["insertion"], found) == decide_outcome(THRESHOLDS["deletion"], found) == said
    assert decide_outcome(THRESHOLDS["insertion"], Number(1, 1, 1, FEW - 1)) == "not measured"
    assert decide_outcome(THRESHOLDS["pairs"], Number(0, -1, 0.1, 90)) == "between", "of these no value speaks against"


@pytest.mark.parametrize(("high", "said"), [(0.49, "passed"), (0.6, "between"), (0.8, "failed")])
def test_small_control_values_are_good(high, said):
    assert decide_outcome(THRESHOLDS["control"], Number(0.3, 0.0, high, 90)) == said


def test_deletion_is_not_judged_by_the_deletion_test():
    good = Number(0.9, 0.8, 1.0, 90)
    all_ = dict.fromkeys(THRESHOLDS, good) | {"control": Number(0.1, 0.0, 0.2, 90)}
    bad = all_ | {"deletion": Number(0.1, 0.0, 0.2, 90)}
    assert (
        judge_method("deletion", bad).verdict == "evidence" and "deletion" not in judge_method("deletion", bad).outcomes
    )
    assert judge_method("gradient", bad).verdict == "neither" and "pairs" not in judge_method("gradient", bad).outcomes
    assert judge_method("gradient", all_ | {"pairs": Number(0.0, 0.0, 0.1, 90)}).verdict == "evidence"
    for method in ("deletion", "gradient"):
        for name in list_tests(method):
            left = {test: number for test, number in all_.items() if test != name}
            assert judge_method(method, left).verdict == "illustration"
            assert judge_method(method, left | {name: None}).outcomes[name] == "not measured"
