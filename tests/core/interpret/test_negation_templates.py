import numpy as np
import pytest
from refused import check_raises

from core.evaluation.inference import Predictions
from core.exceptions import InputError
from core.interpret.explain_context import ExplainContext
from core.interpret.negation_templates import (
    FILLER,
    LONGEST,
    MOST_PIECES,
    TEMPLATES,
    FilledTemplate,
    fill_template,
    predict_template,
)
from core.text.config import TextConfig
from core.text.lexicon import VADER, Lexicon
from core.text.ngrams import NGramTokenizer

FAR = 3  # Words over which the toy model carries a `not`


def make_toy(classes=("bad", "so so", "good"), task="single", words=("good", "not", "film")):
    """The last class has 0.2 if `not` is at most so many words before `good`, else 0.7."""

    def predict(texts):
        said = []
        for text in texts:
            words = text.rstrip(".").split()
            near = "not" in words and words.index("good") - words.index("not") <= FAR + 1
            said.append([0.6, 0.2, 0.2] if near else [0.1, 0.2, 0.7])
        found = np.array(said, np.float32)
        return Predictions(np.log(found), found, np.zeros((len(found), 1), np.float32))

    return ExplainContext(predict, None, None, NGramTokenizer(list(words), TextConfig()), classes, task, 1.0)


def test_pieces_are_inserted_with_and_without_the_negation():
    assert fill_template("It was [not] {} good.", "then | in that room ") == (
        FilledTemplate(0, "It was not good.", "It was good."),
        FilledTemplate(1, "It was not then good.", "It was then good."),
        FilledTemplate(4, "It was not then in that room good.", "It was then in that room good."),
    )
    assert [(step.words, step.text, step.without) for step in fill_template("{} good", "a  b", 1)] == [
        (0, "good", None),
        (1, "a good", None),
    ]
    assert fill_template("not{}", "x", 0) == (FilledTemplate(0, "not", None),)


def test_the_curve_rises_where_the_models_reach_ends():
    asked = fill_template("the film was [not] {} good.", " ".join(["so"] * 6))
    found = predict_template(make_toy(), asked, "good")
    assert found.probabilities.tolist() == pytest.approx([0.2] * (FAR + 1) + [0.7] * 3)
    assert found.without.tolist() == pytest.approx([0.7] * 7)
    assert predict_template(make_toy(task="multi"), asked, "bad").probabilities.tolist() == pytest.approx(
        [0.6] * 4 + [0.1] * 3
    )
    assert predict_template(make_toy(), fill_template("not {} good", "so"), "good").without is None


def test_built_in_templates_have_one_place_and_unknown_words_or_classes_are_named():
    lexicon = Lexicon.from_config(TextConfig(lexicon=VADER))
    assert not {word for word in FILLER.split() if word in lexicon.entries}
    for name in TEMPLATES:
        shown = fill_template(name)
        assert shown[0].words == 0 and [step.words for step in shown] == sorted({step.words for step in shown})
        assert not any(set("[]{}") & set(step.text + (step.without or "")) for step in shown)
        assert all(step.without is None or len(step.without) < len(step.text) for step in shown)
    assert (
        predict_template(make_toy(), fill_template("not {} good", "zz qq xx"), "good").note
        == "60 % of the words are unknown to the run."
    )
    with pytest.raises(InputError, match="this run has bad, so so, good"):
        predict_template(make_toy(), fill_template("not good"), "nice")
    check_raises(InputError, "name the class", predict_template, make_toy(), fill_template("not good"), "")


@pytest.mark.parametrize(
    ("text", "insert", "most", "why"),
    [
        ("", "a", None, "mark one place with {}; there is none"),
        ("good", "a", None, "there is none"),
        ("{} good {}", "a", None, "there are 2"),
        ("[not {} good", "a", None, "brackets mark one"),
        ("[not] {} [good]", "a", None, "brackets mark one"),
        ("[ ] {} good", "a", None, "brackets mark one"),
        ("[not {}] good", "a", None, "brackets mark one"),
        ("not {} good", " ", None, "nothing to insert"),
        ("not {} good", " | ", None, "nothing to insert"),
        ("not {} good", "a " * (MOST_PIECES + 1), None, f"at most {MOST_PIECES}"),
        ("not {} good", "a b", 3, "from 0 to 2"),
        ("not {} good", "a b", -1, "from 0 to 2"),
        ("not {} good", "a b", 10**9, "from 0 to 2"),
        ("{}" + "a" * LONGEST, "a", None, "characters"),
    ],
)
def test_invalid_templates_are_refused(text, insert, most, why):
    check_raises(InputError, why, fill_template, text, insert, most)
