"""The tokenizer of a backbone: its ids behind our two, its unknown token ours, its places those of the text."""

import json

import pytest
from tiny_backbones import byte_pairs, word_pieces

from core.exceptions import ConfigError, DataError, RunDamaged
from core.text.config import TextConfig
from core.text.ids import FIRST, UNKNOWN
from core.text.pretrained import Published
from core.text.tokenizers import fit_tokenizer, tokenizer_from_json

CONFIG = TextConfig(tokenizer="pretrained", normaliser="none")
TEXTS = ["The films were GREAT", "not 可 bad"]


def fitted(pipeline, **settings):
    config = TextConfig(tokenizer="pretrained", normaliser="none", **settings)
    return fit_tokenizer(TEXTS, config, Published(pipeline.to_str(), 38, "tiny"))


@pytest.mark.parametrize("pipeline", [word_pieces(), byte_pairs()], ids=["word pieces", "byte pairs"])
def test_ids_are_those_of_the_backbone_two_places_on(pipeline):
    tokenizer = fitted(pipeline)
    for text in TEXTS:
        own, found = pipeline.encode(text, add_special_tokens=False), tokenizer.encode(text)
        unknown = pipeline.token_to_id("[UNK]")
        assert found.ids == [UNKNOWN if each == unknown else each + FIRST for each in own.ids]
        assert [found.text[start:end] for start, end in found.offsets] == found.tokens
        assert tokenizer.encode_batch([text]) == [found.ids]
    assert tokenizer.size == FIRST + pipeline.get_vocab_size()
    assert tokenizer_from_json(tokenizer.to_json()).encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])


def test_pieces_of_a_word_are_named_as_byte_pairs_are():
    tokenizer = fitted(word_pieces())
    found = tokenizer.encode(TEXTS[0])
    assert found.tokens[:3] == ["The", "film", "s"]
    assert [tokenizer.name(each) for each in found.ids[:3]] == [" the", " film", "s"]
    assert tokenizer.name(UNKNOWN) == "[UNK]"
    pairs = fitted(byte_pairs())
    assert [pairs.name(each) for each in pairs.encode("good").ids] == [" good"]


def test_a_lexicon_knows_words_however_they_are_spelt():
    tokenizer = fitted(word_pieces(), lexicon="vader")
    found = tokenizer.encode("very GREAT film")
    polarity = dict(zip(found.tokens, found.polarity, strict=True))
    assert polarity["GREAT"][0] > 0.5 > polarity["GREAT"][2] and polarity["film"][0] == pytest.approx(1 / 3)


def test_texts_are_no_longer_than_the_backbone_has_places():
    assert fitted(word_pieces()).max_length == 16 and fitted(word_pieces(), max_length=38).max_length == 38
    with pytest.raises(ConfigError, match=r"text\.max_length=39: 'tiny' has places for 38 tokens; choose text.max_len"):
        fitted(word_pieces(), max_length=39)


def test_one_that_cannot_be_read_is_told():
    tree = json.loads(word_pieces().to_str())
    del tree["model"]["vocab"]["[CLS]"]
    with pytest.raises(DataError, match=r"tiny: .*neither \[CLS\] nor <s>"):
        fit_tokenizer(TEXTS, CONFIG, Published(json.dumps(tree), 38, "tiny"))
    with pytest.raises(DataError, match="tiny: the tokenizer of the backbone cannot be read"):
        fit_tokenizer(TEXTS, CONFIG, Published("{}", 38, "tiny"))
    damaged = json.loads(fitted(word_pieces()).to_json()) | {"pipeline": "junk"}
    with pytest.raises(RunDamaged, match="the tokenizer cannot be read"):
        tokenizer_from_json(json.dumps(damaged))
