"""Effects of words by place and part of speech: groups by hand, and a starter."""

import numpy as np
import pytest

from core.api import public as sentiscope
from core.error_analysis.analyses.placement import find_places, summarize_groups

pytestmark = pytest.mark.slow


def test_places_are_thirds_of_the_words_and_effects_relative_to_the_mean_of_a_text():
    assert find_places(3) == ["beginning", "middle", "end"]
    assert find_places(4) == ["beginning", "middle", "middle", "end"]
    assert find_places(6) == ["beginning"] * 2 + ["middle"] * 2 + ["end"] * 2
    assert find_places(7)[3] == "middle" and find_places(1) == ["middle"]
    effects = [np.array([1.0, 2.0, 3.0])] * 12 + [np.array([10.0, 20.0, 30.0])] * 12 + [np.zeros(3)]
    rows = summarize_groups("place", effects, [find_places(3)] * 25)
    assert [(row["group"], row["effect"]) for row in rows] == [("end", 1.5), ("middle", 1.0), ("beginning", 0.5)]
    assert all((row["texts"], row["words"], row["low"]) == (24, 24, None) for row in rows)  # all equal: no interval
    assert summarize_groups("place", effects[:9], [find_places(3)] * 9) == []


def test_a_starter_reads_the_words_that_carry_polarity(starters):
    found = sentiscope.run("starter-vanilla").placement(split="everyday")
    by = {row["group"]: row for row in found["rows"]}
    assert found["texts"] == 200 and found["left_out"] == "" and {"beginning", "middle", "end"} <= by.keys()
    assert by["ADJ"]["low"] > 1 > by["DET"]["high"]
    assert all(row["low"] < row["effect"] < row["high"] for row in found["rows"])
