"""Report sections about a run: run card, settings and data card; codebook, annotation codes and annotators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from core import data, runs
from core.config import SETTINGS, compose, flatten_config
from core.data.dataset import Dataset
from core.data.findings import plural
from core.data.sources import is_registered
from core.error_analysis.annotation_store import name_author
from core.error_analysis.codebook import Draw, compute_rates, list_draws
from core.error_analysis.predictions_table import PredictionTable
from core.error_analysis.query import Clause
from core.error_analysis.report import describe_result
from core.error_analysis.row_annotations import Annotations, compare_authors
from core.exceptions import ConfigError, InputError, NotAvailable
from core.formatting import count, format_duration, number
from core.models.presets import PRESETS
from core.runs.configuration import write_train_command
from core.runs.record import RunRecord
from core.runs.store import RunStore
from dashboard.figures.dataset_summary import CARDINALITY, CLASSES, SPLITS, Balance, format_percent, get_class_shares
from dashboard.figures.display_names import get_data_name
from dashboard.figures.drawing import Node, make_node, write_node
from dashboard.figures.training_plan import format_millions
from dashboard.reports.report_parts import (
    ReportData,
    Section,
    arrange_figures,
    fold_markup,
    write_facts,
    write_notice,
    write_paragraph,
    write_shape,
    write_table,
)
from dashboard.reports.report_reader import ReportReader

AT_ONCE = 20_000_000  # largest data set, in characters, that is counted for its card: this takes a minute at most
MOST_CLASSES = 12  # classes named in one line


def write_run_card(record: RunRecord, store: RunStore, name: str = "card") -> Section:
    """Write the run card section of a report: the model, how it was trained, and how to train it again."""
    config = record.config
    known = {
        "Run": record.run,
        "Model": record.described,
        "Recipe": record.recipe,
        "Left out of the recipe": "; ".join(f"{key}: {why}" for key, why in record.left_out.items()),
        "Data": config.data.name,
        "Classes": _shorten_names(record.classes) + (", in this order" if record.ordered else ""),
        "Task": "several labels per text" if record.task == "multi" else "one label per text",
        "Seed": f"{config.training.seed} (splits: {config.data.seed})",
        "Status": f"{record.status}{f': {record.reason}' if record.reason else ''}",
        "Trained": f"{record.created}, in {format_duration(record.seconds)}",
        "Machine": f"{record.device}, {plural(record.threads, 'thread')}" if record.device else "",
        "Versions": ", ".join(f"{name} {version}" for name, version in record.versions.items()),
        "Parameters": format_millions(record.parameters) if record.parameters else "",
        "Vocabulary": f"{count(record.vocabulary)}, texts cut at {count(record.max_length)} tokens",
        "Started from": config.training.start,
        "Sweep": record.parent,
        "Data fingerprint": record.data_fingerprint,
        "Data preparation": "; ".join(record.data_notes),
        "Description": PRESETS[record.preset].line if record.preset in PRESETS else "",
    }
    line, note = write_train_command(record, store)
    again = write_node(make_node("pre", make_node("code", line), tabindex="0"))
    same = "The same settings, data, versions and number of threads give the same weights to the last bit."
    notes = "".join(write_paragraph(each, "soft") for each in (note, same) if each)
    markup = f"{write_facts(known)}<h3>Train it again</h3>{again}{notes}"
    return Section(name, "Run card", record.parameters, "parameters", markup)


def _shorten_names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:MOST_CLASSES])
    return shown if len(names) <= MOST_CLASSES else f"{shown} and {count(len(names) - MOST_CLASSES)} more"


def write_settings(record: RunRecord) -> Section:
    """Write the settings section of a report: every setting of a run, first those that differ from the preset."""
    values = flatten_config(record.config)
    try:
        usual: Mapping[str, Any] = flatten_config(compose(record.preset))
    except ConfigError:  # the preset comes from another version
        usual = {key: setting.default for key, setting in SETTINGS.items()}
    own = [key for key, value in values.items() if usual.get(key) != value]
    changed = [(key, _format_value(values[key]), _format_value(usual.get(key)), SETTINGS[key].help) for key in own]
    every = [(key, _format_value(value), SETTINGS[key].help) for key, value in values.items()]
    first = write_paragraph(f"All settings are those of {record.preset}.")
    if own:
        first = write_table("Differences from the preset", ("Setting", "Value", "Preset", "Meaning"), changed)
    rest = fold_markup(f"All {count(len(every))}", write_table("All settings", ("Setting", "Value", "Meaning"), every))
    of = f"settings, {count(len(own))} changed from the preset"
    return Section("settings", "Settings", len(values), of, first + rest)


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value in ("", None) else str(value)


def write_data_card(
    record: RunRecord, judged: PredictionTable, found: ReportData, *, no_paths: bool = False
) -> Section:
    """Write the data card section of a report: counts, shares and names of a run's data, optionally without paths."""
    try:
        dataset = runs.train_overlap.load_trained_data(record)
    except NotAvailable as error:
        why = "This machine cannot read the data of the training" if no_paths else str(error)
        absent = _write_absent_data(record, judged, why)
        return Section("data", "Data card", len(judged), f"rows of {judged.split}", absent)
    about = write_facts(
        {
            "Data": get_data_name(dataset.name),
            "Source": "" if no_paths and not is_registered(record.config.data.name) else dataset.source,
            "Licence": dataset.licence,
            "Language": dataset.language,
            "Classes": _shorten_names(dataset.classes),
            "Fingerprint": dataset.fingerprint,
        }
    )
    about += "".join(write_paragraph(note, "soft") for note in dataset.notes)
    rows = sum(map(len, dataset.splits.values()))
    return Section("data", "Data card", rows, "rows", about + _write_counts(record, dataset, found))


