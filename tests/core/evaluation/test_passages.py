"""Long texts read passage by passage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation.passages import by_passage, passages
from core.evaluation.predict import Parts, Predictions

words = st.lists(st.text("abcé한.,!", min_size=1, max_size=5), max_size=60)


@given(words, st.integers(1, 25))
def test_the_passages_hold_all_words_in_order_and_none_has_more_than_asked(found, most):
    cut = passages("  ".join(found), most)
    assert " ".join(cut).split() == found
    lengths = [len(each.split()) for each in cut]
    assert max(lengths) <= most and len(cut) == max(1, -(-len(found) // most))
    assert max(lengths) - min(lengths) <= 1, "no passage of a few left-over words, which would count like the others"


@pytest.mark.parametrize("text", ["", "one  two\tthree", " four "])
def test_a_short_text_is_left_as_it_is(text):
    assert passages(text, 3) == [text]


def counted(texts):
    """Logits, pooled vectors and parts that say how many words a text has, and how many of them are good."""
    rows = [(len(text.split()), text.split().count("good")) for text in texts]
    said = np.array(rows, np.float32).reshape(-1, 2)
    return Predictions(said, said / 100, said.repeat(2, 1), Parts(2 * said, 3 * said))


def test_of_a_text_it_says_the_mean_of_what_it_says_of_the_passages():
    texts = ["good " * 3 + "bad " * 4, "good", "", "bad " * 6]
    found = by_passage(counted, texts, 3)
    expected = [counted(passages(text, 3)).logits.mean(0) for text in texts]
    np.testing.assert_allclose(found.logits, expected)
    np.testing.assert_allclose(found.logits[0], [7 / 3, 1.0])
    np.testing.assert_allclose(found.pooled, np.repeat(expected, 2, 1))
    np.testing.assert_allclose(found.parts.network, 2 * np.array(expected))
    assert found.logits.dtype == np.float32


def test_of_no_text_it_says_nothing():
    assert by_passage(counted, [], 3).logits.shape == (0, 2)
