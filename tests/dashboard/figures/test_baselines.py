"""Every model without attention has words for how it reads."""

import pytest

from core.models.provides import BASELINES
from dashboard.figures.models import reads_without


@pytest.mark.parametrize("family", BASELINES)
def test_a_baseline_says_how_it_reads_and_what_it_lacks(family):
    said = reads_without(family, "heads and layers")
    assert said.startswith("It ") and said.endswith(", without heads and layers.")


def test_only_those_that_read_the_same_say_the_same():
    said = {reads_without(family, "") for family in BASELINES}
    assert len(said) == 4
