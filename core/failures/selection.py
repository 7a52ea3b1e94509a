r"""A selection of sentences: what a click, a filter or a search comes to, on every page, in links, on a terminal.

`wrong;truth=negative;said=positive` is one by rules (`core.failures.rules`), `ids:3b51c02f9d6e4a70` one of sentences
that were chosen one by one (`core.failures.chosen`); both may stand together. `split=validation` before them says of
which split, where it is not the one that is taken by itself. A semicolon inside a rule is written `\;`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.failures import rules
from core.failures.chosen import Group, recall
from core.failures.codes import Codes, data_of
from core.failures.phrases import words_of
from core.failures.rules import IDS, RANGE, Clause
from core.failures.table import SEVERAL, Table
from core.failures.tags import BY_DEFINITION, called
from core.runs.store import RunStore

BETWEEN = ";"
_SPLIT = "split="
_PIECE = re.compile(r"(?:[^;\\]|\\.|\\$)*", re.DOTALL)
_OUTCOMES = {"wrong", "right", "p_truth", *SEVERAL}
"""Names of clauses that may fix by themselves whether a prediction is right."""
_NAMES = {"p_truth": "P(true class)", "p_said": "P(said class)"}


@dataclass(frozen=True)
class Selection:
    """Rules of which all must hold, and the split whose sentences they select from."""

    rules: tuple[str, ...]
    split: str = ""
    """Empty: test, or the last that a run was evaluated on."""

    def __str__(self) -> str:
        pieces = (*([f"{_SPLIT}{self.split}"] if self.split else []), *self.rules)
        return BETWEEN.join(piece.replace("\\", "\\\\").replace(BETWEEN, "\\;") for piece in pieces)

    @property
    def digest(self) -> str:
        """Under which its sentences are kept, if they were chosen one by one."""
        return next((rule.removeprefix(f"{IDS}:") for rule in self.rules if rule.startswith(f"{IDS}:")), "")


def parse(text: str) -> Selection:
    """A selection as a link has it; `str` gives the same again."""
    found = [re.sub(r"\\(.)", r"\1", piece, flags=re.DOTALL) for piece in _pieces(text)]
    pieces = [piece.strip() for piece in found if piece.strip()]
    split = next((piece.removeprefix(_SPLIT) for piece in pieces if piece.startswith(_SPLIT)), "")
    return Selection(tuple(piece for piece in pieces if not piece.startswith(_SPLIT)), split)


def _pieces(text: str) -> list[str]:
    found, at = [], 0
    while at <= len(text):
        piece = _PIECE.match(text, at)
        assert piece is not None  # it matches nothing too
        found.append(piece[0])
        at = piece.end() + 1
    return found


@dataclass(frozen=True, eq=False)
class Selected:
    """What a selection comes to."""

    clauses: tuple[Clause, ...]
    places: np.ndarray
    """(k,) rows of the table in the order in which they are to be read: as they were chosen, else the surest answers
    first."""
    group: Group | None = None
    """What was kept, of sentences that were chosen one by one."""


def select(
    selection: Selection,
    table: Table,
    tags: rules.Tags | None,
    store: RunStore,
    codes: rules.Codes | None = None,
) -> Selected:
    """The rows that a selection has of a table.

    Args:
        selection: rules.
        table: of a run.
        tags: of the table, needed where a rule is of one.
        store: where runs live, and what was chosen and coded.
        codes: what was said of the rows; None: by everybody, read where a rule asks for it.

    Raises:
        InputError: a rule is not understood, a tag or code is not there, or the sentences are not kept any more.
        RunDamaged: what was kept cannot be read.
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
    """Return whether rows were selected by right or wrong predictions and all have the same: their share says nothing.

    A selection by the outcome of another run, or at another threshold, may hold both.
    """
    names = {clause.name for clause in selected.clauses}
    by_definition = any(clause.name == "tag" and clause.value in BY_DEFINITION for clause in selected.clauses)
    of_group = selected.group is not None and selected.group.by_outcome
    by_outcome = bool(names & _OUTCOMES) or names >= {"truth", "said"} or by_definition or of_group
    return by_outcome and len(set(table.wrong[selected.places].tolist())) == 1


def chosen_rows(
    selection: Selection, table: Table, tags: rules.Tags | None, store: RunStore
) -> tuple[tuple[Clause, ...], np.ndarray]:
    """The clauses, and (n,) bool: the same rows; raises as `select`."""
    selected, found = select(selection, table, tags, store), np.zeros(len(table), bool)
    found[selected.places] = True
    return selected.clauses, found


def in_words(clauses: Sequence[Clause], group: Group | None = None) -> str:
    """What is selected, for people: `wrong, true negative, said positive`."""
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
