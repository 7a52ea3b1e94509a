"""Attention maps of one sentence: heat maps and coefficients, rows, text about differences, tables."""

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest

from core.interpret.model_edits import Edits
from core.interpret.sentence_inspection import CLASS_TOKEN as CORE_CLASS_TOKEN
from core.interpret.sentence_inspection import LayerView, SentenceView, name_padding
from dashboard.figures import attention
from dashboard.figures.attention import CLASS_TOKEN, MapRow, draw_map_grid, scale_row
from dashboard.figures.attention_heads import HEAD_VIEW, Lines, build_layer_maps
from dashboard.figures.theme import LIGHT, Look, make_sequential_scale, make_two_sided_scale

MAPS = np.array([[[[0.75, 0.25], [0.5, 0.5]]], [[[0.0, 1.0], [1.0, 0.0]]]])  # (N 2, H 1, L 2, L 2)
MINUS = np.array([[[1.0, 1.0]], [[-0.5, -0.5]]])  # (N, H, L)
TWO_HEADS = np.array([[[[0.75, 0.25], [0.5, 0.5]]] * 2, [[[0.0, 1.0], [1.0, 0.0]]] * 2])  # (N 2, H 2, L 2, L 2)


def ends(path: str) -> list[tuple[float, ...]]:
    return [tuple(map(float, re.findall(r"-?[\d.]+", line))) for line in path.split("M")[1:]]


def test_hatching_covers_only_negative_cells_with_one_line_for_each_diagonal():
    away = np.zeros((3, 4), bool)
    assert attention.draw_stripes(away) == "" and attention.make_hatching(away, "", 1, Look()) is None
    away[2, 1] = True
    assert ends(attention.draw_stripes(away)) == [(0.5, 2.5, 1.5, 1.5)]  # y grows downwards
    away = np.fliplr(np.eye(4, dtype=bool))
    assert ends(attention.draw_stripes(away)) == [(-0.5, 3.5, 3.5, -0.5)]
    away[1, 2] = False
    assert ends(attention.draw_stripes(away)) == [(-0.5, 3.5, 1.5, 1.5), (2.5, 0.5, 3.5, -0.5)]
    away = np.random.default_rng(0).random((9, 7)) < 0.4
    for x, y, to_x, to_y in ends(attention.draw_stripes(away)):
        assert to_x - x == y - to_y > 0
        assert all(away[round(y - 0.5 - step), round(x + 0.5 + step)] for step in range(round(to_x - x)))
    assert len(ends(attention.draw_stripes(np.ones((256, 256), bool)))) <= 2 * attention.STRIPES


def rows():
    return attention.build_component_rows(MAPS, MINUS, (MINUS[..., None] * MAPS).sum(0), subtracts=True)


def test_rows_are_maps_times_their_coefficients_and_end_in_their_sum():
    base, second, joined = rows()
    assert [row.name for row in rows()] == ["A₀", "−λ₁A₁", "A₀ − λ₁A₁"]
    assert (base.weights == MAPS[0]).all() and (second.weights == -0.5 * MAPS[1]).all()
    assert joined.weights == pytest.approx(base.weights + second.weights)
    maps, c = np.full((3, 1, 2, 2), 0.5), np.ones((3, 1, 2))
    several = attention.build_component_rows(maps, c, maps.sum(0), False)
    assert [row.name for row in several] == ["A₀", "λ₁A₁", "λ₂A₂", "sum"]
    assert [row.name for row in attention.build_component_rows(maps[:1], c[:1], maps[0], False)] == ["A₀"]


def test_signed_maps_have_a_symmetric_scale_hatched_cells_and_escaped_words():
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
    figure = draw_map_grid(rows(), ["not", "<bad>"], Look())
    heat = figure.data[0]
    assert (heat.y[0], heat.x[1]) == ("not (1)", "&lt;bad&gt; (2)") and heat.z[0][1] == 0.25
    assert figure.layout.yaxis.autorange == "reversed"


