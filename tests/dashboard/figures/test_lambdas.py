"""Which runs belong together, and our final values beside the paper's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.config import compose
from core.papers.reported import counterpart
from core.runs.record import RunRecord
from core.training.history import History
from dashboard.figures.lambdas import (
    Track,
    course_table,
    final_table,
    has_lambda,
    head_lines,
    loss_table,
    moved,
    other_seeds,
    reported_places,
    where_it_starts,
)
from dashboard.figures.training import Curves


def record(run, preset="ndt-01-n2", final=None, **settings):
    config = compose(preset, {"data.name": "imdb", **{name.replace("__", "."): v for name, v in settings.items()}})
    results = {} if final is None else {"lambda": final}
    return RunRecord(run, preset, "done", config, "2026-01-01", results=results)


CURVES = Curves(
    epochs=2,
    epoch=(1.0,),
    validation_loss=(0.5,),
    validation_metric=(0.7,),
    lambda_step=(0.0, 1.0),
    lambdas={(0, 1): (0.15, 0.16), (1, 1): (0.18, 0.17)},
)


@pytest.mark.parametrize(
    ("preset", "has"), [("ndt-pos-n3", True), ("differential-v2", True), ("vanilla", False), ("tfidf-logreg", False)]
)
def test_lambda_belongs_to_models_with_several_maps(preset, has):
    assert has_lambda(record("a", preset)) is has
    assert not has_lambda(replace(record("a", preset), status="damaged"))


def test_lambda_hardly_moved_where_no_value_came_a_hundredth_from_its_start():
    still = replace(CURVES, lambdas={(0, 1): (0.15, 0.1599, 0.15), (1, 1): (0.18, 0.175, 0.178)})
    assert moved(Track("a", 0, still)) == (
        "λ hardly moved: by 0.0099 at most (λ₁ of layer 1), less than 0.01 of the first map's 1."
    )
    gone = replace(CURVES, lambdas={(0, 1): (0.15, 0.16), (1, 2): (0.18, 0.05, 0.2)})
    assert moved(Track("a", 0, gone)) == "λ moved by up to 0.130 (λ₂ of layer 2); the first map weighs 1."


def test_a_start_that_was_fitted_is_told_and_so_is_a_chosen_one():
    assert "fitted to the λ that it reports" in where_it_starts(record("a"))
    chosen = record("a", model__attention__lambda_start="0.5")
    assert where_it_starts(chosen) == "The paper prints no start; here λ starts at 0.5."
    assert where_it_starts(record("a", "differential")) == ""


def test_seeds_are_runs_that_differ_in_nothing_else_each_seed_once():
    others = [
        record("b", training__seed=1, training__threads=2),
        record("again", training__seed=1),
        record("same", training__seed=0),
        record("faster", training__seed=2, training__lr=0.01),
        record("three", "ndt-01-n3", training__seed=3),
        record("c", training__seed=4),
    ]
    assert other_seeds(record("a"), others) == ["b", "c"]


def test_final_values_stand_beside_the_reported_ones_of_the_same_cell():
    one, two = record("a", final=[[0.151], [0.184]]), record("b", final=[[0.153], [0.186]], training__seed=1)
    paper = reported_places(counterpart(one.preset, one.config))
    assert paper == {(0, 1): 0.1507, (1, 1): 0.186}
    alone = final_table([Track("a", 0, CURVES)], {"a": one}, paper)
    assert alone["This run"].tolist() == ["0.1510", "0.1840"]
    assert alone["Difference"].tolist() == ["+0.0003", "−0.0020"]
    both = final_table([Track("a", 0, CURVES), Track("b", 1, CURVES, sibling=True)], {"a": one, "b": two}, paper)
    assert both["Mean over 2 seeds"].tolist() == ["0.1520", "0.1850"]
    assert both["Range"].tolist() == ["0.1510 to 0.1530", "0.1840 to 0.1860"]
    assert both["Difference"].tolist() == ["+0.0013", "−0.0010"]


def test_before_a_run_is_done_its_last_logged_value_stands_and_nothing_reported_adds_no_column():
    table = final_table([Track("a", 0, CURVES)], {"a": record("a")}, {})
    assert table["At the start"].tolist() == ["0.1500", "0.1800"]
    assert table["This run"].tolist() == ["0.1600", "0.1700"]
    assert "Reported" not in table.columns


def test_lambdas_of_heads_are_read_line_by_line_and_a_missing_number_leaves_its_row_out():
    rows = [
        {"kind": "step", "lambda_heads": [[[0.1, 0.2]], [[0.3, 0.4]]]},
        {"kind": "step", "lambda_heads": [[[None, 0.2]], [[0.3, 0.4]]]},
        {"kind": "epoch", "lambda_heads": [[[0.15, 0.25]], [[0.35, 0.45]]]},
    ]
    assert head_lines(History(rows, 0)) == {
        (0, 1): ((0.1, 0.15), (0.2, 0.25)),
        (1, 1): ((0.3, 0.35), (0.4, 0.45)),
    }
    assert head_lines(History([{"kind": "step", "lambda": [[0.1]]}], 0)) == {}


def test_the_tables_for_export_hold_every_point():
    table = course_table([Track("a", 7, CURVES, heads={(0, 1): ((0.1, 0.2),)})])
    assert len(table) == 6
    assert table.iloc[1].tolist() == ["a", 7, 1.0, 1, 1, "", 0.16, pytest.approx(0.01)]
    assert table[table["head"] == "1"]["lambda"].tolist() == [0.1, 0.2]
    assert loss_table([Track("a", 7, CURVES)]).values.tolist() == [["a", 7, 1.0, 0.5]]
