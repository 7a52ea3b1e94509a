"""Words, columns and error tags that are more frequent in selected rows, and word clouds of prediction outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from core.error_analysis.facets import YES, rank_features
from core.error_analysis.keywords import LEAST_Z, Keyword
from core.error_analysis.query import WORD, Clause
from core.error_analysis.report import list_clause_names
from core.error_analysis.tags import CONSEQUENCES, name_tag
from core.formatting import count, number, signed
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import Component
from dashboard.figures.error_rates import write_tag
from dashboard.figures.figure import Figure, Option
from dashboard.figures.filtering import SELECT, make_selection_figure, select_rows
from dashboard.figures.interval_table import Axis, IntervalTable, Mark, TextCell, make_axis
from dashboard.figures.row_selection import RowSelection, SelectionFindings
from dashboard.figures.theme import Look
from dashboard.figures.word_attributions import find_positive_class, is_binary

WORDS_SHOWN = 12
COLUMNS_SHOWN = 10
ALPHA = 0.05
CLOUD_WORDS = 24
SMALLEST, LARGEST = 0.95, 2.1
OUTCOMES = {
    "true positive": (True, True),
    "false negative": (True, False),
    "false positive": (False, True),
    "true negative": (False, False),
}
"""Outcome → whether the sentence is of the class, and whether it is predicted to be."""


def compare_words(of: RowSelection) -> SelectionFindings:
    """Find the words that are more frequent in the selected rows than in all other rows of the split."""
    found, rules = of.table.phrases.find_keywords(of.rows), set(map(str, of.clauses))
    return SelectionFindings(of, found, next((rule for rule in map(_get_rule, found) if rule in rules), ""))


def _get_rule(each: Keyword) -> str:
    return str(Clause(WORD, "=", each.words))


def _mark_odds(each: Keyword) -> Mark:
    low, high = each.interval
    said = f"log-odds {signed(each.log_odds)} ({number(low, 2)} to {number(high, 2)}), z {number(each.z, 1)}"
    return Mark(each.log_odds, low, high, said=said)


def build_words_table(shown: SelectionFindings) -> IntervalTable:
    """Build the interval table of words and phrases that are more frequent in the selected rows."""
    return IntervalTable(
        "Words and phrases more frequent in the selection",
        (
            columns.name("words", "Words", "words", "32%", words="words"),
            columns.count("selected", "here", "selected", "3.2rem"),
            columns.count("rest", "others", "rest", "5rem", soft=True),
            columns.interval("odds", "log-odds", _mark_odds, partial(make_axis, zero=0.0, signed=True)),
            columns.make_csv_columns(log_odds="log_odds", z="z"),
        ),
        shown.found,
        _get_rule,
        shown=shown.found[:WORDS_SHOWN],
    )


OVERUSED = make_selection_figure("words", "Over-represented words", compare_words, build_words_table).add_details(
    note=lambda shown: (
        f"{count(len(shown.analysis.places))} selected against "
        f"{count(len(shown.analysis.table) - len(shown.analysis.places))} others"
    ),
    reading=lambda shown: (
        "Bar: 95 % interval. Log-odds of the words here against others."
        if shown.found
        else f"No word or phrase is clearly more frequent here: none reaches z = {LEAST_Z:g}."
    ),
    how="Log-odds of each word, pair and triple in the selection against all other sentences, with a prior from all "
    f"sentences (Monroe, Colaresi and Quinn 2008); each sentence counts once. Listed if z ≥ {LEAST_Z:g} and n ≥ 3, "
    "the largest z first. In random selections of 153 of 3 202 sentences, the largest z of all phrases "
    "lies below 3.9 in 95 of 100.",
    options=(SELECT,),
)


@dataclass(frozen=True, eq=False)
class SelectionFeatures:
    """Columns and error tags that distinguish the selected rows (`core.error_analysis.facets.rank_features`)."""

    analysis: RowSelection
    found: Sequence[Mapping[str, Any]]

    def find_rule(self, row: Mapping[str, Any]) -> str:
        """Return the filter rule that selects rows by a column value or error tag; empty if no rule can do so."""
        name, label = ("tag", name_tag(row["name"])) if row["kind"] == "tag" else (row["name"], row["value"])
        options = (option for facet in self.analysis.facets if facet.name == name for option in facet.options)
        return next((str(option.clause) for option in options if option.label == label), "")


def compare_features(of: RowSelection) -> SelectionFeatures:
    """Compare columns and error tags of the selected rows with all other rows; NotAvailable: tags not computed yet."""
    known = list_clause_names(of.clauses) | CONSEQUENCES
    return SelectionFeatures(of, rank_features(of.table, of.tags, of.rows, known, of.known.groups))


def build_columns_table(shown: SelectionFeatures) -> IntervalTable:
    """Build the interval table of columns and error tags that distinguish the selected rows."""

    def is_significant(row: Mapping[str, Any]) -> bool:
        return row["p_holm"] is not None and row["p_holm"] < ALPHA

    def write_name(row: Mapping[str, Any]) -> TextCell:
        if row["kind"] == "tag":
            return write_tag(row["name"], "" if row["value"] == YES else row["value"])
        return TextCell(row["name"], small=row["value"])

    def mark_share(row: Mapping[str, Any]) -> Mark:
        share, rest = row["share"], row["rest_share"]
        said = f"{number(share, 2)} of the selection, {number(rest, 2)} of the rest"
        return Mark(share, min(share, rest), max(share, rest), not is_significant(row), reference=rest, said=said)

    axis = Axis(0.0, 1.0, (0.0, 0.5, 1.0), ("0", "0.5", "1"))
    return IntervalTable(
        "Columns and tags that distinguish the selection",
        (
            columns.name("name", "Column or tag", write_name, "12rem", name="name"),
            columns.make_csv_columns("kind", "v", "p", "p_holm", "value"),
            columns.count("n", "here", "selected", "3.6rem", csv="selected"),
            columns.interval("share", "share", mark_share, lambda marks: axis),
            columns.text(
                "v", "Cramér’s V", lambda row: TextCell(number(row["v"], 2), strong=is_significant(row)), "4.4rem"
            ),
            columns.make_csv_columns("share", "rest", "rest_share"),
        ),
        shown.found,
        lambda row: shown.find_rule(row) or f"{row['kind']} {row['name']}",
        shown=shown.found[:COLUMNS_SHOWN],
        picks=lambda row: bool(shown.find_rule(row)),
    )


MARKED = make_selection_figure("columns", "Distinguishing features", compare_features, build_columns_table).add_details(
    note=lambda shown: (
        f"{min(COLUMNS_SHOWN, len(shown.found))} of {len(shown.found)} columns and tags" if shown.found else ""
    ),
    reading=lambda shown: (
        "Ring: share in the rest. Tick: share in the selection. Grey: may be chance."
        if shown.found
        else "The selection is empty or complete: there is nothing to compare."
    ),
    how="*V* is Cramér's V between being selected and the values of the column, with the bias correction of Bergsma "
    "(2013): 0 for no relation, 1 for a perfect one. p: chi-square test after Holm over all columns and tags; those "
    "that define the selection are left out.",
    options=(SELECT,),
)

OF_CLASS = Option(
    "outcome-of",
    "Outcomes of",
    lambda source: source.record.classes,
    "Positive is this class, negative every other",
    usual=lambda source: find_positive_class(source.record) if is_binary(source.record) else source.record.classes[0],
    words=lambda source, name: f"of {name}",
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Words that distinguish each prediction outcome of a class (such as false positives), most certain first."""

    analysis: RowSelection
    of: str
    found: Mapping[str, Sequence[Keyword]]
    sizes: Mapping[str, int]

    @property
    def others(self) -> str:
        """Return the other class if there is only one."""
        others = [name for name in self.analysis.table.classes if name != self.of]
        return others[0] if len(others) == 1 else "every other class"

    def make_id(self, outcome: str, words: str) -> str:
        """Return the ID of a word in the word cloud of a prediction outcome, used when the word is clicked."""
        return f"{outcome}: {words}"

    @property
    def picked(self) -> str:
        """Return the ID of the word-cloud word that the current filter rules select; empty if they select none."""
        rules = set(map(str, self.analysis.clauses))
        each = ((outcome, one.words) for outcome, found in self.found.items() for one in found)
        return next((self.make_id(*one) for one in each if set(self.list_rules(*one)) == rules), "")

    def list_rules(self, outcome: str, words: str) -> list[str]:
        """Return the filter rules that select the sentences of a prediction outcome that contain a word."""
        true, said = OUTCOMES[outcome]
        return [f"true{'' if true else '!'}={self.of}", f"predicted{'' if said else '!'}={self.of}", f"word={words}"]


