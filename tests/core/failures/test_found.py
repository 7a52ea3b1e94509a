"""Slices that are found: a planted pair is, what chance allows for is not, each against counts written out."""

from __future__ import annotations

import numpy as np
import pytest

from core.failures.facets import Facet, Option
from core.failures.found import slices
from core.failures.risk import risk
from core.failures.rules import Clause


def facet(name, values):
    """Of a column, an option for each value."""
    column = np.asarray(values, object)
    options = tuple(Option(Clause(name, "=", value), value, column == value) for value in dict.fromkeys(values))
    return Facet(name, options)


@pytest.fixture
def columns():
    """A thousand rows with three columns that know nothing of each other."""
    random = np.random.default_rng(0)
    return [facet(name, random.choice(list("xyz"), 1000).tolist()) for name in ("a", "b", "c")]


def has(columns, **values):
    """Where columns have these values."""
    found = [option.has for each in columns for option in each.options if values.get(each.name) == option.label]
    return np.all(found, axis=0)


def test_a_planted_pair_is_found_and_its_parts_are_not_listed_for_it(columns):
    random, planted = np.random.default_rng(1), has(columns, a="x", b="y")
    wrong = random.random(1000) < np.where(planted, 0.7, 0.1)
    found = slices(columns, wrong)
    first = found.slices[0]
    assert {str(clause) for clause in first.clauses} == {"a=x", "b=y"} or any(
        {str(clause) for clause in each.clauses} == {"a=x", "b=y"} for each in found.slices
    )
    pair = next(each for each in found.slices if {str(clause) for clause in each.clauses} == {"a=x", "b=y"})
    assert (pair.risk.n, pair.risk.wrong) == (planted.sum(), (planted & wrong).sum())
    assert pair.risk == risk(planted, wrong)
    assert pair.interval[0] > 1 and pair.p_holm < 0.05
    assert not any("c=" in str(clause) for each in found.slices for clause in each.clauses)


def test_errors_by_chance_are_no_slice(columns):
    for seed in range(5):
        assert slices(columns, np.random.default_rng(seed).random(1000) < 0.2).slices == ()


def test_every_option_and_pair_of_different_columns_is_tried(columns):
    assert slices(columns, np.arange(1000) % 7 == 0).tried == 9 + 3 * 9


def test_true_and_said_class_together_are_no_slice():
    truth, said = np.tile(["p", "q"], 200), np.repeat(["p", "q"], 200)
    found = slices([facet("truth", truth.tolist()), facet("said", said.tolist())], truth != said)
    assert found.tried == 4 and all(len(each.clauses) == 1 for each in found.slices)


def test_without_errors_or_without_right_rows_nothing_is_found(columns):
    assert slices(columns, np.zeros(1000, bool)).slices == () and slices(columns, np.ones(1000, bool)).tried == 0
    assert slices([], np.arange(4) > 2).slices == ()
