"""Filter of the Errors page: an option of figures, drawn as a sentence with a row count for each choice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from core.error_analysis.facets import CODES, OUTCOME, TAG, Facet
from core.error_analysis.predictions_table import SEVERAL, PredictionTable
from core.error_analysis.query import Clause
from core.error_analysis.selection import ORDERS, describe_selection
from core.exceptions import NotAvailable
from dashboard.figures.drawing import Component
from dashboard.figures.figure import FREE, Figure, Option, Source, make_interval_figure
from dashboard.figures.interval_table import IntervalTable
from dashboard.figures.row_selection import RowSelection
from dashboard.figures.theme import Look

WRONG = "wrong"  # the default selection
COLUMNS = 3  # data columns with their own menu; all other columns share one menu
OTHERS = "others"
TEXT = "text"
SPLIT = "split"
FURTHER = "further"  # a rule without a menu, which can only be removed
ASKED = "asked"  # data columns of ids and names, of which the user types one
OUTCOMES = WRONG, "right", "all"
NOT_YET = "noted;uncoded"  # two rules, for rows with a note but no code; an option of the codes menu
_LEADS = {
    "single": {OUTCOME: "Show", "true": "that are", "predicted": "predicted to be"},
    "multi": {OUTCOME: "Show", "true": "that have", "predicted": "predicted to have"},
}
_LEADS["multi"] |= {"missed": "that miss", "invented": "and invent"}
_ANY = {"true": "any class", "predicted": "any class", "missed": "any label", "invented": "any label"}
_ANY |= {TAG: "any tag", CODES: "coded or not"}
SELECT = Option(
    "select",
    "Selection",
    lambda source: FREE,
    "Rules that select sentences, as in a link: wrong;true=negative",
    usual=lambda source: WRONG,
)
ORDER = Option(
    "order",
    "Order",
    lambda source: list(ORDERS),
    "Order of the sentences; by default the chosen order, else the surest first",
    usual=lambda source: "",
    words=lambda source, name: ORDERS.get(str(name), ""),
)


def select_rows(source: Source) -> RowSelection:
    """Select the rows of a split that match the chosen filter; NotAvailable: no split, InputError: a wrong rule."""
    if not source.split:
        raise NotAvailable(f"it is {source.record.status} and has not been evaluated")
    same = (each.run for each in source.others if each.data_fingerprint == source.record.data_fingerprint)
    asked = source.record, source.split, str(source.get_choice(SELECT)) or WRONG, source.author
    found = source.reader.select_tagged_rows(*asked, against=next(same, ""))
    return found.reorder_rows(str(source.get_choice(ORDER))) if ORDER.name in source.choices else found


def make_selection_figure(
    name: str, title: str, find: Callable[[RowSelection], Any], table: Callable[[Any], IntervalTable]
) -> Figure[Any]:
    """Build a figure of Errors from a table with intervals about the selected rows."""
    read, file = lambda source: find(select_rows(source)), name.capitalize()
    return make_interval_figure(f"error-{name}", "errors", title, read, table, file)


def group_facets(facets: Sequence[Facet]) -> list[tuple[str, list[Facet]]]:
    """Return the menus of the filter sentence as (name, groups of filter rules that the menu offers)."""
    fixed = [facet for facet in facets if facet.name in (OUTCOME, "true", "predicted", *SEVERAL, TAG)]
    last = [(facet.name, [facet]) for facet in facets if facet.name == CODES]
    own = [facet for facet in facets if facet not in fixed and facet.name != CODES]
    found = [(facet.name, [facet]) for facet in (*fixed, *own[:COLUMNS])]
    return [*found, *([(OTHERS, own[COLUMNS:])] if own[COLUMNS:] else []), *last]


def find_word(facets: Sequence[Facet], rule: str) -> str:
    """Return the name of the filter sentence's menu that offers a filter rule; if none does, of its last menu."""
    for name, ours in group_facets(facets):
        if any(str(option.clause) == rule for facet in ours for option in facet.options):
            return name
    return FURTHER


