"""The TF-IDF baselines: a torch model with scikit-learn's numbers."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import hstack
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from core.evaluation.inference import predict_texts
from core.exceptions import DataError
from core.text.config import TextConfig
from core.text.text_pairs import join_pair
from core.text.tokenizer import Tokenizer
from core.text.tokenizer_factory import fit_tokenizer
from core.text.words import split_words
from core.training import linear

WORDS = "good bad fine poor film plot not very but , .".split()
FAMILIES = {"logistic": linear.LOGISTIC, "naive Bayes": linear.NAIVE_BAYES, "SVM": linear.SUPPORT_VECTORS}
each_solver = pytest.mark.parametrize("solver", FAMILIES.values(), ids=FAMILIES)
EASY = np.eye(2)[[1, 0] * 10], np.array([1, 0] * 10)
GOOD, BAD = "fine good great lovely".split(), "bad dull poor sad".split()
PLAIN = [f"word{number}" for number in range(20)]


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
def test_linear_fits_equal_scikit_learn(family, estimator, classes):
    """Return the best value on validation and the class probabilities of a scikit-learn pipeline."""
    texts, labels = corpus(200, classes, seed=0)
    held, held_labels = corpus(60, classes, seed=1)
    fit = linear.fit_linear(texts, labels, held, held_labels, config=TextConfig(), classes=classes, family=family)
    vectors = reference(texts)
    known = estimator(**fit.settings).fit(vectors.transform(texts), labels)
    solver, scores = linear.SOLVERS[family], []
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


def test_tfidf_features_equal_scikit_learn():
    texts, labels = corpus(80, 2, seed=2)
    fit = linear.fit_linear(texts, labels, texts, labels, config=TextConfig(), classes=2, family="tfidf-logreg")
    tokenizer = fit.tokenizer
    counts = linear.count_matrix(tokenizer.encode_batch(texts), tokenizer.size)
    ours = linear.compute_tfidf(counts, linear.compute_idf(counts)).toarray()
    vectors = reference(texts)
    places = [vectors.vocabulary_[tokenizer.name(each)] for each in range(2, tokenizer.size)]
    assert len(places) == len(vectors.vocabulary_)
    np.testing.assert_allclose(ours[:, 2:], vectors.transform(texts).toarray()[:, places], atol=1e-12)
    assert not ours[:, :2].any()


def test_character_ngrams_weigh_as_much_as_words_and_pairs():
    texts, labels = corpus(120, 2, seed=4)
    config = TextConfig(char_ngrams=4)
    fit = linear.fit_linear(texts, labels, texts, labels, config=config, classes=2, family="tfidf-logreg")
    counts = linear.count_matrix(fit.tokenizer.encode_batch(texts), fit.tokenizer.size)
    inside, plain = fit.tokenizer.characters, linear.compute_idf(counts)
    idf = fit.model.get_buffer("idf").numpy()
    np.testing.assert_allclose(idf[~inside], plain[~inside], rtol=1e-6)
    assert np.ptp(idf[inside] / plain[inside]) < 1e-5
    squares = ((np.log(np.maximum(counts.toarray(), 1)) + (counts.toarray() > 0)) * idf) ** 2
    assert squares[:, inside].sum() == pytest.approx(squares[:, ~inside].sum(), rel=1e-5)
    assert linear.balance_idf(counts, plain, np.zeros_like(inside)) is plain


@pytest.mark.parametrize("family", ["tfidf-logreg", "tfidf-nb"])
def test_pair_fits_equal_scikit_learn_on_joined_features(family):
    first, second = (corpus(120, 2, seed)[0] for seed in (0, 1))
    labels = np.array([("good" in a) == ("good" in b) for a, b in zip(first, second, strict=True)], np.int64)
    texts = [join_pair(a, b) for a, b in zip(first, second, strict=True)]
    fit = linear.fit_linear(texts, labels, texts[:40], labels[:40], config=TextConfig(), classes=2, family=family)
    vectors = reference([*first, *second])
    a, b = vectors.transform(first), vectors.transform(second)
    rows = hstack([a, b, abs(a - b), a.multiply(b)]).tocsr()
    estimator = LogisticRegression(max_iter=2000) if family == "tfidf-logreg" else MultinomialNB()
    known = estimator.set_params(**fit.settings).fit(rows, labels)
    found = predict_texts(fit.model, fit.tokenizer, texts).probabilities
    np.testing.assert_allclose(found, known.predict_proba(rows), atol=5e-3)


def problem(rows: int, seed: int, labels: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of six words, and classes 0 to 2 or `labels` labels that depend on them with noise."""
    draw = np.random.default_rng(seed)
    features = draw.poisson(1.0, (rows, 6)).astype(float)
    if not labels:
        return features, (features[:, 0] + 2 * features[:, 1] + draw.integers(2, size=rows)).astype(int) % 3
    return features, (features[:, :labels] + draw.normal(0, 0.5, (rows, labels)) > 1.2).astype(np.float32)


