"""`sentiscope.wrap`: a scikit-learn pipeline with the methods of a run, equal to its own single predictions."""

import numpy as np
import pytest
from refused import check_raises
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, log_loss
from sklearn.pipeline import make_pipeline

from core.api.public import Run, compare, wrap
from core.exceptions import DataError, InputError, NotAvailable, SentiscopeError

TEXT, CLASSES = "a good film, not bad", ("bad", "good")
WORDS = {"good": "good", "awful": "bad", "not bad": "good", "bad": "bad", "not good": "bad", "so so": ""}
ROWS = [(f"a {w} film {n}", label or CLASSES[n % 2]) for n in range(6) for w, label in WORDS.items()]
"""Texts with labels; those of "so so" are as often wrong as right."""


@pytest.fixture
def pipeline():
    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=9)).fit(*zip(*ROWS, strict=True))


@pytest.fixture
def asked():
    """The texts that the wrapped function was called with."""
    return []


@pytest.fixture
def model(pipeline, asked, machine):
    return wrap(lambda texts: asked.extend(texts) or pipeline.predict_proba(texts), np.array(CLASSES), name="mine")


@pytest.fixture
def odds(pipeline):
    return lambda text: float(np.diff(pipeline.predict_log_proba([text]))[0, 0])


@pytest.fixture
def films(tmp_path):
    (tmp_path / "films.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS))
    return tmp_path / "films.csv"


def dull(texts):
    return [[0.4, 0.6]] * len(texts)


def test_deletion_effects_are_those_of_single_predictions_and_shapley_values_add_up(model, odds, asked):
    found = model.explain(TEXT, target="good")
    without = {"good": "a film, not bad", "not": "a good film, bad", "bad": "a good film, not"}
    effects = {each["word"]: each["push"] for each in found["words"] if each["word"] in without}
    assert found["log_odds"] == pytest.approx(odds(TEXT))
    assert effects == pytest.approx({word: odds(TEXT) - odds(text) for word, text in without.items()})
    model.methods(TEXT), model.flip(TEXT), model.distance("not a {} good film"), model.behave()
    assert len(asked) == len(set(asked)) > 1000, "each text is asked once"
    found = model.explain(TEXT, method="shapley", target="good")
    assert sum(each["push"] for each in found["words"]) == pytest.approx(odds(TEXT) - odds(","), abs=1e-6)
    both = model.methods(TEXT, target="good")
    assert set(both["methods"]) == {"deletion", "shapley"} and "attention" in both["left_out"]


def test_a_flip_and_behavioural_tests_are_those_of_the_function(model, pipeline):
    flip = model.flip("a not bad film")["flip"]
    assert pipeline.predict(["a not bad film", flip["text"]]).tolist() == ["good", "bad"]
    assert model.behave()["runs"][0] != wrap(dull, CLASSES, name="mine").behave()["runs"][0]  # nothing is stored


def test_metrics_are_those_of_scikit_learn(model, pipeline, films):
    texts, labels = zip(*ROWS, strict=True)
    said, found = pipeline.predict(texts), model.evaluate(data=films)["metrics"]
    expected = accuracy_score(labels, said), f1_score(labels, said, average="macro")
    assert (found["accuracy"], found["f1_macro"]) == pytest.approx(expected)
    assert found["loss"] == pytest.approx(log_loss(labels, pipeline.predict_proba(texts), labels=CLASSES))
    check_raises(DataError, "what this model learned from is not known", model.evaluate)


def test_a_saved_function_is_a_run_without_weights(model, pipeline, films):
    run, measured = model.save("saved", films), model.evaluate(data=films)["metrics"]
    rows, other = run.predictions(), wrap(dull, CLASSES, name="dull")
    assert isinstance(run, Run) and run.metrics["test"] == pytest.approx(measured) and run.status == "done"
    assert rows["probability:good"].to_numpy() == pytest.approx(pipeline.predict_proba(rows["text"])[:, 1])
    assert run.errors()["wrong"] == (rows["label"] != rows["predicted"]).sum() > 0
    [live], [pair] = model.compare(other, data=str(films))["pairs"], compare(run, other.save("dull", films))["pairs"]
    share = (rows["label"] == "good").mean()
    assert live["difference"] == pair["difference"] == pytest.approx(measured["accuracy"] - share)
    check_raises(SentiscopeError, "predictions of a function", run.explain, TEXT)
    check_raises(InputError, "there is such a run already", model.save, "saved", films)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([[0.5, 0.5]] * 2, r"returned the shape \(2, 2\); 1 texts and 2 classes need \(1, 2\)"),
        ([[0.2, 0.3, 0.5]], r"returned the shape \(1, 3\); 1 texts and 2 classes need \(1, 2\)"),
        ([[0.5, 0.6]], r"returned \[0\.5, 0\.6\] for 'a good .*probabilities that sum to 1"),
        ([[np.nan, 0.6]], r"returned \[nan, 0\.6\] for"),
        ([[-0.5, 1.5]], r"returned \[-0\.5, 1\.5\] for"),
        ([["yes", "no"]], "returned no table of numbers, but list"),
    ],
)
def test_a_function_that_returns_no_probabilities_is_refused(machine, answer, said):
    check_raises(InputError, said, wrap(lambda texts: answer, CLASSES).predict, [TEXT])


def test_what_needs_the_inside_of_a_model_says_so(model):
    inside = "only the probabilities of a wrapped function are known"
    for ask in (lambda: model.parts, lambda: model.steps, lambda: model.believe, lambda: model.sentence):
        check_raises(NotAvailable, inside, ask)
    check_raises(NotAvailable, inside, model.explain, TEXT, edit="h1.1")
    check_raises(NotAvailable, r"errors: save\(NAME, DATA\) first", lambda: model.errors)
    check_raises(InputError, "this model has no attention", model.explain, TEXT, method="attention")
    check_raises(AttributeError, "no attribute 'tray'", lambda: model.tray)
    for classes in (["one"], ["a", "a"], ["a", ""]):
        check_raises(InputError, "two classes or more with different names", wrap, lambda texts: texts, classes)
