"""The chart of the layers: what it shows of what was measured."""

from core.runs.layers import Layers, Stage
from dashboard.figures.class_separation import MAP_LAYERS, Depths, draw_depths
from dashboard.figures.theme import LIGHT, Look


def layers(silhouettes, purities, reason=""):
    names = ["embedding", "layer 1", "head"]
    stages = [Stage(name, 8, *values) for name, *values in zip(names, silhouettes, purities, strict=True)]
    return Layers(tuple(stages), (0, 2, 4), 6, 0.5, reason)


def test_two_lines_and_what_chance_would_give_with_the_layer_of_the_map_shaded():
    figure = draw_depths(Depths(layers([0.0, 0.1, 0.4], [0.6, 0.7, 0.9]), "layer 1"), Look())
    purity, silhouette = figure.data
    assert list(purity.y) == [0.6, 0.7, 0.9] and list(silhouette.y) == [0.0, 0.1, 0.4]
    assert purity.marker.symbol != silhouette.marker.symbol and purity.line.dash != silhouette.line.dash
    shaded, chance = figure.layout.shapes
    assert (shaded.x0, shaded.x1, shaded.fillcolor) == (0.8, 1.2, LIGHT.panel)
    assert chance.y0 == chance.y1 == 0.5
    assert {note.text for note in figure.layout.annotations} == {"purity", "silhouette", "by chance"}


def test_without_a_silhouette_the_reason_is_said_and_nothing_is_drawn_of_too_few():
    shown = Depths(layers([None] * 3, [0.6, 0.7, 0.9], "the sentences belong to fewer than two classes"))
    (purity,) = draw_depths(shown, Look(dark=True)).data
    assert list(purity.y) == [0.6, 0.7, 0.9]
    assert "No silhouette: the sentences belong to fewer than two classes." in MAP_LAYERS.say(MAP_LAYERS.reading, shown)
    assert MAP_LAYERS.say(MAP_LAYERS.note, shown) == "n = 3 of 6, a stratified sample"
    assert draw_depths(Depths(layers([None] * 3, [None] * 3)), Look()).data == ()


def test_its_table_has_every_stage_with_what_chance_would_give():
    shown = Depths(layers([0.0, 0.1, 0.4], [0.6, 0.7, 0.9]))
    table = MAP_LAYERS.numbers(shown)["Layers"]
    assert table["stage"].tolist() == ["embedding", "layer 1", "head"]
    assert table["purity"].tolist() == [0.6, 0.7, 0.9] and set(table["purity_by_chance"]) == {0.5}
    assert set(table["n"]) == {3}
