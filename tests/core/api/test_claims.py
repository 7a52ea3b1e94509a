import pytest

from core.api import public as sentiscope
from core.api.papers import count_verdicts
from core.exceptions import InputError
from core.papers.claims import FINDERS, NOT, list_claims

pytestmark = pytest.mark.slow


def test_the_command_prints_and_returns_claims_of_one_paper_or_all(cli):
    own = cli.json("claims", "7ess-xin")
    assert own["paper"] == "7ess-xin" and own == sentiscope.claims("7ESS-Xin")
    assert own["claims"] == [{"paper": "7ess-xin", **row} for row in list_claims("7ess-xin")]
    assert len(cli.json("claims")["claims"]) == sum(len(list_claims(paper)) for paper in FINDERS) == 48
    assert cli.lines("claims", "sentiformer")[0] == "SentiFormer: 2 of 8 claims hold, 2 in part, 4 do not follow."
    assert [line.split(":")[0] for line in cli.lines("claims") if "claims hold" in line][2:4] == [
        "7ess-Xin",
        "Sentiment Lexical Attention",
    ]
    assert count_verdicts([{"verdict": NOT}]) == "0 of 1 claim holds, 0 in part, 1 does not follow."


def test_names_that_are_no_paper_are_refused(cli):
    cli.refused("no paper is called 'bert'", "claims", "bert")
    with pytest.raises(InputError, match="'baseline' is not a paper; there are ndt"):
        sentiscope.claims("baseline")
