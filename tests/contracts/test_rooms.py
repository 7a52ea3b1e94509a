"""What two rooms that may not import each other say alike."""

from core.models import positions, score_terms
from core.text import lexicon, pos_tags


def test_text_and_models_mean_the_same_by_tags_and_by_a_neutral_word():
    assert len(pos_tags.TAGS) == positions.TAGS
    assert lexicon.NEUTRAL == score_terms.NEUTRAL
