"""Whoever runs everything shares the tests among processes; all else has one."""

import os
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
USUAL = shlex.split(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"])
QUICK = USUAL[USUAL.index("-m") + 1]
QUICK_AND_SLOW = "not browser and not fuzz and not full and not cluster"


@pytest.fixture
def workers(pytestconfig, monkeypatch):
    """workers(places, marks) → the number of processes of `pytest PLACES -m MARKS` on a machine with two cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def count(places: list[Path], marks: str) -> int:
        config = SimpleNamespace(args=list(map(str, places)), option=SimpleNamespace(markexpr=marks))
        return pytestconfig.hook.pytest_xdist_auto_num_workers(config=config)

    return count


@pytest.mark.parametrize("marks", [QUICK, QUICK_AND_SLOW, "slow and browser", "study"])
def test_full_test_run_has_a_process_per_core(workers, marks):
    assert workers([ROOT], marks) == workers([ROOT / "tests"], marks) == 2


def test_room_or_file_runs_in_one_process(workers):
    assert workers([ROOT / "tests" / "core"], QUICK) == workers([Path(__file__)], QUICK) == 0
