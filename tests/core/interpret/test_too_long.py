"""Texts that are too long are cut once, then edited: no token comes in that the model does not read of the whole."""

import dataclasses

import numpy as np
import pytest
from small_readers import reader
from toys import labelled, opinions, sentences, toy

from core.evaluation.predict import Parts, predict_texts
from core.interpret.belief import measure
from core.interpret.explain import explain
from core.interpret.flip import search
from core.interpret.push import log_odds
from core.interpret.several import pushed
from core.interpret.templates import reach, steps
from core.text.config import TextConfig
from core.text.pair import joined
from core.text.tokenizers import fit_tokenizer
from core.text.typed import typed_words, without

READ = "never very good , but bad"
TEXT = f"{READ} good good good bad never very good"
ODD = "Sooooo good #BuyTheDip @you http://x.y/abc don't ... 👍🏽 İyi ΟΔΟΣ " * 2
OTHERS = ["", "good", READ, "SO BAD", ODD, "x" * 40]


@pytest.fixture(scope="module")
def own():
    return reader("vanilla", max_length=6)


def odds(own, *texts):
    """The log-odds of the first class, which `explain` is asked for."""
    return log_odds(own.predict(list(texts)).probabilities, 0, "single")


@pytest.mark.parametrize(
    "kind", [{}, {"tokenizer": "bpe", "max_vocab": 300}, {"mark_elongation": True, "mark_capitals": True}]
)
@pytest.mark.parametrize("length", [4, 5, 7])
def test_the_text_without_what_is_unread_has_the_tokens_that_are_read(kind, length):
    tokenizer = fit_tokenizer([TEXT, *OTHERS], TextConfig(min_freq=1, max_length=length, **kind))
    for text in (TEXT, *OTHERS):
        whole, part = tokenizer.encode(text), tokenizer.encode(without(text, tokenizer.unread(text)))
        assert part.truncated == 0
        assert part.ids == whole.ids[: len(part.ids)]
        assert whole.tokens[len(part.ids) :] in ([], [" "]), "a blank alone cannot be typed at the end"


def test_of_a_pair_each_text_loses_its_own_end():
    pairs = [joined("a good film", "a bad film"), joined("good good", "bad bad")] * 2
    tokenizer = fit_tokenizer(pairs, TextConfig(min_freq=1, max_length=6))
    longer = ("a good film a", "bad a film bad good"), ("good", "bad " * 9), ("a " * 9, "film"), ("", "a " * 9)
    for first, second in longer:
        text = joined(first, second)
        cut = tokenizer.unread(text)
        assert cut and tokenizer.encode(without(text, cut)).ids == tokenizer.encode(text).ids
        assert tokenizer.encode(without(text, cut)).truncated == 0


def test_a_push_is_that_of_the_word_in_the_text_that_is_read(own):
    found = explain(own, TEXT, target="bad")
    left = [without(READ, [word]) for word in typed_words(READ)]
    whole, *rest = odds(own, TEXT, *left)
    np.testing.assert_allclose(found.pushes[:6], whole - rest, atol=1e-6)
    assert found.log_odds == pytest.approx(odds(own, READ)[0], abs=1e-6), "its own value is the prediction"
    assert (abs(found.pushes[6:]) < 1e-6).all(), "nothing happens without what is not read"
    [several] = pushed(own, [TEXT], ["bad"])
    np.testing.assert_allclose(several.pushes, found.pushes, atol=1e-6)


@pytest.mark.slow
def test_shapley_values_and_flips_are_those_of_the_text_that_is_read(own):
    long = explain(own, f"{READ} good", "shapley", "bad")
    assert long.completeness.at_reference == pytest.approx(odds(own, "")[0], abs=1e-6)
    whole, none = odds(own, READ, "")
    assert sum(long.pushes) == pytest.approx(whole - none, abs=1e-5)
    assert long.pushes[6] == pytest.approx(0, abs=1e-6), "the seventh word is not read"
    *_, long = search(own, TEXT, "bad", readings=200)
    *_, short = search(own, READ, "bad", readings=200)
    assert dataclasses.replace(long, note="") == dataclasses.replace(short, note="")
    assert long.text == READ and long.note == "The model reads the first 6 tokens; 7 at the end are cut off."


@pytest.mark.slow
def test_explanations_are_judged_on_what_is_read():
    texts = sentences(12, 3)
    short = toy(opinions(1))
    short.tokenizer.max_length = 6
    cut = [short.read_part(text) for text in texts]
    assert all(len(part.split()) == 6 for part in cut)
    long, by_hand = (measure(short, short, labelled(short, each), ["deletion"]) for each in (texts, cut))
    assert long.cut == 12 and dataclasses.replace(long, cut=0) == by_hand


def test_without_the_negation_nothing_comes_in_at_the_end(own):
    asked = steps("never [very] {} good bad", "good good good good", 4)
    found = reach(own, asked, "good")
    for step, chance in zip(asked, found.without, strict=True):
        words = [word for place, word in enumerate(step.text.split()[:6]) if place != 1]
        assert chance == pytest.approx(own.predict([" ".join(words)]).probabilities[0, 1], abs=1e-6)
    [behind] = reach(own, steps("never {} good bad good bad [very]", "good", 0), "good").without
    [after] = reach(own, steps("never good bad good bad good {} [very] bad", "good", 0), "good").without
    assert behind == pytest.approx(own.predict(["never good bad good bad"]).probabilities[0, 1], abs=1e-6)
    assert after == pytest.approx(own.predict(["never good bad good bad good"]).probabilities[0, 1], abs=1e-6)


def test_a_mixed_in_tfidf_reads_all_that_is_left(own):
    heard = []

    def predict(texts, whole=()):
        heard.append((list(texts), list(whole)))
        found = predict_texts(own.model, own.tokenizer, texts)
        return dataclasses.replace(found, parts=Parts(found.logits, found.logits))

    mixed = dataclasses.replace(own, predict=predict, mix_weight=0.5)
    explain(mixed, TEXT)
    [(read, whole)] = heard
    words = typed_words(TEXT)
    assert whole == [TEXT, *(without(TEXT, [word]) for word in words)]
    assert read[0] == TEXT and read[1] == "very good , but bad" and set(read[7:]) == {READ}
