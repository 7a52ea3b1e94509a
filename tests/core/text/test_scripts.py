"""Texts of any script: offsets of the pieces, and the words that they belong to."""

import copy

import pytest
import tokenizers as hf
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text.config import TextConfig
from core.text.lexicon import Lexicon
from core.text.subword_tokenizers import PublishedTokenizer
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import compute_shares, find_word_spans

TEXTS = [
    "আমি তোমাকে ভালোবাসি, দুঃখিত না। 😍",
    "이 영화 정말 재미있어요!! ㅋㅋㅋ 👍🏽",
    "الفيلم رائع جداً، شكراً OK 👨‍👩‍👧 مُحَمَّد",
    "the film isn't good 1️⃣ 🇧🇩🇰🇷 (2024)",
    "我们很喜欢 ที่นี่ดีมาก שָׁלוֹם",
]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]


def byte_pairs():
    model = hf.Tokenizer(hf.models.BPE())
    model.pre_tokenizer, model.decoder = hf.pre_tokenizers.ByteLevel(add_prefix_space=False), hf.decoders.ByteLevel()
    model.post_processor = hf.processors.ByteLevel(trim_offsets=True)  # as RoBERTa's
    alphabet = hf.pre_tokenizers.ByteLevel.alphabet()
    kinds = {"vocab_size": 400, "special_tokens": SPECIAL, "initial_alphabet": alphabet, "show_progress": False}
    model.train_from_iterator(TEXTS, hf.trainers.BpeTrainer(**kinds))
    return model


def sentence_pieces():
    model = hf.Tokenizer(hf.models.Unigram())
    model.normalizer, model.pre_tokenizer = hf.normalizers.NFKC(), hf.pre_tokenizers.Metaspace()  # as XLM-R's
    kinds = {"vocab_size": 150, "special_tokens": SPECIAL, "unk_token": "<unk>", "show_progress": False}
    model.train_from_iterator(TEXTS, hf.trainers.UnigramTrainer(**kinds))
    return model


def word_pieces():
    model = hf.Tokenizer(hf.models.WordPiece(unk_token="[UNK]"))
    model.normalizer = hf.normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    model.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    kinds = {"vocab_size": 200, "special_tokens": special, "show_progress": False}
    model.train_from_iterator(TEXTS, hf.trainers.WordPieceTrainer(**kinds))
    return model


def fitted(kind):
    usual = {"min_freq": 1, "max_vocab": 400, "max_length": 4096, "normaliser": "none"}
    if kind in ("word", "bpe"):
        return fit_tokenizer(TEXTS, TextConfig(tokenizer=kind, **usual))
    pipeline = {"byte pairs": byte_pairs, "sentence pieces": sentence_pieces, "word pieces": word_pieces}[kind]()
    return fit_tokenizer(
        TEXTS, TextConfig(tokenizer="pretrained", **usual), PublishedTokenizer(pipeline.to_str(), 4096, kind)
    )


TOKENIZERS = {kind: fitted(kind) for kind in ("word", "bpe", "byte pairs", "sentence pieces", "word pieces")}
texts = st.lists(st.one_of(st.sampled_from(" ".join(TEXTS).split()), st.text(max_size=4)), max_size=8).map(" ".join)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=40, deadline=None)
@given(text=texts)
def test_piece_offsets_rise_and_pieces_belong_to_words(kind, text):
    tokenizer = TOKENIZERS[kind]
    found, words = tokenizer.encode(text), find_word_spans(text)
    starts = [start for start, _ in found.offsets]
    assert starts == sorted(starts)
    assert [found.text[start:end] for start, end in found.offsets] == found.tokens
    owned = compute_shares(text, words, found.offsets, tokenizer.config)
    assert (owned >= 0).all()
    sums = owned.sum(0)
    # Only pieces after the last word or between words may not belong to words.
    for (start, end), share in zip(found.offsets, sums, strict=True):
        assert share <= 1 + 1e-9
        if any(sign.isalnum() for sign in found.text[start:end]):
            assert share == pytest.approx(1)


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize(
    ("text", "word"),
    [(TEXTS[0], "ভালোবাসি"), (TEXTS[1], "재미있어요"), (TEXTS[2], "رائع"), (TEXTS[2], "مُحَمَّد"), (TEXTS[3], "isn't")],
)
def test_all_pieces_of_a_listed_word_have_its_polarity(kind, text, word):
    tokenizer = copy.copy(TOKENIZERS[kind])
    tokenizer.set_lexicon(Lexicon({word: (3.0, 0.0, 0.0)}))
    found = tokenizer.encode(text)
    at = found.text.index(word)
    inside = [at <= start < at + len(word) for start, _ in found.offsets]
    assert any(inside)
    assert [polarity[0] > 0.5 for polarity in found.polarity] == inside
