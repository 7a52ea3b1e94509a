"""What people said of the sentences: the codebook with examples, how often each code stands, who coded, how alike."""

from __future__ import annotations

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
from core.numbers import count, number
from core.runs.record import RunRecord
from dashboard.figures.drawing import Node, element
from dashboard.reports.drawn import Section, finding, paragraph, table
from dashboard.reports.reading import ReportReader

UNTOLD = (
    "Left out: definitions and examples of the codes, notes, and the words by which sentences were drawn. They may "
    "quote texts, which this run was made to keep none of."
)
EXAMPLES = 3  # coded sentences that stand with a code


@dataclass(frozen=True)
class Session:
    """Some sentences and what was said of them."""

    coded: Coded
    keys: tuple[str, ...]
    said: str  # which sentences they are
    known: tuple[Draw, ...]
    quoting: str = ""
    """By which words of a person they were selected; these may be words of the texts."""
    by_codes: bool = False
    """Whether they are those that somebody has coded, of which no shares are told."""


def session(reading: ReportReader, record: RunRecord, named: str, table: Table) -> Session:
    """Return the coded session of a name that `sentiscope codes list` gives; empty: the codes of what is wrong.

    Raises:
        InputError: there is none of this name among the sentences of the split.
    """
    codes, coded = reading.codes(record), reading.coded(record)
    known, keys = tuple(draws(codes)), table.frame["key"].tolist()
    if not named:
        wrong = tuple(table.frame["key"][table.wrong])
        return Session(coded, wrong, in_words(table, (Clause("wrong"),), table.wrong), known)
    if draw := next((each for each in known if each.id == named), None):
        drawn = set(draw.keys)
        about = f"{count(len(draw.keys))} of {count(len(draw.population))} drawn with seed {draw.seed}"
        found = Session(coded, tuple(key for key in keys if key in drawn), about, known, draw.said)
    elif named == codes.data or named in coded.authors:
        by, who = (coded, "anybody") if named == codes.data else (coded.by(named), named)
        own = tuple(key for key in keys if key in by.given or key in by.notes)
        found = Session(by, own, f"All that {who} has coded.", known, by_codes=True)
    else:
        there = ", ".join([f"'{codes.data}'", *map(repr, coded.authors), *(f"'{each.id}'" for each in known)])
        raise InputError(
            f"--codes {named!r:.80}: no draw, author or codebook of {record.run} is called so; there are {there}"
        )
    if not found.keys:
        raise InputError(f"--codes {named!r:.80}: no sentence of {record.run}, {table.split} belongs to it")
    return found


def codes_section(found: Session, shown: Table, *, told: bool) -> Section | None:
    """Write the section; None: there is neither a code nor a note; `told`: whether texts may be."""
    if not found.coded.book and not any(found.coded.notes.get(key) for key in found.keys):
        return None
    counted = rates(found.coded, found.keys, found.known, by_codes=found.by_codes)
    of = f"{found.said}: {found.quoting}" if found.quoting and told else found.said
    parts = [paragraph(of), paragraph(counted["said"]), _book(found, counted, shown, told=told)]
    if not counted["complete"]:
        words = "Sentences that somebody chose say nothing of those that nobody has read."
        parts.append(finding("Shares are not told", words))
    parts += [_authors(found), _pairs(found), *([] if told else [paragraph(UNTOLD, "soft")])]
    of = f"of {plural(counted['n'], 'sentence')} coded"
    return Section("codes", "Codes", int(counted["coded"]), of, "".join(parts))


def _book(found: Session, counted: dict[str, Any], shown: Table, *, told: bool) -> str:
    about = {code.name: code for code in found.coded.book}
    text = dict(zip(shown.frame["key"].tolist(), shown.texts, strict=True))
    rows: list[dict[str, str | Node]] = []
    for each in counted["codes"]:
        code = about[each["code"]]
        row: dict[str, str | Node] = {"Code": code.name, "Sentences": count(each["n"])}
        if counted["complete"]:
            low, high = each["interval"]
            row |= {"Share": number(each["share"]), "95 % interval": f"{number(low)} to {number(high)}"}
        if told:  # the first sentences of the session that have it
            coded = [text[key] for key in found.keys if code.name in found.coded.of(key)][:EXAMPLES]
            given = dict.fromkeys(filter(None, (code.example, *coded)))
            examples = element("ul", *(element("li", each, dir="auto") for each in given)) if given else ""
            row |= {"Definition": code.definition, "Examples": examples}
        rows.append(row)
    numbers = ["Sentences", *(["Share", "95 % interval"] if counted["complete"] else [])]
    columns = ["Code", "Definition", *numbers, "Examples"] if told else ["Code", *numbers]
    return table("Codebook", columns, [[row[name] for name in columns] for row in rows], numbers)


def _authors(found: Session) -> str:
    coded, keys = found.coded, found.keys
    names = sorted({*coded.authors, *(name for each in coded.notes.values() for name in each)})
    kinds = coded.given, coded.notes
    rows = [
        (known_as(name), *(count(sum(name in kind.get(key, {}) for key in keys)) for kind in kinds)) for name in names
    ]
    return table("Who coded", ("Author", "Coded", "Notes"), rows, ("Coded", "Notes")) if rows else ""


def _pairs(found: Session) -> str:
    """Write κ of every two who have coded some of the same sentences."""
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
