"""The points of a split, their colours, and the quality of the map."""

import numpy as np
import pandas as pd
import pytest
from answering import texts

from core.error_analysis.clusters import FoundGroup, FoundGroups
from core.evaluation.projection import Projection, ProjectionConfig, Quality, estimate_density
from core.exceptions import RunDamaged
from core.runs.projections import Layers, LayerStage
from core.runs.results import build_prediction_table
from dashboard.figures import embedding_map, embedding_structure, embeddings
from dashboard.figures.decisions import build_points_table
from dashboard.figures.embedding_map import PLAIN, MapOverlays, PlacedSentence, PointGroup, Shades, draw_map
from dashboard.figures.embedding_structure import MAP_LAYERS, Depths, Spectrum, draw_depths, draw_silhouettes
from dashboard.figures.theme import DARK, LIGHT, Look, blend_colors

CLASSES = ("negative", "positive")
CHANCES = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.1, 0.9]])
SAVED = build_prediction_table(texts([0, 0, 1, 1]).assign(text=list("abcd")), CHANCES, CLASSES)

POINTS = build_points_table(SAVED, CLASSES)
QUALITY = Quality(np.array([0, 2, 3]), np.array([0.1, 0.5, 0.3]), np.array([0.2, 0.4, 0.6]), 0.25)
MADE = Projection(np.array([0, 1, 2, 3]), np.arange(8.0).reshape(4, 2), QUALITY, (0.6, 0.3))
PCA = ProjectionConfig("pca")
FLAT = np.array([[0.0, 1], [2, 3], [4, 5]])
ROWS = np.array([3, 7, 9])
GROUPS = [PointGroup("a", np.array([0, 2]), "#111111"), PointGroup("b", np.array([1]), "#222222", "x")]
WORDS = ["one", "two", "three"]


def flat(groups=GROUPS, words=(), upon=PLAIN, axes=("", "")):
    return draw_map(FLAT, ROWS, words, groups, axes, Look(), upon)


def test_points_have_confidence_errors_have_a_shape_and_known_phenomena_a_color():
    assert POINTS["probability"].tolist() == [0.9, 0.6, 0.8, 0.9]
    with pytest.raises(RunDamaged, match="do not fit"):
        build_points_table(SAVED, ("yes", "no"))
    correct, wrong = embedding_map.color_points(POINTS, "correctness", CLASSES, LIGHT)
    assert correct.symbol != wrong.symbol and (correct.color, wrong.color) == (LIGHT.right, LIGHT.wrong)
    shades = embedding_map.color_points(POINTS, "confidence", CLASSES, LIGHT)
    assert (shades.low, shades.high) == (0.5, 1.0)
    assert "phenomenon" not in embedding_map.list_colorings(POINTS)
    known = build_points_table(SAVED.assign(phenomenon="plain"), CLASSES)
    assert embedding_map.list_colorings(known)[-2:] == ["phenomenon", embedding_map.GROUP]
    kinds = pd.DataFrame({"phenomenon": [kind for at, kind in enumerate("abcdefgh") for _ in range(8 - at)]})
    others, *groups = embedding_map.color_points(kinds, "phenomenon", CLASSES, LIGHT)
    assert [group.name for group in groups] == list("abcdef")
    assert (others.name, len(others.points), others.color) == ("others", 3, LIGHT.right)


