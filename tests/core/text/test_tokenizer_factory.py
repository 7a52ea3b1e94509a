import base64
import dataclasses
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused import check_raises
from tiny_backbones import byte_pairs, word_pieces

from core.exceptions import ConfigError, DataError, RunDamaged
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.special_ids import FIRST, PAD, UNKNOWN
from core.text.subword_tokenizers import PublishedTokenizer, check_pipeline, convert_panics
from core.text.tokenizer import compute_max_length
from core.text.tokenizer_factory import extend_tokenizer, fit_tokenizer, load_tokenizer, restore_tokenizer

TEXTS = ["A good film", "a bad film", "a good good day", "don't go"]
WORD = fit_tokenizer(TEXTS, TextConfig(min_freq=1))
BPE = fit_tokenizer(TEXTS * 5, TextConfig(tokenizer="bpe", max_vocab=300))
NGRAM = NGramTokenizer.fit(TEXTS, TextConfig(min_freq=2))
ALL = pytest.mark.parametrize("tokenizer", [WORD, BPE, NGRAM], ids=lambda each: each.kind)
CONFIG = TextConfig(tokenizer="pretrained", normaliser="none")
PIECED = ["The films were GREAT", "not 可 bad"]


def test_words_are_numbered_by_frequency_and_long_texts_are_truncated():
    assert [WORD.name(each) for each in range(WORD.size)] == [
        "<pad>", "<unk>", "a", "good", "film", "bad", "day", "don't", "go",
    ]  # fmt: skip
    tokenizer = fit_tokenizer(TEXTS, TextConfig(min_freq=2))
    found = tokenizer.encode("A  superb FILM")
    assert found.ids == [tokenizer.encode("a").ids[0], UNKNOWN, tokenizer.encode("film").ids[0]]
    assert found.tokens == ["a", "superb", "film"] and found.text == "a superb film"
    assert found.offsets == [(0, 1), (2, 8), (9, 13)]
    tokenizer = fit_tokenizer([" ".join("abcdefghij")], TextConfig(max_vocab=8, min_freq=1))
    assert tokenizer.size == 8 and tokenizer.encode("f g").ids == [7, UNKNOWN]
    tokenizer = fit_tokenizer(TEXTS, TextConfig(max_length=4, min_freq=1))
    found = tokenizer.encode("a good good good good day")
    assert (len(found.ids), len(found.tokens), len(found.offsets), found.truncated) == (4, 4, 4, 2)
    assert tokenizer.encode_batch(["a good good good good day"]) == [found.ids]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        *(([], 16), ([3] * 50, 16), ([17] * 50, 24), ([24] * 50, 24), ([25] * 50, 32), ([9000] * 50, 256)),
        ([20] * 999 + [250], 24),
    ],
)
def test_automatic_length_is_the_99th_percentile_in_steps_of_8(lengths, expected):
    assert compute_max_length(lengths) == expected


def test_byte_pairs_encode_every_character_and_need_all_bytes_in_the_vocabulary():
    found = BPE.encode("Good dáy 日本 👍")
    assert UNKNOWN not in found.ids and "".join(found.tokens[:1]) == "good"
    assert not set("ĠĊÃ") & set("".join(found.tokens + [BPE.name(each) for each in found.ids]))
    found = fit_tokenizer(["a"], TextConfig(tokenizer="bpe", max_vocab=258)).encode("é")
    assert found.tokens[-2:] == ["é", "é"] and found.offsets[-2:] == [(0, 1), (0, 1)]
    check_raises(ConfigError, "at least 258", fit_tokenizer, TEXTS, TextConfig(tokenizer="bpe", max_vocab=257))
    assert BPE.known_words is None and BPE.compute_unknown_share("zzz qqq") is None


@ALL
@pytest.mark.parametrize("text", ["<pad>", "<unk> <PAD>", "x <pad><unk>"])
def test_texts_with_special_names_are_not_padding(tokenizer, text):
    assert PAD not in tokenizer.encode(text).ids and PAD not in tokenizer.encode_batch([text])[0]
    assert len(tokenizer.encode("<unk>").ids) != 1 or tokenizer.kind == "ngram"


@pytest.mark.slow
@ALL
@given(text=st.text(max_size=50))
def test_encode_equals_encode_batch_and_offsets_match_the_tokens(tokenizer, text):
    found = tokenizer.encode(text)
    assert tokenizer.encode_batch([text, "", text]) == [found.ids, [], found.ids]
    assert [found.text[start:end] for start, end in found.offsets] == found.tokens
    assert len(found.ids) == len(found.tokens) and all(0 < each < tokenizer.size for each in found.ids)


