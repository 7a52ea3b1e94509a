"""The table of a split: its numbers against plain NumPy and pandas, and names of rows that last."""

import numpy as np
import pandas as pd
import pytest
from answering import answering, texts

from core.error_analysis.predictions_table import hash_texts, read_table
from core.exceptions import InputError


def test_row_values_follow_from_the_probabilities(store):
    random = np.random.default_rng(0)
    chances, labels = random.dirichlet(np.ones(4), 50), random.integers(0, 4, 50)
    answering(store, "one", chances, texts(labels), classes=tuple("abcd"))
    frame = read_table(store, "one").frame
    ordered = np.sort(chances, 1)
    assert frame["true"].tolist() == ["abcd"[label] for label in labels]
    assert frame["predicted"].tolist() == ["abcd"[number] for number in chances.argmax(1)]
    np.testing.assert_allclose(frame["p_true"], chances[np.arange(50), labels])
    np.testing.assert_allclose(frame["p_predicted"], ordered[:, -1])
    np.testing.assert_allclose(frame["margin"], ordered[:, -1] - ordered[:, -2])
    assert (frame["wrong"] == (frame["true"] != frame["predicted"])).all()
    assert frame["row"].tolist() == list(range(50)) and frame["key"].is_unique


def test_multi_label_rows_have_missed_and_invented_at_tuned_thresholds(store):
    rows = pd.DataFrame({"text": ["one", "two", "three"], "label": [(0, 1), (), (1,)]})
    chances = [[0.9, 0.3], [0.1, 0.8], [0.2, 0.9]]
    answering(store, "many", chances, rows, classes=("late", "loud"))
    frame = read_table(store, "many").frame
    assert frame["true"].tolist() == ["late, loud", "none of them", "loud"]
    assert frame["predicted"].tolist() == ["late", "loud", "loud"]
    assert frame["missed"].tolist() == ["loud", "none of them", "none of them"]
    assert frame["invented"].tolist() == ["none of them", "loud", "none of them"]
    assert frame["wrong"].tolist() == [True, True, False]
    np.testing.assert_allclose(frame["p_true"], [0.3, 0.2, 0.8])
    np.testing.assert_allclose(frame["p_predicted"], [0.7, 0.8, 0.8])
    np.testing.assert_allclose(frame["margin"], [0.2, 0.3, 0.3])
    rows = pd.DataFrame({"text": ["one"], "label": [(1,)]})
    tuned = {"tuned": {"thresholds": {"late": 0.95, "loud": 0.2}}}
    answering(store, "tuned", [[0.9, 0.3]], rows, classes=("late", "loud"), results=tuned)
    frame = read_table(store, "tuned").frame
    assert frame["predicted"].tolist() == ["loud"] and not frame["wrong"].any()
    np.testing.assert_allclose(frame["margin"], [0.05])


def test_own_columns_are_prefixed_and_the_default_split_is_test(store):
    answering(store, "one", [[0.2, 0.8]], texts([1], id=["t-7"], truth=["mine"], ids=["7"], source=["web"]))
    table = read_table(store, "one")
    assert table.own == ("id", "data:truth", "data:ids", "source")
    assert table.frame.loc[0, list(table.own)].tolist() == ["t-7", "mine", "7", "web"]
    answering(store, "two", [[0.2, 0.8]], texts([1]), split="validation")
    assert read_table(store, "two").split == "validation"
    with pytest.raises(InputError, match="no predictions of a split 'test'; it has validation"):
        read_table(store, "two", "test")


def test_keys_depend_only_on_the_text_and_repeats_are_numbered():
    assert (
        hash_texts(["a", "b", "a"])[:2] == hash_texts(["a", "b"])
        and hash_texts(["b", "a"]) == hash_texts(["a", "b"])[::-1]
    )
    assert hash_texts(["a", "a", "a"]) == [hash_texts(["a"])[0] + end for end in ("", "-2", "-3")]
    assert hash_texts(["\ud800"]) != hash_texts(["?"])
