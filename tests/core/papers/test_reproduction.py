"""The papers' tables beside our results: verdicts by closed formulas, cells against the papers, nothing trained."""

import math
from collections import Counter

import numpy as np
import pytest

from core.config import compose
from core.exceptions import InputError
from core.papers import training_cells
from core.papers.reported_results import read_speed, select_reported
from core.papers.reproduction import (
    AGREES,
    BASELINE,
    BETTER,
    DIFFERS,
    INCONCLUSIVE,
    NOT_RUN,
    ONE_SEED,
    VERDICTS,
    Results,
    build_table,
    judge_difference,
    list_tables,
    reproduce_overview,
    reproduce_tables,
)
from core.papers.training_cells import EDIT, TrainingCell, list_cells, make_key, pack_rows, read_recipes, unpack_rows

T_975, T_95 = 4.302652729911275, 2.919985580355516
"""Quantiles of Student's t with two degrees of freedom, from printed tables."""


@pytest.fixture
def empty(tmp_path):
    return Results([tmp_path])


def find_row(table, label, metric):
    return next(row for row in table["rows"] if row["row"] == label and row["metric"] == metric)


@pytest.mark.parametrize(
    ("values", "reported", "rows", "upward", "verdict"),
    [
        ([80.0], 80.0, 1.0, True, ONE_SEED),
        ([83.0, 83.0, 83.0], 80.0, 1.0, True, BETTER),  # 3 > 1.645
        ([81.7, 81.7, 81.7], 80.0, 1.0, True, BETTER),  # one-sided: 1.7 > 1.645, although the interval includes 0
        ([81.7, 81.7, 81.7], 80.0, 1.0, False, INCONCLUSIVE),
        ([83.0, 83.0, 83.0], 80.0, 1.0, False, DIFFERS),
        ([78.0, 78.0, 78.0], 80.0, 1.0, True, DIFFERS),  # 2 > 1.96
        ([79.7, 79.7, 79.7], 80.0, 0.01, True, DIFFERS),  # within 1.5 points, but beyond chance
        ([79.9, 79.9, 79.9], 80.0, 0.25, True, AGREES),  # -0.1 ± 0.98
        ([79.4, 79.4, 79.4], 80.0, 0.25, True, INCONCLUSIVE),  # -0.6 ± 0.98 reaches -1.58
        ([77.0, 80.0, 83.0], 80.0, 0.0, True, INCONCLUSIVE),
    ],
)
def test_verdicts_are_tested_in_the_declared_order(values, reported, rows, upward, verdict):
    assert judge_difference(values, reported, rows, upward=upward)["verdict"] == verdict


def test_interval_counts_test_rows_and_seeds():
    only_rows = judge_difference([80.0, 80.0], 79.0, 4.0)
    assert only_rows["interval"] == pytest.approx([1 - 2 * 1.959964, 1 + 2 * 1.959964], abs=1e-5)
    only_seeds = judge_difference([79.0, 80.0, 81.0], 80.0, 0.0)  # standard deviation 1
    assert only_seeds["interval"][1] == pytest.approx(T_975 / math.sqrt(3))
    both = judge_difference([79.0, 80.0, 81.0], 80.0, 1 / 3)
    assert both["interval"][1] == pytest.approx((T_975 + 1.959964) / 2 * math.sqrt(2 / 3), rel=1e-6)
    assert judge_difference([79.0, 80.0, 81.0], 80.0 - 1.01 * T_95 / math.sqrt(3), 0.0)["verdict"] == BETTER
    assert judge_difference([79.0, 80.0, 81.0], 80.0 - 0.99 * T_95 / math.sqrt(3), 0.0)["verdict"] != BETTER
    assert judge_difference([80.0], 79.0, 4.0) == {"difference": 1.0, "interval": None, "verdict": ONE_SEED}


def test_table_x_of_ndt_has_16_of_20_cells():
    rows = [row for row in reproduce_tables("ndt", "X")["tables"][0]["rows"] if row["metric"] == "params"]
    assert len(rows) == 20
    wrong = {
        (row["dataset"], row["row"]): round(row["reported"] - row["ours"], 4)
        for row in rows
        if row["verdict"] != AGREES
    }
    assert wrong == {
        ("TFN", "DT N=2"): -0.0117,
        ("TFN", "NDT N=2"): -0.0115,
        ("TFN", "NDT N=3"): -0.0146,
        ("TFN", "NDT N=4"): -0.0178,
    }
    assert {row["verdict"] for row in rows} == {AGREES, DIFFERS}


