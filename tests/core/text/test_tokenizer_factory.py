"""Tokenizers: fitting, determinism, truncation and storage."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.exceptions import ConfigError, RunDamaged
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.special_ids import PAD, UNKNOWN
from core.text.tokenizer import compute_max_length
from core.text.tokenizer_factory import fit_tokenizer, load_tokenizer, restore_tokenizer

TEXTS = ["A good film", "a bad film", "a good good day", "don't go"]
WORD = fit_tokenizer(TEXTS, TextConfig(min_freq=1))
BPE = fit_tokenizer(TEXTS * 5, TextConfig(tokenizer="bpe", max_vocab=300))
NGRAM = NGramTokenizer.fit(TEXTS, TextConfig(min_freq=2))
ALL = pytest.mark.parametrize("tokenizer", [WORD, BPE, NGRAM], ids=lambda each: each.kind)


def test_words_are_numbered_by_frequency_and_rare_ones_are_unknown():
    assert [WORD.name(each) for each in range(WORD.size)] == [
        "<pad>", "<unk>", "a", "good", "film", "bad", "day", "don't", "go",
    ]  # fmt: skip
    tokenizer = fit_tokenizer(TEXTS, TextConfig(min_freq=2))
    found = tokenizer.encode("A  superb FILM")
    assert found.ids == [tokenizer.encode("a").ids[0], UNKNOWN, tokenizer.encode("film").ids[0]]
    assert found.tokens == ["a", "superb", "film"]
    assert found.text == "a superb film"
    assert found.offsets == [(0, 1), (2, 8), (9, 13)]
    tokenizer = fit_tokenizer([" ".join("abcdefghij")], TextConfig(max_vocab=8, min_freq=1))
    assert tokenizer.size == 8
    assert tokenizer.encode("f g").ids == [7, UNKNOWN]


def test_long_texts_are_truncated_and_the_rest_is_counted():
    tokenizer = fit_tokenizer(TEXTS, TextConfig(max_length=4, min_freq=1))
    found = tokenizer.encode("a good good good good day")
    assert (len(found.ids), len(found.tokens), len(found.offsets), found.truncated) == (4, 4, 4, 2)
    assert tokenizer.encode_batch(["a good good good good day"]) == [found.ids]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], 16),
        ([3] * 50, 16),
        ([17] * 50, 24),
        ([24] * 50, 24),
        ([25] * 50, 32),
        ([9000] * 50, 256),
        ([20] * 999 + [250], 24),
    ],
)
def test_automatic_length_is_the_99th_percentile_in_steps_of_8(lengths, expected):
    assert compute_max_length(lengths) == expected


def test_byte_pairs_encode_every_character_and_need_all_bytes_in_the_vocabulary():
    found = BPE.encode("Good dáy 日本 👍")
    assert UNKNOWN not in found.ids
    assert "".join(found.tokens[:1]) == "good"
    assert not set("ĠĊÃ") & set("".join(found.tokens + [BPE.name(each) for each in found.ids]))
    found = fit_tokenizer(["a"], TextConfig(tokenizer="bpe", max_vocab=258)).encode("é")
    assert found.tokens[-2:] == ["é", "é"]
    assert found.offsets[-2:] == [(0, 1), (0, 1)]
    with pytest.raises(ConfigError, match="at least 258"):
        fit_tokenizer(TEXTS, TextConfig(tokenizer="bpe", max_vocab=257))
    assert BPE.known_words is None and BPE.compute_unknown_share("zzz qqq") is None


@ALL
@pytest.mark.parametrize("text", ["<pad>", "<unk> <PAD>", "x <pad><unk>"])
def test_texts_with_special_names_are_not_padding(tokenizer, text):
    assert PAD not in tokenizer.encode(text).ids
    assert PAD not in tokenizer.encode_batch([text])[0]
    assert len(tokenizer.encode("<unk>").ids) != 1 or tokenizer.kind == "ngram"


@pytest.mark.slow
@ALL
@given(text=st.text(max_size=50))
def test_encode_equals_encode_batch_and_offsets_match_the_tokens(tokenizer, text):
    found = tokenizer.encode(text)
    assert tokenizer.encode_batch([text, "", text]) == [found.ids, [], found.ids]
    assert [found.text[start:end] for start, end in found.offsets] == found.tokens
    assert len(found.ids) == len(found.tokens)
    assert all(0 < each < tokenizer.size for each in found.ids)


@ALL
def test_stored_tokenizers_are_restored_identically(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    again = load_tokenizer(path)
    assert type(again) is type(tokenizer)
    assert again.to_json() == tokenizer.to_json()
    assert (again.size, again.max_length, again.config) == (tokenizer.size, tokenizer.max_length, tokenizer.config)
    assert again.encode("a good <pad> day 👍") == tokenizer.encode("a good <pad> day 👍")


@ALL
@pytest.mark.parametrize(
    "damage",
    [
        lambda state: state[:-9],
        lambda state: "[]",
        lambda state: "null",
        lambda state: json.dumps({**json.loads(state), "kind": "sentencepiece"}),
        lambda state: json.dumps({**json.loads(state), "version": 99}),
        lambda state: json.dumps({**json.loads(state), "max_length": "8"}),
        lambda state: json.dumps({**json.loads(state), "config": {}}),
        lambda state: json.dumps({**json.loads(state), "vocabulary": ["a", "a"]}),
        lambda state: json.dumps({**json.loads(state), "vocabulary": [1]}),
        lambda state: json.dumps({k: v for k, v in json.loads(state).items() if k != "vocabulary"}),
    ],
)
def test_damaged_tokenizer_files_are_refused_with_their_path(tokenizer, damage, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(damage(tokenizer.to_json()), encoding="utf-8")
    with pytest.raises(RunDamaged, match=r"tokenizer\.json: the tokenizer cannot be read"):
        load_tokenizer(path)


@pytest.mark.parametrize("change", [{"min_freq": "2"}, {"normaliser": "upper"}, {"max_vocab": 1}, {"max_vocab": True}])
def test_stored_settings_are_checked(change):
    state = json.loads(WORD.to_json())
    state["config"].update(change)
    with pytest.raises(RunDamaged):
        restore_tokenizer(json.dumps(state))


@pytest.mark.parametrize("merges", [None, 3, ["a"], [["a"]], [["zz", "y"]], [["a", "b", "c"]]])
def test_stored_merges_are_checked(merges):
    with pytest.raises(RunDamaged):
        restore_tokenizer(json.dumps({**json.loads(BPE.to_json()), "merges": merges}))


@pytest.mark.parametrize("tokenizer", [WORD, NGramTokenizer.fit(TEXTS, TextConfig(min_freq=1, char_ngrams=4))])
def test_the_unknown_share_counts_words_without_punctuation(tokenizer):
    for text, share in [
        ("A good film.", 0.0),
        ("zzz qqq www", 1.0),
        ("good zzz!!! ...", 0.5),
        ("Don't zzz, \U0001f600", 2 / 3),
        ("", 0.0),
        ("?!", 0.0),
        ("good oo oo ood", 0.75),  # known n-grams are no known words
    ]:
        assert tokenizer.compute_unknown_share(text) == pytest.approx(share)
