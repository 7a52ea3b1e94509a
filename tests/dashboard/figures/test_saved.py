"""Saved slices as a table: numbers of pandas, only those of the split, all sentences first."""

from __future__ import annotations

import numpy as np
import pytest
from answering import answering, right_where, texts

from core.evaluation.intervals import wilson
from core.exceptions import NotAvailable
from core.failures.selection import Selection
from core.failures.slices import save_slice
from core.runs.store import RunStore
from dashboard.figures.files import Files
from dashboard.figures.saved import saved, saved_marks, saved_table
from dashboard.figures.source import Source


@pytest.fixture
def store(tmp_path):
    store, rows = RunStore(tmp_path / "runs"), np.arange(40)
    answering(store, "one", right_where(rows >= 6, rows % 2), texts(rows % 2))
    return store


def source_of(store):
    return Source(store.read("one"), Files(store), split="test")


def test_without_a_slice_there_is_no_figure(store):
    with pytest.raises(NotAvailable, match="no slice of these data was saved"):
        saved(source_of(store))


def test_each_slice_has_its_share_of_errors_and_its_interval(store):
    record = store.read("one")
    save_slice(store, record, "good", Selection(("truth=good",)))
    save_slice(store, record, "nobody", Selection(("text~nobody",)))
    save_slice(store, record, "no class", Selection(("truth=none",)))
    save_slice(store, record, "elsewhere", Selection(("wrong",), "validation"))
    shown = saved(source_of(store))
    table = saved_table(shown).set_index("name")
    assert list(table.index) == ["good", "no class", "nobody"]
    assert tuple(table.loc["good", ["n", "wrong", "rate"]]) == (20, 3, 0.15)
    first, good, other, nobody = saved_marks(shown).rows
    assert (first.cells["rate"].value, first.picks) == (0.15, False)
    assert (good.cells["rate"].low, good.cells["rate"].high) == pytest.approx(wilson(3, 20)) and good.picks
    assert "no class 'none'" in other.cells["name"].small and not other.picks
    assert nobody.cells["n"] == "0" and nobody.cells["rate"].value is None and not nobody.picks
