"""Extension of another run's tokenizer: ids stay, frequent new words become tokens."""

import dataclasses

import pytest

from core.exceptions import ConfigError
from core.text.config import TextConfig
from core.text.special_ids import UNKNOWN
from core.text.tokenizer_factory import extend_tokenizer, fit_tokenizer

FILMS = ["a great film , so great", "a dull film", "great acting in a dull film"] * 3
MARKET = ["bullish on $tsla bullish film", "bearish bearish bearish film bullish", "bearish film once"]
WORDS = TextConfig(min_freq=2, max_length=8)
PIECES = TextConfig(tokenizer="bpe", max_vocab=280, min_freq=2, max_length=20)


def extend(config, count):
    return extend_tokenizer(fit_tokenizer(FILMS, config), MARKET, dataclasses.replace(config, grown=count))


@pytest.mark.parametrize("config", [WORDS, PIECES])
def test_an_unextended_tokenizer_keeps_its_ids(config):
    known = fit_tokenizer(FILMS, config)
    adopted, origins = extend_tokenizer(known, MARKET, config)
    assert origins == [] and adopted.size == known.size
    assert [adopted.encode(text).ids for text in FILMS + MARKET] == [known.encode(text).ids for text in FILMS + MARKET]


def test_new_words_follow_known_ones_by_frequency():
    known = fit_tokenizer(FILMS, WORDS)
    tokenizer, origins = extend(WORDS, 1)
    assert tokenizer.size == known.size + 1 and origins == [[]]
    assert tokenizer.name(known.size) == "bearish"
    assert tokenizer.encode("bearish film bullish").ids == [known.size, known.encode("film").ids[0], UNKNOWN]
    assert extend(WORDS, 99).tokenizer.size == known.size + 2, "what is rarer than text.min_freq stays unknown"


def test_split_words_become_tokens_with_their_pieces_as_origins():
    known = fit_tokenizer(FILMS, PIECES)
    pieces = known.encode("bearish").ids
    assert len(pieces) > 3
    tokenizer, origins = extend(PIECES, 1)
    (token,) = tokenizer.encode("bearish").ids
    assert origins[token - known.size] == pieces
    assert tokenizer.encode("bearish").tokens == ["bearish"]
    assert tokenizer.name(token).strip() == "bearish"
    assert len(origins) == tokenizer.size - known.size
    for text in FILMS:
        assert tokenizer.encode(text).ids == known.encode(text).ids, "what was known is read as before"
    tokenizer, _ = extend(PIECES, 2)
    assert [len(tokenizer.encode(word).ids) for word in ("bearish", "bullish")] == [1, 1]
    assert tokenizer.encode("bearish bullish film").tokens == ["bearish", "bullish", "film"]


def test_the_maximum_length_is_computed_from_the_new_texts():
    known = fit_tokenizer(FILMS, WORDS)
    longer = dataclasses.replace(WORDS, max_length=0)
    assert extend_tokenizer(known, ["film " * 60] * 3, longer).tokenizer.max_length == 64
    assert known.max_length == 8, "the other run's own is left alone"


def test_different_text_settings_are_refused():
    with pytest.raises(ConfigError, match=r"text\.normaliser=tweet: the run that this training starts from reads with"):
        extend_tokenizer(fit_tokenizer(FILMS, WORDS), MARKET, dataclasses.replace(WORDS, normaliser="tweet"))
