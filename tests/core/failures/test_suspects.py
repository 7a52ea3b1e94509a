"""Confident learning against its definition, row by row, and texts with two labels against pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.failures.suspects import conflicts, suspects


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_margin_thresholds_and_the_likelier_class_are_those_of_the_definition(classes):
    random = np.random.default_rng(classes)
    chances, labels = random.dirichlet(np.ones(classes) / 2, 200), random.integers(0, classes, 200)
    found = suspects(labels, chances)
    thresholds = [chances[labels == number, number].mean() for number in range(classes)]
    for row in range(200):
        own, others = chances[row, labels[row]], np.delete(chances[row], labels[row])
        assert found.margin[row] == pytest.approx(own - others.max()) and found.confidence[row] == own
        above = [number for number in range(classes) if chances[row, number] >= thresholds[number]]
        first = max(above, key=lambda number: chances[row, number]) if above else labels[row]
        assert found.likely[row] == (first != labels[row])
        if found.likely[row]:
            assert found.label[row] == first
    assert (np.diff(found.confidence[found.order]) >= 0).all()
    assert (found.margin[found.likely] < 0).mean() > 0.9  # thresholds of rare classes are low


@pytest.mark.slow  # the import alone takes two seconds
@pytest.mark.parametrize("classes", [2, 3, 20])
def test_they_are_those_of_cleanlab(classes):
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_self_confidence_for_each_label, order_label_issues

    random = np.random.default_rng(classes)
    chances, labels = random.dirichlet(np.ones(classes) / 2, 400), random.integers(0, classes, 400)
    found = suspects(labels, chances)
    issues = find_label_issues(labels, chances, filter_by="confident_learning", n_jobs=1)
    assert found.likely.tolist() == issues.tolist() and 0 < issues.sum() < 400
    assert found.confidence == pytest.approx(get_self_confidence_for_each_label(labels, chances))
    ranked = order_label_issues(issues, labels, chances, rank_by="self_confidence")
    assert [row for row in found.order if found.likely[row]] == ranked.tolist()


def test_a_class_that_no_row_has_is_nobodys_true_label():
    chances = np.array([[0.1, 0.2, 0.7], [0.9, 0.05, 0.05], [0.2, 0.7, 0.1]])
    assert not suspects(np.array([0, 0, 1]), chances).likely.any()
    one = suspects(np.zeros(3, int), chances)
    assert not one.likely.any() and one.margin[0] == pytest.approx(-0.6)


def test_of_several_labels_each_is_a_yes_or_no_of_its_own():
    has = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0]])
    chances = np.array([[0.9, 0.1], [0.8, 0.95], [0.1, 0.9], [0.05, 0.8], [0.1, 0.2]])
    found = suspects(has, chances)
    assert found.likely.tolist() == [False, True, False, False, False]
    assert found.label[1] == 1 and found.margin[1] == pytest.approx(2 * (1 - 0.95) - 1)
    assert found.order[0] == 1


def test_texts_with_two_labels_are_those_of_pandas():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"text": random.integers(0, 40, 90).astype(str), "label": random.integers(0, 2, 90)})
    found = conflicts(frame["text"].tolist(), frame["label"].tolist())
    groups = {text: rows.tolist() for text, rows in frame.groupby("text", sort=False).groups.items()}
    several = frame.groupby("text")["label"].nunique() > 1
    assert found == [rows for text, rows in groups.items() if several[text]]
    assert conflicts([], []) == []
