"""Quality of the data: likely label errors, shift between a split and training, and further analyses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from core.exceptions import NotAvailable
from core.failures.analyses.shift import DatasetShift
from core.failures.kept import SplitAnalysis
from core.failures.label_errors import LabelErrors, doubted_rows
from core.numbers import count, number, signed, write_p
from core.runs.analyses import Found
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure, interval_figure
from dashboard.figures.interval_table import IntervalTable, Mark, axis
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

LABELS_SHOWN = 200  # rows of the table; its CSV has all
COLUMNS = {
    "text": Column("Sentence", width=520),
    "truth": Column("Is", width=95),
    "likelier": Column("Likelier", "The label that the models find likelier", width=95),
    "p_truth": Column("P(is)", "Probability of its label, by models that were not fitted on it", decimals=2, width=80),
    "likely": Column("Likely wrong", "By the thresholds of confident learning", width=95),
    "split": Column("Split", width=90),
}


def doubted(source: Source) -> Mapping[str, Any]:
    """Read the likely label errors (`core.failures.label_errors`); NotAvailable: they were not computed."""
    found = source.reader.analysed(LabelErrors, source.record, source.split)
    if found is None:
        how = f"`sentiscope errors {source.record.run} --label-errors` does it"
        raise NotAvailable(f"nobody has looked for doubtful labels yet; {how}")
    return found


def _likely(found: Mapping[str, Any]) -> str:
    each = zip(found["likely"].items(), found["n"].values(), strict=True)
    return ", ".join(f"{count(likely)} of {count(n)} in {split}" for (split, likely), n in each)


def conflicts_table(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return texts that occur in the data with several labels."""
    said = [
        (each["text"], ", ".join(f"{name} {number}" for name, number in each["labels"].items()))
        for each in found["conflicts"]
    ]
    return pd.DataFrame(said, columns=["text", "labels"])


def _draw(found: Mapping[str, Any], look: Look) -> Table:
    rows = doubted_rows(dict(found)).reindex(columns=list(COLUMNS)).head(LABELS_SHOWN)
    return Table(rows.assign(likely=rows["likely"].map({True: "yes", False: ""})), COLUMNS)


DOUBTED: Figure[Mapping[str, Any]] = Figure(
    "label-errors",
    "errors",
    "Likely label errors",
    doubted,
    _draw,
    note=_likely,
    reading=lambda found: (
        f"{found['left_out']}."
        if found["left_out"]
        else "The most doubtful first. A doubt is no verdict: read them, and correct the data, not the list."
    ),
    how="Confident learning (Northcutt, Jiang and Chuang 2021). Training rows are judged by TF-IDF that was fitted on "
    "the other four fifths; rows of the split by the mean of TF-IDF and the run. Ranked by the probability of their "
    "label, listed where another is likelier; *likely wrong* where another class passes its own mean.",
    tables=lambda found: {"Label errors": doubted_rows(dict(found)), "Two labels": conflicts_table(found)},
    analysis=LabelErrors,
)


WORDS_SHOWN = 12  # words of either side; the CSV has all that are listed


@dataclass(frozen=True)
class Shifted:
    """The shift between training and a split."""

    found: Mapping[str, Any]  # as `core.failures.shift.shift` gives it
    split: str
    picked: str = ""  # the words that are selected

    @property
    def sentence(self) -> str:
        """Describe the AUC in a sentence."""
        if self.found["left_out"]:
            return f"Nothing is told: {self.found['left_out']}."
        auc, split = self.found["auc"], self.split
        low, high = auc["interval"]
        said = f"AUC {number(auc['value'], 2)} ({number(low, 2)} to {number(high, 2)}), where 0.50 is a guess"
        if low > 0.5:
            return f"A classifier of words tells {split} from training: {said}."
        return f"A classifier of words cannot tell {split} from training: {said}."


def analysed(source: Source, analysis: type[SplitAnalysis[Found]], asked: str = "asked for it") -> Found:
    """Read the result of an analysis of `core.failures.analyses`; NotAvailable: it was not computed."""
    found = source.reader.analysed(analysis, source.record, source.evaluated)
    if found is None:
        how = f"`sentiscope {analysis.name} {source.record.run} --split {source.split}` does it"
        raise NotAvailable(f"nobody has {asked} yet; {how}")
    return found


def shifted(source: Source) -> Shifted:
    """Read the shift between training and the split; NotAvailable: it was not computed."""
    found = analysed(source, DatasetShift, f"compared {source.split} with training")
    return Shifted(found, source.split)


