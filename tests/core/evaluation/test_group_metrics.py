import numpy as np
import pandas as pd
import pytest

from core.evaluation.group_metrics import evaluate_groups, group_rows, read_column
from core.evaluation.intervals import compute_wilson
from core.evaluation.metrics import evaluate
from core.exceptions import InputError


def test_groups_are_sorted_by_size_rare_values_merged_and_many_numbers_cut_into_quarters():
    found = group_rows(pd.Series(["b"] * 12 + ["a"] * 12 + ["c"] * 30 + ["rare"] * 3 + [None] + ["x"]))
    assert found.names == ("c", "a", "b", "3 rare values") and (found.folded, found.folded_rows) == (3, 5)
    assert np.bincount(found.place).tolist() == [30, 12, 12, 5]
    assert [found.names[place] for place in found.place[[0, 12, 24, -1]]] == ["b", "a", "c", "3 rare values"]
    assert group_rows(pd.Series(["a"] * 20 + ["b"] * 20 + ["c"])).names == ("a", "b", "c")
    assert group_rows(pd.Series(["a", "b", "b"])).names == ("b", "a")
    found = group_rows(pd.Series([f"v{n}" for n in range(40) for _ in range(10 + n)]))
    assert len(found.names) == 31 and found.names[0] == "v39" and found.names[-1] == "10 rare values"
    found = group_rows(pd.Series([*map(float, range(100)), np.nan]))
    assert found.names == ("0 to 24", "25 to 49", "50 to 74", "75 to 99", "(none)")
    assert np.bincount(found.place).tolist() == [25, 25, 25, 25, 1]
    assert group_rows(pd.Series([1.0, 2.0, 2.0])).names == ("2", "1"), "few different numbers are values"
    large = group_rows(pd.Series([1e8 + step / 16 for step in range(100)]))
    assert large.names[0] == "100000000 to 100000001.5", "ends that a rule can name"
    assert group_rows(pd.Series([0.0] * 80 + list(range(1, 21)))).names == ("0 to 0", "1 to 20")


def test_groups_have_metrics_and_their_columns_exclude_the_text_and_name_labels():
    random = np.random.default_rng(0)
    labels, probabilities = random.integers(0, 3, 90), random.dirichlet(np.ones(3), 90)
    column = pd.Series(["x", "y", "y"] * 30)
    first, second = evaluate_groups(group_rows(column), labels, probabilities, ordered=True)
    rows = (column == "y").to_numpy()
    assert (first["value"], first["n"], second["n"]) == ("y", 60, 30)
    assert first["metrics"] == evaluate(labels[rows], probabilities[rows], ordered=True)
    assert first["intervals"]["accuracy"] == list(compute_wilson(first["metrics"]["accuracy"] * 60, 60))
    assert {*first["intervals"]} == {*first["metrics"]} > {"quadratic_kappa", "roc_auc"}
    rows = pd.DataFrame({"text": ["t", "u"], "label": [1, 0], "source": ["a", "b"]})
    assert read_column(rows, "source", ("no", "yes")).tolist() == ["a", "b"]
    assert read_column(rows, "label", ("no", "yes")).tolist() == ["yes", "no"]
    several = rows.assign(label=pd.Series([(0, 1), ()], dtype=object))
    assert read_column(several, "label", ("no", "yes")).tolist() == ["no, yes", "(none)"]
    with pytest.raises(InputError, match="--by sauce: the data have no such column; there are label, source"):
        read_column(rows, "sauce", ("no", "yes"))
