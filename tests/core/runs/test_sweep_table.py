import numpy as np
import pandas as pd
import pytest
from refused import check_raises

from core.evaluation.metrics import evaluate
from core.exceptions import InputError
from core.runs import sweep, sweep_table
from core.runs.results import build_prediction_table
from core.runs.sweep import Plan, list_members
from core.runs.sweep_table import build_table, flatten_table

ROWS = 40
LABELS = np.arange(ROWS) % 2
YARDSTICK = {"accuracy": 0.5, "f1_macro": 0.4}


def make_probabilities(wrong):
    return np.where(np.where(np.arange(ROWS) < wrong, 1 - LABELS, LABELS)[:, None] == np.arange(2), 0.9, 0.1)


@pytest.fixture
def made(store, monkeypatch):
    """made(plan, wrong by cell): a saved plan with finished runs, where each seed has one more wrong row."""
    monkeypatch.setattr(sweep_table, "predict_split", lambda *arguments: make_probabilities(20))

    def make(wrong, seeds=(0, 1), name="study", **changes):
        plan = sweep.save(store, Plan(name, tuple(wrong), seeds=seeds, **changes))
        frame = pd.DataFrame({"text": [f"text {n}" for n in range(ROWS)], "label": LABELS})
        for member in list_members(plan):
            found = make_probabilities(wrong[member.cell.model] + member.seed)
            results = {"metrics": {"test": evaluate(LABELS, found)}, "yardstick": {"splits": {"test": YARDSTICK}}}
            store.create(member.config, member.cell.model, member.run, parent=name)
            known = {"classes": ("neg", "pos"), "parameters": 100, "seconds": 10.0 + member.seed, "results": results}
            store.update(member.run, status="done", **known)
            folder = store.get_path(member.run) / "evaluation" / "test"
            folder.mkdir(parents=True)
            build_prediction_table(frame, found, ("neg", "pos")).to_parquet(folder / "predictions.parquet")
        return plan

    return make


@pytest.mark.slow
def test_a_cell_is_the_mean_and_sample_deviation_of_its_runs(store, made):
    row, _ = build_table(store, made({"vanilla": 4, "bilstm": 8}, seeds=(0, 1, 2)))["rows"]
    values = [0.9, 0.875, 0.85]
    assert row["metrics"]["accuracy"] == pytest.approx({"mean": 0.875, "deviation": np.std(values, ddof=1), "n": 3})
    assert [each["metrics"]["accuracy"] for each in row["members"]] == pytest.approx(values)
    assert (row["n"], row["of"], row["parameters"], row["seconds"]["mean"]) == (3, 3, 100, 11.0)
    assert row["yardstick"]["accuracy"] == {"mean": 0.5, "deviation": 0.0, "n": 3}


@pytest.mark.slow
def test_ensembles_average_probabilities_over_seeds_of_each_fold(store, made):
    found = build_table(store, made({"vanilla": 4}, seeds=(0, 1, 2)), metrics=["accuracy", "loss"])
    (row,) = found["rows"]
    mean = np.mean([make_probabilities(4 + seed) for seed in range(3)], 0)
    assert row["together"]["accuracy"] == {"mean": 1 - 5 / ROWS, "deviation": None, "n": 1}, "two of three decide"
    assert row["together"]["loss"]["mean"] == pytest.approx(-np.log(mean[np.arange(ROWS), LABELS]).mean())
    assert flatten_table(found)[0]["together accuracy mean"] == 0.875
    assert found["together"] == {"name": "accuracy", "title": "seeds together"} and row["apart"] == ""
    second = build_table(store, sweep.read(store, "study"), metrics=["tuned.f1_macro", "f1_macro"])["together"]
    assert second == {"name": "f1_macro", "title": "F1, macro, seeds together"}
    (row,) = build_table(store, made({"vanilla": 4}, name="folds", seeds=(0, 1, 2), folds=3))["rows"]
    assert row["n"] == 9 and row["together"]["accuracy"] == {"mean": 0.875, "deviation": 0.0, "n": 3}
    plan = made({"vanilla": 4}, name="other")
    path = store.get_path(list_members(plan)[1].run) / "evaluation" / "test" / "predictions.parquet"
    pd.read_parquet(path).iloc[1:].to_parquet(path)
    found = build_table(store, plan, metrics=["accuracy"])
    (row,) = found["rows"]
    assert row["together"] == {} and found["together"] is None and "rows" in row["apart"], "seeds of other rows"


@pytest.mark.slow
def test_differences_use_all_runs_that_both_cells_have(store, made):
    plans = made({"vanilla": 4}, seeds=(0,)), made({"vanilla": 4}, seeds=(0, 1), name="two")
    first, whole = (build_table(store, plan)["rows"][0]["versus_yardstick"] for plan in plans)
    found = whole["accuracy"]
    assert found["difference"] == pytest.approx((0.9 + 0.875) / 2 - 0.5)
    assert (found["n"], found["runs"], found["significant"]) == (ROWS, 2, True)
    assert found["low"] < found["difference"] < first["accuracy"]["difference"] < found["high"]
    assert found["p"] > first["accuracy"]["p"]  # the seeds disagree a little


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [(0, 1), tuple(range(7))])
def test_differences_are_inside_their_intervals(store, made, seeds):
    plan = made({"vanilla": 2, "bilstm": 14}, seeds=seeds)
    rows = build_table(store, plan, baseline="vanilla", metrics=["accuracy", "ece"])["rows"]
    tested = [each for row in rows for way in ("yardstick", "baseline") for each in row[f"versus_{way}"].values()]
    assert len(tested) == 4  # both cells against TF-IDF in accuracy, one cell against the other in both metrics
    with_interval = [each for each in tested if each["low"] is not None]
    assert len(with_interval) >= 3  # one pair may differ on fewer than ten rows
    for each in with_interval:
        assert each["low"] <= each["difference"] <= each["high"]
        assert each["significant"] == (each["p"] < 0.05) == (not each["low"] <= 0 <= each["high"])


