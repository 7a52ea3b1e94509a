import json
import re
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import compose
from core.exceptions import ConfigError, InputError
from core.text.config import TextConfig
from core.text.normalization import prepare
from core.text.token_table import build_token_table, to_batch
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer
from core.text.word_spans import compute_shares, find_word_spans, remove_words
from core.text.words import CHARACTERS, check_passage, hash_char_ngrams, list_char_ngrams, split_passages, split_words

words = st.lists(st.text("abcé한.,!", min_size=1, max_size=5), max_size=60)
TEXTS = ["the film was fine", "a fine fine plot", "the plot, unwatchable!", ""]
NORMALIZERS = ("none", "lower", "tweet", "tweet-clean", "tweet-clean-as-released")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't rock'n'roll", ["don't", "rock'n'roll"]),
        ("it 's n't 'the'", ["it", "'s", "n't", "'", "the", "'"]),
        ("well-made, no?!", ["well", "-", "made", ",", "no", "?", "!"]),
        ("1,000.5% 2nd q3 $5", ["1,000.5", "%", "2nd", "q3", "$", "5"]),
        ("end. 3.", ["end", ".", "3", "."]),
        ("<url> <pad> <unk>", ["<url>", "<", "pad", ">", "<", "unk", ">"]),
        *(("a_b", ["a", "_", "b"]), ("আমি ভালোবাসি", ["আমি", "ভালোবাসি"]), ("안녕하세요 세계", ["안녕하세요", "세계"])),
        ("👍👍🏽 ❤️!", ["👍", "👍🏽", "❤️", "!"]),
        ("👩\u200d👩\u200d👧 🇬🇧🇰🇷 1\ufe0f\u20e3", ["👩\u200d👩\u200d👧", "🇬🇧", "🇰🇷", "1\ufe0f\u20e3"]),
        ("", []),
    ],
)
def test_words_numbers_emoji_and_marks_are_single_tokens(text, words):
    assert split_words(text) == words


@pytest.mark.slow
@given(st.text(max_size=60))
def test_every_character_except_blanks_is_in_one_token(text):
    assert "".join(split_words(text)) == "".join(text.split())


