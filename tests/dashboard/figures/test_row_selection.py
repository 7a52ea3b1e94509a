"""The filter as a sentence: its words, the effect of choices on rules, and rules without a word."""

import numpy as np
import pytest
from answering import code_rows, texts
from knowing import known_of

from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.query import Clause
from dashboard.figures.filtering import apply_search, draw_filter, update_clauses
from dashboard.figures.row_selection import apply_query
from dashboard.figures.theme import Look

pytestmark = pytest.mark.slow


@pytest.fixture
def known(tmp_path):
    """Forty rows of two classes, every fourth wrong, with five own columns."""
    rows = np.arange(40)
    labels = rows % 2
    chances = np.where((labels == (rows % 4 != 0))[:, None] * np.array([False, True]), 0.8, 0.2)
    chances[:, 0] = 1 - chances[:, 1]
    own = {name: np.where(rows < place, "x", "y") for place, name in enumerate("abcde", 10)}
    own |= {"id": [f"tweet {row}" for row in rows], "user": [f"user {row % 30}" for row in rows]}
    return known_of(tmp_path, chances, texts(labels, **own), find=False)


def read_filter(known, select):
    """Words by name, rules without a word, and the searched text."""
    data = draw_filter(apply_query(known[0], select, known[1]), Look()).data
    return {word["name"]: word for word in data["words"]}, data["further"], data["contains"]


def test_each_menu_is_there_and_other_rules_can_be_removed(known):
    words, further, contains = read_filter(known, "wrong")
    assert list(words) == ["outcome", "true", "predicted", "a", "b", "c", "others", "asked", "code"]
    assert [word["shown"] for word in words.values()] == [
        *("wrong", "any class", "any class", "any a", "any b", "any c", "any other column"),
        *("any id or name", "coded or not"),
    ]
    assert [name for name, word in words.items() if word["set"]] == ["outcome"] and not further and not contains
    words, further, _ = read_filter(known, "noted;uncoded")
    assert words["code"]["shown"] == "noted, not coded yet" and words["code"]["value"] == "noted;uncoded"
    assert not further and [each["shown"] for each in read_filter(known, "coded;noted")[1]] == ["noted"]
    words, further, _ = read_filter(known, "user=user 7")
    assert words["asked"]["about"] == "id, user" and words["asked"]["shown"] == "user user 7" and not further
    assert len(words["asked"]["options"]) == 2 and words["asked"]["set"]
    words, further, contains = read_filter(known, "margin<0.7;text~text 1")
    assert [each["value"] for each in further] == ["margin<0.7"] and contains == "text 1"
    assert words["outcome"]["shown"] == "right or wrong" and not any(word["set"] for word in list(words.values())[1:])
    words, _, _ = read_filter(known, "wrong;true=good")
    frame = known[0].table.frame
    wrong = frame[frame["wrong"]]
    good = wrong[wrong["true"] == "good"]
    for name, of_all, rows, values in (("true", "any class", wrong, ("bad", "good")), ("a", "any a", good, "xy")):
        counts = {of_all: len(rows), **{value: int((rows[name] == value).sum()) for value in values}}
        assert {o["label"]: o["n"] for o in words[name]["options"]} == counts
    assert {o["label"] for o in words["others"]["options"]} == {"any other column", "d: x", "d: y", "e: x", "e: y"}


def test_option_count_equals_the_rows_after_choosing_it(known):
    """Test every option of every word, independent of the other choices."""
    codes, keys = Codes(known[1].folder, get_data_name(known[0].table.record)), known[0].keys
    codes.add_code("irony")
    code_rows(codes, keys[:6], ["irony"], author="ann")
    for key in keys[4:12]:
        codes.write_note(key, "so it is", author="ann")
    for select in ("wrong", "right;d=x", "true=good;a=x", "word=text 1", "coded", "noted;uncoded", "id=tweet 7"):
        before, (words, _, _) = apply_query(known[0], select, known[1]), read_filter(known, select)
        for name, option in ((name, option) for name, word in words.items() for option in word["options"]):
            value = f"id={option['value']}" if name == "asked" and option["value"] else option["value"]
            rules = update_clauses(before.clauses, before.facets, name, value, known[0].base_facets.asked)
            assert option["n"] == len(apply_query(known[0], ";".join(rules), known[1]).places), (select, name, option)
            rules = [rule for rule in rules if name == "outcome" or rule not in ("wrong", "right")] or ["all"]
            wrong = known[0].table.wrong[apply_query(known[0], ";".join(rules), known[1]).places]
            assert option["parts"] == [int(wrong.sum()), int((~wrong).sum())], (select, name, option)
    told = {o["value"]: o["n"] for o in read_filter(known, "all")[0]["code"]["options"]}
    assert told == {"": 40, "coded": 6, "uncoded": 34, "noted": 8, "unnoted": 32, "noted;uncoded": 6, "code=irony": 6}


def test_search_or_choice_changes_only_its_own_menu(known):
    def after(select, clause):
        now = apply_query(known[0], select, known[1])
        return apply_search(now.clauses, now.facets, clause, ("id", "user"))

    assert after("wrong;text~one", Clause("text", "~", "two")) == ["wrong", "text~two"]
    assert after("wrong;text~one", None) == ["wrong"]
    assert after("wrong;id=tweet 1", Clause("user", "~", "2")) == ["wrong", "user~2"]
    assert after("wrong;a=x", Clause("a", "=", "y")) == ["wrong", "a=y"]
    assert after("wrong;margin<0.3", Clause("margin", "<", "0.3")) == ["wrong", "margin<0.3"]
    assert after("wrong;margin<0.3", Clause("margin", ">", "0.1")) == ["wrong", "margin<0.3", "margin>0.1"]

    def after(select, word, value):
        now = apply_query(known[0], select, known[1])
        return update_clauses(now.clauses, now.facets, word, value)

    assert after("wrong", "predicted", "predicted=good") == ["wrong", "predicted=good"]
    assert after("predicted=good;wrong", "true", "true=bad") == ["wrong", "true=bad", "predicted=good"]
    assert after("wrong;true=bad", "true", "") == ["wrong"]
    assert after("wrong;true=bad", "outcome", "all") == ["all", "true=bad"]
    assert after("wrong;text~one", "text", "text~two; three") == ["wrong", "text~two; three"]
    assert after("wrong", "further", "word=not good") == ["wrong", "word=not good"]
    assert after("wrong;word=not", "further", "word=good") == ["wrong", "word=not", "word=good"]
    assert after("wrong;word=not", "further", "word=not") == ["wrong"]
    assert after("wrong;coded", "code", "noted;uncoded") == ["wrong", "uncoded", "noted"]
    assert after("noted;uncoded", "code", "") == ["all"] and after("wrong;text~one", "text", "") == ["wrong"]
    assert after("wrong;margin<0.2", "further", "margin<0.2") == ["wrong"]
    assert after("wrong;d=x", "others", "e=y") == ["wrong", "e=y"]
