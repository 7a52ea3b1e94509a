"""All lessons by name."""

from __future__ import annotations

from core.exceptions import InputError
from core.lessons.accuracy import ACCURACY
from core.lessons.data import DATA
from core.lessons.heads import HEADS
from core.lessons.lesson import Lesson
from core.lessons.trust import TRUST
from core.lessons.word import WORD

LESSONS: dict[str, Lesson] = {
    "data": DATA,
    "word": WORD,
    "heads": HEADS,
    "accuracy": ACCURACY,
    "trust": TRUST,
}
"""By the name in links, in the order of the page Lessons."""


def find_lesson(name: str) -> Lesson:
    """Return a lesson by its name; InputError lists the names."""
    if name not in LESSONS:
        raise InputError(f"there is no lesson {name!r:.60}; choose one of {', '.join(LESSONS)}")
    return LESSONS[name]


def find_next(name: str) -> Lesson | None:
    """Return the lesson after the named one; None after the last."""
    names = list(LESSONS)
    place = names.index(name) + 1
    return LESSONS[names[place]] if place < len(names) else None
