import json
from collections import Counter
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest
from refused import check_raises
from starters import STARTERS

from core import api
from core.error_analysis import quiz as quizzes
from core.error_analysis.quiz import (
    ask_sentence,
    choose_unanswered,
    compute_probabilities,
    compute_quiz,
    encode_quiz,
    find_flips,
    find_removable_words,
    iterate_subsets,
    locate_file,
    make_quiz,
    order_questions,
    predict_subsets,
)
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.runs.load import load_run
from core.runs.record import EVALUATION, PREDICTIONS
from core.runs.store import RunStore
from core.text.word_spans import remove_words
from core.text.words import split_words

RUN = "starter-tweet-v1-p2"
WEIGHTS = {"good": 2.0, "bad": -3.0, "the": 1.2, "film": 0.1, "never": -0.7, "great": 1.1, "!": 0.4}
TEXTS = ["good the film", "bad good the great film", "never good", "bad bad the", "great never the film good", "film"]


@pytest.fixture(scope="module")
def starter():
    return load_run(RunStore(STARTERS), RUN)


def predict_without(loaded, question, bits):
    """Predict the sentence without the words of some bits, by the ordinary way."""
    gone = [question.words[word] for place, word in enumerate(question.subset) if bits >> place & 1]
    return loaded.predict([remove_words(question.text, gone)]).probabilities[0]


def check_answers(loaded, question):
    """The stored answers are the predictions of the shortened sentences, for some of them."""
    classes = loaded.record.classes
    for bits in (0, 1, 2, 5, (1 << len(question.subset)) - 2):
        chances = predict_without(loaded, question, bits)
        assert compute_probabilities(question.scores, bits) == pytest.approx(chances.tolist(), abs=1e-3)
    assert question.predicted == classes[predict_without(loaded, question, 0).argmax()]
    if question.flip:
        bits = sum(1 << question.subset.index(word) for word in question.flip)
        assert classes[predict_without(loaded, question, bits).argmax()] != question.predicted
    for place, effect in enumerate(question.effects):
        before, after = (
            np.log(chances[classes.index(question.predicted)] / chances[1 - classes.index(question.predicted)])
            for chances in (predict_without(loaded, question, 0), predict_without(loaded, question, 1 << place))
        )
        assert effect == pytest.approx(before - after, abs=2e-3)


@pytest.mark.slow
def test_the_sentences_are_short_clear_of_different_kinds_and_answered_as_always(starter):
    quiz = compute_quiz(RunStore(STARTERS), starter)
    assert Counter(each.right for each in quiz.questions) == {True: 2, False: 3}
    assert len({each.kind for each in quiz.questions}) == 5 and len({each.label for each in quiz.questions}) == 2
    for each in quiz.questions:
        saved = pd.read_parquet(STARTERS / RUN / EVALUATION / each.split / PREDICTIONS).set_index("text").loc[each.text]
        assert (saved["label"], saved["predicted"]) == (each.label, each.predicted)
        assert abs(saved["probability:positive"] - 0.5) >= 0.1
        assert len(each.text.split()) <= 12 and len(each.words) <= 10 and len(each.flip) in (1, 2)
        check_answers(starter, each)
    assert compute_quiz(RunStore(STARTERS), starter) == quiz and {"the", "and", "it"} <= set(quiz.common)
    assert [each.right for each in compute_quiz(RunStore(STARTERS), starter, right=1, wrong=0).questions] == [True]


def test_a_starter_brings_its_quiz_with_the_surest_error_first_and_no_model_is_loaded():
    store = RunStore(STARTERS)
    path = locate_file(store, RUN)
    assert path.parent == STARTERS / RUN / "quiz"
    assert encode_quiz(make_quiz(store, RUN, load=lambda: pytest.fail("the model was loaded"))) == path.read_bytes()
    questions = make_quiz(RunStore(STARTERS), RUN).questions
    first = questions[0]
    assert not first.right and first.flip
    assert first.gap == max(each.gap for each in questions if not each.right and each.flip)
    assert order_questions(reversed(questions)) == list(questions)


@pytest.mark.slow
def test_the_quiz_of_an_own_run_is_made_once_and_again_when_its_file_is_broken(trained, monkeypatch):
    store, calls = RunStore(trained), []
    monkeypatch.setattr(quizzes, "compute_quiz", lambda *given, make=compute_quiz: calls.append(1) or make(*given))
    quiz = make_quiz(store, "finished")
    assert all(each.split == "test" and len(each.words) >= 3 for each in quiz.questions)
    assert quiz.questions and make_quiz(store, "finished") == quiz and calls == [1]
    locate_file(store, "finished").write_text('{"questions": [')
    assert make_quiz(store, "finished") == quiz and calls == [1, 1]
    (trained / "finished" / "quiz").exists() and pytest.fail("it was written into the run")


def test_a_run_that_cannot_have_a_quiz_says_why(trained, paired):
    check_raises(NotAvailable, "two texts", make_quiz, paired, "both")
    check_raises(RunDamaged, r"run\.json", make_quiz, RunStore(trained), "damaged")
    for right, wrong in ((0, 0), (-1, 3), (2, 21)):
        with pytest.raises(InputError, match="from 0 to 20 each, and one sentence at least"):
            make_quiz(RunStore(trained), "finished", right, wrong)


@pytest.mark.slow
def test_a_typed_sentence_is_answered_as_always(starter):
    typed = ask_sentence(starter, "  I cannot say\n that I was bored. ", "positive")
    assert typed.text == "I cannot say that I was bored." and typed.label == "positive"
    check_answers(starter, typed)
    long = ask_sentence(starter, " ".join(["a film that was not so bad and more than good"] * 4))
    assert len(long.words) == 44 and len(long.subset) == 10 and len(long.scores[0]) == 1024
    effects = np.abs(long.effects)
    assert effects[list(long.subset)].min() >= np.sort(effects)[-10] - 1e-9


