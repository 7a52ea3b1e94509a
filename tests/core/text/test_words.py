"""The word pattern: what is one token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.words import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't rock'n'roll", ["don't", "rock'n'roll"]),
        ("it 's n't 'the'", ["it", "'s", "n't", "'", "the", "'"]),
        ("well-made, no?!", ["well", "-", "made", ",", "no", "?", "!"]),
        ("1,000.5% 2nd q3 $5", ["1,000.5", "%", "2nd", "q3", "$", "5"]),
        ("end. 3.", ["end", ".", "3", "."]),
        ("<url> <pad> <unk>", ["<url>", "<", "pad", ">", "<", "unk", ">"]),
        ("a_b", ["a", "_", "b"]),
        ("আমি ভালোবাসি", ["আমি", "ভালোবাসি"]),
        ("안녕하세요 세계", ["안녕하세요", "세계"]),
        ("👍👍🏽 ❤️!", ["👍", "👍🏽", "❤️", "!"]),
        ("👩\u200d👩\u200d👧 🇬🇧🇰🇷 1\ufe0f\u20e3", ["👩\u200d👩\u200d👧", "🇬🇧", "🇰🇷", "1\ufe0f\u20e3"]),
        ("", []),
    ],
)
def test_words_numbers_emoji_and_marks(text, words):
    assert split_words(text) == words


@pytest.mark.slow
@given(st.text(max_size=60))
def test_every_character_but_blanks_is_in_exactly_one_token(text):
    assert "".join(split_words(text)) == "".join(text.split())