def test_map_rows_are_stacked_heads_are_columns_and_ablated_ones_labeled():
    layout = draw_map_grid([MapRow("a", MAPS[:, 0]), MapRow("b", MAPS[:, 0])], ["a", "b"], Look()).layout
    assert layout.xaxis.domain[1] < layout.xaxis2.domain[0] and layout.xaxis.domain == layout.xaxis3.domain
    assert layout.yaxis3.domain[1] < layout.yaxis.domain[0]
    assert (layout.yaxis.domain[1], layout.xaxis2.domain[1], layout.yaxis3.domain[0]) == (1, 1, 0)
    assert [layout.yaxis.title.text, layout.yaxis3.title.text] == ["a", "b"]
    row = MapRow("a", np.zeros((2, 2, 2)), frozenset({1}))
    notes = [note for note in draw_map_grid([row], ["a", "b"], Look()).layout.annotations if note.text == "off"]
    assert [(note.xref, note.yref) for note in notes] == [("x2 domain", "y2 domain")]


def test_coefficients_keep_their_sign_and_the_absolute_scale_ends_at_a_quantile():
    per_token = np.stack([np.ones((2, 3)), np.array([[-0.1, -0.2, -0.3], [-0.1, -0.2, -0.3]])])
    figure = attention.draw_coefficients([MINUS, per_token], True, Look())
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert [sorted(dot.x) for dot in dots] == [[-0.5], pytest.approx([-0.3, -0.2, -0.1])]
    assert {(dot.marker.color, dot.marker.line.color) for dot in dots} == {(LIGHT.paper, LIGHT.ink)}  # hollow dots
    assert {trace.line.dash for trace in figure.data if trace.mode == "lines"} == {"dash"}
    assert [dot.y[0] for dot in dots] == ["layer 1, −λ₁", "layer 2, −λ₁"]
    assert "−0.20 on average" in [note.text for note in figure.layout.annotations]
    assert attention.find_top_weight([MapRow("a", np.linspace(0, 1, 1001).reshape(1, 7, 143))]) == pytest.approx(0.985)
    for least in (0.0, 3e-8):
        weights = np.full((1, 20, 20), least)
        assert attention.find_top_weight([MapRow("a", weights)]) == 1.0
        weights[0, 0, 0] = 0.4
        assert attention.find_top_weight([MapRow("a", weights)]) == 0.4
    row = MapRow("a", MAPS[0], frozenset({0}))
    assert attention.scale_row(row, "absolute") is row
    for name, label in attention.SCALES.items():
        figure = draw_map_grid([attention.scale_row(row, name)], ["not", "bad"], Look(), label=label)
        assert figure.layout.coloraxis.colorbar.title.text.split(";")[0] == label


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


def test_single_map_has_words_if_they_fit_and_long_text_is_drawn_in_blocks():
    layout = draw_map_grid([MapRow("", MAPS[:, 0][:1])], ["not", "<b>"], Look(), numbered=False, worded=True).layout
    for axis in (layout.xaxis, layout.yaxis):
        assert axis.showticklabels and list(axis.ticktext) == ["not", "&lt;b&gt;"]
    assert layout.xaxis.side == "top"  # the colour bar is below
    weights = np.zeros((1, attention.NAMED + 1, attention.NAMED + 1))
    long = draw_map_grid([MapRow("", weights)], ["w"] * len(weights[0]), Look(), numbered=False, worded=True).layout
    assert not long.xaxis.showticklabels
    weights = np.zeros((1, 2 * attention.MOST, 2 * attention.MOST))
    weights[0, 1, 2], weights[0, 3, 3] = 0.5, -0.75
    (heat,) = draw_map_grid([MapRow("a", weights)], ["w"] * (2 * attention.MOST), Look(), top=1.0).data
    assert attention.get_block_size(2 * attention.MOST) == 2 and heat.z.shape == (attention.MOST, attention.MOST)
    assert (heat.z[0, 1], heat.z[1, 1], np.count_nonzero(heat.z)) == (0.5, -0.75, 2)
    odd = weights[:, : attention.MOST + 1, : attention.MOST + 1]
    odd[0, attention.MOST, attention.MOST] = 0.5
    (heat,) = draw_map_grid([MapRow("a", odd)], ["w"] * (attention.MOST + 1), Look(), top=1.0).data
    assert heat.z.shape == (len(heat.x), len(heat.y)) and heat.z[-1, -1] == 0.5


