"""Drawings: colours, panels drawn at once, escaped names, and charts, tables and components as markup."""

import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from core.formatting import format_duration, format_plus_minus, format_subscript, number, signed
from dashboard import access
from dashboard.figures import theme
from dashboard.figures.drawing import Component, DataTable, Panels, TableColumn, add_title, find_cell, write_fragment
from dashboard.figures.results import get_data_name
from dashboard.figures.theme import DARK, LIGHT, Look, build_template

THEMES = [("light", LIGHT), ("dark", DARK)]
FIRST, SECOND = np.array([0, 0, 1, 1, 0, -1]), np.array([0, 1, 1, 0, 1, -1])
LOOK = Look(dark=True)
TABLE = DataTable(
    pd.DataFrame({"class": ["a <b>", "c"], "n": [6920, 3], "F1": [0.12345, np.nan], "change": [-0.5, 0.5]}),
    {"class": TableColumn("Class"), "F1": TableColumn(decimals=2, help='of "all"'), "change": TableColumn(decimals=1)},
)
COMPONENT = Component("head_view", {"tokens": ["</script>", "é"], "maps": [[[1.0]]]}, Look())


@pytest.mark.parametrize(
    ("name", "said"), [("built-in", "built-in"), ("/srv/runs/.data/files/ab12/tweets.csv", "tweets.csv"), ("/", "/")]
)
def test_data_set_has_its_registered_name_or_its_file_name(name, said):
    assert get_data_name(name) == said


def test_only_files_in_the_store_lose_their_path_and_intervals_are_short(monkeypatch):
    monkeypatch.setattr(access, "get_library_folder", lambda: Path("/srv/runs/.data"))
    assert access.format_name("/srv/runs/.data/files/ab12/tweets.csv") == "tweets.csv"
    assert access.format_name("/home/me/tweets.csv") == "/home/me/tweets.csv"
    assert access.format_name("built-in") == "built-in"
    assert format_plus_minus(0.843, 0.819, 0.867) == "0.843 ± 0.024"
    assert format_plus_minus(0.99, 0.95, 1.0) == "0.990 (0.950 to 1.000)"


@pytest.mark.parametrize(
    ("write", "value", "words"),
    [
        *((number, -0.5, "−0.500"), (signed, -0.5, "−0.50"), (signed, 0.12, "+0.12"), (format_subscript, 12, "₁₂")),
        *((number, -0.0, "0.000"), (number, -0.0001, "0.000"), (number, -0.001, "−0.001")),
        *((format_duration, 9.2, "9 s"), (format_duration, 59.6, "1 min 0 s"), (format_duration, 200, "3 min 20 s")),
        *((format_duration, 7500, "2 h 5 min"), (format_duration, -1, "0 s")),
    ],
)
def test_numbers_have_a_true_minus_and_times_have_words(write, value, words):
    assert write(value) == words


CONFIG = tomllib.loads((Path(__file__).parents[3] / "dashboard" / ".streamlit" / "config.toml").read_text())


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_page_and_charts_have_the_same_colors(name, tokens):
    page = CONFIG["theme"][name]
    of_page = {"background": "paper", "secondaryBackground": "panel", "text": "ink", "primary": "accent"}
    of_page |= {"link": "accent", "blue": "plus", "orange": "minus", "red": "wrong", "gray": "muted"}
    assert {each: page[f"{each}Color"] for each in of_page} == {k: getattr(tokens, v) for k, v in of_page.items()}
    assert tuple(page["chartCategoricalColors"]) == tokens.categories
    assert page["chartSequentialColors"][0] == tokens.paper


def test_server_is_closed_to_others_by_default():
    assert CONFIG["server"]["address"] == "127.0.0.1" and CONFIG["server"]["allowedHosts"] == ["localhost", "127.0.0.1"]
    assert CONFIG["client"]["showErrorDetails"] == "none" and CONFIG["browser"]["gatherUsageStats"] is False
    assert CONFIG["runner"] == {"magicEnabled": False, "postScriptGC": False}


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_text_has_enough_contrast(name, tokens):
    for color in (tokens.ink, tokens.muted, tokens.accent, tokens.plus, tokens.minus, tokens.wrong):
        assert theme.compute_contrast(color, tokens.paper) >= 4.5
    for color in (*tokens.categories, *tokens.ordinal, tokens.right):
        assert theme.compute_contrast(color, tokens.paper) >= 3
    for color in (*tokens.plus_scale, *tokens.minus_scale):
        assert theme.compute_contrast(theme.choose_text_color(tokens, color), color) >= 4.5


