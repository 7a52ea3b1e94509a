import math

import pytest

from core.training.stage import rate


def factors(schedule, steps=100, warmup=0.1):
    return [rate(step, steps=steps, warmup=warmup, schedule=schedule) for step in range(steps + 1)]


def test_the_warm_up_rises_in_equal_parts_to_one():
    assert factors("constant")[:10] == [pytest.approx((step + 1) / 11) for step in range(10)]
    assert factors("constant")[10:] == [1.0] * 91


def test_cosine_and_linear_follow_their_formula_and_end_at_zero():
    cosine, linear = factors("cosine"), factors("linear")
    for step in range(10, 101):
        t = (step - 10) / 90
        assert cosine[step] == pytest.approx((1 + math.cos(math.pi * t)) / 2)
        assert linear[step] == pytest.approx(1 - t)
    assert cosine[10] == linear[10] == 1
    assert cosine[100] == linear[100] == 0


@pytest.mark.parametrize("schedule", ["cosine", "linear", "constant"])
@pytest.mark.parametrize(("steps", "warmup"), [(1, 0.0), (1, 0.05), (1, 0.99), (3, 0.99), (7, 0.0)])
def test_short_trainings_get_a_rate_above_zero_for_every_update(schedule, steps, warmup):
    used = [rate(step, steps=steps, warmup=warmup, schedule=schedule) for step in range(steps)]
    assert all(0 < factor <= 1 for factor in used)
