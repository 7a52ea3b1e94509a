"""Figures of several runs: what is drawn of them, and what is said."""

import json

import numpy as np
import pytest
from answering import answering, right_where, texts

from core import api
from core.evaluation.comparison import better
from core.exceptions import InputError, NotAvailable
from core.runs.store import RunStore
from dashboard.figures import compare_where
from dashboard.figures.compare_cost import COST, MOST_TICKS, log_ticks
from dashboard.figures.compare_curves import CALIBRATION, LAMBDAS, ROC
from dashboard.figures.compare_sentences import MAPS, MATRIX, cell_frame, differing
from dashboard.figures.compare_where import WHERE, where_table
from dashboard.figures.comparing import MODELS, PAIRS, models_table, pairs_table
from dashboard.figures.interval_table import Mark
from dashboard.figures.source import Source
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
        chances = right_where(right, LABELS)
        answering(
            store,
            name,
            chances,
            texts(LABELS, ticker=tickers, third=thirds, kind=kinds),
            preset=PRESETS[name],
            results=results,
        )
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
def test_models_stand_with_letters_intervals_and_colours(source):
    table = models_table(MODELS.shape(source()), LOOK)
    assert [row.cells["model"].text for row in table.rows] == ["A good", "B fair", "C poor"]
    marks = marks_of(table)
    assert [mark.value for mark in marks.values()] == pytest.approx([right.mean() for right in RIGHT.values()])
    assert all(mark.low < mark.value < mark.high for mark in marks.values())
    assert len({mark.colour for mark in marks.values()}) == 3


def test_a_tie_looks_like_a_tie_and_its_interval_holds_0(source):
    shape = PAIRS.shape(source())
    for pair, (name, mark) in zip(shape.pairs, marks_of(pairs_table(shape, LOOK)).items(), strict=True):
        assert isinstance(mark, Mark) and mark.tie == (not better(pair)) == (mark.low <= 0 <= mark.high), name
    assert [row.id for row in pairs_table(shape, LOOK).rows] == ["A-B", "A-C", "B-C"]
    assert shape.told == "good and fair are better than poor; 1 of 3 pairs cannot be told apart."
    assert shape.closest.startswith("good and fair: ") and "would be needed" in shape.closest


def test_the_matrix_counts_who_is_right_where_the_other_is_wrong(source):
    shape = MATRIX.shape(source(pair="A-C"))
    one, other = RIGHT["good"], RIGHT["poor"]
    assert shape.counts.tolist() == [
        [(one & other).sum(), (one & ~other).sum()],
        [(~one & other).sum(), (~(one | other)).sum()],
    ]
    rows = cell_frame(shape, shape.rows(0, 1))
    assert rows["text"].tolist() == [f"text {row}" for row in np.flatnonzero(one & ~other)]
    assert (rows["A"] == rows["label"]).all() and (rows["C"] != rows["label"]).all()
    assert differing(shape).tolist() == np.flatnonzero(one != other).tolist()


@pytest.mark.slow
def test_the_matrix_of_answers_is_of_classes(source):
    shape = MATRIX.shape(source(pair="A-B", matrix="answers"))
    assert shape.kinds == ("bad", "good") and shape.counts.sum() == ROWS
    assert shape.counts[0, 1] == ((RIGHT["good"] != RIGHT["fair"]) & (RIGHT["good"] == (LABELS == 0))).sum()
    bars = MATRIX.draw(shape, LOOK).data[0]
    assert [list(each) for each in bars.customdata] == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_values_of_a_column_are_a_family(source):
    shape = WHERE.shape(source(pair="A-C", by="kind"))
    assert {test["value"]: test["n"] for test in shape.tests} == {"long": 200, "<b>short": 100}
    table = where_table(shape)
    assert all(mark.tie == (mark.low <= 0 <= mark.high) for mark in marks_of(table).values())
    first = next(test for test in shape.tests if test["value"] == "long")
    assert first["first_value"] == pytest.approx(RIGHT["good"][np.arange(ROWS) % 3 > 0].mean())


def test_it_opens_by_the_column_of_fewest_values_with_enough_rows_each(source):
    assert WHERE.shape(source()).column == "kind", "a ticker has a row, and there are more thirds than kinds"


