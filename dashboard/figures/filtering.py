"""The filter of Errors as a sentence: each word with its options, and how many rows every option would leave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.failures.facets import CODES, OUTCOME, TAG, Facet, counts
from core.failures.rules import Clause
from core.failures.selection import in_words
from core.failures.table import SEVERAL, Table
from dashboard.figures.analysis import Analysis
from dashboard.figures.drawing import Component
from dashboard.figures.numbers import count
from dashboard.figures.theme import Look

COLUMNS = 3
"""Own columns with a word of their own; the options of all others stand behind one word."""
OTHERS = "others"
TEXT = "text"
SPLIT = "split"
FURTHER = "further"
"""What no word says: a clause that can only be taken out."""
_LEADS = {
    "single": {OUTCOME: "Show", "truth": "sentences that are", "said": "but said to be"},
    "multi": {
        OUTCOME: "Show",
        "truth": "sentences that have",
        "said": "and are said to have",
        "missed": "that miss",
        "invented": "and invent",
    },
}
_ANY = {
    "truth": "any class",
    "said": "any class",
    "missed": "any label",
    "invented": "any label",
    TAG: "any tag",
    CODES: "coded or not",
}


def words(facets: Sequence[Facet]) -> list[tuple[str, list[Facet]]]:
    """The words of the sentence by name, each with the facets whose options it offers."""
    fixed = [facet for facet in facets if facet.name in (OUTCOME, "truth", "said", *SEVERAL, TAG)]
    last = [(facet.name, [facet]) for facet in facets if facet.name == CODES]
    own = [facet for facet in facets if facet not in fixed and facet.name != CODES]
    found = [(facet.name, [facet]) for facet in (*fixed, *own[:COLUMNS])]
    return [*found, *([(OTHERS, list(own[COLUMNS:]))] if own[COLUMNS:] else []), *last]


def word_of(facets: Sequence[Facet], rule: str) -> str:
    """The word of which a rule is an option; of any other what a text contains."""
    for name, ours in words(facets):
        if any(str(option.clause) == rule for facet in ours for option in facet.options):
            return name
    return TEXT


def changed(clauses: Sequence[Clause], facets: Sequence[Facet], word: str, value: str) -> list[str]:
    """The clauses after a choice, in the order of the sentence.

    Args:
        clauses: before.
        facets: the words.
        word: that was chosen: of `words`, `TEXT`, or `FURTHER`, whose clause goes.
        value: the clause as text, empty for any; of `TEXT` what is to be contained.
    """
    ours = dict(words(facets)).get(word, [])
    kept = [
        clause for clause in clauses if not _of(clause, word, ours) and not (word == FURTHER and str(clause) == value)
    ]
    new = [] if not value or word == FURTHER else [f"text~{value}" if word == TEXT else value]
    order = [str(option.clause) for _, each in words(facets) for facet in each for option in facet.options]
    found = [*map(str, kept), *new]
    return sorted(found, key=lambda text: order.index(text) if text in order else len(order))


def _of(clause: Clause, word: str, facets: Sequence[Facet]) -> bool:
    if word == TEXT:
        return clause.name == "text" and clause.sign == "~"
    return any(facet.place(clause) is not None for facet in facets)


def sentence(analysis: Analysis, look: Look, splits: Sequence[str] = ()) -> Component:
    """The filter of a selection as our component."""
    table, facets, clauses, masks = analysis.table, analysis.facets, analysis.clauses, analysis.masks
    numbers = dict(zip((facet.name for facet in facets), counts(facets, clauses, masks), strict=True))
    said, spoken = [], set[Clause]()
    for name, ours in words(facets):
        options: list[dict[str, Any]] = [
            {"value": str(option.clause), "label": _label(name, facet, option.label), "n": n, "said": count(n)}
            for facet in ours
            for option, n in zip(facet.options, numbers[facet.name], strict=True)
        ]
        held = next((each for each in clauses if _of(each, name, ours)), None)
        spoken |= {held} if held is not None else set()
        said.append(_word(table, name, ours, options, held, _left(table, ours, clauses, masks)))
    containing = next((each for each in clauses if _of(each, TEXT, ())), None)
    rest = [each for each in clauses if each not in spoken and each is not containing]
    if len(splits) > 1:
        said.insert(1, _split_word(table.split, splits))
    data = {
        "words": said,
        "further": [{"value": str(each), "shown": in_words([each], analysis.selected.group)} for each in rest],
        "contains": containing.value if containing else "",
        "colours": {
            name: getattr(look.tokens, name) for name in ("paper", "panel", "ink", "muted", "grid", "accent", "right")
        },
    }
    return Component("filter", data, look)


def _split_word(split: str, splits: Sequence[str]) -> dict[str, Any]:
    options = [{"value": each, "label": each, "n": 1, "said": ""} for each in splits]
    given = {"name": SPLIT, "lead": "", "about": "split", "value": split, "options": options}
    return given | {"shown": split, "set": False}


def _left(table: Table, ours: Sequence[Facet], clauses: Sequence[Clause], holds: Sequence[np.ndarray]) -> int:
    """Rows that all clauses hold for but those of a word."""
    left = np.ones(len(table), bool)
    for clause, mask in zip(clauses, holds, strict=True):
        if all(facet.place(clause) is None for facet in ours):
            left &= mask
    return int(left.sum())


def _label(word: str, facet: Facet, label: str) -> str:
    return f"{facet.name}: {label}" if word == OTHERS else label


def _word(
    table: Table,
    name: str,
    ours: Sequence[Facet],
    options: list[dict[str, Any]],
    held: Clause | None,
    left: int,
) -> dict[str, Any]:
    """As the component wants it."""
    if name in (TAG, *table.own):
        options = sorted(options, key=lambda option: -option["n"])
    label = next((option["label"] for option in options if held is not None and option["value"] == str(held)), "")
    empty = _ANY.get(name, "any other column" if name == OTHERS else f"any {name}")
    if name == OUTCOME:
        label = label or "right or wrong"
    else:
        options = [{"value": "", "label": empty, "n": left, "said": count(left)}, *options]
        label = f"{name} {label}" if label and name in table.own else label
    leads = _LEADS[table.task]
    about = {OUTCOME: "right or wrong", "truth": "true class", "said": "said", OTHERS: "other columns"}.get(name, name)
    return {
        "name": name,
        "lead": leads.get(name, "with" if name == TAG else "and"),
        "shown": label or empty,
        "set": bool(label),
        "about": about,
        "value": str(held) if held is not None else "all" if name == OUTCOME else "",
        "options": options,
    }
