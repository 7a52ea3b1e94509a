"""The TF-IDF baselines: scikit-learn's numbers, from a torch model."""

import numpy as np
import pytest
from scipy.sparse import hstack
from scipy.special import expit, softmax
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from core.evaluation.predict import predict_texts
from core.text.config import TextConfig
from core.text.pair import joined
from core.text.words import split_words
from core.training.linear import SOLVERS, balanced, count_matrix, fit_linear, inverse_document_frequency, tfidf

WORDS = "good bad fine poor film plot not very but , .".split()


def corpus(rows: int, classes: int, seed: int) -> tuple[list[str], np.ndarray]:
    draw = np.random.default_rng(seed)
    texts = [" ".join(draw.choice(WORDS, draw.integers(1, 12))) for _ in range(rows)]
    labels = np.array([(text.count("good") + 2 * text.count("bad") + draw.integers(2)) % classes for text in texts])
    return texts, labels


def reference(texts: list[str]) -> TfidfVectorizer:
    read = {"tokenizer": split_words, "token_pattern": None, "ngram_range": (1, 2)}
    return TfidfVectorizer(**read, sublinear_tf=True, min_df=2).fit(texts)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("family", "estimator"),
    [
        ("tfidf-logreg", lambda C: LogisticRegression(C=C, max_iter=2000)),
        ("tfidf-nb", lambda alpha: MultinomialNB(alpha=alpha)),
        ("tfidf-svm", lambda C, scale: LinearSVC(C=C, max_iter=5000, random_state=0)),
    ],
)
def test_a_fit_is_that_of_scikit_learn(family, estimator, classes):
    """The best value on validation, and the probability of each class, of a pipeline of scikit-learn's own parts."""
    texts, labels = corpus(200, classes, seed=0)
    held, held_labels = corpus(60, classes, seed=1)
    fit = fit_linear(texts, labels, held, held_labels, config=TextConfig(), classes=classes, family=family)
    vectors = reference(texts)
    known = estimator(**fit.settings).fit(vectors.transform(texts), labels)
    solver, scores = SOLVERS[family], []
    for value in solver.values:
        other = solver.make().set_params(**{solver.setting: value}).fit(vectors.transform(texts), labels)
        scores.append(other.score(vectors.transform(held), held_labels))
    if classes == 3:  # else the range grows
        assert fit.score == pytest.approx(max(scores), abs=1 / 60) and fit.settings[solver.setting] in solver.values
    assert set(fit.model.state_dict()) == {"idf", "weight", "bias"}
    features = vectors.transform([*held, "", "unseen words"])
    found = predict_texts(fit.model, fit.tokenizer, [*held, "", "unseen words"]).probabilities
    if family == "tfidf-svm":
        decisions = fit.settings["scale"] * known.decision_function(features)
        expected = np.stack([1 - expit(decisions), expit(decisions)], 1) if classes == 2 else softmax(decisions, 1)
    else:
        expected = known.predict_proba(features)
    np.testing.assert_allclose(found, expected, atol=1e-4 if family == "tfidf-nb" else 5e-3)


def test_features_are_those_of_scikit_learn():
    texts, labels = corpus(80, 2, seed=2)
    fit = fit_linear(texts, labels, texts, labels, config=TextConfig(), classes=2, family="tfidf-logreg")
    tokenizer = fit.tokenizer
    counts = count_matrix(tokenizer.encode_batch(texts), tokenizer.size)
    ours = tfidf(counts, inverse_document_frequency(counts)).toarray()
    vectors = reference(texts)
    places = [vectors.vocabulary_[tokenizer.name(each)] for each in range(2, tokenizer.size)]
    assert len(places) == len(vectors.vocabulary_)
    np.testing.assert_allclose(ours[:, 2:], vectors.transform(texts).toarray()[:, places], atol=1e-12)
    assert not ours[:, :2].any()


def test_character_ngrams_weigh_as_much_as_words_and_pairs():
    texts, labels = corpus(120, 2, seed=4)
    config = TextConfig(char_ngrams=4)
    fit = fit_linear(texts, labels, texts, labels, config=config, classes=2, family="tfidf-logreg")
    counts = count_matrix(fit.tokenizer.encode_batch(texts), fit.tokenizer.size)
    inside, plain = fit.tokenizer.characters, inverse_document_frequency(counts)
    idf = fit.model.get_buffer("idf").numpy()
    np.testing.assert_allclose(idf[~inside], plain[~inside], rtol=1e-6)
    assert np.ptp(idf[inside] / plain[inside]) < 1e-5
    squares = ((np.log(np.maximum(counts.toarray(), 1)) + (counts.toarray() > 0)) * idf) ** 2
    assert squares[:, inside].sum() == pytest.approx(squares[:, ~inside].sum(), rel=1e-5)
    assert balanced(counts, plain, np.zeros_like(inside)) is plain


@pytest.mark.parametrize("family", ["tfidf-logreg", "tfidf-nb"])
def test_a_fit_on_pairs_is_that_of_scikit_learn_on_both_texts_and_their_differences(family):
    first, second = (corpus(120, 2, seed)[0] for seed in (0, 1))
    labels = np.array([("good" in a) == ("good" in b) for a, b in zip(first, second, strict=True)], np.int64)
    texts = [joined(a, b) for a, b in zip(first, second, strict=True)]
    fit = fit_linear(texts, labels, texts[:40], labels[:40], config=TextConfig(), classes=2, family=family)
    vectors = reference([*first, *second])
    a, b = vectors.transform(first), vectors.transform(second)
    rows = hstack([a, b, abs(a - b), a.multiply(b)]).tocsr()
    estimator = LogisticRegression(max_iter=2000) if family == "tfidf-logreg" else MultinomialNB()
    known = estimator.set_params(**fit.settings).fit(rows, labels)
    found = predict_texts(fit.model, fit.tokenizer, texts).probabilities
    np.testing.assert_allclose(found, known.predict_proba(rows), atol=5e-3)
