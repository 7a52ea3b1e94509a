import itertools

import pytest

from core import api
from core.evaluation.intervals import compute_wilson
from core.exceptions import NotAvailable
from core.interpret.attribution import explain_text
from core.lessons import word
from core.lessons.lesson import WHOLE, find_flips, find_words, join_words
from core.lessons.word import RUN, SAMPLE, build_content
from core.runs.load import load_run
from core.text.word_spans import remove_words

pytestmark = pytest.mark.slow


def to_bits(places):
    return sum(1 << place for place in places)


def say_positive(starters, *texts):
    return load_run(starters, RUN).predict(list(texts)).probabilities[:, 1].tolist()


def test_words_have_letters_or_digits_and_a_smallest_set_that_flips_is_found_if_there_is_one():
    text = "It's 5 o'clock, isn't it?!"
    assert [text[start:end] for start, end in find_words(text)] == ["It's", "5", "o'clock", "isn't", "it"]
    assert [join_words(words) for words in ("a", "ab", "abc")] == ["“a”", "“a” and “b”", "“a”, “b” and “c”"]
    sets = [900_000] * 8
    assert find_flips(sets, [0, 1, 2]) is None
    sets[to_bits([0, 1])], sets[to_bits([1, 2])], sets[7] = 400_000, 100_000, 10
    assert find_flips(sets, [0, 1, 2]) == (1, 2) and find_flips(sets, [0, 1]) == (0, 1)
    assert find_flips(sets, [2]) is None


def test_the_answer_without_each_word_is_that_of_the_sentence_typed_without_it(content, starters):
    first, second = content.figure["first"], content.figure["second"]
    assert (
        second["text"] == "".join(map("".join, zip(second["before"], second["words"], strict=True))) + second["after"]
    )
    shorter = [first["text"], "no , kind people, all done before lunch", "queue, kind people, all done before lunch"]
    assert first["text"] == "no queue, kind people, all done before lunch", "else type the words anew"
    expected = [first["positive"], first["alone"][1], first["alone"][0]]
    assert say_positive(starters, *shorter) == pytest.approx(expected, abs=6e-6)
    told = content.figure["sets"][to_bits([2, 7])] / WHOLE
    assert say_positive(starters, "no queue, people, all done before") == pytest.approx([told], abs=6e-6)


def test_one_word_alone_flips_a_right_and_a_wrong_answer_and_another_is_read_most(content, starters):
    for sentence, question in zip((content.figure["first"], content.figure["second"]), content.questions, strict=True):
        flips = [place for place, p in enumerate(sentence["alone"]) if (p >= 0.5) != (sentence["positive"] >= 0.5)]
        assert flips == [sentence["deciding"]] == [question.right] and sentence["most"] not in flips
        words = api.explain(RUN, sentence["text"], method="attention", store=starters)["words"]
        assert max(words, key=lambda each: abs(each["push"]))["word"] == sentence["words"][sentence["most"]]
        assert sum(sentence["attention"]) == pytest.approx(1, abs=5e-3)
    frame = api.runs_predictions(RUN, word.SPLIT, store=starters).set_index("text")
    first, second = (frame.loc[content.figure[name]["text"]] for name in ("first", "second"))
    assert first["label"] == first["predicted"] and second["label"] != second["predicted"]


def test_the_words_of_the_other_way_are_the_fewest_and_test_sentences_counted_one_by_one(content, starters):
    figure = content.figure
    others = [place for place in range(len(figure["first"]["words"])) if place != figure["first"]["deciding"]]
    sizes = [
        size
        for size in range(1, len(others) + 1)
        for places in itertools.combinations(others, size)
        if (figure["sets"][to_bits(places)] >= WHOLE / 2) != (figure["sets"][0] >= WHOLE / 2)
    ]
    assert figure["flips"] and f"You need {min(sizes)} other words." in content.stages[2].line
    texts = api.runs_predictions(RUN, "test", store=starters)["text"].tolist()
    texts, same = texts[:: len(texts) // SAMPLE], 0
    for text in texts:
        spans = find_words(text)
        whole, *without = say_positive(starters, text, *(remove_words(text, [span]) for span in spans))
        explained = explain_text(load_run(starters, RUN).make_reader(), text, "attention")
        read = {(each.start, each.end): each.push for each in explained.words}
        moved = [abs(p - whole) for p in without]
        same += max(spans, key=read.__getitem__) == spans[moved.index(max(moved))]
    low, high = compute_wilson(same, len(texts))
    assert f"In {same} of {len(texts)} test sentences ({100 * low:.0f} % to {100 * high:.0f} %)" in content.fact


def test_every_kind_of_word_gets_its_feedback(content):
    (first, _), figure = content.questions, content.figure["first"]
    assert first.choices[figure["deciding"]].option == 0 and first.choices[figure["most"]].option == 1
    for place, choice in enumerate(first.choices):
        moved = abs(figure["alone"][place] - figure["positive"])
        if choice.option > 1:
            assert (choice.option == 3) == (moved < word.LITTLE)
            kept = max(figure["alone"][place], 1 - figure["alone"][place])
            said = "it hardly changes:" if moved < word.LITTLE else "the model still says"
            assert choice.feedback.endswith(f"{said} positive {kept:.2f}.")


def test_a_run_without_such_sentences_is_not_enough(starters, monkeypatch):
    monkeypatch.setattr(word, "CLEAR", 0.49)
    with pytest.raises(NotAvailable, match="no single word decides a right and a wrong sentence of starter-ndt-01-n3"):
        build_content(starters)