def test_columns_of_few_values_numbers_and_dates_can_color_the_map():
    n = 20
    own = {"id": [f"R{row}" for row in range(n)], "source": ["web", "post"] * 10, "likes": range(n)}
    own |= {"label ": ["x"] * n, "confidence": ["high", "low"] * 10}
    known = build_points_table(pd.concat([SAVED] * 5, ignore_index=True).assign(**own), CLASSES)
    assert embedding_map.list_colorings(known)[4:] == ["source", "likes", "data confidence", embedding_map.GROUP]
    groups = embedding_map.color_points(known, "source", CLASSES, LIGHT)
    kinds = {"web": list(range(0, n, 2)), "post": list(range(1, n, 2))}
    assert {group.name: group.points.tolist() for group in groups} == kinds
    shades = embedding_map.color_points(known, "likes", CLASSES, LIGHT)
    assert (shades.title, shades.low, shades.high, shades.values.tolist()) == ("likes", 0, n - 1, list(range(n)))
    own = {"id": [str(1000 + row) for row in range(n)], "likes": [str(row % 9) for row in range(n)]}
    own["date"] = [f"2026-{1 + row // 2:02d}-03" for row in range(n)]
    known = build_points_table(pd.concat([SAVED] * 5, ignore_index=True).assign(**own), CLASSES)
    assert embedding_map.list_colorings(known)[4:] == ["likes", "date", embedding_map.GROUP]
    shades = embedding_map.color_points(known, "likes", CLASSES, LIGHT)
    assert (shades.low, shades.high, shades.values.tolist()) == (0, 8, [row % 9 for row in range(n)])
    quarters = embedding_map.color_points(known, "date", CLASSES, LIGHT)
    assert sorted(row for group in quarters for row in group.points.tolist()) == list(range(n))
    assert {group.points.tolist()[0]: group.name for group in quarters}[0].startswith("2026-01-03")


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("label", {"negative": [0, 1], "positive": [2, 3]}),
        ("prediction", {"negative": [0], "positive": [1, 2, 3]}),
        ("correctness", {"correct": [0, 2, 3], "wrong": [1]}),
    ],
)
def test_groups_cover_all_points(way, expected):
    groups = embedding_map.color_points(POINTS, way, CLASSES, LIGHT)
    assert {group.name: group.points.tolist() for group in groups} == expected


def test_hover_texts_are_short_numbers_have_their_n_and_pca_axes_have_titles():
    assert embeddings.write_hover_texts(POINTS)[1] == "b · label negative, predicted positive (0.600)"
    assert embeddings.write_hover_texts(POINTS.assign(text="x" * 100))[0].startswith("x" * 69 + "… ·")
    assert embeddings.write_hover_texts(pd.concat([POINTS] * 1300)) == []
    stats = {stat.name: (stat.value, stat.n) for stat in embeddings.compute_map_stats(MADE, PCA, 128)}
    assert stats["Silhouette, 128-D original"] == (pytest.approx(0.3), 3)
    assert stats["Silhouette, PCA, 2-D"] == (pytest.approx(0.4), 3)
    assert stats["10 nearest neighbours kept"] == (0.25, 3) and stats["Variance shown"] == (pytest.approx(0.9), 4)
    assert embeddings.name_axes(MADE, PCA)[0] == "component 1, 60 % of the variance"
    assert embeddings.name_axes(Projection(MADE.rows, MADE.places, QUALITY), ProjectionConfig("umap", 3)) == [""] * 3


def test_silhouettes_are_sorted_within_classes_and_are_in_the_table_of_points():
    (space, plane), there = embedding_structure.group_silhouettes(MADE, POINTS, CLASSES, PCA, 128)
    assert there == [0, 1] and space.title == "original space, 128 dimensions"
    assert {name: samples.tolist() for name, samples in space.classes} == {"negative": [0.1], "positive": [0.3, 0.5]}
    assert plane.overall == pytest.approx(0.4)
    table = embedding_structure.build_silhouette_table([space, plane])
    assert table.loc[(table["class"] == "positive"), "silhouette"].tolist() == pytest.approx([0.4, 0.5])
    assert table.loc[(table["class"] == "all"), "n"].tolist() == [3, 3]
    table = embeddings.build_point_table(MADE, POINTS)
    assert table["row"].tolist() == [0, 1, 2, 3] and table["y"].tolist() == [1, 3, 5, 7]
    assert table["silhouette_map"].isna().tolist() == [False, True, False, False]
    assert table["text"].tolist() == list("abcd")


