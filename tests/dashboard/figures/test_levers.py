"""The parts of a model as levers: which there are, what each says, where a slider stands."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from core.interpret.lambdas import LambdaCurve, LambdaCurves
from core.interpret.learned import Learned
from core.interpret.parts import Part, Parts
from dashboard.figures.edits import Editable, Edits
from dashboard.figures.levers import Levers, _draw, part_table
from dashboard.figures.theme import LIGHT, Look


def shown(parts, can: Editable, *, edits=None, own=(), mixing="additive", tokens=(), curves=None, gates=()) -> Levers:
    attention = SimpleNamespace(mixing=mixing)
    config = SimpleNamespace(model=SimpleNamespace(attention=attention))
    record = SimpleNamespace(classes=("negative", "positive"), task="single", ordered=False, config=config)
    layers = tuple(SimpleNamespace(gates=np.array(each)) for each in gates)
    view = SimpleNamespace(probabilities={"negative": 0.25, "positive": 0.75}, label="positive", layers=layers)
    found = Parts("a b", "positive", {}, 0.0, tokens, tuple(parts), "")
    return Levers(record, view, view, found, curves, can, Learned(own, False), edits or Edits(), 0)


PLAIN = [Part("layer", 0, zero=2.0), Part("head", 0, head=0, zero=-1.0), Part("head", 0, head=1, zero=0.004)]
TWO = [
    *PLAIN,
    *(Part("component", 0, component=i, zero=0.5) for i in range(2)),
    *(Part("map", 0, head=head, component=i, zero=head + i / 10) for head in range(2) for i in range(2)),
]


def test_of_one_component_layers_stand_below_each_other_and_heads_beside_each_other():
    (grid,) = _draw(shown(PLAIN, Editable(1, 2, 1, 0, 1), edits=Edits(heads_off=((0, 1),))), Look()).data["grids"]
    assert grid["columns"] == ["1", "2", "all"] and [row["label"] for row in grid["rows"]] == ["layer 1"]
    first, second, every = grid["rows"][0]["cells"]
    assert [cell["push"] for cell in (first, second, every)] == ["−1.00", "0.00", "+2.00"]
    assert (first["colour"], second["colour"], every["colour"]) == (
        LIGHT.minus_scale[2],
        LIGHT.paper,
        LIGHT.plus_scale[5],
    )
    assert [cell["off"] for cell in (first, second, every)] == [False, True, False]
    assert every["parts"] == {"h1.1": "h1.1", "h1.2": "h1.2"}


def test_of_several_components_each_head_has_its_maps_and_each_lambda_its_slider():
    can, edits = Editable(1, 2, 2, -1.0, 1.0), Edits(maps_off=((0, 1, 0),), lambdas=((0, 1, 0.5),))
    data = _draw(shown(TWO, can, edits=edits, own=((0.174,),), mixing="differential"), Look()).data
    (grid,) = data["grids"]
    assert grid["columns"] == ["A₀", "−λ₁A₁", "whole head"]
    sliders, head, other, every = grid["rows"]
    assert sliders["sliders"][0] == "weight 1" and sliders["sliders"][2] is None
    slider = sliders["sliders"][1]
    assert (slider["part"], slider["learned"], slider["value"], slider["moved"]) == ("l1c1", 0.17, 0.5, True)
    assert (slider["low"], slider["high"]) == (-1.0, 1.0)
    assert [list(cell["parts"]) for cell in head["cells"]] == [["m1.1.0"], ["m1.1.1"], ["h1.1"]]
    assert [cell["off"] for cell in other["cells"]] == [True, False, False]
    assert [list(cell["parts"]) for cell in every["cells"]] == [["c1.0"], ["c1.1"], ["h1.1", "h1.2"]]
    assert data["changed"] == edits.words() and "P(positive)" in data["said"]


def test_a_gate_is_closed_by_its_cell_and_a_lexicon_has_a_slider():
    parts = [*PLAIN, Part("gate", 0, token=1, zero=0.3, mean=-0.2), Part("lexical", 0, zero=0.1)]
    can = Editable(1, 2, 1, 0, 1, gated=2, lexical=True)
    tokens, edits = ("[CLS]", "<b>outstanding"), Edits(gates=((0, 1, 0.0),), lexical=0.5)
    closed = shown(parts, can, edits=edits, tokens=tokens, gates=[[1.0, 0.625]])
    data = _draw(closed, Look()).data
    gates = data["grids"][1]
    assert gates["columns"] == ["<b>outs…"]  # the script writes it as text
    cells, open_ = gates["rows"]
    (cell,), (gate,) = cells["cells"], open_["gates"]
    assert (gate["part"], gate["low"], gate["high"], gate["moved"]) == ("g1.2", 0.0, 1.0, True)
    assert gate["learned"] == gate["value"] == 0.62 and "<b>outstanding in layer 1" in gate["about"]
    assert cell["parts"] == {"g1.2": "g1.2:0"} and cell["off"]
    assert cell["about"].endswith("push +0.300 towards positive, against its mean −0.200")
    assert "Push of the lexicon’s term: layer 1 +0.10" in data["full"]
    (strength,) = data["alone"]
    assert (strength["part"], strength["value"], strength["learned"], strength["moved"]) == ("s", 0.5, 1.0, True)


def along(layer, component, **named):
    values = (0.0, 0.25, 0.5, 1.0)
    chances = (0.5, 0.25, 0.125, 0.75)
    place = {"learned": 0.25, "start": 0.5, "now": 0.25} | named
    return LambdaCurve(layer, component, **place, values=values, log_odds=(0.0,) * 4, probabilities=chances)


def test_a_lambda_slider_is_its_own_curve_and_one_slider_is_a_factor_on_all():
    curves = LambdaCurves("a b", "positive", {}, 0.0, (along(0, 1), along(None, None, learned=1.0, start=None)), "")
    can, edits = Editable(1, 2, 2, 0.0, 1.0), Edits(factor=0.5)
    data = _draw(shown(TWO, can, edits=edits, own=((0.25,),), curves=curves), Look()).data
    slider = data["grids"][0]["rows"][0]["sliders"][1]
    assert slider["curve"] == {
        "values": [0.0, 0.25, 0.5, 1.0],
        "chances": [0.5, 0.25, 0.125, 0.75],
        "start": 0.5,
        "half": True,
        "what": "P(positive)",
    }
    assert (slider["learned"], slider["value"], slider["moved"]) == (0.25, 0.12, False)  # half of what it learned
    (every,) = data["alone"]
    assert (every["part"], every["low"], every["high"], every["value"], every["moved"]) == ("l", 0.0, 2.0, 0.5, True)
    assert every["learned"] == 1.0 and every["curve"]["start"] is None
    assert data["full"].endswith(
        "; curves: P(positive) from 0 to 1, dot now, long tick learned, box start, short tick zero"
    )


def test_rows_of_heads_know_their_layer_so_that_one_layer_can_show_its_own():
    (grid,) = _draw(shown(TWO, Editable(1, 2, 2, 0.0, 1.0), own=((0.25,),)), Look()).data["grids"]
    sliders, first, second, every = grid["rows"]
    assert sliders["layer"] == first["of"] == second["of"] == every["all"] == 1


def test_the_table_counts_as_the_page_does_and_leaves_empty_what_a_part_has_not():
    table = part_table(shown([Part("map", 1, head=0, component=2, zero=0.5, mean=0.25)], Editable(2, 1, 3, 0, 1)))
    row = table.iloc[0]
    assert (row["part"], row["layer"], row["head"], row["component"]) == ("map", 2, 1, 2)
    assert (row["push"], row["push_against_mean"], row["towards"]) == (0.5, 0.25, "positive")
    assert table["token"].isna().all() and row["word"] == ""


@pytest.mark.parametrize("projector", [True, False])
def test_on_a_projector_the_legend_gives_way(projector):
    assert _draw(shown(PLAIN, Editable(1, 2, 1, 0, 1)), Look(projector=projector)).data["brief"] == projector