@each_solver
def test_the_weakest_of_equal_models_is_chosen(solver):
    chosen = linear.tune_solver(solver, *EASY, *EASY, classes=2)
    assert (chosen.settings[solver.setting], chosen.score) == (solver.values[0], 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_warm_started_fits_reach_their_optimum(classes):
    """The gradient of the mean cross-entropy + |W|^2 / (2 n C) is 0, and a cold start gives the same fit."""
    draw = np.random.default_rng(0)
    features = draw.random((400, 60)) * (draw.random((400, 60)) < 0.15)
    labels = (features[:, 0] + features[:, 1] + draw.normal(0, 0.2, 400) > 0.3).astype(int) + (features[:, 2] > 0.5)
    labels, warm = labels % classes, linear.LOGISTIC.make()
    for value in linear.LOGISTIC.values:
        weight, bias = linear.LOGISTIC.read(warm.set_params(C=value).fit(features, labels))
        errors = softmax(features @ weight + bias, 1) - np.eye(classes)[labels]
        shares = 2 if classes == 2 else 1  # one weight vector w is stored as w/2 and -w/2, so |w|^2 is 2 |W|^2
        gradient = features.T @ errors + shares * weight / value
        assert max(np.abs(gradient).max(), np.abs(errors.sum(0)).max()) / 400 <= 1e-6
        cold = linear.LOGISTIC.make().set_params(C=value).fit(features, labels)
        np.testing.assert_allclose(warm.predict_proba(features), cold.predict_proba(features), atol=1e-4)


def make_scorer(best: float) -> Callable[[float], linear.BestClassifier]:
    """Score a value by its distance from the best one on a logarithmic scale."""
    return lambda value: linear.BestClassifier(
        linear.Columns(np.zeros((1, 2)), np.zeros(2)), {"C": value}, -abs(np.log(value / best))
    )


@pytest.mark.parametrize("best", [0.25 / 4**3, 0.25 / 4, 0.25, 4.0, 16.0, 64.0, 1024.0])
def test_the_range_grows_until_the_best_is_inside(best):
    tried = []

    def fit(value: float) -> linear.BestClassifier:
        tried.append(value)
        return make_scorer(best)(value)

    assert linear._search_values(fit, linear.LOGISTIC).settings == {"C": best}
    assert min(tried) < best < max(tried) and len(tried) <= len(linear.LOGISTIC.values) + 4
    for better, last in ((1e9, 16 * 4.0**linear.MOST_STEPS), (1e-9, 0.25 / 4.0**linear.MOST_STEPS)):
        assert linear._search_values(make_scorer(better), linear.LOGISTIC).settings == {"C": last}
    assert linear._search_values(
        lambda value: linear.BestClassifier(linear.Columns(np.zeros((1, 2)), np.zeros(2)), {"C": value}, 1.0),
        linear.LOGISTIC,
    ).settings == {"C": linear.LOGISTIC.values[0]}, "an equal beyond the end is not taken"


@pytest.mark.slow
@pytest.mark.parametrize("solver", [linear.LOGISTIC, linear.SUPPORT_VECTORS], ids=["logistic", "SVM"])
def test_stronger_models_than_the_listed_ones_are_tried(solver):
    features = np.random.default_rng(0).normal(0, 1, (240, 3)) * [0.01, 1, 1]
    labels = (features[:, 0] > 0).astype(int)
    given = features[:120], labels[:120], features[120:], labels[120:]
    listed = [
        linear.tune_solver(dataclasses.replace(solver, values=(value, value)), *given, classes=2)
        for value in solver.values
    ]
    chosen = linear.tune_solver(solver, *given, classes=2)
    assert chosen.settings["C"] > max(solver.values) and chosen.score > max(each.score for each in listed)
    assert linear.tune_solver(solver, *given, classes=2).settings == chosen.settings


@each_solver
def test_absent_and_constant_labels_get_constant_predictions_and_one_class_is_refused(solver):
    features, labels = EASY[0], 2 * EASY[1]
    chosen = linear.tune_solver(solver, features, labels, features, labels, classes=3)
    logits = chosen.columns.compute_logits(features)
    assert chosen.columns.bias[1] == linear.ABSENT and (np.exp(log_softmax(logits, 1))[:, 1] == 0).all()
    assert (logits.argmax(1) == labels).all()
    features, labels = problem(60, 2, labels=3)
    labels[:, 0], labels[:, 2] = 0, 1
    columns = linear.tune_solver(solver, features, labels, features, labels, classes=3).columns
    assert (columns.bias[0], columns.bias[2]) == (linear.ABSENT, -linear.ABSENT)
    assert not columns.weight[:, [0, 2]].any() and columns.weight[:, 1].any()
    with pytest.raises(DataError, match="one class only"):
        linear.tune_solver(solver, np.ones((3, 1)), np.zeros(3, int), np.ones((0, 1)), np.zeros(0, int), classes=2)
    with pytest.raises(DataError, match="no training text has a label"):
        linear.tune_solver(solver, np.ones((3, 1)), np.zeros((3, 2)), np.ones((0, 1)), np.zeros((0, 2)), classes=2)
    if solver.decisions:
        with pytest.raises(DataError, match="validation split"):
            linear.tune_solver(solver, *EASY, np.ones((0, 2)), np.zeros(0, int), classes=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "known"),
    [
        (linear.LOGISTIC, lambda C: LogisticRegression(C=C)),
        (linear.NAIVE_BAYES, lambda alpha: MultinomialNB(alpha=alpha)),
    ],
)
def test_multi_label_tasks_have_one_classifier_per_label(solver, known):
    features, labels = problem(200, 0, labels=3)
    held, held_labels = problem(80, 1, labels=3)
    chosen = linear.tune_solver(solver, features, labels, held, held_labels, classes=3)
    found = expit(chosen.columns.compute_logits(held))
    expected = [known(**chosen.settings).fit(features, own).predict_proba(held)[:, 1] for own in labels.T]
    np.testing.assert_allclose(found, np.stack(expected, 1), atol=1e-3)
    assert chosen.score == pytest.approx(f1_score(held_labels, found > 0.5, average="macro"))


