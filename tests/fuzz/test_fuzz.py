"""Odd cases from a seed: each is used or refused with a sentence of ours. `fuzzing.try_one` tries a kept case again."""

import importlib

import pytest
from fuzzing import drive

AREAS = {"loaders": "fuzz_loaders", "archives": "fuzz_runs", "records": "fuzz_runs", "settings": "fuzz_runs"}


def tried(area, seconds, seed, tmp_path, monkeypatch):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTISCOPE_CACHE", str(tmp_path / "cache"))
    make = getattr(importlib.import_module(AREAS[area]), f"make_{area}")
    outcome = drive(area, make, seconds, seed, tmp_path / "kept")
    print(outcome)
    assert not outcome.raw, str(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_two_seconds_of_each(area, tmp_path, monkeypatch):
    tried(area, 2, 0, tmp_path, monkeypatch)


@pytest.mark.fuzz
@pytest.mark.parametrize("area", AREAS)
def test_two_and_a_half_minutes_of_each(area, tmp_path, monkeypatch):
    tried(area, 150, 1, tmp_path, monkeypatch)
