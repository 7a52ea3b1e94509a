import math
import re
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refused import check_raises
from sklearn.cluster import HDBSCAN

from core.error_analysis.clusters import NAMELESS, cluster_vectors, name_clusters, report_clusters
from core.error_analysis.keywords import LEAST, LEAST_Z, PRIOR, Phrases, compute_log_odds, split_phrase
from core.exceptions import InputError


def compute_monroe(y, n, y_rest, n_rest):
    """Compute equations 16 and 22 of Monroe, Colaresi and Quinn, with a prior of 1000 phrases."""
    prior = PRIOR * (y + y_rest) / (n + n_rest)
    odds = (y + prior) / (n + PRIOR - (y + prior))
    delta = math.log(odds) - math.log((y_rest + prior) / (n_rest + PRIOR - (y_rest + prior)))
    return delta, delta / math.sqrt(1 / (y + prior) + 1 / (y_rest + prior))


def list_grams(text, length):
    found = []
    for part in re.split(r"[,.!]", text.lower()):
        words = part.split()
        found += [" ".join(words[at : at + length]) for at in range(len(words) - length + 1)]
    return found


def test_log_odds_equal_the_formula_and_are_antisymmetric():
    random = np.random.default_rng(0)
    words = ["not", "good", "the", "film", "was", "a", "very", "long", "day", "night"]
    texts = [", ".join(" ".join(random.choice(words, 6)) for _ in range(2)) for _ in range(300)]
    chosen = np.arange(300) < 60
    texts[:60] = [f"{text} not good!" for text in texts[:60]]
    found = {each.words: each for each in Phrases(texts).find_keywords(chosen)}
    assert {"not good"} <= set(found)
    for length in (1, 2, 3):
        inside = Counter(gram for text in texts[:60] for gram in set(list_grams(text, length)))
        rest = Counter(gram for text in texts[60:] for gram in set(list_grams(text, length)))
        for gram, each in found.items():
            if len(gram.split()) == length:
                assert (each.selected, each.rest) == (inside[gram], rest[gram])
                expected = compute_monroe(inside[gram], inside.total(), rest[gram], rest.total())
                assert (each.log_odds, each.z) == pytest.approx(expected)
                assert each.selected >= LEAST and each.z >= LEAST_Z
    assert [each.z for each in found.values()] == sorted((each.z for each in found.values()), reverse=True)
    delta, z = compute_log_odds(12, 400, 30, 2000)
    assert compute_log_odds(30, 2000, 12, 400) == (pytest.approx(-delta), pytest.approx(-z))
    assert compute_log_odds(10, 500, 20, 1000)[0] == pytest.approx(0)


def test_phrases_match_whole_words_and_their_filter_rules():
    texts = ["Nothing is NO thing", "no, thing", "no", "", "...", "do not go no", "no thing", "nö no\nthing"]
    phrases = Phrases(texts)
    for phrase in ("no", "no thing", "NO  thing", "not go no", "do not go no", "nobody"):
        pattern = r"(?<!\w)" + r"\s+".join(phrase.split()) + r"(?!\w)"
        found = [re.search(pattern, text, re.IGNORECASE) is not None for text in texts]
        assert phrases.match_words(split_phrase(phrase)).tolist() == found
    assert not Phrases([]).match_words(["no"]).any() and not Phrases(["no"]).match_words(["no"] * 5).any()
    # A click on an option selects as many rows as its count.
    pieces = "don't ’s 3.5 2nd q3 👍🏽 🇳🇱 <url> İyi ΟΔΟΣ e\u0301t 1️⃣ rock'n'roll no No,".split()
    random = np.random.default_rng(0)
    phrases = Phrases([" ".join(random.choice(pieces, 6)) for _ in range(60)])
    chosen = np.arange(60) < 25
    for length in (1, 2, 3):
        for number, (inside, rest) in enumerate(zip(*phrases.count_texts(chosen, length), strict=True)):
            words = phrases.decode_phrase(number, length)
            has = phrases.match_words(split_phrase(words))
            assert (has[chosen].sum(), has[~chosen].sum()) == (inside, rest), words


@pytest.mark.parametrize("phrase", ["", "no!", "not, good", "#good"])
def test_invalid_phrases_are_refused(phrase):
    check_raises(InputError, "takes words", split_phrase, phrase)


def test_repetition_and_chance_are_no_keywords_and_phrases_are_unique():
    texts = [f"a {'day' if row % 2 else 'night'} by the sea" for row in range(200)]
    texts[0] += " ha" * 50
    texts[1:3] = ["ha", "ha"]
    assert Phrases(texts).find_keywords(np.arange(200) < 60) == []
    random = np.random.default_rng(0)
    frequencies = 1 / np.arange(1, 401)
    words = [f"w{number}" for number in range(400)]
    phrases = Phrases([" ".join(random.choice(words, 10, p=frequencies / frequencies.sum())) for _ in range(500)])
    found = [len(phrases.find_keywords(np.isin(np.arange(500), random.choice(500, 50, False)))) for _ in range(20)]
    assert sum(found) == 0
    texts = ["it was not. bad at all"] * 10 + ["it was so good"] * 40
    found = [each.words for each in Phrases(texts).find_keywords(np.arange(50) < 10)]
    assert "not bad" not in found and len(found) == len(set(found))
    assert not any(f" {one} " in f" {other} " for one in found for other in found if one != other)


