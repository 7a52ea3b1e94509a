"""Lessons: what each asks and shows, and a lesson as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from core import lessons
from core.api.drawing import find_drawing
from core.api.options import CliArgument, File, Store
from core.api.printing import say, tabulate

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def lesson(
    name: Annotated[str, CliArgument("Name of a lesson; a wrong name lists all.")],
    *,
    html: File = None,
    store: Store = None,
) -> dict[str, Any]:
    """Show what a lesson asks and finds, or write it as one HTML file that opens without a network.

    Args:
        html: The file to write, with all stages and answers.

    Returns:
        `name`, `title`, `line` (what it teaches), `minutes`; `questions`, the second on new data: `ask`, `choices`,
        `right`; `finding` and `fact`; `tasks` and `answers` of the printed sheet, one for each stage; `file`, or None.
    """
    found, content = lessons.catalog.find_lesson(name), lessons.content.read_content(name, store)
    if html is not None:
        find_drawing("lesson")(name, content, Path(html))
    return {
        "name": name,
        **{field: getattr(found, field) for field in ("title", "line", "minutes")},
        "questions": [
            {
                "ask": question["ask"],
                "choices": [choice["label"] for choice in question["choices"]],
                "right": question["choices"][question["right"]]["label"],
            }
            for question in content["questions"]
        ],
        "finding": content["stages"][1]["headline"],
        **{field: content[field] for field in ("fact", "tasks", "answers")},
        "file": None if html is None else str(html),
    }


def print_lesson(result: dict[str, Any]) -> None:
    """Print a lesson's title, its question with the choices, and its answers; or the file that was written."""
    if result["file"] is not None:
        say(f"{result['file']}: {result['title']}")
        return
    say(f" {result['line']} {result['minutes']} minutes.", head=result["title"])
    say(result["questions"][0]["ask"])
    for letter, choice in zip(LETTERS, result["questions"][0]["choices"], strict=False):
        say(f"{letter}  {choice}")
    rows = zip(lessons.lesson.STAGES, result["tasks"], result["answers"], strict=True)
    tabulate([{"stage": stage, "task": task, "answer": answer} for stage, task, answer in rows], whole="stage")
