"""How `evaluate` and `predict` show what runs say that give each word a tag."""

from __future__ import annotations

from typing import Any

from core.cells import decimals
from core.cli.printing import say, tabulate
from core.data.findings import plural
from core.metrics import METRICS
from core.numbers import count


def show_spans(result: dict[str, Any]) -> None:
    """Metrics, each type, and what became of the spans."""
    about = f"n = {count(result['n'])}, {plural(result['words'], 'word')}"
    say(f"{result['run']} on {result['data']}, {result['split']}, {about}")
    for note in result["notes"]:
        say(note)
    metrics = [
        {"metric": METRICS[name].title, "value": decimals(value), "95 % interval": _interval(result, name)}
        for name, value in result["metrics"].items()
    ]
    tabulate(metrics, ("metric", "value", "95 % interval"))
    counted = ("right", "wrong type", "wrong border", "missed", "spurious")
    parts = ("precision", "recall", "f1")
    types = [
        {"type": kind, "spans": count(int(row["support"]))}
        | {part: decimals(row[part]) for part in parts}
        | {name: count(int(row[name])) for name in counted}
        for kind, row in result["per_type"].items()
    ]
    tabulate(types, ("type", "spans", *parts, *counted))
    if result["unread"]:
        say(f"{plural(result['unread'], 'word')} beyond text.max_length, or without a token, taken for O")


def show_tags(result: dict[str, Any]) -> None:
    """A word and its tag a line, as in a file; the spans below each text."""
    if "to" in result:
        cut = f"; only the beginning of {plural(result['cut'], 'text')} was read" if result["cut"] else ""
        say(f"The words of {plural(result['rows'], 'text')} tagged into {result['to']}{cut}")
        return
    for each in result["predictions"]:
        rows = [
            {"word": word, "tag": tag, "probability": decimals(chance) if chance is not None else "not read"}
            for word, tag, chance in zip(each["words"], each["tags"], each["probabilities"], strict=True)
        ]
        tabulate(rows, ("word", "tag", "probability"))


def _interval(result: dict[str, Any], name: str) -> str:
    ends = result["intervals"].get(name)
    return f"{decimals(ends[0])} to {decimals(ends[1])}" if ends else ""