@pytest.mark.parametrize("tokens", [LIGHT, DARK])
def test_text_on_every_gray_has_enough_contrast(tokens):
    assert theme.compute_contrast("#000000", "#FFFFFF") == pytest.approx(21)
    grays = [tokens.right, tokens.muted, *(f"#{level:02X}{level:02X}{level:02X}" for level in range(256))]
    assert min(theme.compute_contrast(theme.choose_text_color(tokens, gray), gray) for gray in grays) >= 4.5
    assert theme.choose_text_color(tokens, tokens.paper) == tokens.ink
    assert theme.choose_text_color(tokens, tokens.ink) == tokens.paper


@pytest.mark.parametrize(("name", "tokens"), THEMES)
def test_scales_start_at_the_background_and_attention_has_equal_ink_on_both_sides(name, tokens):
    assert theme.make_sequential_scale(tokens)[0] == [0, tokens.paper]
    assert theme.make_diverging_scale(tokens)[5] == [0.5, tokens.paper]
    assert theme.shade_signed(tokens, 0.0, 1.0) == theme.shade_signed(tokens, 0.3, 0.0) == tokens.paper
    assert theme.shade_signed(tokens, 0.5, 0.5) == theme.shade_signed(tokens, 9, 0.5) == tokens.plus_scale[5]
    assert theme.shade_signed(tokens, -0.2, 0.5) == tokens.minus_scale[2]
    upper = [[2 * (place - 0.5), color] for place, color in theme.make_two_sided_scale(tokens)[5:]]
    assert [color for _, color in upper] == [color for _, color in theme.make_sequential_scale(tokens)]
    assert [place for place, _ in upper] == pytest.approx([place for place, _ in theme.make_sequential_scale(tokens)])
    both = [color for _, color in theme.make_two_sided_scale(tokens)]
    assert both == both[::-1] and theme.make_sequential_scale(tokens)[-1] == [1, tokens.ink]
    assert theme.shade_ink(tokens, -0.4, 1) == theme.shade_ink(tokens, 0.4, 1) == tokens.ink_scale[2]


def test_classes_are_colored_by_sign_or_order_and_layers_by_depth():
    assert theme.blend_colors("#000000", "#FFFFFF", 0) == "#000000"
    assert theme.blend_colors("#000000", "#FFFFFF", 1) == theme.blend_colors("#000000", "#FFFFFF", 7) == "#FFFFFF"
    assert theme.blend_colors("#000000", "#204060", 0.5) == "#102030"
    assert [theme.color_layer(LIGHT, i, 4) for i in range(4)] == list(LIGHT.ordinal)
    assert theme.color_layer(LIGHT, 0, 2) == LIGHT.ordinal[0] and theme.color_layer(LIGHT, 0, 1) == LIGHT.accent
    assert theme.color_classes(LIGHT, ["negative", "neutral", "positive"]) == [LIGHT.minus, LIGHT.right, LIGHT.plus]
    five = theme.color_classes(LIGHT, ["very negative", "negative", "neutral", "positive", "very positive"])
    assert (five[0], five[4]) == (LIGHT.minus_scale[5], LIGHT.plus_scale[5])
    assert theme.color_classes(LIGHT, ["bearish", "bullish"]) == list(LIGHT.categories[:2])
    three = theme.color_classes(LIGHT, ["bearish", "so so", "bullish"], ordered=True)
    assert three == [LIGHT.minus, LIGHT.right, LIGHT.plus]
    four = theme.color_classes(LIGHT, list("1234"), ordered=True)
    assert four == [LIGHT.minus_scale[5], LIGHT.minus_scale[4], LIGHT.plus_scale[4], LIGHT.plus_scale[5]]
    many = theme.color_classes(LIGHT, list("abcdefghijk"), ordered=True)
    assert many[5] == LIGHT.right and many[0] == LIGHT.minus_scale[5] and many[-1] == LIGHT.plus_scale[5]


