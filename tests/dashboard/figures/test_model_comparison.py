"""Figures of several runs: drawing and text."""

import json

import numpy as np
import pytest
from answering import answering, right_where, texts
from refused import check_raises

from core import api
from core.evaluation.comparison import pick_better
from core.exceptions import InputError, NotAvailable
from core.runs.store import RunStore
from dashboard.figures import model_comparison
from dashboard.figures.compare_curves import CALIBRATION, COST, LAMBDAS, MOST_TICKS, ROC, compute_log_ticks
from dashboard.figures.compare_sentences import MAPS, MATRIX, build_cell_table, find_one_right
from dashboard.figures.figure import Source
from dashboard.figures.interval_table import Mark
from dashboard.figures.model_comparison import MODELS, PAIRS, WHERE, build_column_table
from dashboard.figures.theme import Look
from dashboard.reader import Reader

LOOK = Look()
ROWS = 300
LABELS = np.arange(ROWS) % 2
RANDOM = np.random.default_rng(0)
RIGHT = {"good": RANDOM.random(ROWS) < 0.95, "fair": RANDOM.random(ROWS) < 0.93, "poor": RANDOM.random(ROWS) < 0.6}
PRESETS = {"good": "differential", "fair": "vanilla", "poor": "ndt-01-n2"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("runs"))
    kinds = np.where(np.arange(ROWS) % 3, "long", "<b>short")
    tickers = np.where(np.arange(ROWS) < 35, np.arange(ROWS).astype(str), "other")
    thirds = np.char.add("part ", (np.arange(ROWS) % 3).astype(str))
    for name, right in RIGHT.items():
        results = {"metrics": {"test": {"accuracy": float(right.mean())}}}
        results |= {"lambda": [[0.5], [0.25]]} if name == "good" else {}
        rows = texts(LABELS, ticker=tickers, third=thirds, kind=kinds)
        answering(store, name, right_where(right, LABELS), rows, preset=PRESETS[name], results=results)
    return store


@pytest.fixture
def source(store):
    def made(*runs, **choices):
        record, *others = [store.read(run) for run in runs or RIGHT]
        return Source(record, Reader(store), others=others, choices=choices)

    return made


def marks_of(table, column="interval"):
    return {row.id: row.cells[column] for row in table.rows}


@pytest.mark.slow
def test_models_have_letters_and_colors_and_tie_intervals_include_0(source):
    table = model_comparison.build_models_table(MODELS.read_data(source()), LOOK).marks
    assert [row.cells["model"].text for row in table.rows] == ["A good", "B fair", "C poor"]
    marks = marks_of(table)
    assert [mark.value for mark in marks.values()] == pytest.approx([right.mean() for right in RIGHT.values()])
    assert all(mark.low < mark.value < mark.high for mark in marks.values())
    assert len({mark.color for mark in marks.values()}) == 3
    shape = PAIRS.read_data(source())
    for pair, (name, mark) in zip(
        shape.pairs, marks_of(model_comparison.build_pairs_table(shape).marks).items(), strict=True
    ):
        assert isinstance(mark, Mark) and mark.tie == (not pick_better(pair)) == (mark.low <= 0 <= mark.high), name
    assert [row.id for row in model_comparison.build_pairs_table(shape).marks.rows] == ["A-B", "A-C", "B-C"]
    assert shape.summary == "good and fair are better than poor; 1 of 3 pairs show no clear difference."
    assert shape.closest.startswith("good and fair: ") and "Detecting it would take about" in shape.closest


@pytest.mark.slow
def test_matrix_counts_correct_models_or_their_predictions(source):
    shape = MATRIX.read_data(source(pair="A-C"))
    one, other = RIGHT["good"], RIGHT["poor"]
    assert shape.counts.ravel().tolist() == [(a & b).sum() for a in (one, ~one) for b in (other, ~other)]
    rows = build_cell_table(shape, shape.find_rows(0, 1))
    assert rows["text"].tolist() == [f"text {row}" for row in np.flatnonzero(one & ~other)]
    assert (rows["A"] == rows["label"]).all() and (rows["C"] != rows["label"]).all()
    assert find_one_right(shape).tolist() == np.flatnonzero(one != other).tolist()
    shape = MATRIX.read_data(source(pair="A-B", matrix="answers"))
    assert shape.kinds == ("bad", "good") and shape.counts.sum() == ROWS
    assert shape.counts[0, 1] == ((RIGHT["good"] != RIGHT["fair"]) & (RIGHT["good"] == (LABELS == 0))).sum()
    assert [list(each) for each in MATRIX.draw(shape, LOOK).data[0].customdata] == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_exhibit_of_two_models_has_a_square_for_each_sentence_that_one_alone_gets_right(source):
    shape = MATRIX.read_data(source(pair="A-C"))
    first, second, *accuracies = MATRIX.exhibit(shape, LOOK).data
    one, other = RIGHT["good"], RIGHT["poor"]
    assert [len(each.x) for each in (first, second)] == [(one & ~other).sum(), (other & ~one).sum()]
    assert max(first.x) < 0.47 and 0.53 < min(second.x) and min(*first.base, *second.base) >= 0
    assert [each.x[0] for each in accuracies] == [one.mean(), other.mean()]
    texts = [each.text for each in MATRIX.exhibit(shape, LOOK).layout.annotations]
    assert f"both right <b>{(one & other).sum()}</b>" in texts and f"both wrong <b>{(~one & ~other).sum()}</b>" in texts


