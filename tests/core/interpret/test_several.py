"""Pushes of many texts, read at once, are those that `explain` finds one by one."""

from __future__ import annotations

import pytest
from small_readers import TEXT, reader

from core.exceptions import InputError
from core.interpret.explain import explain
from core.interpret.several import pushed

TEXTS = [TEXT, "", "bad, bad zzz", "good"]


def test_pushes_of_many_are_those_of_each():
    own = reader("ndt-01-n3")
    targets = ["good", "bad", "", "good"]
    for text, target, found in zip(TEXTS, targets, pushed(own, TEXTS, targets), strict=True):
        alone = explain(own, text, "deletion", target)
        assert found.target == alone.target and found.words == tuple(word.word for word in alone.words)
        assert found.pushes == pytest.approx(alone.pushes, abs=1e-5)


def test_words_outside_the_vocabulary_are_unknown():
    found = pushed(reader("vanilla"), TEXTS, ["good"] * 4)
    known = {word: not strange for each in found for word, strange in zip(each.words, each.unknown, strict=True)}
    assert not known["zzz"] and known["bad"] and known["good"]


def test_a_class_that_there_is_not_is_refused():
    with pytest.raises(InputError, match="class 'fine'"):
        pushed(reader("vanilla"), ["good"], ["fine"])
