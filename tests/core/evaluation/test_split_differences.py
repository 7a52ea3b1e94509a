import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency
from studies import in_full

from core.data.dataset import Dataset
from core.evaluation import split_differences
from core.evaluation.split_differences import (
    ALPHA,
    FEWEST,
    ComparedTexts,
    compare_dataset,
    find_differences,
    to_class_matrix,
)

pytestmark = pytest.mark.slow
WORDS = np.array([f"w{number}" for number in range(2000)], object)
FREQUENT = 1 / np.arange(1, 2001)
FREQUENT = FREQUENT / FREQUENT.sum()
LARGER = in_full((300, 100, 0), (600, 200, 0.1))


def texts(rng, n, low=4, high=15):
    """Return texts of words with Zipf frequencies."""
    return [" ".join(rng.choice(WORDS, rng.integers(low, high), p=FREQUENT)) for _ in range(n)]


def draw_texts(rng, n, share=0.5, **lengths):
    return ComparedTexts(texts(rng, n, **lengths), to_class_matrix((rng.random(n) < share).astype(int), 2))


def compare(first, other):
    return find_differences(first, other, ("bad", "good"), name="test")


def measure(found, name):
    (row,) = [each for each in found["measures"] if each["name"] == name]
    return row


def test_similar_samples_cause_no_warning():
    rng = np.random.default_rng(0)
    found = compare(draw_texts(rng, 400), draw_texts(rng, 150))
    assert found["warnings"] == [] and found["left_out"] == "" and found["n"] == {"training": 400, "other": 150}
    assert [each["name"] for each in found["measures"]] == ["labels", "length", "words", "in training", "repeats"]
    assert all(each["p_holm"] >= each["p"] and not each["differs"] for each in found["measures"])


def test_tagged_texts_are_compared_by_their_tags():
    def rows(count, many, rng):
        names = rng.random(count) < many
        words = texts(rng, count, 4, 5)
        return pd.DataFrame({"text": words, "label": [(1, 0, 2, 0) if named else (0, 0, 0, 0) for named in names]})

    rng = np.random.default_rng(0)
    splits = {"train": rows(400, 0.2, rng), "validation": rows(100, 0.2, rng), "test": rows(100, 0.8, rng)}
    alike, other = compare_dataset(Dataset("tags", splits, ("O", "B-PER", "I-PER"), "x", task="tokens"))
    assert (alike["name"], alike["warnings"], other["name"]) == ("validation", [], "test")
    assert [each["name"] for each in alike["measures"]][:2] == ["labels", "length"]
    (warning,) = other["warnings"]
    assert "test has other labels: texts with B-PER 8" in warning and "score test" in warning


def test_label_differences_name_the_class_that_differs_most():
    rng = np.random.default_rng(0)
    first, other = draw_texts(rng, 400, 0.5), draw_texts(rng, 200, 0.8)
    found = compare(first, other)
    row = measure(found, "labels")
    counts = np.stack([first.has.sum(0), other.has.sum(0)])
    assert row["p"] == pytest.approx(chi2_contingency(counts, correction=False).pvalue) and row["differs"]
    shares = counts[:, 0] / counts.sum(1)
    assert (row["training"], row["other"]) == pytest.approx(tuple(shares))
    assert row["interval"][0] < row["difference"] < row["interval"][1] < 0
    (sentence,) = found["warnings"]
    assert sentence.startswith(f"Compared with training, test has other labels: bad {100 * shares[1]:.1f} %, not")
    assert sentence.endswith("points; chi-square test).") and "95 % interval −" in sentence
    first = ComparedTexts(texts(rng, 300), np.column_stack([rng.random(300) < 0.3, rng.random(300) < 0.4]))
    other = ComparedTexts(texts(rng, 300), np.column_stack([rng.random(300) < 0.3, rng.random(300) < 0.7]))
    row = measure(compare(first, other), "labels")
    assert (row["about"], row["test"], row["differs"]) == ("good", "score test", True)


def test_length_differences_are_ratios_and_unknown_words_use_held_out_texts():
    rng = np.random.default_rng(0)
    found = compare(draw_texts(rng, 300), draw_texts(rng, 100, low=12, high=30))
    row = measure(found, "length")
    assert row["differs"] and 1.8 < 1 + row["difference"] < 3 and row["interval"][0] > 0.5
    assert row["other"] / row["training"] == pytest.approx(1 + row["difference"])
    assert "has longer texts: typically" in " ".join(found["warnings"])
    first, other = draw_texts(rng, 400), draw_texts(rng, 100)
    strange = other._replace(texts=[text.replace("w1 ", "zq1 ").replace("w2 ", "zq2 ") for text in other.texts])
    row = measure(compare(first, strange), "words")
    assert row["differs"] and row["other"] > row["training"] + 0.05
    assert not measure(compare(first, other), "words")["differs"]