def test_labels_keep_their_distance_and_a_matrix_cell_is_found_only_for_its_rows():
    placed = theme.spread_labels([0.5, 0.51, 0.1], 0.1)
    assert placed[1] - placed[0] == pytest.approx(0.1) and placed[2] == 0.1
    assert theme.spread_labels([], 0.1) == []
    large, usual = (theme.build_template(look).layout.font.size for look in (Look(projector=True), Look()))
    assert large == pytest.approx(1.3 * usual)
    assert (Look(projector=True).scale_height(100), Look().scale_height(100)) == (120, 100)
    assert find_cell(FIRST, SECOND, np.array([4, 1])) == (0, 1) and find_cell(FIRST, SECOND, np.array([2])) == (1, 1)
    for rows in ([1], [1, 4, 0], [], [5]):
        assert find_cell(FIRST, SECOND, np.array(rows, np.int64)) is None


def parts(figure):
    """Call the same commands on the project's figure and on Plotly's."""
    for row in (1, 2):
        for column in (1, 2):
            figure.add_scatter(x=[1, 2], y=[row, column], line={"color": "#123456"}, row=row, col=column)
    figure.add_bar(x=[1, 2], y=[3, 4], row=1, col=2)
    figure.add_annotation(x=1, y=2, text="inside", row=2, col=2)
    figure.add_annotation(x=1, y=0.9, yref="y domain", text="at the top", row=1, col=2)
    figure.add_hline(y=0, line={"width": 1}, layer="below", row=2)
    figure.add_vline(x=1.5, line={"width": 2}, row=1, col=1)
    figure.update_xaxes(range=[0, 3], showticklabels=False)
    figure.update_xaxes(title="epoch", showticklabels=True, row=2)
    figure.update_yaxes(nticks=5)
    figure.update_yaxes(range=[0, 9], row=1, col=2)
    figure.update_layout(barmode="stack", margin={"r": 12})


@pytest.mark.slow
def test_figure_built_at_once_equals_plotly_built_part_by_part():
    spaces = {"horizontal_spacing": 0.1, "shared_xaxes": "columns"}
    ours, theirs = Panels(LOOK, [["", ""], ["", ""]], height=300, **spaces), make_subplots(2, 2, **spaces)
    theirs.update_layout(template=build_template(LOOK), height=300, margin={"t": 32})
    for figure in (ours, theirs):
        parts(figure)
    assert ours.build_figure().to_plotly_json() == theirs.to_plotly_json()


def test_panels_have_titles_at_the_left_share_nothing_and_refuse_unknown_settings():
    figure = Panels(LOOK, [["loss", "accuracy"], ["", "rate"]], height=300).build_figure()
    found = {each.text: (each.xref, each.yref) for each in figure.layout.annotations}
    places = {"loss": "", "accuracy": "2", "rate": "4"}
    assert found == {name: (f"x{at} domain", f"y{at} domain") for name, at in places.items()}
    assert {each.xanchor for each in figure.layout.annotations} == {"left"}
    first, second = (Panels(LOOK, [["a"]], height=300) for _ in range(2))
    first.update_xaxes(range=[0, 1])
    assert second.build_figure().layout.xaxis.range is None
    figure = Panels(LOOK, [["a"]], height=300)
    figure.update_xaxes(rnage=[0, 1])
    with pytest.raises(ValueError, match="rnage"):
        figure.build_figure()


def cells(markup: str, tag: str) -> list[str]:
    return re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", markup)


def test_table_formats_numbers_as_pages_aligns_columns_and_escapes_words():
    shown = TABLE.to_html()
    assert cells(shown, "th") == ["Class", "n", "F1", "change"]
    assert cells(shown, "td") == ["a &lt;b&gt;", "6\u202f920", "0.12", "\u22120.5", "c", "3", "–", "0.5"]
    assert 'title="of &quot;all&quot;"' in shown
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


def test_drawing_outside_pages_has_a_title_and_only_charts_need_plotly():
    for drawing in (TABLE, COMPONENT):
        assert "A &lt;title&gt;" in add_title(drawing, "A <title>")._repr_html_()
    chart = add_title(go.Figure(layout={"height": 300}), "A title")
    assert chart.layout.title.text == "A title" and chart.layout.height > 300
    assert "plotly.js v" in write_fragment(go.Figure(), "one", plotly=True)
    assert "plotly.js v" not in write_fragment(go.Figure(), "one", plotly=False)
    for drawing in (TABLE, COMPONENT):
        assert "plotly" not in write_fragment(drawing, "one", plotly=True).lower()
