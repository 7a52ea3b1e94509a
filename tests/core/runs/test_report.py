import dataclasses
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from refused import check_raises
from sklearn import metrics as sk

from core.evaluation import baseline as yardsticks
from core.evaluation.baseline import YARDSTICKS, fit_baseline
from core.evaluation.costs import find_cheapest
from core.evaluation.intervals import compute_intervals
from core.exceptions import Cancelled, InputError
from core.runs import lineage, report
from core.runs.evaluation_data import DataRequest, predict_rows, read_evaluation_data
from core.runs.lineage import load_trained_data
from core.runs.store import RunStore
from core.text.words import split_passages


@pytest.fixture(scope="module")
def own(loaded):
    """The report on its whole file, which includes the training rows."""
    return report.build_report(
        loaded, read_evaluation_data(loaded.record, DataRequest(loaded.record.config.data.name)), by="label"
    )


def write(path, texts, labels, **columns):
    pd.DataFrame({"text": texts, "label": labels, **columns}).to_csv(path, index=False)
    return DataRequest(str(path))


def scale_run(loaded, temperature, prior=None, **training):
    """Return the run with a temperature, maybe a prior, and training settings."""
    told = {"value": temperature, "rows": 500, **({"prior": prior} if prior else {})}
    own = loaded.record.config
    config = dataclasses.replace(own, training=dataclasses.replace(own.training, **training))
    return change_record(loaded, results={**loaded.record.results, "temperature": told}, config=config)


def change_record(loaded, **changes):
    return dataclasses.replace(loaded, record=dataclasses.replace(loaded.record, **changes))


@pytest.mark.slow
def test_both_calibration_errors_are_reported(loaded, own):
    """The reported probabilities of a run have its temperature."""
    cold = scale_run(loaded, 0.25)
    wanted = DataRequest(loaded.record.config.data.name)
    before, found = own, report.build_report(cold, read_evaluation_data(cold.record, wanted))
    told = found["calibration"]
    assert (told["temperature"], told["rows"]) == (0.25, 500)
    assert told["calibrated"] == {name: found["metrics"][name] for name in ("loss", "ece", "brier")}
    assert told["as_trained"] == pytest.approx({name: before["metrics"][name] for name in told["calibrated"]}, abs=1e-6)
    now, then = (f"{told[each]['ece']:.3f}" for each in ("calibrated", "as_trained"))
    said = f"calibration error {now}, as trained {then}."
    assert told["note"] == f"Temperature 0.25, fitted on 500 validation rows: {said}"
    assert before["calibration"]["note"].endswith("a temperature takes 100 rows of validation, and there are 12.")
    assert told["as_trained"]["ece"] != pytest.approx(told["calibrated"]["ece"], abs=1e-2)
    assert found["metrics"]["accuracy"] == before["metrics"]["accuracy"] and found["confusion"] == before["confusion"]
    assert (told["prior"], told["changed"]) == (None, 0)
    rows = read_evaluation_data(loaded.record, wanted).rows["text"].tolist()
    prior = {"negative": 0.05, "positive": 0.95}
    cold = scale_run(loaded, 8.0, prior)
    before, after = (each.predict(rows).probabilities for each in (loaded, cold))
    odds = np.log(before[:, 1] / before[:, 0]) / 8 + 7 / 8 * np.log(19)
    np.testing.assert_allclose(np.log(after[:, 1] / after[:, 0]), odds, atol=1e-4)
    told = report.build_report(cold, read_evaluation_data(cold.record, wanted))["calibration"]
    count = int(((odds > 0) != (before[:, 1] > 0.5)).sum())
    assert (told["prior"], told["changed"]) == (prior, count) and count > 5, "answers that change are counted"
    said = "Temperature 8.00 towards the class prior, fitted on 500 validation rows: calibration error "
    assert told["note"].startswith(said) and told["note"].endswith(f"; {count} answers are another one.")


@pytest.mark.slow
def test_training_rows_are_counted_and_other_rows_measured(own, loaded, tmp_path):
    assert own["n"] == 120 and set(own["metrics"]) == set(own["intervals"])
    assert all(low <= own["metrics"][name] <= high for name, (low, high) in own["intervals"].items())
    assert sum(map(sum, own["confusion"])) == 120
    json.dumps(own, allow_nan=False)
    seen, unseen = own["seen_in_training"], own["unseen"]
    assert seen["rows"] >= 96 and seen["share"] == seen["rows"] / 120 and unseen["n"] == 120 - seen["rows"]
    trained = {tuple(loaded.tokenizer.encode(text).ids) for text in _split(loaded, "train")["text"]}
    given = read_evaluation_data(loaded.record, DataRequest(loaded.record.config.data.name))
    rows = given.rows
    new = np.array([tuple(loaded.tokenizer.encode(text).ids) not in trained for text in rows["text"]])
    probabilities = predict_rows(loaded, given).probabilities[new]
    labels = rows["label"].to_numpy()[new]
    assert unseen["metrics"]["accuracy"] == pytest.approx(sk.accuracy_score(labels, probabilities.argmax(1)))
    assert unseen["intervals"] == compute_intervals(labels, probabilities)
    share, accuracy = round(seen["rows"] / 1.2), 100 * unseen["metrics"]["accuracy"]
    assert f"{seen['rows']} rows ({share} %) are read like texts that the run was trained on." in own["warnings"][0]
    assert f"Accuracy is {accuracy:.1f} % (" in own["warnings"][0]
    rows = _split(loaded, "train").head(4)
    wanted = write(tmp_path / "seen.csv", rows["text"], [loaded.record.classes[n] for n in rows["label"]])
    found = report.build_report(loaded, read_evaluation_data(loaded.record, wanted))
    assert found["seen_in_training"] == {"rows": 4, "share": 1.0, "ancestors": [], "unknown": []}
    assert found["unseen"] is None
    assert any("So these figures say nothing of new texts." in each for each in found["warnings"])


