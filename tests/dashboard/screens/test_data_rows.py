"""Labels of a user's file: the table sets data.rename and data.order."""

import pytest

from core.data.config import DataConfig
from dashboard.screens.data_rows import guess_order, rename_labels

STARS = {"1": 5, "2": 6, "3": 7, "4": 8, "5": 9}
NAMES = {"1": "bad", "2": "bad", "3": "", "4": "good", "5": "good"}


@pytest.mark.parametrize(
    ("labels", "places"),
    [
        (["negative", "neutral", "positive"], {"negative": 1, "neutral": 2, "positive": 3}),
        (["Pos", "neg"], {"neg": 1, "Pos": 2}),
        (["joy", "negative"], {}),
        (["good", "pos", "neg"], {}),
        (["1", "2"], {}),
    ],
)
def test_known_scale_names_have_an_order(labels, places):
    assert guess_order(labels) == places


def test_changed_labels_and_their_order_become_settings():
    config, classes = rename_labels(DataConfig(), STARS, {name: name for name in STARS}, dict.fromkeys(STARS))
    assert config == DataConfig() and classes == STARS
    config, classes = rename_labels(DataConfig(), STARS, NAMES, dict.fromkeys(STARS))
    assert config.parse_renames() == NAMES and config.order == "" and classes == {"bad": 11, "good": 17}
    places = {"1": 2, "2": None, "3": None, "4": 1, "5": 1}
    config, classes = rename_labels(DataConfig(), STARS, NAMES, places)
    assert config.parse_list("order") == ("good", "bad") and list(classes) == ["good", "bad"]
    assert rename_labels(DataConfig(), STARS, NAMES, {**places, "1": 1})[0].order == "", "one place for two classes"
    assert rename_labels(DataConfig(), STARS, NAMES, {**places, "1": None})[0].order == "", "a class without a place"
    said = {**NAMES, "3": "fair, I guess"}
    config, _ = rename_labels(DataConfig(), STARS, said, {"1": 1, "2": 1, "3": 2, "4": 3, "5": 3})
    assert config.parse_renames() == said and config.parse_list("order") == ("bad", "fair, I guess", "good")
