"""Tables as CSV."""

from __future__ import annotations

import pandas as pd

from dashboard.widgets.export import csv_text


def test_a_cell_that_looks_like_a_formula_is_made_harmless_and_numbers_stay():
    frame = pd.DataFrame({"text": ["=1+1", "+a", "-b", "@c", "fine", None], "value": [-1.5, 2, 3, 4, 5, 6]})
    lines = csv_text(frame).splitlines()
    assert [line.split(",")[0] for line in lines] == ["text", "'=1+1", "'+a", "'-b", "'@c", "fine", ""]
    assert lines[1].endswith(",-1.5")


def test_the_table_itself_is_not_changed():
    frame = pd.DataFrame({"text": ["=1"]})
    csv_text(frame)
    assert frame["text"].tolist() == ["=1"]
