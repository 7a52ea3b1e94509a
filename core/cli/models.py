"""`sentiscope presets`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from core import verbs
from core.cli.printing import Json, emit, say, tabulate
from core.exceptions import InputError
from core.models.presets import PAPERS
from core.numbers import count
from core.systems import CLASSES, VOCABULARY


def presets(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="One preset, shown in full.")] = "",
    paper: Annotated[str, typer.Option(help=f"Only those of one paper: {', '.join(PAPERS)}, or its title.")] = "",
    vocabulary: Annotated[int, typer.Option(help="Vocabulary size at which parameters are counted.")] = VOCABULARY,
    classes: Annotated[int, typer.Option(help="Number of classes at which parameters are counted.")] = CLASSES,
    as_json: Json = False,
) -> None:
    """The models that can be trained: all, those of one paper, or one whole."""
    if name and paper:
        raise InputError("give the name of a preset or --paper, not both")
    if name:
        emit(verbs.presets_show(name, vocabulary=vocabulary, classes=classes), as_json, _show_preset)
    else:
        emit(verbs.presets(paper, vocabulary=vocabulary, classes=classes), as_json, _show_presets)


def _show_presets(result: dict[str, Any]) -> None:
    rows = [{**each, "parameters": f"{count(each['parameters'])}"} for each in result["presets"]]
    tabulate(rows, ("name", "parameters", "line", "source"))
    say(f"parameters with {count(result['vocabulary'])} tokens and {result['classes']} classes")


def _show_preset(result: dict[str, Any]) -> None:
    say(f": {result['line']}", head=result["name"])
    said = f"{count(result['parameters'])} with {count(result['vocabulary'])} tokens and {result['classes']} classes"
    for what, value in (("paper", result["title"]), ("source", result["source"]), ("parameters", said)):
        say(f"{what}: {value}")
    recipe = " ".join(f"--set {key}={value}" for key, value in result["settings"].items())
    say(f"trained with: {recipe or 'the defaults'}")
    say("")
    rows = []
    for part in result["diagram"]:
        times = f"{part['times']} x " if part["times"] > 1 else ""
        rows.append({**part, "parameters": f"{times}{count(part['parameters'])}" if part["parameters"] else ""})
        rows += [{"part": f"  {term['name']}", "detail": term["detail"]} for term in part["terms"]]
    tabulate(rows, ("part", "detail", "parameters"))
    say("")
    for line in result["equation"]:
        say(f"{line['latex']}    {line['words']}")
    say("")
    say(f"from its nearest relative, {result['nearest']}:")
    tabulate(result["differences"], ("setting", "what", "here", result["nearest"]))
    if result["departures"]:
        say("")
        say("departs from the paper, or chooses what it leaves open, in:")
    for each in result["departures"]:
        follow = f" (as the paper: --set {each['instead']})" if each["instead"] else ""
        say(f"- {each['what']}: {each['paper'] or 'not stated'}. Here {each['here']}: {each['why']}{follow}")
    if result["trials"]:
        say("")
        say("worth trying, though no preset does:")
    for each in result["trials"]:
        say(f"- {each['question']} --set {each['set'].replace(' ', ' --set ')}")
    say(f"Train it: sentiscope train --model {result['name']}")