@pytest.mark.slow
def test_the_baseline_has_the_same_grid_values(store, made):
    plan = made({"vanilla": 10, "bilstm": 4}, seeds=(0,), grid={"training.lr": ("0.1", "0.2")})
    rows = build_table(store, plan, baseline="vanilla", tests=False)["rows"]
    assert [bool(row["versus_baseline"]) for row in rows] == [False, False, True, True]
    labeled = build_table(store, plan, baseline="vanilla, lr=0.1", tests=False)["rows"]
    assert [bool(row["versus_baseline"]) for row in labeled] == [False, True, True, True]


@pytest.mark.slow
def test_different_test_rows_are_not_compared(store, made):
    plan = made({"vanilla": 10, "bilstm": 4}, seeds=(0,))
    path = store.get_path(list_members(plan)[1].run) / "evaluation" / "test" / "predictions.parquet"
    pd.read_parquet(path).assign(text="another").to_parquet(path)
    found = build_table(store, plan, baseline="vanilla")["rows"][1]["versus_baseline"]["accuracy"]
    assert "p" not in found and "not tested on the same rows" in found["untested"]
    path.unlink()
    found = build_table(store, plan)["rows"][1]["versus_yardstick"]["accuracy"]
    assert found["difference"] == pytest.approx(0.4) and "p" not in found and found["untested"]


@pytest.mark.slow
def test_unfinished_runs_do_not_count(store, made):
    plan = made({"vanilla": 4}, seeds=(0, 1, 2))
    store.update(list_members(plan)[1].run, status="failed", reason="no memory")
    store.remove(list_members(plan)[2].run)
    (row,) = build_table(store, plan)["rows"]
    assert (row["n"], row["of"], row["states"]) == (1, 3, {"waiting": 1, "done": 1, "failed": 1})
    assert [each["reason"] for each in row["members"]] == ["", "no memory", ""]
    assert row["metrics"]["accuracy"] == {"mean": 0.9, "deviation": None, "n": 1} and row["together"] == {}


def test_multi_label_tables_show_f1_at_tuned_thresholds_first(store, made):
    plan = made({"vanilla": 4}, seeds=(0,))
    scores = {"f1_macro": 0.5, "average_precision": 0.6}
    tuned = {"thresholds": {"neg": 0.3, "pos": 0.4}, "metrics": {"test": {"f1_macro": 0.7}}}
    yardstick = {"splits": {"test": {"f1_macro": 0.4}}, "tuned": {"splits": {"test": {"f1_macro": 0.45}}}}
    results = {"metrics": {"test": scores}, "tuned": tuned, "yardstick": yardstick}
    store.update(list_members(plan)[0].run, task="multi", results=results)
    found = build_table(store, plan, tests=False)
    assert [each["name"] for each in found["metrics"]] == ["tuned.f1_macro", "f1_macro", "average_precision"]
    (row,) = found["rows"]
    assert row["metrics"]["tuned.f1_macro"]["mean"] == 0.7 and row["yardstick"]["tuned.f1_macro"]["mean"] == 0.45
    assert row["versus_yardstick"]["f1_macro"] == pytest.approx({"difference": 0.1, "runs": 1})


def test_an_unknown_metric_or_baseline_is_refused(store, made):
    plan = made({"vanilla": 4})
    check_raises(InputError, "no metric 'acc'; there are accuracy", build_table, store, plan, metrics=["acc"])
    check_raises(InputError, "no cell 'bilstm' in sweep 'study': vanilla", build_table, store, plan, baseline="bilstm")


@pytest.mark.slow
def test_the_flat_table_has_one_row_per_cell(store, made):
    whole = build_table(store, made({"vanilla": 4, "bilstm": 16}), metrics=["loss", "accuracy"], baseline="bilstm")
    assert [(each["name"], each["better"]) for each in whole["metrics"]] == [("loss", "lower"), ("accuracy", "higher")]
    against = whole["rows"][0]["versus_baseline"]["accuracy"]
    assert against["significant"] and 0 < against["low"] < 12 / 40 < against["high"] < 0.55
    assert whole["rows"][1]["versus_baseline"] == {}
    lines = flatten_table(whole)
    assert [line["cell"] for line in lines] == ["vanilla", "bilstm"] and lines[0].keys() == lines[1].keys()
    assert lines[0]["accuracy mean"] == pytest.approx(0.8875) and lines[0]["tfidf accuracy mean"] == 0.5
    assert lines[0]["accuracy versus baseline difference"] == pytest.approx(12 / 40)
    assert lines[1]["accuracy versus baseline p"] is None
    known = {part: lines[0][f"accuracy versus yardstick {part}"] for part in ("difference", "low", "high", "runs")}
    assert known["low"] < known["difference"] == pytest.approx(0.3875) and known["runs"] == 2
