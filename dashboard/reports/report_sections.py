"""Report sections about a run: run card, settings and data card; codebook, annotation codes and annotators."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from core import behavioral_tests, data, runs
from core.config import SETTINGS, compose, flatten_config
from core.data.dataset import Dataset
from core.data.sources import is_registered
from core.error_analysis.annotation_store import name_author
from core.error_analysis.codebook import Draw, compute_rates
from core.error_analysis.predictions_table import SEVERAL, PredictionTable
from core.error_analysis.query import Clause
from core.error_analysis.report import describe_result
from core.error_analysis.row_annotations import Annotations, compare_authors
from core.exceptions import ConfigError, NotAvailable
from core.formatting import count, format_duration, number, plural
from core.models.presets import PRESETS
from core.runs.configuration import write_train_command
from core.runs.record import RunRecord
from core.runs.store import RunStore
from dashboard.figures.dataset_summary import CARDINALITY, CLASSES, SPLITS, Balance, format_percent, get_class_shares
from dashboard.figures.drawing import Node, make_node, write_node
from dashboard.figures.model_plan import format_millions
from dashboard.figures.results import get_data_name
from dashboard.reports import report_parts
from dashboard.reports.report_parts import ReportData, Section, write_facts, write_paragraph, write_shape, write_table

AT_ONCE = 20_000_000  # largest data set, in characters, that is counted for its card: this takes a minute at most
MOST_CLASSES = 12  # classes named in one line


def write_run_card(record: RunRecord, store: RunStore, name: str = "card") -> Section:
    """Write the run card section of a report: the model, how it was trained, and how to train it again."""
    config, groups = record.config, behavioral_tests.report.find_groups(store, record.run, stored=True)
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
        "Groups of people": "" if groups is None else behavioral_tests.report.summarize_groups(groups),
        "Description": PRESETS[record.preset].line if record.preset in PRESETS else "",
    }
    line, note = write_train_command(record, store)
    again = write_node(make_node("pre", make_node("code", line), tabindex="0"))
    again = f"<h3>Train it again</h3>{again}" if line else ""
    same = "The same settings, data, versions and number of threads give the same weights to the last bit."
    notes = "".join(write_paragraph(each, "soft") for each in (note, line and same) if each)
    markup = f"{write_facts(known)}{again}{notes}"
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
    table = write_table("All settings", ("Setting", "Value", "Meaning"), every)
    rest = f"<details><summary>All {count(len(every))}</summary>{table}</details>"
    of = f"settings, {count(len(own))} changed from the preset"
    return Section("settings", "Settings", len(values), of, first + rest)


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value in ("", None) else str(value)


def write_data_card(
    record: RunRecord, judged: PredictionTable, found: ReportData, *, no_paths: bool = False
) -> Section:
    """Write the data card section of a report: counts, shares and names of a run's data, optionally without paths."""
    try:
        dataset = runs.lineage.load_trained_data(record)
    except NotAvailable as error:
        why = "This machine cannot read the data of the training" if no_paths else str(error)
        absent = _write_absent_data(record, judged, why)
        return Section("data", "Data card", len(judged), f"rows of {judged.split}", absent)
    source = "" if no_paths and not is_registered(record.config.data.name) else dataset.source
    facts = {"Data": get_data_name(dataset.name), "Source": source, "Licence": dataset.licence}
    facts |= {"Language": dataset.language, "Classes": _shorten_names(dataset.classes)}
    about = write_facts(facts | {"Fingerprint": dataset.fingerprint})
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
    return known + report_parts.write_notice("The training data are not here", f"{why[:1].upper()}{why[1:]}.") + classes


