"""What each word does to an answer: deletion by hand, methods by what a model provides, spans, agreement, limits."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from small_models import small
from small_readers import lent

from core.exceptions import InputError
from core.interpret import attribution
from core.interpret.attribution import METHODS, explain_text, list_methods
from core.interpret.trace_summary import average_attention
from core.models.baselines import BagOfNgrams
from core.models.builder import build_model
from core.models.capabilities import list_capabilities
from core.models.presets import PRESETS
from core.text.config import TextConfig
from core.text.ngrams import NGramTokenizer
from core.text.tokenizer_factory import fit_tokenizer
from core.training.calibration import UNSCALED, Scaling

STARTERS = ["sentiformer", "tweet-v1-p2"]  # words and byte pairs
TEXT = "Not bad at all, but the ending never works"


WEIGHTS = {"good": 2.0, "bad": -3.0, "film": 0.25, "not": -0.5, "not bad": 4.0}


def make_bag(scaling=UNSCALED, task="single"):
    """Return TF-IDF with a weight for `good` per n-gram; every idf is 1."""
    tokenizer = NGramTokenizer(list(WEIGHTS), TextConfig())
    model = BagOfNgrams(vocabulary=tokenizer.size, classes=2)
    with torch.no_grad():
        model.weight[2:, 1] = torch.tensor(list(WEIGHTS.values()))
        model.bias[1] = 0.5
    return lent(model.eval(), tokenizer, task=task, scaling=scaling)


def compute_by_hand(*grams):
    """Return the logit of `good` for n-grams that occur once."""
    return 0.5 + sum(WEIGHTS[gram] for gram in grams) / math.sqrt(max(1, len(grams)))


@pytest.mark.parametrize("scaling", [UNSCALED, Scaling(2.0), Scaling(2.0, (0.1, 0.9))])
@pytest.mark.parametrize("task", ["single", "multi"])
def test_deletion_attribution_is_the_loss_of_log_odds(scaling, task):
    temperature = scaling.temperature
    found = explain_text(make_bag(scaling, task), "A not  BAD film", target="good")
    whole = compute_by_hand("not", "bad", "film", "not bad")
    left = (
        compute_by_hand("not", "bad", "film", "not bad"),
        compute_by_hand("bad", "film"),
        compute_by_hand("not", "film"),
    )
    last = compute_by_hand("not", "bad", "not bad")
    prior = np.log(9) / 2 if scaling.prior else 0  # half of the log-odds of 0.9, the same with and without a word
    assert found.log_odds == pytest.approx(whole / temperature + prior, abs=1e-5)
    places = [(word.word, word.start, word.end) for word in found.words]
    assert places == [("A", 0, 1), ("not", 2, 5), ("BAD", 7, 10), ("film", 11, 15)]
    pushes = [(whole - rest) / temperature for rest in (*left, last)]
    np.testing.assert_allclose([word.push for word in found.words], pushes, atol=1e-5)
    assert found.completeness is None and found.agreement == {"attention": None}


def test_the_default_target_is_the_predicted_class():
    answer, other = explain_text(make_bag(), "not bad"), explain_text(make_bag(), "not bad", target="bad")
    assert (answer.target, other.target) == ("good", "bad") and answer.probabilities == other.probabilities
    np.testing.assert_allclose([word.push for word in other.words], [-word.push for word in answer.words], atol=1e-6)
    with pytest.raises(InputError, match="class 'nice': this run has bad, good"):
        explain_text(make_bag(), "good", target="nice")
    with pytest.raises(InputError, match="method 'lime': one of deletion, shapley, gradient"):
        explain_text(make_bag(), "good", "lime")


@pytest.mark.parametrize("method", ["gradient", "integrated", "attention", "collapse"])
def test_baselines_list_their_attribution_methods(method):
    lacks = "has no attention" if method in attribution.READ else "reads no vectors of words"
    with pytest.raises(InputError, match=f"method '{method}': this model {lacks}; choose deletion or shapley$"):
        explain_text(make_bag(), "good", method)


def test_available_methods_follow_from_capabilities():
    named = {
        name: list_methods(list_capabilities(PRESETS[name].model)) for name in ("vanilla", "bilstm", "cnn", "lexicon")
    }
    assert named["vanilla"] == list(METHODS)
    assert named["bilstm"] == named["cnn"] == ["deletion", "shapley", "gradient", "integrated"]
    assert named["lexicon"] == ["deletion", "shapley"]


def test_shapley_values_add_up_to_the_effect_of_the_text():
    found = explain_text(make_bag(), "not bad", "shapley", target="good")
    empty, alone, both = (
        compute_by_hand(),
        (compute_by_hand("not"), compute_by_hand("bad")),
        compute_by_hand("not", "bad", "not bad"),
    )
    expected = [(alone[i] - empty + both - alone[1 - i]) / 2 for i in (0, 1)]
    np.testing.assert_allclose([word.push for word in found.words], expected, atol=1e-5)
    assert [word.error for word in found.words] == [0, 0]
    assert found.completeness.at_reference == pytest.approx(empty, abs=1e-6)
    assert abs(found.completeness.error) < 1e-9 and found.completeness.steps == 2


def make_encoder(preset="vanilla", max_length=12, bpe=False, **change):
    """Return a small model with random weights and its tokenizer."""
    text = {"tokenizer": "bpe", "max_vocab": 300} if bpe else {}
    config = TextConfig(min_freq=1, max_length=max_length, **text)
    tokenizer = fit_tokenizer([TEXT, "a good film"], config)
    torch.manual_seed(0)
    config = dataclasses.replace(small(PRESETS[preset].model), **change)
    return lent(build_model(config, vocabulary=tokenizer.size, classes=2, max_length=max_length).eval(), tokenizer)


@pytest.mark.parametrize("bpe", [False, True])
@pytest.mark.parametrize("method", ["attention", "collapse"])
def test_attention_attribution_sums_tokens_into_words(bpe, method):
    own = make_encoder(max_length=40, bpe=bpe)
    view = own.inspect(TEXT)
    weights = average_attention(view.layers[0 if method == "collapse" else -1].combined, view.places)
    found = explain_text(own, TEXT, method)
    assert found.pushes.sum() == pytest.approx(weights.sum(), abs=1e-6) == 1
    if not bpe:
        np.testing.assert_allclose(found.pushes, weights, atol=1e-6)


@pytest.mark.slow
def test_class_token_and_padding_are_no_words():
    classed, filled = make_encoder(pooling="cls"), make_encoder("tweet-v1-p1", pad_mode="as_released")
    for own in (classed, filled):
        found, view = explain_text(own, "a good film", "attention"), own.inspect("a good film")
        first = len(view.tokens) - 3 - bool(view.filled)
        assert [word.word for word in found.words] == ["a", "good", "film"] and len(view.tokens) > 3
        expected = average_attention(view.layers[-1].combined, view.places)[first : first + 3]
        np.testing.assert_allclose(found.pushes, expected, atol=1e-6)
        assert len(explain_text(own, "a good film", "integrated").words) == 3


@pytest.mark.slow
def test_agreement_uses_absolute_values_for_unsigned_methods():
    own = make_encoder()
    each = {name: explain_text(own, TEXT, name).pushes for name in ("deletion", "gradient", "attention")}
    found = explain_text(own, TEXT, "gradient").agreement
    assert found["deletion"] == pytest.approx(spearmanr(each["gradient"], each["deletion"]).statistic)
    assert found["attention"] == pytest.approx(spearmanr(abs(each["gradient"]), each["attention"]).statistic)
    assert set(explain_text(own, TEXT, "attention").agreement) == {"deletion"}
    assert explain_text(own, "good film").agreement == {"attention": None}
    long = explain_text(own, f"{TEXT} good a film but never very film good a so never bad").tests["attention"]
    assert long.words == 12, "words that are cut off have 0 by both methods, which is no agreement"


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["", "good"])
def test_texts_with_no_or_one_word_are_explained(method, text):
    found = explain_text(make_encoder(), text, method)
    assert [word.word for word in found.words] == text.split() * ("good" in text)
    assert np.isfinite(found.pushes).all() and set(found.agreement.values()) <= {None}


@pytest.mark.slow
def test_long_texts_have_a_note_on_unread_and_unexplained_words():
    text = " ".join(["good", "film"] * 200)
    found = explain_text(make_encoder(), text)
    assert len(found.words) == attribution.MOST_WORDS == 300
    assert found.note == (
        "The model reads the first 12 tokens; 388 at the end are cut off. Explained are the first 300 of 400 words."
    )
    assert found.words[-1].push == pytest.approx(0, abs=1e-6), "without it, the first 12 tokens are the same"
    assert len(explain_text(make_encoder(), text, "integrated").words) == 300


def test_texts_too_long_for_maps_are_explained_by_other_methods(monkeypatch):
    monkeypatch.setattr("core.models.attention.DENSE_TRACE", 2)
    own = make_encoder("sentiformer")
    with pytest.raises(InputError, match="too long for maps of all pairs; choose deletion"):
        explain_text(own, TEXT, "attention")
    assert explain_text(own, TEXT).agreement == {"attention": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("এই ছবি good 👍🏽", ["এই", "ছবি", "good", "👍🏽"]),
        ("이 영화 GOOD!", ["이", "영화", "GOOD", "!"]),
        ("@bob see http://t.co/x #Good", ["@bob", "see", "http://t.co/x", "#Good"]),
    ],
)
@pytest.mark.parametrize("run", STARTERS)
def test_words_are_spans_of_the_typed_text_in_any_script(starter, run, text, typed):
    loaded = starter(run)
    for method in ("deletion", "gradient", "attention"):
        found = explain_text(loaded.make_reader(), text, method)
        assert [text[word.start : word.end] for word in found.words] == [word.word for word in found.words] == typed


@pytest.mark.slow
def test_eight_concurrent_threads_get_equal_results(starter):
    """Equal up to float32 rounding: an effect between threads would be far larger."""
    loaded = starter("ndt-01-n3")
    asked = [(text, method) for text in (TEXT, "a good film") for method in METHODS]
    alone = [explain_text(loaded.make_reader(), *each) for each in asked]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda each: explain_text(loaded.make_reader(), *each), asked))
    for one, other in zip(alone, together, strict=True):
        assert (one.method, one.target, one.note) == (other.method, other.target, other.note)
        assert other.log_odds == pytest.approx(one.log_odds, abs=1e-4)
        assert [word.push for word in other.words] == pytest.approx([word.push for word in one.words], abs=1e-3)
