"""Runs by data set, best first: boards, rows, and text about the order."""

import dataclasses

import pytest
from finished import run

from core.evaluation.intervals import pool_intervals
from core.runs.efficiency import Efficiency
from core.runs.run_names import RunName
from dashboard.figures import leaderboard
from dashboard.figures.interval_table import Mark, TextCell
from dashboard.figures.leaderboard import build_models_table, compare_baseline, describe_order, list_boards


def rows(board) -> list[str]:
    return [entry.model.name for entry in board.entries]


def test_models_are_sorted_by_the_default_metric_and_unfinished_ones_come_last():
    (board,) = list_boards([run("waits", status="queued"), run("low", 0.6, training__lr=1e-3), run("high", 0.9)])
    assert rows(board) == ["high", "low", "waits"] and [entry.value for entry in board.entries] == [0.9, 0.6, None]
    (board,) = list_boards([run("low", 0.6, training__lr=1e-3), run("high", 0.9)], "loss")
    assert rows(board) == ["high", "low"] and [e.value for e in board.entries] == pytest.approx([0.1, 0.4])
    (board,) = list_boards([run("low", 0.6, training__lr=1e-3), run("high", 0.7), run("ahead", 0.9, status="running")])
    assert [entry.model.name for entry in board.measured] == ["high", "low"] and rows(board)[-1] == "ahead"
    (board,) = list_boards([run("several", 0.5, task="multi")])
    assert (board.metric, board.title) == ("tuned.f1_macro", "F1, macro, tuned")
    (entry,) = board.entries
    assert (entry.value, entry.low, entry.yardstick) == (0.6, 0.5, 0.75)
    (board,) = list_boards([run("several", 0.5, task="multi")], "f1_macro")
    assert (board.entries[0].value, board.entries[0].yardstick) == (0.5, 0.7)
    (board,) = list_boards([run("several", 0.5, task="multi")], "roc_auc")
    assert board.metric == "roc_auc_macro", "the nearest that texts with several labels have"
    assert next(iter(leaderboard.list_board_metrics([run("a", 0.9)]).items())) == ("Accuracy", "")
    both = leaderboard.list_board_metrics([run("a", 0.9), run("b", 0.5, task="multi")])
    assert next(iter(both)) == "Accuracy or F1, macro, tuned" and {"Accuracy", "F1, macro", "Loss"} <= set(both)


def test_each_data_set_has_a_board_with_a_unique_name():
    more = run("more", 0.75, data__add="sst2", data__apart="imdb", data__texts=False)
    others = [run("c", 0.7, data__classes=5), run("d", status="damaged"), run("e", 0.7, data__name="sst2")]
    others += [run("a", 0.9), run("b", 0.8, data__limit=100), more]
    expected = {"built-in, classes=2": ["a", "b", "more"], "built-in, classes=5": ["c"], "sst2": ["e"]}
    assert {board.name: rows(board) for board in list_boards(others)} == expected
    alone, foreign = run("a", 0.9), run("b", 0.8, data__add="sst5", data__rename="very negative=negative,neutral=")
    (board,) = list_boards([alone, foreign])
    assert rows(board) == ["a", "b"]
    own = run("c", 0.7, data__rename="neutral=,positive=good")
    assert sorted(board.name for board in list_boards([alone, own])) == ["built-in", "built-in, rename=positive=good"]
    files = [run(name, 0.7, data__name="a.csv", data__rename=names) for name, names in (("d", ""), ("e", "3="))]
    assert sorted(board.name for board in list_boards(files)) == ["a.csv", "a.csv, rename=3="]


def test_seeds_share_a_row_with_their_spread_and_unfold_to_runs():
    values = (0.90, 0.88, 0.92)
    (board,) = list_boards([run(f"s{seed}", value, training__seed=seed) for seed, value in enumerate(values)])
    (entry,) = board.entries
    assert (entry.model.name, entry.values) == ("vanilla", values) and entry.value == pytest.approx(0.90)
    known = {(seed, -1): value for seed, value in enumerate(values)}
    ends = {run: (value - 0.02, value + 0.02) for run, value in known.items()}
    assert (entry.low, entry.high) == pool_intervals(known, ends, (0, 1))
    assert entry.id not in [record.run for record in entry.model.records]
    row = made([run("s0", 0.90, training__seed=0), run("s1", 0.88, training__seed=1)]).rows[0]
    assert [child.id for child in row.children] == ["s0", "s1"] and row.cells["95 % interval"].dots == (0.90, 0.88)
    assert row.cells["model"].small.startswith("2 seeds · ") and row.children[0].cells["model"] == TextCell("seed 0")
    assert row.children[0].cells["95 % interval"] == Mark(dots=(0.9,), said="0.900")


