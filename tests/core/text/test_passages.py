"""Long texts cut into passages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exceptions import InputError
from core.text.words import passages, words_of_passage

words = st.lists(st.text("abcé한.,!", min_size=1, max_size=5), max_size=60)


@pytest.mark.slow
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


@pytest.mark.parametrize(("asked", "words"), [(0, 0), (7, 7), (np.int64(3), 3)])
def test_the_words_of_a_passage_are_a_whole_number(asked, words):
    assert words_of_passage(asked) == words


@pytest.mark.parametrize("asked", [-1, 2.5, float("nan"), "5", True, None])
def test_all_else_is_refused(asked):
    with pytest.raises(InputError, match=r"--passage .*: words of a passage, 1 at least"):
        words_of_passage(asked)
