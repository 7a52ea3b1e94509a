"""Speed: slopes and theory by closed formulas, reported times by Table XI, measurements by their units."""

import pytest

from core.api.models import efficiency
from core.exceptions import InputError
from core.papers import speed
from core.papers.reported_results import select_efficiency


def test_slopes_saved_operations_and_ratios_are_those_of_the_paper_recomputed():
    rows = [{"tokens": n, "full": {"milliseconds": 3e-6 * n**2, "memory": 40 * n}} for n in (128, 1024, 2048, 8192)]
    rows[0]["full"]["milliseconds"] = 99  # below 1,024 tokens: not fitted
    assert speed.fit_slope(rows, "full", "milliseconds") == pytest.approx(2)
    assert speed.fit_slope(rows, "full", "memory") == pytest.approx(1)
    assert speed.fit_slope(rows[:2], "full", "memory") is None
    assert speed.count_saved_operations(2048) == pytest.approx(15.75, abs=0.005), "claimed: > 100"
    assert speed.count_saved_operations(64) == 1
    found = {each["dataset"]: (each["value"], each["ratio"]) for each in select_efficiency("ndt-01-n3")}
    assert found == {"IMDB": (48.59, 1.9), "SST-2": (6.25, None), "YELP-5": (158.15, 2.097), "TFN": (0, None)}
    assert [each["value"] for each in select_efficiency("sentiformer")] == [8000]
    assert select_efficiency("cnn") == []


def test_presets_are_measured_next_to_the_first(monkeypatch):
    monkeypatch.setattr(speed, "ROUNDS", 3)
    found = efficiency(models=["vanilla", "lexical-last"], length=6, batch=4, lengths=[16, 32])
    first, other = found["models"]
    assert (first["model"], first["ratio"], other["model"]) == ("vanilla", 1, "lexical-last")
    for row in found["models"]:
        assert row["sentences_per_second"] * row["milliseconds"] == pytest.approx(4000)
        assert row["memory"] > 4 * row["parameters"]
    for row in found["lengths"]:
        assert row["faster"] == pytest.approx(row["full"]["milliseconds"] / row["sparse"]["milliseconds"])
    assert found["lengths"][1]["sparse"]["memory"] > found["lengths"][0]["sparse"]["memory"] > 0
    assert found["slopes"] == {way: {"milliseconds": None, "memory": None} for way in ("sparse", "full")}


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"models": ["tfidf-logreg"]}, "fitted in one go"), ({"lengths": [0]}, "1 to 65"), ({"batch": 5000}, "1 to 4")],
)
def test_what_cannot_be_measured_is_refused(asked, said):
    with pytest.raises(InputError, match=said):
        efficiency(**{"models": [], "lengths": [], **asked})
