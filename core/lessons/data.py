"""Lesson: a model knows what its sentences taught it. Few are learned by heart; many teach words first, then “not”."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core import evaluation
from core.formatting import count, number
from core.lessons import lesson
from core.lessons.lesson import Lesson, LessonChoice, LessonContent, LessonQuestion, LessonStage, SmallShape, WayOn
from core.runs.store import RunStore

FILE = Path(__file__).with_name("recorded_training.json")
PRESET = "vanilla"
SETTINGS: dict[str, dict[str, Any]] = {
    "few": {"data.limit": 500, "training.epochs": 40, "training.patience": 0},
    "many": {"data.limit": 0, "training.epochs": 10, "training.patience": 0},
}
"""Of each training, by name; all else is as in the preset."""
MEASURED = 400  # sentences of training and of validation whose answers are counted
PROBES = (
    "The soup was delicious.",
    "The soup was not delicious.",
    "The soup was awful.",
    "The soup was not awful.",
    "I enjoyed the concert.",
    "I did not enjoy the concert.",
)
"""Sentences that the model was asked on the way; none is in the corpus."""
MEANT = ("positive", "negative", "negative", "positive", "positive", "negative")
"""The class that the writer of each probe means."""
CLASSES = ("negative", "positive")  # of the built-in corpus, in label order
ASKED = (0, 1)  # the probe of the first and of the second question
SURE = 0.9
OPTIONS = ("Negative, and sure", "Negative, not sure", "Positive, not sure", "Positive, and sure")


def read_records() -> dict[str, Any]:
    """Return the records by name of the training."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def build_content(store: RunStore) -> LessonContent:
    """Read two recorded trainings; ask about a sentence after few sentences, and about its negation after many."""
    records = read_records()
    few, many = records["few"], records["many"]
    ends = [each["steps"][-1] for each in (few, many)]
    answers = [end["answers"][probe] for end, probe in zip(ends, ASKED, strict=True)]
    told, later = (lesson.write_answer(CLASSES, each) for each in answers)
    unknown = lesson.join_words(few["unknown"][ASKED[0]])
    first, second = (PROBES[probe] for probe in ASKED)
    word, negation = (_find_learned(many["steps"], probe) for probe in ASKED)
    sure = " It is sure all the same." if _is_sure(answers[0]) else ""
    rows, all_rows, epochs = count(few["rows"]), count(many["rows"]), SETTINGS["few"]["training.epochs"]
    known, fresh = (number(ends[0][name], 2) for name in ("known", "fresh"))
    low, high = evaluation.intervals.compute_wilson(ends[0]["fresh"] * MEASURED, MEASURED)
    known_at = next((step["step"] for step in few["steps"] if step["known"] >= 0.95), few["steps"][-1]["step"])
    same = sum((seed[ASKED[0]] >= 0.5) == (answers[0] >= 0.5) for seed in few["seeds"])
    return LessonContent(
        options=OPTIONS,
        questions=(
            _build_question(answers[0], f"{unknown} is unknown to it.{sure}"),
            _build_question(answers[1], f"From step {negation} on, “not” changes its answer."),
        ),
        stages=(
            LessonStage(
                f"A model has learned {rows} sentences by heart. What does it say?",
                f"It read its {rows} sentences {epochs} times. “{first}” is not among them.",
                "Reveal",
            ),
            LessonStage(
                f"It says {told}. It does not know {unknown}.",
                "Lines: share of sentences it gets right. Bars: its answers after the last step.",
                "Now you train",
                reason=f"Of its own {rows} sentences {known} are right, of new ones {fresh}. It learned by heart.",
            ),
            LessonStage("", "Replay the training: reset, then go step by step.", "Predict again"),
            LessonStage(
                f"The same model has now learned {all_rows} sentences. What does it say?",
                f"“{second}” is not among its sentences either.",
                finding=f"It says {later}. It has learned “not”.",
                reason=f"“{first}” is right from step {word} on, “{second}” only from step {negation}. "
                "Words come first.",
            ),
        ),
        fact=f"Of {MEASURED} new sentences {fresh} are right (95 % interval {number(low, 2)} to {number(high, 2)}). "
        f"Of {len(few['seeds'])} trainings with other seeds {same} also say {CLASSES[int(answers[0] >= 0.5)]}.",
        figure={
            "classes": CLASSES,
            "probes": PROBES,
            "meant": MEANT,
            "marks": [0.04, 0.3, 0.7, 0.96],  # of the options on a bar from negative to positive
            "first": _describe_record(few, ASKED[0]),
            "second": _describe_record(many, ASKED[1]),
        },
        tasks=(
            f"A model learned {rows} sentences by heart. What does it say to “{first}”? Tick one. Why?",
            "Of its own sentences ____ are right, of new ones ____. Why does it fail?",
            "At which step does it know nearly all of its sentences? What happens to new ones?",
            f"The same model learned {all_rows} sentences. What does it say to “{second}”?",
        ),
        answers=(
            f"{told}. It does not know {unknown}.",
            f"{known} and {fresh}. It learned its sentences by heart, not the language.",
            f"From step {known_at} on. New sentences hardly improve.",
            f"{later}. It is right from step {negation} on; “{first}” from step {word} on.",
        ),
        ways=(
            WayOn(f"Train on {rows} now", "train", _write_link("few")),
            WayOn("Train on all now", "train", _write_link("many")),
        ),
    )


