import pytest

from core.runs.sweep_curves import find_curves, fit_error


def row(model, grid, mean, tfidf=None):
    beside = {"accuracy": {"mean": tfidf}} if tfidf else {}
    metrics = {"accuracy": {"mean": mean, "deviation": None, "n": 1}} if mean else {}
    return {"model": model, "data": "d", "grid": grid, "metrics": metrics, "yardstick": beside}


def test_the_numeric_setting_with_most_values_is_the_axis():
    grid = [(size, gate) for gate in ("true", "false") for size in ("1000", "250", "4000")]
    rows = [row("v", {"data.limit": size, "model.gate": gate}, 0.5 + int(size) / 1e4, 0.6) for size, gate in grid]
    found = find_curves([*rows, row("v", {"data.limit": "9", "model.gate": "true"}, None)], "accuracy")
    assert (found["setting"], found["logarithmic"]) == ("data.limit", True)
    assert [curve["label"] for curve in found["curves"]] == ["v · gate=true", "v · gate=false"]
    assert [(at["x"], at["mean"]) for at in found["curves"][0]["points"]] == [(250, 0.525), (1000, 0.6), (4000, 0.9)]
    assert found["yardstick"] == [{"x": x, "mean": 0.6} for x in (250, 1000, 4000)]


@pytest.mark.parametrize("values", [("a", "b", "c"), ("1", "2"), ("true", "false", "1")])
def test_words_and_two_values_make_no_curve(values):
    assert find_curves([row("v", {"text.way": value}, 0.5) for value in values], "accuracy") is None


def test_a_strength_from_zero_has_a_linear_axis_and_no_fit():
    rows = [row("v", {"model.attention.lexical_strength": s}, 0.7) for s in ("0", "0.5", "1", "2", "10")]
    found = find_curves(rows, "accuracy")
    assert not found["logarithmic"] and found["curves"][0]["error"] is None


def test_the_fit_finds_the_parameters_of_a_power():
    points = [{"x": n, "mean": 1 - (0.12 + 1.5 * n**-0.4)} for n in (250, 500, 1000, 2000, 4000)]
    found = fit_error(points)
    assert [found[name] for name in "abc"] == pytest.approx([0.12, 1.5, 0.4], rel=1e-6)
    assert found["residual"] < 1e-9 and fit_error(points[:3]) is None
