"""Lesson: one word can decide an answer, and it need not be the word with most attention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from core import evaluation, interpret, runs
from core.exceptions import NotAvailable
from core.formatting import whole_percent
from core.lazy_imports import numpy as np
from core.lessons import lesson
from core.lessons.lesson import LessonChoice, LessonContent, LessonStage, WayOn, find_words, read_split, write_answer
from core.runs.store import RunStore

if TYPE_CHECKING:
    import pandas as pd

    from core.interpret.attribution import ExplainedText
    from core.runs.load import LoadedRun

RUN = "starter-ndt-01-n3"
SPLIT, COUNTED = "everyday", "test"
LEAST_WORDS = 5
MOST_OTHERS = 3
CLEAR = 0.15  # from 0.5: answers that are nearer are no clear ones
SAMPLE = 100  # about so many test sentences are counted
LITTLE = 0.05  # a word that moves the probability by less has almost no effect
OPTIONS = ("The deciding word", "The word with most attention", "Another word with an effect", "A word with no effect")


class _WordEffects:
    """A sentence with its words' attention and the probability of the positive class with and without each word."""

    def __init__(self, reading: ExplainedText, label: str = "") -> None:
        """Take the answers of a reading, without those about marks, which stay with the sentence."""
        self.text, self.label, self._reading = reading.text, label, reading
        self.spans = find_words(reading.text)
        self.words = [reading.text[start:end] for start, end in self.spans]
        self._places = [reading.words.index(span) for span in self.spans]
        positive = reading.said.probabilities[:, 1].astype(float)
        self.positive, self.alone = float(positive[0]), positive[1:][self._places]  # (words,)
        self.predicted = reading.reader.classes[int(self.positive >= 0.5)]

    @cached_property
    def attention(self) -> np.ndarray:
        """Return how much each word is read in the last layer, as shares of all words, (words,)."""
        found = np.abs(self._reading.attribute_by("attention").pushes)[self._places]
        return found / max(found.sum(), np.finfo(float).tiny)

    @property
    def flips(self) -> np.ndarray:
        """Return the places of the words without which the answer is the other one."""
        return np.flatnonzero((self.alone >= 0.5) != (self.positive >= 0.5))

    @property
    def clarity(self) -> float:
        """Return how far from 0.5 the answer is, with all words and without the deciding one, the smaller distance."""
        return float(np.abs(np.array([self.positive, self.alone[self.deciding]]) - 0.5).min())

    @property
    def deciding(self) -> int:
        """Return the place of the word whose removal changes the answer most."""
        return int(np.abs(self.alone - self.positive).argmax())

    @property
    def read_most(self) -> int:
        """Return the place of the word with most attention."""
        return int(self.attention.argmax())


def build_content(store: RunStore) -> LessonContent:
    """Find a right and a wrong answer that hang on one word, another than the most read one, and remove all sets."""
    run, frame = runs.load.load_run(store, RUN), read_split(store, RUN, SPLIT)
    classes = list(run.record.classes)
    if len(classes) != 2:
        raise NotAvailable(f"this lesson needs a model with two classes, unlike {RUN}")
    first, second = _choose_sentences(run, frame)
    sets, other_way = lesson.predict_sets(run, first.text, first.spans), _find_other_way(run, first)
    right, again = first.deciding, second.deciding
    same, counted, chance = _count_same(run, read_split(store, RUN, COUNTED)["text"].tolist())
    low, high = evaluation.intervals.compute_wilson(same, counted)
    word, read = f"“{first.words[right]}”", f"“{first.words[first.read_most]}”"
    told, fixed = write_answer(classes, first.positive), write_answer(classes, second.alone[again])
    flipped, read_alone = (write_answer(classes, first.alone[place]) for place in (right, first.read_most))
    ask, opposite = "Which word decides this answer?", classes[int(first.positive < 0.5)]
    needed, example = f"As long as {word} stays, nothing flips it.", "No other words flip it."
    if other_way is not None:
        needed = f"You need {len(other_way)} other word{'s' if len(other_way) > 1 else ''}."
        example = f"For example {lesson.join_words([first.words[place] for place in other_way])}."
    also = f"Without “{second.words[second.read_most]}”: {write_answer(classes, second.alone[second.read_most])}."
    return LessonContent(
        options=OPTIONS,
        questions=(
            lesson.LessonQuestion(ask, _write_choices(first, classes), right),
            lesson.LessonQuestion(ask, _write_choices(second, classes), again),
        ),
        stages=(
            LessonStage(ask, f"The model says {told}. Without one word it says {opposite}.", "Reveal"),
            LessonStage(
                f"Without {word} the answer flips.",
                f"Coloured bars: probability of {classes[1]} without the word. Dark bars: attention.",
                "Now you remove",
                reason=f"{read} gets most attention. Without it: {read_alone}.",
            ),
            LessonStage(f"Flip the answer, and keep {word}.", f"Click words to remove them. {needed}", "Predict again"),
            LessonStage(
                "This answer is wrong. Which word decides it?",
                f"The writer means {second.label}. The model says {write_answer(classes, second.positive)}.",
                finding=f"“{second.words[again]}” decides. Without it: {fixed}.",
                reason=f"“{second.words[second.read_most]}” gets most attention. {also} Attention need not decide.",
            ),
        ),
        fact=f"In {same} of {counted} test sentences ({whole_percent(low)} to {whole_percent(high)}) "
        f"the word with most attention also has the largest effect. A random word would in {round(chance)}.",
        figure={
            "classes": classes,
            "first": _describe_sentence(first),
            "second": _describe_sentence(second),
            "sets": sets,
            "flips": other_way is not None,
        },
        tasks=(
            f"“{first.text}” The model says {told}. Without one word it says the opposite. Ring it. Why this one?",
            "The deciding word is ____. The word with most attention is ____.",
            f"Flip the answer, and keep {word}. Which words did you remove?",
            f"“{second.text}” The model says {second.predicted}. Which word decides? What happens without it?",
        ),
        answers=(
            f"{word}. Without it: {flipped}.",
            f"Deciding: {word}. Most attention: {read}.",
            example,
            f"“{second.words[again]}”. Without it: {fixed}.",
        ),
        ways=(
            WayOn("Open the first sentence", "sentence", {"run": RUN, "text": first.text}),
            WayOn("Open this sentence", "sentence", {"run": RUN, "text": second.text}),
        ),
    )


