"""Page Lesson: one lesson in four stages, and the tally of the class that answers it."""

from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from core.api.machine import list_links
from core.exceptions import InputError, SentiscopeError
from core.lessons.catalog import LESSONS, find_lesson
from core.lessons.tally import SchoolClass, TallyStore, is_owner
from dashboard import state
from dashboard.access import is_local
from dashboard.data import data
from dashboard.figures.drawing import Component
from dashboard.figures.theme import Look
from dashboard.lesson_html import build_component, read_state, write_state
from dashboard.widgets.figure import show_drawing
from dashboard.widgets.messages import as_sentence, show_header, show_problem
from dashboard.widgets.style import add_style

POLL_SECONDS = 2.0
NO_CLASS = "there is no class {!r:.20}; ask for a new link"
ALONE = "Only this computer can open it. Start the server with --address 0.0.0.0 for a class."


def show_page() -> None:
    """Draw the lesson of the link; a mistyped link or a missing starter run is explained."""
    tally, code = TallyStore(data.store().folder), state.get_param(state.JOIN).lower()
    try:
        found = tally.find_class(code)
        name = state.read_link(state.LESSON) or _choose_lesson(code, found)
        lesson, content = find_lesson(name), data.read_lesson(name)
    except SentiscopeError as error:
        show_header("Lesson", "Predict first. Then look.")
        show_problem("This lesson cannot be shown", as_sentence(error))
        st.page_link("screens/lessons.py", label="All lessons")
        return
    if found is not None and found.lesson != name:
        found = None
    problem = state.pop_value(state.LESSON_PROBLEM) or (NO_CLASS.format(code) if code and found is None else "")
    add_style("bare.css")
    add_style("lesson_page.css")
    known = read_state(
        {key: state.read_link(key) for key in ("step", "pick", "again", "set", "notes", "sheet")}, content["questions"]
    )
    notes = f"lesson?{urlencode({state.LESSON: name, 'step': known['step'], 'notes': 1})}"
    server = {"visitor": state.get_secret(), "notes": notes, "room": _describe_class(found)}
    server["problem"] = problem and as_sentence(problem)
    drawn = build_component(name, content, known, server)
    key = state.get_figure_key(f"lesson-{name}")
    receive = partial(_receive, key, name, content, tally)
    show_drawing(drawn, f"lesson-{name}", lesson.title, on_changes_change=receive)
    if found is not None:
        st.fragment(_show_tally, run_every=POLL_SECONDS)(tally, found.code)


def _choose_lesson(code: str, found: SchoolClass | None) -> str:
    """Return the lesson of a class, or the first one where the link names no class; InputError: there is none."""
    if code and found is None:
        raise InputError(NO_CLASS.format(code))
    return found.lesson if found else next(iter(LESSONS))


def _show_tally(tally: TallyStore, code: str) -> None:
    with state.store_refusal(state.LESSON_PROBLEM):
        show_drawing(
            Component("lesson_tally", {"tally": {"room": code, **tally.count_answers(code)}}, Look()), "tally", ""
        )


def _describe_class(found: SchoolClass | None) -> dict[str, Any] | None:
    if found is None:
        return None
    link, note = _find_address(found.code)
    return {"code": found.code, "link": link, "note": note, "own": is_owner(found, state.get_secret())}


def _find_address(code: str) -> tuple[str, str]:
    """Return the short link of a class as other devices can type it, and a note if they cannot reach this server."""
    opened = urlsplit(st.context.url or "")
    path = f"{opened.path.rpartition('/')[0]}/lesson?{urlencode({state.JOIN: code})}"
    here = opened.netloc
    if opened.hostname in ("localhost", "127.0.0.1", "::1") and not is_local():
        hosts = st.get_option("server.allowedHosts") or []
        links = list_links(str(st.get_option("server.address") or ""), opened.port or 80, hosts)
        here = next((urlsplit(link).netloc for link in links if "localhost" not in link), here)
    return f"{here}{path}", ALONE if is_local() else ""


def _receive(key: str, name: str, content: dict[str, Any], tally: TallyStore) -> None:
    """Apply changes from the browser: to the link, the visitor's answers, and what the teacher does with a class."""
    with state.store_refusal(state.LESSON_PROBLEM):
        for change in state.receive_changes(key, state.get_confirmed(key)):
            code, secret = state.get_param(state.JOIN).lower(), state.get_secret()
            if "state" in change:
                said = {
                    each: str(int(value) if isinstance(value, bool) else value)
                    for each, value in change["state"].items()
                }
                known = read_state(said, content["questions"])
                state.write_link({state.LESSON: name, **write_state(known)})
                found = tally.find_class(code)
                if found is not None and found.lesson == name:
                    _record_answers(tally, code, secret, known, content)
            elif "open" in change:
                # Not the link alone: a message that left before it had the code would take it back.
                state.set_param(state.JOIN, tally.open_class(name, len(content["options"]), secret).code)
            elif "reset" in change:
                tally.reset_class(code, secret)
            elif "hands" in change:
                tally.set_hands(code, secret, change["hands"])


def _record_answers(tally: TallyStore, code: str, secret: str, known: dict[str, Any], content: dict[str, Any]) -> None:
    for turn, picked in enumerate((known["pick"], known["again"])):
        if picked >= 0:
            tally.record_answer(code, turn, secret, content["questions"][turn]["choices"][picked]["option"])


show_page()
