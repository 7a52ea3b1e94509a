import numpy as np
import pytest
from scipy.stats import fisher_exact
from sklearn.metrics import roc_auc_score
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from core.error_analysis.dataset_shift import (
    compare_with_training,
    compute_auc,
    find_phrases,
    measure_auc,
    name_measure,
)
from core.error_analysis.keywords import LEAST
from core.evaluation.split_differences import ComparedTexts, compare_means, compare_shares
from core.text.config import TextConfig

WORDS = np.array([f"w{number}" for number in range(400)])
OFTEN = 1 / np.arange(1, 401) / (1 / np.arange(1, 401)).sum()


def draw_texts(random, n):
    return [" ".join(random.choice(WORDS, random.integers(3, 15), p=OFTEN)) for _ in range(n)]


def draw_classes(random, n):
    return np.eye(2, dtype=bool)[random.integers(0, 2, n)]


@pytest.mark.slow
def test_only_a_planted_word_is_found_and_raises_the_auc():
    random = np.random.default_rng(0)
    training, split = draw_texts(random, 300), draw_texts(random, 150)
    sides = ComparedTexts(training, draw_classes(random, 300)), ComparedTexts(split, draw_classes(random, 150))
    found = compare_with_training(*sides, ("a", "b"), TextConfig(), name="test")
    low, high = found["auc"]["interval"]
    assert low <= 0.5 <= high and abs(found["auc"]["value"] - 0.5) < 0.1
    assert found["words"] == [] and found["tried"] > 100 and not any(row["differs"] for row in found["measures"])
    split = [f"{text} planted word" if row % 2 else text for row, text in enumerate(split)]
    training = [f"{text} elsewhere" if row % 2 else text for row, text in enumerate(training)]
    has = np.eye(2, dtype=bool)
    sides = ComparedTexts(training, has[np.arange(300) % 2]), ComparedTexts(split, has[np.ones(150, int)])
    found = compare_with_training(*sides, ("a", "b"), TextConfig(), name="test")
    more = [row["words"] for row in found["words"] if row["log_odds"] > 0]
    assert more[0] == "planted word" and not {"planted", "word"} & {*more}, "the same finding stands once"
    assert next(row["words"] for row in found["words"] if row["log_odds"] < 0) == "elsewhere"
    low, high = found["auc"]["interval"]
    assert 0.6 < low < found["auc"]["value"] < high and found["auc"]["p"] < 1e-6
    measures = {row["name"]: row for row in found["measures"]}
    assert measures["words"]["interval"][0] > 0 and measures["words"]["differs"]
    assert abs(measures["labels"]["difference"]) == pytest.approx(0.5) and measures["labels"]["p_holm"] < 1e-6
    assert name_measure(measures["labels"]) in ("share of a", "share of b")


@pytest.mark.slow
def test_phrase_tests_equal_fisher_and_holm():
    random = np.random.default_rng(3)
    training = draw_texts(random, 120)
    split = [f"{text} new" if n < 20 else text for n, text in enumerate(draw_texts(random, 80))]
    found, tried = find_phrases(training, split)
    sides = [
        [{" ".join(each[at : at + n]) for n in (1, 2, 3) for at in range(len(each) - n + 1)} for each in texts]
        for texts in (map(str.split, split), map(str.split, training))
    ]
    every = sorted(set().union(*sides[0], *sides[1]))
    counts = {gram: [sum(gram in each for each in side) for side in sides] for gram in every}
    counts = {gram: pair for gram, pair in counts.items() if sum(pair) >= LEAST}
    tables = [[[y, 80 - y], [rest, 120 - rest]] for y, rest in counts.values()]
    ps = [min(1.0, 2 * min(fisher_exact(cells, side).pvalue for side in ("less", "greater"))) for cells in tables]
    corrected = dict(zip(counts, multipletests(ps, method="holm")[1], strict=True))
    assert tried == len(counts) and {each.words for each in found} <= {g for g in counts if corrected[g] < 0.05}
    [new] = found
    assert new.p_holm == pytest.approx(corrected["new"]) and (new.split, new.training) == (20, 0)
    prior = 1000 * 20 / 200
    parts = 20 + prior, 80 + 1000 - 20 - prior, prior, 120 + 1000 - prior
    assert new.log_odds == pytest.approx(np.log(parts[0] / parts[1]) - np.log(parts[2] / parts[3]))
    assert new.high - new.log_odds == pytest.approx(1.959964 * np.sqrt(sum(1 / part for part in parts)))


def test_few_or_equal_texts_are_left_out():
    texts, has = ["the same"] * 60 + ["another"], np.eye(2, dtype=bool)[np.zeros(61, int)]
    same = ComparedTexts(texts, has)
    found = compare_with_training(same, same, ("a", "b"), TextConfig(), name="test")
    assert found["auc"] is None and found["words"] == [] and "too many of these texts are the same" in found["left_out"]
    few = ComparedTexts(["a"] * 30, has[:30]), ComparedTexts(["b"] * 5, has[:5])
    found = compare_with_training(*few, "ab", TextConfig(), name="test")
    assert found["left_out"].startswith("5 texts beside 30 of training") and found["words"] == []
    texts = [f"word{number}" for number in range(100)]
    assert measure_auc(texts, np.arange(100) % 2 > 0, TextConfig(), lambda *_: None) == (0.5, 0.5, 0.5, 1.0)


def test_means_shares_and_auc_equal_libraries_and_definition():
    random = np.random.default_rng(2)
    first, second = random.normal(0, 1, 40), random.normal(0.3, 2, 25)
    pair = CompareMeans(DescrStatsW(second), DescrStatsW(first))
    found = compare_means(first, second)
    assert (found.low, found.high) == pytest.approx(pair.tconfint_diff(usevar="unequal"))
    assert found.p == pytest.approx(pair.ttest_ind(usevar="unequal")[1])
    assert found.difference == pytest.approx(second.mean() - first.mean())
    for (a, m), (b, n) in (((30, 100), (22, 50)), ((0, 40), (3, 30)), ((40, 40), (29, 30))):
        found = compare_shares((a, m), (b, n))
        assert (found.low, found.high) == pytest.approx(confint_proportions_2indep(b, n, a, m, method="newcomb"))
        assert found.p == pytest.approx(proportions_ztest([b, a], [n, m])[1])
    assert compare_shares((0, 9), (0, 9)).p == 1.0 and compare_means(np.zeros(9), np.zeros(9))[-3:] == (0.0, 0.0, 1.0)
    random = np.random.default_rng(1)
    scores, positive = np.round(random.normal(size=60), 1), random.random(60) < 0.4
    wins = np.sign(scores[positive][:, None] - scores[~positive]) / 2 + 0.5
    auc, variance = compute_auc(scores, positive)
    assert auc == pytest.approx(roc_auc_score(positive, scores)) == pytest.approx(wins.mean())
    m, n = wins.shape
    assert variance == pytest.approx(wins.mean(1).var(ddof=1) / m + wins.mean(0).var(ddof=1) / n)
