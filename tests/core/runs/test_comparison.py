import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
from answering import answering, right_where, texts
from refused import check_raises
from scipy.stats import binomtest, wilcoxon
from sklearn.metrics import f1_score

from core.evaluation.comparison import describe_pair
from core.evaluation.intervals import compute_intervals, compute_wilson, pool_intervals
from core.exceptions import InputError
from core.runs.comparison import compare_models, find_tied_ranges, find_ties, read_comparison_data
from core.runs.predictions import read_answers

ROWS = 200
LABELS = np.arange(ROWS) % 2
RANDOM = np.random.default_rng(0)
GOOD, FAIR, POOR = (RANDOM.random(ROWS) < share for share in (0.95, 0.9, 0.6))


def run(store, name, right, *, labels=LABELS, rows=None, **given):
    table = texts(labels, kind=np.where(np.arange(len(labels)) % 4 > 0, "long", "short")) if rows is None else rows
    return answering(store, name, right_where(right, labels), table, **given)


@pytest.fixture
def three(store):
    names = ("good", GOOD, "differential"), ("fair", FAIR, "vanilla"), ("poor", POOR, "ndt-01-n2")
    return [run(store, name, right, preset=preset) for name, right, preset in names]


def compare_runs(store, *runs, metrics=(), by=(), **given):
    return compare_models(read_comparison_data(store, runs, **given), metrics=metrics, by=by)


def test_pairs_are_tested_by_mcnemar_and_holm(store, three):
    found = compare_runs(store, *three)
    assert list(found) == ["runs", "data", "split", "n", "pairs", "by", "notes"]
    assert (found["split"], found["n"], found["by"]) == ("test", ROWS, [])
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == list(itertools.combinations(three, 2))
    promised = "first second metric difference interval test p p_holm effect only_first_right only_second_right"
    assert set(found["pairs"][0]) == {*promised.split(), "rows_needed"}
    first = found["pairs"][1]
    one, two = int((GOOD & ~POOR).sum()), int((POOR & ~GOOD).sum())
    assert (first["only_first_right"], first["only_second_right"]) == (one, two)
    assert first["difference"] == pytest.approx(GOOD.mean() - POOR.mean())
    assert first["p"] == pytest.approx(binomtest(one, one + two).pvalue)
    assert first["effect"] == pytest.approx(one / (one + two) - 0.5)
    assert first["test"] == "McNemar, exact" and first["p_holm"] == pytest.approx(3 * first["p"])
    means = [each["metrics"]["accuracy"]["mean"] for each in found["runs"]]
    assert means == pytest.approx([GOOD.mean(), FAIR.mean(), POOR.mean()])
    json.dumps(found, allow_nan=False)


@pytest.mark.slow
def test_other_metrics_are_bootstrapped_as_in_the_record(store, three):
    names = ["f1_macro", "accuracy", "ece"]
    found = compare_runs(store, *three[:2], metrics=names)
    answers = [read_answers(store, store.read(name), "test") for name in three[:2]]
    expected = [f1_score(LABELS, each.probabilities.argmax(1), average="macro") for each in answers]
    assert [each["metrics"]["f1_macro"]["mean"] for each in found["runs"]] == pytest.approx(expected)
    assert found["pairs"][0]["difference"] == pytest.approx(expected[0] - expected[1])
    assert [pair["test"] for pair in found["pairs"]] == ["paired bootstrap", "McNemar, exact", "paired swaps"]
    own = compute_intervals(LABELS, right_where(GOOD, LABELS), names=names)
    for metric in names:
        assert found["runs"][0]["metrics"][metric]["interval"] == pytest.approx(own[metric])


@pytest.mark.slow
def test_few_differing_rows_have_no_interval_and_are_no_tie(store):
    """64 rows without a difference, 30 with 3: intervals of width 0, and beyond the range of an F1 difference."""
    labels = np.arange(400) % 2
    kind = np.repeat(["none differ", "three differ", "many differ"], [64, 30, 306])
    good, other = np.ones(400, bool), np.ones(400, bool)
    good[:20], other[:20], other[64:67], other[94:154] = False, False, False, False
    for name, right, preset in (("a", good, "vanilla"), ("b", other, "differential")):
        run(store, name, right, labels=labels, rows=texts(labels, kind=kind), preset=preset)
    found = compare_runs(store, "a", "b", metrics=["f1_macro", "accuracy"], by=["kind"])["by"]
    told = {(row["metric"], row["value"]): row for row in found}
    for value in ("none differ", "three differ"):
        row = told["f1_macro", value]
        assert (row["interval"], row["rows_needed"]) == (None, None) and describe_pair(row) == "cannot be told apart"
    low, high = told["f1_macro", "many differ"]["interval"]
    assert 0 < low < told["f1_macro", "many differ"]["difference"] < high <= 1
    low, high = told["accuracy", "none differ"]["interval"]
    assert low < -0.05 and high > 0.05, "what McNemar and Tango say of 64 rows on which both are equally right"


