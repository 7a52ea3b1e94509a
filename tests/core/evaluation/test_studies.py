"""What the limits of studies let through."""

import pytest
from scipy.stats import binom
from studies import FEW, agrees

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("studies", "seen"), [(300, 0.89), (FEW, 0.96), (2000, 0.999)])
def test_a_test_that_is_wrong_twice_as_often_as_it_should_be_is_seen(studies, seen):
    assert sum(binom.pmf(hits, studies, 0.1) for hits in range(studies + 1) if not agrees(hits, studies, 0.0)) > seen


def test_limits_of_2000_studies_are_4_and_6_percent():
    assert [hits for hits in range(2001) if agrees(hits, 2000, 0.05)] == list(range(80, 121))
