"""Parts of a lesson: texts of its page, the question that is asked twice, and data computed from starter runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from core import runs
from core.exceptions import NotAvailable, RunDamaged, RunNotFound
from core.formatting import number
from core.lazy_imports import numpy as np
from core.runs.record import EVALUATION, METRICS, PREDICTIONS, PROBABILITY
from core.runs.store import RunStore
from core.text.word_spans import Span, find_word_spans, remove_words

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.load import LoadedRun

STAGES = ("Predict", "Reveal", "Move", "Predict again")
"""The stages of every lesson, in the order of their numbers from 1 in links."""


@dataclass(frozen=True)
class LessonChoice:
    """An answer that can be chosen: its words, the option that the class tally counts it as, and the feedback on it."""

    label: str
    option: int
    feedback: str


@dataclass(frozen=True)
class LessonQuestion:
    """A question with its choices; the second question of a lesson is the first one on new data."""

    ask: str
    choices: Sequence[LessonChoice]
    right: int  # the number of the right choice, from 0

    def get_option(self, choice: int) -> int | None:
        """Return the option that a choice counts as in the class tally; None if there is no such choice."""
        return self.choices[choice].option if 0 <= choice < len(self.choices) else None


@dataclass(frozen=True)
class LessonStage:
    """The words of one stage: headline, grey line and button; of the last, `finding` and `reason` follow the answer."""

    headline: str
    line: str
    button: str = ""
    finding: str = ""
    reason: str = ""


@dataclass(frozen=True)
class WayOn:
    """A link from the end of a lesson to another page of the dashboard."""

    label: str
    page: str
    values: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class LessonContent:
    """What the browser needs of a lesson, all computed; plain values for JSON."""

    options: Sequence[str]  # rows of the class tally, the same for both questions
    questions: tuple[LessonQuestion, LessonQuestion]
    stages: tuple[LessonStage, LessonStage, LessonStage, LessonStage]
    fact: str  # the numbers behind the finding, with their intervals
    figure: Mapping[str, Any]  # what the lesson's own script draws
    tasks: tuple[str, str, str, str]  # on the printed sheet, one for each stage
    answers: tuple[str, str, str, str]  # on its second page
    ways: Sequence[WayOn] = ()


class SmallShape(NamedTuple):
    """A filled or stroked path of a lesson's small figure, which is 138 wide and 70 high."""

    path: str  # as in SVG
    color: str  # of the theme, such as `wrong`
    opacity: float = 1.0
    stroke: float = 0.0  # width; 0: filled


def make_box(x: float, y: float, width: float, height: float, color: str, opacity: float = 1.0) -> SmallShape:
    """Return a filled rectangle for a lesson's small figure."""
    return SmallShape(f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z", color, opacity)


@dataclass(frozen=True)
class Lesson:
    """A lesson of four stages: predict, reveal, move one thing, and the same question on new data."""

    name: str  # in links, and of its files `lesson_NAME.js` and `lesson_NAME.css`
    title: str
    line: str  # what it teaches
    minutes: int
    note: str  # beside the minutes, such as "trains live"; empty: nothing
    plan: Sequence[tuple[int, str]]  # teacher's notes: the minute, and what to do
    belief: str  # what classes tend to believe
    small: Sequence[SmallShape]  # beside its title on the page Lessons
    build: Callable[[RunStore], LessonContent]
    """Computes the content from the starter runs; NotAvailable if one is missing."""
    runs: Sequence[str] = ()  # whose models read any sentence in a file


def read_metrics(store: RunStore, run: str, split: str) -> dict[str, Any]:
    """Return the stored metrics and intervals of a starter run on a split; NotAvailable: the run is not here."""
    path = _locate_results(store, run, split, METRICS)
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    return found


def read_split(store: RunStore, run: str, split: str) -> pd.DataFrame:
    """Return a starter run's stored predictions on a split, with a column `confidence` (0 to 1) of each prediction."""
    frame = runs.predictions.read_predictions(_locate_results(store, run, split, PREDICTIONS))
    return frame.assign(confidence=frame.filter(regex=f"^{PROBABILITY}").max(axis=1))


def _locate_results(store: RunStore, run: str, split: str, name: str) -> Path:
    try:
        store.read(run)
    except RunNotFound:
        raise NotAvailable(f"this lesson needs the model {run}, and it is not here") from None
    path = store.get_path(run) / EVALUATION / split / name
    if not path.is_file():
        raise NotAvailable(f"this lesson needs the results of {run} on {split}, and they are not here")
    return path


MOST_WORDS = 9  # of a sentence: 512 answers travel with the page, and it fits on a line
WHOLE = 1_000_000  # in which probabilities travel


def find_words(text: str) -> list[Span]:
    """Return the spans of the words with a letter or digit; marks stay with the sentence."""
    return [span for span in find_word_spans(text) if any(sign.isalnum() for sign in text[slice(*span)])]


def split_text(text: str) -> dict[str, Any]:
    """Split a text into its words, the text before each word, and the text after the last one."""
    spans = find_words(text)
    ends = [0, *(end for _, end in spans)]
    return {
        "text": text,
        "words": [text[start:end] for start, end in spans],
        "before": [text[end:start] for end, (start, _) in zip(ends, spans, strict=False)],
        "after": text[ends[-1] :],
    }


def predict_sets(run: LoadedRun, text: str, words: Sequence[Span]) -> list[int]:
    """Return the probability of the second class without each set of words, in millionths, by the set's bits."""
    gone = [[word for place, word in enumerate(words) if bits >> place & 1] for bits in range(2 ** len(words))]
    found = run.predict([remove_words(text, each) for each in gone]).probabilities[:, 1]
    shares: list[int] = np.rint(WHOLE * found).astype(int).tolist()
    return shares


def find_flips(sets: Sequence[int], places: Sequence[int], whole: int = WHOLE) -> tuple[int, ...] | None:
    """Return the smallest set of places without which the answer flips most clearly; `sets`: probability by bits."""
    distances = [each - whole / 2 for each in sets]
    for size in range(1, len(places) + 1):
        found = [(sum(1 << place for place in each), each) for each in combinations(places, size)]
        if flips := [(bits, each) for bits, each in found if (distances[bits] >= 0) != (distances[0] >= 0)]:
            return max(flips, key=lambda flip: abs(distances[flip[0]]))[1]
    return None


def write_answer(classes: Sequence[str], positive: float) -> str:
    """Return the answer and its probability in words, such as `negative 0.91`."""
    return f"{classes[int(positive >= 0.5)]} {number(float(max(positive, 1 - positive)), 2)}"


def join_words(words: Sequence[str]) -> str:
    """Return words in quotation marks, with `and` before the last."""
    quoted = [f"“{word}”" for word in words]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))