@ALL
def test_stored_tokenizers_are_restored_identically(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    again = load_tokenizer(path)
    assert type(again) is type(tokenizer) and again.to_json() == tokenizer.to_json()
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
    check_raises(RunDamaged, r"tokenizer\.json: the tokenizer cannot be read", load_tokenizer, path)


@pytest.mark.parametrize("change", [{"min_freq": "2"}, {"normaliser": "upper"}, {"max_vocab": 1}, {"max_vocab": True}])
def test_stored_settings_are_checked(change):
    state = json.loads(WORD.to_json())
    state["config"].update(change)
    check_raises(RunDamaged, None, restore_tokenizer, json.dumps(state))


@pytest.mark.parametrize("merges", [None, 3, ["a"], [["a"]], [["zz", "y"]], [["a", "b", "c"]]])
def test_stored_merges_are_checked(merges):
    check_raises(RunDamaged, None, restore_tokenizer, json.dumps({**json.loads(BPE.to_json()), "merges": merges}))


@pytest.mark.parametrize("tokenizer", [WORD, NGramTokenizer.fit(TEXTS, TextConfig(min_freq=1, char_ngrams=4))])
def test_the_unknown_share_counts_words_without_punctuation(tokenizer):
    for text, share in [
        *(("A good film.", 0.0), ("zzz qqq www", 1.0), ("good zzz!!! ...", 0.5), ("Don't zzz, \U0001f600", 2 / 3)),
        *(("", 0.0), ("?!", 0.0)),
        ("good oo oo ood", 0.75),  # known n-grams are no known words
    ]:
        assert tokenizer.compute_unknown_share(text) == pytest.approx(share)


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


def test_new_words_follow_known_ones_and_split_words_become_tokens():
    known = fit_tokenizer(FILMS, WORDS)
    tokenizer, origins = extend(WORDS, 1)
    assert tokenizer.size == known.size + 1 and origins == [[]] and tokenizer.name(known.size) == "bearish"
    assert tokenizer.encode("bearish film bullish").ids == [known.size, known.encode("film").ids[0], UNKNOWN]
    assert extend(WORDS, 99).tokenizer.size == known.size + 2, "what is rarer than text.min_freq stays unknown"
    known = fit_tokenizer(FILMS, WORDS)
    longer = dataclasses.replace(WORDS, max_length=0)
    assert extend_tokenizer(known, ["film " * 60] * 3, longer).tokenizer.max_length == 64
    assert known.max_length == 8, "the other run's own is left alone"
    with pytest.raises(ConfigError, match=r"text\.normaliser=tweet: the run that this training starts from reads with"):
        extend_tokenizer(fit_tokenizer(FILMS, WORDS), MARKET, dataclasses.replace(WORDS, normaliser="tweet"))
    known = fit_tokenizer(FILMS, PIECES)
    pieces = known.encode("bearish").ids
    assert len(pieces) > 3
    tokenizer, origins = extend(PIECES, 1)
    (token,) = tokenizer.encode("bearish").ids
    assert origins[token - known.size] == pieces
    assert tokenizer.encode("bearish").tokens == ["bearish"] and tokenizer.name(token).strip() == "bearish"
    assert len(origins) == tokenizer.size - known.size
    for text in FILMS:
        assert tokenizer.encode(text).ids == known.encode(text).ids, "what was known is read as before"
    tokenizer, _ = extend(PIECES, 2)
    assert [len(tokenizer.encode(word).ids) for word in ("bearish", "bullish")] == [1, 1]
    assert tokenizer.encode("bearish bullish film").tokens == ["bearish", "bullish", "film"]


def fitted(pipeline, **settings):
    config = TextConfig(tokenizer="pretrained", normaliser="none", **settings)
    return fit_tokenizer(PIECED, config, PublishedTokenizer(pipeline.to_str(), 38, "tiny"))


@pytest.mark.parametrize("pipeline", [word_pieces(), byte_pairs()], ids=["word pieces", "byte pairs"])
def test_ids_are_the_backbones_shifted_by_two(pipeline):
    tokenizer = fitted(pipeline)
    for text in PIECED:
        own, found = pipeline.encode(text, add_special_tokens=False), tokenizer.encode(text)
        unknown = pipeline.token_to_id("[UNK]")
        assert found.ids == [UNKNOWN if each == unknown else each + FIRST for each in own.ids]
        assert [found.text[start:end] for start, end in found.offsets] == found.tokens
        assert tokenizer.encode_batch([text]) == [found.ids]
    assert tokenizer.size == FIRST + pipeline.get_vocab_size()
    assert restore_tokenizer(tokenizer.to_json()).encode(PIECED[0]) == tokenizer.encode(PIECED[0])


def test_token_names_show_word_starts_and_length_is_limited_by_positions():
    tokenizer = fitted(word_pieces())
    found = tokenizer.encode(PIECED[0])
    assert found.tokens[:3] == ["The", "film", "s"]
    assert [tokenizer.name(each) for each in found.ids[:3]] == [" the", " film", "s"]
    assert tokenizer.name(UNKNOWN) == "[UNK]"
    pairs = fitted(byte_pairs())
    assert [pairs.name(each) for each in pairs.encode("good").ids] == [" good"]
    assert fitted(word_pieces()).max_length == 16 and fitted(word_pieces(), max_length=38).max_length == 38
    with pytest.raises(ConfigError, match=r"text\.max_length=39: 'tiny' has places for 38 tokens; choose text.max_len"):
        fitted(word_pieces(), max_length=39)


def replace_part(part, value):
    return json.dumps({**json.loads(word_pieces().to_str()), part: value})


def replacing(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def precompiled(*words):
    table = (4).to_bytes(4, "little") + b"trie" + b"".join(word + b"\0" for word in words)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


LOWER, BLANKS = {"type": "Lowercase"}, replacing({"Regex": " {2,}"}, " ")


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("normalizer", replacing({"String": "a"}, "aa"), "its normalizer has a Replace by something longer"),
        ("normalizer", replacing({"Regex": "(a+)+$"}, "a"), "or by a rule"),
        ("normalizer", replacing({"String": ""}, ""), "or by a rule"),
        ("normalizer", {"type": "Prepend", "prepend": "x"}, "a part 'Prepend', which is not read; known are BertNorm"),
        ("normalizer", {"type": "Sequence", "normalizers": [LOWER, LOWER]}, "its normalizer has Lowercase twice"),
        ("normalizer", {"type": "Sequence", "normalizers": LOWER}, "a Sequence of it is no list"),
        ("normalizer", precompiled(b"x" * 101), "Precompiled that makes texts much longer"),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "a"}, "whose table cannot be read"),
        ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}, "a part 'Split'"),
        ("pre_tokenizer", {"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"}]}, "a part 'UnicodeScr"),
        ("pre_tokenizer", "Whitespace", "a part of it is no group of fields"),
        ("decoder", replacing({"String": "a"}, "a" * 9), "its decoder has a Replace by something longer"),
        ("model", {"type": "WordPiece", "max_input_chars_per_word": 10**6}, "at most 1000 are read"),
        ("model", {"type": "Other"}, "its model has a part 'Other'"),
    ],
)
def test_pipelines_with_unknown_or_text_growing_parts_are_refused(part, value, said):
    """Eight Replace steps expand 30 letters to 7 GB, which ends the process."""
    with pytest.raises(DataError, match=re.escape(said)):
        fit_tokenizer(PIECED, CONFIG, PublishedTokenizer(replace_part(part, value), 38, "tiny"))


