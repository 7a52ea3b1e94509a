"""Heat maps and coefficients of one sentence."""

import re

import numpy as np
import pytest

from dashboard.figures import attention
from dashboard.figures.attention import MapRow, draw_map_grid
from dashboard.figures.theme import LIGHT, Look, make_sequential_scale, make_two_sided_scale


def ends(path: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, re.findall(r"-?[\d.]+", line))) for line in path.split("M")[1:]]


def test_cells_on_a_diagonal_share_a_line_and_a_gap_splits_it():
    away = np.zeros((3, 4), bool)
    assert attention.draw_stripes(away) == "" and attention.make_hatching(away, "", 1, Look()) is None
    away[2, 1] = True
    assert ends(attention.draw_stripes(away)) == [(0.5, 2.5, 1.5, 1.5)]  # y grows downwards
    away = np.fliplr(np.eye(4, dtype=bool))
    assert ends(attention.draw_stripes(away)) == [(-0.5, 3.5, 3.5, -0.5)]
    away[1, 2] = False
    assert ends(attention.draw_stripes(away)) == [(-0.5, 3.5, 1.5, 1.5), (2.5, 0.5, 3.5, -0.5)]


def test_hatching_covers_only_negative_cells_with_a_limited_number_of_lines():
    away = np.random.default_rng(0).random((9, 7)) < 0.4
    for x, y, to_x, to_y in ends(attention.draw_stripes(away)):
        assert to_x - x == y - to_y > 0
        assert all(away[round(y - 0.5 - step), round(x + 0.5 + step)] for step in range(round(to_x - x)))
    assert len(ends(attention.draw_stripes(np.ones((256, 256), bool)))) <= 2 * attention.STRIPES


MAPS = np.array([[[[0.75, 0.25], [0.5, 0.5]]], [[[0.0, 1.0], [1.0, 0.0]]]])  # (N 2, H 1, L 2, L 2)
MINUS = np.array([[[1.0, 1.0]], [[-0.5, -0.5]]])  # (N, H, L)


def rows():
    return attention.build_component_rows(MAPS, MINUS, (MINUS[..., None] * MAPS).sum(0), subtracts=True)


def test_component_row_is_its_map_times_its_coefficient():
    base, second, joined = rows()
    assert [row.name for row in rows()] == ["A₀", "−λ₁A₁", "A₀ − λ₁A₁"]
    assert (base.weights == MAPS[0]).all()
    assert (second.weights == -0.5 * MAPS[1]).all()
    assert joined.weights == pytest.approx(base.weights + second.weights)


def test_three_added_components_end_in_a_sum_and_a_single_one_has_none():
    maps, c = np.full((3, 1, 2, 2), 0.5), np.ones((3, 1, 2))
    assert [row.name for row in attention.build_component_rows(maps, c, maps.sum(0), False)] == [
        "A₀",
        "λ₁A₁",
        "λ₂A₂",
        "sum",
    ]
    assert [row.name for row in attention.build_component_rows(maps[:1], c[:1], maps[0], False)] == ["A₀"]


def test_signed_maps_have_a_symmetric_scale_and_hatched_negative_cells():
    figure, top = draw_map_grid(rows(), ["not", "bad"], Look()), attention.find_top_weight(rows())
    colors = figure.layout.coloraxis
    assert (colors.cmin, colors.cmax) == (-top, top)
    assert [list(stop) for stop in colors.colorscale] == make_two_sided_scale(LIGHT)
    assert {heat.coloraxis for heat in figure.data} == {"coloraxis"}
    first, *_, last = figure.layout.shapes
    assert (first.xref, first.path, last.xref) == ("x2", "M-0.5,1.5L1.5,-0.5", "x3")
    assert {shape.line.color for shape in figure.layout.shapes} == {LIGHT.paper}
    colors = draw_map_grid(rows()[:1], ["not", "bad"], Look()).layout.coloraxis
    assert colors.cmin == 0 and [list(stop) for stop in colors.colorscale] == make_sequential_scale(LIGHT)


def test_first_word_attends_in_the_first_row_and_words_are_escaped():
    figure = draw_map_grid(rows(), ["not", "<bad>"], Look())
    heat = figure.data[0]
    assert (heat.y[0], heat.x[1]) == ("not (1)", "&lt;bad&gt; (2)") and heat.z[0][1] == 0.25
    assert figure.layout.yaxis.autorange == "reversed"


def test_map_rows_are_stacked_and_heads_are_columns():
    layout = draw_map_grid([MapRow("a", MAPS[:, 0]), MapRow("b", MAPS[:, 0])], ["a", "b"], Look()).layout
    assert layout.xaxis.domain[1] < layout.xaxis2.domain[0]
    assert layout.xaxis.domain == layout.xaxis3.domain
    assert layout.yaxis3.domain[1] < layout.yaxis.domain[0]
    assert (layout.yaxis.domain[1], layout.xaxis2.domain[1], layout.yaxis3.domain[0]) == (1, 1, 0)
    assert [layout.yaxis.title.text, layout.yaxis3.title.text] == ["a", "b"]