def test_summary_names_the_best_model_and_its_certainty_by_display_names():
    models = {"a": 0.9, "b": 0.8, "c": 0.7}
    (board,) = list_boards([run(name, value, training__lr=value / 1000) for name, value in models.items()])
    assert describe_order(board, None) == "a ranks first of 3 models."
    assert describe_order(board, []) == describe_order(board, [["b", "c"]]) == "a is the best of 3 models."
    assert describe_order(board, [["a", "b"]]) == "a is the best of 3 models, but the first 2 show no clear difference."
    assert describe_order(board, [["a", "b", "c"]]) == "No two of the 3 models show a clear difference."
    models = {"a": 0.9, "b": 0.8}
    records = [run(name, value, training__lr=value / 1000) for name, value in models.items()]
    records[1] = dataclasses.replace(records[1], preset="tfidf-logreg")
    (board,) = list_boards(records)
    assert describe_order(board, [["a", "b"]]) == "No model is clearly better than TF-IDF."
    named = {"a": RunName("vanilla", "seed 2")}
    assert describe_order(board, [], named, "starter models") == "vanilla, seed 2 is the best of 2 starter models."
    (row, _) = build_models_table(board, [], named).rows
    assert (row.cells["model"].text, row.cells["model"].small) == ("vanilla", "seed 2 · plain attention")


def test_own_data_come_first_and_the_built_in_board_is_shortened():
    starters = [run(f"starter-{place}", 0.9 - place / 100, training__lr=(place + 1) / 1000) for place in range(5)]
    first, corpus = list_boards([*starters, run("own", 0.5, training__lr=0.5), run("other", 0.9, data__name="sst2")])
    assert (first.name, first.built_in, corpus.built_in) == ("sst2", False, True)
    cut = leaderboard.shorten_board(corpus)
    assert rows(cut) == ["starter-0", "starter-1", "starter-2", "own"] and cut.yardstick is None
    table = build_models_table(cut, [])
    assert [row.id for row in table.rows] == rows(cut) and table.rows[0].cells["95 % interval"].reference is None


def test_baseline_sentence_counts_better_models_and_handles_a_single_one():
    (board,) = list_boards([run("a", 0.9)])
    assert describe_order(board, []) == "a is the only tested model."
    (board,) = list_boards([run("a", 0.6)])
    assert describe_order(board, []) == "a is the only tested model, but does not beat TF-IDF."
    (board,) = list_boards([run("a", 0.9)])
    assert compare_baseline(board) == "TF-IDF reaches 0.700; the difference is +0.200."
    (board,) = list_boards([run("a", status="running")])
    assert describe_order(board, None) == compare_baseline(board) == ""
    (board,) = list_boards([run(name, value, training__lr=value) for name, value in (("a", 0.9), ("b", 0.6))])
    assert compare_baseline(board) == "1 of 2 models is above TF-IDF (0.700); the best by +0.200."
    (board,) = list_boards([run(name, value, training__lr=value) for name, value in (("a", 0.7), ("b", 0.6))])
    assert compare_baseline(board) == "None of the 2 models is above TF-IDF (0.700)."
    first, second = run("a", 0.9), run("b", 0.8, data__limit=100)
    (board,) = list_boards([first, second])
    assert board.yardstick == 0.7
    weaker = {**second.results, "yardstick": {"splits": {"test": {"accuracy": 0.6}}}}
    (board,) = list_boards([first, dataclasses.replace(second, results=weaker)])
    assert board.yardstick is None


def made(records, *, groups=()):
    (board,) = list_boards(records)
    return build_models_table(board, groups)


def keys(table) -> list[str]:
    return [column.key for column in table.columns]