@pytest.mark.parametrize("labels", [0, 3])
def test_the_scale_minimizes_cross_entropy_and_keeps_predictions(labels):
    features, truth = problem(300, 3, labels)
    plain = linear.tune_solver(linear.SUPPORT_VECTORS, features, truth, features, truth, classes=3)
    scale, logits = plain.settings["scale"], plain.columns.compute_logits(features)

    def cross_entropy(factor: float) -> float:
        n, stretched = len(features), factor * logits
        if labels:
            target = (n * truth + 1) / (n + 2)
            return -(target * log_expit(stretched) + (1 - target) * log_expit(-stretched)).mean()
        return -((n * np.eye(3)[truth] + 1) / (n + 3) * log_softmax(stretched, 1)).sum(1).mean()

    assert cross_entropy(1) < min(cross_entropy(0.99), cross_entropy(1.01))
    raw = logits / scale
    assert (raw.argmax(1) == logits.argmax(1)).all() and ((raw > 0) == (logits > 0)).all()


@pytest.fixture
def tokenizer(tmp_path) -> Tokenizer:
    """Return a tokenizer with eight words of polarity 1 or -1."""
    path = tmp_path / "words.tsv"
    rows = [f"{word}\t{value}" for words, value in ((GOOD, 1), (BAD, -1)) for word in words]
    path.write_text("\n".join(["word\tpolarity", *rows]) + "\n")
    words = " ".join([*GOOD, *BAD, *PLAIN, "film"])
    return fit_tokenizer([words], TextConfig(lexicon=str(path), min_freq=1, max_length=60))


