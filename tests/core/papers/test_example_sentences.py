"""Sentences of the papers: known papers, each once, and only short phrases that are not ours."""

from core.models.presets import PAPERS
from core.papers.reported_results import PAPER_SENTENCES


def test_quoted_phrases_are_short_and_all_name_their_paper():
    assert {each.paper for each in PAPER_SENTENCES} <= PAPERS.keys()
    assert len({each.text for each in PAPER_SENTENCES}) == len(PAPER_SENTENCES)
    assert all(len(each.text.split()) <= 5 for each in PAPER_SENTENCES if not each.ours)
    assert any(not each.ours for each in PAPER_SENTENCES)