def test_baseline_has_a_row_or_a_ring_but_not_both():
    table = made([run("good", 0.9), run("bad", 0.5, training__lr=1e-3)])
    assert [row.id for row in table.rows] == ["good", "yardstick", "bad"]
    assert not table.rows[1].picks and not table.rows[1].ticks and table.rows[1].cells["value"] == "0.700"
    assert table.rows[1].cells["95 % interval"].value == 0.7
    other = run("b", 0.8, data__limit=100)
    other.results["yardstick"] = {"splits": {"test": {"accuracy": 0.6}}}
    table = made([run("a", 0.9), other])
    assert [row.cells["95 % interval"].reference for row in table.rows] == [0.7, 0.6]
    table = made([dataclasses.replace(run("mine", 0.7), preset="tfidf-logreg"), run("a", 0.9, training__lr=1e-3)])
    assert [row.id for row in table.rows] == ["a", "mine"]
    assert table.rows[1].cells["model"] == TextCell("mine", small="TF-IDF baseline")


def test_models_without_result_give_the_reason_below_the_others():
    failed = dataclasses.replace(run("broken", status="failed"), reason="out of memory")
    table = made([run("a", 0.9), run("waits", status="queued"), failed, run("bare", training__lr=1e-3)])
    told = {row.id: row.cells["value"] for row in table.rows[2:]}
    assert told["waits"].text == "queued" and told["bare"].text == "not tested"
    assert told["broken"] == TextCell("failed", title="out of memory")
    long = made([dataclasses.replace(failed, reason="x" * 4_000)]).rows[0].cells["value"]
    assert len(long.title) == 300, "every visitor of Runs is sent it"
    assert [row.apart for row in table.rows] == [False, False, True, False, False]
    assert [row.ticks for row in table.rows] == [True, False, False, False, False], "only results can be compared"


def test_columns_appear_only_if_used_and_fit_their_content():
    rest = ["f1_macro", "recall_macro", "parameters", "training"]
    assert keys(made([run("a", 0.9)])) == ["model", "value", "95 % interval", *rest]
    assert keys(made([run("a", status="queued")])) == ["model", "value", *rest]
    records = [run("a", 0.9), run("b", 0.89, training__lr=1e-3)]
    assert "no clear difference" in keys(made(records, groups=[["a", "b"]]))
    assert "no clear difference" not in keys(made(records))
    even, lopsided = run("a", 0.9), run("a", 0.9)
    lopsided.results["intervals"]["test"]["accuracy"] = [0.7, 0.95]
    narrow, wide = made([even]), made([lopsided])
    assert wide.rows[0].cells["value"] == "0.900 (0.700 to 0.950)"
    widths = [next(column.width for column in table.columns if column.key == "value") for table in (wide, narrow)]
    assert widths == ["12rem", "8.4rem"]


def test_prediction_cost_is_described_and_sizes_are_short():
    assert leaderboard.describe_cost(Efficiency(1200, 3.0, 9_000_000)) == "", "not measured here"
    found = Efficiency(1200, 3.0, 9_000_000, one=0.5, batch=0.1, memory=2_500_000, where="a CPU, one thread")
    said = "0.50 ms for one text, 0.10 ms per text in a batch of 64, 2.5 MB of memory, 9.0 MB on disk "
    said += "(a CPU, one thread)"
    assert leaderboard.describe_cost(found).replace("\u202f", " ") == said
    sizes = [leaderboard.format_size(each) for each in (6, 999, 153_912, 2_100_000)]
    assert sizes == ["6", "999", "154\u202fk", "2.1\u202fM"]
    times = [leaderboard.format_ms(each) for each in (0.5, 12.34, 250.0)]
    assert times == ["0.50\u202fms", "12.3\u202fms", "250\u202fms"]
    assert [leaderboard.format_mb(each) for each in (250_000, 123_456_789)] == ["0.2\u202fMB", "123\u202fMB"]


def test_runs_share_a_board_unless_rows_that_a_start_learned_were_left_out():
    first = run("a", 0.9)
    second = run("b", 0.8, data__lineage="/x/1.texts")
    third = run("c", 0.8, data__lineage="/y/2.texts")
    third = dataclasses.replace(third, data_notes=("lineage: 3 rows of test left out, its start learned from them",))
    boards = list_boards([first, second, third])
    found = sorted(sorted(each.run for entry in board.entries for each in entry.model.records) for board in boards)
    assert found == [["a", "b"], ["c"]] and not any("/" in board.name for board in boards)