def _is_sure(positive: float) -> bool:
    return max(positive, 1 - positive) >= SURE


def _find_learned(steps: Sequence[dict[str, Any]], probe: int) -> int:
    """Return the first recorded step from which on a probe's answer is what the writer means."""
    right = [CLASSES[int(step["answers"][probe] >= 0.5)] == MEANT[probe] for step in steps]
    last_wrong = max((place for place, each in enumerate(right) if not each), default=-1)
    return int(steps[min(last_wrong + 1, len(steps) - 1)]["step"])


def _build_question(positive: float, why: str) -> LessonQuestion:
    """Build the question for the answer of a model, with feedback on each choice; `why` explains the answer."""
    sure = _is_sure(positive)
    right = (3 if sure else 2) if positive >= 0.5 else (0 if sure else 1)
    side = OPTIONS[right].partition(",")[0]
    feedback = [
        f"You found it. {why}" if option == right else f"{side} is right. {why}" if near else why
        for option, near in enumerate((place > 1) == (right > 1) for place in range(len(OPTIONS)))
    ]
    choices = [LessonChoice(label, option, feedback[option]) for option, label in enumerate(OPTIONS)]
    return LessonQuestion("The model says:", choices, right)


def _describe_record(record: dict[str, Any], asked: int) -> dict[str, Any]:
    return {"rows": record["rows"], "steps": record["steps"], "asked": asked, "unknown": record["unknown"]}


def _write_link(name: str) -> dict[str, str | Sequence[str]]:
    changed = [f"{setting}={value}" for setting, value in {**SETTINGS[name], "training.seed": 0}.items()]
    return {"model": PRESET, "data": "built-in", "length": "full", "set": changed}


DATA = Lesson(
    "data",
    "What does a model learn from?",
    "Few sentences are learned by heart. For “not” it needs many.",
    15,
    "live training",
    plan=(
        (0, "Read the sentence aloud. Everybody chooses an answer, alone."),
        (2, "Ask why a model can be wrong about an easy sentence."),
        (4, "Reveal. Compare both lines."),
        (6, "Move: reset, then step by step. When do the lines part?"),
        (9, "Same question, more data. Then move the slider: words first, then “not”."),
        (12, "Start a training on Train. It goes on while you discuss."),
    ),
    belief="Many believe that a model learns words from a dictionary. It knows only what its sentences show.",
    small=[
        SmallShape("M6 60C30 58 40 14 132 8", "ink", 0.8, 2.5),
        SmallShape("M6 60C40 58 60 46 132 44", "wrong", 1, 2.5),
        SmallShape("M6 66H134M6 66V6", "ink", 0.5, 1.2),
    ],
    build=build_content,
)
