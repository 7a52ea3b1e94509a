"""The TF-IDF baseline: scikit-learn's numbers, from a torch model."""

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from core.evaluation.predict import predict_texts
from core.exceptions import DataError
from core.models.linear import BagOfNgrams
from core.text.config import TextConfig
from core.text.words import split_words
from core.training.batches import pad
from core.training.linear import (
    ABSENT,
    STRENGTHS,
    copy_weights,
    count_matrix,
    fit_linear,
    inverse_document_frequency,
    tfidf,
)

WORDS = "good bad fine poor film plot not very but , .".split()


def corpus(rows: int, classes: int, seed: int) -> tuple[list[str], np.ndarray]:
    draw = np.random.default_rng(seed)
    texts = [" ".join(draw.choice(WORDS, draw.integers(1, 12))) for _ in range(rows)]
    labels = np.array([(text.count("good") + 2 * text.count("bad") + draw.integers(2)) % classes for text in texts])
    return texts, labels


def reference(texts: list[str]) -> TfidfVectorizer:
    return TfidfVectorizer(
        tokenizer=split_words, token_pattern=None, ngram_range=(1, 2), sublinear_tf=True, min_df=2
    ).fit(texts)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_those_of_scikit_learn(classes):
    texts, labels = corpus(200, classes, seed=0)
    held, held_labels = corpus(60, classes, seed=1)
    fit = fit_linear(texts, labels, held, held_labels, config=TextConfig(), classes=classes)
    counts = count_matrix(fit.tokenizer.encode_batch(texts), fit.tokenizer.size)
    idf = inverse_document_frequency(counts)
    regression = LogisticRegression(C=fit.strength).fit(tfidf(counts, idf), labels)
    copy_weights(fit.model, idf, regression)
    unseen = [*held, "", "unseen words"]
    found = predict_texts(fit.model, fit.tokenizer, unseen).probabilities
    expected = regression.predict_proba(
        tfidf(count_matrix(fit.tokenizer.encode_batch(unseen), fit.tokenizer.size), idf)
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_accuracy_is_that_of_a_scikit_learn_pipeline(classes):
    texts, labels = corpus(200, classes, seed=0)
    held, held_labels = corpus(60, classes, seed=1)
    fit = fit_linear(texts, labels, held, held_labels, config=TextConfig(), classes=classes)
    vectors = reference(texts)
    scores = [
        LogisticRegression(C=strength, max_iter=2000)
        .fit(vectors.transform(texts), labels)
        .score(vectors.transform(held), held_labels)
        for strength in STRENGTHS
    ]
    assert fit.accuracy == pytest.approx(max(scores), abs=1 / 60)
    assert fit.strength in STRENGTHS


def test_features_are_those_of_scikit_learn():
    texts, labels = corpus(80, 2, seed=2)
    tokenizer = fit_linear(texts, labels, texts, labels, config=TextConfig(), classes=2).tokenizer
    counts = count_matrix(tokenizer.encode_batch(texts), tokenizer.size)
    ours = tfidf(counts, inverse_document_frequency(counts)).toarray()
    vectors = reference(texts)
    places = [vectors.vocabulary_[tokenizer.name(each)] for each in range(2, tokenizer.size)]
    assert len(places) == len(vectors.vocabulary_)
    np.testing.assert_allclose(ours[:, 2:], vectors.transform(texts).toarray()[:, places], atol=1e-12)
    assert not ours[:, :2].any()


def test_the_strength_is_the_smallest_of_the_best_on_validation():
    texts, labels = ["good", "bad"] * 10, np.array([1, 0] * 10)
    fit = fit_linear(texts, labels, texts, labels, config=TextConfig(), classes=2)
    assert (fit.strength, fit.accuracy) == (STRENGTHS[0], 1.0)


def test_a_class_without_training_rows_gets_probability_zero():
    texts, labels = ["good", "bad"] * 10, np.array([2, 0] * 10)
    fit = fit_linear(texts, labels, texts, labels, config=TextConfig(), classes=3)
    found = predict_texts(fit.model, fit.tokenizer, ["good", ""])
    assert found.logits[0, 1] == ABSENT
    assert (found.probabilities[:, 1] == 0).all()
    assert found.probabilities[0].argmax() == 2


def test_one_class_cannot_be_learned():
    with pytest.raises(DataError, match="one class only"):
        fit_linear(["a"], np.array([0]), [], np.array([]), config=TextConfig(), classes=2)


def test_weights_travel_as_a_state_dict_and_logits_do_not_depend_on_the_batch():
    texts, labels = corpus(60, 3, seed=3)
    fit = fit_linear(texts, labels, texts, labels, config=TextConfig(), classes=3)
    assert set(fit.model.state_dict()) == {"idf", "weight", "bias"}
    again = BagOfNgrams(vocabulary=fit.tokenizer.size, classes=3)
    again.load_state_dict(fit.model.state_dict())
    ids = fit.tokenizer.encode_batch(texts)
    together = again(pad(ids)).logits
    alone = torch.cat([again(pad([each])).logits for each in ids])
    assert torch.allclose(together, alone, atol=1e-6)