def test_top_weight_is_a_quantile_and_never_zero_or_rounding():
    assert attention.find_top_weight([MapRow("a", np.linspace(0, 1, 1001).reshape(1, 7, 143))]) == pytest.approx(0.985)
    for least in (0.0, 3e-8):
        weights = np.full((1, 20, 20), least)
        assert attention.find_top_weight([MapRow("a", weights)]) == 1.0
        weights[0, 0, 0] = 0.4
        assert attention.find_top_weight([MapRow("a", weights)]) == 0.4


def test_coefficients_have_a_dot_per_value_and_keep_their_sign():
    per_token = np.stack([np.ones((2, 3)), np.array([[-0.1, -0.2, -0.3], [-0.1, -0.2, -0.3]])])
    figure = attention.draw_coefficients([MINUS, per_token], True, Look())
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert [sorted(dot.x) for dot in dots] == [[-0.5], pytest.approx([-0.3, -0.2, -0.1])]
    assert {(dot.marker.color, dot.marker.line.color) for dot in dots} == {(LIGHT.paper, LIGHT.ink)}  # hollow dots
    assert {trace.line.dash for trace in figure.data if trace.mode == "lines"} == {"dash"}
    assert [dot.y[0] for dot in dots] == ["layer 1, −λ₁", "layer 2, −λ₁"]
    assert "−0.20 on average" in [note.text for note in figure.layout.annotations]


@pytest.mark.parametrize(
    ("weights", "scale", "wanted"),
    [
        ([[[0.2, -0.4], [0.0, 0.0]]], "per row", [[[0.5, -1.0], [0.0, 0.0]]]),
        (MAPS[0], "against uniform", MAPS[0] * 2 - 1),  # softmax: weight · tokens − 1
        (np.full((1, 4, 4), 0.3 / 4), "against uniform", np.zeros((1, 4, 4))),  # weighted map: relative to its mean
    ],
)
def test_row_scale_divides_by_the_strongest_weight_of_the_row(weights, scale, wanted):
    assert attention.scale_row(MapRow("a", np.array(weights)), scale).weights == pytest.approx(np.array(wanted))


def test_absolute_scale_keeps_weights_and_each_scale_has_a_label():
    row = MapRow("a", MAPS[0], frozenset({0}))
    assert attention.scale_row(row, "absolute") is row
    for name, label in attention.SCALES.items():
        figure = draw_map_grid([attention.scale_row(row, name)], ["not", "bad"], Look(), label=label)
        assert figure.layout.coloraxis.colorbar.title.text.split(";")[0] == label


def test_ablated_head_is_labeled_on_its_map():
    row = MapRow("a", np.zeros((2, 2, 2)), frozenset({1}))
    notes = [note for note in draw_map_grid([row], ["a", "b"], Look()).layout.annotations if note.text == "off"]
    assert [(note.xref, note.yref) for note in notes] == [("x2 domain", "y2 domain")]


def test_long_text_is_drawn_in_blocks_of_its_strongest_weights():
    weights = np.zeros((1, 2 * attention.MOST, 2 * attention.MOST))
    weights[0, 1, 2], weights[0, 3, 3] = 0.5, -0.75
    (heat,) = draw_map_grid([MapRow("a", weights)], ["w"] * (2 * attention.MOST), Look(), top=1.0).data
    assert attention.get_block_size(2 * attention.MOST) == 2 and heat.z.shape == (attention.MOST, attention.MOST)
    assert (heat.z[0, 1], heat.z[1, 1], np.count_nonzero(heat.z)) == (0.5, -0.75, 2)
    odd = weights[:, : attention.MOST + 1, : attention.MOST + 1]
    odd[0, attention.MOST, attention.MOST] = 0.5
    (heat,) = draw_map_grid([MapRow("a", odd)], ["w"] * (attention.MOST + 1), Look(), top=1.0).data
    assert heat.z.shape == (len(heat.x), len(heat.y)) and heat.z[-1, -1] == 0.5


def test_single_map_has_words_on_both_sides_if_they_fit():
    layout = draw_map_grid([MapRow("", MAPS[:, 0][:1])], ["not", "<b>"], Look(), numbered=False, worded=True).layout
    for axis in (layout.xaxis, layout.yaxis):
        assert axis.showticklabels and list(axis.ticktext) == ["not", "&lt;b&gt;"]
    assert layout.xaxis.side == "top"  # the colour bar is below
    weights = np.zeros((1, attention.NAMED + 1, attention.NAMED + 1))
    long = draw_map_grid(
        [MapRow("", weights)], ["w"] * (attention.NAMED + 1), Look(), numbered=False, worded=True
    ).layout
    assert not long.xaxis.showticklabels
