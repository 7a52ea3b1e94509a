"""Ways to draw a figure (chart, table, component), each as markup without network requests."""

import json
import re

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from dashboard.figures.drawing import Component, DataTable, TableColumn, add_title, write_fragment
from dashboard.figures.theme import LIGHT, Look

TABLE = DataTable(
    pd.DataFrame({"class": ["a <b>", "c"], "n": [6920, 3], "F1": [0.12345, np.nan], "change": [-0.5, 0.5]}),
    {"class": TableColumn("Class"), "F1": TableColumn(decimals=2, help='of "all"'), "change": TableColumn(decimals=1)},
)
COMPONENT = Component("head_view", {"tokens": ["</script>", "é"], "maps": [[[1.0]]]}, Look())


def cells(markup: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", markup)


def test_table_formats_numbers_as_pages_and_escapes_words():
    shown = TABLE.to_html()
    assert cells(shown, "th") == ["Class", "n", "F1", "change"]
    assert cells(shown, "td") == ["a &lt;b&gt;", "6\u202f920", "0.12", "\u22120.5", "c", "3", "–", "0.5"]
    assert 'title="of &quot;all&quot;"' in shown


def test_words_are_left_aligned_and_numbers_right_aligned_by_default():
    rows = pd.DataFrame({"word": ["x"], "number": [1.5], "said": ["1.5"]})
    shown = DataTable(rows, {"said": TableColumn(alignment="right")}).to_html()
    assert re.findall("text-align:(left|right)", shown) == 2 * ["left", "right", "right"]


def test_component_runs_its_script_on_data_that_cannot_end_it():
    shown = COMPONENT.to_html("here")
    (told,) = re.findall(r"draw\(\{data: (.*), parentElement: document\.getElementById\(\"here\"\)", shown)
    assert json.loads(told) == COMPONENT.data and shown.count("</script>") == 1
    assert 'id="here"' in shown and '<div class="head_view"></div>' in shown
    assert f"--st-text-color:{LIGHT.ink}" in shown
    assert "export default" not in shown and shown.count("const draw = function") == 1


@pytest.mark.parametrize("name", ["head_view", "diagram", "levers", "words"])
def test_component_has_script_and_style_and_requests_nothing(name):
    own = Component(name, {}, Look())
    assert own.script.count("export default") == 1 and f".{name}" in own.style and f".{name}" in own.script
    assert not re.search(r"^(const|let|var|function|class) draw\b", own.script, re.M)  # the export uses the name `draw`
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|\bimport\b", own.script + own.style)


def test_drawing_outside_pages_has_a_title_also_in_notebooks():
    for drawing in (TABLE, COMPONENT):
        assert "A &lt;title&gt;" in add_title(drawing, "A <title>")._repr_html_()
    chart = add_title(go.Figure(layout={"height": 300}), "A title")
    assert chart.layout.title.text == "A title" and chart.layout.height > 300


def test_only_charts_need_plotly():
    assert "plotly.js v" in write_fragment(go.Figure(), "one", plotly=True)
    assert "plotly.js v" not in write_fragment(go.Figure(), "one", plotly=False)
    for drawing in (TABLE, COMPONENT):
        assert "plotly" not in write_fragment(drawing, "one", plotly=True).lower()
