"""Explanations measured on sentences of a model whose answers are a known sum over words."""

import math

import numpy as np
import pytest
import torch
from small_models import small
from small_readers import lent
from toys import WORDS, Sum, labeled, opinions, sentences, toy

from core.exceptions import InputError
from core.interpret.attribution import ExplainedText, list_methods
from core.interpret.faithfulness import (
    LabeledSentence,
    PerturbationCase,
    StepProgress,
    Trials,
    measure_methods,
    measure_sentence,
)
from core.models.builder import build_model
from core.models.dropout import shuffle_weights
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.tokenizer_factory import fit_tokenizer

EXACT = ("deletion", "shapley", "gradient", "integrated")


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
    text = " ".join(WORDS[:3])
    said = [LabeledSentence(text, (1,))] * 2
    found = measure_methods(three, three, said, [method]).methods[0]
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
    trials = Trials(own, [case], StepProgress(lambda what, share: None, 1))
    read, (sizes,) = (
        ExplainedText(own, text, "good").attribute_by("attention").pushes,
        trials.compute_attributions("attention", [case], ""),
    )
    assert (read < 0).any() and sizes == pytest.approx(abs(read))


@pytest.mark.slow
def test_intervals_contain_the_mean_and_count_sentences(three):
    texts = [" ".join(WORDS[:3]), "a", "", " ".join(WORDS[:80])]
    found = measure_methods(
        three, toy(np.zeros(len(WORDS))), [LabeledSentence(text, (1,)) for text in texts], ["gradient"]
    )
    assert (found.sentences, found.left_out, found.cut) == (2, 2, 1)
    (only,) = found.methods
    for each in (*only.tests.values(), *only.areas.values()):
        assert each.low <= each.value <= each.high and each.n <= 2
    assert "control" not in only.tests, "of weights that are all alike there is no rank"


@pytest.mark.parametrize("texts", [[], ["", "one", "two words"]])
def test_sentences_below_three_words_are_refused(three, texts):
    with pytest.raises(InputError, match=rf"of {len(texts)} sentences none has 3 words"):
        measure_methods(three, three, [LabeledSentence(text, (0,)) for text in texts], ["deletion"])


def test_methods_for_other_models_are_refused(three):
    with pytest.raises(InputError, match="this model has no attention"):
        measure_methods(three, three, [LabeledSentence("a b c", (0,))], ["attention"])


def test_progress_increases_and_its_exceptions_stop_the_work(three):
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
    said = [
        LabeledSentence(each, label) for each, label in zip((text, text.upper(), f"{text} film"), labels, strict=True)
    ]
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