def _write_counts(record: RunRecord, dataset: Dataset, found: ReportData) -> str:
    if sum(int(rows["text"].str.len().sum()) for rows in dataset.splits.values()) > AT_ONCE:
        rows = [(split, count(len(frame))) for split, frame in dataset.splits.items()]
        words = "A report does not count lengths and repeats of so many texts; the page Data shows them."
        return write_table("Splits", ("Split", "Rows"), rows, ("Rows",)) + write_paragraph(words, "soft")
    card = data.card.build_card(dataset, record.config.text)
    balance = Balance(get_class_shares(card), dataset.task == "multi", dataset.ordered)
    parts = [write_shape(CLASSES, balance, found, "data-classes"), write_shape(SPLITS, card, found, "data-splits")]
    if any("labels" in split for split in card["splits"].values()):
        parts.append(write_shape(CARDINALITY, card, found, "data-labels"))
    return report_parts.arrange_figures(parts)


UNTOLD = (
    "Left out: definitions and examples of the codes, and notes. They may quote texts, and this run keeps no texts."
)
EXAMPLES = 3  # coded sentences shown with a code


def write_codes_section(
    coded: Annotations, known: Sequence[Draw], shown: PredictionTable, *, told: bool
) -> Section | None:
    """Write the report section on the annotation codes of wrong predictions; None if there are no codes or notes."""
    keys = tuple(shown.frame["key"][shown.wrong])
    if not coded.book and not any(coded.notes.get(key) for key in keys):
        return None
    counted = compute_rates(coded, keys, known)
    parts = [write_paragraph(describe_result(shown, (Clause("wrong"),), shown.wrong)), write_paragraph(counted["said"])]
    parts.append(_write_codebook(coded, keys, counted, shown, told=told))
    if not counted["complete"]:
        words = "Percentages need all sentences coded, or a random sample."
        parts.append(report_parts.write_notice("No percentages", words))
    parts += [_write_authors(coded, keys), _write_kappa(coded, keys), "" if told else write_paragraph(UNTOLD, "soft")]
    of = f"of {plural(counted['n'], 'sentence')} coded"
    return Section("codes", "Codes", int(counted["coded"]), of, "".join(parts))


def _write_codebook(
    coded: Annotations, keys: Sequence[str], counted: dict[str, Any], shown: PredictionTable, *, told: bool
) -> str:
    about = {code.name: code for code in coded.book}
    text = dict(zip(shown.frame["key"].tolist(), shown.texts, strict=True))
    rows: list[dict[str, str | Node]] = []
    for each in counted["codes"]:
        code = about[each["code"]]
        row: dict[str, str | Node] = {"Code": code.name, "Sentences": count(each["n"])}
        if counted["complete"]:
            low, high = each["interval"]
            row |= {"Share": number(each["share"]), "95 % interval": f"{number(low)} to {number(high)}"}
        if told:  # the first sentences with this code
            first = [text[key] for key in keys if code.name in coded.get_codes(key)][:EXAMPLES]
            given = dict.fromkeys(filter(None, (code.example, *first)))
            examples = make_node("ul", *(make_node("li", each, dir="auto") for each in given)) if given else ""
            row |= {"Definition": code.definition, "Examples": examples}
        rows.append(row)
    numbers = ["Sentences", *(["Share", "95 % interval"] if counted["complete"] else [])]
    columns = ["Code", "Definition", *numbers, "Examples"] if told else ["Code", *numbers]
    return write_table("Codebook", columns, [[row[name] for name in columns] for row in rows], numbers)


def _write_authors(coded: Annotations, keys: Sequence[str]) -> str:
    names = sorted({*coded.authors, *(name for each in coded.notes.values() for name in each)})
    kinds = coded.given, coded.notes
    rows = [
        (name_author(name), *(count(sum(name in kind.get(key, {}) for key in keys)) for kind in kinds))
        for name in names
    ]
    return write_table("Annotators", ("Author", "Coded", "Notes"), rows, ("Coded", "Notes")) if rows else ""


def _write_kappa(coded: Annotations, keys: Sequence[str]) -> str:
    rows = []
    for first, second in combinations(coded.authors, 2):
        pair = compare_authors(coded, first, second, keys)
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


