"""List of the selected sentences in order, details of the sentence that is open, and annotation codes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.error_analysis.annotation_store import SEPARATOR, has_name, name_author
from core.error_analysis.codebook import Draw, compute_rates
from core.error_analysis.neighbors import TrainingNeighbor
from core.error_analysis.predictions_table import SEVERAL
from core.error_analysis.row_annotations import Annotations, compare_authors
from core.error_analysis.selection import ORDERS
from core.error_analysis.tags import name_tag
from core.evaluation.metrics import NOTHING
from core.exceptions import NotAvailable
from core.formatting import MINUS, count, format_exact, number, signed
from dashboard.figures import interval_table as columns
from dashboard.figures.decisions import PHENOMENON
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.filtering import ORDER, SELECT, WRONG, select_rows
from dashboard.figures.interval_table import IntervalTable, Mark, TextCell, make_axis
from dashboard.figures.row_selection import RowSelection
from dashboard.figures.theme import Look, Tokens, choose_text_color, color_classes
from dashboard.figures.word_attributions import find_full_color, find_positive_class, is_binary, make_ramps, shade_push

if TYPE_CHECKING:
    from core.interpret.attribution import DeletionAttribution
    from core.runs.load import LoadedRun
    from core.runs.record import RunRecord

SENT = 300  # most rows that are sent to the browser at once
STEP = 100
"""Rows by which the sent window moves; at least as many are sent before and after the open row, if they exist."""
LIKELIEST = 3  # classes named in a probability bar
NEAREST = 2  # training texts shown, by words and by the model alike
ABOUT_CODES = (
    "Share of the coded sentences that have the code, with its 95 % interval (Wilson). It needs all selected "
    "sentences coded, or all of a random sample of them: hand-picked sentences say nothing about the others. A "
    "sentence may have several codes, so shares need not add up to 1. κ is Cohen's, with all codes of a sentence as "
    "one, on the sentences that both have coded; codes of others are hidden until you have coded the sentence."
)


@dataclass(frozen=True)
class Detail:
    """Details of an open sentence: attributions of its words, and nearest training texts."""

    pushed: DeletionAttribution | None
    near: Sequence[TrainingNeighbor] = ()
    same: Mapping[str, int] = field(default_factory=dict)
    lone: str = ""  # why there are no neighbours
    among: str = ""  # size of the sample, if not all training texts are searched
    later: bool = False  # the training texts are still being read


@dataclass(frozen=True)
class Coding:
    """Annotation codes that one annotator has given to the listed rows, and the state of their editing."""

    coded: Annotations
    author: str
    handled: int = 0  # number of the last report of the reader that was saved; the reader has newer changes after it
    changed: int = 0  # number of code changes outside the reader; each makes its copy of unsent rows out of date
    secret: str = ""
    session: str = ""
    unnamed: bool = False
    done: str = ""


@dataclass(frozen=True, eq=False)
class SentenceList:
    """List of the selected sentences, with the one that is open."""

    analysis: RowSelection
    at: str = ""
    details: Mapping[str, Detail] = field(default_factory=dict)  # row key → details, for the rows around the open one
    without: str = ""
    coding: Coding | None = None  # annotations of the rows; None: coding is off, as in an exported file
    again: int = 0  # number of failed attempts to save the codes; the reader tries again
    undone: int = 0  # number of the last undo report that moved the reader to the changed row; 0: none
    around: int | None = None  # position in the selection around which rows are sent; None: around the open row

    @property
    def start(self) -> int:
        """Return how many selected rows come before the first row that is sent to the browser."""
        places, middle = self.analysis.places, self.around
        if len(places) <= SENT:
            return 0
        if middle is None:
            found = np.flatnonzero(self.analysis.table.frame["key"].to_numpy()[places] == self.at)
            middle = int(found[0]) if len(found) else 0
        return min(max(0, middle // STEP * STEP - STEP), len(places) - SENT)

    @property
    def shown(self) -> np.ndarray:
        """Return the row numbers of the sentences sent to the browser: a section of the selected rows."""
        return self.analysis.places[self.start : self.start + SENT]


def choose_target(record: RunRecord, said: str, missed: str = "", invented: str = "") -> str:
    """Return the class that a row's word attributions explain: the positive of two classes, else the predicted one.

    With several labels: the first missed label, else the first invented one; empty: the likeliest.
    """
    if record.task == "multi":
        return next((name for name in record.classes for wrong in (missed, invented) if name in wrong.split(", ")), "")
    return find_positive_class(record) if len(record.classes) == 2 else said


def read_details(loaded: LoadedRun | None, shown: RowSelection, keys: Sequence[str]) -> dict[str, Detail]:
    """Return the details of rows, as row key → word attributions and nearest training texts."""
    from core.interpret import attribution  # torch

    place = {key: at for at, key in enumerate(shown.known.keys)}
    at = {key: place[key] for key in keys if key in place}
    places = list(at.values())
    texts = [shown.table.texts[each] for each in places]
    words: Sequence[DeletionAttribution | None] = [None] * len(places)
    if loaded is not None:
        frame = shown.table.frame.iloc[places]
        answers = (frame[name].tolist() for name in ("predicted", *SEVERAL) if name in frame)
        targets = [choose_target(shown.table.record, *each) for each in zip(*answers, strict=True)]
        words = attribution.attribute_texts(loaded.make_reader(), texts, targets)
    if not shown.known.whole:
        return {key: Detail(each, later=True) for key, each in zip(at, words, strict=True)}
    space = loaded.predict(texts).pooled if loaded is not None and "pooled" in loaded.model.provides else None
    try:
        near = shown.known.nearest.find_nearest(places, NEAREST, space)
        same = shown.known.tagged.training.count_labels(texts)
    except NotAvailable as error:
        why = str(error).partition(";")[0].partition(" (")[0]  # what to do is said in Label errors
        lone = f"No nearest training sentences: {why}."
        return {key: Detail(each, lone=lone) for key, each in zip(at, words, strict=True)}
    of = shown.known.tagged.training
    among = f"of {count(len(of.rows))} sampled from {count(len(of.texts))}" if len(of.rows) < len(of.texts) else ""
    found = zip(words, near, same, strict=True)
    return {key: Detail(*each, among=among) for key, each in zip(at, found, strict=True)}


def _draw_reader(reading: SentenceList, look: Look) -> Component:
    t, shown, table = look.tokens, reading.analysis, reading.analysis.table
    places, many = reading.shown, len(reading.analysis.places)
    colors = dict(zip(table.classes, color_classes(t, table.classes, ordered=table.record.ordered), strict=True))
    signs = {**dict.fromkeys(t.minus_scale, t.minus), **dict.fromkeys(t.plus_scale, t.plus)}
    shades, rest = {name: signs.get(color, "") for name, color in colors.items()}, (t.muted, t.paper)
    fills = {name: (each, choose_text_color(t, each)) if shades[name] else rest for name, each in colors.items()}
    keys = table.frame["key"].to_numpy()[places].tolist()
    data = {
        "stamp": f"{table.record.run} {table.split} {shown.select} {shown.order}",
        **{"at": reading.at, "undone": reading.undone, "order": shown.order, "orders": _list_orders(shown)},
        **{"start": reading.start, "total": many, "many": count(many)},
        "rows": _build_rows(shown, places),
        "details": {key: _build_detail(each, table.record, t) for key, each in reading.details.items()},
        "several": table.task == "multi",
        "whole": shown.known.whole,
        "shades": shades,
        "fills": fills | {"": rest},
        **{"without": reading.without, "again": reading.again, "empty": _describe_empty_list(shown)},
        "coding": _build_coding(reading.coding, keys) if reading.coding else None,
        "colours": t.select_colors("paper", "panel", "ink", "muted", "grid", "accent", "wrong", "right"),
    }
    return Component("reader", data, look)


def _build_coding(coding: Coding, keys: Sequence[str]) -> dict[str, Any]:
    coded, author = coding.coded, coding.author
    digits = {code.name: str(code.place) if code.place else code.name for code in coded.book}
    own, others = {}, {}
    for key in keys:
        given, notes = coded.given.get(key, {}), coded.notes.get(key, {})
        if author in given or author in notes:
            own[key] = {"codes": list(given.get(author, ())), "note": notes.get(author, "")}
        if further := [
            {"author": name_author(who), "codes": list(given.get(who, ())), "note": notes.get(who, "")}
            for who in sorted({*given, *notes} - {author})
        ]:
            others[key] = further
    book = []
    for code in coded.book:
        about = "\n".join(filter(None, (code.definition, code.example and f"Such as: {code.example}")))
        book.append({"name": code.name, "key": code.place, "about": about})
    return {
        **{"book": book, "digits": digits, "own": own, "others": others},
        "author": author if has_name(author) else "",
        **{name: getattr(coding, name) for name in ("secret", "session", "unnamed", "handled", "changed", "done")},
    }


def _list_orders(shown: RowSelection) -> list[tuple[str, str]]:
    if shown.selected.group:
        return [("", "in the chosen order"), *ORDERS.items()]
    return [("", ORDERS["sure"]), *((name, words) for name, words in ORDERS.items() if name != "sure")]


def _describe_empty_list(shown: RowSelection) -> tuple[str, str, str]:
    """Return the title, text and button label for an empty list of sentences; an empty label means no button."""
    if (group := shown.selected.group) and group.texts:
        title = f"{count(len(group.texts))} sentences outside {shown.table.split}"
        return title, "They are listed below; Sentence in the bar opens the selected one.", ""
    if not (rules := find_other_rules(shown)):
        return "No sentence is left", "Remove the last condition above.", ""
    some = f"{count(int(np.all([*rules.values()], axis=0).sum()))} selected" if shown.table.wrong.any() else ""
    text = "There is no error to read. The closest are the sentences with the lowest margin."
    return f"All {some or count(len(shown.table))} are right", text, "Lowest margin first"


def find_other_rules(shown: RowSelection) -> dict[str, np.ndarray]:
    """Return the filter rules except `wrong` with their row masks, as rule → mask; empty if they match no rows."""
    if not any(str(clause) == WRONG for clause in shown.clauses):
        return {}
    others = {str(clause): has for clause, has in zip(shown.clauses, shown.masks, strict=True) if str(clause) != WRONG}
    found = others or {"all": np.ones(len(shown.table), bool)}
    return found if np.all([*found.values()], axis=0).any() else {}


def _format_column(column: pd.Series) -> list[str]:
    cells = (format_exact(value) if isinstance(value, float) else str(value) for value in column.tolist())
    return [
        "" if missing else {"True": "yes", "False": "no"}.get(cell, re.sub("^-(?=[0-9])", MINUS, cell))
        for cell, missing in zip(cells, column.isna(), strict=True)
    ]


def _build_rows(shown: RowSelection, places: np.ndarray) -> list[dict[str, Any]]:
    table = shown.table
    frame = table.frame.iloc[places]
    order = sorted(table.own, key=lambda name: name == "frame")  # the pattern of a made sentence last: it says least
    own = {name.replace(PHENOMENON, "kind"): _format_column(frame[name]) for name in order}
    tags = {name: has[places] for name, has in shown.known.found_tags.items()}
    chances = np.round(table.probabilities[places], 3)
    rows, names = [], ("key", "text", "true", "predicted", "p_predicted", "wrong")
    for at, (key, text, true, said, p, wrong) in enumerate(zip(*(frame[name].tolist() for name in names), strict=True)):
        row = {"key": key, "text": text, "true": true, "predicted": said, "p": round(p, 3), "wrong": wrong}
        row["own"] = " \u00b7 ".join(f"{name}: {values[at]}" for name, values in own.items() if values[at])
        row["tags"] = [name_tag(name) for name, has in tags.items() if has[at]]
        row["chances"] = _list_probabilities(chances[at], table.classes, (true, said), several=table.task == "multi")
        if table.task == "multi":
            row |= {name: frame[name].iat[at] if frame[name].iat[at] != NOTHING else "" for name in SEVERAL}
        rows.append(row)
    return rows


def _list_probabilities(
    chances: np.ndarray, classes: Sequence[str], pair: Sequence[str], *, several: bool
) -> list[tuple[str, float]]:
    """Return the classes named in a probability bar with their probabilities, and the sum of all others."""
    order = np.argsort(-chances, kind="stable")
    if several:
        return [(classes[at], float(chances[at])) for at in order[: 2 * LIKELIEST]]
    if len(classes) <= LIKELIEST + 1:
        return [(name, float(p)) for name, p in zip(classes, chances, strict=True)]
    named = sorted({*order[:LIKELIEST].tolist(), *(classes.index(name) for name in pair)})
    rest = 1.0 - float(chances[named].sum())
    others = [(f"{len(classes) - len(named)} others", round(max(0.0, rest), 3))]
    return [*((classes[at], float(chances[at])) for at in named), *others]


def _build_detail(detail: Detail, record: RunRecord, t: Tokens) -> dict[str, Any]:
    labels = [f"{name} ({count(number)})" for name, number in detail.same.items()]
    double = f"The same text is in training as {' and '.join(labels)}." if labels else ""
    found: dict[str, Any] = {"near": [[*each[:3], round(each.likeness, 3)] for each in detail.near]}
    found |= {"double": double, "lone": detail.lone, "among": detail.among, "later": detail.later}
    return found | (_build_words(detail.pushed, record, t) if detail.pushed is not None else {})


def _build_words(pushed: DeletionAttribution, record: RunRecord, t: Tokens) -> dict[str, Any]:
    towards, away = ramps = make_ramps(record, pushed.target, t)
    top, words = find_full_color(pushed.pushes), []
    for word, push, unknown in zip(pushed.words, pushed.pushes, pushed.unknown, strict=True):
        about = f"effect {signed(push)} towards {pushed.target}" + (", not in the vocabulary" if unknown else "")
        words.append({"word": word, "about": about, "unknown": unknown, **shade_push(push, top, ramps, t)})
    other = next((name for name in record.classes if name != pushed.target), "")
    ends = [f"towards {other}" if is_binary(record) else "away" if away else "away (hatched), towards", pushed.target]
    ramp = [*reversed(away[1:]), *towards] if away else list(towards)
    full = f"Strongest: an effect of {number(top, 1)}"
    return {"words": words, "full": full, "ends": ends, "ramp": ramp, "unknown": any(pushed.unknown)}


def build_sentences_table(reading: SentenceList, coded: Annotations | None = None) -> pd.DataFrame:
    """Return the selected rows as a table: data columns, 0/1 for each error tag, and annotation codes and notes."""
    shown = reading.analysis
    coded = shown.coded if coded is None else coded
    tags = {f"tag:{name}": has[shown.places].astype(int) for name, has in shown.known.found_tags.items()}
    table = shown.table.frame.iloc[shown.places]
    if not (coded.given or coded.notes):
        return table.assign(**tags)
    keys = table["key"].tolist()
    said = {"codes": [f"{SEPARATOR} ".join(coded.get_codes(key)) for key in keys]}
    said["note"] = [_join_notes(coded.notes.get(key, {})) for key in keys]
    return table.rename(columns={name: f"data:{name}" for name in said if name in table}).assign(**said, **tags)


def _join_notes(notes: Mapping[str, str]) -> str:
    lines = (f"{name_author(author)}: {note}" for author, note in sorted(notes.items()))
    return "\n".join(notes.values() if len(notes) == 1 else lines)


ERRORS = Figure("errors", "errors", "Sentences").add_details(
    read=lambda source: SentenceList(select_rows(source)),
    draw=_draw_reader,
    note=lambda reading: (
        f"{count(len(reading.analysis.places))} of {count(len(reading.analysis.table))}, {reading.analysis.description}"
    ),
    reading="Colour: effect of deleting the word (log-odds). Dashed: unknown word.",
    options=(SELECT, ORDER),
    tables=lambda reading: {"Sentences": build_sentences_table(reading)},
)
"""Its page adds word effects, neighbours and shortcuts; an exported file has only the list and the plain text."""


@dataclass(frozen=True)
class CodesShape:
    """Frequency of annotation codes (`core.error_analysis.codebook`), and agreement of two annotators."""

    found: dict[str, Any]
    pair: dict[str, Any] | None  # None: other authors are hidden
    definitions: dict[str, str]


def count_codes(
    coded: Annotations, author: str, keys: Sequence[str], known: Sequence[Draw], *, by_codes: bool = False
) -> CodesShape:
    """Count the annotation codes of rows, and measure agreement with whoever else coded most of the same rows."""
    counted = coded.select_author(author) if author in coded.authors else coded
    rates = compute_rates(counted, keys, known, by_codes=by_codes)
    about = {code.name: code.definition for code in coded.book}
    others = [each for each in coded.authors if each != author] if author in coded.authors else []
    pairs = [compare_authors(coded, author, other, keys) for other in others]
    most = max((each for each in pairs if each["n"]), key=lambda each: each["n"], default=None)
    return CodesShape(rates, most, about)


def describe_coding(shape: CodesShape) -> str:
    """Return a sentence on the progress of annotation, and on the agreement of two annotators (Cohen's κ)."""
    said = [str(shape.found["said"]).partition(". ")[0].removesuffix(".")]
    if (pair := shape.pair) and pair["kappa"] is not None:
        low, high = pair["interval"]
        kappa = f"{number(pair['kappa'], 2)} ({number(low, 2)} to {number(high, 2)}), n = {pair['n']}"
        said.append(f"κ with {name_author(pair['second'])} {kappa}")
    return " · ".join(said)


def build_codes_table(shape: CodesShape) -> IntervalTable:
    """Build the interval table of annotation codes, the most frequent first."""
    of, axis = shape.definitions, partial(make_axis, ends=(0.0, 1.0), zero=0.0)
    drawn = [
        columns.name("code", "Code", lambda row: TextCell(row["code"], str(row["place"] or ""), title=of[row["code"]])),
        # n: the rows that the share is based on
        columns.text("n", "n", lambda row: count(row["n"] if row["hits"] is None else row["hits"]), "3rem"),
    ]
    if shape.found["complete"]:
        drawn += [
            columns.text("share", "share", lambda row: f"{row['share']:.2f}", "3.6rem", soft=True),
            columns.interval("mark", "95 %", lambda row: Mark(row["share"], *row["interval"] or ()), axis, "45%"),
        ]
    return IntervalTable("codes", drawn, shape.found["codes"], "code", height=1.75)
