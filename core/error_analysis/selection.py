r"""Selections of sentences: the result of a click, filter or search, on pages, in links and on the command line.

`wrong;true=negative;predicted=positive` selects by rules (`core.error_analysis.query`), `ids:3b51c02f9d6e4a70` selects
single sentences; both may be combined. `split=validation` at the beginning names a split other than the default.
A semicolon inside a rule is written `\;`.
"""

import contextlib
import dataclasses
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core import json_store, limits
from core.atomic import convert_os_errors, write_text
from core.data.findings import shorten
from core.error_analysis import query
from core.error_analysis.codebook import Codes, get_data_name
from core.error_analysis.keywords import split_phrase
from core.error_analysis.predictions_table import SEVERAL, PredictionTable, rename_rule
from core.error_analysis.query import IDS, RANGE, Clause
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.tags import BY_DEFINITION, TableTags, name_tag
from core.exceptions import InputError, RunDamaged
from core.fingerprint import hash_value
from core.formatting import count
from core.runs.store import RunStore

FOLDER = ".selections"  # next to the runs
MOST = 100_000  # sentences of one selection
MOST_KEPT = 2_000  # stored lists, within `limits.SELECTED_MB`; the least recently used are deleted first
AGAIN_S = 3600  # seconds after which reading a file updates its time: more often, its cached versions would expire
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class PickedRows:
    """Sentences picked one by one, by clicks or by a region drawn in a plot, in reading order."""

    keys: tuple[str, ...]  # as in `core.error_analysis.predictions_table`
    about: str = ""  # how they were picked, such as `drawn on the map`
    texts: tuple[str, ...] = ()  # of sentences in no prediction table, such as cases of behavioural tests
    labels: tuple[str, ...] = ()  # true labels of `texts`; empty if unknown
    by_outcome: bool = False  # whether they were picked by right or wrong predictions, such as a sample of errors

    @property
    def digest(self) -> str:
        """Return the 16 hex digits that name a stored list of picked sentences, a digest of its content."""
        return hash_value(self._to_dict())[:16]

    def _to_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        return found if self.by_outcome else {name: value for name, value in found.items() if name != "by_outcome"}


def store_picked(store: RunStore, group: PickedRows) -> str:
    """Store picked sentences on disk and return the rule that selects them, `ids:…`; InputError: none or too many."""
    if not 0 < len(group.keys) <= MOST:
        raise InputError(f"{len(group.keys)} sentences cannot be selected one by one; take 1 to {MOST}")
    path = store.folder / FOLDER / f"{group.digest}.json"
    with convert_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.utime(path)  # counts as used, as the least recently used files are deleted first
        except FileNotFoundError:
            content = json.dumps(group._to_dict(), ensure_ascii=False, separators=(",", ":"))
            if len(content.encode("utf-8", "replace")) > limits.SELECTED_MB() * 1_000_000:
                allowed = f"{count(limits.SELECTED_MB())} {limits.SELECTED_MB.what} ({limits.SELECTED_MB.variable})"
                raise InputError(f"this server stores at most {allowed}; select fewer, or select by rules") from None
            write_text(path, content)
            _clear_old(path.parent)
    return f"{IDS}:{group.digest}"


def read_picked(store: RunStore, digest: str) -> PickedRows:
    """Read stored sentences that were picked one by one; InputError if missing, RunDamaged if the file is damaged."""
    path = store.folder / FOLDER / f"{digest}.json"
    if not _NAME.fullmatch(digest):
        raise InputError(f"{IDS}:{digest!r:.40} names no sentences that were selected")
    try:
        found = json_store.read(path, PickedRows)
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > AGAIN_S:
                os.utime(path)
    except FileNotFoundError:
        raise InputError(
            f"the sentences of {IDS}:{digest} are not stored here: they were selected on another machine, or long ago; "
            "select them again"
        ) from None
    if found.digest != digest or any(len(each) not in (0, len(found.keys)) for each in (found.texts, found.labels)):
        raise RunDamaged(f"{path}: cannot be read: its sentences do not match its name")
    return found


def _clear_old(folder: Path) -> None:
    found = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            told = path.stat()
            found.append((told.st_mtime_ns, told.st_size, path))
    room = limits.SELECTED_MB() * 1_000_000
    for place, (_, size, path) in enumerate(sorted(found, reverse=True)):
        room -= size
        if place >= MOST_KEPT or room < 0:
            with contextlib.suppress(OSError):
                path.unlink()


ORDERS = {
    "sure": "surest first",
    "wrong": "surest wrong first",
    "margin": "lowest margin first",
    "unsure": "least sure first",
    "file": "as in the file",
}


def check_order(order: str) -> None:
    """Raise InputError for an unknown sort order of selected rows; an empty one is allowed."""
    if order and order not in ORDERS:
        raise InputError(f"no order {shorten(order)}; there are {', '.join(ORDERS)}")


def sort_rows(table: PredictionTable, places: np.ndarray, order: str) -> np.ndarray:
    """Sort row indices (k,) of a table, ties in file order; empty: unchanged. InputError for an unknown order."""
    check_order(order)
    if not order:
        return places
    places = np.sort(places)
    sure = table.frame["p_predicted"].to_numpy()[places]
    by = {
        "sure": (-sure,),
        "wrong": (-sure, ~table.wrong[places]),
        "margin": (table.frame["margin"].to_numpy()[places],),
        "unsure": (sure,),
        "file": (places,),
    }
    return places[np.lexsort(by[order])]


