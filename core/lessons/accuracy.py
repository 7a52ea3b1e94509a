"""Lesson: a score holds for sentences like the test sentences."""

from typing import Any, NamedTuple

from core import runs
from core.exceptions import NotAvailable
from core.formatting import count, format_plus_minus, number
from core.lessons import lesson
from core.lessons.lesson import Lesson, LessonChoice, LessonContent, LessonQuestion, LessonStage, WayOn, make_box
from core.runs.store import RunStore, list_starters

RUN = "starter-ndt-01-n3"
TEST, HARD = "test", "challenge"
GUESSING = 0.5  # two classes
BARELY = 0.55  # kinds of sentences with at most this share right count as guessed
STEP, FIRST = 5, 30  # of the slider, in sentences of 100
KINDS = {"implicit": "hints", "long-range negation": "distant negation"}  # plainer names of some kinds of sentences


class _Score(NamedTuple):
    accuracy: float
    low: float
    high: float
    rows: int

    @property
    def of_100(self) -> int:
        """Return how many of 100 sentences are right."""
        return round(100 * self.accuracy)

    def describe_error(self) -> str:
        """Format the accuracy with half its interval."""
        return format_plus_minus(self.accuracy, self.low, self.high)


def build_content(store: RunStore) -> LessonContent:
    """Compare a starter run's accuracy on test and on harder sentences, then that of the best run on test."""
    test, hard, kinds = _read_score(store, RUN, TEST), _read_score(store, RUN, HARD), _read_kinds(store, RUN)
    other = _choose_better(store, test.accuracy)
    other_test, other_hard = _read_score(store, other, TEST), _read_score(store, other, HARD)
    top, bottom = 5 * round(20 * test.accuracy), 5 * round(20 * hard.accuracy)
    values = [top, round((top + bottom) / 2), bottom, round(100 * GUESSING)]  # as on test, half the drop, the truth
    low = [kind["name"] for kind in kinds if kind["right"] <= BARELY * kind["n"]]
    labels = [f"about {value}" for value in values[:-1]] + [f"about {values[-1]}: it guesses"]
    guessed = f". On {_join_names(low)} it only guesses" if low else f" instead of {test.of_100}"
    mixed = [_mix_sentences(test, hard, share) for share in range(0, 101, STEP)]
    ask = "Right answers of 100 harder sentences"
    right, again = (_find_nearest(values, each.of_100) for each in (hard, other_hard))
    helped = "did not help here" if other_hard.accuracy <= hard.accuracy else "helped a little"
    return LessonContent(
        options=labels,
        questions=(
            LessonQuestion(ask, _write_choices(labels, values, test, hard, len(kinds) - len(low), len(kinds)), right),
            LessonQuestion(ask, _write_choices(labels, values, other_test, other_hard, 0, 0), again),
        ),
        stages=(
            LessonStage(
                f"{test.of_100} of 100 test sentences right. How many of 100 harder ones?",
                f"Harder: {hard.rows} sentences with irony, hints or double negation.",
                "Reveal",
            ),
            LessonStage(
                f"{hard.of_100} of 100{guessed}.",
                "Each square is one sentence. Grey: right. Coloured: wrong.",
                "Now mix them",
                reason="A test score holds for sentences like the test sentences.",
            ),
            LessonStage("", "100 new sentences. Framed: hard. Coloured: wrong.", "Predict again"),
            LessonStage(
                f"A better model: {other_test.of_100} of 100 on the test set. On the harder ones?",
                f"{other.removeprefix('starter-')} has the best test score of all models here.",
                finding=f"{other_hard.of_100} of 100. A better test score {helped}.",
                reason=f"Accuracy {number(other_test.accuracy)} on the test set, {number(other_hard.accuracy)} on "
                "the harder sentences. Ask which sentences a score was measured on.",
            ),
        ),
        fact=f"Accuracy: {test.describe_error()} on {count(test.rows)} test sentences, "
        f"{hard.describe_error()} on these {count(hard.rows)}.",
        figure={
            "values": values,
            "guessing": 100 * GUESSING,
            "from": 40,
            **_describe_results(test, hard, kinds),
            "mixed": mixed,
            "step": STEP,
            "first": FIRST,
            "mixture": f"Computed from {number(test.accuracy)} and {number(hard.accuracy)}, not measured.",
            "other": _describe_results(other_test, other_hard, _read_kinds(store, other)),
        },
        tasks=(
            f"A model gets {test.of_100} of 100 test sentences right. How many of 100 harder ones? Tick one. Why?",
            "The model gets ____ of 100 right. Three kinds of sentences that are hard for it:",
            "Half of your own texts are hard for it. How many of 100 does it get right?",
            f"Another model gets {other_test.of_100} of 100 test sentences right. How many of 100 harder ones?",
        ),
        answers=(
            labels[right],
            f"{hard.of_100} of 100. Hardest: {_join_names([kind['name'] for kind in kinds[:3]])}.",
            mixed[50 // STEP]["headline"],
            f"{other_hard.of_100} of 100: {labels[again]}.",
        ),
        ways=(
            WayOn("Read the errors", "errors", {"run": RUN, "split": HARD}),
            WayOn("Compare the two models", "compare", {"runs": f"{RUN},{other}", "split": HARD}),
        ),
    )


def _read_score(store: RunStore, run: str, split: str) -> _Score:
    found = lesson.read_metrics(store, run, split)
    low, high = found["intervals"]["accuracy"]
    return _Score(found["metrics"]["accuracy"], low, high, found["n"])


def _choose_better(store: RunStore, accuracy: float) -> str:
    """Return the starter run with the best accuracy on test, which must be better than the given one."""
    names = [path.name for path in list_starters() if path.name != RUN]
    splits = {name: runs.predictions.list_evaluated_splits(store.get_path(name)) for name in names}
    scored = {name: _read_score(store, name, TEST).accuracy for name in names if {TEST, HARD} <= set(splits[name])}
    best = max(scored, key=lambda name: scored[name], default="")
    if not best or scored[best] <= accuracy:
        raise NotAvailable(f"this lesson needs a starter run with a better test score than {RUN}")
    return best


def _read_kinds(store: RunStore, run: str) -> list[dict[str, Any]]:
    """Return the harder sentences by kind, hardest kind first, wrong sentences last; each with the prediction."""
    kinds = []
    for name, rows in lesson.read_split(store, run, HARD).groupby("phenomenon"):
        columns = zip(*(rows[name] for name in ("text", "label", "predicted", "confidence")), strict=True)
        items = [
            {"text": text, "label": label, "predicted": predicted, "ok": label == predicted, "sure": round(sure, 2)}
            for text, label, predicted, sure in columns
        ]
        items.sort(key=lambda item: not item["ok"])
        right = sum(item["ok"] for item in items)
        kinds.append({"name": KINDS.get(str(name), str(name)), "n": len(items), "right": right, "items": items})
    return sorted(kinds, key=lambda kind: (kind["right"] / kind["n"], kind["name"]))


def _describe_results(test: _Score, hard: _Score, kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the page draws of a model: both scores, the kinds of sentences, and its surest error."""
    errors = [item for kind in kinds for item in kind["items"] if not item["ok"]]
    marks = {"test": _describe_mark(test), "hard": _describe_mark(hard)}
    return marks | {"kinds": kinds, "example": max(errors, key=lambda item: float(item["sure"]))}


def _find_nearest(values: list[int], truth: float) -> int:
    return min(range(len(values)), key=lambda place: abs(values[place] - truth))


def _write_choices(
    labels: list[str], values: list[int], test: _Score, hard: _Score, better: int, kinds: int
) -> list[LessonChoice]:
    fell, right = f"It falls from {test.of_100} to {hard.of_100}.", _find_nearest(values, hard.of_100)
    guessed = f"On {better} of {kinds} kinds it does better." if kinds else f"It gets {hard.of_100} right."
    feedback = [
        "You assumed that new sentences are like the test sentences.",
        f"You expected a smaller drop. {fell}",
        f"You expected a larger drop. {fell}",
        f"You expected guessing. {guessed}",
    ]
    said = [feedback[0], *(feedback[1 if value > hard.of_100 else 2] for value in values[1:-1]), feedback[3]]
    said[right] = f"Your answer is right. {fell}"
    return [LessonChoice(label, place, words) for place, (label, words) in enumerate(zip(labels, said, strict=True))]


def _mix_sentences(test: _Score, hard: _Score, share: int) -> dict[str, Any]:
    """Return the expected errors on 100 sentences, `share` of them hard, by kind of sentence, with a finding."""
    accuracy = (test.accuracy * (100 - share) + hard.accuracy * share) / 100
    wrong = round(100 * (1 - accuracy))
    of_hard = min(wrong, round(share * (1 - hard.accuracy)))
    usual = 100 - test.of_100
    return {
        "headline": f"With {share} hard sentences in 100, it gets {100 - wrong} right.",
        "note": f"{wrong} wrong, as on the test set." if wrong == usual else f"{wrong} wrong, on the test set {usual}.",
        "accuracy": 100 * accuracy,
        "wrong": [wrong - of_hard, of_hard],
    }


def _describe_mark(score: _Score) -> dict[str, float]:
    return {"value": 100 * score.accuracy, "low": 100 * score.low, "high": 100 * score.high}


def _join_names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


ACCURACY = Lesson(
    "accuracy",
    "Can you trust accuracy?",
    "A score holds for sentences like the test sentences.",
    10,
    "",
    plan=(
        (0, "Read two of the sentences aloud. Everybody chooses an answer, alone."),
        (2, "Show the first answers. Pairs discuss for one minute."),
        (4, "Reveal. Let them read wrong sentences aloud."),
        (6, "Move the slider. Ask which of their own texts would be hard."),
        (8, "Ask again with the better model. Compare both answers."),
    ),
    belief="Many believe that the score belongs to the model. It belongs to the model and to its test sentences.",
    small=[
        make_box(4 + 13 * column, 3 + 13 * row, 10, 10, *(("wrong",) if column >= 4 + 2 * row else ("right", 0.5)))
        for row in range(5)
        for column in range(10)
    ],
    build=build_content,
    runs=(RUN,),
)