def test_points_have_row_color_shape_and_count_and_a_map_in_3d_three_axes():
    figure = flat(words=WORDS, axes=["right", "up"])
    first, second = figure.data
    assert (list(first.customdata), list(first.x), list(first.y)) == ([3, 9], [0, 4], [1, 5])
    assert list(first.text) == ["one", "three"] and "n = 2" in first.name
    assert (second.marker.color, second.marker.symbol, first.type) == ("#222222", "x", "scattergl")
    layout = figure.layout
    assert (layout.dragmode, layout.clickmode, layout.yaxis.scaleanchor) == ("lasso", "event+select", "x")
    assert layout.xaxis.title.text == "right"
    groups = [
        PointGroup("wrong", np.array([1]), "#222222", front=True),
        PointGroup("correct", np.array([0, 2]), "#111111"),
    ]
    assert [trace.name[:5] for trace in flat(groups).data] == ["corre", "wrong"]
    places, upon = np.column_stack([FLAT, [6, 7, 8]]), MapOverlays(placed=PlacedSentence(np.ones(3), "mine"))
    figure = draw_map(places, ROWS, WORDS, GROUPS, ["1", "2", "3"], Look(), upon)
    assert [trace.type for trace in figure.data] == ["scatter3d"] * 3
    assert list(figure.data[0].z) == [6, 8] and figure.layout.scene.zaxis.title.text == "3"
    assert figure.layout.dragmode is None


@pytest.mark.parametrize(("dark", "tokens"), [(False, LIGHT), (True, DARK)])
def test_confidence_has_ordered_colors_and_not_those_of_signs(dark, tokens):
    shades = Shades("P(predicted)", np.array([0.5, 0.7, 1.0]), 0.5, 1.0)
    (points,) = draw_map(FLAT, ROWS, WORDS, shades, ["", ""], Look(dark=dark)).data
    assert (points.marker.cmin, points.marker.cmax) == (0.5, 1.0) and list(points.marker.color) == [0.5, 0.7, 1.0]
    assert [step[1] for step in points.marker.colorscale] == list(tokens.ordinal)


def test_texts_are_escaped_and_the_typed_sentence_cannot_be_selected():
    groups = [PointGroup("<b>a</b>", np.arange(3), "#111111")]
    upon = MapOverlays(placed=PlacedSentence(np.zeros(2), "<img src=x>"))
    drawn = str(flat(groups, words=["<i>x</i>"] * 3, upon=upon).to_plotly_json())
    assert "<i>" not in drawn and "<b>a" not in drawn and "<img" not in drawn and "&lt;i&gt;" in drawn
    mark = flat(words=WORDS, upon=MapOverlays(placed=PlacedSentence(np.array([8.0, 9.0]), "mine"))).data[-1]
    assert (mark.x[0], mark.y[0], mark.marker.symbol) == (8.0, 9.0, "diamond")
    assert mark.type == "scattergl", "in another layer the points would hide it"
    assert mark.customdata is None


def test_silhouettes_show_all_samples_with_means_or_have_a_reason():
    classes = (("neg", np.array([-0.5, 0.5])), ("pos", np.array([0.2, 0.4, 0.6])))
    both = [Spectrum("space", 0.24, classes), Spectrum("map", 0.3, classes)]
    figure = draw_silhouettes(both, ["#111111", "#222222"], Look())
    below, _, above, mean = figure.data[:4]
    assert list(below.x) == [0.2, 0.4, 0.6] and below.line.color == "#222222"
    assert list(above.x) == [-0.5, 0.5] and min(above.y) > max(below.y) and list(mean.x) == [0.0, 0.0]
    words = {"space", "map", "all 0.240", "all 0.300", "neg <b>0.000</b><br>n = 2", "pos <b>0.400</b><br>n = 3"}
    assert {note.text for note in figure.layout.annotations} == words
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == (-1, 1)
    shown = Depths(layers([None] * 3, [0.6, 0.7, 0.9], "the sentences belong to fewer than two classes"))
    (purity,) = draw_depths(shown, Look(dark=True)).data
    assert list(purity.y) == [0.6, 0.7, 0.9]
    said = MAP_LAYERS.resolve_text(MAP_LAYERS.reading, shown)
    assert "No silhouette: the sentences belong to fewer than two classes." in said
    assert MAP_LAYERS.resolve_text(MAP_LAYERS.note, shown) == "n = 3 of 6, a stratified sample"
    assert draw_depths(Depths(layers([None] * 3, [None] * 3)), Look()).data == ()