def words_of(rows: int, seed: int, longest: int = 12) -> tuple[list[str], np.ndarray]:
    """Return texts of neutral words and one to three words of a polarity, which is the label."""
    draw = np.random.default_rng(seed)
    labels = np.arange(rows) % 2
    texts = []
    for label in labels:
        words = [*draw.choice(PLAIN, draw.integers(0, longest)), *draw.choice((BAD, GOOD)[label], draw.integers(1, 4))]
        texts.append(" ".join(draw.permutation(words)))
    return texts, labels


def valences(texts: list[str]) -> np.ndarray:
    """Return the sums (n,): an entry of polarity 1 has 2 counts, smoothed 3/5 positive and 1/5 negative."""
    return np.array([sum((word in GOOD) - (word in BAD) for word in text.split()) * 2 / 5 for text in texts])


def test_lexicon_probabilities_equal_a_regression_on_the_sum_for_each_label(tokenizer):
    texts, labels = words_of(80, 0)
    labels = np.where(np.arange(80) % 7 == 0, 1 - labels, labels)  # with noise, so that the optimum is finite
    held, held_labels = words_of(40, 1)
    fit = linear.fit_lexicon(tokenizer, texts, labels, held, held_labels, classes=2)
    assert (fit.settings["feature"], fit.score) == ("sum", 1.0)
    known = LogisticRegression(C=1e4).fit(valences(texts)[:, None], labels)
    found = predict_texts(fit.model, fit.tokenizer, [*held, "", "unheard of"]).probabilities
    np.testing.assert_allclose(found, known.predict_proba(valences([*held, "", "unheard of"])[:, None]), atol=1e-3)
    texts, first = words_of(80, 2)
    labels = np.stack([first, 1 - first, np.zeros(80)], 1)
    fit = linear.fit_lexicon(tokenizer, texts, labels, texts, labels, classes=3)
    found = predict_texts(fit.model, fit.tokenizer, ["good film", "bad film"], task="multi").probabilities
    assert (found > 0.5).tolist() == [[True, False, False], [False, True, False]]


@pytest.mark.parametrize(
    ("feature", "texts"),
    [
        ("mean", [["bad word1", "bad sad word1 word2"], [f"bad {' '.join(PLAIN)}", f"bad sad {' '.join(2 * PLAIN)}"]]),
        ("sum", [["bad word1", "dull word2"], ["bad bad word1 word1", "dull sad word2 word2"]]),
    ],
)
def test_the_lexicon_feature_is_chosen_on_validation(tokenizer, feature, texts):
    """Equal sums with different means, and the reverse."""
    rows, labels = [text for each in texts for text in each] * 10, np.array([0, 0, 1, 1] * 10)
    fit = linear.fit_lexicon(tokenizer, rows, labels, rows, labels, classes=2)
    assert (fit.settings["feature"], fit.score) == (feature, 1.0)
    assert fit.model.weight[1 - ("sum", "mean").index(feature)].eq(0).all()