def view(tokens=("not", "bad"), unknown=(False, False), positive=0.7, truncated=0, coefficients=(1.0, 0.5)):
    c = np.broadcast_to(np.array(coefficients)[:, None, None], (2, 2, 2))
    layer = LayerView(TWO_HEADS, c, (c[..., None] * TWO_HEADS).sum(0), np.zeros((2, 2, 4)), None, {}, None, None)
    text = " ".join(tokens)
    return SentenceView(
        **{"text": text, "read_as": text, "tokens": tuple(tokens), "truncated": truncated, "cut": ""},
        unknown=tuple(unknown),
        unknown_words=sum(unknown) / len(unknown) if unknown else 0.0,
        label="positive" if positive > 0.5 else "negative",
        probabilities={"negative": 1 - positive, "positive": positive},
        layers=(layer, layer),
        **{"pooled": np.zeros(4), "positions": {}, "branches": {}, **dict.fromkeys(("tags", "polarity", "head_maps"))},
    )


def test_combined_maps_are_numbered_by_layer_and_differences_follow_the_second_class():
    rows = attention.build_combined_rows(view(), False)
    assert [row.name for row in rows] == ["layer 1", "layer 2"]
    assert rows[0].weights == pytest.approx(TWO_HEADS[0] + 0.5 * TWO_HEADS[1])
    assert attention.sum_received(attention.build_map_rows(view(), 0, False)[0]) == [0.625, 0.375]
    base, second, joined = attention.build_map_rows(view(), 0, False, Edits(heads_off=((0, 1), (1, 0))))
    for row in (base, second, joined):
        assert row.off == {1} and (row.weights[1] == 0).all()
    assert (base.weights[0] == TWO_HEADS[0, 0]).all()
    rows = attention.build_map_rows(view(coefficients=(1.0, 0.0)), 1, False, Edits(components_off=((1, 1),)))
    assert [row.off for row in rows] == [frozenset(), {0, 1}, frozenset()]
    assert (rows[2].weights == TWO_HEADS[0]).all(), "the sum goes on"
    before = view(positive=0.741)
    told = "against the trained model"
    assert attention.describe_difference(before, view(positive=0.828)) == f"P(positive) 0.828, +0.087 {told}"
    said = attention.describe_difference(before, view(positive=0.3))
    assert said == f"P(positive) 0.300, −0.441 {told}; the answer is negative instead of positive"
    several = SimpleNamespace(probabilities={"a": 0.2, "b": 0.2, "c": 0.6}, label="c")
    assert attention.choose_watched_class(several) == "c", "of several: it"


def test_special_tokens_and_padding_are_described_and_weighted_as_their_tokens():
    assert attention.describe_special(view(), 0).startswith("A single sentence needs no padding")
    said = attention.describe_special(view(tokens=(CLASS_TOKEN, "bad")), 0)
    assert said.startswith("[CLS] is a learned token") and "weight of exactly 0" in said
    assert CLASS_TOKEN == CORE_CLASS_TOKEN
    folded = dataclasses.replace(view(tokens=("bad", name_padding(3)), coefficients=(1.0, 0.0)), filled=3)
    said = attention.describe_special(folded, 0)
    # A query with 1 position and 0.25 on padding, and one with 3 positions and 0.5.
    assert said.startswith("[PAD] × 3: 3 padding tokens, weight 0.44 (mean over tokens and heads)")
    assert "exactly 0" not in said and "[CLS]" not in said
    assert "exactly 0" not in attention.describe_special(dataclasses.replace(view(), filled=0), 0)
    folded = dataclasses.replace(view(tokens=("bad", name_padding(3))), filled=3)
    rows = attention.build_map_rows(folded, 0, False)
    assert attention.sum_received(rows[0]) == pytest.approx([0.75 / 4 + 0.5 * 3 / 4, 0.25 / 4 + 0.5 * 3 / 4])
    assert attention.build_combined_rows(folded, False)[0].places.tolist() == [1, 3]
    # Uniform attention over 4 positions gives a word 1/4 and the folded rest 3/4.
    even = dataclasses.replace(rows[0], weights=np.array([[[0.25, 0.75], [0.25, 0.75]]]))
    assert scale_row(even, "against uniform").weights == pytest.approx(0, abs=1e-6)


