import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exceptions import ConfigError, RunDamaged
from core.text.config import TextConfig
from core.text.normalization import (
    list_steps,
    make_text_keys,
    measure_lengths,
    prepare,
    replace_lookalikes,
    replace_with_places,
)
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer
from core.text.word_spans import compute_shares, find_word_spans, remove_words

TABLE = TextConfig(lookalikes=1, min_freq=1)


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
    assert normalize(text, "tweet-clean") == paper and normalize(text, "tweet-clean-as-released") == released


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


@pytest.mark.slow
@given(st.text(max_size=60))
@pytest.mark.parametrize("kind", ["none", "lower", "tweet"])
def test_normalization_is_idempotent_and_its_result_can_be_stored(kind, text):
    once = normalize(text.replace("&", ""), kind)
    assert normalize(once, kind) == once
    marked = normalize(text, kind, marks=True)
    if "xx" not in marked:
        assert marked == normalize(text, kind)
    result = normalize(text, "none")
    assert result == unicodedata.normalize("NFC", result) and result == " ".join(result.split())
    result.encode("utf-8")


def test_cased_text_keeps_capitals_and_steps_list_only_changes():
    assert normalize("@Ann SAW Smith", "tweet", cased=True) == "<user> SAW Smith"
    assert normalize("#BuyIt, Ann's", "tweet-clean", cased=True) == "BuyIt Anns"
    with pytest.raises(ConfigError, match="'upper': one of raw, none, lower, tweet, tweet-clean, tweet-clean-as-rel"):
        normalize("a", "upper")
    assert list_steps("See  @Ann", TextConfig(normaliser="tweet")) == [
        *(("blanks folded", "See @Ann"), ("user names marked", "See  <user> "), ("lower case", "see  <user> ")),
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


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        # Only apostrophes between letters.
        *(("isn\u02bct", "isn't"), ("isn\u2018t", "isn't"), ("isn\u2019t", "isn't"), ("isn\u00b4t", "isn't")),
        *(("isn`t", "isn't"), ("e\u0301\u00b4a", "e\u0301'a"), ("the `good` one", "the `good` one")),
        *(("\u2018good\u2019", "\u2018good\u2019"), ("5`000", "5`000")),
        # Widths and ligatures, but no other compatibility forms.
        ("\uff47\uff4f\uff4f\uff44\u3000\uff12", "good 2"),
        *(("\uff76\uff9e", "カ\u3099"), ("\uffa1", "ㄱ"), ("\ufb01ne o\ufb03ce", "fine office")),
        *(("\ufefb", "\u0644\u0627"), ("½ x² ™ … ①", "½ x² ™ … ①")),
        # Joiners.
        *(("good\u200d", "good"), ("\u2764\ufe0f", "\u2764"), ("👩\u200d👧 👩🏽\u200d🦰", "👩\u200d👧 👩🏽\u200d🦰")),
        *(("1\ufe0f\u20e3", "1\u20e3"), ("می\u200cخواهم", "می\u200cخواهم"), ("good\u200c film", "good film")),
        # Blanks.
        ("not\u200bgood", "not good"),
        ("great<br />film<BR>and <br/>so </br>on", "great film and  so  on"),
        ("a < b, bread <b>bold</b>", "a < b, bread <b>bold</b>"),
        # Entities are decoded once, and only complete ones.
        ("don&rsquo;t R&amp;D &#128077; &#x27;", "don't R&D 👍 '"),
        ("&lt;br&gt;", " "),
        ("&amp;amp;", "&amp;"),
        ("AT&T ?a=1&copy=2 &notanentity;", "AT&T ?a=1&copy=2 &notanentity;"),
    ],
)
def test_look_alike_characters_become_equal(typed, read):
    assert replace_lookalikes(typed) == read and replace_lookalikes(typed, 0) == typed


PAIRS = [
    *(("isn\u02bct it", "isn't it"), ("wasn`t good", "wasn't good"), ("\ufb01ne", "fine")),
    *(("\uff47\uff4f\uff4f\uff44", "good"), ("good\u200d film", "good film"), ("not\u200bgood", "not good")),
    *(("great<br />film", "great film"), ("\u2764\ufe0f it", "\u2764 it")),
]


