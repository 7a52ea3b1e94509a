"""Parts of a lesson: texts of its page, the question that is asked twice, and data computed from starter runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from core.runs.store import RunStore

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
    """The words of one stage: a headline that is a full sentence, one grey line, and the button to the next stage.

    Of the last stage these are the words before the answer; `finding` and `reason` replace them after it. In other
    stages `reason` is one sentence beside the figure, for a page where nobody has answered.
    """

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
