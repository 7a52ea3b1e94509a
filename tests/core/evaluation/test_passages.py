"""What is said of a text is the mean of what is said of its passages."""

import numpy as np

from core.evaluation.passages import by_passage
from core.evaluation.predict import Parts, Predictions
from core.interpret.push import log_odds
from core.text.passages import passages
from core.training.scaling import UNSCALED


def counted(texts):
    """Logits, pooled vectors and parts that say how many words a text has, and how many of them are good."""
    rows = [(len(text.split()), text.split().count("good")) for text in texts]
    said = np.array(rows, np.float32).reshape(-1, 2)
    return Predictions(said, said / 100, said.repeat(2, 1), Parts(2 * said, 3 * said))


def test_of_a_text_it_says_the_mean_of_what_it_says_of_the_passages():
    texts = ["good " * 3 + "bad " * 4, "good", "", "bad " * 6]
    read = by_passage(counted, texts, 3)
    assert read.cut == [passages(text, 3) for text in texts]
    np.testing.assert_array_equal(read.each.logits, counted([each for own in read.cut for each in own]).logits)
    found = read.whole
    expected = [counted(passages(text, 3)).logits.mean(0) for text in texts]
    np.testing.assert_allclose(found.logits, expected)
    np.testing.assert_allclose(found.logits[0], [7 / 3, 1.0])
    np.testing.assert_allclose(found.pooled, np.repeat(expected, 2, 1))
    np.testing.assert_allclose(found.parts.network, 2 * np.array(expected))
    assert found.logits.dtype == np.float32


def test_of_three_classes_log_odds_of_two_classes_are_averaged_not_those_of_one_against_the_rest():
    def read(texts):
        logits = np.array([[len(text), text.count("o"), 2 * text.count("a")] for text in texts], np.float32)
        return Predictions(logits, logits, logits).at(UNSCALED, "single")

    found = by_passage(read, ["good bad so bad"], 1).at(UNSCALED, "single")
    whole, each = np.log(found.whole.probabilities[0]), np.log(found.each.probabilities)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        np.testing.assert_allclose(whole[one] - whole[other], (each[:, one] - each[:, other]).mean(), atol=1e-5)
    against_all = log_odds(found.each.probabilities, 0, "single").mean()
    assert abs(log_odds(found.whole.probabilities, 0, "single")[0] - against_all) > 0.01


def test_of_no_text_it_says_nothing():
    assert by_passage(counted, [], 3).whole.logits.shape == (0, 2)
