"""Report sections about a run: run card, settings and data card; codebook, codes and annotators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from core import data, runs
from core.config import SETTINGS, compose, flat
from core.data.findings import plural
from core.data.sources import named
from core.data.table import Dataset
from core.exceptions import ConfigError, InputError, NotAvailable
from core.failures.code_rates import Draw, draws, rates
from core.failures.coded import Coded, agreement
from core.failures.names import known_as
from core.failures.report import said as in_words
from core.failures.rules import Clause
from core.failures.table import Table
from core.models.presets import PRESETS
from core.numbers import count, duration, number
from core.runs.configuration import train_command
from core.runs.record import RunRecord
from core.runs.store import RunStore
from dashboard.figures.data import CARDINALITY, CLASSES, SPLITS, Balance, class_shares, percent
from dashboard.figures.drawing import Node, element, write_node
from dashboard.figures.naming import data_name
from dashboard.figures.train_plan import millions
from dashboard.reports.drawn import Collected, Section, facts, finding, folded, paragraph, shaped_part, table, together
from dashboard.reports.reading import ReportReader

AT_ONCE = 20_000_000
"""Characters up to which the texts of a data set are counted for its card: a minute at most."""
MOST_CLASSES = 12  # classes that a line names


def run_card(record: RunRecord, store: RunStore, name: str = "card") -> Section:
    """Write the run card: which model this is, how it was trained, and how to train it again."""
    config = record.config
    known = {
        "Run": record.run,
        "Model": record.described,
        "Recipe": record.recipe,
        "Left out of the recipe": "; ".join(f"{key}: {why}" for key, why in record.left_out.items()),
        "Data": config.data.name,
        "Classes": _some(record.classes) + (", in this order" if record.ordered else ""),
        "Task": "several labels per text" if record.task == "multi" else "one label per text",
        "Seed": f"{config.training.seed}, of the splits {config.data.seed}",
        "Status": f"{record.status}{f': {record.reason}' if record.reason else ''}",
        "Trained": f"{record.created}, in {duration(record.seconds)}",
        "Machine": f"{record.device}, {plural(record.threads, 'thread')}" if record.device else "",
        "Versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "Parameters": millions(record.parameters) if record.parameters else "",
        "Vocabulary": f"{count(record.vocabulary)}, texts cut at {count(record.max_length)} tokens",
        "Started from": config.training.start,
        "Sweep": record.parent,
        "Fingerprint of the data": record.data_fingerprint,
        "What was done to the data": "; ".join(record.data_notes),
        "Description": PRESETS[record.preset].line if record.preset in PRESETS else "",
    }
    line, note = train_command(record, store)
    again = "<h3>To train it again</h3>" + write_node(element("pre", element("code", line), tabindex="0"))
    again += paragraph(note, "soft") if note else ""
    same = "The same settings, data, versions and number of threads give the same weights to the last bit."
    return Section(name, "Run card", record.parameters, "parameters", facts(known) + again + paragraph(same, "soft"))


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:MOST_CLASSES])
    return shown if len(names) <= MOST_CLASSES else f"{shown} and {count(len(names) - MOST_CLASSES)} more"


def settings(record: RunRecord) -> Section:
    """List every setting, starting with those that differ from the preset."""
    values = flat(record.config)
    try:
        usual: Mapping[str, Any] = flat(compose(record.preset))
    except ConfigError:  # a preset of another version
        usual = {key: setting.default for key, setting in SETTINGS.items()}
    own = [key for key, value in values.items() if usual.get(key) != value]
    changed = [(key, _said(values[key]), _said(usual.get(key)), SETTINGS[key].help) for key in own]
    every = [(key, _said(value), SETTINGS[key].help) for key, value in values.items()]
    first = paragraph(f"All settings are those of {record.preset}.")
    if own:
        first = table("What differs from the preset", ("Setting", "Value", "Preset", "What it is"), changed)
    rest = folded(f"All {count(len(every))}", table("All settings", ("Setting", "Value", "What it is"), every))
    return Section("settings", "Settings", len(values), f"settings, {count(len(own))} not the preset’s", first + rest)


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value in ("", None) else str(value)


def data_card(record: RunRecord, judged: Table, found: Collected, *, no_paths: bool = False) -> Section:
    """Describe the data that a run was trained and judged on: counts, shares and names; with `no_paths` no path."""
    try:
        dataset = runs.seen.trained_on(record)
    except NotAvailable as error:
        why = "This machine cannot read them as they were when the run was trained" if no_paths else str(error)
        return Section("data", "Data card", len(judged), f"rows of {judged.split}", _absent(record, judged, why))
    about = facts(
        {
            "Data": data_name(dataset.name),
            "Source": "" if no_paths and not named(record.config.data.name) else dataset.source,
            "Licence": dataset.licence,
            "Language": dataset.language,
            "Classes": _some(dataset.classes),
            "Fingerprint": dataset.fingerprint,
        }
    )
    about += "".join(paragraph(note, "soft") for note in dataset.notes)
    rows = sum(map(len, dataset.splits.values()))
    return Section("data", "Data card", rows, "rows", about + _counted(record, dataset, found))


def _absent(record: RunRecord, judged: Table, why: str) -> str:
    has = judged.true.sum(0).tolist()
    rows = [(label, count(n), percent(n / max(1, len(judged)))) for label, n in zip(judged.classes, has, strict=True)]
    known = facts({"Data": data_name(record.config.data.name), "Fingerprint": record.data_fingerprint})
    known += "".join(paragraph(note, "soft") for note in record.data_notes)
    classes = table(f"Classes of {judged.split}", ("Class", "Rows", "Share"), rows, ("Rows", "Share"))
    return known + finding("The training data are not here", f"{why[:1].upper()}{why[1:]}.") + classes


def _counted(record: RunRecord, dataset: Dataset, found: Collected) -> str:
    """Write the splits and classes of a data set as the page Data shows them."""
    if sum(int(rows["text"].str.len().sum()) for rows in dataset.splits.values()) > AT_ONCE:
        rows = [(split, count(len(frame))) for split, frame in dataset.splits.items()]
        words = "Lengths and repeats are not counted in a report of so many texts; the page Data shows them."
        return table("Splits", ("Split", "Rows"), rows, ("Rows",)) + paragraph(words, "soft")
    card = data.card.data_card(dataset, record.config.text)
    balance = Balance(class_shares(card), dataset.task == "multi", dataset.ordered)
    parts = [shaped_part(CLASSES, balance, found, "data-classes"), shaped_part(SPLITS, card, found, "data-splits")]
    if any("labels" in split for split in card["splits"].values()):
        parts.append(shaped_part(CARDINALITY, card, found, "data-labels"))
    return together(parts)


UNTOLD = (
    "Left out: definitions and examples of the codes, notes, and the words by which sentences were drawn. They may "
    "quote texts, which this run was made to keep none of."
)
EXAMPLES = 3  # coded sentences that stand with a code


@dataclass(frozen=True)
class Session:
    """A coding session: sentences with their annotations."""

    coded: Coded
    keys: tuple[str, ...]
    said: str  # which sentences they are
    known: tuple[Draw, ...]
    quoting: str = ""
    """By which words of a person they were selected; these may be words of the texts."""
    by_codes: bool = False
    """Whether they are those that somebody has coded, of which no shares are told."""


def session(reading: ReportReader, record: RunRecord, named: str, table: Table) -> Session:
    """Return the coding session of a name from `sentiscope codes list`; empty: the codes of the errors.

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
    """Write the section of codes, with or without texts; None: there is neither a code nor a note."""
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
    """Write κ of every two annotators who have coded some of the same sentences."""
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
