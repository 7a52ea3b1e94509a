"""Lessons, the quiz of a run, and talks (lists of links that the presenter of the dashboard shows in turn)."""

from __future__ import annotations

import dataclasses
import string
from pathlib import Path
from typing import Annotated, Any

from core import error_analysis, interpret, lessons, runs
from core.api.drawing import find_drawing
from core.api.options import CliArgument, File, RunName, Store
from core.api.printing import make_printer, say, tabulate
from core.runs.store import RunStore


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
    found, content = lessons.catalog.find_lesson(name), lessons.catalog.read_content(name, store)
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
    for letter, choice in zip(string.ascii_uppercase, result["questions"][0]["choices"], strict=False):
        say(f"{letter}  {choice}")
    rows = zip(lessons.lesson.STAGES, result["tasks"], result["answers"], strict=True)
    tabulate([{"stage": stage, "task": task, "answer": answer} for stage, task, answer in rows], whole="stage")


def quiz(run: RunName, *, right: int = 2, wrong: int = 3, store: Store = None) -> dict[str, Any]:
    """Choose short test sentences to judge before a run's predictions are shown, some predicted right, some wrong.

    Sentences come from the challenge and test splits. Those of different kinds, whose prediction changes when one or
    two words are deleted, are preferred.

    Args:
        right: Sentences that the run predicts right; more where it has too few errors.
        wrong: Sentences that it predicts wrong.

    Returns:
        `run`, `classes` and `questions`, in an order that gives no answer away. Of each `text`, `label` (the true
        class), `predicted`, `probabilities` by class, `kind`, `split`, `words` (start and end of each word), `unknown`
        (words that the run does not know, by number), `effects` (of each word: how far the log-odds of the predicted
        class fall without it), `flip` (the fewest words, one or two, whose deletion changes the prediction; empty if
        none do), `subset` (the words that are deleted in `scores`) and `scores`: for each class but the first a list of
        log p - log p(first class), whose place in binary says which of the words of `subset` are deleted.
    """
    store = store or RunStore()
    found, classes = error_analysis.quiz.make_quiz(store, run, right, wrong), store.read(run).classes
    compute = interpret.word_subsets.compute_probabilities
    return {
        "run": run,
        "classes": list(classes),
        "questions": [
            {**dataclasses.asdict(each), "probabilities": dict(zip(classes, compute(each.scores), strict=True))}
            for each in found.questions
        ],
    }


def print_quiz(result: dict[str, Any]) -> None:
    """Print a row for each sentence: prediction, true label, and the words whose deletion changes the prediction."""
    right = sum(each["predicted"] == each["label"] for each in result["questions"])
    say(f"{result['run']} predicts {right} of {len(result['questions'])} right")
    columns: dict[str, Any] = {
        "predicted": "predicted",
        "p": lambda each: each["probabilities"][each["predicted"]],
        "true": "label",
        "flips without": lambda each: ", ".join(each["text"][slice(*each["words"][place])] for place in each["flip"]),
        "kind": "kind",
        "text": "text",
    }
    tabulate(result["questions"], columns)


TalkName = Annotated[str, CliArgument("Name of the talk.", metavar="NAME")]


def talks_list(*, store: Store = None) -> dict[str, Any]:
    """List all stored talks.

    Returns:
        `talks`: of each `name` and `links`, their number.
    """
    folder = (store or RunStore()).folder
    names = runs.talks.list_talks(folder)
    return {"talks": [{"name": name, "links": len(runs.talks.read_talk(folder, name))} for name in names]}


def talks_show(name: TalkName, *, store: Store = None) -> dict[str, Any]:
    """Show the links of a talk, in order, and whether the run of each still exists.

    Returns:
        `name`; `links`: of each `page`, `run` (empty: none), `missing` (whether that run is gone) and `link`.
    """
    store = store or RunStore()
    rows, known = [], {"", *(record.run for record in store.list())}
    for link in runs.talks.read_talk(store.folder, name):
        page, values = runs.talks.split_link(link)
        run = values.get("run", "")
        rows.append({"page": page, "run": run, "missing": str(run) not in known, "link": link})
    return {"name": name, "links": rows}


def talks_add(
    name: TalkName, link: Annotated[str, CliArgument("Of a page, as its address bar has it.")], *, store: Store = None
) -> dict[str, Any]:
    """Add a link to the end of a talk; a talk that does not exist is created."""
    return {"name": name, "links": list(runs.talks.add_link((store or RunStore()).folder, name, link))}


def talks_remove(name: TalkName, *, store: Store = None) -> dict[str, Any]:
    """Delete a talk; the runs that it shows stay."""
    runs.talks.remove_talk((store or RunStore()).folder, name)
    return {"name": name, "removed": True}


def print_talks_list(result: dict[str, Any]) -> None:
    """Print a row for each talk."""
    if not result["talks"]:
        say("There are no talks yet: `sentiscope talks add NAME LINK`, or *Add to talk* on a page.")
        return
    tabulate(result["talks"], ("name", "links"), "name")


def print_talks_show(result: dict[str, Any]) -> None:
    """Print a row for each link of a talk."""
    rows = [{**row, "state": "run is gone" if row["missing"] else ""} for row in result["links"]]
    tabulate(rows, ("page", "run", "state", "link"), "link")


print_talks_add = make_printer(lambda r: f"{r['name']}: {len(r['links'])} links. Open /?talk={r['name']}&present=1")
print_talks_remove = make_printer(lambda r: f"{r['name']} is gone.")