@pytest.mark.slow
def test_long_texts_are_predicted_by_passages_without_truncation(loaded, tmp_path):
    """Truncated and mostly unknown texts are reported with their share."""
    most = loaded.tokenizer.max_length
    long = "good " * most + "bad " * most
    wanted = write(tmp_path / "a.csv", [long, "zzz bad"], ["positive", "negative"])
    whole = report.build_report(loaded, read_evaluation_data(loaded.record, wanted))
    assert whole["truncated"] == {"rows": 1, "share": 0.5, "most": most, "passages": False, "in_passages": True}
    [note] = [each for each in whole["warnings"] if "1 text (50 %) is longer than 16 tokens" in each]
    assert "--passage WORDS reads them whole" in note and whole["notes"] == []
    assert whole["unknown_words"] == {"rows": 1, "share": 0.5}
    assert "1 text (50 %) has half of the words or more unknown to the run." in whole["warnings"]
    found = report.build_report(
        loaded, read_evaluation_data(loaded.record, dataclasses.replace(wanted, passage=most - 2))
    )
    assert found["truncated"]["rows"] == 0 and len(found["warnings"]) == len(whole["warnings"]) - 1
    some = report.build_report(
        loaded, read_evaluation_data(loaded.record, dataclasses.replace(wanted, passage=2 * most + 1))
    )["warnings"]
    said = f"1 text (50 %) has a passage longer than {most} tokens; the run reads the beginning only."
    assert f"{said} A smaller --passage reads them whole, part by part." in some
    assert found["notes"] == [f"read in passages of {most - 2} words at most, whose log-odds are averaged"]
    odds = loaded.predict([long, *split_passages(long, most - 2)]).logits @ [-1, 1]
    said = loaded.predict([long], passage=most - 2).logits[0] @ [-1, 1]
    assert said == pytest.approx(odds[1:].mean(), abs=1e-5) and abs(said - odds[0]) > 0.1


def _split(loaded, name):
    return load_trained_data(loaded.record).splits[name]


@pytest.mark.slow
def test_undefined_metrics_of_one_class_are_explained(loaded, tmp_path):
    found = report.build_report(
        loaded,
        read_evaluation_data(loaded.record, write(tmp_path / "one.csv", ["so good", "so bad"], ["positive"] * 2)),
    )
    assert found["n"] == 2 and set(found["left_out"]) == {"roc_auc", "roc_auc_macro", "average_precision"}
    assert found["left_out"]["roc_auc"] == "no row is 'negative'" and "Only 2 rows" in found["warnings"][0]


def test_without_data_the_training_overlap_is_unknown(loaded):
    found = report.build_report(
        change_record(loaded, data_fingerprint="0" * 64, lineage=()), read_evaluation_data(loaded.record, DataRequest())
    )
    assert found["seen_in_training"]["rows"] is None and "have changed" in found["seen_in_training"]["left_out"]
    said = "It is not known which rows the run was trained on, and there is no TF-IDF"
    assert any(said in each for each in found["warnings"]) and "have changed" in found["yardsticks"]["left_out"]


@pytest.mark.slow
def test_the_lineage_gives_the_overlap_without_data(loaded):
    started = scale_run(loaded, 1.0, start="elder")
    train = _split(loaded, "train")["text"].tolist()
    given = read_evaluation_data(loaded.record, DataRequest(loaded.record.config.data.name))
    found = report.build_report(change_record(started, data_fingerprint="0" * 64, lineage_unknown=("elder",)), given)
    rows = int(given.rows["text"].isin(train).sum())
    known = {"rows": rows, "share": rows / 120, "ancestors": ["elder"], "unknown": ["elder"]}
    assert found["seen_in_training"] == known
    said = f"{rows} rows (80 %) are read like texts that the run, or a run that it started from or learned from, was"
    assert any(each.startswith(said) for each in found["warnings"])
    assert any("It is not known what 'elder' learned from" in each for each in found["warnings"])


