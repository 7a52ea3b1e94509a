"""A word replaced in selected texts: the changed answers are those of texts predicted one by one."""

import json
import shutil

import pytest

from core import api
from core.error_analysis.word_replacement import describe_replacement, parse_replacement
from core.exceptions import InputError


def test_changed_answers_are_those_of_single_predictions(store, trained_on_reviews):
    shutil.copytree(trained_on_reviews("ndt-01-n2", "mine", **{"training.epochs": 1}).parent, store.folder)
    rows = api.errors("mine", where="all", store=store)["rows"]
    word = max(
        {w for row in rows for w in row["text"].split() if w.isalpha()},
        key=lambda w: sum(w in r["text"].split() for r in rows),
    )
    found = api.errors("mine", replace=f"{word}=terrible", store=store)["replacement"]
    assert found == json.loads(json.dumps(found)) and found["texts"] > 0
    changed = []
    for row in rows:
        text = " ".join("terrible" if each == word else each for each in row["text"].split())
        (after,) = api.predict("mine", [text], store=store)["predictions"]
        if after["label"] != row["predicted"]:
            changed.append((row["row"], row["predicted"], after["label"]))
    assert [(each["row"], each["before"], each["after"]) for each in found["rows"]] == changed
    assert found["changed"] == len(changed) == sum(each["texts"] for each in found["ways"])
    chosen = api.errors("mine", where=["all", f"word={word}"], replace=f"{word}=terrible", store=store)
    assert chosen["replacement"] == found
    nothing = api.errors("mine", replace="zyx=terrible", store=store)["replacement"]
    assert (nothing["texts"], describe_replacement(nothing)) == (0, "No selected text has “zyx”.")


@pytest.mark.parametrize("text", ["great", "great=", "=bad", "Great=great"])
def test_a_replacement_needs_two_words(text):
    with pytest.raises(InputError, match="a word and another word, such as great=terrible"):
        parse_replacement(text)
    assert parse_replacement(" great = not bad ") == ("great", "not bad")


def test_the_direction_of_each_change_is_named():
    ways = [{"before": "good", "after": "bad", "texts": 2}, {"before": "bad", "after": "good", "texts": 1}]
    assert (
        describe_replacement({"old": "great", "new": "poor", "texts": 5, "changed": 3, "ways": ways})
        == "“great” → “poor”: 3 of 5 answers change (2 from good to bad, 1 from bad to good)."
    )
