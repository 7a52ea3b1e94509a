"""Curves over λ and activation patching: measured values, marks, colours, text and tables."""

from types import SimpleNamespace

import pytest

from core import api
from core.exceptions import InputError
from core.interpret.ablation import LambdaCurve, LambdaCurves, Patch, Patches
from core.interpret.model_edits import Edits
from core.runs.store import RunStore
from dashboard.figures import interventions
from dashboard.figures.theme import LIGHT, Look

RECORD = SimpleNamespace(classes=("negative", "positive"), task="single", ordered=False)


def curve(layer, component, chances, **named):
    place = {"learned": 0.25, "start": 0.5, "now": 0.25} | named
    values, odds = (0.0, 0.25, 0.5, 1.0), tuple(10 * chance - 5 for chance in chances)
    return LambdaCurve(layer, component, **place, values=values, log_odds=odds, probabilities=chances)


CURVES = (
    curve(0, 1, (0.5, 0.25, 0.2, 0.4)),
    curve(0, 2, (0.25, 0.25, 0.25, 0.25)),
    curve(1, 1, (0.1, 0.25, 0.5, 0.9), now=1.0),
    curve(1, 2, (0.2, 0.25, 0.25, 0.2), start=None),
    curve(None, None, (0.6, 0.7, 0.8, 0.25), learned=1.0, start=None, now=1.0),
)
SHOWN = LambdaCurves("a", "<b>", {}, 0.0, CURVES, "λ varies.")
SHOWN = interventions.LambdaBench(SHOWN, True, Edits(lambdas=((1, 1, 1.0),)))


@pytest.mark.parametrize("dark", [False, True])
def test_each_layer_and_the_factor_have_their_own_panel(dark):
    drawn = interventions.LAMBDA_BENCH.draw(SHOWN, Look(dark=dark))
    lines = [trace for trace in drawn.data if trace.mode == "lines"]
    upper, lower = lines[::2], lines[1::2]
    two = [("λ₁", "solid"), ("λ₂", "dash")]
    named = [(trace.xaxis, trace.name, trace.line.dash) for trace in upper]
    assert named == [*(("x", *each) for each in two), *(("x2", *each) for each in two), ("x3", "all λ ×", "solid")]
    for trace, odds, each in zip(upper, lower, CURVES, strict=True):
        assert trace.x == odds.x == each.values and (trace.y, odds.y) == (each.probabilities, each.log_odds)
    marks = [(trace.name, trace.x[0], trace.y[0]) for trace in drawn.data if trace.mode == "markers"]
    assert marks[:3] == [("zero", 0.0, 0.5), ("start", 0.5, 0.2), ("learned", 0.25, 0.25)]
    assert [mark for mark in marks if mark[0] == "now"] == [("now", 1.0, 0.9), ("now", 1.0, 4.0)]
    assert drawn.layout.yaxis.title.text == "P(&lt;b&gt;)"
    told = [trace.name for trace in drawn.data if trace.showlegend]
    assert sorted(told) == ["learned", "now", "start", "zero", "λ₁", "λ₂"]
    dotted = [shape for shape in drawn.layout.shapes if shape.y0 == 0.5]
    assert len(dotted) == 3 and {shape.line.dash for shape in dotted} == {"dot"}


def test_reading_names_the_strongest_lambda_and_the_table_has_each_value():
    assert interventions.LAMBDA_BENCH.reading(SHOWN) == (
        "λ₁ of layer 2 changes P(<b>) most: 0.10 to 0.90 (others as you changed them). All λ at 0: 0.60. "
        "Dotted: P = 0.5, where the answer changes. λ varies."
    )
    assert interventions.LAMBDA_BENCH.note(SHOWN) == "towards <b>, P 0.250, log-odds −2.50"
    table = interventions.build_curve_table(SHOWN)
    assert len(table) == 4 * len(CURVES) and table["mark"].tolist()[:4] == ["zero", "learned", "start", ""]
    assert table["layer"].isna().sum() == 4 and table["component"].tolist()[:5] == [1, 1, 1, 1, 2]
    last = table[(table["layer"] == 2) & (table["component"] == 1)].iloc[-1]
    assert (last["mark"], last["value"], last["probability"], last["log_odds"]) == ("now", 1.0, 0.9, 4.0)


def shown(edited=False):
    patches = [
        Patch(kind, layer, 0 if kind == "token" else None, 1 if kind == "head" else None, 1.0 + move, move)
        for kind, each in {"layer": (-4.0, -4.0), "token": (-3.0, 0.5), "head": (0.001, 2.0)}.items()
        for layer, move in enumerate(each)
    ]
    found = Patches("good", "bad", "positive", {}, {}, 1.0, -3.0, ("good",), ("bad",), tuple(patches), "")
    return interventions.Patching(RECORD, found, edited)


def test_each_place_has_its_change_in_each_layer():
    data = interventions.PATCHING.draw(shown(), Look()).data
    assert [head["name"] for head in data["heads"]] == ["layer 1", "layer 2"]
    moves = {row["name"]: [cell["text"] for cell in row["cells"]] for row in data["rows"]}
    everywhere = {"everything": ["−4.00", "−4.00"], "good ← bad": ["−3.00", "+0.50"]}
    assert moves == {**everywhere, "head 2": ["0.00", "+2.00"]}
    first, last = data["rows"][0]["cells"][0], data["rows"][2]["cells"]
    assert first["colour"] == LIGHT.minus_scale[-1] and last[0]["colour"] == LIGHT.paper
    assert last[1]["about"] == "head 2, layer 2: log-odds of positive +2.000"
    assert data["lines"] == ["Log-odds of positive: +1.00 for the first sentence, −3.00 for the second."]
    note = interventions.PATCHING.resolve_text(interventions.PATCHING.note, shown(edited=True))
    assert note == "towards positive, both after your changes"
    table = interventions.build_patch_table(shown())  # layers count from 1
    assert table["layer"].tolist() == [1, 2, 1, 2, 1, 2] and table["moved"][2] == -3.0
    assert (table["token"][2], table["here"][2], table["donor"][2], table["head"][4]) == (1, "good", "bad", 2)


@pytest.mark.slow
def test_second_sentence_is_a_figure_option(trained, tmp_path):
    given = {"only": ["patching"], "text": "good film", "store": RunStore(trained)}
    written = api.figures("finished", tmp_path, options={"donor": "bad film"}, csv=True, **given)["files"]
    assert len(written) == 2  # the figure and its numbers
    assert "good ← bad" in (tmp_path / "patching.html").read_text()
    with pytest.raises(InputError, match="a second sentence of as many tokens is needed: --with donor=TEXT"):
        api.figures("finished", tmp_path, **given)
    with pytest.raises(InputError, match="differ in their number of tokens"):
        api.figures("finished", tmp_path, options={"donor": "bad"}, **given)
