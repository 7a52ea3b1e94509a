"""Page Lessons: all lessons with a small figure, what each teaches, and its minutes."""

from __future__ import annotations

from html import escape

import streamlit as st

from core.lessons.catalog import LESSONS
from core.lessons.lesson import Lesson, SmallShape
from dashboard.widgets.messages import show_header
from dashboard.widgets.style import add_style

QUESTION = "Predict first. Then look."


def show_page() -> None:
    """Draw the list of lessons."""
    show_header("Lessons", QUESTION, [(str(len(LESSONS)), "lessons")], low=True)
    add_style("lessons.css")
    rows = "".join(_write_row(place, lesson) for place, lesson in enumerate(LESSONS.values(), 1))
    st.html(f'<ul class="s-lessons">{rows}</ul>')


def _write_row(place: int, lesson: Lesson) -> str:
    note = f"<br><small>{escape(lesson.note)}</small>" if lesson.note else ""
    return (
        f'<li><a href="lesson?lesson={lesson.name}"><svg viewBox="0 0 138 70" aria-hidden="true">'
        f'{"".join(map(_write_shape, lesson.small))}</svg><span class="n">{place}</span>'
        f"<span><b>{escape(lesson.title)}</b><br>{escape(lesson.line)}</span>"
        f'<span class="m">{lesson.minutes} min{note}</span></a></li>'
    )


def _write_shape(shape: SmallShape) -> str:
    color = f"var(--{shape.color})"
    paint = f'fill="none" stroke="{color}" stroke-width="{shape.stroke:g}"' if shape.stroke else f'fill="{color}"'
    return f'<path d="{shape.path}" {paint} opacity="{shape.opacity:g}"/>'


show_page()
