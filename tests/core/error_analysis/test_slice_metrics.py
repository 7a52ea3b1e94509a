import numpy as np
import pandas as pd
import pytest
from answering import answering, texts
from sklearn import metrics as sk

from core.error_analysis.predictions_table import read_table
from core.error_analysis.slices import compare_with_rest, measure_rows
from core.evaluation.intervals import compute_intervals, compute_newcombe, compute_wilson
from core.runs.store import RunStore

RANDOM = np.random.default_rng(3)
CLASSES = ("bad", "so-so", "good")
TUNED = {"late": 0.3, "loud": 0.6, "warm": 0.5}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("measured") / "runs")
    labels = np.arange(120) % 3
    answering(store, "one", RANDOM.dirichlet(np.ones(3), 120) + np.eye(3)[labels] / 2, texts(labels), classes=CLASSES)
    several = [tuple(np.flatnonzero(row).tolist()) for row in RANDOM.random((90, 3)) < 0.4]
    rows = pd.DataFrame({"text": [f"text {n}" for n in range(90)], "label": several})
    chances, tuned = RANDOM.random((90, 3)), {"tuned": {"thresholds": TUNED}}
    answering(store, "plain", chances, rows, classes=tuple(TUNED))
    answering(store, "tuned", chances, rows, classes=tuple(TUNED), results=tuned)
    return store


def assert_classes(found, true, said):
    kinds = range(true.shape[1])
    expected = np.stack(sk.precision_recall_fscore_support(true, said, labels=kinds, zero_division=np.nan))
    ours = [[each[part] for part in ("precision", "recall", "f1", "support")] for each in found["per_class"].values()]
    np.testing.assert_allclose(np.array(ours, float).T, expected)
    for place, ends in enumerate(found["per_class_intervals"].values()):
        for part, value in zip(("precision", "recall", "f1"), expected[:3, place], strict=True):
            assert (ends[part] is None) == (np.isnan(value) or (part == "f1" and value in (0, 1)))
            assert ends[part] is None or ends[part][0] - 1e-12 <= value <= ends[part][1] + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("places", [np.arange(120), np.arange(0, 50), np.flatnonzero(np.arange(120) % 3 != 1)])
def test_single_label_metrics_equal_scikit_learn(store, places):
    table = read_table(store, "one")
    found = measure_rows(table, places)
    true, said = table.true[places], table.said[places]
    labels, answers = true.argmax(1), said.argmax(1)
    assert found["metrics"] == {
        "accuracy": pytest.approx(sk.accuracy_score(labels, answers)),
        "f1_macro": pytest.approx(sk.f1_score(labels, answers, average="macro", zero_division=0)),
    }
    n, right = len(places), int((labels == answers).sum())
    assert found["intervals"]["accuracy"] == pytest.approx(compute_wilson(right, n))
    drawn = compute_intervals(labels, table.probabilities[places], names=["f1_macro"])
    assert found["intervals"]["f1_macro"] == pytest.approx(drawn["f1_macro"])
    assert_classes(found, true, said)
    hits, support = int((true & said)[:, 0].sum()), int(true[:, 0].sum())
    assert found["per_class_intervals"]["bad"]["recall"] == pytest.approx(compute_wilson(hits, support))


@pytest.mark.parametrize(("run", "before"), [("plain", ""), ("tuned", "tuned.")])
def test_multi_label_metrics_use_tuned_thresholds(store, run, before):
    table = read_table(store, run)
    places = np.arange(20, 75)
    found = measure_rows(table, places)
    true, said = table.true[places], table.probabilities[places] > (np.array(list(TUNED.values())) if before else 0.5)
    macro, micro = (sk.f1_score(true, said, average=each) for each in ("macro", "micro"))
    values = (sk.accuracy_score(true, said), macro, micro, sk.hamming_loss(true, said))
    names = ("subset_accuracy", "f1_macro", "f1_micro", "hamming_loss")
    expected = {f"{before}{name}": value for name, value in zip(names, values, strict=True)}
    assert found["metrics"] == pytest.approx(expected)
    for name, value in found["metrics"].items():
        low, high = found["intervals"][name]
        assert low <= value <= high
    assert_classes(found, true, said)
    assert found["lacks"] == ""


def test_metrics_of_missing_classes_are_none_and_explained(store):
    table = read_table(store, "one")
    found = measure_rows(table, np.flatnonzero(table.true[:, 0] & ~table.said[:, 1]))
    so_so, good = found["per_class"]["so-so"], found["per_class"]["good"]
    assert so_so == {"support": 0, "precision": None, "recall": None, "f1": None}
    assert (good["support"], good["precision"], good["recall"], good["f1"]) == (0, 0.0, None, 0.0)
    assert found["per_class_intervals"]["so-so"] == {"precision": None, "recall": None, "f1": None}
    assert found["lacks"] == (
        "No sentence of it is so-so or good, so its recall is undefined. None is predicted as so-so, so its precision "
        "is undefined. Macro F1 counts a class as 0 that is predicted and never true."
    )


@pytest.mark.parametrize("run", ["one", "plain", "tuned"])
def test_empty_slices_have_no_metrics_and_say_so(store, run):
    found = measure_rows(read_table(store, run), np.empty(0, np.int64))
    assert set(found["metrics"].values()) == set(found["intervals"].values()) == {None}
    assert {each["support"] for each in found["per_class"].values()} == {0}
    assert {each[part] for each in found["per_class"].values() for part in ("precision", "recall", "f1")} == {None}
    assert found["lacks"] == "There is no sentence of it, so nothing is measured."


def test_slices_are_compared_with_the_rest():
    wrong = np.array([True, True, False, False, False, True, False, False])
    found = compare_with_rest(wrong, np.array([0, 1, 2]))
    assert found["others"] == 1 / 5 and found["difference"] == pytest.approx(2 / 3 - 1 / 5)
    assert found["difference_interval"] == pytest.approx(compute_newcombe(2, 3, 1, 5))
    for places in (np.arange(8), np.arange(0)):
        assert set(compare_with_rest(wrong, places).values()) == {None}, "there are no others, or none of these"
