"""Pushes of many texts, read at once, are those that `explain_text` finds one by one."""

import numpy as np
import pytest
from small_readers import TEXT, reader

from core.exceptions import InputError
from core.interpret.attribution import attribute_texts, compare_with_deletion, explain_text
from core.interpret.attribution_math import TopWords, find_largest, find_top_words

TEXTS = [TEXT, "", "bad, bad zzz", "good"]


def test_batched_attributions_equal_single_ones():
    own = reader("ndt-01-n3")
    targets = ["good", "bad", "", "good"]
    for text, target, found in zip(TEXTS, targets, attribute_texts(own, TEXTS, targets), strict=True):
        alone = explain_text(own, text, "deletion", target)
        assert found.target == alone.target and found.words == tuple(word.word for word in alone.words)
        assert found.pushes == pytest.approx(alone.pushes, abs=1e-5)


def test_words_outside_the_vocabulary_are_unknown_and_an_unknown_class_is_refused():
    found = attribute_texts(reader("vanilla"), TEXTS, ["good"] * 4)
    known = {word: not strange for each in found for word, strange in zip(each.words, each.unknown, strict=True)}
    assert not known["zzz"] and known["bad"] and known["good"]
    with pytest.raises(InputError, match="class 'fine'"):
        attribute_texts(reader("vanilla"), ["good"], ["fine"])


AGREED_TEXTS = [TEXT, "never bad", "good", "", "but very good", "very very bad , never good"]


@pytest.mark.slow
def test_batched_agreement_equals_single_texts():
    own = reader("ndt-01-n3")
    found = {each.method: each for each in compare_with_deletion(own, AGREED_TEXTS)}
    assert list(found) == ["attention", "collapse", "gradient", "integrated"]
    counted = [text for text in AGREED_TEXTS if len(text.split()) > 1]
    for method, agreed in found.items():
        needed = [explain_text(own, text) for text in counted]
        others = [explain_text(own, text, method) for text in counted]
        rho = [each.agreement["deletion"] for each in others]
        assert agreed.texts == 4 and agreed.ranked == sum(each is not None for each in rho) == 3
        same = sum(find_largest(a.pushes) == find_largest(b.pushes) for a, b in zip(needed, others, strict=True))
        assert agreed.same == same
        assert agreed.chance == pytest.approx(np.mean([1 / len(each.words) for each in needed]))
        assert agreed.rho == pytest.approx(np.mean([each for each in rho if each is not None]), abs=1e-5)


@pytest.mark.slow
def test_batch_size_does_not_matter_and_long_texts_skip_attention(monkeypatch):
    own = reader("sentiformer")
    whole = compare_with_deletion(own, AGREED_TEXTS)
    monkeypatch.setattr("core.interpret.attribution.BATCH", 3)
    for one, other in zip(whole, compare_with_deletion(own, AGREED_TEXTS), strict=True):
        assert (one.method, one.texts, one.same, one.ranked) == (other.method, other.texts, other.same, other.ranked)
        assert one.rho == pytest.approx(other.rho, abs=1e-5)
    monkeypatch.setattr("core.models.attention.DENSE_TRACE", 3)
    found = {
        each.method: each.texts for each in compare_with_deletion(reader("sentiformer", pooling="mean"), AGREED_TEXTS)
    }
    assert found == {"attention": 2, "collapse": 2, "gradient": 4, "integrated": 4}


def test_rounded_ties_choose_the_first_word():
    assert find_largest(np.array([1.0, -3.0, 3.0 + 1e-9])) == 1
    assert find_top_words(np.array([0.5, 0.5]), np.array([0.1, -0.2])) == TopWords(0, 1) and not TopWords(0, 1).same
    assert find_top_words(np.array([1.0]), np.array([2.0])) is None
    found = compare_with_deletion(reader("vanilla"), ["good", ""])
    assert all((each.texts, each.same, each.chance, each.rho, each.ranked) == (0, 0, None, None, 0) for each in found)
