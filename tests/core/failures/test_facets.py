"""Words of a filter: which columns are one, and how many rows each option would leave, against plain pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from answering import answering, texts

from core.failures.facets import Facets, counts
from core.failures.rules import Clause
from core.failures.table import read_table
from core.runs.store import RunStore


@pytest.fixture
def table(tmp_path):
    """Sixty rows of three classes with own columns of every kind."""
    store, random = RunStore(tmp_path / "runs"), np.random.default_rng(0)
    own = {
        "id": [f"tweet {row}" for row in range(60)],
        "number": np.arange(60),
        "source": random.choice(["web", "phone", None], 60, p=[0.6, 0.3, 0.1]),
        "likes": random.integers(0, 500, 60) // 3,
        "one": ["same"] * 60,
        "name": [f"name {row % 40}" for row in range(60)],
    }
    chances = random.dirichlet(np.ones(3), 60)
    answering(store, "one", chances, texts(random.integers(0, 3, 60), **own), classes=tuple("abc"))
    return read_table(store, "one")


def test_columns_of_names_and_of_one_value_are_no_words(table):
    assert [facet.name for facet in Facets(table).found] == ["outcome", "truth", "said", "source", "likes"]


def test_options_of_a_column_are_its_values_and_quarters_and_what_is_missing(table):
    source, likes = Facets(table).found[3:]
    assert [(option.label, str(option.clause)) for option in source.options][:2] == [
        ("web", "source=web"),
        ("phone", "source=phone"),
    ]
    assert str(source.options[-1].clause) == "source=" and source.options[-1].label == "(none)"
    assert len(likes.options) == 4 and np.sum([option.has for option in likes.options], axis=0).tolist() == [1] * 60


def test_counts_are_queries_of_the_table_that_leave_the_word_itself_out(table):
    facets, frame = Facets(table).found, table.frame
    clauses = [Clause("wrong"), Clause("truth", "=", "a"), Clause("source", "=", "web")]
    masks = [frame["wrong"].to_numpy(), (frame["truth"] == "a").to_numpy(), (frame["source"] == "web").to_numpy()]
    found = dict(zip((facet.name for facet in facets), counts(facets, clauses, masks), strict=True))
    web = frame[frame["source"] == "web"]
    assert found["truth"] == [int((web["wrong"] & (web["truth"] == name)).sum()) for name in "abc"]
    left = web[web["truth"] == "a"]
    assert found["outcome"] == [int(left["wrong"].sum()), int((~left["wrong"]).sum()), len(left)]
    wrong = frame[frame["wrong"] & (frame["truth"] == "a")]
    assert found["source"] == [int((wrong["source"] == name).sum()) for name in ("web", "phone")] + [
        int(wrong["source"].isna().sum())
    ]


def test_tags_stand_between_classes_and_columns_if_any_text_has_them(table):
    has = np.arange(60) < 4
    found = Facets(table).with_tags({"question": has, "emoji": np.zeros(60, bool)})
    assert [facet.name for facet in found] == ["outcome", "truth", "said", "tag", "source", "likes"]
    assert [(str(option.clause), int(option.has.sum())) for option in found[3].options] == [("tag=question", 4)]


def test_of_several_labels_missed_and_invented_are_words(tmp_path):
    store = RunStore(tmp_path / "runs")
    rows = pd.DataFrame({"text": ["one", "two", "three"], "label": [(0, 1), (), (1,)]})
    answering(store, "many", [[0.9, 0.3], [0.1, 0.8], [0.2, 0.9]], rows, classes=("late", "loud"))
    facets = Facets(read_table(store, "many")).found
    assert [facet.name for facet in facets] == ["outcome", "truth", "said", "missed", "invented"]
    assert [int(option.has.sum()) for option in facets[3].options] == [0, 1]
