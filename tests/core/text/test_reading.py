"""Which texts are the same to a model."""

import pytest

from core.text.config import TextConfig
from core.text.reading import as_read
from core.text.tokenizers import fit_tokenizer

TEXTS = ["So good!", "so good !", "so  good!", "so good", "SO GOOD!", "sooo good!"]
TEXTS += ["so good! http://a.b/c", "так добре!"]


@pytest.mark.parametrize("tokenizer", ["word", "bpe"])
@pytest.mark.parametrize("normaliser", ["none", "lower", "tweet", "tweet-clean"])
@pytest.mark.parametrize("marks", [False, True])
def test_texts_are_equal_as_read_exactly_where_a_tokenizer_cuts_them_alike(tokenizer, normaliser, marks):
    config = TextConfig(normaliser, marks, marks, tokenizer=tokenizer, min_freq=1)
    keys = as_read(TEXTS, config)
    ids = fit_tokenizer(TEXTS * 3, config).encode_batch(TEXTS)
    for one in range(len(TEXTS)):
        for other in range(one):
            assert (keys[one] == keys[other]) == (ids[one] == ids[other]), (TEXTS[one], TEXTS[other])


def test_an_unknown_word_keeps_texts_apart():
    first, second = as_read(["a zyzzyva", "a quokka"], TextConfig(min_freq=2))
    assert first != second
