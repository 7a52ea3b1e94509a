import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk
from studies import agrees

from core.evaluation import intervals
from core.evaluation import intervals as module
from core.evaluation.metrics import SingleLabelScores, evaluate


def case(rows: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, classes, rows)
    raw = random.random((rows, classes)) + 0.5 * np.eye(classes)[labels]
    return labels, raw / raw.sum(1, keepdims=True)


def drawn(rows: int, seed: int = 0) -> np.ndarray:
    """Yield the rows of each resample, in the order of the generator."""
    random = np.random.default_rng(seed)
    block = max(1, module._CELLS // rows)
    sizes = [min(block, intervals.RESAMPLES - start) for start in range(0, intervals.RESAMPLES, block)]
    return np.concatenate([random.integers(0, rows, (size, rows)) for size in sizes])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_bootstrap_intervals_equal_a_plain_loop(classes):
    labels, probabilities = case(30, classes, seed=1)
    found = intervals.compute_intervals(labels, probabilities)
    values: dict[str, list[float]] = {name: [] for name in found}
    for number, rows in enumerate(drawn(30)):
        for name, value in evaluate(labels[rows], probabilities[rows]).items():
            if number < intervals.RANKED_RESAMPLES or not ("roc" in name or "average_p" in name):
                values[name].append(value)
    assert set(found) == set(evaluate(labels, probabilities))
    for name, ends in ((name, ends) for name, ends in found.items() if name not in ("accuracy", "ece")):
        assert ends == pytest.approx(np.percentile(values[name], [2.5, 97.5]).tolist()), name


@pytest.mark.study
@pytest.mark.slow
def test_accuracy_intervals_miss_the_truth_in_5_percent(monkeypatch, studies):
    """With 150 rows, percentile intervals are slightly narrow: up to 6.5 %."""
    monkeypatch.setattr(module, "METRICS", {"accuracy": module.METRICS["accuracy"]})
    truth, count, missed = 0.8, studies(2000), 0
    random = np.random.default_rng(0)
    for study in range(count):
        labels = np.where(random.random(150) < truth, 1, 0)
        low, high = intervals.compute_intervals(labels, np.tile([0.3, 0.7], (150, 1)), seed=study)["accuracy"]
        missed += not low <= truth <= high
    assert agrees(missed, count, 0.04, 0.065)


@pytest.mark.slow
def test_intervals_depend_on_the_seed_and_not_on_block_size(monkeypatch):
    small = case(40, 3, seed=3)
    whole = intervals.compute_intervals(*small)
    with monkeypatch.context() as here:
        here.setattr(module, "_CELLS", 40 * 7)
        assert intervals.compute_intervals(*small) == whole
    labels, probabilities = case(200, 3, seed=4)
    found = intervals.compute_intervals(labels, probabilities)
    assert found != intervals.compute_intervals(labels, probabilities, seed=1)
    metrics = evaluate(labels, probabilities)
    for name in metrics:
        assert found[name][0] <= metrics[name] <= found[name][1]


def test_perfect_shares_have_wilsons_interval_and_constant_metrics_none():
    """Twelve of twelve, as statsmodels gives them (proportion_confint, method wilson)."""
    labels = np.repeat([0, 1], 6)
    found = intervals.compute_intervals(labels, np.eye(2)[labels] * 0.8 + 0.1)
    assert found["accuracy"] == pytest.approx([0.757506, 1.0], abs=1e-6)
    assert set(found) == {"accuracy", "ece"}, "no resample differs: nothing says how uncertain they are"
    for row in intervals.compute_class_intervals(np.eye(2)[labels] > 0, np.eye(2)[labels] > 0):
        assert row == {part: pytest.approx([0.609666, 1.0], abs=1e-6) for part in ("precision", "recall")}
    assert intervals.compute_intervals(np.zeros(0, int), np.zeros((0, 2))) == {}
    assert "roc_auc" not in intervals.compute_intervals(np.zeros(5, int), np.full((5, 2), 0.5))


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"), [(15, 20, 0.531299, 0.888138), (0, 10, 0.0, 0.277533), (10, 10, 0.722467, 1.0)]
)
def test_share_intervals_equal_wilsons(hits, rows, low, high):
    """Values as statsmodels gives them (proportion_confint, method wilson)."""
    assert intervals.compute_wilson(hits, rows) == pytest.approx((low, high), abs=1e-6) and intervals.compute_wilson(
        0, 0
    ) == (0.0, 1.0)
    for hits, rows in ((0, 7), (7, 7), (1, 3), (3201, 3202)):
        assert intervals.compute_wilson(hits, rows)[0] <= hits / rows <= intervals.compute_wilson(hits, rows)[1]


def make_predictions(confidence, right):
    """Return predictions of two classes, with all rows in the first one, and `confidence` in correct rows."""
    sure = np.where(right, confidence, 1 - confidence)
    return np.zeros(len(sure), int), np.stack([sure, 1 - sure], 1)


