"""The command `theory`: what it prints, and its JSON."""

from pathlib import Path

import pytest

from core.api import public as sentiscope
from core.api.theory_experiments import QUESTIONS

pytestmark = pytest.mark.slow

TRAINED = Path(__file__).resolve().parents[3] / "trained"


@pytest.fixture(autouse=True)
def _starters(monkeypatch):
    monkeypatch.setenv("SENTISCOPE_STARTERS", str(TRAINED))


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_command_prints_question_table_and_finding(cli, name):
    found, lines = sentiscope.theory(name), cli.lines("theory", name)
    assert lines[0] == found["question"] == QUESTIONS[name] and " ".join(lines).endswith(found["finding"])
    assert cli.json("theory", name)["finding"] == found["finding"]
