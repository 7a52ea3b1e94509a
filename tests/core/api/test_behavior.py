"""`sentiscope behave`: table by capability and run, JSON, and errors."""

import pytest

pytestmark = pytest.mark.slow

SUITE = """
name: mine
tests:
  - {name: plain, capability: words, kind: minimum, expected: positive, texts: [The film was good., The film was bad.]}
  - {name: ask, capability: neutral, kind: minimum, expected: neutral, texts: [Is it good?]}
"""


@pytest.fixture
def file(place, starters):
    path = place / "my.yaml"
    path.write_text(SUITE)
    return path


def test_capabilities_are_listed_by_run_with_intervals(cli, file):
    lines = cli.lines("behave", "starter-vanilla", "starter-differential", "--suite", file)
    assert lines[0] == "mine: 2 tests of 2 capabilities, 3 cases. Failure rate and 95 % interval:"
    assert "words must be 0.50 (0.09 to 0.91) 0.50 (0.09 to 0.91)" in lines
    assert "neutral must be not asked not asked" in lines
    assert "starter-vanilla and starter-differential differ on nothing beyond chance." in lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("nobody",), "no run 'nobody'"), (("starter-vanilla", "--map", "positive"), "--map: write CLASS=POLARITY")],
)
def test_invalid_requests_exit_with_code_2(cli, file, arguments, said):
    cli.refused(said, "behave", *arguments)
