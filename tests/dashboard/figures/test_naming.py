"""How data is called on a page."""

from pathlib import Path

import pytest

from dashboard.figures.naming import data_name, without_store


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