ASIDE = {"aside": True}  # of a column that is left out in print
EXACT = 2**53  # larger integers are not exact in a browser, so they are written as text
FEW = 60  # most distinct values of a column with a menu to filter by
MOST_ROWS, MOST_BYTES = 25_000, 5_000_000
"""Limits of rows and of their bytes of text in a report; coded sentences and errors come first."""


@dataclass(frozen=True)
class KeptRows:
    """The numbers of the rows of a prediction table that fit into a report."""

    places: np.ndarray  # (m,) row numbers of the table, ascending
    of: int  # rows of the table

    @property
    def whole(self) -> bool:
        """Return whether a report contains all rows of the prediction table."""
        return len(self.places) == self.of


def select_rows(wrong: np.ndarray, sizes: Sequence[int] | np.ndarray, coded: np.ndarray | None = None) -> KeptRows:
    """Select the prediction rows that fit into a report: all rows with annotation codes, then errors, then others."""
    given = np.zeros(len(wrong), bool) if coded is None else coded
    order = np.argsort(np.select([given, wrong], [0, 1], 2), kind="stable")
    place = np.arange(len(order))
    fits = (place < MOST_ROWS) & (np.cumsum(np.asarray(sizes)[order]) <= MOST_BYTES)
    return KeptRows(np.sort(order[fits | (place < given.sum())]), len(wrong))


def measure_rows(table: PredictionTable) -> np.ndarray:
    """Return the size of each row in bytes, counting the text and the columns of the user's data."""
    written = [table.texts, *(map(str, table.frame[name]) for name in table.own)]
    return np.array([[len(cell.encode("utf-8", "replace")) for cell in column] for column in written]).sum(0)


def make_text_column(label: str, values: Iterable[Any], **more: Any) -> dict[str, Any]:
    """Return a searchable text column for the prediction table of a report."""
    return {"label": label, "kind": "text", "values": ["" if each is None else str(each) for each in values], **more}


def make_number_column(label: str, values: Any, places: int = 3, **more: Any) -> dict[str, Any]:
    """Return a number column for the prediction table of a report; missing and infinite values are left empty."""
    plain = [round(each, places + 2) if math.isfinite(each) else None for each in np.asarray(values, float).tolist()]
    return {"label": label, "kind": "number", "places": places, "values": plain, **more}


