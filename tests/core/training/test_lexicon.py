"""The lexicon baseline from a file of words to probabilities."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from core.evaluation.predict import predict_texts
from core.text.config import TextConfig
from core.text.tokenizer import Tokenizer
from core.text.tokenizers import fit_tokenizer
from core.training.linear import fit_lexicon

GOOD, BAD = "fine good great lovely".split(), "bad dull poor sad".split()
PLAIN = [f"word{number}" for number in range(20)]


@pytest.fixture
def tokenizer(tmp_path) -> Tokenizer:
    """A vocabulary in which eight words have a polarity of 1 or -1."""
    path = tmp_path / "words.tsv"
    rows = [f"{word}\t{value}" for words, value in ((GOOD, 1), (BAD, -1)) for word in words]
    path.write_text("\n".join(["word\tpolarity", *rows]) + "\n")
    words = " ".join([*GOOD, *BAD, *PLAIN, "film"])
    return fit_tokenizer([words], TextConfig(lexicon=str(path), min_freq=1, max_length=60))


def corpus(rows: int, seed: int, longest: int = 12) -> tuple[list[str], np.ndarray]:
    """Texts of plain words with one to three of one polarity among them, which is their label."""
    draw = np.random.default_rng(seed)
    labels = np.arange(rows) % 2
    texts = []
    for label in labels:
        words = [*draw.choice(PLAIN, draw.integers(0, longest)), *draw.choice((BAD, GOOD)[label], draw.integers(1, 4))]
        texts.append(" ".join(draw.permutation(words)))
    return texts, labels


def valences(texts: list[str]) -> np.ndarray:
    """(n,): an entry of polarity 1 counts 2, smoothed 3 of 5 positive and 1 of 5 negative."""
    return np.array([sum((word in GOOD) - (word in BAD) for word in text.split()) * 2 / 5 for text in texts])


def test_probabilities_are_those_of_a_regression_on_the_sum(tokenizer):
    texts, labels = corpus(80, 0)
    labels = np.where(np.arange(80) % 7 == 0, 1 - labels, labels)  # some noise, so that the optimum is an inner one
    held, held_labels = corpus(40, 1)
    fit = fit_lexicon(tokenizer, texts, labels, held, held_labels, classes=2)
    assert (fit.settings["feature"], fit.score) == ("sum", 1.0)
    known = LogisticRegression(C=1e4).fit(valences(texts)[:, None], labels)
    found = predict_texts(fit.model, fit.tokenizer, [*held, "", "unheard of"]).probabilities
    expected = known.predict_proba(valences([*held, "", "unheard of"])[:, None])
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("feature", "texts"),
    [
        ("mean", [["bad word1", "bad sad word1 word2"], [f"bad {' '.join(PLAIN)}", f"bad sad {' '.join(2 * PLAIN)}"]]),
        ("sum", [["bad word1", "dull word2"], ["bad bad word1 word1", "dull sad word2 word2"]]),
    ],
)
def test_the_feature_is_the_one_that_tells_the_classes_apart_on_validation(tokenizer, feature, texts):
    """The same sums with other means, and the other way round."""
    rows, labels = [text for each in texts for text in each] * 10, np.array([0, 0, 1, 1] * 10)
    fit = fit_lexicon(tokenizer, rows, labels, rows, labels, classes=2)
    assert (fit.settings["feature"], fit.score) == (feature, 1.0)
    assert fit.model.weight[1 - ("sum", "mean").index(feature)].eq(0).all()


def test_several_labels_are_one_regression_each(tokenizer):
    texts, first = corpus(80, 2)
    labels = np.stack([first, 1 - first, np.zeros(80)], 1)
    fit = fit_lexicon(tokenizer, texts, labels, texts, labels, classes=3)
    found = predict_texts(fit.model, fit.tokenizer, ["good film", "bad film"], task="multi").probabilities
    assert (found > 0.5).tolist() == [[True, False, False], [False, True, False]]