def _write_absent_data(record: RunRecord, judged: PredictionTable, why: str) -> str:
    has = judged.true.sum(0).tolist()
    rows = [
        (label, count(n), format_percent(n / max(1, len(judged)))) for label, n in zip(judged.classes, has, strict=True)
    ]
    known = write_facts({"Data": get_data_name(record.config.data.name), "Fingerprint": record.data_fingerprint})
    known += "".join(write_paragraph(note, "soft") for note in record.data_notes)
    classes = write_table(f"Classes of {judged.split}", ("Class", "Rows", "Share"), rows, ("Rows", "Share"))
    return known + write_notice("The training data are not here", f"{why[:1].upper()}{why[1:]}.") + classes


def _write_counts(record: RunRecord, dataset: Dataset, found: ReportData) -> str:
    """Write the tables and charts of a data set's splits and classes as HTML, as on the Data page."""
    if sum(int(rows["text"].str.len().sum()) for rows in dataset.splits.values()) > AT_ONCE:
        rows = [(split, count(len(frame))) for split, frame in dataset.splits.items()]
        words = "A report does not count lengths and repeats of so many texts; the page Data shows them."
        return write_table("Splits", ("Split", "Rows"), rows, ("Rows",)) + write_paragraph(words, "soft")
    card = data.card.build_card(dataset, record.config.text)
    balance = Balance(get_class_shares(card), dataset.task == "multi", dataset.ordered)
    parts = [write_shape(CLASSES, balance, found, "data-classes"), write_shape(SPLITS, card, found, "data-splits")]
    if any("labels" in split for split in card["splits"].values()):
        parts.append(write_shape(CARDINALITY, card, found, "data-labels"))
    return arrange_figures(parts)


UNTOLD = (
    "Left out: definitions and examples of the codes, notes, and the words by which sentences were selected. They may "
    "quote texts, and this run keeps no texts."
)
EXAMPLES = 3  # coded sentences shown with a code


@dataclass(frozen=True)
class Session:
    """An annotation session of a run: sentences, with the codes and notes that annotators gave them."""

    coded: Annotations
    keys: tuple[str, ...]
    said: str  # describes which sentences they are
    known: tuple[Draw, ...]
    quoting: str = ""  # the user's words that selected them, which may quote the texts
    by_codes: bool = False  # whether they were selected by their codes; shares are not defined then