@pytest.mark.slow
def test_class_averages_are_refused_on_rows_of_one_label(store, three):
    with pytest.raises(InputError, match=r"--metric f1_macro --by label: on rows of one label, .* use accuracy"):
        compare_runs(store, *three, metrics=["f1_macro"], by=["label"])
    kind = np.where(LABELS == 1, "all good", np.where(np.arange(ROWS) < 50, "all bad", "mixed"))
    kind[100:110] = "mixed"
    for name, right, preset in (("x", GOOD, "vanilla"), ("y", POOR, "differential")):
        run(store, name, right, rows=texts(LABELS, kind=kind), preset=preset)
    found = compare_runs(store, "x", "y", metrics=["f1_macro"], by=["kind"])
    assert [row["value"] for row in found["by"]] == ["mixed"]
    assert found["notes"][-1].startswith("F1, macro by kind is left out for all bad and all good: on rows of one label")
    for name, preset in (("m", "vanilla"), ("n", "differential")):
        run(store, name, RANDOM.random(40) < 0.8, labels=np.zeros(40, int), preset=preset)
    with pytest.raises(InputError, match="--metric f1_macro: all rows have one label"):
        compare_runs(store, "m", "n", metrics=["f1_macro"])


@pytest.mark.slow
def test_values_have_the_tfidf_metric_or_a_note(store, three, monkeypatch):
    found = compare_runs(store, "good", "poor", by=["kind"])
    assert {row["baseline_value"] for row in found["by"]} == {None}
    assert found["notes"] == ["TF-IDF is left out: the data of run 'good' have changed since it was trained."]
    fair = right_where(FAIR, LABELS)
    monkeypatch.setattr(
        "core.evaluation.baseline.load_baseline", lambda *given: SimpleNamespace(predict=lambda texts: fair)
    )
    found = compare_runs(store, "good", "poor", by=["kind"])["by"]
    short = np.arange(ROWS) % 4 == 0
    assert [row["baseline_value"] for row in found] == pytest.approx([FAIR[~short].mean(), FAIR[short].mean()])


@pytest.mark.slow
def test_values_of_a_column_are_corrected_together(store, three):
    found = compare_runs(store, *three[:2], by=["kind", "label"])["by"]
    families = [("kind", "long", 150), ("kind", "short", 50), ("label", "bad", 100), ("label", "good", 100)]
    assert [(row["column"], row["value"], row["n"]) for row in found] == families
    short = np.arange(ROWS) % 4 == 0
    assert found[1]["only_first_right"] == (GOOD & ~FAIR & short).sum()
    assert found[1]["difference"] == pytest.approx(GOOD[short].mean() - FAIR[short].mean())
    assert all(row["p_holm"] >= row["p"] for row in found) and max(row["p_holm"] / row["p"] for row in found) <= 4