def _choose_sentences(run: LoadedRun, frame: pd.DataFrame) -> tuple[_WordEffects, _WordEffects]:
    """Return a right and a wrong answer that one word flips alone, not the word with most attention; clearest first."""
    frame = frame[[LEAST_WORDS <= len(find_words(text)) <= lesson.MOST_WORDS for text in frame["text"]]]
    sentences = _read_sentences(run, frame["text"].tolist(), frame["label"].tolist())
    chosen, without_way = dict[bool, _WordEffects](), dict[bool, _WordEffects]()
    for each in sorted(sentences, key=lambda each: -each.clarity):
        right = each.label == each.predicted
        decided = each.clarity > CLEAR and each.flips.tolist() == [each.deciding]
        if right not in chosen and decided and each.read_most != each.deciding:
            # The answer to the first sentence should also flip without a few other words.
            way = _find_other_way(run, each) if right else ()
            (without_way if way is None or len(way) > MOST_OTHERS else chosen).setdefault(right, each)
    chosen = without_way | chosen
    if len(chosen) < 2:
        raise NotAvailable(f"no single word decides a right and a wrong sentence of {RUN}; this lesson needs both")
    return chosen[True], chosen[False]


def _find_other_way(run: LoadedRun, sentence: _WordEffects) -> tuple[int, ...] | None:
    others = [place for place in range(len(sentence.words)) if place != sentence.deciding]
    return lesson.find_flips(lesson.predict_sets(run, sentence.text, sentence.spans), others)


def _read_sentences(run: LoadedRun, texts: Sequence[str], labels: Sequence[str]) -> list[_WordEffects]:
    readings = interpret.attribution.iterate_texts(run.make_reader(), texts, [run.record.classes[1]] * len(texts))
    return [_WordEffects(reading, label) for reading, label in zip(readings, labels, strict=True)]


def _count_same(run: LoadedRun, texts: Sequence[str]) -> tuple[int, int, float]:
    """Count sentences whose most read word also has the largest effect; also how many, and how many by chance."""
    texts = [text for text in texts[:: max(1, len(texts) // SAMPLE)] if len(find_words(text)) > 1]
    sentences = _read_sentences(run, texts, texts)
    same = sum(each.read_most == each.deciding for each in sentences)
    return same, len(sentences), sum(1 / len(each.words) for each in sentences)


def _describe_sentence(sentence: _WordEffects) -> dict[str, Any]:
    """Return what the page draws: the words, answers without each, and attention."""
    return {
        **lesson.split_text(sentence.text),
        "positive": round(sentence.positive, 6),
        "alone": [round(float(each), 6) for each in sentence.alone],
        "attention": [round(float(each), 3) for each in sentence.attention],
        "deciding": sentence.deciding,
        "most": sentence.read_most,
    }


def _write_choices(sentence: _WordEffects, classes: Sequence[str]) -> list[LessonChoice]:
    choices = []
    for place, (word, alone) in enumerate(zip(sentence.words, sentence.alone, strict=True)):
        moved, without = abs(float(alone) - sentence.positive), f"Without it: {write_answer(classes, alone)}."
        option = 0 if place == sentence.deciding else 1 if place == sentence.read_most else 2 + (moved < LITTLE)
        feedback = (
            f"You found it. {without}",
            f"You chose the word with most attention. {without}",
            f"Without “{word}” the model still says {write_answer(classes, alone)}.",
            f"Without “{word}” it hardly changes: {write_answer(classes, alone)}.",
        )[option]
        choices.append(LessonChoice(word, option, feedback))
    return choices


WORD = lesson.Lesson(
    "word",
    "Which word decides?",
    "It need not be the word with most attention.",
    10,
    "",
    plan=(
        (0, "Read the sentence aloud. Everybody chooses a word, alone."),
        (2, "Ask two pupils why they chose it. Do not comment."),
        (3, "Reveal. Ask who chose the word with most attention."),
        (5, "Move: flip the answer and keep the deciding word."),
        (8, "Same question, new sentence. Compare both answers."),
    ),
    belief="Many believe that the word with most attention decides. Attention does not show what the answer needs.",
    small=[
        lesson.make_box(x, y, width, 13, *(("accent",) if (x, y) == (44, 28) else ("right", 0.4)))
        for y, row in (
            (6, ((4, 26), (34, 46), (84, 20), (108, 26))),
            (28, ((4, 36), (44, 30), (78, 50))),
            (50, ((4, 22), (30, 40), (74, 24))),
        )
        for x, width in row
    ],
    build=build_content,
    runs=(RUN,),
)