def test_unreadable_backbone_tokenizers_are_refused_and_supported_pipelines_accepted():
    tree = json.loads(word_pieces().to_str())
    del tree["model"]["vocab"]["[CLS]"]
    with pytest.raises(DataError, match=r"tiny: .*neither \[CLS\] nor <s>"):
        fit_tokenizer(PIECED, CONFIG, PublishedTokenizer(json.dumps(tree), 38, "tiny"))
    with pytest.raises(DataError, match="tiny: the tokenizer of the backbone cannot be read"):
        fit_tokenizer(PIECED, CONFIG, PublishedTokenizer("{}", 38, "tiny"))
    damaged = json.loads(fitted(word_pieces()).to_json()) | {"pipeline": "junk"}
    check_raises(RunDamaged, "the tokenizer cannot be read", restore_tokenizer, json.dumps(damaged))
    normalizers = [precompiled(b"ff"), BLANKS, replacing({"String": "``"}, '"'), LOWER]
    check_pipeline(replace_part("normalizer", {"type": "Sequence", "normalizers": normalizers}))
    split, space = {"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581"}
    check_pipeline(replace_part("pre_tokenizer", {"type": "Sequence", "pretokenizers": [split, space]}))


def test_panics_of_the_library_become_run_errors(monkeypatch):
    """A panic is no `Exception`, and would hang a page."""
    panic = type("PanicException", (BaseException,), {})
    tokenizer = fitted(word_pieces())

    class Broken:
        def __getattr__(self, name):
            def broken(*given, **more):
                raise panic("called `Result::unwrap()` on an `Err` value")

            return broken

    tokenizer._model = Broken()
    for ask in (lambda: tokenizer.encode("good"), lambda: tokenizer.encode_batch(["good"])):
        check_raises(RunDamaged, "the tokenizer of the backbone failed: called `Result::unwrap", ask)
    with pytest.raises(KeyboardInterrupt), convert_panics():
        raise KeyboardInterrupt