def read_session(reading: ReportReader, record: RunRecord, named: str, table: PredictionTable) -> Session:
    """Return the coding session of a given name; without a name, all wrong predictions with their annotation codes.

    Raises:
        InputError: the split has no sentences of a session with this name.
    """
    codes, coded = reading.open_codebook(record), reading.read_annotations(record)
    known, keys = tuple(list_draws(codes)), table.frame["key"].tolist()
    if not named:
        wrong = tuple(table.frame["key"][table.wrong])
        return Session(coded, wrong, describe_result(table, (Clause("wrong"),), table.wrong), known)
    if draw := next((each for each in known if each.id == named), None):
        drawn = set(draw.keys)
        about = f"Random sample: {count(len(draw.keys))} of {count(len(draw.population))}, seed {draw.seed}"
        found = Session(coded, tuple(key for key in keys if key in drawn), about, known, draw.said)
    elif named == codes.data or named in coded.authors:
        by, who = (coded, "anyone") if named == codes.data else (coded.select_author(named), named)
        own = tuple(key for key in keys if key in by.given or key in by.notes)
        found = Session(by, own, f"All sentences that {who} has coded.", known, by_codes=True)
    else:
        there = ", ".join([f"'{codes.data}'", *map(repr, coded.authors), *(f"'{each.id}'" for each in known)])
        raise InputError(
            f"--codes {named!r:.80}: {record.run} has no draw, author or codebook of this name; there are {there}"
        )
    if not found.keys:
        raise InputError(f"--codes {named!r:.80}: no sentence of {record.run}, {table.split} belongs to it")
    return found


def write_codes_section(found: Session, shown: PredictionTable, *, told: bool) -> Section | None:
    """Write the report section on annotation codes, with or without texts; None if there are no codes or notes."""
    if not found.coded.book and not any(found.coded.notes.get(key) for key in found.keys):
        return None
    counted = compute_rates(found.coded, found.keys, found.known, by_codes=found.by_codes)
    of = f"{found.said}: {found.quoting}" if found.quoting and told else found.said
    parts = [write_paragraph(of), write_paragraph(counted["said"]), _write_codebook(found, counted, shown, told=told)]
    if not counted["complete"]:
        words = "Percentages need all sentences coded, or a random sample."
        parts.append(write_notice("No percentages", words))
    parts += [_write_authors(found), _write_kappa(found), *([] if told else [write_paragraph(UNTOLD, "soft")])]
    of = f"of {plural(counted['n'], 'sentence')} coded"
    return Section("codes", "Codes", int(counted["coded"]), of, "".join(parts))


def _write_codebook(found: Session, counted: dict[str, Any], shown: PredictionTable, *, told: bool) -> str:
    about = {code.name: code for code in found.coded.book}
    text = dict(zip(shown.frame["key"].tolist(), shown.texts, strict=True))
    rows: list[dict[str, str | Node]] = []
    for each in counted["codes"]:
        code = about[each["code"]]
        row: dict[str, str | Node] = {"Code": code.name, "Sentences": count(each["n"])}
        if counted["complete"]:
            low, high = each["interval"]
            row |= {"Share": number(each["share"]), "95 % interval": f"{number(low)} to {number(high)}"}
        if told:  # the first sentences of the session with this code
            coded = [text[key] for key in found.keys if code.name in found.coded.get_codes(key)][:EXAMPLES]
            given = dict.fromkeys(filter(None, (code.example, *coded)))
            examples = make_node("ul", *(make_node("li", each, dir="auto") for each in given)) if given else ""
            row |= {"Definition": code.definition, "Examples": examples}
        rows.append(row)
    numbers = ["Sentences", *(["Share", "95 % interval"] if counted["complete"] else [])]
    columns = ["Code", "Definition", *numbers, "Examples"] if told else ["Code", *numbers]
    return write_table("Codebook", columns, [[row[name] for name in columns] for row in rows], numbers)


def _write_authors(found: Session) -> str:
    coded, keys = found.coded, found.keys
    names = sorted({*coded.authors, *(name for each in coded.notes.values() for name in each)})
    kinds = coded.given, coded.notes
    rows = [
        (name_author(name), *(count(sum(name in kind.get(key, {}) for key in keys)) for kind in kinds))
        for name in names
    ]
    return write_table("Annotators", ("Author", "Coded", "Notes"), rows, ("Coded", "Notes")) if rows else ""


def _write_kappa(found: Session) -> str:
    """Write an HTML table of Cohen's κ (agreement) for each two annotators who coded some of the same sentences."""
    rows = []
    for first, second in combinations(found.coded.authors, 2):
        pair = compare_authors(found.coded, first, second, found.keys)
        if not pair["n"]:
            continue
        kappa = "not defined"
        if pair["interval"]:
            low, high = pair["interval"]
            kappa = f"{number(pair['kappa'], 2)} ({number(low, 2)} to {number(high, 2)})"
        both = f"{name_author(first)} and {name_author(second)}"
        rows.append((both, count(pair["n"]), count(pair["same"]), kappa))
    columns = ("Authors", "Coded by both", "Same codes", "Cohen’s κ (95 %)")
    return write_table("Agreement", columns, rows, columns[1:]) if rows else ""
