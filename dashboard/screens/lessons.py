"""Page Lessons: all lessons with a small figure, what each teaches, and its minutes."""

from functools import partial
from urllib.parse import urlencode

import streamlit as st

from core.lessons.catalog import LESSONS
from dashboard import state
from dashboard.data import data
from dashboard.figures.drawing import Component
from dashboard.figures.theme import Look
from dashboard.lesson_html import build_document
from dashboard.widgets.export import offer_download
from dashboard.widgets.figure import show_drawing
from dashboard.widgets.messages import show_header

QUESTION = "Predict first. Then look."


def show_page() -> None:
    """Draw the list of lessons."""
    show_header("Lessons", QUESTION, [(str(len(LESSONS)), "lessons")])
    rows = [
        {
            "href": f"lesson?{urlencode({state.LESSON: name})}",
            **{field: getattr(lesson, field) for field in ("title", "line", "minutes", "note", "small")},
        }
        for name, lesson in LESSONS.items()
    ]
    show_drawing(Component("lessons", {"lessons": rows}, Look()), "lessons", "")
    with st.container(key="export", horizontal=True, vertical_alignment="center", gap="medium"):
        st.html("Save for offline use:", width="content")
        for number, (name, lesson) in enumerate(LESSONS.items(), start=1):
            write = partial(lambda name: build_document(name, data.read_lesson(name), data.store()), name)
            file = f"sentiscope-lesson-{name}.html"
            offer_download(f"Lesson {number}", write, file, "text/html", f"export-{name}", lesson.title)


show_page()
