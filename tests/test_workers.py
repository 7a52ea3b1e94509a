"""Whoever runs everything, but no browser, shares the tests among processes; all else has one."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[1]
USUAL = shlex.split(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"])


@pytest.fixture
def workers(pytestconfig, monkeypatch):
    """workers(places, marks) → the processes that `pytest PLACES -m MARKS` has on a machine of two cores."""
    monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def count(places: list[Path], marks: str) -> int:
        config = SimpleNamespace(args=list(map(str, places)), option=SimpleNamespace(markexpr=marks))
        return pytestconfig.hook.pytest_xdist_auto_num_workers(config=config)

    return count


def test_the_quick_run_of_everything_has_a_process_per_core(workers):
    marks = USUAL[USUAL.index("-m") + 1]
    assert workers([ROOT], marks) == workers([ROOT / "tests"], marks) == 2


def test_so_have_the_slow_tests_without_a_browser(workers):
    assert workers([ROOT / "tests"], "slow and not browser") == 2


def test_a_room_a_file_and_the_tests_in_a_browser_have_none_of_their_own(workers):
    marks = USUAL[USUAL.index("-m") + 1]
    assert workers([ROOT / "tests" / "core"], marks) == workers([Path(__file__)], marks) == 0
    assert workers([ROOT / "tests"], "slow and browser") == workers([ROOT / "tests"], "slow") == 0
