"""The parts of a model as levers: list, labels and slider positions."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from core.config import compose
from core.interpret.ablation import AblationEffects, LambdaCurve, LambdaCurves, PartEffect
from core.interpret.model_edits import Editable, Edits
from core.interpret.trace_summary import LearnedLambdas
from dashboard.figures.ablation_levers import LEVERS, Levers, _draw_levers, build_part_table, read_measured
from dashboard.figures.theme import LIGHT, Look

PLAIN = [PartEffect("layer", 0, zero=2.0)]
PLAIN += [PartEffect("head", 0, head=0, zero=-1.0), PartEffect("head", 0, head=1, zero=0.004)]
TWO = [
    *PLAIN,
    *(PartEffect("component", 0, component=i, zero=0.5) for i in range(2)),
    *(PartEffect("map", 0, head=head, component=i, zero=head + i / 10) for head in range(2) for i in range(2)),
]


def shown(
    parts, can, *, edits=None, own=(), minus=False, tokens=(), curves=None, gates=(), before=None, mean=False, **more
):
    attention = SimpleNamespace(subtracts=minus, row_norm=more.get("row_norm", False))
    config = SimpleNamespace(model=SimpleNamespace(attention=attention))
    record = SimpleNamespace(classes=("negative", "positive"), task="single", ordered=False, config=config)
    layers = tuple(SimpleNamespace(gates=np.array(each), coefficients=more.get("coefficients")) for each in gates)
    view = SimpleNamespace(probabilities={"negative": 0.25, "positive": 0.75}, label="positive", layers=layers)
    found = AblationEffects("a b", "positive", {}, 0.0, tokens, tuple(parts), "")
    trained = before and replace(found, parts=tuple(before))
    learned = LearnedLambdas(own, False)
    return Levers(
        record, view, view, found, trained, curves, can, learned, edits or Edits(), 0, mean, more.get("measured", {})
    )


@pytest.mark.parametrize("projector", [True, False])
def test_one_component_grid_has_layers_as_rows_and_heads_as_columns(projector):
    shape = shown(PLAIN, Editable(1, 2, 1, 0, 1), edits=Edits(heads_off=((0, 1),)))
    data = _draw_levers(shape, Look(projector=projector)).data
    (grid,) = data["grids"]
    assert grid["columns"] == ["1", "2", "all"] and [row["label"] for row in grid["rows"]] == ["layer 1"]
    cells = grid["rows"][0]["cells"]
    assert [cell["push"] for cell in cells] == ["−1.00", "off", "+2.00"]
    assert [cell["colour"] for cell in cells] == [LIGHT.minus_scale[2], LIGHT.paper, LIGHT.plus_scale[5]]
    assert [cell["off"] for cell in cells] == [False, True, False]
    assert cells[2]["parts"] == {"h1.1": "h1.1", "h1.2": "h1.2"}
    assert data["brief"] == projector, "there the legend gives way"


def test_several_components_grid_has_maps_per_head_and_a_slider_per_lambda():
    can, edits = Editable(1, 2, 2, -1.0, 1.0), Edits(maps_off=((0, 1, 0),), lambdas=((0, 1, 0.5),))
    data = _draw_levers(shown(TWO, can, edits=edits, own=((0.174,),), minus=True), Look()).data
    (grid,) = data["grids"]
    assert grid["columns"] == ["A₀", "−λ₁A₁", "whole head"]
    sliders, head, other, every = grid["rows"]
    assert sliders["layer"] == head["of"] == other["of"] == every["all"] == 1
    assert sliders["sliders"][0] == "weight 1" and sliders["sliders"][2] is None
    slider = sliders["sliders"][1]
    assert (slider["part"], slider["learned"], slider["value"], slider["moved"]) == ("l1c1", 0.17, 0.5, True)
    assert (slider["low"], slider["high"]) == (-1.0, 1.0)
    assert [list(cell["parts"]) for cell in head["cells"]] == [["m1.1.0"], ["m1.1.1"], ["h1.1"]]
    assert [cell["off"] for cell in other["cells"]] == [True, False, False]
    assert [list(cell["parts"]) for cell in every["cells"]] == [["c1.0"], ["c1.1"], ["h1.1", "h1.2"]]
    assert data["changed"] == edits.describe_changes() and "P(positive)" in data["said"]


def test_gate_is_closed_by_its_cell_and_lexicon_has_a_slider():
    parts = [*PLAIN, PartEffect("gate", 0, token=1, zero=0.3, mean=-0.2), PartEffect("lexical", 0, zero=0.1)]
    can = Editable(1, 2, 1, 0, 1, gated=2, lexical="add")
    tokens, edits = ("[CLS]", "<b>outstanding"), Edits(gates=((0, 1, 0.0),), lexical=0.5)
    data = _draw_levers(shown(parts, can, edits=edits, tokens=tokens, gates=[[1.0, 0.625]]), Look()).data
    gates = data["grids"][1]
    assert gates["columns"] == ["<b>outs…"]  # the script inserts it as text
    cells, open_ = gates["rows"]
    (cell,), (gate,) = cells["cells"], open_["gates"]
    assert (gate["part"], gate["low"], gate["high"], gate["moved"]) == ("g1.2", 0.0, 1.0, True)
    assert gate["learned"] == gate["value"] == 0.62 and "<b>outstanding in layer 1" in gate["about"]
    assert cell["parts"] == {"g1.2": "g1.2:0"} and cell["off"]
    assert cell["push"] == "off" and cell["about"] == "switch off the gate of <b>outstanding in layer 1, now off"
    grid = data["grids"][0]
    assert grid["columns"] == ["1", "2", "all", "lexicon"]
    lexicon = grid["rows"][0]["cells"][3]
    assert (lexicon["parts"], lexicon["push"], lexicon["off"]) == ({"s1": "s1"}, "+0.10", False)
    strength, temperature = data["alone"]
    assert (temperature["part"], temperature["value"], temperature["moved"]) == ("t", 1.0, False)
    assert (strength["part"], strength["value"], strength["learned"], strength["moved"]) == ("s", 0.5, 1.0, True)


def test_temperature_and_positions_are_levers_but_not_in_large_print():
    can, edits = Editable(1, 2, 1, 0, 1, placed=True), Edits(temperature=0.5, positions="shuffled")
    shape = shown(PLAIN, can, edits=edits)
    data = _draw_levers(shape, Look()).data
    (slider,), (choice,) = data["alone"], data["choices"]
    assert (slider["low"], slider["high"], slider["value"], slider["moved"]) == (0.1, 4.0, 0.5, True)
    assert (choice["part"], choice["now"]) == ("pos", "shuffled")
    assert [way for way, _, _ in choice["ways"]] == ["", "off", "shuffled"]
    assert data["changed"] == "attention temperature = 0.50, positions shuffled"
    assert can.update_link(edits.encode_line(), {"pos": "pos:off", "t": None}) == Edits(positions="off")
    large = _draw_levers(shape, Look(projector=True)).data
    assert large["alone"] == [] == large["choices"]
    assert _draw_levers(shown(PLAIN, Editable(1, 2, 1, 0, 1)), Look()).data["choices"] == []


def test_effects_are_of_the_edited_model_and_name_the_trained_ones():
    trained = [PartEffect("layer", 0, zero=2.0, mean=0.5), PartEffect("head", 0, head=0, zero=-1.0, mean=0.25)]
    edited = [PartEffect("layer", 0, zero=1.5, mean=0.75), PartEffect("head", 0, head=0, zero=0.0, mean=-0.5)]
    can, edits = Editable(1, 1, 1, 0, 1), Edits(gates=((0, 0, 0.5),))
    for mean, pushes, was in ((False, ["0.00", "+1.50"], "as trained −1.000"), (True, ["−0.50", "+0.75"], "+0.250")):
        shape = shown(edited, can, edits=edits, before=trained, mean=mean)
        data = _draw_levers(shape, Look()).data
        head, every = data["grids"][0]["rows"][0]["cells"]
        assert [head["push"], every["push"]] == pushes and was in head["about"]
        assert data["note"] == "after your changes"
        assert LEVERS.resolve_text(LEVERS.note, shape).endswith("after your changes")
    row = build_part_table(shape).iloc[1]
    assert (row["push"], row["push_against_mean"]) == (0.0, -0.5)
    assert (row["as_trained"], row["as_trained_against_mean"]) == (-1.0, 0.25)


def test_silent_option_is_described_and_written_into_links():
    parts = [replace(part, mean=0.25 - part.zero) for part in TWO]
    can, edits = Editable(1, 2, 2, -1.0, 1.0), Edits(heads_mean=((0, 0),), maps_off=((0, 1, 0),))
    data = _draw_levers(shown(parts, can, edits=edits, own=((0.2,),), mean=True), Look()).data
    assert data["silent"]["now"] == "mean" and [way for way, _ in data["silent"]["ways"]] == ["zero", "mean"]
    _, first, second, every = data["grids"][0]["rows"]
    assert [cell["parts"] for cell in first["cells"]][::2] == [{"m1.1.0": "m1.1.0:mean"}, {"h1.1": "h1.1:mean"}]
    assert [cell["push"] for cell in first["cells"]] == ["+0.25", "+0.15", "mean"]
    assert [cell["push"] for cell in second["cells"]] == ["off", "−0.85", "+0.25"]
    assert every["cells"][2]["parts"] == {"h1.1": "h1.1:mean", "h1.2": "h1.2:mean"} and not every["cells"][2]["off"]
    assert second["cells"][1]["about"] == (
        "replace λ₁A₁ of head 2 of layer 1 by its mean, effect −0.850 towards positive, compared with zero +1.100"
    )
    assert "setting the part to its mean" in data["full"]


def test_mean_ablation_of_gates_uses_the_layer_mean_and_lexicons_have_a_row():
    gate = PartEffect("gate", 0, token=1, zero=0.3, mean=-0.2)
    lexical = PartEffect("lexical", 0, zero=0.5, mean=0.125)
    can = Editable(1, 2, 2, 0.0, 1.0, gated=3, lexical="hadamard")
    tokens, own = ("[CLS]", "fine", "film"), ((0.25,),)
    given = {"tokens": tokens, "gates": [[1, 0.5, 0.25]], "own": own}
    data = _draw_levers(shown([*TWO, gate, lexical], can, **given, mean=True), Look()).data
    (cell,) = data["grids"][1]["rows"][0]["cells"]
    assert cell["parts"] == {"g1.2": "g1.2:0.375"} and cell["push"] == "−0.20"
    row = data["grids"][0]["rows"][-1]
    assert (row["label"], row["span"], row["cells"][0]["parts"]) == ("lexicon", 3, {"s1": "s1:mean"})
    assert row["cells"][0]["push"] == "+0.12" and [each["part"] for each in data["alone"]] == ["t"]
    edits = Edits(gates=((0, 1, 0.375),), lexical_off=(0,))
    data = _draw_levers(shown([*TWO, gate, lexical], can, **given, edits=edits), Look()).data
    assert data["grids"][1]["rows"][0]["cells"][0]["off"] is False, "half open is not closed"
    assert data["grids"][0]["rows"][-1]["cells"][0]["push"] == "off"


def along(layer, component, learned=0.25, start=0.5):
    chances = {"values": (0.0, 0.25, 0.5, 1.0), "log_odds": (0.0,) * 4, "probabilities": (0.5, 0.25, 0.125, 0.75)}
    return LambdaCurve(layer, component, learned=learned, start=start, now=0.25, **chances)


def test_lambda_slider_has_its_curve_and_one_slider_scales_all_lambdas():
    curves = LambdaCurves("a b", "positive", {}, 0.0, (along(0, 1), along(None, None, learned=1.0, start=None)), "")
    can, edits = Editable(1, 2, 2, 0.0, 1.0), Edits(factor=0.5)
    data = _draw_levers(shown(TWO, can, edits=edits, own=((0.25,),), curves=curves), Look()).data
    slider = data["grids"][0]["rows"][0]["sliders"][1]
    points = {"values": [0.0, 0.25, 0.5, 1.0], "chances": [0.5, 0.25, 0.125, 0.75]}
    assert slider["curve"] == {**points, "start": 0.5, "half": True, "what": "P(positive)"}
    assert (slider["learned"], slider["value"], slider["moved"]) == (0.25, 0.12, False)  # half of the learned value
    every, _ = data["alone"]
    assert (every["part"], every["low"], every["high"], every["value"], every["moved"]) == ("l", 0.0, 2.0, 0.5, True)
    assert every["learned"] == 1.0 and every["curve"]["start"] is None
    assert ". Curve: P(positive)." in data["full"] and "box: initial λ" in data["full"]


def test_table_counts_as_the_page_and_leaves_missing_fields_empty():
    part = PartEffect("map", 1, head=0, component=2, zero=0.5, mean=0.25)
    table = build_part_table(shown([part], Editable(2, 1, 3, 0, 1)))
    row = table.iloc[0]
    assert (row["part"], row["layer"], row["head"], row["component"]) == ("map", 2, 1, 2)
    assert (row["push"], row["push_against_mean"], row["towards"]) == (0.5, 0.25, "positive")
    assert table["token"].isna().all() and row["word"] == ""


def test_levers_say_which_parts_matter_in_this_run():
    measured = {"c1.1": "idle", "h1.1": "clear", "m1.1.0": "idle"}
    can, c = Editable(1, 2, 2, -1.0, 1.0), np.array([[0.24], [0.76]])
    given = shown(TWO, can, own=((3.17,),), measured=measured, gates=[[1.0]], row_norm=True, coefficients=c)
    data = _draw_levers(given, Look()).data
    sliders, head, other, every = data["grids"][0]["rows"]
    assert sliders["sliders"][0] == "weight 0.24" and sliders["sliders"][1]["measured"] == "idle"
    assert sliders["sliders"][1]["about"] == "λ₁ of layer 1, learned 3.17; no measured effect in this run"
    assert [cell["measured"] for cell in head["cells"]] == ["idle", "", "clear"]
    assert head["cells"][2]["about"].endswith("; costs accuracy in this run")
    assert {cell["measured"] for cell in other["cells"]} == {""}
    assert [cell["measured"] for cell in every["cells"]] == ["", "idle", ""]
    assert data["hint"].endswith("Thick frame: needed in this run; dotted: no measured effect.")
    assert "frame" not in _draw_levers(shown(TWO, can, own=((0.1,),)), Look()).data["hint"]


def test_parts_matter_by_the_stored_importance():
    def row(part, interval, loss, how="zero"):
        return {"part": part, "how": how, "interval": interval, "loss_interval": loss}

    rows = [row("h1.1", [-0.1, -0.02], [0.1, 0.2]), row("h1.2", [-0.01, 0.01], [-0.1, 0.1])]
    rows += [row("c1.0", [-0.01, 0.01], [0.1, 0.2]), row("c1.1", [0.01, 0.02], [-0.1, 0.1])]
    rows.append(row("h1.2", [-0.1, -0.02], [0.1, 0.2], "mean"))
    config = SimpleNamespace(model=compose("vanilla").model)
    source = SimpleNamespace(record=SimpleNamespace(config=config, run="a", preset="vanilla"), split="test")
    source.reader = SimpleNamespace(read_attention=lambda *asked, **more: {"parts": rows})
    assert read_measured(source) == {"h1.1": "clear", "h1.2": "idle"}
    source.reader = SimpleNamespace(read_attention=lambda *asked, **more: None)
    assert read_measured(source) == {}