@pytest.mark.slow
def test_seeds_are_grouped_and_paired(store):
    drawn = {(name, seed): RANDOM.random(ROWS) < share for name, share in (("a", 0.9), ("b", 0.8)) for seed in range(3)}
    for (name, seed), right in drawn.items():
        run(store, f"{name}{seed}", right, preset={"a": "vanilla", "b": "differential"}[name], training__seed=seed)
    found = compare_runs(store, *[f"{name}{seed}" for name, seed in drawn])
    assert [each["name"] for each in found["runs"]] == ["vanilla", "differential"]
    assert [each["seeds"] for each in found["runs"]] == [[0, 1, 2]] * 2
    (pair,) = found["pairs"]
    means = {name: np.mean([drawn[name, seed].mean() for seed in range(3)]) for name in "ab"}
    assert pair["difference"] == pytest.approx(means["a"] - means["b"]) and pair["test"] == "paired bootstrap"
    assert pair["only_first_right"] == sum((drawn["a", seed] & ~drawn["b", seed]).sum() for seed in range(3))
    assert found["n"] == ROWS and found["runs"][0]["metrics"]["accuracy"]["deviation"] > 0
    values = {(seed, -1): drawn["a", seed].mean() for seed in range(3)}
    overview = pool_intervals(values, {run: compute_wilson(share * ROWS, ROWS) for run, share in values.items()})
    assert found["runs"][0]["metrics"]["accuracy"]["interval"] == list(overview)
    run(store, "words", POOR, preset="tfidf-logreg")
    (pair,) = compare_runs(store, "a0", "a1", "a2", "words")["pairs"]
    fixed = sum((drawn["a", seed] & ~POOR).sum() for seed in range(3))
    assert pair["only_first_right"] == fixed, "trained without chance it stands beside every seed"
    for name, preset in (("c", "cnn"), ("d", "bilstm")):
        for seed in range(3):
            run(store, f"{name}{seed}", np.where(LABELS == 0, GOOD, False), preset=preset, training__seed=seed)
    found = compare_runs(store, *(f"{name}{seed}" for name in "cd" for seed in range(3)), by=["label"])["by"]
    told = [(row["difference"], row["interval"], describe_pair(row)) for row in found]
    assert told == [(0, None, "cannot be told apart")] * 2, "never right is not the same"


def test_models_without_a_common_seed_are_paired_in_order(store):
    run(store, "a", GOOD, training__seed=3), run(store, "b", POOR, preset="differential", training__seed=7)
    assert compare_runs(store, "a", "b")["pairs"][0]["test"] == "McNemar, exact"
    run(store, "c", POOR)
    names = [each["name"] for each in compare_runs(store, "a", "c")["runs"]]
    assert names == ["a", "c"], "seeds of one model are compared one by one where there is no other"


@pytest.mark.slow
def test_six_folds_are_tested_by_wilcoxon(store):
    differences = []
    for fold in range(6):
        cut = {"parent": "cv", "data__folds": 6, "data__fold": fold}
        rights = [RANDOM.random(40) < share for share in (0.9, 0.7)]
        rows = texts(LABELS[:40]).assign(text=[f"fold {fold}, {row}" for row in range(40)])
        for name, right in zip(("vanilla", "differential"), rights, strict=True):
            run(store, f"{name}-{fold}", right, labels=LABELS[:40], rows=rows, preset=name, **cut)
        differences.append(rights[0].mean() - rights[1].mean())
    names = [f"{name}-{fold}" for name in ("vanilla", "differential") for fold in range(6)]
    found = compare_runs(store, *names)
    assert found["n"] == 240 and found["pairs"][0]["test"] == "Wilcoxon over folds"
    if len({abs(each) for each in differences}) == 6:
        assert found["pairs"][0]["p"] == pytest.approx(wilcoxon(differences, method="exact").pvalue)
    check_raises(InputError, r"do not have the same folds \(0, 1, 2, 3, 4, 5 and 0\)", compare_runs, store, *names[:7])


def test_rows_in_another_order_and_classes_in_another_are_aligned(store):
    order = RANDOM.permutation(ROWS)
    run(store, "a", GOOD)
    rows = texts(1 - LABELS).iloc[order].reset_index(drop=True)
    chances = right_where(FAIR, LABELS)[:, ::-1][order]
    answering(store, "b", chances, rows, preset="differential", classes=("good", "bad"))
    pair = compare_runs(store, "a", "b")["pairs"][0]
    assert (pair["only_first_right"], pair["only_second_right"]) == ((GOOD & ~FAIR).sum(), (FAIR & ~GOOD).sum())


def test_several_labels_are_compared_by_macro_f1_at_their_own_thresholds(store):
    labels = [tuple(np.flatnonzero(row)) for row in RANDOM.random((80, 3)) < 0.4]
    chances = RANDOM.random((80, 3))
    limits = {"tuned": {"thresholds": {"x": 0.2, "y": 0.3, "z": 0.4}}}
    for name, preset in (("a", "vanilla"), ("b", "differential")):
        answering(store, name, chances, texts(labels), preset=preset, classes=("x", "y", "z"), results=limits)
    found = compare_runs(store, "a", "b")
    truth = np.array([[number in own for number in range(3)] for own in labels])
    expected = f1_score(truth, chances > [0.2, 0.3, 0.4], average="macro")
    assert found["runs"][0]["metrics"]["tuned.f1_macro"]["mean"] == pytest.approx(expected)
    assert found["pairs"][0]["p"] == 1.0 and found["pairs"][0]["effect"] == 0.0