BETWEEN = ";"
_SPLIT = "split="
_PIECE = re.compile(r"(?:[^;\\]|\\.|\\$)*", re.DOTALL)
_OUTCOMES = {"wrong", "right", "p_true", *SEVERAL}  # Rules that may determine alone whether a prediction is right
_NAMES = {"true": "label", "p_true": "P(true class)", "p_predicted": "P(predicted class)"}


@dataclass(frozen=True)
class Selection:
    """A selection of sentences: filter rules that must all hold, and the split that they select from."""

    rules: tuple[str, ...]
    split: str = ""  # empty: test, or the split evaluated last

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(map(rename_rule, self.rules)))

    def __str__(self) -> str:
        pieces = (*([f"{_SPLIT}{self.split}"] if self.split else []), *self.rules)
        return BETWEEN.join(piece.replace("\\", "\\\\").replace(BETWEEN, "\\;") for piece in pieces)

    @property
    def digest(self) -> str:
        """Return the digest of the sentences that were picked one by one; empty for a selection by rules only."""
        return next((rule.removeprefix(f"{IDS}:") for rule in self.rules if rule.startswith(f"{IDS}:")), "")


def parse_selection(text: str) -> Selection:
    """Parse a selection of sentences from the text of a link, replacing old names of filter rules by today's."""
    found = [re.sub(r"\\(.)", r"\1", piece, flags=re.DOTALL) for piece in _PIECE.findall(text)]
    pieces = [piece.strip() for piece in found if piece.strip()]
    split = next((piece.removeprefix(_SPLIT) for piece in pieces if piece.startswith(_SPLIT)), "")
    return Selection(tuple(piece for piece in pieces if not piece.startswith(_SPLIT)), split)


@dataclass(frozen=True, eq=False)
class SelectedRows:
    """The rows of a prediction table that a selection contains, with the filter rules that selected them."""

    clauses: tuple[Clause, ...]
    places: np.ndarray
    """(k,) rows of the table, in the order in which they were picked, or else by descending probability."""
    group: PickedRows | None = None  # the stored list, for sentences that were picked one by one


def select_rows(
    selection: Selection,
    table: PredictionTable,
    tags: TableTags | None,
    store: RunStore,
    codes: Annotations | None = None,
) -> SelectedRows:
    """Return the table's rows that match all rules; InputError: unknown rule, tag, code or ids, RunDamaged: bad ids."""
    clauses = query.parse_rules(selection.rules, table)
    group = read_picked(store, selection.digest) if selection.digest else None
    if codes is None and any(query.is_private_rule(str(clause)) for clause in clauses):
        codes = Codes(store.folder, get_data_name(table.record)).read_annotations()
    has = query.match_rows(clauses, table, tags, lambda digest: read_picked(store, digest).keys, codes)
    places = np.flatnonzero(has)
    if group is None:
        order = np.argsort(-table.frame["p_predicted"].to_numpy()[places], kind="stable")
    else:
        at = {key: number for number, key in enumerate(group.keys)}
        order = np.argsort([at[key] for key in table.frame["key"].to_numpy()[places]], kind="stable")
    return SelectedRows(clauses, places[order], group)


def has_fixed_outcome(selected: SelectedRows, table: PredictionTable) -> bool:
    """Return whether rows were selected by outcome and all are right or all wrong: error rates say nothing then."""
    names = {clause.name for clause in selected.clauses}
    by_definition = any(clause.name == "tag" and clause.value in BY_DEFINITION for clause in selected.clauses)
    of_group = selected.group is not None and selected.group.by_outcome
    by_outcome = bool(names & _OUTCOMES) or names >= {"true", "predicted"} or by_definition or of_group
    return by_outcome and len(set(table.wrong[selected.places].tolist())) == 1


def match_selection(
    selection: Selection, table: PredictionTable, tags: TableTags | None, store: RunStore
) -> tuple[tuple[Clause, ...], np.ndarray]:
    """Return a selection's parsed filter rules, and an (n,) bool mask of the rows that match them."""
    selected, found = select_rows(selection, table, tags, store), np.zeros(len(table), bool)
    found[selected.places] = True
    return selected.clauses, found


def describe_selection(clauses: Sequence[Clause], group: PickedRows | None = None) -> str:
    """Describe a selection of sentences in words, such as `wrong, label negative, with “not”`."""
    said = [_describe_clause(clause) for clause in clauses if clause.name != IDS]
    return ", ".join([*([group.about or "chosen one by one"] if group else []), *said]) or "all"


def _describe_clause(clause: Clause) -> str:
    name, sign, value = clause.name, clause.sign, clause.value
    if not sign:
        return {"uncoded": "not coded", "unnoted": "without a note"}.get(name, name)
    if name == query.CODE:
        return f"coded {value}" if sign == "=" else f"not coded {value}"
    if name == "tag":
        return name_tag(value) if sign == "=" else f"no {name_tag(value)}"
    if name == query.WORD:
        words = "word" if len(split_phrase(value)) == 1 else "words"
        return f"{'with' if sign == '=' else 'without'} the {words} “{value}”"
    if name in SEVERAL:
        return f"{value} {name}" if sign == "=" else f"{value} not {name}"
    name = _NAMES.get(name, name)
    if sign in ("~", "!~"):
        word = "with" if sign == "~" else "without"
        return f"{word} “{value}”" if name == "text" else f"{name} {word} “{value}”"
    if sign in ("=", "!=") and value in ("True", "False"):
        return name if (value == "True") == (sign == "=") else f"not {name}"
    low, dots, high = value.partition(RANGE)
    value = f"{low} to {high}" if dots else value or "missing"
    return f"{name} {value}" if sign == "=" else f"{name} not {value}" if sign == "!=" else f"{name} {sign} {value}"
