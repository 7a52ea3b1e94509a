"""Texts that are too long are cut once, then edited: no token comes in that the model does not read of the whole."""

import dataclasses

import numpy as np
import pytest
from small_readers import reader
from toys import labeled, opinions, sentences, toy

from core.evaluation.inference import EnsembleLogits, predict_texts
from core.interpret.attribution import attribute_texts, explain_text
from core.interpret.attribution_math import compute_log_odds
from core.interpret.counterfactual import search_flip
from core.interpret.faithfulness import measure_methods
from core.interpret.negation_templates import fill_template, predict_template
from core.text.config import TextConfig
from core.text.text_pairs import join_pair
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import find_word_spans, remove_words

READ = "never very good , but bad"
TEXT = f"{READ} good good good bad never very good"
ODD = "Sooooo good #BuyTheDip @you http://x.y/abc don't ... 👍🏽 İyi ΟΔΟΣ " * 2
OTHERS = ["", "good", READ, "SO BAD", ODD, "x" * 40]


@pytest.fixture(scope="module")
def own():
    return reader("vanilla", max_length=6)


def compute_odds(own, *texts):
    """Return the log-odds of the first class, the target of `explain_text`."""
    return compute_log_odds(own.predict(list(texts)).probabilities, 0, "single")


@pytest.mark.parametrize(
    "kind", [{}, {"tokenizer": "bpe", "max_vocab": 300}, {"mark_elongation": True, "mark_capitals": True}]
)
@pytest.mark.parametrize("length", [4, 5, 7])
def test_the_part_that_is_read_has_the_same_tokens(kind, length):
    tokenizer = fit_tokenizer([TEXT, *OTHERS], TextConfig(min_freq=1, max_length=length, **kind))
    for text in (TEXT, *OTHERS):
        whole, part = tokenizer.encode(text), tokenizer.encode(remove_words(text, tokenizer.find_truncated(text)))
        assert part.truncated == 0
        assert part.ids == whole.ids[: len(part.ids)]
        assert whole.tokens[len(part.ids) :] in ([], [" "]), "a blank alone cannot be typed at the end"


def test_each_text_of_a_pair_is_truncated_at_its_end():
    pairs = [join_pair("a good film", "a bad film"), join_pair("good good", "bad bad")] * 2
    tokenizer = fit_tokenizer(pairs, TextConfig(min_freq=1, max_length=6))
    longer = ("a good film a", "bad a film bad good"), ("good", "bad " * 9), ("a " * 9, "film"), ("", "a " * 9)
    for first, second in longer:
        text = join_pair(first, second)
        cut = tokenizer.find_truncated(text)
        assert cut and tokenizer.encode(remove_words(text, cut)).ids == tokenizer.encode(text).ids
        assert tokenizer.encode(remove_words(text, cut)).truncated == 0


def test_attributions_explain_the_part_that_is_read(own):
    found = explain_text(own, TEXT, target="bad")
    left = [remove_words(READ, [word]) for word in find_word_spans(READ)]
    whole, *rest = compute_odds(own, TEXT, *left)
    np.testing.assert_allclose(found.pushes[:6], whole - rest, atol=1e-6)
    assert found.log_odds == pytest.approx(compute_odds(own, READ)[0], abs=1e-6), "its own value is the prediction"
    assert (abs(found.pushes[6:]) < 1e-6).all(), "nothing happens without what is not read"
    [several] = attribute_texts(own, [TEXT], ["bad"])
    np.testing.assert_allclose(several.pushes, found.pushes, atol=1e-6)


@pytest.mark.slow
def test_shapley_values_and_flips_use_the_part_that_is_read(own):
    long = explain_text(own, f"{READ} good", "shapley", "bad")
    assert long.completeness.at_reference == pytest.approx(compute_odds(own, "")[0], abs=1e-6)
    whole, none = compute_odds(own, READ, "")
    assert sum(long.pushes) == pytest.approx(whole - none, abs=1e-5)
    assert long.pushes[6] == pytest.approx(0, abs=1e-6), "the seventh word is not read"
    *_, long = search_flip(own, TEXT, "bad", readings=200)
    *_, short = search_flip(own, READ, "bad", readings=200)
    assert dataclasses.replace(long, note="") == dataclasses.replace(short, note="")
    assert long.text == READ and long.note == "The model reads the first 6 tokens; 7 at the end are cut off."


@pytest.mark.slow
def test_faithfulness_uses_the_part_that_is_read():
    texts = sentences(12, 3)
    short = toy(opinions(1))
    short.tokenizer.max_length = 6
    cut = [short.read_part(text) for text in texts]
    assert all(len(part.split()) == 6 for part in cut)
    long, by_hand = (measure_methods(short, short, labeled(short, each), ["deletion"]) for each in (texts, cut))
    assert long.cut == 12 and dataclasses.replace(long, cut=0) == by_hand


def test_removing_the_negation_admits_no_new_tokens(own):
    asked = fill_template("never [very] {} good bad", "good good good good", 4)
    found = predict_template(own, asked, "good")
    for step, chance in zip(asked, found.without, strict=True):
        words = [word for place, word in enumerate(step.text.split()[:6]) if place != 1]
        assert chance == pytest.approx(own.predict([" ".join(words)]).probabilities[0, 1], abs=1e-6)
    [behind] = predict_template(own, fill_template("never {} good bad good bad [very]", "good", 0), "good").without
    [after] = predict_template(
        own, fill_template("never good bad good bad good {} [very] bad", "good", 0), "good"
    ).without
    assert behind == pytest.approx(own.predict(["never good bad good bad"]).probabilities[0, 1], abs=1e-6)
    assert after == pytest.approx(own.predict(["never good bad good bad good"]).probabilities[0, 1], abs=1e-6)


def test_tfidf_reads_the_whole_remaining_text(own):
    heard = []

    def predict(texts, whole=()):
        heard.append((list(texts), list(whole)))
        found = predict_texts(own.model, own.tokenizer, texts)
        return dataclasses.replace(found, parts=EnsembleLogits(found.logits, found.logits))

    mixed = dataclasses.replace(own, predict=predict, mix_weight=0.5)
    explain_text(mixed, TEXT)
    [(read, whole)] = heard
    words = find_word_spans(TEXT)
    assert whole == [TEXT, *(remove_words(TEXT, [word]) for word in words)]
    assert read[0] == TEXT and read[1] == "very good , but bad" and set(read[7:]) == {READ}