@pytest.mark.slow
def test_a_second_evaluation_loads_no_training_data(loaded, monkeypatch):
    given, told = read_evaluation_data(loaded.record, DataRequest()), []

    def stop(what, share):
        told.append((what, share))
        if share > 0.4:
            raise Cancelled("enough")

    check_raises(Cancelled, None, report.build_report, loaded, given, on_progress=stop)
    assert told == [("asking the model", 0.05), ("looking for texts that it was trained on", 0.3), ("intervals", 0.5)]
    first = report.build_report(loaded, given)
    trained = load_trained_data(loaded.record)
    assert set(first["yardsticks"]) == set(YARDSTICKS), "fitted on what it was trained on"
    for model, measured in first["yardsticks"].items():
        assert measured["metrics"] == pytest.approx(fit_baseline(trained, model)["splits"]["test"], abs=1e-6)
        assert {"accuracy", "ece", "loss"} <= set(measured["intervals"]) <= set(measured["metrics"])
    for module, name in ((lineage, "load_trained_data"), (yardsticks, "fit_linear")):
        monkeypatch.setattr(module, name, lambda *args, **options: pytest.fail("it is kept"))
    assert report.build_report(loaded, given) == first


@pytest.mark.slow
def test_by_a_column_every_value_is_measured(own, loaded, tmp_path):
    assert [row["value"] for row in own["by"]["values"]] == ["negative", "positive"]
    labels = ["positive", "negative"] * 12
    wanted = write(tmp_path / "by.csv", [f"good {n}" for n in range(24)], labels, source=["a"] * 20 + list("bcde"))
    found = report.build_report(loaded, read_evaluation_data(loaded.record, wanted), by="source")
    assert [(row["value"], row["n"]) for row in found["by"]["values"]] == [("a", 20), ("4 rare values", 4)]
    assert found["warnings"][-1] == "4 values of 'source' with few rows (4 rows) stand together."
    with pytest.raises(InputError, match="--by sauce: the data have no such column; there are label, source"):
        report.build_report(loaded, read_evaluation_data(loaded.record, wanted), by="sauce")


def test_good_reports_have_no_warnings():
    quiet = {"n": 500, "unseen": None, "truncated": {"rows": 0}, "unknown_words": {"rows": 0}, "yardsticks": {}}
    quiet |= {"seen_in_training": {"rows": 0, "share": 0.0, "ancestors": [], "unknown": []}}
    quiet |= {"task": "single", "metrics": {"f1_macro": 0.8}, "intervals": {"f1_macro": [0.7, 0.9]}}
    quiet |= {"labels": ["bad", "good", "rare"], "confusion": [[9, 1, 0], [2, 8, 0], [0, 1, 4]]}
    assert report.list_warnings(quiet) == []
    (absent,) = report.list_warnings({**quiet, "confusion": [[9, 1, 0], [2, 8, 0], [0, 0, 0]]})
    assert absent == "Macro averages are over 2 of 3 classes: no row is 'rare'."
    (alike,) = report.list_warnings({**quiet, "metrics": {"f1_macro": 1.0}, "intervals": {}})
    (missing,) = report.list_warnings({**quiet, "yardsticks": {"left_out": "the data are not here"}})
    assert missing == "There is no TF-IDF to compare with: the data are not here."
    assert alike == "No interval of F1, macro: every resample of these rows gives the same number."


@pytest.fixture
def store(finished):
    return RunStore(finished)


def read_saved(store, split):
    frame = pd.read_parquet(store.get_path("mine") / "evaluation" / split / "predictions.parquet")
    return (frame["label"] == "positive").to_numpy(), frame["probability:positive"].to_numpy()


def test_the_cheapest_validation_threshold_is_evaluated_and_invalid_costs_are_refused(store, tmp_path):
    record = store.read("mine")
    chosen = report.choose_thresholds(store, record, {"positive": 4, "negative": 1})
    assert chosen["positive"].threshold == find_cheapest(*read_saved(store, "validation"), 4)
    assert chosen["positive"].validation["n"] == len(read_saved(store, "validation")[0])
    labels, probabilities = np.array([0, 1, 1]), np.array([[0.5, 0.5], [1, 0], [0, 1.0]])
    if record.classes != ("negative", "positive"):
        probabilities, labels = probabilities[:, ::-1], 1 - labels
    found = report.compute_costs(record, chosen, labels, probabilities)
    assert list(found) == ["positive", "negative"] and found["positive"]["false_negatives"] == 1
    assert found["positive"]["cost"] == (4 + found["positive"]["false_positives"]) / 3
    assert found["positive"]["validation"] == chosen["positive"].validation
    record = store.read("mine")
    check_raises(InputError, "--cost joy: no class of run 'mine'", report.choose_thresholds, store, record, {"joy": 2})
    with pytest.raises(InputError, match="a cost ratio of 0: a number above 0"):
        report.choose_thresholds(store, record, {"positive": 0})
    shutil.copytree(store.get_path("mine"), tmp_path / "mine")
    shutil.rmtree(tmp_path / "mine" / "evaluation" / "validation")
    with pytest.raises(InputError, match="has no predictions of validation"):
        report.choose_thresholds(RunStore(tmp_path), record, {"positive": 2})
