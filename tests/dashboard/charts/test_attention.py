"""Heat maps and coefficients of one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.charts.attention import MapRow, coefficients, component_rows, full_colour, map_grid
from dashboard.charts.theme import LIGHT, Look, diverging, sequential

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
    for heat in figure.data:
        assert (heat.zmin, heat.zmax) == (-top, top)
        assert [list(stop) for stop in heat.colorscale] == diverging(LIGHT)


def test_maps_without_minus_use_the_upper_half():
    (heat,) = map_grid(rows()[:1], ["not", "bad"], Look()).data
    assert heat.zmin == 0
    assert [list(stop) for stop in heat.colorscale] == sequential(LIGHT)


def test_the_first_word_reads_in_the_first_row():
    figure = map_grid(rows(), ["not", "bad"], Look())
    heat = figure.data[0]
    assert (heat.y[0], heat.x[1]) == ("not (1)", "bad (2)")
    assert heat.z[0][1] == 0.25
    assert figure.layout.yaxis.autorange == "reversed"


def test_only_one_colour_bar_for_all_maps():
    assert [heat.showscale for heat in map_grid(rows(), ["a", "b"], Look()).data] == [True, False, False]


def test_words_are_not_markup():
    assert "<img" not in str(map_grid(rows(), ["<img src=x>", "b"], Look()).to_plotly_json())


def test_full_colour_is_the_985_per_mille_weight_and_never_zero():
    weights = np.linspace(0, 1, 1001).reshape(1, 7, 143)
    assert full_colour([MapRow("a", weights)]) == pytest.approx(0.985)
    assert full_colour([MapRow("a", np.zeros((1, 2, 2)))]) == 1.0
    lonely = np.zeros((1, 20, 20))
    lonely[0, 0, 0] = 0.4
    assert full_colour([MapRow("a", lonely)]) == 0.4


def test_coefficients_have_a_dot_for_each_value_and_keep_their_sign():
    per_token = np.stack([np.ones((2, 3)), np.array([[-0.1, -0.2, -0.3], [-0.1, -0.2, -0.3]])])
    figure = coefficients([MINUS, per_token], True, Look())
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert [sorted(dot.x) for dot in dots] == [[-0.5], pytest.approx([-0.3, -0.2, -0.1])]
    assert {dot.marker.color for dot in dots} == {LIGHT.minus}
    assert [dot.y[0] for dot in dots] == ["layer 1, −λ₁", "layer 2, −λ₁"]
    assert "−0.20 on average" in [note.text for note in figure.layout.annotations]


def test_the_input_stays_as_it_was():
    before = MAPS.copy(), MINUS.copy()
    map_grid(rows(), ["a", "b"], Look())
    coefficients([MINUS], True, Look())
    assert (before[0] == MAPS).all()
    assert (before[1] == MINUS).all()
