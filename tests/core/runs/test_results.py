import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score

from core.evaluation.inference import Predictions
from core.runs.predictions import read_vectors
from core.runs.results import EvaluatedSplit, build_prediction_table, write_split

ROWS = [("good", 1, "plain", 7), ("bad", 0, "plain", 8), ("poor", 0, "irony", 9), ("fine", 1, "plain", 10)]
FRAME = pd.DataFrame(ROWS, columns=["text", "label", "phenomenon", "row"])
PROBABILITIES = np.array([[0.2, 0.8], [0.9, 0.1], [0.3, 0.7], [0.4, 0.6]], np.float32)
CLASSES = ("no", "yes")


@pytest.fixture
def judged():
    pooled = np.arange(8, dtype=np.float32).reshape(4, 2)
    return EvaluatedSplit("test", FRAME, Predictions(np.log(PROBABILITIES), PROBABILITIES, pooled), CLASSES)


def test_the_prediction_table_has_class_names_and_data_columns():
    extra = pd.Series([1, "two", None, "\ud800"], dtype=object)
    table = build_prediction_table(FRAME.assign(extra=extra), PROBABILITIES, CLASSES)
    ours = ["row", "text", "label", "predicted", "probability:no", "probability:yes"]
    assert list(table) == [*ours, "phenomenon", "data:row", "extra"]
    assert table["label"].tolist() == ["yes", "no", "no", "yes"]
    assert table["predicted"].tolist() == ["yes", "no", "yes", "yes"] and table["data:row"].tolist() == [7, 8, 9, 10]
    assert table["extra"].tolist() == ["1", "two", "None", "?"], "a column of mixed things is stored as text"
    assert np.array_equal(table["probability:yes"], PROBABILITIES[:, 1])


def test_three_files_hold_a_split(judged, tmp_path):
    write_split(tmp_path, judged)
    folder = tmp_path / "evaluation" / "test"
    assert sorted(path.name for path in folder.iterdir()) == ["embeddings.npy", "metrics.json", "predictions.parquet"]
    assert pd.read_parquet(folder / "predictions.parquet")["text"].tolist() == ["good", "bad", "poor", "fine"]
    assert np.array_equal(np.load(folder / "embeddings.npy"), judged.predictions.pooled)
    found = json.loads((folder / "metrics.json").read_text())
    assert found["metrics"]["accuracy"] == accuracy_score(FRAME["label"], PROBABILITIES.argmax(1)) == 0.75
    assert found["confusion"] == [[1, 1], [0, 2]] and (found["n"], found["classes"]) == (4, ["no", "yes"])
    low, high = found["intervals"]["accuracy"]
    assert low <= 0.75 <= high and found["silhouette"]["rows"] == 4
    rows = FRAME[FRAME["label"] == 1].reset_index(drop=True)
    predictions = Predictions(*(part[[0, 3]] for part in (PROBABILITIES, PROBABILITIES, judged.predictions.pooled)))
    write_split(tmp_path, EvaluatedSplit("one", rows, predictions, CLASSES))
    found = json.loads((tmp_path / "evaluation" / "one" / "metrics.json").read_text())
    assert "roc_auc" in found["left_out"] and "roc_auc" not in found["metrics"]
    assert "left_out" in found["silhouette"]


def test_small_weights_halve_the_embeddings_file(judged, tmp_path):
    write_split(tmp_path, judged, half=True)
    assert np.load(tmp_path / "evaluation" / "test" / "embeddings.npy").dtype == np.float16
    vectors, labels = read_vectors(tmp_path, "test", CLASSES)
    assert vectors.dtype == np.float32 and np.array_equal(vectors, judged.predictions.pooled), "whole numbers stay"
    assert labels.tolist() == FRAME["label"].tolist()
