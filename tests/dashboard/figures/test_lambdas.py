"""Groups of runs, and final λ values compared with the paper."""

from dataclasses import replace

import numpy as np
import pytest

from core.config import compose
from core.papers.reported_results import find_counterpart
from core.runs.record import RunRecord
from core.training.history import History
from dashboard.figures import lambdas
from dashboard.figures.lambdas import SMALLEST_CHANGE, Track, draw_course
from dashboard.figures.theme import LIGHT, Look
from dashboard.figures.training_log import Curves, build_head_lines

CURVES = Curves(
    epochs=2,
    **{"epoch": (1.0,), "validation_loss": (0.5,), "validation_metric": (0.7,), "lambda_step": (0.0, 1.0)},
    lambdas={(0, 1): (0.15, 0.16), (1, 1): (0.18, 0.17)},
)


def record(run, preset="ndt-01-n2", final=None, **settings):
    config = compose(preset, {"data.name": "imdb", **{name.replace("__", "."): v for name, v in settings.items()}})
    return RunRecord(run, preset, "done", config, "2026-01-01", results={} if final is None else {"lambda": final})


def curves(start=0.15, move=0.002, steps=(0.0, 1.0, 2.0)):
    places = [(layer, component) for layer in (0, 1) for component in (1, 2)]
    return Curves(
        epochs=4,
        **{"epoch": (1.0, 2.0), "validation_loss": (0.6, 0.5), "validation_metric": (0.6, 0.7), "lambda_step": steps},
        lambdas={(at, c): tuple(start + at * 0.1 + move * c * i for i in range(len(steps))) for at, c in places},
    )


ONE = Track("one", 0, curves())


def named(figure, name):
    return [trace for trace in figure.data if trace.name == name]


OTHER = Track("other", 0, curves(start=-0.2, move=-0.01))


def spans(figure, panels):
    axes = [figure.layout[f"yaxis{i}" if i > 1 else "yaxis"] for i in panels]
    return [axis.range[1] - axis.range[0] for axis in axes]


TWIN = Track("twin", 1, curves(move=0.004), sibling=True)


@pytest.mark.parametrize(
    ("preset", "has"), [("ndt-pos-n3", True), ("differential-v2", True), ("vanilla", False), ("tfidf-logreg", False)]
)
def test_lambda_belongs_to_models_with_several_maps(preset, has):
    assert lambdas.has_lambda(record("a", preset)) is has
    assert not lambdas.has_lambda(replace(record("a", preset), status="damaged"))


def test_change_and_start_values_are_described():
    still = replace(CURVES, lambdas={(0, 1): (0.15, 0.1599, 0.15), (1, 1): (0.18, 0.175, 0.178)})
    assert lambdas.describe_change(Track("a", 0, still)).startswith("λ hardly moved: by at most 0.0099 (λ₁ of layer 1)")
    begun = replace(CURVES, lambdas={(0, 1): (0.15, 0.15004)})
    assert lambdas.describe_change(Track("a", 0, begun)).startswith("λ has not moved. ")
    gone = replace(CURVES, lambdas={(0, 1): (0.15, 0.16), (1, 2): (0.18, 0.05, 0.2)})
    assert lambdas.describe_change(Track("a", 0, gone)).startswith("λ moved by up to 0.130 (λ₂ of layer 2)")
    course = lambdas.Course((Track("a", 0, gone),), "change", {}, {}, {})
    assert lambdas.write_course_caption(course).endswith("Change since the first step.")
    two = replace(course, tracks=(*course.tracks, Track("b", 1, gone)), scale="value", reported={(0, 1): 0.2})
    assert lambdas.write_course_caption(two).endswith("Thick: this run; grey: others. Dotted: reported final λ.")
    assert "fitted to its reported final λ" in lambdas.describe_start(record("a"))
    chosen = record("a", model__attention__lambda_start="0.5")
    assert lambdas.describe_start(chosen) == "The paper gives no start value; here λ starts at 0.5."
    assert lambdas.describe_start(record("a", "differential")) == ""