FOLDED = dataclasses.replace(view(tokens=("not", "bad", name_padding(7)), unknown=(False,) * 3), filled=7)
PLAIN = dataclasses.replace(view(), layers=())


@pytest.mark.parametrize(
    ("first", "second", "title", "said"),
    [
        (view(), view(positive=0.1), "", "Both models read the same 2 tokens."),
        (PLAIN, PLAIN, "", "Both models read the same 2 tokens."),
        (view(), PLAIN, "Only one of the two models has attention", "The other reads the words without it."),
        (PLAIN, view(), "Only one of the two models has attention", "The other reads the words without it."),
        (
            view(),
            FOLDED,
            "The two models read padding differently",
            "Both read the same 2 tokens, the first without padding, the second with 7 padding tokens after them.",
        ),
        (
            view(),
            view(unknown=(False, True)),
            "The two vocabularies differ",
            "Unknown to the first: nothing. Unknown to the second: bad.",
        ),
        (
            view(),
            view(tokens=("n", "ot"), truncated=3),
            "The two models cut the text differently",
            "The first reads 2 tokens, the second reads 2 tokens and cuts 3 off: their positions do not match.",
        ),
    ],
)
def test_different_tokens_of_two_models_are_described(first, second, title, said):
    assert attention.compare_views(first, second) == (title, said)


def test_tables_have_each_weight_the_edits_the_cancellation_and_all_predictions():
    table = attention.build_attention_table(view(), False, Edits(heads_off=((0, 1),)), view())
    assert len(table) == 2 * 2 * 2 * 2
    off = table[(table["layer"] == 1) & (table["head"] == 2)]
    assert (off["A₀ + λ₁A₁"] == 0).all() and off["as_trained"].tolist() == pytest.approx([0.75, 0.75, 1.0, 0.5])
    assert set(table["changed"]) == {"head 2 of layer 1 off"}
    row = off.iloc[1]
    assert (row["place"], row["reads"], row["read_place"], row["is_read"]) == (1, "not", 2, "bad")
    assert not {"as_trained", "changed"} & set(attention.build_attention_table(view(), False, Edits(), view()).columns)
    shown = view(coefficients=(1.0, -0.5))
    table = attention.build_attention_table(shown, True)
    own = table[table["layer"] == 2].groupby("head")["cancelled"].unique()
    assert np.concatenate(own.to_list()).tolist() == pytest.approx(shown.measure_cancellation(1).tolist())
    layer = shown.layers[0]
    one = dataclasses.replace(layer, components=layer.components[:1], coefficients=layer.coefficients[:1])
    assert "cancelled" not in attention.build_attention_table(dataclasses.replace(shown, layers=(one, one)), False)
    table = attention.build_prediction_table({"probability": {"n": 0.25, "p": 0.75}, "other": {"p": 1.0}})
    assert list(table.columns) == ["class", "probability", "other"]
    assert table.set_index("class")["probability"].to_dict() == {"n": 0.25, "p": 0.75}
    assert table.set_index("class")["other"].isna().to_dict() == {"n": True, "p": False}


def test_head_view_reports_cancellation_if_there_is_any():
    shown = view(coefficients=(1.0, -0.5))
    lines = Lines(build_layer_maps(shown, 0, minus=True), 0)
    taken = [f"{100 * share:.0f} %" for share in shown.measure_cancellation(0)]
    about = HEAD_VIEW.draw(lines, Look()).data["about"]
    assert about == [f"its components cancel {share} of their weight" for share in taken]
    mean = f"{100 * shown.measure_cancellation(0).mean():.0f} %"
    assert f"In the sum {mean} of the components’ weight cancels out (" in HEAD_VIEW.reading(lines)
    added = Lines(build_layer_maps(view(), 0, minus=False), 0)
    assert HEAD_VIEW.draw(added, Look()).data["about"] == [] and "cancel" not in HEAD_VIEW.reading(added)
    first, second = (f"{100 * share:.0f} %" for share in view().measure_entropy(0))
    assert HEAD_VIEW.reading(added).endswith(f" Entropy (share of uniform): A₀ {first}, A₁ {second}.")
