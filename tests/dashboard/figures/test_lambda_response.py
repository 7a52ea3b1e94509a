"""Curves over λ: measured values with marks, as text and as a table."""

import pytest

from core.interpret.ablation import LambdaCurve, LambdaCurves
from core.interpret.model_edits import Edits
from dashboard.figures.lambda_response import LAMBDA_BENCH, LambdaBench, build_curve_table
from dashboard.figures.theme import Look


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
SHOWN = LambdaBench(LambdaCurves("a", "<b>", {}, 0.0, CURVES, "λ varies."), True, Edits(lambdas=((1, 1, 1.0),)))


@pytest.mark.parametrize("dark", [False, True])
def test_each_layer_and_the_factor_have_their_own_panel(dark):
    drawn = LAMBDA_BENCH.draw(SHOWN, Look(dark=dark))
    lines = [trace for trace in drawn.data if trace.mode == "lines"]
    upper, lower = lines[::2], lines[1::2]
    two = [("λ₁", "solid"), ("λ₂", "dash")]
    named = [(trace.xaxis, trace.name, trace.line.dash) for trace in upper]
    assert named == [*(("x", *each) for each in two), *(("x2", *each) for each in two), ("x3", "all λ ×", "solid")]
    for trace, odds, each in zip(upper, lower, CURVES, strict=True):
        assert trace.x == odds.x == each.values
        assert (trace.y, odds.y) == (each.probabilities, each.log_odds)
    marks = [(trace.name, trace.x[0], trace.y[0]) for trace in drawn.data if trace.mode == "markers"]
    assert marks[:3] == [("zero", 0.0, 0.5), ("start", 0.5, 0.2), ("learned", 0.25, 0.25)]
    assert [mark for mark in marks if mark[0] == "now"] == [("now", 1.0, 0.9), ("now", 1.0, 4.0)]
    assert drawn.layout.yaxis.title.text == "P(&lt;b&gt;)"
    told = [trace.name for trace in drawn.data if trace.showlegend]
    assert sorted(told) == ["learned", "now", "start", "zero", "λ₁", "λ₂"]
    dotted = [shape for shape in drawn.layout.shapes if shape.y0 == 0.5]
    assert len(dotted) == 3 and {shape.line.dash for shape in dotted} == {"dot"}


def test_reading_names_the_strongest_lambda_and_the_prediction_without_all():
    assert LAMBDA_BENCH.reading(SHOWN) == (
        "λ₁ of layer 2 changes P(<b>) most: 0.10 to 0.90 (others as you changed them). All λ at 0: 0.60. "
        "Dotted: P = 0.5, where the answer changes. λ varies."
    )
    assert LAMBDA_BENCH.note(SHOWN) == "towards <b>, P 0.250, log-odds −2.50"


def test_table_has_each_value_with_its_name():
    table = build_curve_table(SHOWN)
    assert len(table) == 4 * len(CURVES)
    assert table["mark"].tolist()[:4] == ["zero", "learned", "start", ""]
    assert table["layer"].isna().sum() == 4 and table["component"].tolist()[:5] == [1, 1, 1, 1, 2]
    last = table[(table["layer"] == 2) & (table["component"] == 1)].iloc[-1]
    assert (last["mark"], last["value"], last["probability"], last["log_odds"]) == ("now", 1.0, 0.9, 4.0)
