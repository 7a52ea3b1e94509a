"""Saved slices as a table: numbers from pandas, only the current split, all sentences first."""

import numpy as np
import pytest
from answering import answering, right_where, texts
from sklearn.metrics import f1_score

from core.error_analysis.selection import Selection
from core.error_analysis.slices import save_slice
from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.runs.store import RunStore
from dashboard.figures.figure import Source
from dashboard.figures.saved_slices import CLASS, build_class_table, build_slice_table, draw_slice_table, read_slices
from dashboard.reader import Reader


@pytest.fixture
def store(tmp_path):
    store, rows = RunStore(tmp_path / "runs"), np.arange(40)
    answering(store, "one", right_where(rows >= 6, rows % 2), texts(rows % 2))
    return store


def source_of(store):
    return Source(store.read("one"), Reader(store), split="test")


def test_each_slice_has_its_errors_and_unfolds_to_its_classes(store):
    with pytest.raises(NotAvailable, match="no slice of these data was saved"):
        read_slices(source_of(store))
    save_slice(store, store.read("one"), "good", Selection(("true=good",)))
    shown = read_slices(source_of(store))
    whole, good = draw_slice_table(shown).rows
    assert [each.id.split(CLASS) for each in good.children] == [["good", "bad"], ["good", "good"]]
    bad, of_good = good.children
    assert "right" not in bad.cells and not bad.picks and bad.cells["name"].small == "precision 0.00 (0.00 to 0.56)"
    assert of_good.cells["right"].value == 0.85 and of_good.picks
    assert [each.cells["n"] for each in whole.children] == ["20", "20"] and all(each.picks for each in whole.children)
    of_classes = build_class_table(shown).set_index("class")
    assert of_classes.loc["good", "recall"] == 0.85 and np.isnan(of_classes.loc["bad", "recall"])
    record = store.read("one")
    save_slice(store, record, "nobody", Selection(("text~nobody",)))
    save_slice(store, record, "no class", Selection(("true=none",)))
    save_slice(store, record, "elsewhere", Selection(("wrong",), "validation"))
    shown = read_slices(source_of(store))
    table = build_slice_table(shown).set_index("name")
    assert list(table.index) == ["good", "no class", "nobody"]
    assert tuple(table.loc["good", ["n", "wrong", "rate"]]) == (20, 3, 0.15)
    assert table.loc["good", "accuracy"] == 0.85 and np.isnan(table.loc["nobody", "f1_macro"])
    first, good, other, nobody = draw_slice_table(shown).rows
    assert (first.cells["right"].value, first.cells["rate"], first.picks) == (0.85, "0.850", False)
    assert (good.cells["right"].low, good.cells["right"].high) == pytest.approx(compute_wilson(17, 20)) and good.picks
    assert good.cells["f1"].value == pytest.approx(f1_score(np.ones(20), np.arange(20) >= 3, average="macro"))
    assert "no class 'none'" in other.cells["name"].small and not other.picks and "n" not in other.cells
    assert nobody.cells["n"] == "0" and "right" not in nobody.cells and not nobody.picks
    assert nobody.cells["name"].small == "There is no sentence of it, so nothing is measured."
