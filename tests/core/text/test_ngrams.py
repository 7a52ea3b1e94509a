"""N-grams: the baseline's view of a text."""

from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer


def test_words_and_pairs_found_in_enough_texts_are_known():
    tokenizer = NGramTokenizer.fit(["not good", "not good", "good good good"], TextConfig(min_freq=2))
    assert [tokenizer.name(each) for each in range(2, tokenizer.size)] == ["good", "not", "not good"]


def test_repetitions_are_kept_and_unknown_ones_left_out():
    tokenizer = NGramTokenizer.fit(["not good", "not good"], TextConfig(min_freq=2))
    found = tokenizer.encode("Good, GOOD not good")
    assert found.tokens == ["good", "good", "not", "good", "not good"]
    assert found.offsets == [(0, 4), (6, 10), (11, 14), (15, 19), (11, 19)]
    assert found.truncated == 0


def test_the_most_widespread_are_kept_when_there_are_too_many():
    texts = ["a b c d e f g h", "h g f", "h g", "h"]
    tokenizer = NGramTokenizer.fit(texts, TextConfig(min_freq=1, max_vocab=8))
    assert [tokenizer.name(each) for each in range(2, 8)] == ["h", "g", "f", "h g", "a", "a b"]


def test_a_pair_and_a_single_token_with_a_blank_inside_cannot_be_confused():
    tokenizer = NGramTokenizer.fit(["a b", "a b"], TextConfig(min_freq=2))
    assert tokenizer.size == 2 + len({"a", "b", "a b"})
