"""What people said of the sentences: the codebook with examples, how often each code stands, who coded, how alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from core.data.findings import plural
from core.exceptions import InputError
from core.failures.code_rates import Draw, draws, rates
from core.failures.coded import Coded, agreement
from core.failures.names import known_as
from core.failures.report import said as in_words
from core.failures.rules import Clause
from core.failures.table import Table
from core.runs.record import RunRecord
from dashboard.figures.drawing import Node, element
from dashboard.figures.numbers import count, number
from dashboard.reports.reading import ReportReader
from dashboard.reports.sections import Section, finding, paragraph, table

UNTOLD = (
    "Left out: definitions and examples of the codes, notes, and the words by which sentences were drawn. They may "
    "quote texts, which this run was made to keep none of."
)
EXAMPLES = 3
"""Coded sentences that stand with a code."""


@dataclass(frozen=True)
class Session:
    """Some sentences and what was said of them."""

    coded: Coded
    keys: tuple[str, ...]
    said: str
    """Which sentences they are."""
    quoting: str
    """By which words of a person they were selected; these may be words of the texts."""
    known: tuple[Draw, ...]
    named: str = ""
    """What `--codes` called it; empty: the codes of what is wrong."""
    by_codes: bool = False
    """Whether they are those that somebody has coded, of which no shares are told."""


def session(reading: ReportReader, record: RunRecord, named: str, table: Table) -> Session:
    """The coded session of a name that `sentiscope codes list` gives.

    Raises:
        InputError: there is none of this name among the sentences of the split.
    """
    codes, coded = reading.codes(record), reading.coded(record)
    known, keys = tuple(draws(codes)), table.frame["key"].tolist()
    if not named:
        wrong = tuple(key for key, is_wrong in zip(keys, table.wrong.tolist(), strict=True) if is_wrong)
        return Session(coded, wrong, in_words(table, (Clause("wrong"),), table.wrong), "", known)
    if found := next((each for each in known if each.id == named), None):
        own = tuple(key for key in keys if key in set(found.keys))
        about = f"{count(len(found.keys))} of {count(len(found.population))} drawn with seed {found.seed}"
        return _there(Session(coded, own, about, found.said, known, named), record, table)
    if named == codes.data:
        own = tuple(key for key in keys if key in coded.given or key in coded.notes)
        return _there(
            Session(coded, own, "All that anybody has coded.", "", known, named, by_codes=True), record, table
        )
    if named in coded.authors:
        by = coded.by(named)
        own = tuple(key for key in keys if key in by.given or key in by.notes)
        return _there(Session(by, own, f"All that {named} has coded.", "", known, named, by_codes=True), record, table)
    there = [f"'{codes.data}'", *map(repr, coded.authors), *(f"'{each.id}'" for each in known)]
    raise InputError(
        f"--codes {named!r:.80}: no draw, author or codebook of {record.run} is called so; there are {', '.join(there)}"
    )


def _there(found: Session, record: RunRecord, table: Table) -> Session:
    if not found.keys:
        raise InputError(f"--codes {found.named!r:.80}: no sentence of {record.run}, {table.split} belongs to it")
    return found


def codes_section(found: Session, shown: Table, *, told: bool) -> Section | None:
    """None: there is neither a code nor a note; `told`: whether texts may be."""
    notes = sum(bool(found.coded.notes.get(key)) for key in found.keys)
    if not found.coded.book and not notes:
        return None
    counted = rates(found.coded, found.keys, found.known, by_codes=found.by_codes)
    of = f"{found.said}: {found.quoting}" if found.quoting and told else found.said
    parts = [paragraph(of), paragraph(counted["said"])]
    parts.append(_book(found, counted, shown, told=told))
    if not counted["complete"]:
        parts.append(
            finding("Shares are not told", "Sentences that somebody chose say nothing of those that nobody has read.")
        )
    parts += [_authors(found), _pairs(found)]
    if not told:
        parts.append(paragraph(UNTOLD, "soft"))
    return Section(
        "codes", "Codes", int(counted["coded"]), f"of {plural(counted['n'], 'sentence')} coded", "".join(parts)
    )


def _book(found: Session, counted: dict[str, Any], shown: Table, *, told: bool) -> str:
    about = {code.name: code for code in found.coded.book}
    columns = ["Code", *(["Definition"] if told else []), "Sentences"]
    columns += ["Share", "95 % interval"] if counted["complete"] else []
    columns += ["Examples"] if told else []
    rows: list[list[str | Node]] = []
    for each in counted["codes"]:
        code = about[each["code"]]
        row: list[str | Node] = [code.name, *([code.definition] if told else []), count(each["n"])]
        if counted["complete"]:
            low, high = each["interval"]
            row += [number(each["share"]), f"{number(low)} to {number(high)}"]
        if told:
            row.append(_examples(code.example, _coded_so(found, code.name, shown)))
        rows.append(row)
    return table("Codebook", columns, rows, ("Sentences", "Share", "95 % interval"))


def _coded_so(found: Session, code: str, shown: Table) -> list[str]:
    """The first sentences of the session that have a code."""
    text = dict(zip(shown.frame["key"].tolist(), shown.texts, strict=True))
    return [text[key] for key in found.keys if code in found.coded.of(key)][:EXAMPLES]


def _examples(given: str, coded: Sequence[str]) -> Node:
    shown = list(dict.fromkeys(filter(None, (given, *coded))))
    return element("ul", *(element("li", text, dir="auto") for text in shown)) if shown else ""


def _authors(found: Session) -> str:
    coded, keys = found.coded, found.keys
    names = sorted({*coded.authors, *(name for each in coded.notes.values() for name in each)})
    rows = [
        (
            known_as(name),
            count(sum(name in coded.given.get(key, {}) for key in keys)),
            count(sum(name in coded.notes.get(key, {}) for key in keys)),
        )
        for name in names
    ]
    return table("Who coded", ("Author", "Coded", "Notes"), rows, ("Coded", "Notes")) if rows else ""


def _pairs(found: Session) -> str:
    """κ of every two who have coded some of the same sentences."""
    rows = []
    for first, second in combinations(found.coded.authors, 2):
        pair = agreement(found.coded, first, second, found.keys)
        if not pair["n"]:
            continue
        kappa = "not defined"
        if pair["interval"]:
            low, high = pair["interval"]
            kappa = f"{number(pair['kappa'], 2)} ({number(low, 2)} to {number(high, 2)})"
        both = f"{known_as(first)} and {known_as(second)}"
        rows.append((both, count(pair["n"]), count(pair["same"]), kappa))
    columns = ("Authors", "Coded by both", "Alike", "Cohen’s κ (95 %)")
    return table("Agreement", columns, rows, columns[1:]) if rows else ""