@pytest.mark.parametrize("kind", ["none", "lower", "tweet"])
@pytest.mark.parametrize(("typed", "same"), PAIRS)
def test_look_alike_spellings_have_the_same_ids(kind, typed, same):
    texts = [text for pair in PAIRS for text in pair]
    for tokenizer in ("word", "bpe"):
        fitted = fit_tokenizer(texts, TextConfig(kind, tokenizer=tokenizer, lookalikes=1, min_freq=1, max_vocab=400))
        assert fitted.encode(typed).ids == fitted.encode(same).ids
        assert fitted.encode_batch([typed]) == fitted.encode_batch([same])


def test_look_alikes_are_the_first_step_and_tokenizers_store_their_version():
    assert list_steps("Isn`t", TABLE) == [("look-alikes", "Isn't"), ("lower case", "isn't")]
    assert list_steps("Isn`t", TextConfig()) == [("lower case", "isn`t")]
    assert prepare("Isn`t", TABLE, cased=True) == "Isn't"
    tokenizer = fit_tokenizer(["isn`t"], TABLE)
    state = json.loads(tokenizer.to_json())
    assert state["config"].pop("lookalikes") == 1
    assert restore_tokenizer(tokenizer.to_json()).config.lookalikes == 1
    assert restore_tokenizer(json.dumps(state)).config.lookalikes == 0
    with pytest.raises(RunDamaged, match="lookalikes"):
        restore_tokenizer(json.dumps({**state, "config": {**state["config"], "lookalikes": 2}}))


@pytest.mark.parametrize(
    ("text", "owners"),
    [
        ("great<br />film", {"great": "great", "film": "film"}),
        ("a <br><br> fine\u200bday", {"a": "a", "fine": "fine", "day": "day"}),
        ("&quot;so&quot; good", {"so": "so", "good": "good"}),
        ("o\ufb03ce \uff47\uff4f\uff4f\uff44", {"office": "o\ufb03ce", "good": "\uff47\uff4f\uff4f\uff44"}),
        ("isn\u02bct good\u200d", {"isn't": "isn\u02bct", "good": "good\u200d"}),
        ("&amp;&amp; good<br>bad", {"good": "good", "bad": "bad"}),
    ],
)
def test_tokens_belong_to_the_words_as_typed(text, owners):
    tokens, words = fit_tokenizer([text], TABLE).encode(text), find_word_spans(text)
    found = compute_shares(text, words, tokens.offsets, TABLE)
    np.testing.assert_allclose(found.sum(0), 1)
    for place, token in enumerate(tokens.tokens):
        if token in owners:
            start, end = words[found[:, place].argmax()]
            assert (text[start:end], found[:, place].max()) == (owners[token], 1)
    assert owners.keys() <= set(tokens.tokens)


@pytest.mark.slow
@given(st.text(alphabet="aé'\u0301`\u02bc\u200d\u200c\u200b\ufe0f❤👩<br>/&amp;#39 \ufb01\uff47ｶﾞ\n‖", max_size=40))
def test_mapped_positions_rise_to_the_end_of_the_text(text):
    resolved, places = replace_with_places(text, range(len(text) + 1))
    assert resolved == replace_lookalikes(text)
    assert places[0] == 0 and places[-1] == len(resolved) and places == sorted(places)
    assert measure_lengths(text, [len(text)], TABLE) == [len(prepare(text, TABLE))]
    words = find_word_spans(text)
    tokens = fit_tokenizer([text or "a"], TABLE).encode(text)
    np.testing.assert_allclose(compute_shares(text, words, tokens.offsets, TABLE).sum(0), 1)


def test_breaks_and_entities_are_words_and_truncated_spans_refer_to_typed_text():
    text = "great<br />film R&amp;D a<b"
    words = find_word_spans(text)
    assert [text[start:end] for start, end in words] == ["great", "<br />", "film", "R", "&amp;", "D", "a", "<", "b"]
    assert remove_words(text, words[1:2]) == "great film R&amp;D a<b"
    assert remove_words("a <br> b", find_word_spans("a <br> b")[1:2]) == "a b"
    config = TextConfig(lookalikes=1, min_freq=1, max_length=4)
    text = "one<br />two thr\ufb01\ufb01 &amp; five"
    fitted = fit_tokenizer([text], config)
    (start, end), *more = fitted.find_truncated(text)
    assert (text[start:end], more) == (" five", [])
    assert fitted.encode(text[:start]).tokens == fitted.encode(text).tokens == ["one", "two", "thrfifi", "&"]
