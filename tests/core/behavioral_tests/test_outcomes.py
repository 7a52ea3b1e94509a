"""Passing and failing cases for known predictions."""

import pytest

from core.behavioral_tests.suite import Suite, SuiteCase, SuiteTest
from core.behavioral_tests.suite_predictions import find_polarities, infer_polarity, judge_cases, refuse_unknown_class
from core.exceptions import InputError

BINARY = find_polarities("run", ("negative", "positive"))
FIVE = find_polarities("run", ("very negative", "negative", "neutral", "positive", "very positive"))


def judge_answers(kind, cases, answers, sides=BINARY, **more):
    """Return whether a run with these probabilities passes each case."""
    suite = Suite("s", (SuiteTest("t", "c", kind, tuple(cases), **more),))
    return judge_cases("run", suite, sides, [answers[text] for text in suite.texts]).passed["t"]


def test_minimum_needs_an_expected_answer_and_invariance_equal_answers():
    cases = [
        SuiteCase(("a",), ("positive",)),
        SuiteCase(("b",), ("positive",)),
        SuiteCase(("b",), ("neutral", "negative")),
    ]
    assert judge_answers("minimum", cases, {"a": [0.4, 0.6], "b": [0.7, 0.3]}) == (True, False, True)
    assert judge_answers("minimum", [SuiteCase(("a",), ("neutral",))], {"a": [0.5, 0.5]}) == (None,)
    assert judge_answers("minimum", [SuiteCase(("a",), ("neutral",))], {"a": [0, 0, 1, 0, 0]}, FIVE) == (True,)
    cases = [SuiteCase(("a", "b")), SuiteCase(("a", "b", "c"))]
    assert judge_answers("invariance", cases, {"a": [0.9, 0.1], "b": [0.6, 0.4], "c": [0.4, 0.6]}) == (True, False)


def test_the_answer_is_the_most_probable_class_not_polarity():
    suite = Suite("s", (SuiteTest("t", "c", "minimum", (SuiteCase(("a",), ("positive",)),)),))
    found = judge_cases("run", suite, FIVE, [[0.3, 0.3, 0.0, 0.4, 0.0]])
    assert found.passed["t"] == (True,)
    assert found.answers["a"].label == "positive"
    assert found.answers["a"].probabilities == pytest.approx({"negative": 0.6, "neutral": 0.0, "positive": 0.4})


@pytest.mark.parametrize(
    ("must", "tolerance", "after", "passed"),
    [
        ("not weaken", 0.0, 0.5, True),
        ("not weaken", 0.0, 0.49, False),
        ("not weaken", 0.1, 0.41, True),
        ("not weaken", 0.1, 0.39, False),
        ("rise", 0.0, 0.5, False),
        ("rise", 0.0, 0.51, True),
        ("rise", 0.1, 0.59, False),
        ("rise", 0.1, 0.61, True),
    ],
)
def test_direction_tests_use_the_tolerance(must, tolerance, after, passed):
    answers = {"a": [0.5, 0.5], "b": [1 - after, after]}
    case = [SuiteCase(("a", "b"), ("positive",))]
    assert judge_answers("direction", case, answers, must=must, tolerance=tolerance) == (passed,)


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("Negative", "negative"),
        ("very positive", "positive"),
        ("NEU", "neutral"),
        ("bearish", "negative"),
        ("label_pos", "positive"),
        ("not good", None),
        ("positive or negative", None),
        ("joy", None),
        ("1", None),
    ],
)
def test_class_names_imply_polarities(name, side):
    assert infer_polarity(name) == side


def test_classes_without_polarity_and_maps_of_unknown_classes_are_refused():
    with pytest.raises(InputError) as told:
        find_polarities("moods", ("joy", "deep anger", "neutral"))
    assert "run 'moods' has classes without a polarity (joy, deep anger)" in str(told.value)
    assert '--map joy=… --map "deep anger"=…' in str(told.value)
    refuse_unknown_class({"Joy": "positive"}, ["joy"])
    with pytest.raises(InputError, match="--map joi=…: no run has this class; the classes are joy, anger"):
        refuse_unknown_class({"joi": "positive"}, ["joy", "anger", "joy"])


def test_user_maps_override_class_names_and_order():
    chosen = {"Joy": "positive", "anger": "negative", "surprise": "none"}
    sides = {"joy": "positive", "anger": "negative", "surprise": None}
    assert find_polarities("moods", ("joy", "anger", "surprise"), chosen) == sides
    assert list(find_polarities("r", ("3", "1", "2"), order=("1", "2", "3")).values()) == [
        "positive",
        "negative",
        "neutral",
    ]
    mixed = ("negative", "fair", "neutral", "fine")
    assert list(find_polarities("r", mixed, order=mixed).values()) == ["negative", "negative", "neutral", "positive"]
    assert (
        list(find_polarities("r", tuple("abcd"), order=tuple("abcd")).values()) == ["negative"] * 2 + ["positive"] * 2
    )


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"positive": "happy"}, "--map positive=happy: a class is negative, neutral, positive or none"),
        ({"positive": "negative"}, "have only one polarity"),
    ],
)
def test_impossible_mappings_are_refused(chosen, said):
    with pytest.raises(InputError, match=said):
        find_polarities("run", ("negative", "positive"), chosen)