def update_clauses(
    clauses: Sequence[Clause], facets: Sequence[Facet], word: str, value: str, asked: Sequence[str] = ()
) -> list[str]:
    """Return the filter rules after the user has chosen an option in one menu of the filter sentence.

    In `FURTHER`, a rule is removed if it is present, else added. An empty value means any. `asked`: the id columns.
    """
    ours = dict(group_facets(facets)).get(word, [])
    dropped = [_is_id_clause(each, asked) if word == ASKED else _is_word_clause(each, word, ours) for each in clauses]
    kept = [str(each) for each, gone in zip(clauses, dropped, strict=True) if not gone]
    found = [*kept, *(value.split(";") if value == NOT_YET else [value] if value else [])]
    if word == FURTHER and value in kept:
        found = [each for each in kept if each != value]
    order = [str(option.clause) for _, each in group_facets(facets) for facet in each for option in facet.options]
    # Without rules the page shows errors, so removing the last rule selects all rows.
    return sorted(dict.fromkeys(found), key=lambda text: order.index(text) if text in order else len(order)) or ["all"]


def apply_search(
    clauses: Sequence[Clause], facets: Sequence[Facet], clause: Clause | None, asked: Sequence[str] = ()
) -> list[str]:
    """Return the filter rules after a search (None: removed), which replaces an earlier text or row id."""
    if clause is None or clause in clauses:
        return update_clauses(clauses, facets, TEXT, "") if clause is None else list(map(str, clauses))
    usual = ASKED if _is_id_clause(clause, asked) else find_word(facets, str(clause))
    word = TEXT if _is_word_clause(clause, TEXT, ()) else usual
    return update_clauses(clauses, facets, word, str(clause), asked)


def _is_word_clause(clause: Clause, word: str, facets: Sequence[Facet]) -> bool:
    if word == TEXT:
        return clause.name == "text" and clause.sign == "~"
    return any(facet.find_option(clause) is not None for facet in facets)


def _is_id_clause(clause: Clause, asked: Sequence[str]) -> bool:
    return clause.name in asked and clause.sign in ("=", "~")


def draw_filter(analysis: RowSelection, look: Look, splits: Sequence[str] = ()) -> Component:
    """Draw the filter of the selected rows as a sentence with menus (a browser component)."""
    table, facets, clauses = analysis.table, analysis.facets, analysis.clauses
    said, spoken = [], set[Clause]()
    asked = analysis.known.base_facets.asked
    for name, ours in group_facets(facets):
        left = _match_others(analysis, partial(_is_word_clause, word=name, facets=ours))
        options: list[dict[str, Any]] = [
            left.make_option(str(option.clause), f"{facet.name}: " * (name == OTHERS) + option.label, option.has)
            for facet in ours
            for option in facet.options
        ]
        held = next((each for each in clauses if _is_word_clause(each, name, ours)), None)
        spoken |= {held} if held is not None else set()
        said.append(_build_word(table, name, options, held, left))
        if name == CODES:
            spoken |= _add_uncoded_option(said[-1], ours[0], clauses, left)
    if asked:
        held = next((each for each in clauses if _is_id_clause(each, asked)), None)
        spoken |= {held} if held is not None else set()
        said.insert(-1, _build_id_word(analysis, asked, held))
    containing = next((each for each in clauses if _is_word_clause(each, TEXT, ())), None)
    rest, group = [each for each in clauses if each not in spoken and each is not containing], analysis.selected.group
    if len(splits) > 1:
        options = [{"value": each, "label": each, "n": 1, "parts": []} for each in splits]
        given = {"name": SPLIT, "lead": "", "about": "split", "value": table.split, "options": options}
        said.insert(1, given | {"shown": table.split, "set": False})
    data = {
        "words": said,
        "further": [{"value": str(each), "shown": describe_selection([each], group)} for each in rest],
        "contains": containing.value if containing else "",
        "hint": "any words",
        "ways": "Part of the text, an id, or a rule: word=not, margin<0.2, date>=2026-01",
        "colours": look.tokens.select_colors("paper", "panel", "ink", "muted", "grid", "accent", "wrong", "right"),
    }
    return Component("filter", data, look)


