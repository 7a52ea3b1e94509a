import copy
from itertools import accumulate, pairwise

import pytest
import regex
import tokenizers as hf
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text.config import TextConfig
from core.text.graphemes import clip_text, detect_direction, extend_spans, find_boundary, quote_text
from core.text.lexicon import Lexicon
from core.text.subword_tokenizers import PublishedTokenizer
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import compute_shares, find_word_spans

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
        *(("ক্ষমা", ["ক্ষ", "মা"]), ("দুঃখ", ["দুঃ", "খ"]), ("র\u200d্যাব", ["র\u200d্যা", "ব"]), ("감사", ["감", "사"])),
        *(("갛각", ["갛", "각"]), ("مُحَ", ["مُ", "حَ"]), ("กำที่", ["กำ", "ที่"])),
        ("👨‍👩‍👧🇧🇩🇰🇷👍🏽1️⃣", ["👨‍👩‍👧", "🇧🇩", "🇰🇷", "👍🏽", "1️⃣"]),
        ("a\r\ne\u0301", ["a", "\r\n", "e\u0301"]),
    ],
)
def test_clusters_are_characters_as_readers_see_them(text, found):
    assert regex.findall(r"\X", text) == found


@pytest.mark.slow
@given(texts)
def test_words_split_no_cluster_and_only_blanks_are_outside_words(text):
    words = find_word_spans(text)
    assert all(place in ends(regex.findall(r"\X", text)) for word in words for place in word)
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
    assert short == text or (short[-1] == "…" and len(short) - 1 in ends(regex.findall(r"\X", text)))
    assert find_boundary(text, most) in ends(regex.findall(r"\X", text))


@pytest.mark.parametrize(
    ("text", "way"),
    [
        *(("not bad", "ltr"), ("", "ltr"), ("감사합니다 ক্ষমা 2024!", "ltr"), ("الفيلم رائع", "rtl"), ("שלום!", "rtl")),
        ("@user12 RT الفيلم رائع جداً، شكراً", "rtl"),
        ("he said شكراً and went on", "ltr"),
    ],
)
def test_most_letters_decide_the_direction(text, way):
    assert detect_direction(text) == way


def test_texts_are_clipped_merged_and_quoted_by_clusters():
    assert clip_text("ক্ষমা", 5) == "ক্ষমা" and clip_text("ক্ষমা", 4) == "ক্ষ…"
    assert clip_text("👨‍👩‍👧 and", 4) == "…" and find_boundary("\r\n", 1) == 0
    assert extend_spans("12️⃣", [(0, 2), (2, 4)]) == [(0, 4)] and quote_text("bad!") == "“bad!”"
    assert quote_text("شكراً!") == "“\u2068شكراً!\u2069”" and quote_text("감사" * 40, 5) == "“감사감사…”"


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
    kinds = {"vocab_size": 200, "special_tokens": ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], "show_progress": False}
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
script_texts = st.lists(st.one_of(st.sampled_from(" ".join(TEXTS).split()), st.text(max_size=4)), max_size=8).map(
    " ".join
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TOKENIZERS)
@settings(max_examples=40, deadline=None)
@given(text=script_texts)
def test_piece_offsets_rise_and_pieces_belong_to_words(kind, text):
    tokenizer = TOKENIZERS[kind]
    found, words = tokenizer.encode(text), find_word_spans(text)
    starts = [start for start, _ in found.offsets]
    assert starts == sorted(starts) and [found.text[start:end] for start, end in found.offsets] == found.tokens
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
    assert any(inside) and [polarity[0] > 0.5 for polarity in found.polarity] == inside
