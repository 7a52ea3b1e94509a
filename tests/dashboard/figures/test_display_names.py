"""Data and numbers as a page writes them."""

from pathlib import Path

import pytest

from core.formatting import format_duration, format_plus_minus, format_subscript, number, signed
from dashboard.figures.display_names import get_data_name, strip_store


@pytest.mark.parametrize(
    ("name", "said"), [("built-in", "built-in"), ("/srv/runs/.data/files/ab12/tweets.csv", "tweets.csv"), ("/", "/")]
)
def test_data_set_has_its_registered_name_or_its_file_name(name, said):
    assert get_data_name(name) == said


def test_only_files_in_the_store_lose_their_path():
    store = Path("/srv/runs/.data")
    assert strip_store("/srv/runs/.data/files/ab12/tweets.csv", store) == "tweets.csv"
    assert strip_store("/home/me/tweets.csv", store) == "/home/me/tweets.csv"
    assert strip_store("built-in", store) == "built-in"


@pytest.mark.parametrize(
    ("write", "value", "words"),
    [
        *((number, -0.5, "−0.500"), (signed, -0.5, "−0.50"), (signed, 0.12, "+0.12"), (format_subscript, 12, "₁₂")),
        *((number, -0.0, "0.000"), (number, -0.0001, "0.000"), (number, -0.001, "−0.001")),
        *((format_duration, 9.2, "9 s"), (format_duration, 59.6, "1 min 0 s"), (format_duration, 200, "3 min 20 s")),
        *((format_duration, 7500, "2 h 5 min"), (format_duration, -1, "0 s")),
    ],
)
def test_numbers_have_a_true_minus_and_times_have_words(write, value, words):
    assert write(value) == words


def test_symmetric_interval_is_a_half_width_and_asymmetric_one_has_both_ends():
    assert format_plus_minus(0.843, 0.819, 0.867) == "0.843 ± 0.024"
    assert format_plus_minus(0.99, 0.95, 1.0) == "0.990 (0.950 to 1.000)"
