"""How whole numbers and shares are written, here and on the pages."""

from __future__ import annotations

import pytest

from core.numbers import count, duration, number, plus_minus, signed, subscript, whole_percent


def test_thousands_have_narrow_spaces():
    assert (count(872), count(6920), count(1_234_567)) == ("872", "6\u202f920", "1\u202f234\u202f567")


def test_a_share_is_percent_with_a_space():
    assert (whole_percent(0.1), whole_percent(1)) == ("10 %", "100 %")


def test_minus_signs_are_true_ones():
    assert number(-0.5) == "−0.500"
    assert signed(-0.5) == "−0.50"
    assert signed(0.12) == "+0.12"


def test_an_even_interval_is_a_half_width_and_a_lopsided_one_has_both_ends():
    assert plus_minus(0.843, 0.819, 0.867) == "0.843 ± 0.024"
    assert plus_minus(0.99, 0.95, 1.0) == "0.990 (0.950 to 1.000)"


@pytest.mark.parametrize(
    ("seconds", "words"), [(9.2, "9 s"), (59.6, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (-1, "0 s")]
)
def test_times_are_words(seconds, words):
    assert duration(seconds) == words


def test_subscripts_have_every_digit():
    assert subscript(12) == "₁₂"


@pytest.mark.parametrize(("value", "words"), [(-0.0, "0.000"), (-0.0001, "0.000"), (-0.001, "−0.001")])
def test_nothing_has_no_sign(value, words):
    assert number(value) == words
