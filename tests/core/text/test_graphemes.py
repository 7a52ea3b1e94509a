"""Grapheme clusters stay whole in words, edits and clipped texts."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.graphemes import clip_text, detect_direction, extend_spans, find_boundary, quote_text, split_clusters
from core.text.word_spans import find_word_spans

SAMPLES = (
    "ক্ষমা দুঃখিত ভালোবাসি 감사합니다 각 ㅋㅋㅋ مرحبا مُحَمَّد שָׁלוֹם ที่นี่ กำลัง 我们 か\u3099 नमस्ते "
    "👍🏽 👨‍👩‍👧 🇧🇩🇰🇷 1️⃣ 12️⃣ ❤️‍🔥 🏴\U000e0067\U000e0062\U000e007f e\u0301 "
    "\u0600١ ℹ️ don't #tag @name https://x.y/é , . ! \u200d \u200f \ufe0f \u0301 \r\n"
).split(" ")
"""Texts of many scripts, and single marks."""
texts = st.lists(
    st.one_of(st.sampled_from(SAMPLES), st.sampled_from([" ", "\n"]), st.text(max_size=3)), max_size=8
).map("".join)


def ends(parts):
    return {0, *accumulate(map(len, parts))}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ক্ষমা", ["ক্ষ", "মা"]),
        ("দুঃখ", ["দুঃ", "খ"]),
        ("র\u200d্যাব", ["র\u200d্যা", "ব"]),
        ("감사", ["감", "사"]),
        ("갛각", ["갛", "각"]),
        ("مُحَ", ["مُ", "حَ"]),
        ("กำที่", ["กำ", "ที่"]),
        ("👨‍👩‍👧🇧🇩🇰🇷👍🏽1️⃣", ["👨‍👩‍👧", "🇧🇩", "🇰🇷", "👍🏽", "1️⃣"]),
        ("a\r\ne\u0301", ["a", "\r\n", "e\u0301"]),
    ],
)
def test_clusters_are_characters_as_readers_see_them(text, found):
    assert split_clusters(text) == found


@pytest.mark.slow
@given(texts)
def test_clusters_join_to_the_text_and_are_not_finer_than_unicodes(text):
    assert "".join(split_clusters(text)) == text
    regex = pytest.importorskip("regex")
    assert ends(split_clusters(text)) <= ends(regex.findall(r"\X", text))


@pytest.mark.slow
@given(texts)
def test_words_split_no_cluster_and_only_blanks_are_outside_words(text):
    words = find_word_spans(text)
    assert all(place in ends(split_clusters(text)) for word in words for place in word)
    assert all(one[1] <= two[0] for one, two in pairwise(words))
    rest = "".join(
        text[end:start]
        for end, start in zip((0, *(w[1] for w in words)), (*(w[0] for w in words), len(text)), strict=True)
    )
    assert not any(sign.isprintable() and not sign.isspace() for sign in rest)


@pytest.mark.slow
@given(texts, st.integers(1, 12))
def test_texts_are_clipped_between_clusters(text, most):
    short = clip_text(text, most)
    assert len(short) <= most
    assert short == text or (short[-1] == "…" and len(short) - 1 in ends(split_clusters(text)))
    assert find_boundary(text, most) in ends(split_clusters(text))


def test_short_texts_are_unchanged_and_spans_that_share_a_cluster_are_merged():
    assert clip_text("ক্ষমা", 5) == "ক্ষমা"
    assert clip_text("ক্ষমা", 4) == "ক্ষ…"
    assert clip_text("👨‍👩‍👧 and", 4) == "…"
    assert find_boundary("\r\n", 1) == 0
    assert extend_spans("12️⃣", [(0, 2), (2, 4)]) == [(0, 4)]


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("not bad", "ltr"),
        ("", "ltr"),
        ("감사합니다 ক্ষমা 2024!", "ltr"),
        ("الفيلم رائع", "rtl"),
        ("שלום!", "rtl"),
        ("@user12 RT الفيلم رائع جداً، شكراً", "rtl"),
        ("he said شكراً and went on", "ltr"),
    ],
)
def test_most_letters_decide_the_direction(text, way):
    assert detect_direction(text) == way


def test_quoted_text_is_isolated_from_the_sentence():
    assert quote_text("bad!") == "“bad!”"
    assert quote_text("شكراً!") == "“\u2068شكراً!\u2069”"
    assert quote_text("감사" * 40, 5) == "“감사감사…”"