def shift_rows(shown: Shifted) -> pd.DataFrame:
    """Return a row for each measure: AUC, words of a text, unknown words, the share of each class."""
    found = shown.found
    rows = [(each["name"], each, each["p"]) for each in found["measures"]]
    rows += [(f"share of {each['class']}", each, each["p_holm"]) for each in found["balance"]]
    if auc := found["auc"]:
        rows.insert(0, ("AUC of telling them apart", {**auc, "difference": auc["value"]}, auc["p"]))
    names = ["training", "split", "difference"]
    made = [(name, *(each.get(key, math.nan) for key in names), *each["interval"], p) for name, each, p in rows]
    return pd.DataFrame(made, columns=["measure", *names, "low", "high", "p"])


def _draw_numbers(shown: Shifted, look: Look) -> Table:
    names, rows = ["Training", shown.split.capitalize(), "Difference", "95 % interval", "p"], []
    for each in shift_rows(shown).to_dict("records"):
        one = math.isnan(each["training"])  # AUC is of both at once
        value = number if one else signed
        ends = f"{value(each['low'], 3)} to {value(each['high'], 3)}"
        means = ["" if one else number(each[name]) for name in ("training", "split")]
        rows.append((each["measure"], *means, value(each["difference"], 3), ends, write_p(each["p"])))
    table = pd.DataFrame(rows, columns=["Measure", *names])
    return Table(table, dict.fromkeys(names, Column(alignment="right")), narrow=True)


def _mark_odds(each: Mapping[str, Any]) -> Mark:
    ends = f"{number(each['low'], 2)} to {number(each['high'], 2)}"
    said = f"log-odds {signed(each['log_odds'])} ({ends}), p after Holm {write_p(each['p_holm'])}"
    return Mark(each["log_odds"], each["low"], each["high"], said=said)


def shift_words_table(shown: Shifted) -> IntervalTable:
    """Build a table with a row for each word or phrase, those of the split first."""
    found = shown.found["words"]
    sides = [[each for each in found if (each["log_odds"] > 0) is more][:WORDS_SHOWN] for more in (True, False)]
    return IntervalTable(
        f"Words and phrases that {shown.split} or training has in more texts",
        (
            columns.name("words", "Words", "words", "10rem", words="words"),
            columns.count("split", shown.split, "split", "5rem"),
            columns.count("training", "training", "training", "5rem", soft=True),
            columns.interval("odds", "log-odds", _mark_odds, partial(axis, zero=0.0, signed=True)),
            columns.also("log_odds", "low", "high", "p_holm"),
        ),
        found,
        "words",
        shown=[*sides[0], *sides[1]],
        apart=lambda each: each["log_odds"] <= 0,
    )


SHIFT: Figure[Shifted] = Figure(
    "shift",
    "errors",
    "Shift between training and test",
    shifted,
    _draw_numbers,
    note=lambda shown: (
        f"{count(shown.found['n']['split'])} of {shown.split} beside {count(shown.found['n']['training'])} of training"
    ),
    reading=lambda shown: (
        f"Difference: {shown.split} less training. Unknown: words of a text that no (other) training text has."
    ),
    how="TF-IDF of words and pairs with logistic regression learns to tell texts of the split from training texts, "
    "cross-fitted in five folds; AUC is their mean, DeLong's variances joined as Nadeau and Bengio (2003) do, since "
    "the fits share texts. Lengths and unknown words: Welch's t. Classes: the score test, p after Holm over the "
    "classes, Newcombe's interval. Of more than 10,000 texts of a side a seeded sample is read.",
    tables=lambda shown: {"Shift": shift_rows(shown)},
    analysis=DatasetShift,
)
SHIFT_WORDS: Figure[Shifted] = interval_figure(
    "shift-words",
    "errors",
    "Words that shifted",
    shifted,
    shift_words_table,
    "Shift words",
    note=lambda shown: f"{len(shown.found['words'])} of {count(shown.found['tried'])} tried",
    reading=lambda shown: (
        f"Bar: 95 % interval; to the right, more texts of {shown.split} have it. Click one to read its sentences."
        if shown.found["words"]
        else "No word or short phrase is in more texts of one side than chance allows for so many tried."
    ),
    how="How many texts have each word, pair and triple, by Fisher's exact test, p after Holm over all that three "
    "texts have; texts count once, so that one that repeats a word says no more. Log-odds have a prior of all texts "
    "(Monroe, Colaresi and Quinn 2008), which draws rare words to 0.",
)


def analysis_figure(analysis: type[SplitAnalysis[dict[str, Any]]]) -> Figure[dict[str, Any]]:
    """Build the figure of an analysis without one of its own: `rows` as a table, other numbers as its note."""
    offer: Any = analysis.offer
    return Figure(
        analysis.name,
        "errors",
        offer.title,
        lambda source: analysed(source, analysis),
        lambda found, look: Table(pd.DataFrame(found["rows"])),
        note=lambda found: ", ".join(f"{key} {value}" for key, value in found.items() if key != "rows"),
        reading=str(analysis.__doc__).partition("\n")[0],
        how=offer.takes,
        tables=lambda found: {analysis.name.capitalize(): pd.DataFrame(found["rows"])},
        analysis=analysis,
    )
