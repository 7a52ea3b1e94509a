"""Runs by data set, best first: what is one board, one row, and what is said of the order."""

from __future__ import annotations

import dataclasses

import pytest
from finished import run

from core.evaluation.intervals import over_runs
from dashboard.figures.leaderboard import against_yardstick, boards, finding, metric_names


def rows(board) -> list[str]:
    return [entry.model.name for entry in board.entries]


def test_the_best_comes_first_and_what_has_no_result_last():
    (board,) = boards([run("waits", status="queued"), run("low", 0.6, training__lr=1e-3), run("high", 0.9)])
    assert rows(board) == ["high", "low", "waits"]
    assert [entry.value for entry in board.entries] == [0.9, 0.6, None]
    (board,) = boards([run("low", 0.6, training__lr=1e-3), run("high", 0.9)], "loss")
    assert rows(board) == ["high", "low"], "of the loss less is better"
    assert [entry.value for entry in board.entries] == pytest.approx([0.1, 0.4])


def test_a_run_that_has_not_finished_has_no_place_in_the_order_whatever_it_has_measured():
    (board,) = boards([run("low", 0.6, training__lr=1e-3), run("high", 0.7), run("ahead", 0.9, status="running")])
    assert [entry.model.name for entry in board.measured] == ["high", "low"]
    assert rows(board)[-1] == "ahead"


def test_each_data_set_has_its_board_and_other_test_rows_are_other_data():
    found = boards(
        [
            run("a", 0.9),
            run("b", 0.8, data__limit=100),
            run("more", 0.75, data__add="sst2", data__apart="imdb", data__texts=False),
            run("c", 0.7, data__classes=5),
            run("d", status="damaged"),
            run("e", 0.7, data__name="sst2"),
        ]
    )
    assert {board.name: rows(board) for board in found} == {
        "built-in, classes=2": ["a", "b", "more"],
        "built-in, classes=5": ["c"],
        "sst2": ["e"],
    }


def test_labels_renamed_in_added_sets_are_no_other_data_and_no_two_boards_share_a_name():
    alone, foreign = run("a", 0.9), run("b", 0.8, data__add="sst5", data__rename="very negative=negative,neutral=")
    (board,) = boards([alone, foreign])
    assert rows(board) == ["a", "b"]
    own = run("c", 0.7, data__rename="neutral=,positive=good")
    assert sorted(board.name for board in boards([alone, own])) == ["built-in", "built-in, rename=positive=good"]
    files = [run(name, 0.7, data__name="a.csv", data__rename=names) for name, names in (("d", ""), ("e", "3="))]
    assert sorted(board.name for board in boards(files)) == ["a.csv", "a.csv, rename=3="]


def test_seeds_are_one_row_with_the_spread_between_them():
    values = (0.90, 0.88, 0.92)
    (board,) = boards([run(f"s{seed}", value, training__seed=seed) for seed, value in enumerate(values)])
    (entry,) = board.entries
    assert (entry.model.name, entry.values) == ("vanilla", values)
    assert entry.value == pytest.approx(0.90)
    known = {(seed, -1): value for seed, value in enumerate(values)}
    ends = {run: (value - 0.02, value + 0.02) for run, value in known.items()}
    assert (entry.low, entry.high) == over_runs(known, ends, (0, 1))
    assert entry.id not in [record.run for record in entry.model.records]


def test_several_labels_are_ordered_by_f1_at_tuned_thresholds():
    (board,) = boards([run("several", 0.5, task="multi")])
    assert (board.metric, board.title) == ("tuned.f1_macro", "F1, macro, tuned")
    (entry,) = board.entries
    assert (entry.value, entry.low, entry.yardstick) == (0.6, 0.5, 0.75)
    (board,) = boards([run("several", 0.5, task="multi")], "f1_macro")
    assert (board.entries[0].value, board.entries[0].yardstick) == (0.5, 0.7)
    (board,) = boards([run("several", 0.5, task="multi")], "roc_auc")
    assert board.metric == "roc_auc_macro", "the nearest that texts with several labels have"


def test_the_yardstick_is_one_number_only_where_it_is_the_same_for_all():
    first, second = run("a", 0.9), run("b", 0.8, data__limit=100)
    (board,) = boards([first, second])
    assert board.yardstick == 0.7
    weaker = {**second.results, "yardstick": {"splits": {"test": {"accuracy": 0.6}}}}
    (board,) = boards([first, dataclasses.replace(second, results=weaker)])
    assert board.yardstick is None


def test_what_can_be_chosen_begins_with_the_usual():
    assert next(iter(metric_names([run("a", 0.9)]).items())) == ("Accuracy", "")
    both = metric_names([run("a", 0.9), run("b", 0.5, task="multi")])
    assert next(iter(both)) == "Accuracy or F1, macro, tuned"
    assert {"Accuracy", "F1, macro", "Loss"} <= set(both)


@pytest.mark.parametrize(
    ("tied", "said"),
    [
        (None, "a comes first of 3."),
        ([], "a is best of 3."),
        ([["b", "c"]], "a is best of 3."),
        ([["a", "b"]], "a is best of 3, but the first 2 cannot be told apart."),
        ([["a", "b", "c"]], "No two of the 3 models can be told apart."),
    ],
)
def test_the_finding_says_who_is_best_and_how_sure_that_is(tied, said):
    models = {"a": 0.9, "b": 0.8, "c": 0.7}
    (board,) = boards([run(name, value, training__lr=value / 1000) for name, value in models.items()])
    assert finding(board, tied) == said


def test_one_model_is_not_called_the_best():
    (board,) = boards([run("a", 0.9)])
    assert finding(board, []) == "a is the only model that was tested."
    assert against_yardstick(board) == "TF-IDF reaches 0.700; the difference is +0.200."
    (board,) = boards([run("a", status="running")])
    assert finding(board, None) == against_yardstick(board) == ""


def test_the_yardstick_is_told_with_how_many_are_better():
    (board,) = boards([run(name, value, training__lr=value) for name, value in (("a", 0.9), ("b", 0.6))])
    assert against_yardstick(board) == "1 of 2 models is above TF-IDF (0.700); the best by +0.200."
    (board,) = boards([run(name, value, training__lr=value) for name, value in (("a", 0.7), ("b", 0.6))])
    assert against_yardstick(board) == "None of the 2 models is above TF-IDF (0.700)."
