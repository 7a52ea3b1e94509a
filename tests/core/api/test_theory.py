"""The command `theory`: what it prints, and its JSON."""

import pytest

from core.api import public as sentiscope
from core.api.papers import QUESTIONS

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("starters")]


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_command_prints_question_table_and_finding(cli, name):
    found, lines = sentiscope.theory(name), cli.lines("theory", name)
    assert lines[0] == found["question"] == QUESTIONS[name] and " ".join(lines).endswith(found["finding"])
    assert cli.json("theory", name)["finding"] == found["finding"]