def find_outcomes(of: RowSelection, name: str) -> Outcomes:
    """Find the words that are more frequent in each prediction outcome of a class, over a whole split."""
    at = of.table.classes.index(name)
    true, said = of.table.true[:, at], of.table.said[:, at]
    rows = {each: (true == is_so) & (said == is_said) for each, (is_so, is_said) in OUTCOMES.items()}
    phrases = of.table.phrases
    found = of.known.compute_once(
        f"outcomes of {name}", lambda: {each: phrases.find_keywords(has, 1, CLOUD_WORDS) for each, has in rows.items()}
    )
    return Outcomes(of, name, found, {each: int(has.sum()) for each, has in rows.items()})


def scale_words(found: Mapping[str, Sequence[Keyword]]) -> dict[str, list[float]]:
    """Return the font size of each word in a word cloud (rem), linear in its log-odds, on one scale for all clouds."""
    top = max((each.log_odds for some in found.values() for each in some), default=1.0)
    return {key: [SMALLEST + (LARGEST - SMALLEST) * one.log_odds / top for one in some] for key, some in found.items()}


def arrange_words(places: Sequence[int]) -> list[int]:
    """Order words for a word cloud: the largest in the middle, the others alternating on either side."""
    return [*reversed(places[1::2]), *places[::2]]


