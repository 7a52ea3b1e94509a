"""Slices: named selections of sentences, stored per data set, so that all of its runs can be compared on them.

A slice by rules on predictions has other sentences in each run, so comparisons leave it out with a note.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core import json_store
from core.atomic import convert_os_errors, make_folder, write_text
from core.data.dataset import Task
from core.data.findings import shorten
from core.error_analysis import selection as selections
from core.error_analysis.annotation_store import get_timestamp
from core.error_analysis.codebook import get_data_name
from core.error_analysis.predictions_table import PredictionTable, hash_texts, read_table
from core.error_analysis.query import is_private_rule
from core.error_analysis.report import compute_rate
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.selection import PickedRows, Selection, parse_selection, read_picked, select_rows, store_picked
from core.error_analysis.tags import TableTags
from core.evaluation.intervals import compute_intervals, compute_newcombe, list_class_intervals
from core.evaluation.metrics import HALF, evaluate, evaluate_classes
from core.exceptions import InputError, RunDamaged
from core.fingerprint import get_file_version
from core.metrics import TUNED, get_metric
from core.runs.comparison import MOST_VALUES, ComparisonData
from core.runs.record import RunRecord
from core.runs.store import RunStore

FOLDER = ".slices"  # next to the runs
MOST = 200  # slices of a data set
LONGEST = 60  # characters of a name
OUTCOMES = frozenset(("wrong", "right", "all"))


@dataclass(frozen=True)
class Slice:
    """A slice: a selection of sentences stored under a name."""

    name: str
    select: str  # as in a link
    created: str
    group: PickedRows | None = None  # its sentences, if they were picked one by one

    @property
    def uses_codes(self) -> bool:
        """Return whether a slice uses annotation codes or notes, which can change while the run stays the same."""
        return any(map(is_private_rule, parse_selection(self.select).rules))


WHOLE = Slice("", "all", "")  # all sentences


def save_slice(store: RunStore, record: RunRecord, name: str, selection: Selection) -> Slice:
    """Store a selection as a named slice for a run's data, without rules about outcomes; InputError: name or limit."""
    left = tuple(rule for rule in selection.rules if rule not in OUTCOMES)
    name, selection = _clean_name(name), replace(selection, rules=left or selection.rules)
    before = read_slices(store, record)
    if same := next((each for each in before if each.name == name), None):
        if same.select == str(selection):
            return same
        raise InputError(f"there is a slice {shorten(name)} already, of {same.select}; take another name, or remove it")
    if len(before) >= MOST:
        raise InputError(f"there are {MOST} slices of these data, which is the maximum; remove one")
    group = read_picked(store, selection.digest) if selection.digest else None
    made = Slice(name, str(selection), get_timestamp(), group)
    _write_slice(store, record, made)
    return made


def read_slices(store: RunStore, record: RunRecord) -> list[Slice]:
    """Read the slices of a run's data set, sorted by name; RunDamaged, which names the file, if one is unreadable."""
    found = [json_store.read(path, Slice) for path in _get_folder(store, record).glob("*.json")]
    found = [replace(each, select=str(parse_selection(each.select))) for each in found]  # renames old column names
    return sorted(found, key=lambda each: each.name.casefold())


def get_version(store: RunStore, record: RunRecord) -> str:
    """Return a cache key that changes with any slice of a run's data set."""
    files = sorted(_get_folder(store, record).glob("*.json"))
    return " ".join(f"{path.name} {get_file_version(path)}" for path in files)


def find_slice(store: RunStore, record: RunRecord, name: str) -> Selection:
    """Return the selection of a named slice and store its picked sentences for links; InputError if it is missing."""
    found = read_slices(store, record)
    one = next((each for each in found if each.name == name), None)
    if one is None:
        there = f"there are {', '.join(shorten(each.name) for each in found)}" if found else "there are none yet"
        raise InputError(f"no slice {shorten(name)} of the data of run '{record.run}'; {there}")
    if one.group is not None:
        store_picked(store, one.group)
    return parse_selection(one.select)


def rename_slice(store: RunStore, record: RunRecord, name: str, to: str) -> Slice:
    """Rename a slice of sentences; InputError if it does not exist or the new name is taken."""
    to, before = _clean_name(to), read_slices(store, record)
    find_slice(store, record, name)
    if to != name and any(each.name == to for each in before):
        raise InputError(f"there is a slice {shorten(to)} already; take another name, or remove it")
    made = replace(next(each for each in before if each.name == name), name=to)
    if to != name:
        _write_slice(store, record, made)
        remove_slice(store, record, name)
    return made


def remove_slice(store: RunStore, record: RunRecord, name: str) -> None:
    """Delete a slice, but not the sentences it selects; InputError if it does not exist."""
    find_slice(store, record, name)
    path = _get_path(store, record, name)
    with convert_os_errors(path):
        path.unlink(missing_ok=True)


