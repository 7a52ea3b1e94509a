"""Values that rooms without imports of each other have in common."""

from core.models import positions, score_terms
from core.text import lexicon, pos_tags


def test_text_and_models_agree_on_tags_and_neutral_words():
    assert len(pos_tags.TAGS) == positions.TAGS and lexicon.NEUTRAL == score_terms.NEUTRAL
