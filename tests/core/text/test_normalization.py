"""Normalisers: what each one changes, and that a second application changes nothing."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exceptions import ConfigError
from core.text.config import TextConfig
from core.text.normalization import list_steps, make_text_keys, prepare
from core.text.tokenizer_factory import fit_tokenizer

TEXTS = st.text(max_size=60)


def normalize(text, kind, marks=False, cased=False):
    return prepare(text, TextConfig(normaliser=kind, mark_elongation=marks, mark_capitals=marks), cased=cased)


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
def test_each_normalizer_applies_only_its_own_changes(kind, text, expected):
    assert normalize(text, kind) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't  GO", "dont go"),
        ("see http://a.b/C?d=1 or https://t.co/Xy www.A.b now", "see or now"),
        ("HTTPS://T.CO/A x", "x"),
        ("@Joe_1 and @ann: hi", "and hi"),
        ("#BuyTheDip #2day", "buythedip day"),
        ("good 😀 :) <3 day!!", "good day"),
        ("a_b 4ever 2.5", "a_b ever"),
        ("joe@site.org", "joeorg"),  # the rule for handles matches after any @
        ("héllo 日本 ½", "héllo 日本 ½"),  # letters of every script stay; a fraction is no decimal digit
        ("!!! 123 😀", ""),
    ],
)
def test_tweet_clean_follows_the_rules_of_the_paper_in_order(text, expected):
    assert normalize(text, "tweet-clean") == expected


@pytest.mark.parametrize(
    ("text", "paper", "released"),
    [
        ("awwww so sweet", "awwww so sweet", "a so sweet"),
        ("ewwww, gross", "ewwww gross", "e gross"),
        ("Awww... so sweet", "awww so sweet", "a so sweet"),
        ("www... what", "www what", "what"),
        ("the http error", "the http error", "the http error"),
        ("httpd is down", "httpd is down", "is down"),
        ("look:www.a.b/c, now", "look now", "look now"),
        ("seehttps://t.co/x now", "see now", "see now"),
        ("@ann:great! film", "great film", "film"),
        ("@joe's mate", "s mate", "mate"),
        ("joe@site.org", "joeorg", "joe"),
    ],
)
def test_links_and_handles_match_the_paper_or_the_released_code(text, paper, released):
    assert normalize(text, "tweet-clean") == paper
    assert normalize(text, "tweet-clean-as-released") == released


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("lower", "soooo coooool", "so xxlong cool xxlong"),
        ("lower", "good yesss! 1000", "good yes xxlong! 1000"),
        ("lower", "SOOOooo", "so xxcaps xxlong"),
        ("lower", "GREAT film, I'm A FAN", "great xxcaps film, i'm a fan xxcaps"),
        ("none", "GREAT CAN'T", "GREAT xxcaps CAN'T xxcaps"),
        ("lower", "R2D2 USA2", "r2d2 usa2"),
        ("tweet", "@ANN #WOW http://A.B/CCCD", "<user> # wow xxcaps <url>"),
        ("tweet-clean", "@ANN #WOW http://A.B/CCCD WWW.AAA.B Noooo!", "wow xxcaps no xxlong"),
        ("lower", "ㅋㅋㅋㅋ", "ㅋ xxlong"),
    ],
)
def test_elongated_words_and_capitals_are_marked(kind, text, expected):
    assert normalize(text, kind, marks=True) == expected


def test_cased_text_keeps_capitals_and_unknown_normalizers_are_refused():
    assert normalize("@Ann SAW Smith", "tweet", cased=True) == "<user> SAW Smith"
    assert normalize("#BuyIt, Ann's", "tweet-clean", cased=True) == "BuyIt Anns"
    with pytest.raises(ConfigError, match="'upper': one of none, lower, tweet, tweet-clean, tweet-clean-as-released"):
        normalize("a", "upper")


@pytest.mark.slow
@given(TEXTS)
@pytest.mark.parametrize("kind", ["none", "lower", "tweet"])
def test_normalization_is_idempotent_and_its_result_can_be_stored(kind, text):
    once = normalize(text.replace("&", ""), kind)
    assert normalize(once, kind) == once
    marked = normalize(text, kind, marks=True)
    if "xx" not in marked:
        assert marked == normalize(text, kind)
    result = normalize(text, "none")
    assert result == unicodedata.normalize("NFC", result)
    assert result == " ".join(result.split())
    result.encode("utf-8")


def test_steps_list_only_changes_and_end_with_the_result():
    shown = list_steps("See  @Ann", TextConfig(normaliser="tweet"))
    assert shown == [
        ("blanks folded", "See @Ann"),
        ("user names marked", "See  <user> "),
        ("lower case", "see  <user> "),
        ("blanks folded", "see <user>"),
    ]
    assert list_steps("plain", TextConfig()) == []


ALIKE = ["So good!", "so good !", "so  good!", "so good", "SO GOOD!", "sooo good!"]
ALIKE += ["so good! http://a.b/c", "так добре!"]


@pytest.mark.parametrize("tokenizer", ["word", "bpe"])
@pytest.mark.parametrize("normaliser", ["none", "lower", "tweet", "tweet-clean"])
@pytest.mark.parametrize("marks", [False, True])
def test_text_keys_are_equal_if_and_only_if_token_ids_are(tokenizer, normaliser, marks):
    config = TextConfig(normaliser, marks, marks, tokenizer=tokenizer, min_freq=1)
    keys = make_text_keys(ALIKE, config)
    ids = fit_tokenizer(ALIKE * 3, config).encode_batch(ALIKE)
    for one in range(len(ALIKE)):
        for other in range(one):
            assert (keys[one] == keys[other]) == (ids[one] == ids[other]), (ALIKE[one], ALIKE[other])


def test_texts_with_different_unknown_words_have_different_keys():
    first, second = make_text_keys(["a zyzzyva", "a quokka"], TextConfig(min_freq=2))
    assert first != second
