import dataclasses

import numpy as np
import pytest
from refused import check_raises

import core.api.public_classes
from core import api
from core.behavioral_tests.suite import (
    Suite,
    SuiteAnswers,
    SuiteCase,
    SuiteTest,
    find_polarities,
    infer_polarity,
    judge_cases,
    refuse_unknown_class,
)
from core.behavioral_tests.suite_reader import load_builtin_suite, parse_suite, read_suite
from core.exceptions import InputError
from core.runs.store import RunStore

pytestmark = pytest.mark.usefixtures("starters")

RUNS = ("starter-vanilla", "starter-differential")
SUITE = """
name: mine
tests:
  - {name: plain, capability: words, kind: minimum, expected: positive, texts: [The film was good., The film was bad.]}
  - name: not
    capability: negation
    kind: minimum
    contrast: [{positive: The soup was good., negative: The soup was not good.}]
  - {name: case, capability: spelling, kind: invariance, edits: [upper case], texts: [The film was good.]}
  - {name: ask, capability: neutral, kind: minimum, expected: neutral, texts: [Is it good?]}
"""
BINARY = find_polarities("run", ("negative", "positive"))
FIVE = find_polarities("run", ("very negative", "negative", "neutral", "positive", "very positive"))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(SUITE)
    return path


@pytest.mark.slow
def test_suite_probabilities_equal_predict_and_are_cached(monkeypatch):
    suite, store = parse_suite(SUITE.encode(), "my.yaml"), RunStore()
    found, kept = SuiteAnswers.from_suite(store, RUNS[0], suite).read_or_compute()
    said = api.predict(RUNS[0], suite.texts)["predictions"]
    assert np.allclose(found, [list(each["probabilities"].values()) for each in said], atol=1e-6)
    monkeypatch.setattr("core.runs.load.load_run", lambda *_: pytest.fail("it was asked again"))
    assert not kept and SuiteAnswers.from_suite(store, RUNS[0], suite).read_or_compute() == (found, True)


@pytest.mark.slow
def test_suite_predictions_use_the_temperature_and_cache_of_a_run(monkeypatch):
    suite, store = parse_suite(SUITE.encode(), "my.yaml"), RunStore()
    before, own = SuiteAnswers.from_suite(store, RUNS[0], suite).read_or_compute()[0], store.read(RUNS[0])
    known = own.results["temperature"]
    record = dataclasses.replace(own, results={"temperature": {**known, "value": 4.0}})
    monkeypatch.setattr(RunStore, "read", lambda *_: record)
    found = SuiteAnswers.from_suite(store, RUNS[0], suite).read_or_compute()[0]
    odds, cooled = (np.log(each[:, 1] / each[:, 0]) for each in (np.array(before), np.array(found)))
    center = np.log(known["prior"]["positive"] / known["prior"]["negative"])
    np.testing.assert_allclose(cooled, center + (odds - center) * own.temperature / 4, rtol=1e-3)


@pytest.mark.slow
def test_reports_compare_runs_and_list_failing_cases(file):
    found = api.behave(*RUNS, suite=file)
    suite = found["suite"]
    assert (suite["file"], suite["name"]) == (str(file), "mine")
    assert [suite[name] for name in ("tests", "capabilities", "cases", "texts")] == [4, 4, 6, 6]
    assert [each["run"] for each in found["runs"]] == list(RUNS)
    words, negation, spelling, neutral = found["capabilities"]
    rate, [test] = words["rates"][RUNS[0]], words["tests"]
    assert (rate["n"], rate["failed"], rate["rate"]) == (2, 1, 0.5)
    [failing] = test["failing"][RUNS[0]]
    assert failing["texts"] == ["The film was bad."] and failing["expected"] == ["positive"]
    [answer] = failing["answers"]
    assert (answer["label"], answer["polarity"]) == ("negative", "negative")
    assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-6)
    assert negation["rates"][RUNS[0]]["consistency"]["groups"] == 1 and words["rates"][RUNS[0]]["consistency"] is None
    assert spelling["must"] == ["must not change"] and spelling["rates"][RUNS[1]]["failed"] == 0
    assert neutral["rates"][RUNS[0]] == {
        "n": 0, "failed": 0, "rate": None, "interval": None, "verdict": "open", "not_asked": 1, "consistency": None,
    }  # fmt: skip
    assert {each["capability"] for each in found["differences"]} == {"words", "negation", "spelling"}
    assert core.api.public_classes.run(RUNS[0]).behave(RUNS[1], suite=file) == found
    alone = api.behave(RUNS[0], RUNS[0], suite=file)
    assert len(alone["runs"]) == 1 and alone["differences"] == []


def test_the_command_names_suite_and_class_map(file):
    asked = SuiteAnswers.from_suite(RunStore(), RUNS[0], read_suite(str(file)), {"calm": "positive"})
    assert asked.words == ("behave", RUNS[0], "--suite", str(file), "--map=calm=positive")
    assert SuiteAnswers.from_suite(RunStore(), RUNS[0], load_builtin_suite()).words == ("behave", RUNS[0])


def test_multilabel_runs_are_refused(monkeypatch, file):
    record = dataclasses.replace(RunStore().read(RUNS[0]), task="multi")
    monkeypatch.setattr(RunStore, "read", lambda *_: record)
    with pytest.raises(InputError, match="gives several labels per text; a suite asks for one polarity per text"):
        api.behave(RUNS[0], suite=file)


@pytest.mark.slow
def test_suite_predictions_work_without_a_writable_cache(monkeypatch, tmp_path):
    suite, store = load_builtin_suite(), RunStore()
    stored = SuiteAnswers.from_suite(store, RUNS[0], suite).judge()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "file"))
    assert SuiteAnswers.from_suite(store, RUNS[0], suite).judge() == stored


def judge_answers(kind, cases, answers, sides=BINARY, **more):
    suite = Suite("s", (SuiteTest("t", "c", kind, tuple(cases), **more),))
    return judge_cases("run", suite, sides, [answers[text] for text in suite.texts]).passed["t"]


def test_minimum_needs_an_expected_class_and_invariance_equal_answers():
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
    suite = Suite("s", (SuiteTest("t", "c", "minimum", (SuiteCase(("a",), ("positive",)),)),))
    found = judge_cases("run", suite, FIVE, [[0.3, 0.3, 0.0, 0.4, 0.0]])
    assert found.passed["t"] == (True,) and found.answers["a"].label == "positive"
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
    check_raises(InputError, said, find_polarities, "run", ("negative", "positive"), chosen)
