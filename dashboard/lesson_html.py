"""A lesson as a browser component, on a page and as an HTML file that opens without a network.

`sentiscope lesson NAME --html` comes here through the entry point `sentiscope.verbs`: core does not know the dashboard.
"""

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from core.atomic import write_named
from core.lessons.catalog import find_lesson, find_next
from core.lessons.lesson import STAGES
from core.runs.store import RunStore
from dashboard.figures.drawing import Component
from dashboard.figures.theme import Look, write_colors
from dashboard.model_html import pack_models, write_engine

BEGIN: dict[str, Any] = {"step": 1, "pick": -1, "again": -1, "set": "", "notes": False, "sheet": False}
"""Of the link of a lesson: stage, first and second answer, what was moved, and whether notes or sheet are shown."""
LONGEST = 40  # characters of what was moved


def read_state(values: Mapping[str, str], questions: list[Any]) -> dict[str, Any]:
    """Return the state of a lesson from the parameters of a link; what cannot be is left out."""

    def read_number(name: str, least: int, most: int) -> int:
        """Return a whole number of the link; a missing or impossible one is that of the beginning."""
        value = values.get(name, "")
        number = int(value) if value.isascii() and value.isdigit() and len(value) < 4 else BEGIN[name]
        return number if least <= number <= most else int(BEGIN[name])

    first, second = (len(question["choices"]) for question in questions)
    return {
        "step": read_number("step", 1, len(STAGES)),
        "pick": read_number("pick", 0, first - 1),
        "again": read_number("again", 0, second - 1),
        "set": values.get("set", "")[:LONGEST],
        "notes": values.get("notes") == "1",
        "sheet": values.get("sheet") == "1",
    }


def write_state(said: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a link for the state of a lesson, empty where it is that of the beginning."""
    plain = {name: said.get(name, first) for name, first in BEGIN.items()}
    return {
        name: "" if value == BEGIN[name] else "1" if value is True else str(value)[:LONGEST]
        for name, value in plain.items()
    }


def build_component(
    name: str,
    content: Mapping[str, Any],
    state: Mapping[str, Any] | None = None,
    server: Mapping[str, Any] | None = None,
) -> Component:
    """Return a lesson as a browser component; `server` is what only a page has, None in a file."""
    lesson, after = find_lesson(name), find_next(name)
    ways = [
        {"label": way["label"], "href": f"{way['page']}?{urlencode(way['values'], doseq=True)}"}
        for way in content["ways"]
    ]
    data = {
        "lesson": {
            "name": name,
            "title": lesson.title,
            "stages": STAGES,
            "plan": lesson.plan,
            "belief": lesson.belief,
            "link": f"/lesson?lesson={name}",
            "next": {"href": f"lesson?lesson={after.name}", "title": f"Next: {after.title}"}
            if after
            else {"href": "lessons", "title": "All lessons"},
        },
        "content": {**content, "ways": ways},
        "state": dict(state or BEGIN),
        "server": server is not None,
        "room": None,
        **(server or {}),
    }
    return Component(f"lesson_{name}", data, Look(), frame="lesson")


def build_document(name: str, content: Mapping[str, Any], store: RunStore) -> str:
    """Return a lesson with all stages as one HTML document that loads nothing; it runs its models if it can."""
    models, engine = pack_models(store, find_lesson(name).runs), ""
    if models:
        engine = f"<script>const openModel = {write_engine()}</script>"
        content = {**content, "figure": {key: each for key, each in content["figure"].items() if key != "sets"}}
    made = build_component(name, content)
    made = replace(made, data={**made.data, "models": models})
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(find_lesson(name).title)}</title>"
        f"<style>:root{{color-scheme:light dark;{write_colors()}}}body{{margin:0;background:var(--paper)}}</style>"
        f"</head><body>{engine}<main>{made.to_html('lesson')}</main></body></html>"
    )


def write(name: str, content: Mapping[str, Any], store: RunStore, file: Path | str) -> None:
    """Write a lesson as one HTML file; InputError: it cannot be written."""
    write_named("--html", file, build_document(name, content, store))
