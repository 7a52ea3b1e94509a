"""Heat maps and coefficients of one sentence."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dashboard.figures.attention import (
    MOST,
    NAMED,
    SCALES,
    STRIPES,
    MapRow,
    block,
    coefficients,
    component_rows,
    full_colour,
    hatched,
    map_grid,
    scaled,
    stripes,
)
from dashboard.figures.theme import LIGHT, Look, sequential, two_sided


def ends(path: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, re.findall(r"-?[\d.]+", line))) for line in path.split("M")[1:]]


def test_a_cell_has_one_line_from_its_lower_left_to_its_upper_right():
    away = np.zeros((3, 4), bool)
    away[2, 1] = True
    assert ends(stripes(away)) == [(0.5, 2.5, 1.5, 1.5)]  # rows grow downwards


def test_neighbours_along_a_diagonal_share_a_line_and_a_gap_parts_it():
    away = np.fliplr(np.eye(4, dtype=bool))
    assert ends(stripes(away)) == [(-0.5, 3.5, 3.5, -0.5)]
    away[1, 2] = False
    assert ends(stripes(away)) == [(-0.5, 3.5, 1.5, 1.5), (2.5, 0.5, 3.5, -0.5)]


def test_every_line_lies_in_what_is_taken_away():
    away = np.random.default_rng(0).random((9, 7)) < 0.4
    for x, y, to_x, to_y in ends(stripes(away)):
        assert to_x - x == y - to_y > 0
        assert all(away[round(y - 0.5 - step), round(x + 0.5 + step)] for step in range(round(to_x - x)))


def test_a_long_text_has_no_more_lines_than_can_be_seen():
    assert len(ends(stripes(np.ones((256, 256), bool)))) <= 2 * STRIPES


def test_nothing_is_drawn_where_nothing_is_taken_away():
    assert stripes(np.zeros((3, 3), bool)) == "" and hatched(np.zeros((3, 3), bool), "", 1, Look()) is None


MAPS = np.array([[[[0.75, 0.25], [0.5, 0.5]]], [[[0.0, 1.0], [1.0, 0.0]]]])  # (N 2, H 1, L 2, L 2)
MINUS = np.array([[[1.0, 1.0]], [[-0.5, -0.5]]])  # (N, H, L)


def rows():
    return component_rows(MAPS, MINUS, (MINUS[..., None] * MAPS).sum(0), subtracts=True)


def test_a_component_is_shown_as_it_enters_the_sum():
    base, second, joined = rows()
    assert [row.name for row in rows()] == ["A₀", "−λ₁A₁", "A₀ − λ₁A₁"]
    assert (base.weights == MAPS[0]).all()
    assert (second.weights == -0.5 * MAPS[1]).all()
    assert joined.weights == pytest.approx(base.weights + second.weights)


def test_three_added_components_end_in_a_sum_and_one_stands_alone():
    maps, c = np.full((3, 1, 2, 2), 0.5), np.ones((3, 1, 2))
    assert [row.name for row in component_rows(maps, c, maps.sum(0), False)] == ["A₀", "λ₁A₁", "λ₂A₂", "sum"]
    assert [row.name for row in component_rows(maps[:1], c[:1], maps[0], False)] == ["A₀"]


def test_signed_maps_have_a_symmetric_scale_with_zero_on_the_page():
    figure = map_grid(rows(), ["not", "bad"], Look())
    top = full_colour(rows())
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (-top, top)
    assert [list(stop) for stop in figure.layout.coloraxis.colorscale] == two_sided(LIGHT)
    assert {heat.coloraxis for heat in figure.data} == {"coloraxis"}


def test_what_is_taken_away_is_hatched_in_its_own_map_alone():
    shapes = map_grid(rows(), ["not", "bad"], Look()).layout.shapes
    assert [(shape.xref, shape.path) for shape in shapes[:1]] == [("x2", "M-0.5,1.5L1.5,-0.5")]
    assert {shape.line.color for shape in shapes} == {LIGHT.paper} and shapes[-1].xref == "x3"


def test_maps_without_minus_use_the_upper_half():
    colours = map_grid(rows()[:1], ["not", "bad"], Look()).layout.coloraxis
    assert colours.cmin == 0
    assert [list(stop) for stop in colours.colorscale] == sequential(LIGHT)


def test_the_first_word_reads_in_the_first_row():
    figure = map_grid(rows(), ["not", "bad"], Look())
    heat = figure.data[0]
    assert (heat.y[0], heat.x[1]) == ("not (1)", "bad (2)")
    assert heat.z[0][1] == 0.25
    assert figure.layout.yaxis.autorange == "reversed"


def test_rows_of_the_grid_stand_below_each_other_and_heads_beside_each_other():
    layout = map_grid([MapRow("a", MAPS[:, 0]), MapRow("b", MAPS[:, 0])], ["a", "b"], Look()).layout
    assert layout.xaxis.domain[1] < layout.xaxis2.domain[0]
    assert layout.xaxis.domain == layout.xaxis3.domain
    assert layout.yaxis3.domain[1] < layout.yaxis.domain[0]
    assert (layout.yaxis.domain[1], layout.xaxis2.domain[1], layout.yaxis3.domain[0]) == (1, 1, 0)
    assert [layout.yaxis.title.text, layout.yaxis3.title.text] == ["a", "b"]


def test_words_are_not_markup():
    assert "<img" not in str(map_grid(rows(), ["<img src=x>", "b"], Look()).to_plotly_json())


def test_full_colour_is_the_985_per_mille_weight_and_never_zero():
    weights = np.linspace(0, 1, 1001).reshape(1, 7, 143)
    assert full_colour([MapRow("a", weights)]) == pytest.approx(0.985)
    assert full_colour([MapRow("a", np.zeros((1, 2, 2)))]) == 1.0
    lonely = np.zeros((1, 20, 20))
    lonely[0, 0, 0] = 0.4
    assert full_colour([MapRow("a", lonely)]) == 0.4


def test_rounding_is_not_stretched_to_full_colour():
    rounding = np.full((1, 20, 20), 3e-8)
    assert full_colour([MapRow("a", rounding)]) == 1.0
    rounding[0, 4, 4] = 0.09
    assert full_colour([MapRow("a", rounding)]) == 0.09


def test_coefficients_have_a_dot_for_each_value_and_keep_their_sign():
    per_token = np.stack([np.ones((2, 3)), np.array([[-0.1, -0.2, -0.3], [-0.1, -0.2, -0.3]])])
    figure = coefficients([MINUS, per_token], True, Look())
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert [sorted(dot.x) for dot in dots] == [[-0.5], pytest.approx([-0.3, -0.2, -0.1])]
    assert {(dot.marker.color, dot.marker.line.color) for dot in dots} == {(LIGHT.paper, LIGHT.ink)}  # hollow
    assert {trace.line.dash for trace in figure.data if trace.mode == "lines"} == {"dash"}
    assert [dot.y[0] for dot in dots] == ["layer 1, −λ₁", "layer 2, −λ₁"]
    assert "−0.20 on average" in [note.text for note in figure.layout.annotations]


def test_the_input_stays_as_it_was():
    before = MAPS.copy(), MINUS.copy()
    map_grid(rows(), ["a", "b"], Look())
    coefficients([MINUS], True, Look())
    assert (before[0] == MAPS).all()
    assert (before[1] == MINUS).all()


def test_per_row_the_strongest_weight_of_each_reader_is_one_and_keeps_its_sign():
    weights = scaled(MapRow("a", np.array([[[0.2, -0.4], [0.0, 0.0]]])), "per row").weights
    assert weights.tolist() == [[[0.5, -1.0], [0.0, 0.0]]]


def test_against_uniform_a_softmax_is_its_weight_times_tokens_minus_one():
    weights = scaled(MapRow("a", MAPS[0]), "against uniform").weights
    assert weights == pytest.approx(MAPS[0] * 2 - 1)


def test_against_uniform_a_weighted_map_is_held_against_its_own_even_spread():
    even = MapRow("a", np.full((1, 4, 4), 0.3 / 4))
    assert scaled(even, "against uniform").weights == pytest.approx(0)


def test_absolute_weights_stay_and_every_scale_has_a_label():
    row = MapRow("a", MAPS[0], frozenset({0}))
    assert scaled(row, "absolute") is row
    for name, label in SCALES.items():
        figure = map_grid([scaled(row, name)], ["not", "bad"], Look(), label=label)
        assert figure.layout.coloraxis.colorbar.title.text.split(";")[0] == label


def test_a_head_that_is_off_is_written_into_its_map():
    row = MapRow("a", np.zeros((2, 2, 2)), frozenset({1}))
    notes = [note for note in map_grid([row], ["a", "b"], Look()).layout.annotations if note.text == "off"]
    assert [(note.xref, note.yref) for note in notes] == [("x2 domain", "y2 domain")]


def test_a_long_text_is_drawn_in_blocks_of_its_strongest_weights():
    weights = np.zeros((1, 2 * MOST, 2 * MOST))
    weights[0, 1, 2], weights[0, 3, 3] = 0.5, -0.75
    (heat,) = map_grid([MapRow("a", weights)], ["w"] * (2 * MOST), Look(), top=1.0).data
    assert block(2 * MOST) == 2
    assert heat.z.shape == (MOST, MOST)
    assert heat.z[0, 1] == 0.5
    assert heat.z[1, 1] == -0.75
    assert np.count_nonzero(heat.z) == 2


def test_an_odd_length_keeps_its_last_token():
    weights = np.zeros((1, MOST + 1, MOST + 1))
    weights[0, MOST, MOST] = 0.5
    (heat,) = map_grid([MapRow("a", weights)], ["w"] * (MOST + 1), Look(), top=1.0).data
    assert heat.z.shape == (len(heat.x), len(heat.y))
    assert heat.z[-1, -1] == 0.5


def test_a_map_that_stands_alone_has_its_words_along_both_sides():
    layout = map_grid([MapRow("", MAPS[:, 0][:1])], ["not", "<b>"], Look(), numbered=False, worded=True).layout
    for axis in (layout.xaxis, layout.yaxis):
        assert axis.showticklabels and list(axis.ticktext) == ["not", "&lt;b&gt;"]
    assert layout.xaxis.side == "top"  # below is the colour bar


def test_words_that_would_not_fit_along_a_map_are_left_to_its_hover_labels():
    weights = np.zeros((1, NAMED + 1, NAMED + 1))
    layout = map_grid([MapRow("", weights)], ["w"] * (NAMED + 1), Look(), numbered=False, worded=True).layout
    assert not layout.xaxis.showticklabels