@pytest.mark.slow
@given(words, st.integers(1, 25))
def test_passages_contain_all_words_in_order_within_the_limit(found, most):
    cut = split_passages("  ".join(found), most)
    assert " ".join(cut).split() == found
    lengths = [len(each.split()) for each in cut]
    assert max(lengths) <= most and len(cut) == max(1, -(-len(found) // most))
    assert max(lengths) - min(lengths) <= 1, "no passage of a few left-over words, which would count like the others"


@pytest.mark.parametrize("text", ["", "one  two\tthree", " four "])
def test_short_texts_are_one_passage(text):
    assert split_passages(text, 3) == [text]


@pytest.mark.parametrize(("asked", "words"), [(0, 0), (7, 7), (np.int64(3), 3)])
def test_words_per_passage_are_a_whole_number(asked, words):
    assert check_passage(asked) == words


@pytest.mark.parametrize("asked", [-1, 2.5, float("nan"), "5", True, None])
def test_other_passage_lengths_are_refused(asked):
    with pytest.raises(InputError, match=r"--passage .*: words per passage, at least 1"):
        check_passage(asked)


def fit_with_buckets(count=50, **settings):
    tokenizer = fit_tokenizer(TEXTS, TextConfig(min_freq=2, **settings))
    tokenizer.buckets = count
    return tokenizer


@pytest.mark.parametrize("settings", [{}, {"max_length": 4}, {"tagger": "en"}, {"lexicon": "vader"}])
def test_a_single_text_equals_its_row_in_a_batch(settings):
    tokenizer = fit_with_buckets(**settings)
    for text in [*TEXTS, "zzz! it's 3.5 unseen words, and more of them"]:
        one, many = to_batch(tokenizer.encode(text)), build_token_table(tokenizer, [text]).pad_all()
        assert one.grams.shape[:2] == one.ids.shape and np.array_equal(one.grams, many.grams)


def test_every_token_has_buckets_and_tokenizers_store_them_only_if_they_have_some():
    tokenizer = fit_with_buckets()
    batch = build_token_table(tokenizer, ["fine unwatchable", "", "zzz fine"]).pad_rows(np.array([0, 1, 2]))
    assert batch.ids[0, 1] == batch.ids[2, 0] == 1
    for row, words in enumerate([["fine", "unwatchable"], [], ["zzz", "fine"]]):
        for place in range(2):
            expected = hash_char_ngrams(words[place], 50) if place < len(words) else []
            assert [gram for gram in batch.grams[row, place] if gram] == expected
    assert batch.grams.shape == (3, 2, len(list_char_ngrams("unwatchable")))
    tokenizer = fit_with_buckets()
    again = restore_tokenizer(tokenizer.to_json())
    assert again.buckets == 50 and again.to_json() == tokenizer.to_json()
    plain = fit_with_buckets(0)
    assert "buckets" not in json.loads(plain.to_json())
    assert plain.encode("fine").grams is build_token_table(plain, ["fine"]).pad_all().grams is None


def test_character_ngrams_have_crc32_buckets_unless_the_model_reads_no_words():
    assert list_char_ngrams("bad") == ["<ba", "bad", "ad>", "<bad", "bad>", "<bad>"]
    assert list_char_ngrams("a") == ["<a>"] and list_char_ngrams("ok") == ["<ok", "ok>", "<ok>"]
    assert list_char_ngrams("aaaa") == ["<aa", "aaa", "aaa", "aa>", "<aaa", "aaaa", "aaa>", "<aaaa", "aaaa>"]
    assert list_char_ngrams("né")[0] == "<né"
    assert len(list_char_ngrams("x" * 500)) == 3 * (CHARACTERS + 2) - 9 == 93
    assert list_char_ngrams("x" * 500)[-1] == "xxxxx"
    assert [crc32(piece.encode()) for piece in ("<ba", "bad")] == [0xBF4E9D0D, 0x822B39FB]
    assert hash_char_ngrams("bad", 20_000)[:2] == [0xBF4E9D0D % 20_000 + 1, 0x822B39FB % 20_000 + 1]
    assert hash_char_ngrams("bad", 1) == [1] * 6
    assert hash_char_ngrams("\ud800", 7)  # a lone surrogate
    with pytest.raises(ConfigError, match=r"model\.ngram_buckets=9: byte pairs .* choose text\.tokenizer=word"):
        compose("vanilla", {"model.ngram_buckets": 9, "text.tokenizer": "bpe"})
    for preset in ("bilstm", "cnn", "tfidf-logreg"):
        with pytest.raises(ConfigError, match=r"model\.ngram_buckets=9: no effect on model\.family"):
            compose(preset, {"model.ngram_buckets": 9})


def words_of(text):
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
    assert words_of(text) == expected


@pytest.mark.parametrize(
    ("text", "word", "left"),
    [
        *(("not bad at all", "bad", "not at all"), ("not bad at all", "not", "bad at all")),
        *(("not bad at all", "all", "not bad at"), ("good, really", ",", "good really")),
        *(("good, really", "good", ", really"), ("a well-made film", "-", "a wellmade film"), ("good", "good", "")),
        ("영화는 정말 좋다", "정말", "영화는 좋다"),
    ],
)
def test_removing_words_closes_double_spaces(text, word, left):
    start = text.index(word)
    assert remove_words(text, [(start, start + len(word))]) == left


def compute_pattern_shares(text, config, pattern=r"\S+"):
    """Return the shares (words_of, tokens) of tokens that a pattern finds in the normalised text."""
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
    typed = words_of(text)
    for place, token in enumerate(tokens):
        if token in owners:
            assert typed[found[:, place].argmax()] == owners[token] and found[:, place].max() == 1
    assert set(owners) <= set(tokens)


def test_marks_belong_to_the_word_before_and_wide_tokens_are_shared():
    found, tokens = compute_pattern_shares("soooo GREAT film", TextConfig(mark_elongation=True, mark_capitals=True))
    assert tokens == ["so", "xxlong", "great", "xxcaps", "film"] and found.argmax(0).tolist() == [0, 0, 1, 1, 2]
    found, tokens = compute_pattern_shares("hm...", TextConfig(), r"\w+|\.+")
    assert tokens == ["hm", "..."] and words_of("hm...") == ["hm", ".", ".", "."]
    np.testing.assert_allclose(found, [[1, 0], [0, 1 / 3], [0, 1 / 3], [0, 1 / 3]])
    assert compute_shares("a b c", [(0, 1)], [(0, 1), (2, 3), (4, 5)], TextConfig()).tolist() == [[1, 0, 0]]
    assert compute_shares("", [], [], TextConfig()).shape == (0, 0)


@pytest.mark.slow
@given(st.text(alphabet="aB é'\u0301-.@#😀👍🏽영한ছবি<>&;:/w\u200b\n3", max_size=40), st.sampled_from(NORMALIZERS))
def test_token_shares_sum_to_one(text, normaliser):
    found, tokens = compute_pattern_shares(text, TextConfig(normaliser=normaliser))
    assert found.shape == (len(find_word_spans(text)), len(tokens)) and (found >= 0).all()
    assert (found.sum(0) <= 1 + 1e-12).all()
    assert normaliser not in ("none", "lower") or "\u200b" in text or np.allclose(found.sum(0), 1)