def test_search_gives_its_rows_rings_and_density_is_drawn_behind_the_points():
    *_, rings = flat(upon=MapOverlays(found=(9, 3, 500), wanted="<b>od")).data
    assert (list(rings.customdata), list(rings.x), rings.marker.symbol) == ([9, 3], [4, 0], "circle-open")
    assert "with “&lt;b&gt;od”" in rings.name and "n = 2" in rings.name
    assert rings.unselected.marker.opacity == 1, "a selection does not take the rings away"
    table = pd.DataFrame({"text": ["Not good", "nothing", "c.t", "cat"]})
    assert embeddings.find_matches(table, " not ").tolist() == [True, True, False, False]
    assert embeddings.find_matches(table, "c.t").tolist() == [False, False, True, False]
    assert not embeddings.find_matches(table, " ").any()
    places = np.random.default_rng(0).normal(size=(40, 2))
    groups, field = [PointGroup("a", np.arange(40), "#111111")], estimate_density(places)
    for look in (Look(), Look(dark=True)):
        behind, points = draw_map(places, np.arange(40), [], groups, ["", ""], look, MapOverlays(density=field)).data
        assert (behind.type, points.type) == ("contour", "scattergl") and behind.colorscale[0][1] == look.tokens.paper
        assert behind.colorscale[-1][1] == blend_colors(look.tokens.paper, look.tokens.ink, 0.2)
        assert np.allclose(behind.z, 1 - field.held)


def test_largest_groups_have_colors_and_other_points_are_gray():
    names, rows = "abcdefgh", np.arange(0, 40, 2)
    groups = tuple(FoundGroup(name, (), np.arange(4 * at, 4 * at + 4)) for at, name in enumerate(names))
    found = FoundGroups(groups, np.arange(32, 40), np.arange(40), 2)
    none, smaller, *colored = embedding_map.color_groups(rows, found, LIGHT)
    assert [each.name for each in colored] == list("abcdef")
    assert [each.color for each in colored] == list(LIGHT.categories)
    assert rows[colored[1].points].tolist() == [4, 6]
    assert (none.name, none.color, rows[none.points].tolist()) == ("no cluster", LIGHT.right, [32, 34, 36, 38])
    assert (smaller.name, smaller.symbol) == ("smaller clusters", "diamond")
    assert rows[smaller.points].tolist() == [24, 26, 28, 30]
    assert [each.name for each in embedding_map.color_groups(rows, None, LIGHT)] == ["no cluster"]


def layers(silhouettes, purities, reason=""):
    names = ["embedding", "layer 1", "head"]
    stages = [LayerStage(name, 8, *values) for name, *values in zip(names, silhouettes, purities, strict=True)]
    return Layers(tuple(stages), (0, 2, 4), 6, 0.5, reason)


def test_separation_has_two_lines_chance_the_shaded_layer_and_a_table():
    figure = draw_depths(Depths(layers([0.0, 0.1, 0.4], [0.6, 0.7, 0.9]), "layer 1"), Look())
    purity, silhouette = figure.data
    assert list(purity.y) == [0.6, 0.7, 0.9] and list(silhouette.y) == [0.0, 0.1, 0.4]
    assert purity.marker.symbol != silhouette.marker.symbol and purity.line.dash != silhouette.line.dash
    shaded, chance = figure.layout.shapes
    assert (shaded.x0, shaded.x1, shaded.fillcolor) == (0.8, 1.2, LIGHT.panel) and chance.y0 == chance.y1 == 0.5
    assert {note.text for note in figure.layout.annotations} == {"purity", "silhouette", "by chance"}
    table = MAP_LAYERS.build_tables(Depths(layers([0.0, 0.1, 0.4], [0.6, 0.7, 0.9])))["Layers"]
    assert table["stage"].tolist() == ["embedding", "layer 1", "head"]
    assert table["purity"].tolist() == [0.6, 0.7, 0.9] and set(table["purity_by_chance"]) == {0.5}
    assert set(table["n"]) == {3}
