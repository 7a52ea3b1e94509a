"""How data and numbers are written on a page."""

from pathlib import Path

import pytest

from dashboard.figures.naming import data_name, without_store
from dashboard.figures.numbers import duration, number, plus_minus, signed, subscript


@pytest.mark.parametrize(
    ("name", "said"), [("built-in", "built-in"), ("/srv/runs/.data/files/ab12/tweets.csv", "tweets.csv"), ("/", "/")]
)
def test_data_is_called_by_its_known_name_or_its_file(name, said):
    assert data_name(name) == said


def test_only_what_lies_in_the_store_loses_its_path():
    store = Path("/srv/runs/.data")
    assert without_store("/srv/runs/.data/files/ab12/tweets.csv", store) == "tweets.csv"
    assert without_store("/home/me/tweets.csv", store) == "/home/me/tweets.csv"
    assert without_store("built-in", store) == "built-in"


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
