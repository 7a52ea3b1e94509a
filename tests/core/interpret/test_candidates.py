"""What may stand in place of a word: opposites of a lexicon, neighbours by brute force, casing, whole words only."""

import dataclasses

import pytest
import torch
from small_models import small
from small_readers import lent

from core.interpret.candidates import MOST, candidates
from core.models.build import build
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.ids import FIRST
from core.text.lexicon import Lexicon
from core.text.tokenizers import fit_tokenizer

TEXT = "a good great fine happy film and bad awful sad plot the ending never works but xxlong 7 , not at all"


def reader(preset="vanilla", lexicon=None, text=None, **change):
    tokenizer = fit_tokenizer([TEXT], TextConfig(min_freq=1, **(text or {})))
    if lexicon is not None:
        tokenizer.take_lexicon(lexicon)
    torch.manual_seed(0)
    config = PRESETS[preset].model
    config = dataclasses.replace(small(config) if config.family == "encoder" else config, **change)
    tokenizer.buckets = config.ngram_buckets
    model = build(config, vocabulary=tokenizer.size, classes=2, max_length=32).eval()
    return lent(model, tokenizer)


def nearest(own, word, vectors):
    """The whole words of the vocabulary by cosine, the largest first."""
    names = [own.tokenizer.name(token) for token in range(FIRST, own.tokenizer.size)]
    words = [name for name in names if name.isalpha() and name not in (word, "xxlong")]
    length = torch.nn.functional.normalize(vectors.double(), dim=1)
    cosine = {name: float(length[names.index(name)] @ length[names.index(word)]) for name in words}
    return sorted(words, key=lambda name: -cosine[name])


@pytest.mark.slow
def test_a_word_without_polarity_has_its_nearest_words_and_no_marks_nor_numbers():
    own = reader()
    found = candidates(own, ["film"])["film"]
    assert list(found) == nearest(own, "film", own.model.embedding.weight.detach()[FIRST:])[:MOST] and MOST == 8


def test_pieces_of_words_are_in_their_vectors():
    own = reader(ngram_buckets=50)
    rows = own.model.embedding.weight.detach()[FIRST:]
    names = [own.tokenizer.name(token) for token in range(FIRST, own.tokenizer.size)]
    encodings = [own.tokenizer.encode(name) for name in names]
    table = own.model.ngrams.table.weight.detach()
    whole = torch.stack(
        [row + table[torch.tensor(each.grams[0]) - 1].mean(0) for row, each in zip(rows, encodings, strict=True)]
    )
    assert list(candidates(own, ["film"])["film"]) == nearest(own, "film", whole)[:MOST]
    assert nearest(own, "film", whole)[:MOST] != nearest(own, "film", rows)[:MOST]


def test_opposites_take_turns_with_neighbours_and_those_as_strong_come_first():
    own = reader()
    # VADER: good 1.9, bad -2.5, awful -2.0, sad -2.1; of its other words the run knows none.
    found = candidates(own, ["good"])["good"]
    near = nearest(own, "good", own.model.embedding.weight.detach()[FIRST:])
    assert [found[0], found[2], found[4]] == ["awful", "sad", "bad"] and len(found) == len(set(found)) == MOST
    assert set(found) <= {"awful", "sad", "bad", *near[:MOST]}


def test_where_no_vectors_are_read_there_are_the_opposites_and_the_lexicon_of_a_run_comes_before_vader():
    own = reader("tfidf-logreg")
    # VADER: great 3.1, happy 2.7, good 1.9, fine 0.8.
    assert candidates(own, ["good", "film", "Sad"]) == {
        "good": ("awful", "sad", "bad"),
        "film": (),
        "Sad": ("Good", "Happy", "Great", "Fine"),
    }
    polarity = {"film": (2.0, 0.0, 0.0), "plot": (0.0, 0.0, 2.0), "never": (0.0, 2.0, 0.0)}
    own = reader("tfidf-logreg", lexicon=Lexicon(polarity))
    assert candidates(own, ["film", "good", "never"]) == {"film": ("plot",), "good": (), "never": ()}


@pytest.mark.parametrize(("word", "first"), [("good", "awful"), ("Good", "Awful"), ("GOOD", "AWFUL")])
def test_candidates_have_the_casing_of_the_word(word, first):
    found = candidates(reader(), [word])[word]
    assert found[0] == first and all(each.lower() != "good" for each in found)


def test_marks_links_names_and_numbers_are_not_replaced_and_an_unknown_word_has_no_neighbours():
    odd = [",", "7", "@bob", "#good", "http://good.com", "👍🏽", "xxlong", "..."]
    assert not any(candidates(reader(), odd).values())
    assert candidates(reader(), ["zebra"]) == {"zebra": ()}


@pytest.mark.slow
def test_of_byte_pairs_only_words_that_a_lexicon_lists_are_neighbours():
    own = reader(text={"tokenizer": "bpe", "max_vocab": 400})
    listed = {"good", "great", "fine", "happy", "bad", "awful", "sad"}
    pieces = {own.tokenizer.name(token)[1:] for token in range(FIRST, own.tokenizer.size)}
    found = candidates(own, ["good"])["good"]
    assert found and listed & pieces and len(found) == len(set(found)) <= MOST
