"""Bands of curves: those of a plain loop over resamples, the truth inside as often as promised, quick for many rows."""

import numpy as np
import pytest
from sklearn import metrics as sk

from core.evaluation import bands as module
from core.evaluation.bands import bands


def case(rows: int, seed: int, share: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    own = random.random(rows) < share
    return own, np.round(1 / (1 + np.exp(-random.normal(1.5 * own - 0.7, 1))), 3)


def curves(own: np.ndarray, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """False positive rate, recall and precision at each distinct threshold, falling."""
    predicted = chance >= np.unique(chance)[::-1, None]
    hits, alarms = (predicted & own).sum(1), (predicted & ~own).sum(1)
    return alarms / (~own).sum(), hits / own.sum(), hits / (hits + alarms)


@pytest.mark.slow
def test_the_bands_are_those_of_a_loop_over_resamples(monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 4000)
    own, chance = case(90, seed=3)
    rate, recall, _ = curves(own, chance)
    assert sk.auc(np.append(0, rate), np.append(0, recall)) == pytest.approx(sk.roc_auc_score(own, chance))
    found, random, recalls, precisions = bands(own, chance), np.random.default_rng(1), [], []
    for _ in range(2000):
        rows = random.integers(0, 90, 90)
        rate, recall, precision = curves(own[rows], chance[rows])
        recalls.append(np.interp(found.roc.x, np.append(0, rate), np.append(0, recall)))
        precisions.append([precision[recall >= x - 1e-12][0] for x in found.pr.x])
    for band, drawn in ((found.roc, recalls), (found.pr, precisions)):
        low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
        assert np.abs(band.low - low).mean() < 0.01 and np.abs(band.high - high).mean() < 0.01
        assert np.abs(band.low - low).max() < 0.06 and np.abs(band.high - high).max() < 0.06


def test_the_curve_lies_inside_its_band():
    own, chance = case(500, seed=4)
    found = bands(own, chance)
    false, true, _ = sk.roc_curve(own, chance, drop_intermediate=False)
    assert np.isin(found.roc.x.round(12), false.round(12)).all()
    curve = np.interp(found.roc.x, false, true)
    assert (found.roc.low <= curve + 1e-9).all() and (curve <= found.roc.high + 1e-9).all()
    assert found.roc.low[-1] == found.roc.high[-1] == 1


def test_many_rows_are_thinned_to_points_along_the_curve_also_of_a_rare_class():
    own, chance = case(20_000, seed=5, share=0.01)
    found = bands(own, chance)
    assert module.POINTS / 2 < len(found.pr.x) <= module.POINTS + 1
    assert len(found.roc.x) <= module.POINTS + 2
    whole, thinned = sk.roc_curve(own, chance), (found.roc.low + found.roc.high) / 2
    assert np.abs(np.interp(found.roc.x, whole[0], whole[1]) - thinned).max() < 0.05


def test_more_rows_make_a_narrower_band():
    few, many = (np.mean(found.roc.high - found.roc.low) for found in (bands(*case(n, seed=6)) for n in (400, 6400)))
    assert few / many == pytest.approx(4, rel=0.3)


def test_the_same_seed_gives_the_same_band():
    one, two = bands(*case(80, seed=7)), bands(*case(80, seed=7))
    assert np.array_equal(one.roc.low, two.roc.low) and np.array_equal(one.pr.high, two.pr.high)


@pytest.mark.parametrize("own", [np.zeros(4, bool), np.ones(4, bool), np.zeros(0, bool)])
def test_without_a_row_of_either_side_there_is_none(own):
    assert bands(own, np.linspace(0, 1, len(own))) is None


def test_a_perfect_ranking_has_no_width():
    own = np.repeat([False, True], 50)
    found = bands(own, np.linspace(0, 1, 100))
    assert (found.roc.low == 1).all() and (found.pr.low == 1).all()