def test_seeds_are_runs_that_differ_only_in_the_seed():
    others = [
        record("b", training__seed=1, training__threads=2),
        record("again", training__seed=1),
        record("same", training__seed=0),
        record("faster", training__seed=2, training__lr=0.01),
        record("three", "ndt-01-n3", training__seed=3),
        record("c", training__seed=4),
    ]
    assert lambdas.find_other_seeds(record("a"), others) == ["b", "c"]


def test_final_values_are_compared_with_reported_ones_of_the_same_cell():
    one, two = record("a", final=[[0.151], [0.184]]), record("b", final=[[0.153], [0.186]], training__seed=1)
    paper = lambdas.map_reported(find_counterpart(one.preset, one.config))
    assert paper == {(0, 1): 0.1507, (1, 1): 0.186}
    alone = lambdas.build_final_table([Track("a", 0, CURVES)], {"a": one}, paper)
    assert alone["This run"].tolist() == ["0.1510", "0.1840"] and alone["Difference"].tolist() == ["+0.0003", "−0.0020"]
    tracks = [Track("a", 0, CURVES), Track("b", 1, CURVES, sibling=True)]
    both = lambdas.build_final_table(tracks, {"a": one, "b": two}, paper)
    assert both["Mean over 2 seeds"].tolist() == ["0.1520", "0.1850"]
    assert both["Range"].tolist() == ["0.1510 to 0.1530", "0.1840 to 0.1860"]
    assert both["Difference"].tolist() == ["+0.0013", "−0.0010"]
    early = lambdas.build_final_table([Track("a", 0, CURVES)], {"a": record("a")}, {})  # before the run has finished
    assert early["At the start"].tolist() == ["0.1500", "0.1800"]
    assert early["This run"].tolist() == ["0.1600", "0.1700"] and "Reported" not in early.columns


def test_head_lambdas_skip_rows_with_missing_numbers_and_tables_have_all_points():
    rows = [
        {"kind": "step", "lambda_heads": [[[0.1, 0.2]], [[0.3, 0.4]]]},
        {"kind": "step", "lambda_heads": [[[None, 0.2]], [[0.3, 0.4]]]},
        {"kind": "epoch", "lambda_heads": [[[0.15, 0.25]], [[0.35, 0.45]]]},
    ]
    found = build_head_lines(History(rows, 0))
    assert found == {(0, 1): ((0.1, 0.15), (0.2, 0.25)), (1, 1): ((0.3, 0.35), (0.4, 0.45))}
    assert build_head_lines(History([{"kind": "step", "lambda": [[0.1]]}], 0)) == {}
    table = lambdas.build_course_table([Track("a", 7, CURVES, heads={(0, 1): ((0.1, 0.2),)})])
    assert len(table) == 6 and table.iloc[1].tolist() == ["a", 7, 1.0, 1, 1, "", 0.16, pytest.approx(0.01)]
    assert table[table["head"] == "1"]["lambda"].tolist() == [0.1, 0.2]
    assert lambdas.build_loss_table([Track("a", 7, CURVES)]).values.tolist() == [["a", 7, 1.0, 0.5]]


@pytest.mark.slow
def test_each_layer_and_component_has_a_panel_above_the_loss():
    figure = draw_course([replace(ONE, heads={(0, 1): ((0.1, 0.1, 0.12), (0.2, 0.2, 0.19))})], Look())
    titles = [note.text for note in figure.layout.annotations if "λ" in note.text or note.text == "validation loss"]
    assert titles == ["layer 1, λ₁", "layer 2, λ₁", "layer 1, λ₂", "layer 2, λ₂", "validation loss"]
    drawn = [tuple(trace.y) for trace in named(figure, "one")]
    assert drawn.count((0.6, 0.5)) == 1
    assert any(line == pytest.approx((0, 0.004, 0.008)) for line in drawn if len(line) == 3)
    assert tuple(named(figure, "head 2")[0].y) == pytest.approx((0, 0, -0.01))
    assert len({tuple(figure.layout[axis].range) for axis in figure.layout if axis.startswith("xaxis")}) == 1


