import itertools
import re

import pytest
from exported import NASTY, PLAIN
from refused import check_raises

from core.exceptions import NotAvailable
from core.text.config import TextConfig
from core.text.portable_tokenizer import PortableTokenizer, translate_pattern
from core.text.tokenizer_factory import fit_tokenizer

TEXTS = [*PLAIN, *NASTY]
NORMALISERS = ("none", "lower", "tweet", "tweet-clean", "tweet-clean-as-released")


def make(texts=TEXTS, **settings):
    return PortableTokenizer(fit_tokenizer(texts, TextConfig(min_freq=1, max_vocab=700, **settings)))


@pytest.mark.parametrize(("kind", "lookalikes"), list(itertools.product(("word", "bpe"), (0, 1))))
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_pipeline_gives_the_ids_of_the_tokenizer(normaliser, kind, lookalikes):
    made = make(normaliser=normaliser, tokenizer=kind, lookalikes=lookalikes, max_length=30)
    assert made.find_differences(TEXTS) == [] and bool(made.before) == bool(lookalikes or normaliser == "tweet")
    made.tokenizer = fit_tokenizer(["other words"], TextConfig(min_freq=1, max_vocab=700))
    assert "Not bad at all!" in made.find_differences(TEXTS), "a difference is found"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"(?i:https?)\S+", "HttpS://x y", ["HttpS://x"]),
        (r"[^\W\d_]++", "aé1_日", ["aé", "日"]),
        (r"\bno\b", "no nor éno", ["no"]),
        (r"[\u0061\x62]\d", "a1 b2 c3", ["a1", "b2"]),
    ],
)
def test_translated_pattern_has_no_flags_and_finds_the_same(pattern, text, found):
    translated = translate_pattern(re.compile(pattern))
    assert "(?i" not in translated and "++" not in translated and r"\w" not in translated
    import tokenizers as hf

    split = hf.pre_tokenizers.Split(hf.Regex(translated), "removed", invert=True)
    assert [piece for piece, _ in split.pre_tokenize_str(text)] == re.findall(pattern, text) == found


def test_tokenizer_that_others_lack_is_refused_with_the_reason():
    check_raises(NotAvailable, "drawn-out words marked", make, mark_elongation=True)
    check_raises(NotAvailable, "pairs of texts", make, [f"{text} ‖ {text}" for text in PLAIN])
