import json
from types import SimpleNamespace

import numpy as np
import pytest
from refused import check_raises

from core.error_analysis.counter_examples import (
    keep_example,
    predict_examples,
    read_examples,
    remove_example,
    write_copy,
)
from core.exceptions import InputError


def test_a_counterexample_is_stored_once_and_can_be_removed(tmp_path):
    first = keep_example(tmp_path, " not bad\u0000 ", "positive", "=note", "ann", "/sentence?run=one")
    again = keep_example(tmp_path, "not bad", "positive", "another note", "ann")
    other = keep_example(tmp_path, "not bad", "negative")
    assert first.text == "not bad" and first.id == again.id != other.id
    assert {each.id: each.note for each in read_examples(tmp_path)} == {first.id: "another note", other.id: ""}
    remove_example(tmp_path, first.id)
    assert read_examples(tmp_path) == [other]
    check_raises(InputError, "no counter-example", remove_example, tmp_path, first.id)
    link = f"sentence?text={'%E0%A6%95' * 3000}"
    assert keep_example(tmp_path, "a", "positive", link=link).link == link
    check_raises(InputError, "at most 30000", keep_example, tmp_path, "a", "positive", link=link + "x" * 4000)


def test_duplicates_of_two_authors_are_trained_on_once(tmp_path):
    found = [("hm", "ann", "/a"), ("ha", "ben", "/b"), ("so", "", "/c"), ("no", "", "/d"), ("so", "", "/e")]
    for note, author, link in found:
        keep_example(tmp_path, "not bad", "positive", note, author, link)
    kept = {(each.note, each.author, each.link) for each in read_examples(tmp_path)}
    assert kept == {("hm", "ann", "/a"), ("ha", "ben", "/b"), ("no", "", "/d"), ("so", "", "/e")}
    with open(write_copy(tmp_path), encoding="utf-8") as file:
        assert json.load(file) == [{"text": "not bad", "label": "positive"}]


def test_a_trainings_copy_is_fixed_when_the_list_grows(tmp_path):
    check_raises(InputError, "no counter-examples are stored yet", write_copy, tmp_path)
    keep_example(tmp_path, "b", "positive")
    keep_example(tmp_path, "a", "negative", "a note changes nothing")
    first = write_copy(tmp_path)
    keep_example(tmp_path, "a", "negative", "another note")
    assert write_copy(tmp_path) == first
    keep_example(tmp_path, "c", "positive")
    assert write_copy(tmp_path) != first
    rows = [{"text": "a", "label": "negative"}, {"text": "b", "label": "positive"}]
    with open(first, encoding="utf-8") as file:
        assert file.read() == json.dumps(rows, indent=1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((" ", "positive"), "needs a text"),
        (("a", ""), "label ''"),
        (("x" * 4001, "positive"), "at most 4000"),
        (("a", "b" * 61), "label 'b"),
    ],
)
def test_invalid_counterexamples_are_refused(tmp_path, given, said):
    check_raises(InputError, said, keep_example, tmp_path, *given)


class Asked:
    """A loaded run whose probability of the second class grows with the text length."""

    record = SimpleNamespace(run="one", task="single", classes=("negative", "positive"))

    def predict(self, texts):
        chances = np.array([min(len(text), 9) / 10 for text in texts])
        return SimpleNamespace(probabilities=np.stack([1 - chances, chances], 1))


def test_predictions_for_counterexamples_are_current(tmp_path):
    rows = [keep_example(tmp_path, text, label) for text, label in (("a", "positive"), ("long one", "positive"))]
    rows.append(keep_example(tmp_path, "a", "so so"))
    said = predict_examples(Asked(), rows)
    assert [(each.predicted, each.breaks) for each in said] == [
        ("negative", True),
        ("positive", False),
        ("negative", None),
    ]
    assert [each.p_label for each in said] == [pytest.approx(0.1), pytest.approx(0.8), None]


def test_multi_label_counterexamples_need_every_label(tmp_path):
    """The probability of both labels depends on the text length."""
    several = Asked()
    several.record = SimpleNamespace(run="two", task="multi", classes=("a", "b"), tuned_thresholds={"a": 0.5, "b": 0.7})
    intended = (("long one", ["b"]), ("long one", "b;a"), ("short", []), ("short", ["b"]), ("short", ["c", "a"]))
    rows = [keep_example(tmp_path, text, labels) for text, labels in intended]
    assert [each.label for each in rows] == ["b", "a;b", "", "b", "a;c"]
    assert [each.expected for each in rows] == ["b", "a, b", "none of them", "b", "a, c"]
    assert keep_example(tmp_path, "short", "none of them").id == rows[2].id and len(read_examples(tmp_path)) == 5
    said = predict_examples(several, rows)
    assert [each.predicted for each in said] == ["b", "b", "none of them", "none of them", "none of them"]
    assert [each.breaks for each in said] == [False, True, False, True, None]
    assert [each.p_label for each in said] == [*map(pytest.approx, (0.8, 0.2, 0.5, 0.5)), None]
    assert {each.breaks for each in predict_examples(Asked(), rows)} == {None}  # none of these is a class of it
    check_raises(InputError, "label ''", keep_example, tmp_path, "short", ["a", ""])