def test_calibration_error_interval_by_hand():
    """Three of four are right at 0.9, one of two at 0.6: gaps of 0.15 and 0.1, weighted by 2/3 and 1/3."""
    labels, chances = make_predictions(np.array([0.9] * 4 + [0.6] * 2), np.array([1, 1, 1, 0, 1, 0], bool))
    low, high = intervals.compute_intervals(labels, chances)["ece"]
    wide = [0.75 - intervals.compute_wilson(3, 4)[0], 0.5 - intervals.compute_wilson(1, 2)[0]]
    first, second = (weight * half / stats.norm.isf(0.025) for weight, half in zip([2 / 3, 1 / 3], wide, strict=True))
    error, moved = 0.4 / 3, (2 / 3 * 0.15**2 + 1 / 3 * 0.1**2 - (0.4 / 3) ** 2) / 6
    assert evaluate(labels, chances)["ece"] == pytest.approx(error)
    assert (low, high) == pytest.approx((0.0, error + stats.norm.isf(0.025) * (first**2 + second**2 + moved) ** 0.5))


@pytest.mark.parametrize("seed", range(8))
def test_calibration_error_intervals_contain_the_error(seed):
    """For calibrated probabilities the error is only noise, which resampling increases."""
    random = np.random.default_rng(seed)
    confidence = random.uniform(0.5, 1, 200)
    given = make_predictions(confidence, random.random(200) < confidence)
    low, high = intervals.compute_intervals(*given, names=["ece"])["ece"]
    assert 0 <= low <= evaluate(*given)["ece"] <= high <= 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "spread", "rows"), [(0.0, 0.5, 1000), (0.05, 0.5, 30), (0.0, 0.02, 30), (0.15, 0.02, 1000)]
)
def test_calibration_error_intervals_cover_at_least_92_percent(shift, spread, rows):
    """Confidences are below 1 by up to `spread`, and too high by `shift`, which is the true error."""
    random, studies = np.random.default_rng(rows), 300
    covered = 0
    for _ in range(studies):
        confidence = 1 - spread * random.random(rows)
        low, high = intervals.compute_ece_interval(
            SingleLabelScores(*make_predictions(confidence, random.random(rows) < confidence - shift))
        )
        covered += low <= shift <= high
    assert covered >= 0.92 * studies


def test_ordinal_metrics_have_intervals_where_defined():
    random = np.random.default_rng(0)
    labels, probabilities = random.integers(0, 4, 60), random.dirichlet(np.ones(4), 60)
    found = intervals.compute_intervals(labels, probabilities, ordered=True)
    metrics = evaluate(labels, probabilities, ordered=True)
    for name in ("mae", "quadratic_kappa"):
        low, high = found[name]
        assert low < metrics[name] < high
    low, high = intervals.compute_intervals(np.array([0, 0, 2]), np.eye(3)[[0, 1, 2]], ordered=True)["quadratic_kappa"]
    assert 0 <= low < high <= 1, "a draw of one class only does not count"


@pytest.mark.parametrize("classes", [2, 3])
def test_class_intervals_are_wilsons_and_a_bootstrap_for_f1(classes):
    labels, probabilities = case(80, classes, seed=5)
    own, predicted = (each[:, None] == range(classes) for each in (labels, probabilities.argmax(1)))
    rows = np.random.default_rng(9).integers(0, 80, (4000, 80))
    hits, all_own, all_predicted = (each[rows].sum(1) for each in (own & predicted, own, predicted))
    f1 = 2 * hits / (all_own + all_predicted)
    for number, row in enumerate(intervals.compute_class_intervals(own, predicted)):
        assert row["f1"] == pytest.approx(np.percentile(f1[:, number], [2.5, 97.5]), abs=0.02)
        right = (own & predicted)[:, number].sum()
        assert row["precision"] == list(intervals.compute_wilson(right, predicted[:, number].sum()))
        assert row["recall"] == list(intervals.compute_wilson(right, own[:, number].sum()))


def test_unpredicted_classes_have_no_precision_interval():
    own = np.array([[True], [False]] * 20)
    (found,) = intervals.compute_class_intervals(own, np.zeros_like(own))
    assert set(found) == {"recall"} and found["recall"] == list(intervals.compute_wilson(0, 20))
    assert intervals.compute_class_intervals(own[:0], own[:0]) == [{}]
    random = np.random.default_rng(2)
    labels, probabilities = random.random((60, 2)) < 0.4, random.random((60, 2))
    found = intervals.list_class_intervals(labels, probabilities, ("calm", "joy"), "multi", np.array([0.2, 0.7]))
    first, second = intervals.compute_class_intervals(labels, probabilities > [0.2, 0.7])
    assert found == {"calm": first, "joy": second}


def over_seeds(values, ranges, fold=-1):
    """Pool intervals of seeds 0, 1, … on the same rows."""
    return intervals.pool_intervals(
        *({(seed, fold): each for seed, each in enumerate(given)} for given in (values, ranges)), (0, 1)
    )