def test_table_xi_of_ndt_has_the_committed_times_and_compares_ratios_only():
    [table] = reproduce_tables("ndt", "XI")["tables"]
    assert "128 texts of 128 tokens, on AMD EPYC with 2 threads." in table["differs"]
    speed = {each["model"]: each["milliseconds"] for each in read_speed()["models"]}
    rows = {(row["row"], row["dataset"]): row for row in table["rows"]}
    presets = {"Vanilla": "vanilla", "DT N=2": "differential", **{f"NDT N={n}": f"ndt-01-n{n}" for n in (2, 3, 4)}}
    assert {name: row["ours"] for (name, _), row in rows.items()} == {row: speed[name] for row, name in presets.items()}
    assert {row["verdict"] for row in rows.values()} == {INCONCLUSIVE} and rows["Vanilla", "TFN"]["difference"] is None
    assert rows["NDT N=3", "IMDB"]["reason"] == "ratio to Vanilla 2.06, the paper's 1.90"  # 48.59 / 25.58
    assert rows["NDT N=3", "TFN"]["reason"].endswith("too coarse for one")


def test_table_1_of_inceptive_counts_texts_tokens_and_labels(monkeypatch):
    monkeypatch.delenv("SENTISCOPE_DATA", raising=False)
    rows = {(row["dataset"], row["metric"]): row for row in reproduce_tables("inceptive", "1")["tables"][0]["rows"]}
    assert rows["Emotion", "n_texts"]["ours"] == 3257 + 374 + 1421 and rows["Irony", "n_texts"]["verdict"] == AGREES
    assert rows["Emotion", "mean_token_length"]["ours"] == pytest.approx(20.363)
    assert rows["CAVES", "mean_labels_per_text"]["verdict"] == AGREES  # 1.1613, reported 1.16
    assert (rows["OHSUMED", "n_classes"]["ours"], rows["OHSUMED", "mean_labels_per_text"]["ours"]) == (23, 1)
    assert rows["Irony", "mean_token_length"]["reason"] == "needs the published files"


def test_every_reported_cell_has_a_row():
    names = {"ndt": "I II III IV V VI VII VIII IX X XI", "sentiformer": "I II", "7ess-xin": "I II", "lexical": "1 2 3"}
    names["inceptive"] = "1 3 4 5 6 7"
    sizes = {"I": 56, "II": 48, "X": 24, "XI": 20, "IX": 56}
    for paper, tables in names.items():
        found = reproduce_tables(paper)["tables"]
        assert [table["table"] for table in found if table["table"] != "Fig. 5"] == tables.split()
        for table in found:
            rows = [row for row in table["rows"] if row["reported"] is not None]
            wanted = [row for row in select_reported(paper=paper) if row.table == table["table"]]
            if table["table"] != "Fig. 5":
                assert [row["reported"] for row in rows] == [row.value for row in wanted]
            assert {row["verdict"] for row in table["rows"]} <= set(VERDICTS)
            for row in table["rows"]:
                assert row["ours"] is not None or (row["verdict"] == NOT_RUN and row["reason"]), row
            if paper == "ndt":
                assert len(rows) == sizes.get(table["table"], len(rows))
    [figure] = reproduce_tables("7ess-xin", "fig. 5")["tables"]
    assert [row["reported"] for row in figure["rows"] if row["reported"] is not None] == [85.3, 73.8, 26.2, 33.0, 20.0]


def test_scores_come_from_the_committed_lines():
    lines = training_cells.read_lines([training_cells.RESULTS], "ndt-twitter-financial").values()
    scores = [100 * line["metrics"]["test"]["accuracy"] for line in lines if line["model"] == "vanilla"]
    [table] = reproduce_tables("ndt", "VII")["tables"]
    row = find_row(table, "Vanilla", "accuracy")
    assert sorted(row["values"]) == pytest.approx(sorted(scores)) and row["n"] == 3 and row["reported"] == 81.99
    assert row["ours"] == pytest.approx(sum(scores) / 3)
    ours = row["ours"] / 100
    variance = 1e4 * (0.8199 * 0.1801 + ours * (1 - ours)) / 1194
    assert row["interval"] == pytest.approx(judge_difference(scores, 81.99, variance)["interval"])
    validation = {x["model"]: x["metrics"]["validation"]["accuracy"] for x in lines if x["model"][:2] == "tf"}
    chosen = max(validation, key=validation.get)
    [test] = [line["metrics"]["test"]["accuracy"] for line in lines if line["model"] == chosen]
    assert row["baseline"] == pytest.approx(100 * test)
    assert find_row(table, f"TF-IDF ({chosen})", "accuracy")["verdict"] == BASELINE


def make_line(model, seed, predicted, **more):
    accuracy = float(np.mean(np.array([0, 0, 0, 0, 1, 1, 1, 1]) == predicted))
    scores = {"accuracy": accuracy, "f1_macro": accuracy}
    line = {"group": "7ess-xin-8000", "data": "sentiment140", "model": model, "seed": seed}
    settings = {"data.split": "0.8/0.1/0.1", "data.limit": 8000}
    metrics = {"validation": scores, "test": scores}
    return (
        line
        | {"settings": settings, "metrics": metrics, "test": "x", "predicted": pack_rows(np.array(predicted))}
        | more
    )


