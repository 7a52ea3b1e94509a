import numpy as np
import pytest
from refused import check_raises

from core.evaluation.costs import compute_cost, evaluate_threshold, find_cheapest
from core.exceptions import InputError

OWN = np.array([True, False, True, False, True])
CHANCE = np.array([0.9, 0.6, 0.4, 0.3, 0.2])


def by_hand(own: np.ndarray, chance: np.ndarray, ratio: float, threshold: float) -> float:
    said = chance > threshold
    return float((ratio * (own & ~said) + (~own & said)).mean())


@pytest.mark.parametrize(("ratio", "threshold"), [(1, 0.35), (5, 0.1), (0.2, 0.75)])
def test_thresholds_are_half_way_between_probabilities(ratio, threshold):
    assert find_cheapest(OWN, CHANCE, ratio) == pytest.approx(threshold)


@pytest.mark.parametrize("seed", range(20))
def test_no_threshold_is_cheaper_than_the_cheapest(seed):
    random = np.random.default_rng(seed)
    own, chance, ratio = random.random(40) < 0.4, np.round(random.random(40), 1), random.choice([0.1, 1, 3, 30])
    found = by_hand(own, chance, ratio, find_cheapest(own, chance, ratio))
    assert found <= min(by_hand(own, chance, ratio, limit) for limit in np.linspace(0, 1, 401)) + 1e-12


@pytest.mark.parametrize("ratio", [0.25, 1, 4])
def test_calibrated_probabilities_give_elkans_threshold(ratio):
    random = np.random.default_rng(0)
    chance = random.random(100_000)
    assert find_cheapest(random.random(100_000) < chance, chance, ratio) == pytest.approx(1 / (1 + ratio), abs=0.03)


def test_costs_count_both_errors_with_an_interval_and_need_rows_and_a_ratio():
    limits = np.linspace(0, 1, 11)
    assert compute_cost(OWN, CHANCE, 3, limits) == pytest.approx([by_hand(OWN, CHANCE, 3, limit) for limit in limits])
    found = evaluate_threshold(OWN, CHANCE, 5, 0.5)
    assert (found["n"], found["false_negatives"], found["false_positives"]) == (5, 2, 1)
    assert found["cost"] == found["cost_at_half"] == pytest.approx(11 / 5)
    random = np.random.default_rng(1)
    own, chance = random.random(400) < 0.3, random.random(400)
    found, said = evaluate_threshold(own, chance, 5, 0.3), chance > 0.3
    each = 5 * (own & ~said) + (~own & said)
    deviation = each.std() / 20
    assert found["interval"] == pytest.approx([each.mean() + z * deviation for z in (-1.96, 1.96)], abs=0.04)
    for ratio in (0, -1, float("nan"), float("inf")):
        check_raises(InputError, "a number above 0", find_cheapest, OWN, CHANCE, ratio)
    check_raises(InputError, "there are none", find_cheapest, OWN[:0], CHANCE[:0], 2)
    own, chance = np.array([True, False]), np.array([0.0, 1.0])
    assert by_hand(own, chance, 100, find_cheapest(own, chance, 100)) == pytest.approx(50)
    assert find_cheapest(own, chance, 100) == 1.0