def test_pooled_intervals_add_variance_of_rows_and_seeds():
    assert over_seeds([0.8], [(0.75, 0.84)]) == pytest.approx((0.75, 0.84)), "one seed has its own interval"
    same = over_seeds([0.8, 0.8, 0.8], [(0.75, 0.84)] * 3)
    assert same == pytest.approx((0.75, 0.84)), "the seeds share the rows: three are no better than one"
    low, high = over_seeds([0.79, 0.81], [(0.79, 0.79), (0.81, 0.81)])
    half = stats.t.ppf(0.975, 1) * np.std([0.79, 0.81], ddof=1) / np.sqrt(2)
    assert (low, high) == pytest.approx((0.8 - half, 0.8 + half)), "Student's interval of the seeds alone"
    assert over_seeds([0.8, 0.8], [(0.8, 0.8)] * 2) == (0.8, 0.8)
    assert over_seeds([1.0, 0.98], [(0.9, 1.0), (0.88, 1.0)])[1] == 1.0, "it ends where the metric does"
    values, ranges = {(0, fold): 0.8 for fold in range(4)}, {(0, fold): (0.76, 0.84) for fold in range(4)}
    assert intervals.pool_intervals(values, ranges) == pytest.approx((0.78, 0.82)), "over folds that of all their rows"


@pytest.mark.parametrize(
    ("hits", "rows", "others", "of"), [(56, 70, 48, 80), (9, 10, 3, 10), (0, 20, 5, 30), (3, 3, 0, 40)]
)
def test_difference_intervals_equal_newcombes(hits, rows, others, of):
    from statsmodels.stats.proportion import confint_proportions_2indep

    expected = confint_proportions_2indep(hits, rows, others, of, method="newcomb", compare="diff")
    assert intervals.compute_newcombe(hits, rows, others, of) == pytest.approx(expected, abs=1e-9)


def band_case(rows: int, seed: int, share: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    own = random.random(rows) < share
    return own, np.round(1 / (1 + np.exp(-random.normal(1.5 * own - 0.7, 1))), 3)


def curves(own: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return false-positive rate, recall and precision at each distinct threshold, falling."""
    predicted = chance >= np.unique(chance)[::-1, None]
    hits, alarms = (predicted & own).sum(1), (predicted & ~own).sum(1)
    return alarms / (~own).sum(), hits / own.sum(), hits / (hits + alarms)


@pytest.mark.slow
def test_curve_bands_equal_a_plain_loop(monkeypatch):
    monkeypatch.setattr(module, "CURVES", 4000)
    own, chance = band_case(90, seed=3)
    rate, recall, _ = curves(own, chance)
    assert sk.auc(np.append(0, rate), np.append(0, recall)) == pytest.approx(sk.roc_auc_score(own, chance))
    found, random, recalls, precisions = intervals.compute_bands(own, chance), np.random.default_rng(1), [], []
    for _ in range(2000):
        rows = random.integers(0, 90, 90)
        rate, recall, precision = curves(own[rows], chance[rows])
        recalls.append(np.interp(found.roc.x, np.append(0, rate), np.append(0, recall)))
        precisions.append([precision[recall >= x - 1e-12][0] for x in found.pr.x])
    for band, drawn in ((found.roc, recalls), (found.pr, precisions)):
        low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
        assert np.abs(band.low - low).mean() < 0.01 and np.abs(band.high - high).mean() < 0.01
        assert np.abs(band.low - low).max() < 0.06 and np.abs(band.high - high).max() < 0.06


def test_curves_lie_inside_their_bands_and_long_ones_are_thinned():
    own, chance = band_case(500, seed=4)
    found = intervals.compute_bands(own, chance)
    false, true, _ = sk.roc_curve(own, chance, drop_intermediate=False)
    assert np.isin(found.roc.x.round(12), false.round(12)).all()
    curve = np.interp(found.roc.x, false, true)
    assert (found.roc.low <= curve + 1e-9).all() and (curve <= found.roc.high + 1e-9).all()
    assert found.roc.low[-1] == found.roc.high[-1] == 1
    own, chance = band_case(20_000, seed=5, share=0.01)
    found = intervals.compute_bands(own, chance)
    assert module.POINTS / 2 < len(found.pr.x) <= module.POINTS + 1 and len(found.roc.x) <= module.POINTS + 2
    whole, thinned = sk.roc_curve(own, chance), (found.roc.low + found.roc.high) / 2
    assert np.abs(np.interp(found.roc.x, whole[0], whole[1]) - thinned).max() < 0.05


@pytest.mark.parametrize("own", [np.zeros(4, bool), np.ones(4, bool), np.zeros(0, bool)])
def test_bands_need_rows_of_both_sides(own):
    assert intervals.compute_bands(own, np.linspace(0, 1, len(own))) is None
    perfect = intervals.compute_bands(np.repeat([False, True], 50), np.linspace(0, 1, 100))
    assert (perfect.roc.low == 1).all() and (perfect.pr.low == 1).all(), "a perfect ranking has no width"
