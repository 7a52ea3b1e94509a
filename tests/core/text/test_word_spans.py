"""Words of a typed text: spans in any script, removal, and their shares of tokens."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.config import TextConfig
from core.text.normalization import prepare
from core.text.word_spans import compute_shares, find_word_spans, remove_words


def words(text):
    return [text[start:end] for start, end in find_word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Not bad, at all!", ["Not", "bad", ",", "at", "all", "!"]),
        ("  don't\n\tgo ", ["don't", "go"]),
        ("이 영화는 정말 좋았다.", ["이", "영화는", "정말", "좋았다", "."]),
        ("ছবিটি খুব ভালো", ["ছবিটি", "খুব", "ভালো"]),
        ("so 👍🏽 👩‍👩‍👧!", ["so", "👍🏽", "👩‍👩‍👧", "!"]),
        ("see HTTP://t.co/x @bob_1 #BuyTheDip #বাংলা", ["see", "HTTP://t.co/x", "@bob_1", "#BuyTheDip", "#বাংলা"]),
        ("a@b # c", ["a", "@", "b", "#", "c"]),
        ("un\u200b x \x07", ["un", "x"]),
        ("", []),
    ],
)
def test_words_are_split_as_readers_see_them(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "word", "left"),
    [
        ("not bad at all", "bad", "not at all"),
        ("not bad at all", "not", "bad at all"),
        ("not bad at all", "all", "not bad at"),
        ("good, really", ",", "good really"),
        ("good, really", "good", ", really"),
        ("a well-made film", "-", "a wellmade film"),
        ("good", "good", ""),
        ("영화는 정말 좋다", "정말", "영화는 좋다"),
    ],
)
def test_removing_words_closes_double_spaces(text, word, left):
    start = text.index(word)
    assert remove_words(text, [(start, start + len(word))]) == left


NORMALIZERS = ("none", "lower", "tweet", "tweet-clean", "tweet-clean-as-released")


def compute_pattern_shares(text, config, pattern=r"\S+"):
    """Return the shares (words, tokens) of tokens that a pattern finds in the normalised text."""
    read = prepare(text, config)
    offsets = [match.span() for match in re.finditer(pattern, read)]
    return compute_shares(text, find_word_spans(text), offsets, config), [read[start:end] for start, end in offsets]


@pytest.mark.parametrize(
    ("normaliser", "text", "owners"),
    [
        ("lower", "Not BAD", {"not": "Not", "bad": "BAD"}),
        ("lower", "İstanbul gut", {"i̇stanbul": "İstanbul", "gut": "gut"}),
        ("none", "cafe\u0301 bad", {"café": "cafe\u0301", "bad": "bad"}),
        ("tweet", "see https://t.co/x now", {"see": "see", "<url>": "https://t.co/x", "now": "now"}),
        ("tweet", "@bob #BuyTheDip ok", dict.fromkeys(["#", "buy", "the", "dip"], "#BuyTheDip") | {"ok": "ok"}),
        ("tweet-clean", "don't @bob 😀 go 3 times", {"dont": "don't", "go": "go", "times": "times"}),
        ("lower", "한국 영화 👍🏽 ছবিটি", {"한국": "한국", "영화": "영화", "👍🏽": "👍🏽", "ছবিটি": "ছবিটি"}),
    ],
)
def test_token_shares_refer_to_the_typed_words(normaliser, text, owners):
    found, tokens = compute_pattern_shares(text, TextConfig(normaliser=normaliser))
    typed = words(text)
    for place, token in enumerate(tokens):
        if token in owners:
            assert typed[found[:, place].argmax()] == owners[token] and found[:, place].max() == 1
    assert set(owners) <= set(tokens)


def test_marks_belong_to_the_word_before_and_wide_tokens_are_shared():
    config = TextConfig(mark_elongation=True, mark_capitals=True)
    found, tokens = compute_pattern_shares("soooo GREAT film", config)
    assert tokens == ["so", "xxlong", "great", "xxcaps", "film"]
    assert found.argmax(0).tolist() == [0, 0, 1, 1, 2]
    found, tokens = compute_pattern_shares("hm...", TextConfig(), r"\w+|\.+")
    assert tokens == ["hm", "..."] and words("hm...") == ["hm", ".", ".", "."]
    np.testing.assert_allclose(found, [[1, 0], [0, 1 / 3], [0, 1 / 3], [0, 1 / 3]])
    assert compute_shares("a b c", [(0, 1)], [(0, 1), (2, 3), (4, 5)], TextConfig()).tolist() == [[1, 0, 0]]
    assert compute_shares("", [], [], TextConfig()).shape == (0, 0)


@pytest.mark.slow
@given(st.text(alphabet="aB é'\u0301-.@#😀👍🏽영한ছবি<>&;:/w\u200b\n3", max_size=40), st.sampled_from(NORMALIZERS))
def test_token_shares_sum_to_one(text, normaliser):
    found, tokens = compute_pattern_shares(text, TextConfig(normaliser=normaliser))
    assert found.shape == (len(find_word_spans(text)), len(tokens)) and (found >= 0).all()
    assert (found.sum(0) <= 1 + 1e-12).all()
    plain = normaliser in ("none", "lower") and "\u200b" not in text
    assert not plain or np.allclose(found.sum(0), 1)
