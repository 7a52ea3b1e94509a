import itertools

import numpy as np
import pytest
from refused import check_raises

from core import api
from core.exceptions import NotAvailable
from core.lessons import heads
from core.lessons.heads import RUN, build_content
from core.runs.load import load_run

pytestmark = pytest.mark.slow


def test_the_answers_without_each_head_and_each_set_of_heads_are_those_of_the_model(content, starters):
    for sentence in (content.figure["first"], content.figure["second"]):
        found = api.parts(RUN, sentence["text"], target="positive", store=starters)
        odds = [found["log_odds"] - part["zero"] for part in found["parts"] if part["kind"] == "head"]
        assert sentence["alone"] == pytest.approx(1 / (1 + np.exp(-np.array(odds))), abs=6e-4)
        assert sentence["positive"] == pytest.approx(found["prediction"]["probabilities"]["positive"], abs=6e-4)
    sets, text = content.figure["sets"], content.figure["first"]["text"]
    assert len(sets) == 2**12 and sets[0] == pytest.approx(1000 * content.figure["first"]["positive"], abs=1)
    for places in ((5,), (10, 11), (0, 4, 8), range(12)):
        edit = ",".join(f"h{place // 4 + 1}.{place % 4 + 1}" for place in places)
        without = api.inspect(RUN, text, edit=edit, store=starters)["prediction"]["probabilities"]["positive"]
        assert sets[sum(1 << at for at in places)] == pytest.approx(1000 * without, abs=0.6)


def test_one_head_alone_flips_the_right_and_the_wrong_answer(content, starters):
    labels = dict(api.runs_predictions(RUN, "challenge", store=starters)[["text", "label"]].itertuples(index=False))
    rights = []
    for sentence in (content.figure["first"], content.figure["second"]):
        flips = [place for place, p in enumerate(sentence["alone"]) if (p >= 0.5) != (sentence["positive"] >= 0.5)]
        assert flips == [content.figure["right"]]
        rights.append((sentence["positive"] >= 0.5) == (labels[sentence["text"]] == "positive"))
        assert len(sentence["text"].split()) <= heads.MOST_WORDS
    assert rights == [True, False]
    assert [question.right for question in content.questions] == [content.figure["right"]] * 2


def test_the_other_way_is_the_smallest_without_the_deciding_head(content):
    sets, right = content.figure["sets"], content.figure["right"]
    others = [place for place in range(12) if place != right]
    flipping = {
        size: [
            each
            for each in itertools.combinations(others, size)
            if (sets[sum(1 << place for place in each)] >= 500) != (sets[0] >= 500)
        ]
        for size in (1, 2)
    }
    assert not flipping[1] and flipping[2] and "You need 2 other heads." in content.stages[2].line
    assert tuple([place for place in range(12) if content.figure["names"][place] in content.answers[2]]) in flipping[2]


def test_the_counts_in_the_fact_are_those_of_all_sentences(content, starters):
    frame = api.runs_predictions(RUN, "challenge", store=starters)
    run, right = load_run(starters, RUN), content.figure["right"]
    dark = next(place for place in content.figure["first"]["dark"] if place != right)
    numbers = []
    for place in (right, dark):
        off = heads._Heads(3, 4).switch_off([place])
        for rows in (frame[frame["phenomenon"].str.contains("negation")], frame[frame["phenomenon"] == "plain"]):
            now = run.predict(rows["text"].tolist(), intervene=off).probabilities[:, 1] >= 0.5
            numbers.append((int((now != (rows["predicted"] == "positive")).sum()), len(rows)))
    (a, n), (b, m), (c, _), (d, _) = numbers
    name, other = content.figure["names"][right], content.figure["names"][dark]
    assert content.fact == (
        f"Without {name}, {a} of {n} sentences with a negation flip, and {b} of {m} plain ones. "
        f"Without {other}: {c} and {d}."
    )


def test_maps_are_those_of_the_model_and_the_darkest_come_first(content, starters):
    view = api.sentence(RUN, content.figure["first"]["text"], starters)
    first = content.figure["first"]
    for place, (layer, head) in enumerate(itertools.product(range(3), range(4))):
        assert np.array(first["maps"][place]) == pytest.approx(view.layers[layer].combined[head], abs=0.0101)
    assert first["tokens"] == list(view.tokens)
    ink = [np.abs(np.array(each)).max(1).mean() for each in first["maps"]]
    assert min(ink[place] for place in first["dark"]) >= max(ink[k] for k in range(12) if k not in first["dark"]) - 0.01


def test_choices_count_as_the_row_that_describes_them(content):
    right, dark = content.figure["right"], content.figure["first"]["dark"]
    for place, choice in enumerate(content.questions[0].choices):
        row = 0 if place == right else 1 if place in dark else 2 if place < 4 else 3
        assert (choice.option, choice.label.lower()) == (row, content.figure["names"][place])
    other = next(choice for choice in content.questions[0].choices if choice.option == 3)
    assert "the answer moves by only 0." in other.feedback
    assert {choice.option for choice in content.questions[0].choices} == {0, 1, 2, 3}
    assert all("Still wrong" in c.feedback for k, c in enumerate(content.questions[1].choices) if k != right)


def test_a_model_that_no_head_decides_or_with_too_many_is_refused(starters, monkeypatch):
    monkeypatch.setattr(heads, "CLEAR", 0.499)
    check_raises(NotAvailable, "no head of starter-ndt-01-n3 decides", build_content, starters)
    monkeypatch.setattr(heads, "MOST_HEADS", 8)
    check_raises(NotAvailable, "at most 8 heads", build_content, starters)
