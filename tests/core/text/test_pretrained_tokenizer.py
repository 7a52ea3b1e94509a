"""The tokenizer of a backbone: shifted ids, Sentiscope's unknown token, offsets in the text."""

import base64
import json
import re

import pytest
from tiny_backbones import byte_pairs, word_pieces

from core.exceptions import ConfigError, DataError, RunDamaged
from core.text.config import TextConfig
from core.text.special_ids import FIRST, UNKNOWN
from core.text.subword_tokenizers import PublishedTokenizer, check_pipeline, convert_panics
from core.text.tokenizer_factory import fit_tokenizer, restore_tokenizer

CONFIG = TextConfig(tokenizer="pretrained", normaliser="none")
TEXTS = ["The films were GREAT", "not 可 bad"]


def fitted(pipeline, **settings):
    config = TextConfig(tokenizer="pretrained", normaliser="none", **settings)
    return fit_tokenizer(TEXTS, config, PublishedTokenizer(pipeline.to_str(), 38, "tiny"))


@pytest.mark.parametrize("pipeline", [word_pieces(), byte_pairs()], ids=["word pieces", "byte pairs"])
def test_ids_are_the_backbones_shifted_by_two(pipeline):
    tokenizer = fitted(pipeline)
    for text in TEXTS:
        own, found = pipeline.encode(text, add_special_tokens=False), tokenizer.encode(text)
        unknown = pipeline.token_to_id("[UNK]")
        assert found.ids == [UNKNOWN if each == unknown else each + FIRST for each in own.ids]
        assert [found.text[start:end] for start, end in found.offsets] == found.tokens
        assert tokenizer.encode_batch([text]) == [found.ids]
    assert tokenizer.size == FIRST + pipeline.get_vocab_size()
    assert restore_tokenizer(tokenizer.to_json()).encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


def test_token_names_show_word_starts_and_length_is_limited_by_positions():
    tokenizer = fitted(word_pieces())
    found = tokenizer.encode(TEXTS[0])
    assert found.tokens[:3] == ["The", "film", "s"]
    assert [tokenizer.name(each) for each in found.ids[:3]] == [" the", " film", "s"]
    assert tokenizer.name(UNKNOWN) == "[UNK]"
    pairs = fitted(byte_pairs())
    assert [pairs.name(each) for each in pairs.encode("good").ids] == [" good"]
    assert fitted(word_pieces()).max_length == 16 and fitted(word_pieces(), max_length=38).max_length == 38
    with pytest.raises(ConfigError, match=r"text\.max_length=39: 'tiny' has places for 38 tokens; choose text.max_len"):
        fitted(word_pieces(), max_length=39)


def test_unreadable_backbone_tokenizers_are_refused():
    tree = json.loads(word_pieces().to_str())
    del tree["model"]["vocab"]["[CLS]"]
    with pytest.raises(DataError, match=r"tiny: .*neither \[CLS\] nor <s>"):
        fit_tokenizer(TEXTS, CONFIG, PublishedTokenizer(json.dumps(tree), 38, "tiny"))
    with pytest.raises(DataError, match="tiny: the tokenizer of the backbone cannot be read"):
        fit_tokenizer(TEXTS, CONFIG, PublishedTokenizer("{}", 38, "tiny"))
    damaged = json.loads(fitted(word_pieces()).to_json()) | {"pipeline": "junk"}
    with pytest.raises(RunDamaged, match="the tokenizer cannot be read"):
        restore_tokenizer(json.dumps(damaged))


def replace_part(part, value):
    """Return the pipeline with one part replaced."""
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
        fit_tokenizer(TEXTS, CONFIG, PublishedTokenizer(replace_part(part, value), 38, "tiny"))


def test_pipelines_of_supported_families_are_accepted():
    """The pipeline of XLM-R; byte pairs and word pieces are tested above."""
    shorter = replacing({"String": "``"}, '"')
    normalizers = [precompiled(b"ff"), BLANKS, shorter, LOWER]
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
        with pytest.raises(RunDamaged, match="the tokenizer of the backbone failed: called `Result::unwrap"):
            ask()
    with pytest.raises(KeyboardInterrupt), convert_panics():
        raise KeyboardInterrupt
