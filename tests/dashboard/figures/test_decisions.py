"""Predictions at a threshold: counts, curves, calibration, costs, matrices and phenomena."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from answering import THREE, TWO
from refused import check_raises
from scipy.special import softmax
from sklearn import metrics as sk

from core.evaluation.costs import find_cheapest
from core.evaluation.metrics import evaluate
from core.exceptions import InputError, NotAvailable
from core.training.temperature import Scaling
from dashboard.figures import decisions, threshold_curves, thresholding
from dashboard.figures.figure import Source
from dashboard.figures.metrics import (
    CONFUSION,
    LENGTHS,
    ConfusionMatrix,
    count_outcomes,
    describe_lengths,
    draw_confidence,
    draw_confusion,
    draw_phenomena,
    score_lengths,
    score_phenomena,
)
from dashboard.figures.theme import DARK, LIGHT, Look, compute_contrast
from dashboard.figures.threshold_curves import CALIBRATION, COSTS, ClassCurve, compute_pr, compute_roc, draw_roc

COUNTS = np.array([[8, 2], [1, 9]])
BINS = [(0.0, 0.1, 40, 0.05, 0.1, (0.04, 0.23)), (0.9, 1.0, 5, 0.97, 0.6, (0.23, 0.88))]
BINS = [threshold_curves.Bin(*each) for each in BINS]


@pytest.fixture
def two():
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 200)
    chance = np.clip(0.5 + 0.3 * (labels - 0.5) + 0.25 * random.standard_normal(200), 0.01, 0.99)
    return labels, np.stack([1 - chance, chance], 1)


@pytest.fixture
def three():
    random = np.random.default_rng(2)
    labels = random.integers(0, 3, 150)
    raw = random.random((150, 3)) + 0.8 * np.eye(3)[labels]
    return labels, raw / raw.sum(1, keepdims=True)


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_two_classes_are_separated_at_the_threshold(two, threshold):
    labels, probabilities = two
    decision = decisions.apply_threshold(labels, probabilities, TWO, "", threshold)
    said = (probabilities[:, 1] > threshold).astype(int)
    assert decision.counts.tolist() == sk.confusion_matrix(labels, said, labels=[0, 1]).tolist()
    assert decision.accuracy[0] == pytest.approx((said == labels).mean())
    assert (decision.total, decision.score_name) == (200, "P(yes)")


def test_several_classes_abstain_below_the_threshold_or_one_is_against_the_rest(three):
    labels, probabilities = three
    whole, half = (decisions.apply_threshold(labels, probabilities, THREE, decisions.ANSWER, t) for t in (0.0, 0.5))
    assert len(whole.rows) == 150 and (whole.predicted == probabilities.argmax(1)).all()
    assert half.rows.tolist() == np.flatnonzero(probabilities.max(1) > 0.5).tolist()
    assert half.counts.sum() == len(half.rows) < 150
    assert decisions.apply_threshold(labels, probabilities, THREE, decisions.ANSWER, 1.0).accuracy[1:] == (0.0, 1.0)
    decision = decisions.apply_threshold(labels, probabilities, THREE, "even", 0.4)
    assert decision.classes == ("not even", "even")
    assert decision.counts.tolist() == sk.confusion_matrix(labels == 1, probabilities[:, 1] > 0.4).tolist()


def test_class_table_and_rings_equal_scikit_learn_at_the_threshold(two):
    labels, probabilities = two
    table = decisions.build_class_metrics(decisions.apply_threshold(labels, probabilities, TWO, "", 0.35))
    precision, recall, f1, n = sk.precision_recall_fscore_support(labels, probabilities[:, 1] > 0.35)
    assert np.allclose(table[["Precision", "Recall", "F1", "n"]], np.stack([precision, recall, f1, n], 1))
    assert (decisions.apply_threshold(labels, probabilities, TWO, "", 0.5).predicted == probabilities.argmax(1)).all()
    decision = decisions.apply_threshold(labels, probabilities, TWO, "", 0.6)
    said = probabilities[:, 1] > 0.6
    (ranking,), (precision,) = compute_roc(decision), compute_pr(decision)
    assert ranking.at == pytest.approx((said[labels == 0].mean(), said[labels == 1].mean()))
    assert precision.at == pytest.approx((sk.recall_score(labels, said), sk.precision_score(labels, said)))
    assert ranking.area == pytest.approx(sk.roc_auc_score(labels, probabilities[:, 1]))
    assert precision.area == pytest.approx(sk.average_precision_score(labels, probabilities[:, 1]))
    assert ranking.positives + ranking.others == 200


def test_bins_have_predicted_and_observed_shares_and_small_parts_are_named():
    assert decisions.name_small_samples({"a": 30, "b": 29}) == "b on 29"
    assert decisions.name_small_samples({"a": 30}) == ""
    assert decisions.name_small_samples({str(n): n for n in range(6)}).endswith("3 on 3 and 2 more")
    chance = np.array([0.05, 0.08, 0.97, 1.0])
    decision = decisions.apply_threshold(np.array([0, 1, 1, 1]), np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    low, high = threshold_curves.compute_bins(decision)
    assert (low.low, low.n, low.claimed, low.true) == (0.0, 2, pytest.approx(0.065), 0.5)
    assert (high.high, high.n, high.true) == (1.0, 2, 1.0)
    right, wrong = count_outcomes(decision)
    assert (right.sum(), wrong.tolist().index(1), right[-1]) == (3, 1, 2)


def test_each_class_has_a_curve_and_a_one_class_split_has_none(three, two):
    labels, probabilities = three
    decision = decisions.apply_threshold(labels, probabilities, THREE, decisions.ANSWER, 0.45)
    rows = probabilities.max(1) > 0.45
    assert [curve.name for curve in compute_roc(decision)] == list(THREE)
    assert compute_roc(decision)[2].area == pytest.approx(sk.roc_auc_score(labels[rows] == 2, probabilities[rows, 2]))
    labels, probabilities = two
    assert compute_roc(decisions.apply_threshold(labels[labels == 0], probabilities[labels == 0], TWO, "", 0.5)) == []
    nothing = decisions.apply_threshold(np.array([0, 1, 2]), np.full((3, 3), 1 / 3), THREE, decisions.ANSWER, 0.9)
    assert (compute_roc(nothing), compute_pr(nothing), threshold_curves.compute_bins(nothing)) == ([], [], [])
    assert score_phenomena(nothing, ["a", "b", "c"], {}).empty


def test_curves_show_their_area_the_threshold_and_random_guessing():
    curve = ClassCurve("positive", (0.0, 0.0, 1.0), (0.0, 0.5, 1.0), 0.75, 4, 4)
    figure = draw_roc([curve], Look())
    assert (tuple(figure.data[1].x), tuple(figure.data[1].y)) == (curve.x, curve.y)
    assert "positive <b>0.750</b>" in [note.text for note in figure.layout.annotations]
    curve = ClassCurve("positive", (0.0, 1.0), (0.0, 1.0), 0.5, 1, 3, at=(0.25, 0.75))
    for draw in (draw_roc, threshold_curves.draw_pr):
        ring = draw([curve], Look()).data[-1]
        assert (list(ring.x), list(ring.y), ring.mode) == ([0.25], [0.75], "markers")
    curve = ClassCurve("positive", (0.0, 1.0), (1.0, 0.25), 0.5, 1, 3)
    assert list(threshold_curves.draw_pr([curve], Look()).data[0].y) == [0.25, 0.25]


def lines(figure):
    return [shape.x0 for shape in figure.layout.shapes if shape.x0 == shape.x1]


def test_right_is_gray_wrong_is_magenta_and_class_names_are_escaped():
    right, wrong = np.zeros(decisions.BARS, np.int64), np.zeros(decisions.BARS, np.int64)
    right[-1], wrong[3] = 7, 2
    figure = draw_confidence(right, wrong, 0.62, "P(positive)", Look())
    assert [(bar.marker.color, sum(bar.y)) for bar in figure.data] == [(LIGHT.right, 7), (LIGHT.wrong, 2)]
    assert [note.text for note in figure.layout.annotations] == ["right 7", "wrong 2"] and lines(figure) == [0.62]
    figure = draw_confusion(COUNTS, ["<b>x</b>", "y"], Look())
    assert figure.layout.xaxis.ticktext[0].endswith("<b>&lt;b&gt;x&lt;/b&gt;</b>")
    assert "<b>x" not in figure.data[0].hovertext[0]
    curve = ClassCurve("<i>x</i>", (0.0, 1.0), (0.0, 1.0), 0.5, 3, 3)
    assert "<i>" not in str(draw_roc([curve], Look()).to_plotly_json())


def test_each_cell_has_its_position_and_count_or_row_share():
    (bars,) = draw_confusion(COUNTS, ["negative", "positive"], Look()).data
    assert [list(cell) for cell in bars.customdata] == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert "8" in bars.text[0] and "0.800" in bars.text[0]
    assert bars.hovertext[1] == "label negative, predicted positive: 2" and list(bars.x) == [0, 1, 0, 1]
    (bars,) = draw_confusion(COUNTS, ["a", "b"], Look()).data
    assert bars.base[0] > bars.base[2]
    colors = draw_confusion(np.array([[6, 4, 0], [1, 9, 0], [0, 0, 0]]), ["a", "b", "c"], Look()).data[0].marker.color
    assert colors[2] == LIGHT.paper
    assert compute_contrast(colors[1], LIGHT.paper) > compute_contrast(colors[3], LIGHT.paper) > 1
    (bars,) = draw_confusion(COUNTS, ["a", "b"], Look(), normalized=True).data
    assert bars.text[1].endswith("0.200</b><br>2")
    even = draw_confusion(np.array([[8, 2], [80, 20]]), ["a", "b"], Look(), normalized=True).data[0].marker.color
    raw = draw_confusion(np.array([[2, 8], [20, 80]]), ["a", "b"], Look()).data[0].marker.color
    assert compute_contrast(even[1], LIGHT.paper) < compute_contrast(even[2], LIGHT.paper)
    assert compute_contrast(raw[1], LIGHT.paper) < compute_contrast(raw[2], LIGHT.paper)


@pytest.mark.slow
@pytest.mark.parametrize(("dark", "tokens"), [(False, LIGHT), (True, DARK)])
def test_counts_are_readable_on_each_cell(dark, tokens):
    for share in range(11):
        counts = np.array([[10 - share, share], [share, 10 - share]])
        for color in draw_confusion(counts, ["a", "b"], Look(dark=dark)).data[0].marker.color:
            assert compute_contrast(tokens.ink, color) >= 4.5


def test_phenomena_are_sorted_worst_first_with_interval_n_and_baseline():
    labels, chance = np.array([0, 0, 1, 1]), np.array([0.1, 0.8, 0.9, 0.7])
    decision = decisions.apply_threshold(labels, np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    table = score_phenomena(decision, ["plain", "irony", "plain", "irony"], {"irony": 0.25})
    assert table["phenomenon"].tolist() == ["irony", "plain"]
    assert table["accuracy"].tolist() == [0.5, 1.0] and table["n"].tolist() == [2, 2]
    assert table["tfidf"][0] == 0.25 and pd.isna(table["tfidf"][1])
    assert (table["low"] < table["accuracy"]).all()
    rows = [("irony", 0.5, 0.3, 0.7, 12, 0.4), ("<i>plain", 0.9, 0.8, 0.95, 90, float("nan"))]
    table = pd.DataFrame(rows, columns=["phenomenon", "accuracy", "low", "high", "n", "tfidf"])
    figure = draw_phenomena(table, Look())
    ring, dots = figure.data
    assert ring.x[0] == 0.4 and list(dots.x) == [0.5, 0.9]
    assert list(dots.y) == ["irony", "&lt;i&gt;plain"] and list(dots.marker.color) == [LIGHT.right, LIGHT.accent]
    assert [note.text for note in figure.layout.annotations] == ["12", "90"]


def test_bins_are_drawn_with_n_and_interval_and_small_ones_are_pale():
    figure = threshold_curves.draw_calibration(BINS, 0.3, "P(<b>)", Look())
    bars = figure.data[0]
    assert np.allclose(bars.x, [0.05, 0.95]) and list(bars.y) == [0.1, 0.6]
    assert np.allclose(bars.error_y.array, [0.13, 0.28]) and np.allclose(bars.error_y.arrayminus, [0.06, 0.37])
    assert [note.text for note in figure.layout.annotations] == ["40", "5"] and lines(figure) == [0.3]
    assert figure.layout.xaxis.title.text.startswith("P(&lt;b&gt;)")
    strong, pale = threshold_curves.draw_calibration(BINS, 0.5, "P", Look()).data[0].marker.color
    assert compute_contrast(strong, LIGHT.paper) > compute_contrast(pale, LIGHT.paper)


def source(temperature, task="single", prior=(), **choices):
    random = np.random.default_rng(0)
    labels, logits = random.integers(0, 2, 200), 3 * random.standard_normal((200, 2))
    center = (1 - 1 / temperature) * np.log(prior) if prior else 0
    report = decisions.SplitPredictions(TWO, pd.DataFrame(), labels, softmax(logits / temperature + center, 1))
    reader = SimpleNamespace(list_splits=lambda run: ["test"], make_report=lambda record, split: report)
    record = SimpleNamespace(run="one", task=task, scaling=Scaling(temperature, prior), temperature=temperature)
    return Source(record, reader, choices=choices), labels, softmax(logits, 1)


def test_temperature_is_reported_with_the_answers_it_changes_and_can_be_removed():
    here, labels, trained = source(5.0)
    shown = CALIBRATION.read_data(here)
    np.testing.assert_allclose(shown.decision.probabilities, here.report.probabilities)
    now, before = (evaluate(labels, each)["ece"] for each in (here.report.probabilities, trained))
    assert shown.temperature == f"calibration error {now:.3f} ({before:.3f} before)"
    assert CALIBRATION.resolve_text(CALIBRATION.note, shown) == f"n = 200, {shown.temperature}"
    there = CALIBRATION.read_data(source(5.0, probabilities="as trained")[0])
    np.testing.assert_allclose(there.decision.probabilities, trained, atol=1e-9)
    assert there.bins != shown.bins
    here = source(1.0)[0]
    assert not threshold_curves.PROBABILITIES.has_choices(here) and CALIBRATION.read_data(here).temperature == ""
    here, labels, trained = source(3.0, prior=(0.9, 0.1))
    shown = CALIBRATION.read_data(here)
    now, before = (evaluate(labels, each)["ece"] for each in (here.report.probabilities, trained))
    few = int((here.report.probabilities.argmax(1) != trained.argmax(1)).sum())
    errors = f"calibration error {now:.3f} ({before:.3f} before)"
    assert few > 10 and shown.temperature == errors
    assert f"Temperature: 3.00. {few} answers change." in CALIBRATION.resolve_text(CALIBRATION.how, shown)
    assert "T below 1: away from them" in CALIBRATION.resolve_text(CALIBRATION.how, shown)
    assert "no answer changes" in CALIBRATION.resolve_text(CALIBRATION.how, CALIBRATION.read_data(source(3.0)[0]))
    there = CALIBRATION.read_data(source(3.0, prior=(0.9, 0.1), probabilities="as trained")[0])
    np.testing.assert_allclose(there.decision.probabilities, trained, atol=1e-9)


def report(classes: tuple[str, ...], seed: int) -> decisions.SplitPredictions:
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(classes), 60)
    raw = random.random((60, len(classes))) + np.eye(len(classes))[labels]
    return decisions.SplitPredictions(classes, pd.DataFrame(), labels, raw / raw.sum(1, keepdims=True))


def cost_source(classes: tuple[str, ...] = ("bad", "good"), splits=("validation", "test"), **choices) -> Source:
    reports = {split: report(classes, seed) for seed, split in enumerate(splits)}
    reader = SimpleNamespace(list_splits=lambda run: list(splits), make_report=lambda record, split: reports[split])
    return Source(SimpleNamespace(run="one", task="single"), reader, choices=choices)


def test_cost_needs_a_ratio_a_class_and_validation():
    assert thresholding.read_decision(cost_source()).threshold == 0.5
    check_raises(NotAvailable, "--with cost=5", COSTS.read_data, cost_source())
    check_raises(NotAvailable, "--with rule=CLASS", COSTS.read_data, cost_source(("a", "b", "c")))
    check_raises(InputError, "nothing to choose", cost_source(("a", "b", "c"), cost=5).get_choice, thresholding.COST)
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
    assert shown.here["false_negatives"] == ((here.report.labels == 1) & (here.report.probabilities[:, 1] <= 0.9)).sum()
    shown = COSTS.read_data(cost_source(cost=3))
    ring = next(trace for trace in COSTS.draw(shown, Look()).data if trace.mode == "markers")
    assert ring.x[0] == shown.threshold and ring.y[0] == shown.here["cost"]
    assert COSTS.build_tables(shown)["Costs"].columns.tolist() == ["threshold", "validation", "test"]


def test_exhibit_quotes_the_surest_error_of_each_cell(two):
    labels, probabilities = two
    decision = decisions.apply_threshold(labels, probabilities, TWO, "", 0.5)
    matrix = ConfusionMatrix(decision, False, pd.Series([f"<b>text {row}" for row in range(len(labels))]))
    cells = dict(zip([(0, 0), (0, 1), (1, 0), (1, 1)], CONFUSION.exhibit(matrix, Look()).data[0].text, strict=True))
    for true, predicted in ((0, 1), (1, 0)):
        wrong = (labels == true) & (probabilities.argmax(1) == predicted)
        surest = np.where(wrong, probabilities[:, predicted], 0).argmax()
        said = f"{TWO[predicted]} {probabilities[surest, predicted]:.2f}"
        assert f"\u201c&lt;b&gt;text {surest}\u201d<br>{said}" in cells[true, predicted]
    assert not any("text" in each for each in (cells[0, 0], cells[1, 1], *CONFUSION.draw(matrix, Look()).data[0].text))


def test_lengths_are_groups_of_about_equally_many_texts_the_shortest_first():
    sizes, hits = (2, 4, 6, 8, 10, 12), (20, 18, 16, 12, 8, 4)
    texts = ["word " * size for size in sizes for _ in range(20)]
    chance = np.array([float(place < right) for right in hits for place in range(20)])
    decision = decisions.apply_threshold(np.ones(120, int), np.stack([1 - chance, chance], 1), TWO, "", 0.5)
    table = score_lengths(decision, texts)
    assert table["n"].tolist() == [20] * 6 and table["accuracy"].tolist() == [1, 0.9, 0.8, 0.6, 0.4, 0.2]
    assert table["length"].tolist()[:2] == ["2 words", "3 to 4 words"]
    said = "100 % of texts with 2 words are right, 20 % of those with 11 to 12 words"
    assert describe_lengths(table) == f"{said}." and LENGTHS.sizes(table)["2 words"] == 20
    assert list(LENGTHS.draw(table, Look()).data[1].x) == table["accuracy"].tolist()[::-1]
    few = decisions.apply_threshold(np.ones(3, int), np.stack([1 - chance[:3], chance[:3]], 1), TWO, "", 0.5)
    one = score_lengths(few, ["a b c", "a b c d", "a b c d e f g h i"])
    assert one["length"].tolist() == ["3 to 9 words"] and describe_lengths(one).endswith("; no clear difference.")