def write_results(folder, lines):
    labels = {"task": "single", "classes": ["a", "b"], "n": 8, "labels": pack_rows(np.array([0, 0, 0, 0, 1, 1, 1, 1]))}
    for line in lines:
        training_cells.append_result(folder, line, {"x": labels})
    return Results([folder])


def test_rates_and_failed_seeds(tmp_path):
    first, second = [0, 0, 0, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1, 0]
    failed = make_line("tweet-v6-p2", 2, first) | {"failed": "out of memory"}
    results = write_results(tmp_path, [make_line("tweet-v6-p2", 0, first), make_line("tweet-v6-p2", 1, second), failed])
    [recipe] = list_tables("7ess-xin", "Fig. 5")
    table = build_table(recipe, results)
    rate = find_row(table, "7ess-Xin V6 P2", "confusion_tpr")
    assert rate["values"] == [50.0, 75.0] and rate["n"] == 2
    assert rate["reason"] == "2 of 3 seeds; seed 2 failed: out of memory"
    assert find_row(table, "7ess-Xin V6 P2", "confusion_fpr")["values"] == [25.0, 50.0]
    assert find_row(table, "7ess-Xin V6 P2", "wordcloud_text_fnr")["values"] == [50.0, 25.0]
    [recipe] = list_tables("7ess-xin", "II")
    table = build_table(recipe, results)
    assert find_row(table, "7ess-Xin V6 P2", "precision")["values"] == pytest.approx([2 / 3, 3 / 5])
    assert find_row(table, "7ess-Xin V6 P2", "f1")["values"] == pytest.approx([4 / 7, 6 / 9])
    rows = [recipe["tests"]["Sentiment140"], 8]
    accuracy = find_row(table, "7ess-Xin V6 P2", "accuracy")
    expected = sum(1e4 * p * (1 - p) / n for p, n in zip((0.8313, 10 / 16), rows, strict=True))
    assert accuracy["interval"] == pytest.approx(judge_difference([62.5, 62.5], 83.13, expected)["interval"])


def test_baseline_is_chosen_on_validation(tmp_path):
    good, bad = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 0]
    worse = {"validation": {"accuracy": 0.9, "f1_macro": 0.9}, "test": {"accuracy": 7 / 8, "f1_macro": 7 / 8}}
    better = {"validation": {"accuracy": 0.8, "f1_macro": 0.8}, "test": {"accuracy": 1.0, "f1_macro": 1.0}}
    lines = [make_line("tfidf-logreg", 0, bad, metrics=worse), make_line("tfidf-logreg-chars", 0, good, metrics=better)]
    results = write_results(tmp_path, lines)
    assert results.choose_baseline("7ess-xin-8000") == "tfidf-logreg"
    [recipe] = list_tables("7ess-xin", "II")
    row = find_row(build_table(recipe, results), "7ess-Xin V1 P1", "accuracy")
    assert row["baseline"] == 7 / 8 and row["verdict"] == NOT_RUN and row["ours"] is None


def test_gains_and_wilcoxon_pair_seeds_and_folds():
    [table] = reproduce_tables("lexical", "2")["tables"]
    row = find_row(table, "mean of 5 models last head", "delta_mean")
    lines = training_cells.read_lines([training_cells.RESULTS], "lexical-nsmc").values()
    score = {(line["model"], line["seed"]): 100 * line["metrics"]["test"]["accuracy"] for line in lines}
    assert row["values"] == pytest.approx([score["lexical-last", n] - score["lexical-none", n] for n in (0, 1)])
    [table] = reproduce_tables("inceptive", "6")["tables"]
    gain = find_row(table, "BERTweet vs inceptive c=64", "relative_gain")
    assert gain["n"] == 10 and len(gain["values"]) == 10
    scipy_stats = pytest.importorskip("scipy.stats")
    p = find_row(table, "BERTweet vs inceptive c=64", "wilcoxon_p")
    lines = training_cells.read_lines([training_cells.RESULTS], "inceptive-emotion-folds").values()
    folds = {(line["model"], line["settings"]["data.fold"]): line["metrics"]["test"]["accuracy"] for line in lines}
    gaps = [folds["inceptive-64", fold] - folds["inceptive-mean", fold] for fold in range(10)]
    assert p["ours"] == pytest.approx(scipy_stats.wilcoxon(gaps, method="exact").pvalue, abs=0.05)
    assert p["verdict"] == DIFFERS  # the paper's is 0.00195
    [table] = reproduce_tables("inceptive", "5")["tables"]
    spread = find_row(table, "inceptive", "cv10_std")
    assert spread["ours"] == pytest.approx(np.std([100 * folds["inceptive-64", fold] for fold in range(10)], ddof=1))