@dataclass(frozen=True, eq=False)
class _Remaining:
    """The rows that are left without the filter rules of one menu: all, and those that are wrong or right."""

    rows: np.ndarray  # (n,) bool
    wrong: np.ndarray  # (n,) bool; with `right` also the rows that the outcome rule leaves out
    right: np.ndarray

    def make_option(self, value: str, label: str, has: np.ndarray | bool = True) -> dict[str, Any]:
        """Build a menu option for the rows of `has`: `n` that it selects, and `parts`, the wrong and the right ones."""
        n, *parts = (int(np.count_nonzero(each & has)) for each in (self.rows, self.wrong, self.right))
        return {"value": value, "label": label, "n": n, "parts": parts}


def _match_others(analysis: RowSelection, skip: Callable[[Clause], bool]) -> _Remaining:
    rows = every = np.ones(len(analysis.table), bool)
    for clause, mask in zip(analysis.clauses, analysis.masks, strict=True):
        if not skip(clause):
            rows = rows & mask
            every = every if str(clause) in OUTCOMES else every & mask
    return _Remaining(rows, every & analysis.table.wrong, every & ~analysis.table.wrong)


def _add_uncoded_option(word: dict[str, Any], facet: Facet, clauses: Sequence[Clause], left: _Remaining) -> set[Clause]:
    """Add a filter option for rows that have a note but no annotation code; return its rules if it is chosen."""
    own, label = [Clause(name) for name in NOT_YET.split(";")], "noted, not coded yet"
    has = np.logical_and.reduce([option.has for option in facet.options if option.clause in own])
    place = 1 + next(at for at, option in enumerate(word["options"]) if option["value"] == str(own[0]))
    word["options"].insert(place, left.make_option(NOT_YET, label, has))
    held = set(own) & set(clauses)
    if len(held) < len(own):
        return set()
    word |= {"value": NOT_YET, "shown": label}
    return held


def _build_id_word(analysis: RowSelection, asked: Sequence[str], held: Clause | None) -> dict[str, Any]:
    empty = f"any {asked[0]}" if len(asked) == 1 else "any id or name"
    options = [_match_others(analysis, lambda clause: clause == held).make_option("", empty)]
    value, shown, every = "", empty, ", ".join(asked)
    if held is not None:
        value, shown = held.value, describe_selection([held])
        options.append(_match_others(analysis, lambda clause: False).make_option(value, shown))
    found = {"name": ASKED, "lead": "and", "shown": shown, "set": held is not None, "about": every, "value": value}
    return found | {"options": options, "typed": f"Type {every}, or part of it"}


def _build_word(
    table: PredictionTable, name: str, options: list[dict[str, Any]], held: Clause | None, left: _Remaining
) -> dict[str, Any]:
    if name in (TAG, *table.own):
        options = sorted(options, key=lambda option: -option["n"])
    label = next((option["label"] for option in options if held is not None and option["value"] == str(held)), "")
    empty = _ANY.get(name, "any other column" if name == OTHERS else f"any {name}")
    if name == OUTCOME:
        label = label or "right or wrong"
    else:
        options = [left.make_option("", empty), *options]
        label = f"{name} {label}" if label and name in table.own else label
    leads = _LEADS[table.task]
    about = {OUTCOME: "right or wrong", "true": "true class", OTHERS: "other columns"}.get(name, name)
    value = str(held) if held is not None else "all" if name == OUTCOME else ""
    found = {"name": name, "lead": leads.get(name, "with" if name == TAG else "and"), "about": about, "value": value}
    return found | {"shown": label or empty, "set": bool(label), "options": options}
