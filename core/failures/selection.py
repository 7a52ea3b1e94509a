r"""Selections of sentences: the result of a click, filter or search, on pages, in links and on the command line.

`wrong;truth=negative;said=positive` is one by rules (`core.failures.rules`), `ids:3b51c02f9d6e4a70` one of sentences
that were chosen one by one; both may stand together. `split=validation` before them says of which split, where it is
not the one that is taken by itself. A semicolon inside a rule is written `\;`.
"""

from __future__ import annotations

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

from core import quotas, stored
from core.atomic import storage_errors, write_text
from core.data.findings import shown
from core.exceptions import InputError, RunDamaged
from core.failures import rules
from core.failures.coded import Coded
from core.failures.codes import Codes, data_of
from core.failures.phrases import words_of
from core.failures.rules import IDS, RANGE, Clause
from core.failures.table import SEVERAL, Table
from core.failures.tags import BY_DEFINITION, Tagged, called
from core.fingerprint import fingerprint
from core.numbers import count
from core.runs.store import RunStore

FOLDER = ".selections"  # beside the runs
MOST = 100_000  # sentences of one selection
MOST_KEPT = 2_000  # of them, in `quotas.SELECTED_MB` at most; those that were not used for longest go first
AGAIN_S = 3600  # after which a look at a file counts as use again: each would else be another version of it
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Group:
    """Sentences that were picked one by one, in reading order."""

    keys: tuple[str, ...]  # as of `core.failures.table`
    about: str = ""  # what they were chosen by, in words: `drawn on the map`
    texts: tuple[str, ...] = ()  # of sentences that are rows of no table, such as the cases of a test of behaviour
    labels: tuple[str, ...] = ()  # and their true labels; empty where nothing says so
    by_outcome: bool = False  # whether a right or wrong prediction decided what is in it, as in a draw from errors

    @property
    def digest(self) -> str:
        """Return 16 hex digits; groups without `by_outcome` keep the digest of earlier versions."""
        return fingerprint(self._stored())[:16]

    def _stored(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        return found if self.by_outcome else {name: value for name, value in found.items() if name != "by_outcome"}


def keep(store: RunStore, group: Group) -> str:
    """Store sentences on disk and return the rule that selects them, `ids:…`.

    Raises InputError for none, too many or too large ones, StorageError if the disk is full or read-only.
    """
    if not 0 < len(group.keys) <= MOST:
        raise InputError(f"{len(group.keys)} sentences cannot be selected one by one; take 1 to {MOST}")
    path = store.folder / FOLDER / f"{group.digest}.json"
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.utime(path)  # used again
        except FileNotFoundError:
            content = json.dumps(group._stored(), ensure_ascii=False, separators=(",", ":"))
            if len(content.encode("utf-8", "replace")) > quotas.SELECTED_MB() * 1_000_000:
                allowed = f"{count(quotas.SELECTED_MB())} {quotas.SELECTED_MB.what} ({quotas.SELECTED_MB.variable})"
                raise InputError(f"this server keeps at most {allowed}; select fewer, or select by rules") from None
            write_text(path, content)
            _clear(path.parent)
    return f"{IDS}:{group.digest}"


def recall(store: RunStore, digest: str) -> Group:
    """Read stored sentences; InputError if they are missing, RunDamaged if the file cannot be read."""
    path = store.folder / FOLDER / f"{digest}.json"
    if not _NAME.fullmatch(digest):
        raise InputError(f"{IDS}:{digest!r:.40} names no sentences that were selected")
    try:
        found = stored.read(path, Group)
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > AGAIN_S:
                os.utime(path)  # used again: the oldest go first
    except FileNotFoundError:
        raise InputError(
            f"the sentences of {IDS}:{digest} are not kept here: they were selected on another machine, or long ago; "
            "select them anew"
        ) from None
    if found.digest != digest or any(len(each) not in (0, len(found.keys)) for each in (found.texts, found.labels)):
        raise RunDamaged(f"{path}: cannot be read: it holds other sentences than those that were kept under this name")
    return found


def _clear(folder: Path) -> None:
    """Delete all selections but the most recently used ones."""
    found = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(OSError):
            told = path.stat()
            found.append((told.st_mtime_ns, told.st_size, path))
    room = quotas.SELECTED_MB() * 1_000_000
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


def refuse_unknown(order: str) -> None:
    """Refuse an unknown sort order; an empty one keeps the order of selection, or sorts by confidence."""
    if order and order not in ORDERS:
        raise InputError(f"no order {shown(order)}; there are {', '.join(ORDERS)}")


def ordered(table: Table, places: np.ndarray, order: str) -> np.ndarray:
    """Sort (k,) rows of a table, ties in file order; an empty order changes nothing. InputError for an unknown one."""
    refuse_unknown(order)
    if not order:
        return places
    places = np.sort(places)
    sure = table.frame["p_said"].to_numpy()[places]
    by = {
        "sure": (-sure,),
        "wrong": (-sure, ~table.wrong[places]),
        "margin": (table.frame["margin"].to_numpy()[places],),
        "unsure": (sure,),
        "file": (places,),
    }
    found: np.ndarray = places[np.lexsort(by[order])]
    return found


BETWEEN = ";"
_SPLIT = "split="
_PIECE = re.compile(r"(?:[^;\\]|\\.|\\$)*", re.DOTALL)
_OUTCOMES = {"wrong", "right", "p_truth", *SEVERAL}
"""Names of clauses that may fix by themselves whether a prediction is right."""
_NAMES = {"p_truth": "P(true class)", "p_said": "P(said class)"}


@dataclass(frozen=True)
class Selection:
    """Rules that must all hold, and the split that they select from."""

    rules: tuple[str, ...]
    split: str = ""  # empty: test, or the last that a run was evaluated on

    def __str__(self) -> str:
        pieces = (*([f"{_SPLIT}{self.split}"] if self.split else []), *self.rules)
        return BETWEEN.join(piece.replace("\\", "\\\\").replace(BETWEEN, "\\;") for piece in pieces)

    @property
    def digest(self) -> str:
        """Return the digest of the sentences that were picked one by one, or an empty string."""
        return next((rule.removeprefix(f"{IDS}:") for rule in self.rules if rule.startswith(f"{IDS}:")), "")


def parse(text: str) -> Selection:
    """Parse a selection from a link; `str` restores the text."""
    found = [re.sub(r"\\(.)", r"\1", piece, flags=re.DOTALL) for piece in _PIECE.findall(text)]
    pieces = [piece.strip() for piece in found if piece.strip()]
    split = next((piece.removeprefix(_SPLIT) for piece in pieces if piece.startswith(_SPLIT)), "")
    return Selection(tuple(piece for piece in pieces if not piece.startswith(_SPLIT)), split)


@dataclass(frozen=True, eq=False)
class Selected:
    """The rows of a selection."""

    clauses: tuple[Clause, ...]
    places: np.ndarray
    """(k,) rows of the table, in the order in which they were chosen, else the surest first."""
    group: Group | None = None  # what was kept, of sentences that were chosen one by one


def select(
    selection: Selection, table: Table, tags: Tagged | None, store: RunStore, codes: Coded | None = None
) -> Selected:
    """Select rows of a table; `tags` are needed where a rule is of one, `codes` (None: everybody's) read where needed.

    Raises InputError for an unknown rule, tag or code, or missing sentences; RunDamaged for a damaged file of these.
    """
    clauses = rules.read(selection.rules, table)
    group = recall(store, selection.digest) if selection.digest else None
    if codes is None and any(rules.of_readers(str(clause)) for clause in clauses):
        codes = Codes(store.folder, data_of(table.record)).coded()
    has = rules.rows(clauses, table, tags, lambda digest: recall(store, digest).keys, codes)
    places = np.flatnonzero(has)
    if group is None:
        order = np.argsort(-table.frame["p_said"].to_numpy()[places], kind="stable")
    else:
        at = {key: number for number, key in enumerate(group.keys)}
        order = np.argsort([at[key] for key in table.frame["key"].to_numpy()[places]], kind="stable")
    return Selected(clauses, places[order], group)


def fixes_outcome(selected: Selected, table: Table) -> bool:
    """Return whether rows were selected by outcome and all have the same one, so that their error rate says nothing.

    A selection by the outcome of another run, or at another threshold, may hold both.
    """
    names = {clause.name for clause in selected.clauses}
    by_definition = any(clause.name == "tag" and clause.value in BY_DEFINITION for clause in selected.clauses)
    of_group = selected.group is not None and selected.group.by_outcome
    by_outcome = bool(names & _OUTCOMES) or names >= {"truth", "said"} or by_definition or of_group
    return by_outcome and len(set(table.wrong[selected.places].tolist())) == 1


def chosen_rows(
    selection: Selection, table: Table, tags: Tagged | None, store: RunStore
) -> tuple[tuple[Clause, ...], np.ndarray]:
    """Return the clauses and an (n,) bool mask of the selected rows; raises as `select`."""
    selected, found = select(selection, table, tags, store), np.zeros(len(table), bool)
    found[selected.places] = True
    return selected.clauses, found


def in_words(clauses: Sequence[Clause], group: Group | None = None) -> str:
    """Describe a selection in words, such as `wrong, true negative, with “not”`."""
    said = [_word(clause) for clause in clauses if clause.name != IDS]
    return ", ".join([*([group.about or "chosen one by one"] if group else []), *said]) or "all"


def _word(clause: Clause) -> str:
    name, sign, value = clause.name, clause.sign, clause.value
    if not sign:
        return {"uncoded": "not coded", "unnoted": "without a note"}.get(name, name)
    if name == rules.CODE:
        return f"coded {value}" if sign == "=" else f"not coded {value}"
    if name == "tag":
        return called(value) if sign == "=" else f"no {called(value)}"
    if name == rules.WORD:
        words = "word" if len(words_of(value)) == 1 else "words"
        return f"{'with' if sign == '=' else 'without'} the {words} “{value}”"
    if name in SEVERAL:
        return f"{value} {name}" if sign == "=" else f"{value} not {name}"
    name = {"truth": "true", **_NAMES}.get(name, name)
    if sign in ("~", "!~"):
        word = "with" if sign == "~" else "without"
        return f"{word} “{value}”" if name == "text" else f"{name} {word} “{value}”"
    low, dots, high = value.partition(RANGE)
    value = f"{low} to {high}" if dots else value or "missing"
    return f"{name} {value}" if sign == "=" else f"{name} not {value}" if sign == "!=" else f"{name} {sign} {value}"
