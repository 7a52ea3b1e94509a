"""The course of lambda: every line is what was logged, panels are comparable, seeds are summed up rightly."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.figures.lambdas import Track, draw_course, over_seeds, shown
from dashboard.figures.theme import Look
from dashboard.figures.training import SMALLEST_CHANGE, Curves


def curves(start=0.15, move=0.002, steps=(0.0, 1.0, 2.0)):
    return Curves(
        epochs=4,
        epoch=(1.0, 2.0),
        validation_loss=(0.6, 0.5),
        validation_metric=(0.6, 0.7),
        lambda_step=steps,
        lambdas={
            (layer, component): tuple(start + layer * 0.1 + move * component * i for i in range(len(steps)))
            for layer in (0, 1)
            for component in (1, 2)
        },
    )


ONE = Track("one", 0, curves())
TWIN = Track("twin", 1, curves(move=0.004), sibling=True)
OTHER = Track("other", 0, curves(start=-0.2, move=-0.01))


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def spans(figure, panels):
    axes = [figure.layout["yaxis" if i == 1 else f"yaxis{i}"] for i in panels]
    return [axis.range[1] - axis.range[0] for axis in axes]


def test_change_counts_from_the_first_value_and_value_is_itself():
    assert shown((0.2, 0.21, 0.19), "change") == pytest.approx((0, 0.01, -0.01))
    assert shown((0.2, 0.21), "value") == (0.2, 0.21)
    assert shown((), "change") == ()


def test_every_layer_and_component_has_a_panel_and_the_loss_stands_below_on_the_same_axis():
    figure = draw_course([ONE], Look())
    titles = [note.text for note in figure.layout.annotations if "λ" in note.text or note.text == "validation loss"]
    assert titles == ["layer 1, λ₁", "layer 2, λ₁", "layer 1, λ₂", "layer 2, λ₂", "validation loss", "validation loss"]
    drawn = [tuple(trace.y) for trace in named(figure, "one")]
    assert drawn.count((0.6, 0.5)) == 2
    assert any(line == pytest.approx((0, 0.004, 0.008)) for line in drawn if len(line) == 3)
    ranges = {tuple(figure.layout[axis].range) for axis in figure.layout if axis.startswith("xaxis")}
    assert len(ranges) == 1


@pytest.mark.parametrize("scale", ["change", "value"])
def test_all_panels_of_lambda_span_the_same(scale):
    found = spans(draw_course([ONE, OTHER], Look(), scale), (1, 2, 3, 4))
    assert found == pytest.approx([found[0]] * 4)


def test_a_change_smaller_than_can_be_seen_is_not_magnified_into_a_movement():
    still = Track("still", 0, curves(move=0.0))
    assert spans(draw_course([still], Look()), (1,))[0] == pytest.approx(2.3 * SMALLEST_CHANGE)


def test_one_run_is_in_front_and_the_others_are_grey():
    figure, look = draw_course([ONE, OTHER], Look()), Look()
    assert {trace.line.color for trace in named(figure, "one")} == {look.tokens.accent}
    assert {trace.line.color for trace in named(figure, "other")} == {look.tokens.right}
    first = [trace.name for trace in figure.data if trace.xaxis in (None, "x")]
    assert first == ["other", "one"]


def test_seeds_are_averaged_at_the_epochs_that_all_have_reached():
    late = Track("late", 2, curves(move=0.0, steps=(0.0, 0.5, 1.0)), sibling=True)
    grid, (low, mean, high) = over_seeds([ONE, late], (0, 1), "change")
    assert grid == (0.0, 1.0)
    np.testing.assert_allclose(low, [0, 0], atol=1e-12)
    np.testing.assert_allclose(high, [0, 0.002], atol=1e-12)
    np.testing.assert_allclose(mean, [0, 0.001], atol=1e-12)


def test_runs_of_other_settings_do_not_count_as_seeds():
    assert over_seeds([ONE, OTHER], (0, 1), "value") is None
    figure = draw_course([ONE, TWIN, OTHER], Look(), "value")
    (mean,) = [trace for trace in named(figure, "mean over seeds") if trace.xaxis in (None, "x")]
    np.testing.assert_allclose(mean.y, [0.15, 0.153, 0.156])


def test_the_reported_value_is_drawn_inside_its_panel_on_the_scale_of_values():
    figure = draw_course([ONE], Look(), "value", {(0, 1): 0.1606})
    assert [note.text for note in figure.layout.annotations if note.text.startswith("reported")] == ["reported 0.1606"]
    low, high = figure.layout.yaxis.range
    assert low < 0.15 < 0.1606 < high
    change = draw_course([ONE], Look(), "change", {(0, 1): 0.1606})
    assert not [note for note in change.layout.annotations if note.text.startswith("reported")]


def test_heads_with_lambdas_of_their_own_are_thin_lines():
    track = Track("one", 0, ONE.curves, heads={(0, 1): ((0.1, 0.1, 0.12), (0.2, 0.2, 0.19))})
    figure = draw_course([track], Look())
    assert tuple(named(figure, "head 2")[0].y) == pytest.approx((0, 0, -0.01))


def test_names_of_runs_are_escaped():
    figure = draw_course([Track("<b>x", 0, curves())], Look())
    assert not [trace for trace in figure.data if "<b>" in trace.hovertemplate]


def test_nothing_measured_on_validation_yet_draws_all_the_same():
    early = Curves(epochs=4, lambda_step=(0.0,), lambdas={(0, 1): (0.15,)})
    assert [tuple(trace.y) for trace in draw_course([Track("early", 0, early)], Look()).data] == [(0.0,), ()]
