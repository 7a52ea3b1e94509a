"""Lesson: an explanation can be tested by removing the words that it names. If the answer stays, it is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from core import evaluation, interpret, runs
from core.exceptions import NotAvailable
from core.formatting import number, whole_percent
from core.lazy_imports import numpy as np
from core.lessons import lesson
from core.lessons.lesson import WHOLE, Lesson, LessonChoice, LessonContent, LessonStage, SmallShape, WayOn, find_words
from core.runs.store import RunStore
from core.text.word_spans import remove_words

if TYPE_CHECKING:
    from core.interpret.attribution import ExplainedText
    from core.runs.load import LoadedRun

RUN = "starter-ndt-01-n3"
SPLIT = "everyday"
METHODS = {"attention": "attention in the last layer", "integrated": "integrated gradients"}
"""Explanations A and B: attribution methods, and their names on the page."""
LETTERS = ("A", "B")
LEAST_WORDS = 6
SURE = 0.8  # probability of an answer that is clear enough to fall
SAMPLE = 40  # sentences on which both are tested
FIRST = 2  # words that are removed for the count
ALIKE = 0.05  # probabilities that differ by less count as alike
OPTIONS = ("The one that passes the test", "The other one", "Both", "Neither")


class _TestedSentence:
    """A sentence with two explanations of its answer, and the probability of the answer as their words are removed."""

    def __init__(self, run: LoadedRun, reading: ExplainedText) -> None:
        """Take the attributions of both methods to the predicted class, without marks, which stay with the sentence."""
        self._run, self.text, self._target = run, reading.text, reading.target
        self.answer = reading.reader.classes[reading.target]
        self.spans = find_words(reading.text)
        places = [reading.words.index(span) for span in self.spans]
        signed = [reading.attribute_by(method).pushes[places] for method in METHODS]
        self.pushes = [np.abs(signed[0]), signed[1]]  # attention has no side
        self.orders = [np.argsort(-each, kind="stable").tolist() for each in self.pushes]

    @cached_property
    def curves(self) -> np.ndarray:
        """Return the probability as the first 0, 1, … words of each explanation are removed, (2, 1 + words)."""
        sizes = range(len(self.spans) + 1)
        gone = [[self.spans[place] for place in order[:size]] for order in self.orders for size in sizes]
        found = self._run.predict([remove_words(self.text, each) for each in gone]).probabilities[:, self._target]
        return found.astype(float).reshape(2, -1)

    def average_random(self) -> list[float]:
        """Return the mean probability over all sets of 0, 1, … removed words."""
        sets = np.array(lesson.predict_sets(self._run, self.text, self.spans)) / WHOLE
        sets = sets if self._target else 1 - sets
        sizes = np.array([bits.bit_count() for bits in range(len(sets))])
        return [float(sets[sizes == size].mean()) for size in range(len(self.spans) + 1)]

    @property
    def gaps(self) -> np.ndarray:
        """Return how much lower B is than A after each number of words; negative: A is lower."""
        return self.curves[0] - self.curves[1]

    @property
    def passed(self) -> int:
        """Return the explanation whose words the answer needs more, over all numbers of words."""
        return int(self.gaps.mean() > 0)

    @property
    def step(self) -> int:
        """Return the number of removed words, one to three, after which the explanations differ most."""
        return 1 + int(np.abs(self.gaps[1:4]).argmax())


def build_content(store: RunStore) -> LessonContent:
    """Test two explanations on some sentences; show a sentence where one passes, and one where the other does."""
    run = runs.load.load_run(store, RUN)
    if len(run.record.classes) != 2:
        raise NotAvailable(f"this lesson needs a model with two classes, unlike {RUN}")
    readings = interpret.attribution.iterate_texts(run.make_reader(), _choose_texts(store))
    sentences = [_TestedSentence(run, each) for each in readings]
    first, second = (_choose_sentence(sentences, passed) for passed in (0, 1))
    (good, bad), (later_good, later_bad) = _write_ends(first), _write_ends(second)
    gaps, n = np.array([each.gaps[FIRST] for each in sentences]), len(sentences)
    a, b = int((gaps < -ALIKE).sum()), int((gaps > ALIKE).sum())  # lowered more by A, by B
    low, high = evaluation.intervals.compute_wilson(a, n)
    words, later = _write_number(first.step), _write_number(second.step)
    names = [f"{letter} is {name}" for letter, name in zip(LETTERS, METHODS.values(), strict=True)]
    ask = "Which one names the words that the answer needs?"
    return LessonContent(
        options=OPTIONS,
        questions=tuple(lesson.LessonQuestion(ask, _write_choices(each), each.passed) for each in (first, second)),  # type: ignore[arg-type]
        stages=(
            LessonStage(
                "Two explanations of one answer. Which one do you trust?",
                f"The model says {first.answer} {_write(first.curves[0, 0])}. Longer bar: named as more important.",
                "Test them",
            ),
            LessonStage(
                f"{LETTERS[first.passed]} passes: without its first {words} the answer falls to {good}.",
                "Words are removed, the most important first. What is left of the answer?",
                "Now you remove",
                reason=f"Without the first {words} of {LETTERS[1 - first.passed]} it is {bad}. Test before you trust.",
            ),
            LessonStage("", "The slider removes the first words of A and the first words of B.", "Predict again"),
            LessonStage(
                "Another sentence, the same explanations. Which one do you trust?",
                f"The model says {second.answer} {_write(second.curves[0, 0])}. A is attention again, B gradients.",
                finding=f"Now {LETTERS[second.passed]} passes: without its first {later} it falls to {later_good}.",
                reason=f"Without the first {later} of {LETTERS[1 - second.passed]} it is {later_bad}. "
                "An explanation that was right once can be wrong on the next sentence.",
            ),
        ),
        fact=f"{'; '.join(names)}. In {a} of {n} everyday sentences ({whole_percent(low)} to {whole_percent(high)}) "
        f"the answer needs the first {_write_number(FIRST)} of A more, in {b} those of B.",
        figure={"first": _describe_sentence(first), "second": _describe_sentence(second), "step": first.step},
        tasks=(
            f"“{first.text}” The model says {first.answer}. {_write_tops(first)} Which explanation do you trust? Why?",
            "Draw both curves. Which falls first?",
            f"Remove three words of A, then of B. What is left of {first.answer}?",
            f"“{second.text}” The model says {second.answer}. {_write_tops(second)} Which one do you trust now?",
        ),
        answers=(
            f"{LETTERS[first.passed]}. Without its first {words} the answer falls to {good}; of the other one, {bad}.",
            f"{LETTERS[first.passed]}. {'. '.join(names)}.",
            f"A: {_write(first.curves[0, 3])}. B: {_write(first.curves[1, 3])}.",
            f"{LETTERS[second.passed]}. Without its first {later}: {later_good}; of the other one, {later_bad}.",
        ),
        ways=(
            WayOn("Open the first sentence", "sentence", {"run": RUN, "text": first.text}),
            WayOn("Open this sentence", "sentence", {"run": RUN, "text": second.text}),
        ),
    )


def _choose_texts(store: RunStore) -> list[str]:
    """Return sentences of fitting length with sure answers, evenly over the split."""
    frame = lesson.read_split(store, RUN, SPLIT)
    sure = frame[frame["confidence"] > SURE]["text"]
    fit = [text for text in sure if LEAST_WORDS <= len(find_words(text)) <= lesson.MOST_WORDS]
    return [fit[place] for place in np.linspace(0, len(fit) - 1, min(SAMPLE, len(fit))).astype(int)]


def _choose_sentence(sentences: Sequence[_TestedSentence], passed: int) -> _TestedSentence:
    """Return the sentence on which an explanation passes and is farthest below the other."""
    found = [each for each in sentences if each.passed == passed and each.curves[passed, each.step] < 0.5]
    if not found:
        raise NotAvailable(f"explanation {LETTERS[passed]} passes on no sentence of {RUN}; this lesson needs one")
    return max(found, key=lambda each: abs(each.gaps[each.step]))


def _write_ends(sentence: _TestedSentence) -> tuple[str, str]:
    """Return the answer's probability without the first words of the passing and of the other explanation."""
    left = sentence.curves[:, sentence.step]
    return _write(left[sentence.passed]), _write(left[1 - sentence.passed])