def build_cloud_table(shown: Outcomes) -> pd.DataFrame:
    """Return a row for each word in the word cloud of each prediction outcome."""
    rows = [{"outcome": name, **each._asdict()} for name, found in shown.found.items() for each in found]
    return pd.DataFrame(rows, columns=["outcome", *Keyword._fields])


def _draw_clouds(shown: Outcomes, look: Look) -> Component:
    t, rems = look.tokens, scale_words(shown.found)
    clouds = []
    for name, found in shown.found.items():
        true, said = OUTCOMES[name]
        order = sorted(range(len(found)), key=lambda at: (-found[at].log_odds, found[at].words))
        words = [
            {"id": shown.make_id(name, each.words), "words": each.words, "rem": round(rems[name][at], 3)}
            | {"said": f"log-odds {signed(each.log_odds)}, {count(each.selected)} here, {count(each.rest)} in others"}
            for at, each in ((at, found[at]) for at in arrange_words(order))
        ]
        title = f"{name.capitalize()}s: {count(shown.sizes[name])}"
        clouds.append({"title": title, "words": words, "colour": t.ink if true == said else t.wrong})
    colors = t.select_colors("paper", "panel", "ink", "muted", "grid", "accent")
    return Component("cloud", {"clouds": clouds, "picked": shown.picked, "colours": colors}, look)


CLOUDS = Figure("outcome-cloud", "errors", "Words by outcome").add_details(
    read=lambda source: find_outcomes(select_rows(source), str(source.get_choice(OF_CLASS))),
    draw=_draw_clouds,
    note=lambda shown: f"{shown.of} against {shown.others}",
    reading=lambda shown: (
        "Larger: more typical of the outcome (log-odds). Click a word to read its sentences."
        if any(shown.found.values())
        else "No word is clearly more frequent in any outcome."
    ),
    how="As in *Over-represented words*, but for single words; positive is the chosen class, negative any other. All "
    "four clouds share one scale of sizes; positions mean nothing. The CSV has the numbers.",
    options=(OF_CLASS,),
    tables=lambda shown: {"Outcomes, cloud": build_cloud_table(shown)},
)
