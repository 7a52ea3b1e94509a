"""In which order sentences are read: as pandas sorts them, ties as in the file."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, texts

from core.exceptions import InputError
from core.failures.order import ORDERS, ordered
from core.failures.table import read_table
from core.runs.store import RunStore

BY = {
    "sure": ([("p_said", False)]),
    "wrong": ([("wrong", False), ("p_said", False)]),
    "margin": ([("margin", True)]),
    "unsure": ([("p_said", True)]),
    "file": ([("row", True)]),
}


@pytest.mark.parametrize("order", ORDERS)
def test_rows_stand_as_pandas_sorts_them(tmp_path, order):
    store, random = RunStore(tmp_path / "runs"), np.random.default_rng(0)
    chances = random.integers(1, 10, (60, 3)).astype(float)  # whole numbers: many are equal
    answering(store, "one", chances / chances.sum(1, keepdims=True), texts(np.arange(60) % 3), classes=("a", "b", "c"))
    table, places = read_table(store, "one"), random.permutation(60)[:40]
    columns, ascending = zip(*BY[order], strict=True)
    rows = table.frame.iloc[np.sort(places)].sort_values(list(columns), ascending=list(ascending), kind="stable")
    assert ordered(table, places, order).tolist() == rows["row"].tolist()
    assert ordered(table, places, "").tolist() == places.tolist()
    with pytest.raises(InputError, match="no order x; there are sure, wrong, margin, unsure, file"):
        ordered(table, places, "x")
