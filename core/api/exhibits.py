"""What is shown to others: figures and reports, drawn by the dashboard, lessons, the quiz of a run, and talks."""

import dataclasses
import string
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

from core import error_analysis, lessons, runs
from core.api import options as arguments
from core.api.options import Against, AnyRun, CliArgument, File, OnProgress, RunName, Split, Store
from core.api.printing import make_printer, say, tabulate
from core.api.runs import runs_export
from core.exceptions import NotAvailable
from core.formatting import count
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
    found, store = lessons.catalog.find_lesson(name), store or RunStore()
    content = lessons.catalog.read_content(name, store)
    if html is not None:
        find_drawing("lesson")(name, content, store, Path(html))
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
    compute = error_analysis.quiz.compute_probabilities
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


def find_drawing(name: str) -> Callable[..., Any]:
    """Return the dashboard function that draws figures or reports; NotAvailable: no such function is installed."""
    found = tuple(entry_points(group="sentiscope.verbs", name=name))
    if not found:
        raise NotAvailable("this installation draws no figures; install it again: pip install -e .")
    return found[0].load()


def export(
    run: RunName,
    to: Annotated[Path | str, CliArgument(name="--to", metavar="PATH")],
    *,
    format: str = "zip",
    store: Store = None,
) -> dict[str, Any]:
    """Write a run for use elsewhere: with other programs, on the Hugging Face hub, or as a page that runs the model.

    Args:
        to: A new folder; for zip a file.
        format: zip: what `runs import` reads · huggingface: weights, tokenizer, settings and a model card · onnx: a
            file, and a card with the lines that load it (extra `onnx`) · html: a page that runs the model offline.

    Returns:
        `run`, `format`, `file` (or folder), `bytes`; `files`: name → bytes; `difference` of a logit, for onnx.
    """
    store, to = store or RunStore(), Path(to)
    if format != "zip":
        return runs.model_export.export_model(store, run, format, to, lambda *given: find_drawing("export")(*given))
    packed = runs_export(run, to, store)
    return {"format": format, "files": {to.name: packed["bytes"]}, "difference": None, **packed}


def print_export(result: dict[str, Any]) -> None:
    """Print the folder of an exported run, and its files."""
    close = f", logits within {result['difference']:.0e}" if result["difference"] is not None else ""
    say(f"{result['file']}: {result['format']}{close}")
    tabulate([{"file": name, "MB": f"{size / 1e6:.2f}"} for name, size in result["files"].items()], whole="file")


def figures(
    run: RunName,
    folder: Annotated[Path | str, CliArgument(name="--to")],
    *,
    against: Against = (),
    split: Split = "",
    only: Annotated[Sequence[str], CliArgument(metavar="NAME,…", kind=str, parse=arguments.split_names)] = (),
    text: str = "",
    theme: str = "light",
    options: Annotated[
        Mapping[str, str | float] | None,
        CliArgument(
            name="--with",
            metavar="NAME=VALUE",
            kind=list[str],
            parse=arguments.make_pair_parser("--with: write name=value, e.g. threshold=0.7"),
        ),
    ] = None,
    csv: bool = False,
    store: Store = None,
) -> dict[str, Any]:
    """Write all figures of the dashboard as HTML files that open without a network; a single file is self-contained.

    Args:
        folder: The folder for the files; created if it does not exist.
        against: Another run, for the figures of Compare; repeat for more.
        only: Names of figures; default: all.
        text: A sentence for the figures of one text, such as `grid` and `coefficients`.
        theme: light or dark.
        options: An option, as in a link of the pages, e.g. threshold=0.7; repeat.
        csv: Also write their numbers as CSV.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.
    """
    given: dict[str, Any] = {"against": arguments.get_names(against), "split": split, "text": text, "theme": theme}
    return find_drawing("figures")(run, Path(folder), only=only, csv=csv, store=store, options=options, **given)


def figure(
    run: str,
    name: str,
    *,
    against: Sequence[AnyRun] = (),
    split: str = "",
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    store: RunStore | None = None,
) -> Any:
    """Draw a figure of the dashboard by name (`roc`, `confusion`, `learning`, `lambdas` …); a wrong name lists all.

    Args:
        against: Other runs, for the figures that compare several.
        split: The split for figures on predictions; empty: test, or the last that was evaluated.
        text: The sentence for the figures of one text (`grid`, `coefficients`, `gates` …).
        theme: `light` or `dark`.
        options: The options of its page, by the name in a link: `{"threshold": 0.7}`, `{"layer": 1}`.

    Returns:
        A Plotly chart; a table (`metrics`, `each-class` …) with `rows` as a pandas frame; or a browser component
        (`head-view`, `parts`) with its `data`. A notebook can display each.
    """
    given: dict[str, Any] = {"against": arguments.get_names(against), "split": split, "text": text, "theme": theme}
    return find_drawing("figure")(run, name, options=options, store=store, **given)


def report(
    run: Annotated[str, CliArgument("A run; several on the same rows are compared.")],
    file: Annotated[Path | str, CliArgument(name="--to", metavar="FILE")] = "",
    *,
    against: Annotated[Sequence[AnyRun], CliArgument(metavar="[RUN…]", kind=list[str], place=True)] = (),
    split: Split = "",
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Write a report on a run or a comparison as one HTML file that opens without a network.

    Args:
        file: The file to write; default: sentiscope-report-RUN.html, here. An existing file is not replaced.
        against: Further runs on the same rows.

    Returns:
        `file`, its size in `bytes`, `kind` (`run` or `comparison`), `runs`, `split`, `n` sentences, whether it
        contains their `texts`, the `command` that builds it again; `sections`, in order: `name`, `title` and the number
        `n` of items; `figures`: their names; `left_out`: name of a missing figure → reason.
    """
    given: dict[str, Any] = {"split": split, "store": store, "on_progress": on_progress}
    return find_drawing("report")([run, *arguments.get_names(against)], file, **given)


def print_figures(result: dict[str, Any]) -> None:
    """Print the files of the written figures, and why other figures are left out."""
    tabulate(result["files"], ("name", "title", "file"))
    for name, reason in result["left_out"].items():
        say(f"without {name}: {reason}")


def print_report(result: dict[str, Any]) -> None:
    """Print the file of a written report, and how much each section holds."""
    megabytes = f"{result['bytes'] / 1e6:.1f} MB"
    say(f"{result['file']}: {megabytes}, n = {count(result['n'])} {result['split']} sentences")
    for each in result["sections"]:
        say(f"{each['title']}: {count(each['n'])}")