def test_without_such_a_column_it_opens_by_the_label(source, monkeypatch):
    monkeypatch.setattr(compare_where, "ENOUGH", ROWS)
    assert WHERE.shape(source()).column == "label"


def test_values_of_few_rows_are_one_group_and_one_test(source):
    shape = WHERE.shape(source(pair="A-C", by="ticker"))
    assert {test["value"]: test["n"] for test in shape.tests} == {"other": 265, "35 others": 35}
    folded = next(test for test in shape.tests if test["n"] == 35)
    assert folded["first_value"] == pytest.approx(RIGHT["good"][:35].mean())
    assert folded["second_value"] == pytest.approx(RIGHT["poor"][:35].mean())


def test_a_curve_and_a_line_for_each_model(source):
    assert [curve.name for curve in ROC.shape(source()).curves] == ["A good", "B fair", "C poor"]
    assert [name for name, _ in CALIBRATION.shape(source()).models] == ["A good", "B fair", "C poor"]
    bins = CALIBRATION.shape(source()).models[0][1]
    says = RIGHT["good"] == (LABELS == 1)  # that it is good, with a probability of 0.9
    assert (bins[-1].n, bins[-1].true) == (says.sum(), pytest.approx((LABELS == 1)[says].mean()))


def test_only_models_with_a_lambda_have_one(source):
    assert [name for _, name, _ in LAMBDAS.shape(source()).models] == ["A good"]
    with pytest.raises(NotAvailable, match="none of these models has a lambda"):
        LAMBDAS.shape(source("fair", "poor"))


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([52_000, 162_000], [50_000, 100_000]),
        ([52_000, 406_000], [50_000, 100_000, 200_000, 300_000]),
        ([0.5, 3.8], [0.5, 1, 2, 3]),
        ([17, 240], [20, 30, 50, 100, 200]),
        ([2, 90_000], [10, 100, 1_000, 10_000]),
        ([100], [100]),
    ],
)
def test_a_logarithmic_axis_has_few_round_numbers(values, ticks):
    assert log_ticks(values) == ticks and len(ticks) <= MOST_TICKS


def test_costs_join_what_no_other_beats(source, store):
    for name, parameters in zip(RIGHT, (100, 300, 50), strict=True):
        store.update(name, parameters=parameters)
    shape = COST.shape(source("good", "fair"))
    assert shape.panels == ["parameters"]
    assert [(point.name, point.place) for point in shape.points] == [("A good", 0), ("B fair", 1), ("poor", None)]
    best = ["A good", "B fair"] if RIGHT["fair"].mean() > RIGHT["good"].mean() else ["A good"]
    assert [point.name for point in shape.best["parameters"]] == ["poor", *best]


@pytest.mark.parametrize("figure", [MODELS, PAIRS, MATRIX, WHERE, ROC, CALIBRATION, LAMBDAS, COST])
def test_one_run_alone_has_none_of_them(figure, source):
    with pytest.raises(NotAvailable, match="name others with --against"):
        figure.shape(source("good"))


@pytest.mark.parametrize("figure", [MODELS, PAIRS, WHERE])
def test_tables_of_marks_are_plain_data_and_nothing_is_markup(figure, source):
    drawn = figure.draw(figure.shape(source(pair="A-C")), LOOK)
    assert json.loads(json.dumps(drawn.data, allow_nan=False))["table"][0] == "table"
    assert "<b>short" not in drawn.html("x").replace("\\u003cb>short", "")


def test_a_pair_that_there_is_not_is_refused(source):
    with pytest.raises(InputError, match="pair=A-Z: one of A-B, A-C, B-C"):
        MATRIX.shape(source(pair="A-Z"))


def test_a_map_needs_a_sentence(source):
    with pytest.raises(NotAvailable, match="a sentence is needed"):
        MAPS.shape(source(who="A"))


@pytest.mark.slow
def test_all_figures_of_two_runs_are_written_and_those_of_a_third_are_left_out(store, tmp_path):
    result = api.figures("good", tmp_path, against=["fair"], store=store)
    names = {each["name"] for each in result["files"]}
    assert {"compare-models", "compare-pairs", "compare-roc", "confusion"} <= names
    assert "sentence is needed" in result["left_out"]["compare-map-a"]
    assert result["left_out"]["compare-map-c"] == "there is no model C, only A, B"
