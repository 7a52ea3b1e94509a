"""Data and Performance always show how validation and test differ from training."""

import pytest
from pages import opened, words
from trained_runs import write_splits

from dashboard import access

pytestmark = pytest.mark.slow

LONGER = " with gears and valves that turn well"


@pytest.mark.parametrize("more", ["", LONGER])
def test_data_page_reports_differences_of_test_only_if_there_are_any(app, runs, tmp_path, monkeypatch, more):
    monkeypatch.setattr(access, "is_local", lambda: True)
    folder = write_splits(tmp_path / "data", 60, more)
    shown = words(opened(app, "data", data=str(folder)))
    assert "n = 120" in shown
    assert ("test differs from training" in shown) == bool(more)
    assert ("Compared with training, test has longer texts" in shown) == bool(more)
    assert "validation differs" not in shown


def test_performance_page_reports_differences_of_the_shown_split(app, runs, monkeypatch):
    told = {"name": "test", "known": "training", "warnings": ["Compared with training, test has <b>other</b> labels."]}
    monkeypatch.setattr("dashboard.data.data.compare_split", lambda record, name: told if name == "test" else None)
    shown = words(opened(app, "performance", run="finished", split="test"))
    assert "test differs from training" in shown and "&lt;b&gt;other&lt;/b&gt; labels" in shown