@pytest.mark.parametrize(
    ("text", "reason"), [("", "no words"), ("?! …", "no words"), ("word " * 61, "61 words; 60 are the maximum")]
)
def test_a_sentence_without_words_or_with_too_many_is_refused(starter, text, reason):
    check_raises(InputError, reason, ask_sentence, starter, text)


def test_words_that_a_run_does_not_know_are_marked(trained):
    typed = ask_sentence(load_run(RunStore(trained), "finished"), "good zyzzyva film qwertz")
    assert [typed.text[slice(*typed.words[place])] for place in typed.unknown] == ["zyzzyva", "qwertz"]


def test_without_a_model_there_are_sentences_with_a_label_and_no_answer():
    questions = choose_unanswered()
    assert len(questions) == 5 and len({each.kind for each in questions}) == 5
    assert {each.label for each in questions} == {"negative", "positive"}
    assert all(each.words and not each.scores and not each.predicted for each in questions)
    assert choose_unanswered() == questions


def test_the_command_gives_what_the_page_shows():
    found = api.quiz(RUN, store=RunStore(STARTERS))
    json.dumps(found, allow_nan=False)
    assert (found["run"], found["classes"]) == (RUN, ["negative", "positive"])
    for each in found["questions"]:
        assert max(each["probabilities"], key=each["probabilities"].get) == each["predicted"]
        assert sum(each["probabilities"].values()) == pytest.approx(1)


def answer(texts):
    """Two classes: the log-odds of the second are the sum of the weights, each as often as its word is there."""
    odds = np.array([sum(WEIGHTS.get(word, 0.0) for word in split_words(text)) for text in texts])
    positive = 1 / (1 + np.exp(-odds))
    return np.stack([1 - positive, positive], 1)


def answer_three(texts):
    """Three classes, of which each has a score of its own."""
    scores = np.array([[text.count("a"), text.count("e"), 0.5 * len(text)] for text in texts], float)
    odds = np.exp(scores - scores.max(1, keepdims=True))
    return odds / odds.sum(1, keepdims=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("After two washes, it fits.", ["After", "two", "washes", "it", "fits"]),
        ("Isn't it well-made, and 50/50?", ["Isn't", "it", "well-made", "and", "50/50"]),
        ("Cute café ☕ — wow!!", ["Cute", "café", "☕", "wow"]),
        ("这部电影很好，我喜欢。", ["这部电影很好", "我喜欢"]),
        ("— !!", []),
    ],
)
def test_words_that_can_be_deleted_are_no_marks_and_a_compound_is_one(text, words):
    assert [text[start:end] for start, end in find_removable_words(text)] == words


def test_a_row_is_the_text_without_the_words_of_its_bits_and_scores_are_log_ratios():
    text = "Never good, the bad film!"
    found = predict_subsets(answer, text)
    assert found.subset == (0, 1, 2, 3, 4) and found.scores.shape == (32, 1)
    for bits, gone in enumerate(iterate_subsets(found.words)):
        left = [word for place, word in enumerate(["never", "good", "the", "bad", "film"]) if not bits >> place & 1]
        expected = sum(WEIGHTS[word] for word in left if word != "never") + WEIGHTS["!"]  # "Never" has no weight
        assert found.scores[bits, 0] == pytest.approx(expected)
        assert answer([remove_words(text, gone)])[0, 1] == pytest.approx(1 / (1 + np.exp(-expected)))
    assert found.predicted == 1
    np.testing.assert_allclose(found.effects, [0, 2.0, 1.2, -3.0, 0.1])  # towards the predicted class
    assert compute_probabilities(found.scores.T.tolist()) == pytest.approx(answer([text])[0].tolist())
    text = "a leaf else where"
    found = predict_subsets(answer_three, text)
    chances = answer_three([remove_words(text, gone) for gone in iterate_subsets(found.words)])
    np.testing.assert_allclose(found.scores, np.log(chances[:, 1:] / chances[:, :1]))
    assert compute_probabilities(found.scores.T.tolist(), 3) == pytest.approx(chances[3].tolist())
    found = predict_subsets(answer, "film good film bad film the film never", most=3)
    assert [found.text[slice(*found.words[place])] for place in found.subset] == ["good", "bad", "the"]
    assert len(found.effects) == 8 and found.scores.shape == (8, 1)


def brute(text, common):
    """Return the size of the smallest flip, and the first of that size."""
    words = find_removable_words(text)
    given = answer([text])[0]
    sets = chain.from_iterable(combinations(range(len(words)), size) for size in (1, 2) if size < len(words))
    flips = []
    for places in sets:
        chances = answer([remove_words(text, [words[place] for place in places])])[0]
        if chances.argmax() != given.argmax():
            dull = sum(text[slice(*words[place])] in common for place in places)
            flips.append((len(places), dull, chances[given.argmax()], places))
    return min(flips)[-1] if flips else ()


@pytest.mark.parametrize("common", [(), ("the", "never"), ("good", "bad")])
def test_the_fewest_deletions_that_flip_are_those_of_brute_force(common):
    found = find_flips(answer, [(text, find_removable_words(text)) for text in TEXTS], common)
    assert found == [brute(text, common) for text in TEXTS] and {len(each) for each in found} == {0, 1, 2}


def test_a_common_word_is_a_reason_only_where_there_is_no_other():
    text = "good the bad film"
    words = find_removable_words(text)
    for common, reason in ((), "good"), (("good",), "the"), (("good", "the", "great"), "good"):
        assert [text[slice(*words[place])] for place in find_flips(answer, [(text, words)], common)[0]] == [reason]