def test_nothing_is_known_in_an_empty_folder(empty):
    for paper in ("ndt", "sentiformer", "7ess-xin", "lexical", "inceptive"):
        rows = [row for table in reproduce_tables(paper, results=empty)["tables"] for row in table["rows"]]
        assert {row["verdict"] for row in rows if row["group"]} <= {NOT_RUN}
    assert reproduce_overview(empty)["tables"] == []
    row = find_row(reproduce_tables("ndt", "I", empty)["tables"][0], "Vanilla", "accuracy")
    assert row["reason"] == "needs imdb, about 1.1 hours"  # three seeds of 1,300 seconds


def test_recipes_name_what_exists():
    groups = {group["group"]: group for group in read_recipes()["groups"]}
    used = Counter()
    for recipe in read_recipes()["tables"]:
        names = read_recipes()["names"][recipe["names"]] if isinstance(recipe["names"], str) else recipe["names"]
        flat = {name for each in names.values() for name in ([each] if isinstance(each, str) else each)}
        for data, chosen in recipe.get("groups", {}).items():
            known = {cell.name for group in chosen for cell in list_cells(groups[group])}
            used.update(chosen)
            assert known & flat or recipe["own"], (recipe["table"], data)
        assert not recipe.get("references") or set(recipe["references"]) & flat
    assert set(used) == set(groups)
    for group in groups.values():
        cells = list(list_cells(group))
        assert len({cell.key for cell in cells}) == len(cells), group["group"]
        assert {"small", "paper"} >= {part.get("scale", "small") for part in group["cells"]}


def test_cells_of_the_small_recipes_are_valid_and_chosen_by_seeds_and_scale():
    for group in read_recipes()["groups"]:
        for cell in list_cells(group, scale="small"):
            if cell.model != "pretrained":
                settings = {name: value for name, value in cell.settings.items() if name != EDIT}
                assert compose(cell.model, settings).data.limit == cell.settings.get("data.limit", 0)
    group = next(each for each in read_recipes()["groups"] if each["group"] == "sentiformer-sst5")
    assert {cell.seed for cell in list_cells(group, 5) if cell.model == "cnn"} == set(range(5))
    assert {cell.seed for cell in list_cells(group, 5) if cell.model.startswith("tfidf")} == {0}
    folds = next(each for each in read_recipes()["groups"] if each["group"] == "inceptive-emotion-folds")
    assert len(list(list_cells(folds, 5))) == 40
    full = next(each for each in read_recipes()["groups"] if each["group"] == "sentiformer-sst5-full")
    assert list(list_cells(full, scale="small")) == [] and len(list(list_cells(full, scale="paper"))) == 21
    names = {cell.name: cell.needs for cell in list_cells(full)}
    assert names["distilbert"] == "sst5 and distilbert/distilbert-base-uncased"


def test_packed_rows_are_restored_and_committed_labels_cover_every_line():
    random = np.random.default_rng(0)
    for rows in (random.integers(0, 5, 1000), np.zeros(7, np.int64), random.integers(0, 2, (50, 12))):
        assert np.array_equal(unpack_rows(pack_rows(rows), len(rows), several=rows.ndim == 2), rows)
    labels = training_cells.read_labels([training_cells.RESULTS])
    for group in read_recipes()["groups"]:
        for line in training_cells.read_lines([training_cells.RESULTS], group["group"]).values():
            if "failed" not in line:
                truth = labels[line["test"]]
                several = truth["task"] == "multi"
                answers = [unpack_rows(x, truth["n"], several=several) for x in (truth["labels"], line["predicted"])]
                if not several:
                    accuracy = line["metrics"]["test"]["accuracy"]
                    assert np.mean(answers[0] == answers[1]) == pytest.approx(accuracy, abs=1e-5)


def test_later_results_replace_failures_only_and_unknown_tables_are_refused(tmp_path):
    cell = TrainingCell("g", "d", "cnn", {}, 0, "cnn", 1.0)
    line = {"group": "g", "model": "cnn", "settings": {}, "seed": 0}
    result = {"metrics": {"test": {"accuracy": 1}}, "predicted": "1:", "test": "x"}
    for each in ({"failed": "no memory"}, result, {"failed": "again"}):
        training_cells.append_result(tmp_path, line | each, {})
    assert training_cells.read_lines([tmp_path], "g")[cell.key] == line | result and make_key(line) == cell.key
    with pytest.raises(InputError, match="inceptive has no table '2'; there are 1, 3, 4, 5, 6, 7"):
        reproduce_tables("inceptive", "2")
    with pytest.raises(InputError, match="baseline has no tables; there are ndt, sentiformer, 7ess-xin"):
        reproduce_tables("baseline")
