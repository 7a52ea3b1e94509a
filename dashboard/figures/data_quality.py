"""Data quality: likely label errors, distribution shift between a split and the training data, other analyses."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from core.error_analysis.analyses.shift import DatasetShift
from core.error_analysis.dataset_shift import name_measure
from core.error_analysis.label_errors import LabelErrors, list_suspect_rows
from core.error_analysis.split_analysis import SplitAnalysis
from core.exceptions import NotAvailable
from core.formatting import count, format_p, number, signed
from core.runs.background_jobs import Found
from dashboard.figures import interval_table as columns
from dashboard.figures.drawing import DataTable, TableColumn
from dashboard.figures.figure import Figure, Source, make_interval_figure
from dashboard.figures.interval_table import IntervalTable, Mark, make_axis
from dashboard.figures.theme import Look

LABELS_SHOWN = 200  # most rows of the table; the CSV has all
COLUMNS = {
    "text": TableColumn("Sentence", width=520),
    "true": TableColumn("Label", width=95),
    "likelier": TableColumn("Likelier", "The label that the models find more likely", width=95),
    "p_true": TableColumn("P(label)", "Probability of its label, by models that were not fitted on it", 2, width=80),
    "likely": TableColumn("Likely wrong", "By the thresholds of confident learning", width=95),
    "split": TableColumn("Split", width=90),
}
WORDS_SHOWN = 12  # most words of each side; the CSV has all


def _build_conflicts_table(found: Mapping[str, Any]) -> pd.DataFrame:
    labels = [", ".join(f"{name} {number}" for name, number in each["labels"].items()) for each in found["conflicts"]]
    return pd.DataFrame({"text": [each["text"] for each in found["conflicts"]], "labels": labels})


def _draw_label_errors(found: Mapping[str, Any], look: Look) -> DataTable:
    rows = list_suspect_rows(dict(found)).reindex(columns=list(COLUMNS)).head(LABELS_SHOWN)
    return DataTable(rows.assign(likely=rows["likely"].map({True: "yes", False: ""})), COLUMNS)


DOUBTED = Figure("label-errors", "errors", "Likely label errors").add_details(
    read=lambda source: read_analysis(
        source, LabelErrors, "looked for doubtful labels", f"errors {source.record.run} --label-errors"
    ),
    draw=_draw_label_errors,
    note=lambda found: ", ".join(
        f"{count(likely)} of {count(found['n'][split])} in {split}" for split, likely in found["likely"].items()
    ),
    reading=lambda found: (
        f"{found['left_out'] or 'Most doubtful first. Read each sentence before you correct its label'}."
    ),
    how="Confident learning (Northcutt, Jiang and Chuang 2021). Training rows are predicted by TF-IDF fitted on the "
    "other four fifths; rows of the split by the mean of TF-IDF and the run. Ranked by the probability of their label, "
    "listed if another is more likely; *likely wrong* if another class exceeds its own mean.",
    tables=lambda found: {"Label errors": list_suspect_rows(dict(found)), "Two labels": _build_conflicts_table(found)},
    analysis=LabelErrors,
)


@dataclass(frozen=True)
class SplitShift:
    """Distribution shift between the training data and a split."""

    found: Mapping[str, Any]  # result of `core.error_analysis.dataset_shift.compare_with_training`
    split: str
    picked: str = ""  # the words that are selected

    @property
    def sentence(self) -> str:
        """Describe in a sentence how well a word classifier separates a split from the training data (AUC)."""
        if self.found["left_out"]:
            return f"There is no result: {self.found['left_out']}."
        auc, split = self.found["auc"], self.split
        low, high = auc["interval"]
        said = f"AUC {number(auc['value'], 2)} ({number(low, 2)} to {number(high, 2)}), where 0.50 is chance"
        return f"A word classifier {'can' if low > 0.5 else 'cannot'} separate {split} from training: {said}."


def read_analysis(
    source: Source, analysis: type[SplitAnalysis[Found]], asked: str = "asked for it", command: str = ""
) -> Found:
    """Read an analysis result of a split; NotAvailable: not computed yet (names the `command` that computes it)."""
    found = source.reader.read_result(analysis.from_run(source.reader.store(), source.record, source.evaluated))
    if found is None:
        command = command or f"{analysis.name} {source.record.run} --split {source.split}"
        raise NotAvailable(f"nobody has {asked} yet; `sentiscope {command}` does it")
    return found


def _read_shift(source: Source) -> SplitShift:
    found = read_analysis(source, DatasetShift, f"compared {source.split} with training")
    return SplitShift(found, source.split)


def build_shift_table(shown: SplitShift) -> pd.DataFrame:
    """Return a row for each measure of distribution shift: AUC, labels, length, unknown words, repeats."""
    rows = [(name_measure(each), each, each["p_holm"]) for each in shown.found["measures"]]
    if auc := shown.found["auc"]:
        rows.insert(0, ("AUC of separating them", {**auc, "difference": auc["value"]}, auc["p"]))
    names = ["training", "other", "difference"]
    made = [(name, *(each.get(key, math.nan) for key in names), *each["interval"], p) for name, each, p in rows]
    return pd.DataFrame(made, columns=["measure", "training", "split", "difference", "low", "high", "p"])


def _draw_numbers(shown: SplitShift, look: Look) -> DataTable:
    names, rows = ["Training", shown.split.capitalize(), "Difference", "95 % interval", "p"], []
    for each in build_shift_table(shown).to_dict("records"):
        one = math.isnan(each["training"])  # the AUC has no value for each side
        value = number if one else signed
        ends = f"{value(each['low'], 3)} to {value(each['high'], 3)}"
        means = ["" if one else number(each[name]) for name in ("training", "split")]
        rows.append((each["measure"], *means, value(each["difference"], 3), ends, format_p(each["p"])))
    table = pd.DataFrame(rows, columns=["Measure", *names])
    return DataTable(table, dict.fromkeys(names, TableColumn(alignment="right")), narrow=True)


def _mark_odds(each: Mapping[str, Any]) -> Mark:
    ends = f"{number(each['low'], 2)} to {number(each['high'], 2)}"
    said = f"log-odds {signed(each['log_odds'])} ({ends}), p after Holm {format_p(each['p_holm'])}"
    return Mark(each["log_odds"], each["low"], each["high"], said=said)


def build_words_table(shown: SplitShift) -> IntervalTable:
    """Build the table, with intervals, of words more frequent in a split, then of those more frequent in training."""
    found = shown.found["words"]
    more, less = ([each for each in found if (each["log_odds"] > 0) is up][:WORDS_SHOWN] for up in (True, False))
    return IntervalTable(
        f"Words and phrases more frequent in {shown.split} or training",
        (
            columns.name("words", "Words", "words", "10rem", words="words"),
            columns.count("split", shown.split, "split", "5rem"),
            columns.count("training", "training", "training", "5rem", soft=True),
            columns.interval("odds", "log-odds", _mark_odds, partial(make_axis, zero=0.0, signed=True)),
            columns.make_csv_columns("log_odds", "low", "high", "p_holm"),
        ),
        found,
        "words",
        shown=[*more, *less],
        apart=lambda each: each["log_odds"] <= 0,
    )


SHIFT = Figure[SplitShift]("shift", "errors", "Train–test shift", _read_shift, _draw_numbers).add_details(
    note=lambda shown: (
        f"{count(shown.found['n']['split'])} {shown.split} and {count(shown.found['n']['training'])} training texts"
    ),
    reading=lambda shown: f"Difference: {shown.split} minus training; of lengths, relative.",
    how="TF-IDF of words and pairs with logistic regression learns to separate texts of the split from training texts, "
    "cross-fitted in five folds; AUC is their mean, with DeLong's variances combined as in Nadeau and Bengio (2003), "
    "since the fits share texts. Labels: chi-square of all classes, with the class that differs most. Other rows: "
    "permutation tests. p after Holm over the rows. Unknown words occur in no (other) training text. A large set is "
    "sampled with a seed.",
    tables=lambda shown: {"Shift": build_shift_table(shown)},
    analysis=DatasetShift,
)
SHIFT_WORDS: Figure[SplitShift] = make_interval_figure(
    "shift-words",
    "errors",
    "Words with the largest shift",
    _read_shift,
    build_words_table,
    "Shift words",
    note=lambda shown: f"{len(shown.found['words'])} of {count(shown.found['tried'])} tried",
    reading=lambda shown: (
        f"Bar: 95 % interval; right: more frequent in {shown.split}. Click to read."
        if shown.found["words"]
        else "No word or phrase differs more than chance allows for this many tests."
    ),
    how="Fisher's exact test on the number of texts with each word, pair and triple, p after Holm over all that occur "
    "in three texts; a text counts once, however often it repeats a word. Log-odds have a prior from all texts "
    "(Monroe, Colaresi and Quinn 2008), which pulls rare words to 0.",
)


def make_analysis_figure(analysis: type[SplitAnalysis[dict[str, Any]]]) -> Figure[dict[str, Any]]:
    """Build the default figure of an analysis result: its `rows` as a table, its other numbers as a note."""
    offer: Any = analysis.offer
    return Figure(
        analysis.name,
        "errors",
        offer.title,
        lambda source: read_analysis(source, analysis),
        lambda found, look: DataTable(pd.DataFrame(found["rows"])),
        note=lambda found: ", ".join(f"{key} {value}" for key, value in found.items() if key != "rows" and value != ""),
        reading=str(analysis.__doc__).partition("\n")[0],
        how=offer.takes,
        tables=lambda found: {analysis.name.capitalize(): pd.DataFrame(found["rows"])},
        analysis=analysis,
    )
