"""The map and the silhouette plot, by their values."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.figures.embeddings import Group, Placed, Shades, draw_map
from dashboard.figures.silhouettes import Spectrum, draw_silhouettes
from dashboard.figures.theme import DARK, LIGHT, Look

FLAT = np.array([[0.0, 1], [2, 3], [4, 5]])
ROWS = np.array([3, 7, 9])
GROUPS = [Group("a", np.array([0, 2]), "#111111"), Group("b", np.array([1]), "#222222", "x")]
WORDS = ["one", "two", "three"]


def test_points_carry_their_row_and_their_group_its_colour_shape_and_count():
    first, second = draw_map(FLAT, ROWS, WORDS, GROUPS, ["", ""], Look()).data
    assert list(first.customdata) == [3, 9]
    assert list(first.x) == [0, 4] and list(first.y) == [1, 5]
    assert list(first.text) == ["one", "three"]
    assert "n = 2" in first.name
    assert (second.marker.color, second.marker.symbol) == ("#222222", "x")
    assert first.type == "scattergl"


def test_the_flat_map_is_drawn_around_and_keeps_its_proportions():
    layout = draw_map(FLAT, ROWS, WORDS, GROUPS, ["right", "up"], Look()).layout
    assert layout.dragmode == "lasso"
    assert layout.clickmode == "event+select"
    assert layout.yaxis.scaleanchor == "x"
    assert layout.xaxis.title.text == "right"


def test_what_must_be_seen_is_drawn_last():
    groups = [Group("wrong", np.array([1]), "#222222", front=True), Group("correct", np.array([0, 2]), "#111111")]
    assert [trace.name[:5] for trace in draw_map(FLAT, ROWS, [], groups, ["", ""], Look()).data] == ["corre", "wrong"]


def test_a_map_with_depth_has_three_axes_and_no_lasso():
    places = np.column_stack([FLAT, [6, 7, 8]])
    figure = draw_map(places, ROWS, WORDS, GROUPS, ["1", "2", "3"], Look(), placed=Placed(np.ones(3), "mine"))
    assert [trace.type for trace in figure.data] == ["scatter3d"] * 3
    assert list(figure.data[0].z) == [6, 8]
    assert figure.layout.scene.zaxis.title.text == "3"
    assert figure.layout.dragmode is None


@pytest.mark.parametrize(("dark", "tokens"), [(False, LIGHT), (True, DARK)])
def test_confidence_goes_from_guessing_to_certain_in_ordered_steps_not_in_the_colours_of_signs(dark, tokens):
    shades = Shades("P(said)", np.array([0.5, 0.7, 1.0]), 0.5, 1.0)
    (points,) = draw_map(FLAT, ROWS, WORDS, shades, ["", ""], Look(dark=dark)).data
    assert (points.marker.cmin, points.marker.cmax) == (0.5, 1.0)
    assert list(points.marker.color) == [0.5, 0.7, 1.0]
    assert [step[1] for step in points.marker.colorscale] == list(tokens.ordinal)


def test_texts_and_names_are_not_markup():
    groups = [Group("<b>a</b>", np.arange(3), "#111111")]
    placed = Placed(np.zeros(2), "<img src=x>")
    drawn = str(draw_map(FLAT, ROWS, ["<i>x</i>"] * 3, groups, ["", ""], Look(), placed=placed).to_plotly_json())
    assert "<i>" not in drawn and "<b>a" not in drawn and "<img" not in drawn
    assert "&lt;i&gt;" in drawn


def test_a_typed_sentence_has_a_mark_that_no_selection_takes_for_a_row():
    figure = draw_map(FLAT, ROWS, WORDS, GROUPS, ["", ""], Look(), placed=Placed(np.array([8.0, 9.0]), "mine"))
    mark = figure.data[-1]
    assert (mark.x[0], mark.y[0], mark.marker.symbol) == (8.0, 9.0, "diamond")
    assert mark.type == "scattergl", "in another layer the points would hide it"
    assert mark.customdata is None


def test_silhouettes_show_every_sample_sorted_with_means_and_the_first_class_on_top():
    classes = (("neg", np.array([-0.5, 0.5])), ("pos", np.array([0.2, 0.4, 0.6])))
    figure = draw_silhouettes(
        [Spectrum("space", 0.24, classes), Spectrum("map", 0.3, classes)], ["#111111", "#222222"], Look()
    )
    below, _, above, mean = figure.data[:4]
    assert list(below.x) == [0.2, 0.4, 0.6] and below.line.color == "#222222"
    assert list(above.x) == [-0.5, 0.5]
    assert min(above.y) > max(below.y)
    assert list(mean.x) == [0.0, 0.0]
    words = [note.text for note in figure.layout.annotations]
    assert {"space", "map", "all 0.240", "all 0.300", "neg <b>0.000</b><br>n = 2", "pos <b>0.400</b><br>n = 3"} == set(
        words
    )
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == (-1, 1)
