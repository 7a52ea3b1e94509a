import numpy as np
import pytest

from core import api
from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.interpret.attribution import explain_text
from core.lessons import trust
from core.lessons.lesson import find_words
from core.lessons.trust import ALIKE, FIRST, LETTERS, METHODS, RUN, build_content
from core.runs.load import load_run
from core.text.word_spans import remove_words

pytestmark = pytest.mark.slow


def draw_curve(run, text, method):
    """The order of a method's words, and the probability of the answer as they are removed one by one."""
    found, spans = explain_text(run.make_reader(), text, method), find_words(text)
    push = {(each.start, each.end): each.push for each in found.words}
    order = sorted(range(len(spans)), key=lambda place: -push[spans[place]])
    texts = [remove_words(text, [spans[place] for place in order[:size]]) for size in range(len(spans) + 1)]
    return order, run.predict(texts).probabilities[:, run.record.classes.index(found.target)]


def test_curves_are_those_of_the_sentence_without_its_words_and_random_ones_their_mean(content, starters):
    run = load_run(starters, RUN)
    for name in ("first", "second"):
        sentence = content.figure[name]
        for place, method in enumerate(METHODS):
            order, curve = draw_curve(run, sentence["text"], method)
            assert sentence["orders"][place] == order
            assert sentence["curves"][place] == pytest.approx(curve.tolist(), abs=1e-5)
            assert sentence["weights"][place][order[0]] == 1 and min(sentence["weights"][place]) >= 0
    sentence = content.figure["first"]
    spans = find_words(sentence["text"])
    run = load_run(starters, RUN)
    alone = run.predict([remove_words(sentence["text"], [span]) for span in spans]).probabilities
    mean = alone[:, run.record.classes.index(sentence["answer"])].mean()
    assert sentence["random"][1] == pytest.approx(mean, abs=1e-5)
    assert sentence["random"][0] == pytest.approx(sentence["curves"][0][0], abs=1e-5)
    assert sentence["random"][-1] == pytest.approx(sentence["curves"][1][-1], abs=1e-5)


def test_each_explanation_passes_once_and_the_words_say_so(content):
    for name, question in zip(("first", "second"), content.questions, strict=True):
        sentence = content.figure[name]
        assert sentence["passed"] == question.right == int(np.mean(sentence["curves"], axis=1).argmin())
    assert [content.figure[name]["passed"] for name in ("first", "second")] == [0, 1]
    first, step = content.figure["first"], content.figure["step"]
    good, bad = (f"{first['curves'][place][step]:.2f}" for place in (0, 1))
    assert content.stages[1].headline.startswith("A passes") and content.stages[1].headline.endswith(f"to {good}.")
    assert f"of B it is {bad}." in content.stages[1].reason and float(good) < 0.5 < float(bad)
    assert content.questions[0].choices[1].feedback.endswith(f"{bad}.")


def test_sentences_are_counted_one_by_one(content, starters):
    run, counts = load_run(starters, RUN), [0, 0]
    texts = trust._choose_texts(starters)
    for text in texts:
        a, b = (draw_curve(run, text, method)[1][FIRST] for method in METHODS)
        counts[0] += a < b - ALIKE
        counts[1] += b < a - ALIKE
    low, high = compute_wilson(counts[0], len(texts))
    assert len(texts) == trust.SAMPLE and len({*texts}) == len(texts)
    assert f"In {counts[0]} of 40 everyday sentences ({100 * low:.0f} % to {100 * high:.0f} %) " in content.fact
    assert f"2 words of A more, in {counts[1]} those of B." in content.fact
    assert {*texts} <= {*api.runs_predictions(RUN, trust.SPLIT, store=starters)["text"]}


def test_an_explanation_that_never_passes_is_named(starters, monkeypatch):
    monkeypatch.setattr(trust, "SAMPLE", 1)
    with pytest.raises(NotAvailable, match=f"explanation [{''.join(LETTERS)}] passes on no sentence of {RUN}"):
        build_content(starters)