def test_column_values_are_tested_as_a_family_and_rare_ones_are_grouped(source):
    shape = WHERE.read_data(source(pair="A-C", by="kind"))
    assert {test["value"]: test["n"] for test in shape.tests} == {"long": 200, "<b>short": 100}
    assert all(mark.tie == (mark.low <= 0 <= mark.high) for mark in marks_of(build_column_table(shape).marks).values())
    first = next(test for test in shape.tests if test["value"] == "long")
    assert first["first_value"] == pytest.approx(RIGHT["good"][np.arange(ROWS) % 3 > 0].mean())
    shape = WHERE.read_data(source(pair="A-C", by="ticker"))
    assert {test["value"]: test["n"] for test in shape.tests} == {"other": 265, "35 others": 35}
    folded = next(test for test in shape.tests if test["n"] == 35)
    assert folded["first_value"] == pytest.approx(RIGHT["good"][:35].mean())
    assert folded["second_value"] == pytest.approx(RIGHT["poor"][:35].mean())


def test_default_column_has_fewest_values_with_enough_rows_or_is_the_label(source, monkeypatch):
    assert WHERE.read_data(source()).column == "kind", "a ticker has a row, and there are more thirds than kinds"
    monkeypatch.setattr(model_comparison, "ENOUGH", ROWS)
    assert WHERE.read_data(source()).column == "label"


def test_each_model_has_its_curves_and_its_lambdas_if_any(source):
    assert [curve.name for curve in ROC.read_data(source()).curves] == ["A good", "B fair", "C poor"]
    assert [name for name, _ in CALIBRATION.read_data(source()).models] == ["A good", "B fair", "C poor"]
    bins = CALIBRATION.read_data(source()).models[0][1]
    says = RIGHT["good"] == (LABELS == 1)  # predicts "good" with probability 0.9
    assert (bins[-1].n, bins[-1].true) == (says.sum(), pytest.approx((LABELS == 1)[says].mean()))
    assert [name for _, name, _ in LAMBDAS.read_data(source())] == ["A good"]
    check_raises(NotAvailable, "none of these models has a lambda", LAMBDAS.read_data, source("fair", "poor"))


def test_logarithmic_axis_has_few_round_ticks():
    assert compute_log_ticks([52_000, 162_000]) == [50_000, 100_000]
    assert compute_log_ticks([52_000, 406_000]) == [50_000, 100_000, 200_000, 300_000]
    assert compute_log_ticks([0.5, 3.8]) == [0.5, 1, 2, 3]
    assert compute_log_ticks([2_672_000, 2_964_000]) == [2_670_000, 2_960_000]
    assert compute_log_ticks([17, 240]) == [20, 30, 50, 100, 200] and MOST_TICKS >= 5
    assert compute_log_ticks([2, 90_000]) == [10, 100, 1_000, 10_000] and compute_log_ticks([100]) == [100]


def test_cost_line_joins_models_that_no_other_model_beats(source, store):
    for name, parameters in zip(RIGHT, (100, 300, 50), strict=True):
        store.update(name, parameters=parameters)
    shape = COST.read_data(source("good", "fair"))
    assert shape.panels == ["parameters"]
    assert [(point.name, point.place) for point in shape.points] == [("A good", 0), ("B fair", 1), ("poor", None)]
    best = ["A good", "B fair"] if RIGHT["fair"].mean() > RIGHT["good"].mean() else ["A good"]
    assert [point.name for point in shape.best["parameters"]] == ["poor", *best]


def test_metric_without_variance_has_no_interval_in_the_cost_figure(tmp_path):
    store = RunStore(tmp_path)
    for name in ("good", "fair"):
        answering(store, name, right_where(np.ones(ROWS, bool), LABELS), texts(LABELS), preset=PRESETS[name])
    record, other = map(store.read, ("good", "fair"))
    shape = COST.read_data(Source(record, Reader(store), others=[other], choices={"metric": "roc_auc"}))
    assert [(point.value, point.low, point.high) for point in shape.points] == [(1.0, None, None)] * 2


@pytest.mark.parametrize("figure", [MODELS, PAIRS, MATRIX, WHERE, ROC, CALIBRATION, LAMBDAS, COST])
def test_single_run_has_no_comparison_figures(figure, source):
    check_raises(NotAvailable, "name others with --against", figure.read_data, source("good"))


@pytest.mark.parametrize("figure", [MODELS, PAIRS, WHERE])
def test_interval_tables_are_plain_data_without_markup(figure, source):
    drawn = figure.draw(figure.read_data(source(pair="A-C")), LOOK)
    assert json.loads(json.dumps(drawn.data, allow_nan=False))["table"][0] == "table"
    assert "<b>short" not in drawn.to_html("x").replace("\\u003cb>short", "")


def test_unknown_pair_and_map_without_a_sentence_are_refused(source):
    check_raises(InputError, "pair=A-Z: one of A-B, A-C, B-C", MATRIX.read_data, source(pair="A-Z"))
    check_raises(NotAvailable, "a sentence is needed", MAPS.read_data, source(who="A"))


@pytest.mark.slow
def test_all_figures_of_two_runs_are_written_without_those_of_a_third(store, tmp_path):
    result = api.figures("good", tmp_path, against=["fair"], store=store)
    assert {"compare-models", "compare-pairs", "compare-roc", "confusion"} <= {each["name"] for each in result["files"]}
    assert "sentence is needed" in result["left_out"]["compare-map-a"]
    assert result["left_out"]["compare-map-c"] == "there is no model C, only A, B"
