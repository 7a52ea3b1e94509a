"""Normalisers: what each one changes, and that a second application changes nothing."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exceptions import ConfigError
from core.text.config import TextConfig
from core.text.normalise import normalise, steps

TEXTS = st.text(max_size=60)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("none", "  Two\r\n\tlines\u00a0here ", "Two lines here"),
        ("none", "zero\u200bwidth \ufeffmark \x00", "zerowidth mark"),
        ("none", "Cafe\u0301", "Caf\u00e9"),
        ("none", "half \ud83d", "half \ufffd"),
        ("none", "&amp; http://a.b @joe", "&amp; http://a.b @joe"),
        ("lower", "GREAT Ärger ΟΔΟΣ", "great ärger οδος"),
        ("tweet", "RT @Joe_1: I &lt;3 it", "rt <user> : i <3 it"),
        ("tweet", "see https://t.co/Ab?x=1#y and www.A.b", "see <url> and <url>"),
        ("tweet", "@user said http", "<user> said <url>"),
        ("tweet", "mail joe@site.org", "mail joe@site.org"),
        ("tweet", "#BuyTheDip #NYSEStocks #covid19", "# buy the dip # nyse stocks # covid19"),
        ("tweet", "#আমি ‘so’", "# আমি 'so'"),
    ],
)
def test_each_normaliser_changes_exactly_its_part(kind, text, expected):
    assert normalise(text, kind) == expected


@given(TEXTS)
@pytest.mark.parametrize("kind", ["none", "lower", "tweet"])
def test_normalising_twice_is_normalising_once(kind, text):
    once = normalise(text.replace("&", ""), kind)
    assert normalise(once, kind) == once


@given(TEXTS)
def test_a_normalised_text_is_composed_storable_and_has_single_blanks(text):
    result = normalise(text, "none")
    assert result == unicodedata.normalize("NFC", result)
    assert result == " ".join(result.split())
    result.encode("utf-8")


def test_steps_lists_only_what_changed_and_ends_at_the_result():
    shown = steps("See  @Ann", TextConfig(normaliser="tweet"))
    assert shown == [
        ("blanks folded", "See @Ann"),
        ("user names marked", "See  <user> "),
        ("lower case", "see  <user> "),
        ("blanks folded", "see <user>"),
    ]
    assert steps("plain", TextConfig()) == []


def test_an_unknown_normaliser_is_named_with_the_known_ones():
    with pytest.raises(ConfigError, match="'upper': one of none, lower, tweet, tweet-clean"):
        normalise("a", "upper")
