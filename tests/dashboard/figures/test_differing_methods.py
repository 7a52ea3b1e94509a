"""The methods of two readings beside each other, against what the core says of either."""

from __future__ import annotations

import pytest

from core.exceptions import NotAvailable
from core.runs.load import load_run
from core.runs.store import RunStore
from dashboard.figures.differing_methods import METHODS_DIFFERENCE, differing_method_table, differing_methods
from dashboard.figures.source import Source
from dashboard.figures.theme import Look
from dashboard.reader import Reader

pytestmark = pytest.mark.slow

TEXT, OTHER = "good warm film", "good dull film"


def source(trained, text=TEXT, run="finished", **more) -> Source:
    store = RunStore(trained)
    return Source(store.read(run), Reader(store), text=text, **more)


def test_methods_that_both_have_differ_word_by_word(trained):
    shape = differing_methods(source(trained), source(trained, OTHER))
    table = differing_method_table(shape)
    loaded = load_run(RunStore(trained), "finished")
    for method in ("deletion", "gradient", "attention"):
        mine, its = (loaded.explain(text, method, "positive").pushes for text in (TEXT, OTHER))
        rows = table[table["method"] == method]
        assert rows["difference"].tolist() == pytest.approx((mine - its).tolist())
        assert rows["other word"].tolist() == ["good", "dull", "film"]
    blocks = METHODS_DIFFERENCE.draw(shape, Look()).data["blocks"]
    assert [row["name"] for row in blocks[2]["rows"]] == ["good", "warm ← dull", "film"]
    longer = METHODS_DIFFERENCE.draw(differing_methods(source(trained), source(trained, "good film")), Look()).data
    last = longer["blocks"][2]["rows"][1]
    assert last["name"] == "warm, only here" and {cell["text"] for cell in last["cells"]} == {"–"}


def test_what_only_one_of_them_has_is_said(trained):
    shape = differing_methods(source(trained), source(trained, run="baseline"))
    assert shape.both == ["deletion"]
    assert "No attention of baseline: this model has no attention." in shape.lacking
    with pytest.raises(NotAvailable, match="no word"):
        differing_methods(source(trained), source(trained, " "))
