"""The figures of the Data page, by the values they draw."""

from __future__ import annotations

import pandas as pd
import pytest

from dashboard.figures.data import class_balance, lengths, measured, percent
from dashboard.figures.theme import DARK, LIGHT, Look

SHARES = {
    "train": {"negative": (30, 0.75), "positive": (10, 0.25)},
    "test": {"negative": (2, 0.5), "positive": (2, 0.5)},
}


@pytest.mark.parametrize("dark", [False, True])
def test_each_split_has_its_panel_and_each_class_its_share_and_colour(dark):
    figure, tokens = class_balance(SHARES, Look(dark=dark)), DARK if dark else LIGHT
    assert [tuple(bar.x) for bar in figure.data] == [(0.75, 0.25), (0.5, 0.5)]
    assert [note.text for note in figure.layout.annotations] == ["train", "test"]
    assert tuple(figure.data[0].marker.color) == (tokens.minus, tokens.plus)
    assert figure.data[0].hovertext[0] == "train, negative<br>30 rows, 75.0 %"


def test_many_classes_share_one_colour():
    names = {f"class {number}": (1, 1 / 7) for number in range(7)}
    assert set(class_balance({"train": names}, Look()).data[0].marker.color) == {LIGHT.accent}


def test_classes_called_by_numbers_stand_side_by_side():
    figure = class_balance({"train": {"1": (1, 0.5), "4": (1, 0.5)}}, Look())
    assert figure.layout.yaxis.type == "category"


def test_class_names_are_text():
    figure = class_balance({"train": {"<b>x": (1, 1.0)}}, Look())
    assert "<b>" not in figure.data[0].y[0] + figure.data[0].hovertext[0]


def test_bars_of_different_widths_keep_the_shape_true():
    figure = lengths([0, 2, 3, 5], [4, 2, 4], 4, 0.25, Look())
    assert tuple(figure.data[0].y) == (2, 2, 2)
    assert tuple(figure.data[0].hovertext) == (
        "0 to 1 tokens<br>4 texts",
        "2 tokens<br>2 texts",
        "3 or more tokens<br>4 texts",
    )


def test_the_place_where_reading_stops_is_on_the_axis():
    figure = lengths([0, 2, 4], [1, 1], 64, 0.0, Look())
    assert figure.layout.shapes[0].x0 == figure.layout.shapes[0].x1 == 64
    assert figure.layout.xaxis.range[1] >= 64
    assert "read to 64: 0 % of the texts are cut" in figure.layout.annotations[-1].text
    assert not lengths([0, 2, 4], [1, 1], 0, 0.0, Look()).layout.shapes


@pytest.mark.parametrize(("longest", "side"), [(90, "right"), (20, "left")])
def test_what_is_said_of_that_place_stands_where_there_is_room(longest, side):
    assert lengths([0, 50, 100], [1, 1], longest, 0.4, Look()).layout.annotations[-1].xanchor == side


@pytest.mark.parametrize(("share", "words"), [(0, "0 %"), (0.0001, "< 0.1 %"), (0.123, "12.3 %"), (1, "100.0 %")])
def test_something_that_is_there_is_never_nought(share, words):
    assert percent(share) == words


def test_models_stand_beside_the_yardstick_on_each_phenomenon():
    table = pd.DataFrame({"phenomenon": ["<i>irony", "plain"], "tfidf": [0.1, 0.9], "a": [0.5, 1.0], "b": [0.4, 0.8]})
    figure = measured(table, Look())
    assert [tuple(trace.x) for trace in figure.data] == [(0.1, 0.9), (0.5, 1.0), (0.4, 0.8)]
    assert figure.data[0].marker.symbol == "circle-open"
    assert len({trace.marker.symbol for trace in figure.data}) == 3
    assert figure.data[1].y[0] == "&lt;i&gt;irony" and figure.layout.yaxis.autorange == "reversed"