def _clean_name(name: str) -> str:
    found = " ".join(name.split())
    if not found or len(found) > LONGEST or not found.isprintable():
        raise InputError(f"{shorten(found)} is not a name for a slice: write 1 to {LONGEST} characters")
    return found


def _write_slice(store: RunStore, record: RunRecord, made: Slice) -> None:
    path = _get_path(store, record, made.name)
    make_folder(path.parent)
    write_text(path, json.dumps(asdict(made), ensure_ascii=False, indent=1))


def _get_folder(store: RunStore, record: RunRecord) -> Path:
    return store.folder / FOLDER / hashlib.sha256(get_data_name(record).encode()).hexdigest()[:16]


def _get_path(store: RunStore, record: RunRecord, name: str) -> Path:
    return _get_folder(store, record) / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"


def add_slices(
    store: RunStore,
    sides: ComparisonData,
    kept: Sequence[Slice],
    read: Callable[[RunRecord, str], PredictionTable],
    codes: Annotations | None = None,
) -> ComparisonData:
    """Return the data of a model comparison with the rows of each slice, and notes on slices that are left out.

    `read` returns a run's prediction table; InputError: no slices, too many, or none that all runs can be compared on.
    """
    if not kept:
        raise InputError(
            "--by slice: no slice of these data was saved; `sentiscope slices RUN --save NAME --where CLAUSE` saves one"
        )
    if len(kept) > MOST_VALUES:
        raise InputError(f"--by slice: {len(kept)} slices; at most {MOST_VALUES} can be compared by")
    tables = {
        record.run: (table := read(record, sides.split), TableTags(store, table))
        for side in sides.sides
        for record in side.model.records
    }
    found: dict[str, dict[int, np.ndarray]] = {}
    notes = []
    for each in kept:
        chosen, rows = parse_selection(each.select), dict[str, frozenset[str]]()
        if chosen.split not in ("", sides.split):
            continue
        try:
            for run, (table, tagged) in tables.items():
                places = select_rows(chosen, table, tagged, store, codes).places
                rows[run] = frozenset(table.frame["key"].to_numpy()[places].tolist())
        except InputError as error:
            notes.append(f"slice {each.name} is left out: {error}")
            continue
        by_fold = _align_rows(sides, rows)
        if by_fold is None:
            notes.append(f"slice {each.name} is left out: its rules select other sentences for each run")
        elif not any(map(len, by_fold.values())):
            notes.append(f"slice {each.name} is left out: there is no sentence of it")
        else:
            found[each.name] = by_fold
    if not found:
        raise InputError(f"--by slice: {'; '.join(notes) or f'no slice is of {sides.split}'}")
    return replace(sides, slices=found, notes=(*sides.notes, *notes))


def _align_rows(sides: ComparisonData, rows: dict[str, frozenset[str]]) -> dict[int, np.ndarray] | None:
    """Return fold → row indices of a slice; None if two runs of one cross-validation fold select different rows."""
    found: dict[int, np.ndarray] = {}
    of_fold: dict[int, frozenset[str]] = {}
    for side in sides.sides:
        for (_, fold), answers in side.answers.items():
            own = rows[answers.record.run]
            if of_fold.setdefault(fold, own) != own:
                return None
            if fold not in found:
                found[fold] = np.flatnonzero([key in own for key in hash_texts(answers.texts)])
    return found


SHOWN: dict[Task, tuple[str, ...]] = {
    "single": ("accuracy", "f1_macro"),
    "multi": ("subset_accuracy", "f1_macro", "f1_micro", "hamming_loss"),
}  # metrics that are meaningful for few rows; ranking metrics need every class, which most slices lack
FEW = 30  # rows below which metrics are unreliable
MOST_NAMED = 4  # classes named in a sentence
PARTS = ("precision", "recall", "f1")
_OF = {"precision": "said", "recall": "true"}


def list_metrics(table: PredictionTable) -> tuple[str, ...]:
    """Return the names of metrics shown for a slice; the prefix `tuned.` means scores at thresholds tuned per label."""
    tuned = TUNED if table.task == "multi" and table.record.tuned_thresholds else ""
    return tuple(f"{tuned}{name}" for name in SHOWN[table.task])


