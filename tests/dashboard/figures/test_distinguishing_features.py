"""Words, columns and tags that are more frequent in a selection than in the rest."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from answering import right_where, texts
from knowing import known_of

from core.error_analysis.keywords import Keyword, Phrases
from core.error_analysis.selection import Selection, match_selection
from dashboard.figures import distinguishing_features as features
from dashboard.figures.filtering import FURTHER, update_clauses
from dashboard.figures.row_selection import apply_query
from dashboard.figures.theme import Look

FOUND = {
    "true positive": [Keyword("good", 9, 1, 2.0, 5.0), Keyword("warm", 5, 1, 1.0, 3.0), Keyword("w", 4, 1, 0.5, 2)],
    "false negative": [Keyword("<b>", 3, 1, 4.0, 2.5)],
    "false positive": [],
    "true negative": [],
}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """200 rows; the errors are about the sea."""
    rows = np.arange(200)
    frame = texts(rows % 2)
    places = np.where(rows % 4 == 0, "open sea", np.where(rows % 3 == 0, "road, the road", "road overseas"))
    sides = ("west", "east")
    frame["text"] = [f"a ship on the {place} number {row % 10} {sides[row % 2]}" for row, place in enumerate(places)]
    return known_of(tmp_path_factory.mktemp("sea"), right_where(rows % 4 != 0, rows % 2), frame, find=False)


def test_words_equal_those_of_core_and_the_interval_is_that_of_z(known):
    shown = features.compare_words(apply_query(known[0], "wrong", known[1]))
    assert list(shown.found) == Phrases(known[0].table.texts).find_keywords(known[0].table.wrong)
    first, mark = shown.found[0], features.build_words_table(shown).marks.rows[0].cells["odds"]
    assert first.words in ("open", "sea", "open sea") and first.selected == 50 and first.rest == 0
    assert (mark.value - mark.low) / 1.96 == pytest.approx(first.log_odds / first.z)
    assert features.build_words_table(shown).frame["words"].tolist() == [each.words for each in shown.found]


@pytest.mark.parametrize("select", ["wrong", "true=good", "word=sea"])
def test_counts_of_a_phrase_equal_the_sentences_that_it_selects(known, select):
    before, frame = apply_query(known[0], select, known[1]), known[0].table.frame
    shown = features.compare_words(before)
    assert shown.found
    for row, each in zip(features.build_words_table(shown).marks.rows, shown.found, strict=False):
        if row.id == select:  # a click on a selected row deselects it
            continue
        clauses = update_clauses(before.clauses, before.facets, FURTHER, row.id)
        after = apply_query(known[0], ";".join(clauses), known[1])
        has = frame["text"].str.contains(rf"\b{re.escape(each.words)}\b", case=False).to_numpy()
        np.testing.assert_array_equal(after.rows, before.rows & has)
        assert row.cells["selected"] == str(len(after.places)) and each.rest == (has & ~before.rows).sum()


@pytest.fixture
def tagged(tmp_path):
    """400 rows; rows from the web are wrong more often."""
    rows, random = np.arange(400), np.random.default_rng(0)
    source = random.choice(["web", "phone"], 400)
    right = random.random(400) > np.where(source == "web", 0.7, 0.1)
    frame = texts(rows % 2, source=source, day=random.choice(list("ab"), 400))
    return known_of(tmp_path, right_where(right, rows % 2), frame)


@pytest.mark.slow
def test_shares_equal_the_table_and_selecting_columns_are_left_out(tagged):
    shown, frame = features.compare_features(apply_query(tagged[0], "wrong", tagged[1])), tagged[0].table.frame
    row, web = features.build_columns_table(shown).frame.iloc[0], frame["source"] == "web"
    assert (row["name"], row["value"], row["selected"]) == ("source", "web", (web & frame["wrong"]).sum())
    assert row["share"] == pytest.approx(web[frame["wrong"]].mean())
    assert row["rest_share"] == pytest.approx(web[~frame["wrong"]].mean())
    first = features.build_columns_table(shown).marks.rows[0]
    assert first.id == "source=web" and first.picks and not first.cells["share"].tie
    found = features.compare_features(apply_query(tagged[0], "wrong;source=web", tagged[1])).found
    names = {row["name"] for row in found}
    assert "source" not in names and "sure and wrong" not in names and "neighbours conflict" not in names


@pytest.fixture
def shown(tmp_path):
    """400 rows; positive texts predicted as negative mention rain."""
    each = np.arange(400)
    labels, wrong = each % 2, each % 8 == 1
    frame = texts(labels)
    # A word can occur twice in a sentence, and inside another word.
    said = ["rain" + ", rain" * (row % 3 == 0) if bad else "sun" * (row % 2 == 0) for row, bad in enumerate(wrong)]
    frame["text"] = [f"a day of {each} and more{' rainbows' * (row % 5 == 0)}" for row, each in enumerate(said)]
    known, store = known_of(tmp_path, right_where(~wrong, labels), frame, find=False)
    return features.find_outcomes(apply_query(known, "wrong", store), "good"), known, store


def test_each_outcome_has_its_size_and_its_words_select_its_sentences(shown):
    found, known, store = shown
    frame = known.table.frame
    good, said = frame["true"] == "good", frame["predicted"] == "good"
    sizes = [int(((good == true) & (said == claimed)).sum()) for true, claimed in features.OUTCOMES.values()]
    assert list(found.sizes.values()) == sizes and [each.words for each in found.found["false negative"]] == ["rain"]
    table = features.build_cloud_table(found)
    assert table[table["outcome"] == "false negative"]["selected"].tolist() == [50]
    for outcome, (true, said) in features.OUTCOMES.items():
        _, has = match_selection(Selection(tuple(found.list_rules(outcome, "rain"))), known.table, None, store)
        own = ((frame["true"] == "good") == true) & ((frame["predicted"] == "good") == said)
        np.testing.assert_array_equal(has, own & frame["text"].str.contains(r"\brain\b"))
    assert found.picked == ""
    chosen = apply_query(known, ";".join(found.list_rules("false negative", "rain")), store)
    assert features.find_outcomes(chosen, "good").picked == "false negative: rain"
    words = [each for cloud in features.CLOUDS.draw(found, Look()).data["clouds"] for each in cloud["words"]]
    beside = {each["id"]: each["said"].split(", ")[1].removesuffix(" here") for each in words}
    assert len(beside) == sum(map(len, found.found.values())) == 2
    for outcome, words in found.found.items():
        for each in words:
            after = apply_query(known, ";".join(found.list_rules(outcome, each.words)), store)
            assert beside[found.make_id(outcome, each.words)] == str(len(after.places)) == str(each.selected)


def clouds(*clauses):
    return features.Outcomes(SimpleNamespace(clauses=clauses), "positive", FOUND, {name: 10 for name in FOUND})


def test_cloud_words_follow_log_odds_and_can_be_picked():
    found, half = features.scale_words(FOUND), (features.SMALLEST + features.LARGEST) / 2
    assert found["false negative"] == [features.LARGEST] and found["true positive"][0] == pytest.approx(half)
    assert found["true positive"] == sorted(found["true positive"], reverse=True)
    assert features.scale_words({"true positive": []}) == {"true positive": []}
    for many, order in (([], []), ([7], [7]), (range(5), [3, 1, 0, 2, 4])):
        assert features.arrange_words(many) == order
    assert sorted(features.arrange_words(range(24))) == list(range(24))
    drawn = features.CLOUDS.draw(clouds(), Look()).data["clouds"]
    assert [each["words"] for each in drawn[0]["words"]] == ["warm", "good", "w"]
    picked = clouds("true=positive", "predicted!=positive", "word=<b>")
    data = features.CLOUDS.draw(picked, Look()).data
    assert data["picked"] == "false negative: <b>" == data["clouds"][1]["words"][0]["id"]
    assert data["clouds"][1]["words"][0]["said"] == "log-odds +4.00, 3 here, 1 in others"
    assert [each["title"] for each in data["clouds"]][:2] == ["True positives: 10", "False negatives: 10"]
    t = Look().tokens
    assert [each["colour"] for each in data["clouds"]] == [t.ink, t.wrong, t.wrong, t.ink]
    assert list(features.build_cloud_table(picked)["words"]) == ["good", "warm", "w", "<b>"]