def test_repeats_are_counted_by_hand_and_compared_with_chance():
    groups = np.array([0, 0, 1, 1, 2, 2, 2])  # three texts; two exchanges mark rows of the other side
    marked = np.array([[0, 1, 0, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0, 0]], bool)
    assert split_differences._count_repeats(groups, marked, 3).tolist() == [[3, 2], [1, 2]]
    rng = np.random.default_rng(0)
    first, other = draw_texts(rng, 400), draw_texts(rng, 100)
    again = [*first.texts[:10], *(f"{text.upper()} " for text in first.texts[10:15])]
    row = measure(compare(first, other._replace(texts=[*again, *other.texts[15:]])), "in training")
    assert row["other"] == 0.15 and row["differs"] and row["training"] < 0.06
    row = measure(compare(first, other._replace(texts=[*other.texts[:50], *other.texts[:50]])), "repeats")
    assert row["other"] == 1 and row["differs"]
    fewer = compare(first._replace(texts=[*first.texts[:200]] * 2), other)
    assert not measure(fewer, "repeats")["differs"], "fewer repeats are no reason to warn"


def test_very_many_repeats_are_sampled(monkeypatch):
    keys = [str(number) for number in range(100)] * 2  # all texts of the other side occur in the first
    for most, sampled in ((200, False), (40, True)):
        monkeypatch.setattr(split_differences, "MOST_REPEATED", most)
        found, _ = split_differences._compare_repeats(keys, 100, np.random.default_rng(0))["in training"]
        assert (found.split < 0.9) is sampled and 10 * found.split == pytest.approx(round(10 * found.split))


def test_small_differences_are_not_reported_and_rare_classes_merged():
    few, numbers = texts(np.random.default_rng(0), 100), np.arange(6_000)
    has = (to_class_matrix((numbers < share * 6_000).astype(int), 2) for share in (0.50, 0.53))
    first, other = (ComparedTexts(few * 60, each) for each in has)
    row = measure(compare(first, other), "labels")
    assert row["p_holm"] < ALPHA and not row["differs"]
    rng = np.random.default_rng(0)
    has = to_class_matrix(rng.permutation(np.repeat([0, 1, 2, 3, 4], [200, 180, 3, 2, 2])), 5)
    first, other = ComparedTexts(texts(rng, 287), has[:287]), ComparedTexts(texts(rng, 100), has[287:])
    found = find_differences(first, other, tuple("abcde"), name="test")
    counts = np.stack([has[:287].sum(0), has[287:].sum(0)])
    pooled = np.column_stack([counts[:, :2], counts[:, 2:].sum(1)])
    assert measure(found, "labels")["p"] == pytest.approx(chi2_contingency(pooled, correction=False).pvalue)


@pytest.mark.parametrize("n", [0, FEWEST - 1])
def test_too_few_texts_are_not_compared(n):
    rng = np.random.default_rng(0)
    found = compare(draw_texts(rng, 100), draw_texts(rng, n))
    assert found["measures"] == found["warnings"] == []
    assert found["left_out"] == f"{n} texts beside 100 of training: too few to compare, 25 are needed"


def false_alarms(seed, rounds, m, n, repeated):
    """Count warnings in comparisons of equal distributions, and measures with p < 0.05."""
    rng, warned, small, measures = np.random.default_rng(seed), 0, 0, 0
    for _ in range(rounds):
        every = draw_texts(rng, m + n)
        again = rng.integers(0, m + n, int(repeated * (m + n)))
        rows = rng.permutation([*range(m + n - len(again)), *again])
        drawn = ComparedTexts([every.texts[row] for row in rows], every.has[rows])
        found = compare(*(ComparedTexts(drawn.texts[part], drawn.has[part]) for part in (slice(m), slice(m, None))))
        warned += bool(found["warnings"])
        small += sum(each["p"] < 0.05 for each in found["measures"])
        measures += len(found["measures"])
    return warned / rounds, small / measures


@pytest.mark.study
@pytest.mark.parametrize(("m", "n", "repeated"), [(60, 25, 0), (150, 60, 0.3), *LARGER])
def test_the_false_alarm_rate_is_as_documented(studies, m, n, repeated):
    count = studies(1000, few=100)
    warned, small = false_alarms(2, count, m, n, repeated)
    assert warned <= ALPHA + 3 * (ALPHA / count) ** 0.5 and small < 0.05 + 0.3 / count**0.5
