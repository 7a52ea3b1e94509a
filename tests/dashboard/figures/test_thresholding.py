"""Multilabel results on the pages, compared with counts by hand and by scikit-learn."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from answering import texts
from finished import run
from sklearn import metrics as sk

from core.runs.results import build_prediction_table
from dashboard.figures import embedding_map, results, thresholding
from dashboard.figures.decisions import build_points_table, compute_confidence, decide_label, parse_predictions
from dashboard.figures.theme import LIGHT, Look
from dashboard.figures.thresholding import Labels, draw_labels

LABELS = ("calm", "joy", "odd, rare")
OWN = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [0, 1, 1]])
CHANCE = np.array([[0.9, 0.2, 0.1], [0.4, 0.8, 0.1], [0.6, 0.3, 0.2], [0.2, 0.7, 0.3]])


SAVED = build_prediction_table(texts([(0,), (0, 1), (), (1, 2)]), CHANCE, LABELS, "multi")
REPORT = parse_predictions(SAVED, LABELS)
TUNED = {"calm": 0.3, "joy": 0.5, "odd, rare": 0.25}
RESULTS = {
    "metrics": {"test": {"f1_macro": 0.4, "hamming_loss": 0.1, "average_precision": 0.6}},
    "intervals": {"test": {"f1_macro": [0.3, 0.5]}},
    "yardstick": {"splits": {"test": {"f1_macro": 0.35}}},
    "tuned": {"thresholds": TUNED, "metrics": {"test": {"f1_macro": 0.5, "hamming_loss": 0.2}}},
}
RESULTS["tuned"]["intervals"] = {"test": {"f1_macro": [0.45, 0.55]}}
RECORD = dataclasses.replace(run("several", task="multi"), classes=LABELS, results=RESULTS)


ROWS = Labels(pd.DataFrame({"label": ["<b>calm", "rare"], "n": [400, 3], "f1": [0.5, 0.0]}), True)
ROWS.table["tuned_f1"] = [0.6, np.nan]


def test_confidence_is_of_exactly_these_labels_and_examples_have_one_probability():
    assert REPORT.labels.tolist() == OWN.tolist()
    assert REPORT.examples["probability"][0] == pytest.approx(0.9 * 0.8 * 0.9)
    assert compute_confidence(np.array([[0.9, 0.2]]), multi=True) == pytest.approx([0.72])
    assert compute_confidence(np.array([[0.9, 0.1]]), multi=False) == pytest.approx([0.9])
    decision = decide_label(REPORT, "calm", 0.5)
    assert decision.classes == ("not calm", "calm") and decision.positive == 1
    assert decision.counts.tolist() == [[1, 1], [1, 1]]
    lower = decide_label(REPORT, "calm", 0.3)
    assert lower.counts.tolist() == sk.confusion_matrix(OWN[:, 0], CHANCE[:, 0] > 0.3).tolist()
    limits = thresholding.pick_thresholds(RECORD, "tuned")
    examples = thresholding.apply_thresholds(REPORT, decide_label(REPORT, "calm", limits[0]), limits).examples
    assert list(examples["predicted"]) == ["calm", "calm, joy", "calm", "joy, odd, rare"]
    assert list(examples["probability"]) == pytest.approx([0.9, 0.4, 0.6, 0.8])


def test_table_has_each_label_at_both_thresholds_if_they_were_tuned():
    table = thresholding.build_label_table(REPORT, thresholding.read_thresholds(RECORD))
    assert list(table["label"]) == ["calm", "joy", "odd, rare"] and list(table["n"]) == [2, 2, 1]
    row = table.iloc[0]
    assert row["f1"] == pytest.approx(sk.f1_score(OWN[:, 0], CHANCE[:, 0] > 0.5))
    assert row["tuned_f1"] == pytest.approx(sk.f1_score(OWN[:, 0], CHANCE[:, 0] > 0.3))
    assert row["average_precision"] == pytest.approx(sk.average_precision_score(OWN[:, 0], CHANCE[:, 0]))
    assert list(table["threshold"]) == [0.3, 0.5, 0.25]
    assert thresholding.LABELS.sizes(Labels(table, True)) == {"calm": 2, "joy": 2, "odd, rare": 1}
    assert not [name for name in thresholding.build_label_table(REPORT, None) if "tuned" in name]
    bare = dataclasses.replace(RECORD, results={**RECORD.results, "tuned": {}})
    assert thresholding.list_choices(RECORD) == ["tuned", "0.5"] and thresholding.list_choices(bare) == ["0.5"]
    assert thresholding.pick_thresholds(bare, "tuned").tolist() == [0.5, 0.5, 0.5]
    assert thresholding.map_thresholds(RECORD) == TUNED


def test_headline_and_metrics_follow_the_threshold_choice_but_ranking_metrics_do_not():
    half, tuned = (thresholding.list_metric_stats(RECORD, "test", REPORT, choice) for choice in ("0.5", "tuned"))
    assert {stat.name: stat.value for stat in half} == {"F1, macro": 0.4, "AUPR, macro": 0.6, "Hamming loss": 0.1}
    assert [stat.value for stat in tuned] == [0.5, 0.6, 0.2]
    assert (half[0].low, half[0].high, half[0].ends) == (0.3, 0.5, (0.0, 1.0))
    assert half[1].ends == (pytest.approx(OWN.mean()), 1.0)  # precision of guessing
    table = thresholding.build_metric_table(RECORD, "test").set_index("metric")
    assert table.loc["f1_macro", ["value", "tuned", "tuned_high"]].tolist() == [0.4, 0.5, 0.55]
    yardstick = {"splits": {"test": {"f1_macro": 0.35}}, "tuned": {"splits": {"test": {"f1_macro": 0.55}}}}
    changes = {"yardstick": yardstick}, {"tuned": {}}
    fair, bare = (dataclasses.replace(RECORD, results=RECORD.results | more) for more in changes)
    assert results.read_headline(fair) == results.Headline(0.5, 0.45, 0.55, 0.55, "macro F1")
    assert results.build_run_frame([fair])["accuracy"][0] == "0.500 ± 0.050 F1"
    # A baseline without tuned thresholds is not compared with a model that has them.
    assert results.read_headline(RECORD) == results.Headline(0.5, 0.45, 0.55, None, "macro F1")
    assert results.read_headline(bare) == results.Headline(0.4, 0.3, 0.5, 0.35, "macro F1")


def test_map_can_be_colored_by_a_chosen_label():
    points = build_points_table(SAVED, LABELS)
    own = [f"label {name}" for name in LABELS]
    assert embedding_map.list_colorings(points) == [*own, "correctness", "confidence", embedding_map.GROUP]

    def groups(way):
        return {group.name: group.points.tolist() for group in embedding_map.color_points(points, way, LABELS, LIGHT)}

    calm = {"others": [3], "predicted calm, wrong": [2], "calm, missed": [1], "calm, found": [0]}
    assert groups("label calm") == calm
    assert [len(each) for each in groups("label odd, rare").values()] == [3, 0, 1, 0]
    assert groups("correctness") == {"correct": [0], "wrong": [1, 2, 3]}
    assert embedding_map.color_points(points, "confidence", LABELS, LIGHT).values[1] == pytest.approx(0.6 * 0.8 * 0.9)


def test_ring_is_at_half_dot_is_tuned_and_n_is_shown():
    figure = draw_labels(ROWS, Look())
    half, tuned = (trace for trace in figure.data if trace.mode == "markers")
    assert list(half.y) == ["rare", "&lt;b&gt;calm"]  # the first label is at the top
    assert list(half.x) == [0.0, 0.5] and tuned.x[1] == 0.6 and np.isnan(tuned.x[0])
    assert half.marker.symbol == "circle-open" and tuned.marker.symbol == "circle"
    assert [note.text for note in figure.layout.annotations] == ["3", "400"]
    assert list(half.marker.color) == [LIGHT.right, LIGHT.accent]  # grey: too few sentences
