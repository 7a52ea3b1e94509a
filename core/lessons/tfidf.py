"""Lesson: TF-IDF counts words and cannot see their order; models that read in order can."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from core import runs
from core.formatting import number
from core.lessons import lesson
from core.lessons.lesson import Lesson, LessonChoice, LessonContent, LessonQuestion, LessonStage, SmallShape, WayOn
from core.papers.reported_results import read_theory
from core.runs.store import RunStore

RUN = "starter-ndt-01-n3"
OPTIONS = ("Exactly the same", "The opposite", "The same class, less sure", "Near 0.5")
CHANCE = 0.5
FOUND = 0.75  # a model with less has not found the rule


def build_content(store: RunStore) -> LessonContent:
    """Ask two pairs of sentences with the same words; show each model's accuracy over the length of a text."""
    run, kept, rule = runs.load.load_run(store, RUN), read_theory("same_words"), read_theory("markov")
    classes, lengths, means = list(run.record.classes), rule["lengths"], rule["means"]
    answers = [run.predict(pair).probabilities[:, 1] for pair in kept["pairs"]]
    pairs = list(map(_describe_pair, kept["pairs"], kept["positive"], answers))
    said, again = (lesson.write_answer(classes, pair["tfidf"][0]) for pair in pairs)
    read, read_again = (
        " and ".join(lesson.write_answer(classes, each) for each in pair["transformer"]) for pair in pairs
    )
    ends = {name: number(shares[-1], 2) for name, shares in means.items()}
    lost = next(n for n, share in zip(lengths, means["window of 8"], strict=True) if share < FOUND)
    first, second = ("“{}” “{}”".format(*pair["texts"]) for pair in pairs)
    ask = "What does TF-IDF predict for the second?"
    return LessonContent(
        options=OPTIONS,
        questions=(
            LessonQuestion(ask, _write_choices("It only has the counts of the words."), 0),
            LessonQuestion(ask, _write_choices("Same words, so the same counts."), 0),
        ),
        stages=(
            LessonStage(
                f"Two sentences have the same words. {ask}",
                f"For the first it predicts {said}. The second is {classes[0]}.",
                "Reveal",
            ),
            LessonStage(
                f"It says exactly the same: {said}.",
                "Bars: the answers of two models. Table: what TF-IDF sees, the counts of the words.",
                "Now you make texts longer",
                reason=f"Same words, same counts, same answer. A transformer reads the order: {read}.",
            ),
            LessonStage(
                "",
                "A rule: positive only if the first word is “not” and the last is “good”. How long may a text be?",
                "Predict again",
            ),
            LessonStage(
                f"Again the same words. {ask}",
                f"For the first it predicts {again}.",
                finding="The same again. No training can change that.",
                reason=f"Counts have no order. The transformer says {read_again}.",
            ),
        ),
        fact=f"Texts of {lengths[-1]} words that end with “good”: TF-IDF {ends['TF-IDF']}, LSTM {ends['LSTM']}, "
        f"transformer {ends['transformer']}. Sentiscope’s own TF-IDF also counts pairs of words: a window of two.",
        figure={
            "classes": classes,
            "pairs": pairs,
            "lengths": lengths,
            "models": [{"name": name, "accuracy": shares} for name, shares in means.items()],
            "chance": CHANCE,
            "found": FOUND,
        },
        tasks=(
            f"{first} TF-IDF predicts {said} for the first. And for the second? Why?",
            "Count each word in both sentences. What do you notice?",
            "From how many words on does a window of 8 only guess? Why?",
            f"{second} TF-IDF predicts {again} for the first. And for the second?",
        ),
        answers=(
            f"The same: {said}.",
            "All counts are equal. Only the order differs, and TF-IDF does not see it.",
            f"From {lost} words on: the first word lies outside the window.",
            f"The same: {again}.",
        ),
        ways=(
            WayOn("See all lengths", "theory", {"experiment": "markov"}),
            WayOn("Open the first sentence", "sentence", {"run": RUN, "text": pairs[0]["texts"][0]}),
        ),
    )


def _describe_pair(texts: Sequence[str], told: Sequence[float], read: Iterable[float]) -> dict[str, Any]:
    """Return what the page draws of a pair: its texts, the counts of their words, and the answers of both models."""
    counts = [Counter(text[start:end].lower() for start, end in lesson.find_words(text)) for text in texts]
    return {
        "texts": texts,
        "counts": [[word, *(each[word] for each in counts)] for word in sorted(counts[0] | counts[1])],
        "tfidf": [round(each, 3) for each in told],
        "transformer": [round(float(each), 3) for each in read],
    }


def _write_choices(why: str) -> list[LessonChoice]:
    feedback = (f"You found it. {why}", f"It cannot tell them apart. {why}", f"Not even that. {why}", why)
    return [LessonChoice(label, place, feedback[place]) for place, label in enumerate(OPTIONS)]


def _draw_small() -> list[SmallShape]:
    shapes = [lesson.make_box(4 + 26 * place, 6, 22, 14, "ink", 0.25 + 0.15 * place) for place in range(5)]
    shapes += [lesson.make_box(4 + 26 * place, 26, 22, 14, "ink", 0.25 + 0.15 * (4 - place)) for place in range(5)]
    return [*shapes, lesson.make_box(4, 52, 86, 10, "accent"), lesson.make_box(92, 52, 42, 10, "wrong", 0.4)]


TFIDF = Lesson(
    "tfidf",
    "What can TF-IDF not see?",
    "It counts words and cannot see their order.",
    10,
    "",
    plan=(
        (0, "Read both sentences aloud. Everybody chooses an answer, alone."),
        (2, "Ask who would choose otherwise if only the words counted. Let them count."),
        (3, "Reveal. Where does the transformer differ?"),
        (5, "Move: make texts longer. Which model is lost first, and why?"),
        (8, "Same question, new pair. Compare both answers."),
    ),
    belief="Many believe that a model reads a sentence. TF-IDF only counts its words.",
    small=_draw_small(),
    build=build_content,
)