REFUSED = [
    ({"runs": ["good"]}, "two runs or more"),
    ({"runs": ["good", "good"]}, "two runs or more"),
    ({"runs": ["good", "nobody"]}, "no run 'nobody'"),
    ({"runs": ["good", "waits"]}, "run 'waits' is queued: only finished runs"),
    ({"runs": ["good", "stars"]}, "the classes are bad, good and 1, 5"),
    ({"runs": ["good", "several"]}, "one gives each text one label, the other several"),
    ({"split": "challenge"}, "'good' has no predictions of a split 'challenge'; it has test"),
    ({"metrics": ["boldness"]}, "no metric 'boldness'"),
    ({"metrics": ["hamming_loss"]}, "hamming_loss: not defined for these runs; the nearest is loss"),
    ({"by": ["colour"]}, "--by colour: these rows have no such column; they have kind, label"),
    ({"runs": ["x", "y"], "by": ["id"]}, "--by id: 200 values; name a column with at most 50"),
]


@pytest.mark.slow
def test_invalid_comparisons_are_refused(store, three):
    run(store, "waits", GOOD, preset="cnn", status="queued")
    answering(store, "stars", right_where(GOOD, LABELS), texts(LABELS), preset="cnn", classes=("1", "5"))
    answering(store, "several", right_where(GOOD, LABELS), texts([(each,) for each in LABELS]), preset="cnn")
    rows = texts(LABELS, id=[f"id {row}" for row in range(ROWS)])
    run(store, "x", GOOD, rows=rows), run(store, "y", POOR, rows=rows, preset="differential")
    assert read_comparison_data(store, ["x", "y"]).columns == ["label"]
    for given, reason in REFUSED:
        given = {"runs": three, **given}
        check_raises(InputError, reason, compare_runs, store, *given.pop("runs"), **given)


@pytest.mark.slow
def test_runs_on_other_rows_are_refused_with_the_shared_number(store, three):
    run(store, "short", POOR[:150], labels=LABELS[:150], preset="cnn")
    with pytest.raises(InputError, match="'short' were not tested on the same rows: 200 and 150, 150 in common"):
        compare_runs(store, "good", "short")
    run(store, "other", POOR, rows=texts(LABELS).assign(text="elsewhere"), preset="cnn")
    with pytest.raises(InputError, match=r"none in common\. Compare them on one file: `sentiscope compare good other"):
        compare_runs(store, "good", "other")


@pytest.mark.parametrize(
    ("count", "apart", "groups"),
    [
        (3, [], [[0, 1, 2]]),
        (3, [(0, 1), (0, 2), (1, 2)], []),
        (4, [(0, 2), (0, 3), (1, 3)], [[0, 1], [1, 2], [2, 3]]),
        (4, [(0, 3)], [[0, 1, 2], [1, 2, 3]]),
        (3, [(0, 1)], [[1, 2]]),
        (1, [], []),
        (0, [], []),
    ],
)
def test_tied_ranges_are_maximal(count, apart, groups):
    assert find_tied_ranges(count, map(frozenset, apart)) == groups


def write_run(store, name, wrong, rows=400, **settings):
    return run(store, name, ~np.isin(np.arange(rows), wrong), labels=np.arange(rows) % 2, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
def test_a_clear_difference_separates_and_a_small_one_joins(store, metric):
    lost = {"best": range(40), "near": range(4, 46), "far": range(200, 300)}
    models = [[write_run(store, name, [*wrong], data__seed=min(wrong))] for name, wrong in lost.items()]
    assert find_ties(store, models, metric) == [[0, 1]]
    seeds = [
        write_run(store, name, [*wrong], training__seed=int(name[1]), training__lr=0.1)
        for name, wrong in {f"s{seed}": range(10 * seed, 40 + 10 * seed) for seed in range(3)}.items()
    ]
    other = write_run(store, "other", [*range(300, 345)], training__lr=1e-3)
    assert find_ties(store, [seeds, [other]], metric) == [[0, 1]], "seeds of a model are one"
    short = write_run(store, "short", [*range(10)], rows=100, training__lr=2e-3)
    with pytest.raises(InputError, match="were not tested on the same rows: 400 and 100"):
        find_ties(store, [[other], [short]], metric)