@pytest.mark.parametrize("scale", ["change", "value"])
def test_all_lambda_panels_span_the_same_range(scale):
    found = spans(draw_course([ONE, OTHER], Look(), scale), (1, 2, 3, 4))
    assert found == pytest.approx([found[0]] * 4)


def test_main_run_is_in_front_and_tiny_changes_are_not_magnified():
    figure, t = draw_course([ONE, replace(OTHER, run="<b>x")], Look()), LIGHT
    assert {trace.line.color for trace in named(figure, "one")} == {t.accent}
    assert {trace.line.color for trace in named(figure, "&lt;b&gt;x")} == {t.right}
    assert [trace.name for trace in figure.data if trace.xaxis in (None, "x")] == ["&lt;b&gt;x", "one"]
    assert not [trace for trace in figure.data if "<b>" in trace.hovertemplate]
    figure = draw_course([ONE], Look(), "value", {(0, 1): 0.1606})
    assert [note.text for note in figure.layout.annotations if note.text.startswith("reported")] == ["reported 0.1606"]
    low, high = figure.layout.yaxis.range
    assert low < 0.15 < 0.1606 < high
    change = draw_course([ONE], Look(), "change", {(0, 1): 0.1606})
    assert not [note for note in change.layout.annotations if note.text.startswith("reported")]
    still = Track("still", 0, curves(move=0.0))
    assert spans(draw_course([still], Look()), (1,))[0] == pytest.approx(2.3 * SMALLEST_CHANGE)
    early = Curves(epochs=4, lambda_step=(0.0,), lambdas={(0, 1): (0.15,)})
    assert [tuple(trace.y) for trace in draw_course([Track("early", 0, early)], Look()).data] == [(0.0,), ()]


def test_seeds_are_averaged_at_common_epochs_without_runs_of_other_settings():
    late = Track("late", 2, curves(move=0.0, steps=(0.0, 0.5, 1.0)), sibling=True)
    grid, ends = lambdas.summarize_seeds([ONE, late], (0, 1), "change")
    assert grid == (0.0, 1.0)
    np.testing.assert_allclose(ends, [[0, 0], [0, 0.001], [0, 0.002]], atol=1e-12)
    assert lambdas.summarize_seeds([ONE, OTHER], (0, 1), "value") is None
    figure = draw_course([ONE, TWIN, OTHER], Look(), "value")
    (mean,) = [trace for trace in named(figure, "mean over seeds") if trace.xaxis in (None, "x")]
    np.testing.assert_allclose(mean.y, [0.15, 0.153, 0.156])


def test_normed_weights_are_drawn_as_shares_of_all_maps():
    lines = {(0, 1): (1.0, 0.375), (0, 2): (1.0, -2.75), (1, 1): (1.0, 1.0), (1, 2): (1.0, 0.0)}
    track = Track("a", 0, replace(CURVES, lambdas=lines), normed=True)
    shares = track.shares
    assert shares[0, 0] == pytest.approx((1 / 3, 1 / 4.125)) and shares[0, 2][-1] == pytest.approx(2.75 / 4.125)
    assert np.sum([line for (layer, _), line in shares.items() if layer == 1], 0) == pytest.approx([1, 1])
    assert lambdas.describe_change(track).endswith(
        "(λ₂ of layer 1). Weights are shares of their sum: the first map has 24 (layer 1), 50 (layer 2) of 100."
    )
    figure = lambdas.draw_shares(track, Look())
    assert [trace.name for trace in figure.data] == ["A₀", "A₁", "A₂"] * 2
    assert all(trace.stackgroup for trace in figure.data)
    assert [each.text for each in figure.layout.annotations if each.text[0] == "A"][:3] == ["A₀ 24", "A₁ 9", "A₂ 67"]
    table = lambdas.build_share_table(track)
    assert table["layer 2, A2"].tolist() == pytest.approx([1 / 3, 0]) and table["epoch"].tolist() == [0, 1]
