"""The built-in suite: large enough, without repetition, usable for every run."""

from collections import Counter

import pytest

from core.behavioral_tests.suite import POLARITIES
from core.behavioral_tests.suite_reader import load_builtin_suite


@pytest.fixture(scope="module")
def suite():
    return load_builtin_suite()


def test_the_built_in_suite_has_enough_tests_sentences_and_templates(suite):
    assert len(suite.tests) >= 40 and len(suite.capabilities) >= 10
    assert {test.kind for test in suite.tests} == {"minimum", "invariance", "direction"}
    assert {test.must for test in suite.tests if test.kind == "direction"} == {"not weaken", "rise"}
    sizes = {test.name: len({text for case in test.cases for text in case.texts}) for test in suite.tests}
    assert {name: size for name, size in sizes.items() if not 10 <= size <= 90} == {}
    templates = {
        name: {case.template for test in suite.select_tests(name) for case in test.cases} for name in suite.capabilities
    }
    assert {name: len(found) for name, found in templates.items() if len(found) < 15} == {}


def test_the_suite_has_no_repeated_cases_and_balanced_polarities(suite):
    asked = Counter(case.texts for test in suite.tests if test.kind == "minimum" for case in test.cases)
    assert [texts for texts, times in asked.items() if times > 1] == []
    pairs = Counter(case.texts for test in suite.tests if test.kind != "minimum" for case in test.cases)
    assert [texts for texts, times in pairs.items() if times > 1 or len(set(texts)) < len(texts)] == []
    for test in suite.tests:
        for case in test.cases:
            assert set(case.expected) < set(POLARITIES) and bool(case.expected) == (test.kind != "invariance")
    sides = Counter(case.expected for test in suite.tests if test.kind == "minimum" for case in test.cases)
    positive = sum(times for expected, times in sides.items() if "positive" in expected)
    negative = sum(times for expected, times in sides.items() if "negative" in expected)
    assert 0.45 < positive / (positive + negative) < 0.55


def test_sentences_have_no_slot_left_one_line_and_the_right_articles(suite):
    assert [text for text in suite.texts if set("{}\n\t") & set(text) or text != text.strip() or "  " in text] == []
    wrong = [" a a", " a e", " a i", " an b", " an d", " an g", " an l", " an m", " an s", " an t", " an w"]
    assert [text for text in suite.texts if any(each in text.lower() for each in wrong)] == []
