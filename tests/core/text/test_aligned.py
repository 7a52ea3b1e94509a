"""The first token of each word, whatever cuts the text."""

import pytest

from core.runs.tagged import NOWHERE, first_pieces
from core.text.config import TextConfig
from core.text.tokenizers import fit_tokenizer

TEXTS = ["Almo Tarn walked to Pell .", "don't walk , Almo !", "서울에 갔다 .", "ঢাকা যাব ।", "ذهبت إلى المدينة"] * 3


@pytest.mark.parametrize("kind", ["word", "bpe"])
@pytest.mark.parametrize("text", TEXTS[:5])
def test_every_word_begins_at_a_token_of_its_own(kind, text):
    tokenizer = fit_tokenizer(TEXTS, TextConfig(tokenizer=kind, min_freq=1))
    places, encoded = first_pieces(tokenizer, text), tokenizer.encode(text)
    assert len(places) == len(text.split(" ")) and NOWHERE not in places
    assert places == sorted(set(places))
    for place, word in zip(places, encoded.text.split(), strict=True):
        assert word.startswith(encoded.tokens[place].strip())


def test_words_that_were_cut_off_are_nowhere():
    tokenizer = fit_tokenizer(TEXTS, TextConfig(min_freq=1, max_length=4))
    assert first_pieces(tokenizer, "Almo Tarn walked to Pell .") == [0, 1, 2, 3, NOWHERE, NOWHERE]
