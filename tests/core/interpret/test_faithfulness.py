"""Faithfulness on models whose answers are a known sum over words; paraphrases, curves, thresholds and verdicts."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from small_models import small
from small_readers import lent
from toys import WORDS, Sum, labeled, opinions, sentences, toy

from core.exceptions import InputError
from core.interpret.attribution import ExplainedText, list_methods
from core.interpret.faithfulness import (
    STEPS,
    LabeledSentence,
    PerturbationCase,
    StepProgress,
    Trials,
    add_frame,
    change_contractions,
    compute_area,
    compute_beaten_share,
    count_steps,
    insert_words,
    interpolate_curve,
    iterate_paraphrases,
    measure_methods,
    measure_sentence,
    order_words,
    toggle_full_stop,
)
from core.interpret.faithfulness_verdict import FEW, THRESHOLDS, Number, decide_outcome, judge_method, list_tests
from core.models.builder import build_model
from core.models.dropout import shuffle_weights
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer
from core.text.word_spans import find_word_spans

EXACT = ("deletion", "shapley", "gradient", "integrated")
SENTENCES = 40
TWO = ("deletion", "gradient")
FAITHFUL = ("deletion", "shapley", "gradient", "integrated")


def compute_chance(*weights):
    return 1 / (1 + math.exp(-sum(weights)))


@pytest.fixture(scope="module")
def three():
    """The first three words weigh 2, -1 and 0.5."""
    weights = np.zeros(len(WORDS))
    weights[:3] = 2, -1, 0.5
    return toy(weights)


@pytest.mark.parametrize("method", EXACT)
def test_curves_and_areas_of_a_linear_model_equal_manual_results(three, method):
    found = measure_methods(three, three, [LabeledSentence(" ".join(WORDS[:3]), (1,))] * 2, [method]).methods[0]
    up = [compute_chance(), compute_chance(2), compute_chance(2, 0.5), compute_chance(2, 0.5, -1)]
    shares, thirds = np.linspace(0, 1, 11), np.linspace(0, 1, 4)
    assert found.curves["insertion"].values == pytest.approx(np.interp(shares, thirds, up), abs=1e-6)
    assert found.areas["insertion"].value == pytest.approx((up[0] / 2 + up[1] + up[2] + up[3] / 2) / 3, abs=1e-6)
    if method == "deletion":
        assert "deletion" not in found.tests | found.areas | found.curves, "it is not asked about itself"
    else:
        down = [compute_chance(2, 0.5, -1), compute_chance(0.5, -1), compute_chance(-1), compute_chance()]
        assert found.curves["deletion"].values == pytest.approx(np.interp(shares, thirds, down), abs=1e-6)
        assert found.areas["deletion"].value == pytest.approx((down[0] / 2 + down[1] + down[2] + down[3] / 2) / 3)
    assert found.tests["pairs"].value == pytest.approx(1)
    assert found.tests["control"].value == pytest.approx(1), "here the control is the model itself"


def test_attention_uses_absolute_values_with_subtracted_maps():
    own, _, text = make_reader("differential", ("bad", "good"), "single")
    with torch.no_grad():
        for name in ("lambda_q", "lambda_k"):
            own.model.get_parameter(f"layers.1.attention.mixing.{name}")[0].fill_(0.6)
    case = PerturbationCase.from_text(text, 1)
    read, (sizes,) = (
        ExplainedText(own, text, "good").attribute_by("attention").pushes,
        Trials(own, [case], StepProgress(lambda what, share: None, 1)).compute_attributions("attention", [case], ""),
    )
    assert (read < 0).any() and sizes == pytest.approx(abs(read))


@pytest.mark.slow
def test_intervals_contain_the_mean_and_count_sentences(three):
    texts = [" ".join(WORDS[:3]), "a", "", " ".join(WORDS[:80])]
    found = measure_methods(three, toy(np.zeros(len(WORDS))), [LabeledSentence(x, (1,)) for x in texts], ["gradient"])
    assert (found.sentences, found.left_out, found.cut) == (2, 2, 1)
    (only,) = found.methods
    for each in (*only.tests.values(), *only.areas.values()):
        assert each.low <= each.value <= each.high and each.n <= 2
    assert "control" not in only.tests, "of weights that are all alike there is no rank"


@pytest.mark.parametrize("texts", [[], ["", "one", "two words"]])
def test_sentences_below_three_words_are_refused(three, texts):
    with pytest.raises(InputError, match=rf"of {len(texts)} sentences none has 3 words"):
        measure_methods(three, three, [LabeledSentence(text, (0,)) for text in texts], ["deletion"])


def test_methods_for_other_models_are_refused_and_exceptions_of_the_progress_stop_the_work(three):
    with pytest.raises(InputError, match="this model has no attention"):
        measure_methods(three, three, [LabeledSentence("a b c", (0,))], ["attention"])
    said, told = [LabeledSentence(" ".join(WORDS[:4]), (1,))], list[tuple[str, float]]()
    measure_methods(three, three, said, ["deletion", "gradient"], lambda what, share: told.append((what, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares) and 0 <= shares[0] and 0.85 < shares[-1] <= 1
    with pytest.raises(KeyboardInterrupt):
        measure_methods(three, three, said, ["deletion"], lambda what, share: (_ for _ in ()).throw(KeyboardInterrupt))


def test_single_sentences_have_tests_and_no_verdict(three):
    found = measure_sentence(three, f"It is {' '.join(WORDS[:3])}.", "gradient", "bad")
    assert (found.method, found.target, found.words) == ("gradient", "bad", 6)
    assert set(found.tests) == {"insertion", "deletion", "pairs", "stability"} and "verdict" not in dir(found)
    assert found.tests["pairs"] == pytest.approx(1) and found.tests["insertion"] >= 0.5
    assert found.edits == ("contraction", "frame", "full stop")
    assert measure_sentence(three, " ".join(WORDS[:5]), "deletion").tests["deletion"] is None


@pytest.mark.parametrize("text", ["", " ", "one", "two words"])
def test_texts_below_three_words_have_no_tests(three, text):
    found = measure_sentence(three, text, "deletion")
    assert set(found.tests.values()) == {None} and found.edits == ()


def make_reader(preset, classes, task):
    """Return the contexts of a small model with random weights and of its control."""
    text = "Not bad at all, but the ending never works"
    tokenizer = fit_tokenizer([text, "a good film"], TextConfig(min_freq=1, max_length=24))
    config = PRESETS[preset].model
    torch.manual_seed(0)
    sizes = {"vocabulary": tokenizer.size, "classes": len(classes), "max_length": 24}
    model = build_model(small(config) if config.family == "encoder" else config, **sizes).eval()
    if config.family == "tfidf-logreg":
        model.weight.data = torch.randn(model.weight.shape)
    own, control = (lent(each, tokenizer, classes, task=task) for each in (model, shuffle_weights(model, 0)))
    return own, control, text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "classes", "task", "labels"),
    [
        ("vanilla", ("negative", "neutral", "positive"), "single", [(0,), (1,), (2,)]),
        ("ndt-01-n2", ("late", "loud", "warm"), "multi", [(0, 2), (), (1,)]),
        ("cnn", ("bad", "good"), "single", [(0,), (1,), (1,)]),
        ("tfidf-logreg", ("bad", "good"), "single", [(0,), (1,), (1,)]),
    ],
)
def test_every_family_and_task_can_be_measured(preset, classes, task, labels):
    own, control, text = make_reader(preset, classes, task)
    said = [LabeledSentence(*pair) for pair in zip((text, text.upper(), f"{text} film"), labels, strict=True)]
    named = list_methods(own.model.provides)
    found = measure_methods(own, control, said, named)
    assert [each.method for each in found.methods] == named and found.sentences == 3
    assert -1 <= found.answers.low <= found.answers.high <= 1
    for each in found.methods:
        assert {"insertion", "pairs"} <= set(each.tests) and set(each.agreement) <= set(named) - {each.method}
        assert all(0 <= number.value <= 1 for number in each.areas.values())


def test_the_control_shuffles_weights_and_leaves_the_model_unchanged():
    model = Sum(np.arange(20.0))
    other = shuffle_weights(model, 3)
    assert model.vectors.weight.flatten().tolist() == list(range(20))
    assert sorted(other.vectors.weight.flatten().tolist()) == list(range(20)) != other.vectors.weight.flatten().tolist()
    assert torch.equal(shuffle_weights(model, 3).vectors.weight, other.vectors.weight)


@pytest.mark.slow
def test_kappa_of_predictions_is_zero_at_chance():
    own = toy(opinions(0))
    said = labeled(own, sentences(30, 1))
    assert measure_methods(own, own, said, ["deletion"]).answers.value == pytest.approx(1)
    always = [LabeledSentence(each.text, (1,)) for each in said]
    assert measure_methods(own, own, always, ["deletion"]).answers.value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("change", "text", "said"),
    [
        (change_contractions, "I do not like it", "I don't like it"),
        (change_contractions, "It is late and we are cold", "It's late and we're cold"),
        (change_contractions, "DO NOT GO", "DON'T GO"),
        (change_contractions, "Don't go", "Do not go"),
        *((change_contractions, text, text) for text in ("It's mine", "a notable isnot")),
        (add_frame, "The film is good.", "I think that the film is good."),
        (add_frame, "I liked it", "I think that I liked it"),
        (add_frame, "NASA won", "I think that NASA won"),
        *((add_frame, text, text) for text in ("Is it good?", "")),
        *((toggle_full_stop, "So.", "So"), (toggle_full_stop, "So", "So.")),
        *((toggle_full_stop, text, text) for text in ("So…", "So...", "So!", "")),
    ],
)
def test_paraphrases_change_only_unambiguous_contractions_statements_and_full_stops(change, text, said):
    assert change(text) == said


def test_shared_words_are_aligned_in_both_texts():
    found = {each.edit: each for each in iterate_paraphrases("It is not a GOOD film.")}
    assert set(found) == {"contraction", "frame", "full stop", "lower case"}
    for each in found.values():
        before, after = "It is not a GOOD film.", each.text
        old, new = find_word_spans(before), find_word_spans(after)
        pairs = [(before[slice(*old[a])].lower(), after[slice(*new[b])].lower()) for a, b in each.shared]
        assert all(one == two for one, two in pairs)
    assert len(found["frame"].shared) == len(found["lower case"].shared) == 7
    assert found["contraction"].text == "It's not a GOOD film."
    assert [a for a, _ in found["full stop"].shared] == [0, 1, 2, 3, 4, 5]


def test_short_texts_have_a_step_per_word_and_the_area_is_the_mean_height():
    assert count_steps(3).tolist() == [0, 1, 2, 3]
    assert count_steps(25).tolist() == [0, 2, 5, 8, 10, 12, 15, 18, 20, 22, 25] and STEPS == 10
    text = "Not a bad film."
    words = find_word_spans(text)
    parts = ["", "film", "Not film", "Not film.", "Not bad film.", text]
    assert insert_words(text, words, np.array([3, 0, 4, 2, 1])) == parts
    assert compute_area(np.array([0.0, 0.5, 1.0]), 2) == pytest.approx((0.25 + 0.75) / 2)
    ten = np.linspace(0, 1, 11)
    assert compute_area(np.stack([ten, ten**0]), 10) == pytest.approx([0.5, 1.0])
    assert compute_area(count_steps(25) / 25, 25) == pytest.approx(0.5), (
        "steps of two and three words count as wide as they are"
    )
    assert interpolate_curve(np.array([0.0, 1.0, 1.0]), 2) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1, 1, 1, 1, 1, 1])
    assert compute_beaten_share(0.5, np.array([0.4, 0.5, 0.5 + 1e-9, 0.6])) == pytest.approx((1 + 0.5 + 0.5) / 4)


def test_the_largest_attribution_comes_first_and_ties_are_random():
    assert order_words(np.array([0.1, -2.0, 3.0]), np.random.default_rng(0)).tolist() == [2, 0, 1]
    drawn = {tuple(order_words(np.zeros(3), np.random.default_rng(seed)).tolist()) for seed in range(40)}
    assert drawn == set(permutations(range(3)))


@pytest.mark.parametrize("seed", range(5))
def test_exact_attributions_give_the_best_area(seed):
    weights = np.random.default_rng(seed).normal(size=5) * 2

    def along(order):
        return compute_area(1 / (1 + np.exp(-np.concatenate([[0], weights[list(order)].cumsum()]))), 5)

    every = [along(order) for order in permutations(range(5))]
    exact = order_words(weights, np.random.default_rng(0))
    assert along(exact) == pytest.approx(max(every)) and along(exact[::-1]) == pytest.approx(min(every))


def test_progress_is_a_share_of_equal_steps():
    told = []
    steps = StepProgress(lambda what, share: told.append((what, share)), 2)
    assert list(steps.iterate_parts("first", 4)) == [0, 1, 2, 3] and list(steps.iterate_parts("second", 2)) == [0, 1]
    assert told == [*(("first", part / 8) for part in range(4)), ("second", 0.5), ("second", 0.75)]


def judge_all(found):
    return {
        each.method: judge_method(each.method, {**each.tests, "answers": found.answers}).verdict
        for each in found.methods
    }


def shuffle_attributions(weights, seed):
    return np.random.default_rng(seed).permutation(weights)


@pytest.fixture(scope="module")
def known():
    """A model with known effects, one with random weights, and sentences labelled by the first."""
    weights = opinions(0)
    own, control = toy(weights), toy(shuffle_attributions(weights, 100))
    return weights, own, control, labeled(own, sentences(SENTENCES, 0))


@pytest.mark.slow
def test_exact_methods_are_evidence_and_for_random_weights_illustration(known):
    weights, own, control, said = known
    assert judge_all(measure_methods(own, control, said, FAITHFUL)) == dict.fromkeys(FAITHFUL, "evidence")
    found = measure_methods(control, toy(shuffle_attributions(weights, 7)), said, TWO)
    assert set(judge_all(found).values()) == {"illustration"}, "faithful to a model that knows nothing"


@pytest.mark.slow
def test_shuffled_attributions_and_methods_that_ignore_the_weights_are_neither(known, monkeypatch):
    _, own, control, said = known
    random, real = np.random.default_rng(0), Trials.compute_attributions
    monkeypatch.setattr(
        Trials, "compute_attributions", lambda self, *about: [random.permutation(each) for each in real(self, *about)]
    )
    assert judge_all(measure_methods(own, control, said, TWO)) == dict.fromkeys(TWO, "neither")

    def by_length(self, method, cases, what):
        return [np.array([end - start + start / 100 for start, end in case.words]) for case in cases]

    monkeypatch.setattr(Trials, "compute_attributions", by_length)
    found = measure_methods(own, control, said, ["gradient"])
    assert judge_method("gradient", found.methods[0].tests).outcomes["control"] == "failed"
    assert judge_all(found) == {"gradient": "neither"}

    def noisy(self, *about):
        return [each + random.normal(size=len(each)) * 1.2 * each.std() for each in real(self, *about)]

    monkeypatch.setattr(Trials, "compute_attributions", noisy)
    assert judge_all(measure_methods(own, control, said, ["gradient"])) == {"gradient": "illustration"}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.71, 0.8, "passed"), (0.6, 0.8, "between"), (0.56, 0.9, "between"), (0.5, 0.9, "failed"), (0.1, 0.2, "failed")],
)
def test_the_whole_interval_must_meet_the_threshold(low, high, said):
    found = Number((low + high) / 2, low, high, 90)
    assert decide_outcome(THRESHOLDS["insertion"], found) == decide_outcome(THRESHOLDS["deletion"], found) == said
    assert decide_outcome(THRESHOLDS["insertion"], Number(1, 1, 1, FEW - 1)) == "not measured"
    assert decide_outcome(THRESHOLDS["pairs"], Number(0, -1, 0.1, 90)) == "between", "of these no value speaks against"


@pytest.mark.parametrize(("high", "said"), [(0.49, "passed"), (0.6, "between"), (0.8, "failed")])
def test_small_control_values_are_good(high, said):
    assert decide_outcome(THRESHOLDS["control"], Number(0.3, 0.0, high, 90)) == said


def test_deletion_is_not_judged_by_the_deletion_test():
    all_ = dict.fromkeys(THRESHOLDS, Number(0.9, 0.8, 1.0, 90)) | {"control": Number(0.1, 0.0, 0.2, 90)}
    bad = all_ | {"deletion": Number(0.1, 0.0, 0.2, 90)}
    judged = judge_method("deletion", bad)
    assert judged.verdict == "evidence" and "deletion" not in judged.outcomes
    assert judge_method("gradient", bad).verdict == "neither" and "pairs" not in judge_method("gradient", bad).outcomes
    assert judge_method("gradient", all_ | {"pairs": Number(0.0, 0.0, 0.1, 90)}).verdict == "evidence"
    for method in ("deletion", "gradient"):
        for name in list_tests(method):
            left = {test: number for test, number in all_.items() if test != name}
            assert judge_method(method, left).verdict == "illustration"
            assert judge_method(method, left | {name: None}).outcomes[name] == "not measured"