@pytest.mark.parametrize("chosen", [np.zeros(3, bool), np.ones(3, bool)])
def test_empty_and_full_selections_have_no_keywords(chosen):
    assert Phrases(["a b", "b c", "c d"]).find_keywords(chosen) == []
    assert Phrases(["!!!", "...", ""]).find_keywords(np.array([True, False, False])) == []


@pytest.fixture
def planted():
    """Three clouds of sixty sentences, two with their own words, and thirty scattered sentences."""
    random = np.random.default_rng(1)
    clouds = [middle + random.normal(size=(60, 6)) for middle in np.eye(6)[:3] * 30]
    strewn = random.uniform(-200, 200, (30, 6))
    says = ["late delivery again", "money refund please", "it was there"]
    texts = [f"{says[kind]} {number % 7}" for kind in range(3) for number in range(60)]
    texts += [f"it was there {number % 7}" for number in range(30)]
    return np.concatenate([*clouds, strewn]), texts, np.repeat([0, 1, 2, -1], [60, 60, 60, 30])


def test_planted_clouds_are_found_and_scattered_points_have_no_cluster(planted):
    vectors, _, kinds = planted
    found = cluster_vectors(vectors, 10)
    assert [np.unique(found[kinds == kind]).size for kind in range(3)] == [1, 1, 1]
    assert np.unique(found[kinds >= 0]).size == 3 and (found[kinds >= 0] >= 0).all()
    assert (found[kinds < 0] == -1).mean() > 0.9 and (cluster_vectors(vectors, 10) == found).all()


def test_clusters_are_named_by_keywords_and_report_their_rows(planted):
    _, texts, kinds = planted
    rows = np.arange(len(texts)) * 2  # every second row of the split is clustered
    found = name_clusters(kinds, rows, texts, 10)
    first, second, third = found.groups
    assert {first.name, second.name} == {"again · delivery · late", "money · please · refund"}
    assert third.name == "it · there · was", "more often than elsewhere, though what is strewn says it too"
    assert first.words[0] == Phrases(texts).find_keywords(kinds == 0)[0] and first.words[0].selected == 60
    assert first.places.tolist() == list(range(0, 120, 2)) and found.none.tolist() == list(range(360, 420, 2))
    wrong = np.arange(len(texts)) % 3 == 0
    frame = pd.DataFrame({"key": [f"k{row}" for row in range(len(texts))], "wrong": wrong})
    told = SimpleNamespace(frame=frame, wrong=wrong, split="test", record=SimpleNamespace(run="r"))
    found = report_clusters(told, name_clusters(kinds, np.arange(len(texts)), texts, 10))
    assert [each["n"] for each in found["groups"]] == [60, 60, 60]
    assert [each["wrong"] for each in found["groups"]] == [int(wrong[kinds == kind].sum()) for kind in range(3)]
    assert found["groups"][0]["keys"] == [f"k{row}" for row in range(60)]
    assert found["none"]["n"] + sum(each["n"] for each in found["groups"]) == found["looked_at"] == len(texts)


def test_clusters_of_most_rows_are_split_sparse_data_have_none_and_names_are_unique():
    random = np.random.default_rng(0)
    middles = np.repeat([[0.0, 0.0], [4.0, 0.0], [0.0, 900.0]], [60, 60, 40], axis=0)
    vectors = middles + random.normal(size=middles.shape)
    alone = HDBSCAN(min_cluster_size=10, min_samples=5, copy=True).fit_predict(vectors)
    assert sorted(np.bincount(alone[alone >= 0])) == [40, 120], "by itself it takes the two that touch for one"
    found = cluster_vectors(vectors, 10)
    assert len(np.unique(found[found >= 0])) == 3 and np.bincount(found[found >= 0]).max() <= 80
    assert np.unique(found[:60][found[:60] >= 0]).size == 1
    found = cluster_vectors(np.random.default_rng(0).normal(size=(100, 20)) * np.arange(1, 101)[:, None] ** 2, 10)
    assert (found == -1).all()
    assert name_clusters(found, np.arange(100), ["a"] * 100, 10).none.tolist() == list(range(100))
    found = name_clusters(np.repeat([0, 1, 2], 20), np.arange(60), [f"alike {row % 5}" for row in range(60)], 10)
    assert [each.name for each in found.groups] == [NAMELESS, f"{NAMELESS} (2)", f"{NAMELESS} (3)"]