def measure_rows(table: PredictionTable, places: np.ndarray) -> dict[str, Any]:
    """Compute metrics on (k,) selected rows of a prediction table, with 95 % intervals.

    Returns:
        `metrics`, name → value, and `intervals`, name → [low, high]; `per_class`, class → `support`, `precision`,
        `recall`, `f1`, and likewise `per_class_intervals`; a value that is undefined on these rows is None. `lacks`: a
        sentence that explains which values are undefined; empty if none is.
    """
    record, task = table.record, table.task
    true, chances = table.true[places], table.probabilities[places]
    labels = true.argmax(1) if task == "single" else true
    thresholds = np.array([(record.tuned_thresholds or {}).get(name, HALF) for name in table.classes])
    asked = labels, chances, task, thresholds
    values = evaluate(*asked, ordered=record.ordered)
    plain = {name: get_metric(name).name for name in list_metrics(table)}
    ends = compute_intervals(*asked, names=set(plain.values()), ordered=record.ordered) if len(places) else {}
    return {
        "metrics": {name: values.get(each) for name, each in plain.items()},
        "intervals": {name: ends.get(each) for name, each in plain.items()},
        **_evaluate_classes(table, places, asked),
        "lacks": _explain_missing(table, places),
    }


def compare_with_rest(wrong: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    """Return the error rate of the `others`, the `difference` to it and `difference_interval` (Newcombe 1998)."""
    rest = len(wrong) - len(places)
    if not rest or not len(places):
        return {"others": None, "difference": None, "difference_interval": None}
    here = int(wrong[places].sum())
    there = int(wrong.sum()) - here
    ends = list(compute_newcombe(here, len(places), there, rest))
    difference = here / len(places) - there / rest
    return {"others": there / rest, "difference": difference, "difference_interval": ends}


def _evaluate_classes(table: PredictionTable, places: np.ndarray, asked: tuple[Any, ...]) -> dict[str, Any]:
    labels, chances, task, thresholds = asked
    whole = labels, chances, table.classes, task, thresholds
    counts = {"true": table.true[places].sum(0), "said": table.said[places].sum(0)}
    values, drawn = evaluate_classes(*whole), list_class_intervals(*whole)
    found: dict[str, dict[str, Any]] = {}
    ends: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(table.classes):
        n = {side: int(number[place]) for side, number in counts.items()}
        there = {part: n[_OF[part]] > 0 if part in _OF else sum(n.values()) > 0 for part in PARTS}
        found[name] = {"support": n["true"]} | {part: values[name][part] if there[part] else None for part in PARTS}
        ends[name] = {part: drawn[name].get(part) if there[part] else None for part in PARTS}
    return {"per_class": found, "per_class_intervals": ends}


def _explain_missing(table: PredictionTable, places: np.ndarray) -> str:
    if not len(places):
        return "There is no sentence of it, so nothing is measured."
    true, said = (has[places].any(0) for has in (table.true, table.said))
    never, unsaid, wrongly = (
        [name for name, holds in zip(table.classes, where, strict=True) if holds]
        for where in (~true, ~said, said & ~true)
    )
    found = []
    if never:
        found.append(f"No sentence of it is {_join_names(never)}, so its recall is undefined.")
    if unsaid:
        found.append(f"None is predicted as {_join_names(unsaid)}, so its precision is undefined.")
    if wrongly:
        found.append("Macro F1 counts a class as 0 that is predicted and never true.")
    return " ".join(found)


def _join_names(classes: Sequence[str]) -> str:
    if len(classes) > MOST_NAMED:
        return f"any of {len(classes)} classes"
    return " or ".join([", ".join(classes[:-1]), classes[-1]] if len(classes) > 1 else classes)


_NUMBERS = ("n", "wrong", "rate", "interval", "share", "others", "difference", "difference_interval")
_MEASURED = ("metrics", "intervals", "per_class", "per_class_intervals")


def report_slice(
    store: RunStore, table: PredictionTable, tagged: TableTags, one: Slice, codes: Annotations | None = None
) -> dict[str, Any]:
    """Return the filter rules and metrics of one slice of a run."""
    asked = parse_selection(one.select)
    about = {"name": one.name, "select": one.select, "created": one.created, "split": asked.split or table.split}
    try:
        if asked.split not in ("", table.split):
            table = read_table(store, table.record.run, asked.split)
            tagged = TableTags(store, table)
        if one.group is not None:
            store_picked(store, one.group)  # the stored selection may have been deleted
        found = select_rows(asked, table, tagged, store, codes)
    except (InputError, RunDamaged) as error:
        nothing = dict.fromkeys(_NUMBERS) | {name: {} for name in _MEASURED} | {"lacks": ""}
        return {**about, "where": list(asked.rules), "said": ", ".join(asked.rules), **nothing, "problem": str(error)}
    said = selections.describe_selection(found.clauses, found.group)
    numbers = {
        **compute_rate(table.wrong[found.places]),
        "share": len(found.places) / len(table) if len(table) else 0.0,
        **compare_with_rest(table.wrong, found.places),
        **measure_rows(table, found.places),
    }
    return {**about, "where": list(map(str, found.clauses)), "said": said, **numbers, "problem": ""}
