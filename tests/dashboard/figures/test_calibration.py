"""Calibration, and the cost of errors at every threshold."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from answering import TWO
from scipy.special import softmax

from core.evaluation.costs import find_cheapest
from core.evaluation.metrics import evaluate
from core.exceptions import InputError, NotAvailable
from core.training.temperature import Scaling
from dashboard.figures import thresholding
from dashboard.figures.calibration import CALIBRATION, COSTS, PROBABILITIES, Bin, compute_bins, draw_calibration
from dashboard.figures.confusion import count_outcomes
from dashboard.figures.decisions import SplitPredictions, apply_threshold
from dashboard.figures.source import Source
from dashboard.figures.theme import LIGHT, Look, compute_contrast

BINS = [Bin(0.0, 0.1, 40, 0.05, 0.1, (0.04, 0.23)), Bin(0.9, 1.0, 5, 0.97, 0.6, (0.23, 0.88))]


def lines(figure):
    return [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]


def test_bins_have_predicted_and_observed_shares():
    chance = np.array([0.05, 0.08, 0.97, 1.0])
    decision = apply_threshold(np.array([0, 1, 1, 1]), np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    low, high = compute_bins(decision)
    assert (low.low, low.n, low.claimed, low.true) == (0.0, 2, pytest.approx(0.065), 0.5)
    assert (high.high, high.n, high.true) == (1.0, 2, 1.0)
    right, wrong = count_outcomes(decision)
    assert (right.sum(), wrong.tolist().index(1), right[-1]) == (3, 1, 2)


def test_bins_are_drawn_with_n_and_interval_and_small_ones_are_pale():
    figure = draw_calibration(BINS, 0.3, "P(<b>)", Look())
    bars = figure.data[0]
    assert np.allclose(bars.x, [0.05, 0.95]) and list(bars.y) == [0.1, 0.6]
    assert np.allclose(bars.error_y.array, [0.13, 0.28]) and np.allclose(bars.error_y.arrayminus, [0.06, 0.37])
    assert [note.text for note in figure.layout.annotations] == ["40", "5"]
    assert lines(figure) == [0.3]
    assert figure.layout.xaxis.title.text.startswith("P(&lt;b&gt;)")
    strong, pale = draw_calibration(BINS, 0.5, "P", Look()).data[0].marker.color
    assert compute_contrast(strong, LIGHT.paper) > compute_contrast(pale, LIGHT.paper)


def source(temperature, task="single", prior=(), **choices):
    random = np.random.default_rng(0)
    labels, logits = random.integers(0, 2, 200), 3 * random.standard_normal((200, 2))
    center = (1 - 1 / temperature) * np.log(prior) if prior else 0
    report = SplitPredictions(TWO, pd.DataFrame(), labels, softmax(logits / temperature + center, 1))
    reader = SimpleNamespace(list_splits=lambda run: ["test"], make_report=lambda record, split: report)
    record = SimpleNamespace(run="one", task=task, scaling=Scaling(temperature, prior), temperature=temperature)
    return Source(record, reader, choices=choices), labels, softmax(logits, 1)


def test_temperature_is_reported_and_can_be_removed():
    here, labels, trained = source(5.0)
    shown = CALIBRATION.read_data(here)
    np.testing.assert_allclose(shown.decision.probabilities, here.report.probabilities)
    now, before = (evaluate(labels, each)["ece"] for each in (here.report.probabilities, trained))
    assert shown.temperature == f"temperature 5.00: calibration error {now:.3f}, as trained {before:.3f}"
    assert CALIBRATION.resolve_text(CALIBRATION.note, shown) == f"n = 200, {shown.temperature}"
    there = CALIBRATION.read_data(source(5.0, probabilities="as trained")[0])
    np.testing.assert_allclose(there.decision.probabilities, trained, atol=1e-9)
    assert there.bins != shown.bins
    here = source(1.0)[0]
    assert not PROBABILITIES.has_choices(here) and CALIBRATION.read_data(here).temperature == ""


def test_calibration_towards_a_prior_counts_changed_predictions():
    here, labels, trained = source(3.0, prior=(0.9, 0.1))
    shown = CALIBRATION.read_data(here)
    now, before = (evaluate(labels, each)["ece"] for each in (here.report.probabilities, trained))
    few = int((here.report.probabilities.argmax(1) != trained.argmax(1)).sum())
    errors = f"calibration error {now:.3f}, as trained {before:.3f}"
    assert few > 10
    assert shown.temperature == f"temperature 3.00 towards the class prior: {errors}; {few} answers change"
    assert "T below 1: away from them" in CALIBRATION.resolve_text(CALIBRATION.how, shown)
    assert "no answer changes" in CALIBRATION.resolve_text(CALIBRATION.how, CALIBRATION.read_data(source(3.0)[0]))
    there = CALIBRATION.read_data(source(3.0, prior=(0.9, 0.1), probabilities="as trained")[0])
    np.testing.assert_allclose(there.decision.probabilities, trained, atol=1e-9)


def report(classes: tuple[str, ...], seed: int) -> SplitPredictions:
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(classes), 60)
    raw = random.random((60, len(classes))) + np.eye(len(classes))[labels]
    return SplitPredictions(classes, pd.DataFrame(), labels, raw / raw.sum(1, keepdims=True))


def cost_source(classes: tuple[str, ...] = ("bad", "good"), splits=("validation", "test"), **choices) -> Source:
    reports = {split: report(classes, seed) for seed, split in enumerate(splits)}
    reader = SimpleNamespace(list_splits=lambda run: list(splits), make_report=lambda record, split: reports[split])
    return Source(SimpleNamespace(run="one", task="single"), reader, choices=choices)


def test_cost_needs_a_ratio_a_class_and_validation():
    assert thresholding.read_decision(cost_source()).threshold == 0.5
    with pytest.raises(NotAvailable, match="--with cost=5"):
        COSTS.read_data(cost_source())
    with pytest.raises(NotAvailable, match="--with rule=CLASS"):
        COSTS.read_data(cost_source(("a", "b", "c")))
    with pytest.raises(InputError, match="nothing to choose"):
        cost_source(("a", "b", "c"), cost=5).get_choice(thresholding.COST)
    shown = COSTS.read_data(cost_source(("a", "b", "c"), rule="b", cost=5))
    assert shown.name == "b" and "false negative of b costs 5 false positives" in COSTS.resolve_text(COSTS.note, shown)
    with pytest.raises(NotAvailable, match="validation, which was not evaluated"):
        thresholding.read_decision(cost_source(splits=("test",), cost=5))


def test_threshold_is_the_cheapest_on_validation_until_it_is_moved():
    here = cost_source(cost="5")
    validation = here.reader.make_report(here.record, "validation")
    expected = find_cheapest(validation.labels == 1, validation.probabilities[:, 1], 5)
    assert thresholding.read_decision(here).threshold == expected != 0.5
    shown = COSTS.read_data(here)
    assert shown.chosen and shown.threshold == expected and list(shown.curves) == ["validation", "test"]
    assert shown.here["cost"] <= 1.5 * shown.baseline_cost
    here = cost_source(cost=5, threshold=0.9)
    assert thresholding.read_decision(here).threshold == 0.9
    shown = COSTS.read_data(here)
    assert "the cheapest" not in COSTS.resolve_text(COSTS.reading, shown)
    own = here.report.labels == 1
    assert shown.here["false_negatives"] == (own & (here.report.probabilities[:, 1] <= 0.9)).sum()
    shown = COSTS.read_data(cost_source(cost=3))
    drawn = COSTS.draw(shown, Look())
    ring = next(trace for trace in drawn.data if trace.mode == "markers")
    assert ring.x[0] == shown.threshold and ring.y[0] == shown.here["cost"]
    assert COSTS.build_tables(shown)["Costs"].columns.tolist() == ["threshold", "validation", "test"]