def make_choice_column(label: str, values: Iterable[Any], order: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Return a table column with one category in each row, stored as indices into its list of `options`."""
    column = make_set_column(label, [[str(each)] for each in values], order)
    return column | {"kind": "choice", "values": [place for (place,) in column["values"]], **more}


def make_set_column(label: str, values: Sequence[Sequence[str]], order: Sequence[str] = ()) -> dict[str, Any]:
    """Return a table column with any number of categories in each row, as indices into its list of `options`."""
    there = {name for each in values for name in each}
    options = list(dict.fromkeys((*(name for name in order if name in there), *sorted(there))))
    place = {name: at for at, name in enumerate(options)}
    return {"label": label, "kind": "set", "options": options, "values": [[place[n] for n in each] for each in values]}


def list_run_columns(
    table: PredictionTable, places: np.ndarray, tags: Mapping[str, np.ndarray], *, told: bool
) -> list[dict[str, Any]]:
    """Return the columns of a run's prediction table for a report, optionally with texts and row keys."""
    frame, classes = table.frame.iloc[places], list(table.classes)
    columns = _list_text_columns(frame, told=told)
    wrong = ["wrong" if each else "right" for each in frame["wrong"].tolist()]
    columns.append(make_choice_column("outcome", wrong, ("wrong", "right"), marks="wrong"))
    columns += _list_label_columns(table, frame, classes)
    columns += [make_number_column("p_predicted", frame["p_predicted"])]
    columns += [make_number_column(name, frame[name], **ASIDE) for name in ("p_true", "margin")]
    names = list(tags)
    has = np.array([tags[name][places] for name in names], bool).reshape(len(names), -1).T
    given = [[names[at] for at in np.flatnonzero(row)] for row in has]
    columns.append(make_set_column("tags", given, names) | ASIDE)
    columns += [_make_own_column(name, frame[name]) | ASIDE for name in table.own]
    return columns + _list_key_columns(frame, told=told)


def _list_text_columns(frame: pd.DataFrame, *, told: bool) -> list[dict[str, Any]]:
    row = make_number_column("row", frame["row"], 0)
    return [row, make_text_column("text", frame["text"], main=True)] if told else [row]


def _list_key_columns(frame: pd.DataFrame, *, told: bool) -> list[dict[str, Any]]:
    return [make_text_column("key", frame["key"], small=True, **ASIDE)] if told else []


def _list_label_columns(table: PredictionTable, frame: pd.DataFrame, classes: list[str]) -> list[dict[str, Any]]:
    if table.task == "single":
        return [make_choice_column(name, frame[name], classes) for name in ("true", "predicted")]
    places = frame.index.to_numpy()
    columns = [
        make_set_column(name, [[classes[at] for at in np.flatnonzero(row)] for row in has[places]], classes)
        for name, has in (("true", table.true), ("predicted", table.said))
    ]
    return columns + [make_text_column(name, frame[name]) for name in SEVERAL]


def _make_own_column(name: str, column: pd.Series) -> dict[str, Any]:
    numbers = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    if numbers and not (pd.api.types.is_integer_dtype(column) and column.abs().max() > EXACT):
        whole = bool((column.dropna() % 1 == 0).all())
        return make_number_column(name, column.astype(float), 0 if whole else 3)
    words = ["" if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return make_choice_column(name, words) if len(set(words)) <= FEW else make_text_column(name, words)


def list_code_columns(coded: Annotations, keys: Sequence[str], *, told: bool) -> list[dict[str, Any]]:
    """Return two table columns, one of annotation codes and one of notes with authors; empty without annotations."""
    codes = [coded.get_codes(key) for key in keys]
    notes = [coded.notes.get(key, {}) for key in keys]
    columns = []
    if any(codes):
        columns.append(make_set_column("codes", codes, [code.name for code in coded.book]))
    if told and any(notes):
        columns.append(make_text_column("notes", [_join_notes(each) for each in notes]))
    return columns


def _join_notes(said: Mapping[str, str]) -> str:
    return "; ".join(f"{name_author(author)}: {note}" if author else note for author, note in said.items())


def list_model_columns(
    tables: Mapping[str, PredictionTable], places: np.ndarray, *, told: bool
) -> list[dict[str, Any]]:
    """Return the columns that compare several runs on the same rows: which runs are right, and each prediction."""
    first = next(iter(tables.values()))
    frame, classes = first.frame.iloc[places], list(first.classes)
    columns = _list_text_columns(frame, told=told)
    columns.append(make_choice_column("who is right", _name_correct(tables, places), ("none", "all")))
    columns += _list_label_columns(first, frame, classes)[:1]
    for name, table in tables.items():
        own = table.frame.iloc[places]
        said = _list_label_columns(table, own, classes)[1]
        columns.append(said | {"label": f"predicted by {name}"})
        columns.append(make_number_column(f"p_true of {name}", own["p_true"], **ASIDE))
    columns += [_make_own_column(name, frame[name]) | ASIDE for name in first.own]
    return columns + _list_key_columns(frame, told=told)


def _name_correct(tables: Mapping[str, PredictionTable], places: np.ndarray) -> list[str]:
    names, right = list(tables), np.array([~table.wrong[places] for table in tables.values()])
    found = []
    for row in right.T:
        who = [name for name, is_right in zip(names, row, strict=True) if is_right]
        found.append("all" if len(who) == len(names) else f"only {', '.join(who)}" if who else "none")
    return found
