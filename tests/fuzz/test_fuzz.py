"""Odd cases from a seed: each is used or refused with a sentence of ours. `fuzzing.try_one` tries a kept case again."""

import importlib

import pytest
from fuzzing import drive

AREAS = {"loaders": "fuzz_loaders", "archives": "fuzz_runs", "records": "fuzz_runs", "settings": "fuzz_runs"}


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize(
    ("seconds", "seed"), [pytest.param(2, 0, marks=pytest.mark.slow), pytest.param(150, 1, marks=pytest.mark.fuzz)]
)
def test_odd_cases_of_each_area_raise_no_raw_error(area, seconds, seed, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    make = getattr(importlib.import_module(AREAS[area]), f"make_{area}")
    outcome = drive(area, make, seconds, seed, tmp_path / "kept")
    print(outcome)
    assert not outcome.raw, str(outcome)