def _write(probability: float) -> str:
    return number(float(probability), 2)


def _write_number(words: int) -> str:
    return "word" if words == 1 else f"{words} words"


def _write_tops(sentence: _TestedSentence) -> str:
    tops = [", ".join(sentence.text[slice(*sentence.spans[place])] for place in order[:3]) for order in sentence.orders]
    return " ".join(f"{letter} names: {top}." for letter, top in zip(LETTERS, tops, strict=True))


def _write_choices(sentence: _TestedSentence) -> list[LessonChoice]:
    good, bad = _write_ends(sentence)
    words, right = _write_number(sentence.step), sentence.passed
    wrong = f"Without its first {words}: {sentence.answer} {bad}. The other one falls to {good}."
    if sentence.curves[1 - right, sentence.step] >= 0.5:
        wrong = f"Without its first {words} the answer is still {sentence.answer} {bad}."
    found = f"You found it. Without its first {words}: {sentence.answer} {good}."
    told = [(int(place != right), found if place == right else wrong) for place in range(len(LETTERS))]
    return [
        *(LessonChoice(f"Explanation {letter}", *each) for letter, each in zip(LETTERS, told, strict=True)),
        LessonChoice("Both", 2, f"They differ. Without the first {words}, one leaves {good}, the other {bad}."),
        LessonChoice("Neither", 3, f"One does. Without the first {words} of {LETTERS[right]}: {good}."),
    ]


def _describe_sentence(sentence: _TestedSentence) -> dict[str, Any]:
    """Return what the page draws: words, weights and orders of both explanations, and the curves."""
    return {
        **lesson.split_text(sentence.text),
        "answer": sentence.answer,
        "weights": [(np.clip(each, 0, None) / each.max()).round(3).tolist() for each in sentence.pushes],
        "orders": sentence.orders,
        "curves": sentence.curves.round(6).tolist(),
        "random": [round(each, 6) for each in sentence.average_random()],
        "passed": sentence.passed,
    }


TRUST = Lesson(
    "trust",
    "Can you trust an explanation?",
    "Remove the words that it names. Does the answer stay?",
    15,
    "",
    plan=(
        (0, "Read the sentence aloud. Everybody chooses an explanation, alone."),
        (3, "Ask one pupil who chose A and one who chose B. Do not comment."),
        (5, "Reveal. Ask what the dashed line means."),
        (8, "Move: remove words one by one. When does each answer fall?"),
        (11, "Same question, new sentence. Compare both answers."),
    ),
    belief="Many believe the explanation that names the words they would choose. The model may need others.",
    small=[
        SmallShape("M6 10C50 12 40 56 132 60", "accent", 1, 2.5),
        SmallShape("M6 10C80 10 96 14 132 50", "right", 1, 2.5),
        SmallShape("M6 64H134M6 64V6", "ink", 0.5, 1.2),
    ],
    build=build_content,
    runs=(RUN,),
)
