"""Pieces of words and their buckets: known ones, and how texts carry them to a model."""

import json
from zlib import crc32

import numpy as np
import pytest

from core.config import compose
from core.exceptions import ConfigError
from core.text.config import TextConfig
from core.text.pieces import CHARACTERS, buckets, pieces
from core.text.token_table import one_text, token_table
from core.text.tokenizers import fit_tokenizer, tokenizer_from_json

TEXTS = ["the film was fine", "a fine fine plot", "the plot, unwatchable!", ""]


def fitted(count=50, **settings):
    tokenizer = fit_tokenizer(TEXTS, TextConfig(min_freq=2, **settings))
    tokenizer.buckets = count
    return tokenizer


def test_pieces_of_a_few_words_and_their_buckets_which_are_crc_32_and_count_from_one():
    assert pieces("bad") == ["<ba", "bad", "ad>", "<bad", "bad>", "<bad>"]
    assert pieces("a") == ["<a>"]
    assert pieces("ok") == ["<ok", "ok>", "<ok>"]
    assert pieces("aaaa") == ["<aa", "aaa", "aaa", "aa>", "<aaa", "aaaa", "aaa>", "<aaaa", "aaaa>"]
    assert pieces("né")[0] == "<né"
    assert len(pieces("x" * 500)) == 3 * (CHARACTERS + 2) - 9 == 93
    assert pieces("x" * 500)[-1] == "xxxxx"
    assert [crc32(piece.encode()) for piece in ("<ba", "bad")] == [0xBF4E9D0D, 0x822B39FB]
    assert buckets("bad", 20_000)[:2] == [0xBF4E9D0D % 20_000 + 1, 0x822B39FB % 20_000 + 1]
    assert buckets("bad", 1) == [1] * 6
    assert buckets("\ud800", 7)  # half a character, which no file holds


def test_each_token_of_a_batch_has_its_own_buckets_also_where_the_word_is_unknown():
    tokenizer = fitted()
    batch = token_table(tokenizer, ["fine unwatchable", "", "zzz fine"]).padded(np.array([0, 1, 2]))
    assert batch.ids[0, 1] == batch.ids[2, 0] == 1
    for row, words in enumerate([["fine", "unwatchable"], [], ["zzz", "fine"]]):
        for place in range(2):
            expected = buckets(words[place], 50) if place < len(words) else []
            assert [gram for gram in batch.grams[row, place] if gram] == expected
    assert batch.grams.shape == (3, 2, len(pieces("unwatchable")))


@pytest.mark.parametrize("settings", [{}, {"max_length": 4}, {"tagger": "en"}, {"lexicon": "vader"}])
def test_one_text_is_read_as_many_are(settings):
    tokenizer = fitted(**settings)
    for text in [*TEXTS, "zzz! it's 3.5 unseen words, and more of them"]:
        one, many = one_text(tokenizer.encode(text)), token_table(tokenizer, [text]).whole()
        assert one.grams.shape[:2] == one.ids.shape
        assert np.array_equal(one.grams, many.grams)


def test_a_tokenizer_keeps_its_buckets_and_one_without_says_nothing_of_them():
    tokenizer = fitted()
    again = tokenizer_from_json(tokenizer.to_json())
    assert again.buckets == 50 and again.to_json() == tokenizer.to_json()
    plain = fitted(0)
    assert "buckets" not in json.loads(plain.to_json())
    assert plain.encode("fine").grams is token_table(plain, ["fine"]).whole().grams is None


def test_byte_pairs_and_models_that_read_none_refuse_them():
    with pytest.raises(ConfigError, match=r"model\.ngram_buckets=9: byte pairs .* choose text\.tokenizer=word"):
        compose("vanilla", {"model.ngram_buckets": 9, "text.tokenizer": "bpe"})
    for preset in ("bilstm", "cnn", "tfidf-logreg"):
        with pytest.raises(ConfigError, match=r"model\.ngram_buckets=9: no effect on model\.family"):
            compose(preset, {"model.ngram_buckets": 9})
