"""Metrics of a run on a split or on other data, by class and phenomenon, its confusion matrix and confidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.evaluation.intervals import METHOD, compute_wilson
from core.evaluation.metrics import compute_confusion, describe_absent
from core.exceptions import NotAvailable
from core.formatting import count, format_plus_minus, number, shorten_text, whole_percent
from core.metrics import METRICS as DEFINED
from dashboard.figures import decisions, drawing, results, thresholding
from dashboard.figures.decisions import BARS, FEW, PARTS, PHENOMENON, TICKS, Decision, Integers, write_sample_size
from dashboard.figures.drawing import DataTable, Panels, TableColumn, draw_bar_matrix, escape_text, make_whiskers
from dashboard.figures.figure import Figure, Option, Source
from dashboard.figures.theme import Look, blend_colors

TITLES = {"value": "Value", "low": "From", "high": "To"}
TITLES |= {"tuned": "Tuned", "tuned_low": "Tuned, from", "tuned_high": "Tuned, to"}
GROUPS, LEAST = 6, 10  # groups of texts by length, at most; texts of a group, at least
LONGEST, QUOTED = 90, 72  # characters of an example, and of its lines in all columns together, at most
Evaluated = Mapping[str, Any]  # result of `core.api.evaluate` on other data than those of the run
YARDSTICKS = {"tfidf-logreg": "TF-IDF", "tfidf-logreg-chars": "TF-IDF with characters"}
_NUMBERS = {name: TableColumn(TITLES[name], decimals=3) for name in ("value", "low", "high")}


def build_confusion_table(classes: Sequence[str], counts: Integers, head: str = "true label") -> pd.DataFrame:
    """Return a confusion matrix as a table for screen readers; `head` is the heading of the true classes."""
    return pd.DataFrame({head: classes, **{f"predicted {name}": counts[:, i] for i, name in enumerate(classes)}})


def count_outcomes(decision: Decision) -> tuple[Integers, Integers]:
    """Count right and wrong predictions in equally wide bins of the predicted probability."""
    places = np.minimum((decision.score * BARS).astype(int), BARS - 1)
    right = np.bincount(places[decision.correct], minlength=BARS)
    return right, np.bincount(places[~decision.correct], minlength=BARS)


def draw_confidence(
    right: NDArray[np.int64], wrong: NDArray[np.int64], threshold: float, score: str, look: Look
) -> go.Figure:
    """Draw a histogram of right (grey) and wrong (magenta) predictions over the predicted probability."""
    t = look.tokens
    figure = Panels(look, [[""]], height=400)
    middles = [(place + 0.5) / BARS for place in range(BARS)]
    for name, values, color in (("right", right, t.right), ("wrong", wrong, t.wrong)):
        bar = {"width": 0.92 / BARS, "marker": {"color": color, "line": {"width": 0}}}
        figure.add_bar(x=middles, y=values, hover=f"%{{x:.2f}}<br>{name}: %{{y}}", **bar)
    decisions.draw_threshold_line(figure, threshold, look)
    corner: dict[str, Any] = {"xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "bottom", "y": 1}
    for name, values, color, x in (("right", right, t.muted, 0.0), ("wrong", wrong, t.wrong, 0.3)):
        figure.add_annotation(x=x, text=f"{name} {count(int(values.sum()))}", font={"color": color}, **corner)
    figure.update_xaxes(title=escape_text(score), range=[0, 1], tickvals=TICKS)
    figure.update_yaxes(title="sentences", rangemode="tozero", nticks=6)
    figure.update_layout(barmode="stack")
    return figure.build_figure()


def draw_confusion(
    counts: NDArray[np.int64],
    classes: Sequence[str],
    look: Look,
    *,
    normalized: bool = False,
    examples: Mapping[tuple[int, int], str] | None = None,
) -> go.Figure:
    """Draw a confusion matrix with a bar in each cell; a click returns the numbers of the true and predicted label.

    `examples` are HTML below the numbers of a cell, by the positions of its true and predicted label.
    """
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    strengths = shares if normalized else counts / max(int(counts.sum(1).max(initial=0)), 1)
    names, few = [escape_text(name) for name in classes], len(classes) < drawing.FEW_ROWS
    if few:  # each name with its title, so that no text is turned
        said = f"<span style='color:{look.tokens.muted}'>%s</span>%s<b>%s</b>"
        rows = [said % ("true", "<br>", name) for name in names]
        columns = [said % ("predicted", " " if len(names) < drawing.FEW_ROWS - 1 else "<br>", name) for name in names]

    def write_cell(i: int, j: int) -> str:
        large, small = (count(int(counts[i, j])), number(shares[i, j]))[:: -1 if normalized else 1]
        return f"<b style='font-size:1.6em'>{large}</b><br>{small}{(examples or {}).get((i, j), '')}"

    return draw_bar_matrix(
        look,
        rows if few else names,
        columns if few else names,
        color=lambda i, j: _color_cell(strengths[i, j], i == j, look),
        words=write_cell,
        hover=lambda i, j: f"label {names[i]}, predicted {names[j]}: {count(int(counts[i, j]))}",
        height=410,
        titles=("", "") if few else ("true", "predicted"),
    )


def _color_cell(share: float, correct: bool, look: Look) -> str:
    t = look.tokens
    if correct:
        return blend_colors(t.paper, t.right, 0.08 + 0.3 * share)
    if not share:
        return t.paper
    return blend_colors(t.paper, t.wrong, 0.06 + min(np.sqrt(share) * (1.2 if look.dark else 0.9), 0.44))


CELLS = Option(
    "cells",
    "Cells",
    lambda source: ("counts", "shares"),
    "Shares of the row do not depend on class frequency",
    words=lambda source, cells: {"shares": "shares of the row"}.get(cells, cells),
    endings={"counts": "", "shares": "-shares"},
)


@dataclass(frozen=True)
class ConfusionMatrix:
    """Confusion matrix of a run's decisions; with `shares`, each cell shows its share of the row in large print."""

    decision: Decision
    shares: bool
    texts: pd.Series  # (n,) of the rows of the decision

    def draw(self, look: Look, *, examples: bool = False) -> go.Figure:
        """Draw the confusion matrix, with `examples` and large cells also the surest error in each cell."""
        counts, classes = self.decision.counts, self.decision.classes
        cells = [(i, j) for i in range(len(classes)) for j in range(len(classes)) if i != j and counts[i, j]]
        shown = {cell: self._quote_surest(*cell) for cell in cells if examples and len(classes) < drawing.FEW_ROWS}
        return draw_confusion(counts, classes, look, normalized=self.shares, examples=shown)

    def _quote_surest(self, true: int, predicted: int) -> str:
        rows = np.flatnonzero((self.decision.labels == true) & (self.decision.predicted == predicted))
        chances = self.decision.probabilities[rows, predicted]
        text, chance = str(self.texts.iloc[rows[chances.argmax()]]), number(chances.max(), 2)
        lines = wrap(shorten_text(text, LONGEST), QUOTED // len(self.decision.classes))
        quote = "<br>".join(map(escape_text, [f"\u201c{lines[0]}", *lines[1:]])) if lines else ""
        said = f"<br>{escape_text(self.decision.classes[predicted])} {chance}"
        return f"<br><br><span style='font-size:.9em'>{quote}\u201d{said}</span>" if lines else ""


def read_matrix(source: Source) -> ConfusionMatrix:
    """Read the confusion matrix of a run at the chosen decision threshold."""
    decision = source.read_once(thresholding.read_decision)
    texts = source.report.examples["text"].iloc[decision.rows]
    return ConfusionMatrix(decision, source.get_choice(CELLS) == "shares", texts)


def describe_errors(matrix: ConfusionMatrix) -> str:
    """Describe the errors of a confusion matrix in a sentence: how many, and the most frequent confusions."""
    decision = matrix.decision
    counts, names, n = decision.counts, decision.classes, len(decision.rows)
    wrong = n - int(np.trace(counts))
    if not wrong:
        return f"All {count(n)} sentences are right."
    cells = [(int(counts[i, j]), i, j) for i in range(len(names)) for j in range(len(names)) if i != j and counts[i, j]]
    most = sorted(cells, key=lambda cell: -cell[0])[:2]
    named = ", ".join(f"{count(n)} {names[i]} predicted as {names[j]}" for n, i, j in most)
    head = f"{count(wrong)} of {count(n)} {'is' if wrong == 1 else 'are'} wrong"
    return f"{head}: {named}{', and others' if len(cells) > len(most) else ''}."


CONFUSION = Figure("confusion", "performance", "Confusion matrix").add_details(
    read=read_matrix,
    draw=lambda shape, look: shape.draw(look),
    exhibit=lambda shape, look: shape.draw(look, examples=True),
    note=lambda matrix: write_sample_size(matrix.decision),
    reading="Rows are true classes, columns predicted ones; the diagonal is correct.",
    finding=describe_errors,
    how="Counts, and their share of the row, which does not depend on class frequency; the colour follows the large "
    "number. Predictions depend on the threshold.",
    options=(*thresholding.OPTIONS, CELLS),
    spread=(CELLS,),
    tables=lambda matrix: {"Confusion": build_confusion_table(matrix.decision.classes, matrix.decision.counts)},
    sizes=lambda matrix: dict(zip(matrix.decision.classes, matrix.decision.counts.sum(1).tolist(), strict=True)),
)
CONFIDENCE = Figure("confidence", "performance", "Confidence of right and wrong answers").add_details(
    read=lambda source: source.read_once(thresholding.read_decision),
    draw=lambda decision, look: draw_confidence(
        *count_outcomes(decision), decision.threshold, decision.score_name, look
    ),
    note=write_sample_size,
    reading=lambda decision: (
        "Grey: right; magenta: wrong. A good model has its magenta "
        f"{'at the left' if decision.positive is None else 'in the middle'}."
    ),
    how="Each bar covers a twentieth of the probabilities; the line is the threshold.",
    options=thresholding.OPTIONS,
    sizes=lambda each: {"right answers": int(each.correct.sum()), "wrong answers": int((~each.correct).sum())},
)


@dataclass(frozen=True)
class MetricTable:
    """Metrics of a run on a split as a table, and the number of sentences."""

    table: pd.DataFrame
    n: int
    absent: str = ""  # which classes macro averages cover, if some have no sentence


def _read_metrics(source: Source) -> MetricTable:
    of_task = thresholding.build_metric_table if source.record.task == "multi" else results.build_metric_table
    report, table, absent = source.report, of_task(source.record, source.split), ""
    if table.empty:
        raise NotAvailable(f"no metric of {source.split} was recorded")
    if source.record.task == "single":
        counts = compute_confusion(report.labels, report.probabilities.argmax(1), len(report.classes))
        absent = describe_absent(counts, report.classes)
    return MetricTable(table, len(report.examples), absent)


def _draw_metrics(shown: MetricTable, look: Look) -> DataTable:
    rows = shown.table.assign(better=[DEFINED[name].better for name in shown.table["metric"]]).drop(columns="metric")
    value = {name: TableColumn(title, decimals=3) for name, title in TITLES.items() if name in rows}
    return DataTable(rows, {"title": TableColumn("Metric"), **value, "better": TableColumn("Better")})


METRICS = Figure("metrics", "performance", "All metrics", _read_metrics, _draw_metrics).add_details(
    note=lambda shown: f"n = {count(shown.n)}",
    reading=lambda shown: (
        "From, To: ends of the 95 % interval."
        + (" Tuned: at the thresholds chosen on validation." if "tuned" in shown.table else "")
        + f" {shown.absent}".rstrip()
    ),
    how=f"Intervals: {METHOD}; they are about these sentences, not about other training seeds.",
    tables=lambda shown: {"Metrics": shown.table},
)


def _draw_classes(decision: Decision, look: Look) -> DataTable:
    def format_interval(row: Any, part: str) -> str:
        value, low, high = row[part], row[f"{part}, low"], row[f"{part}, high"]
        if value != value:
            return drawing.NOTHING
        return format_plus_minus(value, low, high) if low == low else number(value)

    found = decisions.build_class_metrics(decision)
    rows = found.to_dict("records")
    words = {part: [format_interval(row, part) for row in rows] for part in PARTS}
    table = found[["Class", *PARTS, "n"]].assign(**words)
    return DataTable(table, dict.fromkeys(PARTS, TableColumn(alignment="right")))


CLASSES = Figure("each-class", "performance", "Per class").add_details(
    read=lambda source: source.read_once(thresholding.read_decision),
    draw=_draw_classes,
    note=lambda decision: f"threshold {number(decision.threshold, 2)}, 95 % intervals",
    reading="Precision: share of predictions that are correct. Recall: share of class found.",
    how="F1 is the harmonic mean of precision and recall. ± is half of the 95 % interval; an asymmetric interval shows "
    f"both ends. Intervals: {METHOD}.",
    options=thresholding.OPTIONS,
    tables=lambda decision: {"Classes": decisions.build_class_metrics(decision)},
    sizes=lambda decision: dict(zip(decision.classes, decision.counts.sum(1).tolist(), strict=True)),
)


def score_phenomena(decision: Decision, names: Sequence[str], yardstick: dict[str, float]) -> pd.DataFrame:
    """Return accuracy by linguistic phenomenon with interval, n and TF-IDF's accuracy, the lowest first."""
    found = pd.DataFrame({"phenomenon": np.asarray(names, dtype=object)[decision.rows], "correct": decision.correct})
    rows = []
    for name, group in found.groupby("phenomenon"):
        hits, n = int(group["correct"].sum()), len(group)
        rows.append((str(name), hits / n, *compute_wilson(hits, n), n, yardstick.get(str(name), float("nan"))))
    columns = ["phenomenon", "accuracy", "low", "high", "n", "tfidf"]
    return pd.DataFrame(rows, columns=columns).sort_values("accuracy", ignore_index=True)


def draw_phenomena(table: pd.DataFrame, look: Look) -> go.Figure:
    """Draw the accuracy on each linguistic phenomenon with interval and n; a ring marks the TF-IDF baseline."""
    t, sizes = look.tokens, table["n"].tolist()
    figure = Panels(look, [[""]], height=70 + 32 * len(table))
    names = [escape_text(name) for name in table["phenomenon"]]
    ring = {"dots": (t.muted, 11, "circle-open"), "marker": {"line": {"width": look.scale_size(2)}}}
    figure.add_scatter(x=table["tfidf"], y=names, hover="TF-IDF %{x:.3f}", **ring)
    bars = make_whiskers(table["accuracy"], table[["low", "high"]].to_numpy(), look.scale_size(2), t.accent)
    dots = [t.right if n < FEW else t.accent for n in sizes], 10
    hover = "%{y}<br>accuracy %{x:.3f}<br>n = %{customdata}"
    figure.add_scatter(x=table["accuracy"], y=names, dots=dots, error_x=bars, customdata=table["n"], hover=hover)
    decisions.format_rows(figure, "accuracy", names, sizes, look)
    figure.update_xaxes(range=[0, 1.1])
    return figure.build_figure()


def score_lengths(decision: Decision, texts: Sequence[str]) -> pd.DataFrame:
    """Return accuracy by text length as `score_phenomena`, the shortest first, about equally many texts a group."""
    words = np.array([len(text.split()) for text in texts])
    known = words[decision.rows]
    groups = max(1, min(GROUPS, len(known) // LEAST))
    ends = np.unique(np.quantile(known, np.arange(1, groups + 1) / groups, method="inverted_cdf"))
    starts = [known.min(), *(ends[:-1] + 1)]
    names = [f"{a} words" if a == b else f"{a} to {b} words" for a, b in zip(starts, ends, strict=True)]
    own = [names[place] for place in np.searchsorted(ends, words.clip(max=ends[-1]))]
    return score_phenomena(decision, own, {}).set_index("phenomenon").loc[names].reset_index(names="length")


def _read_lengths(source: Source) -> pd.DataFrame:
    decision, texts = source.read_once(thresholding.read_decision), source.report.examples["text"].map(str).tolist()
    if not len(decision.rows) or not any(map(str.strip, texts)):
        raise NotAvailable("the texts of this split are not kept, or none has an answer")
    return score_lengths(decision, texts)


def describe_lengths(table: pd.DataFrame) -> str:
    """Compare the shortest texts with the longest, as a sentence."""
    first, last = table.iloc[0], table.iloc[-1]
    unclear = "" if first["low"] > last["high"] or last["low"] > first["high"] else "; no clear difference"
    right = f"{whole_percent(first['accuracy'])} of texts with {first['length']} are right"
    return f"{right}, {whole_percent(last['accuracy'])} of those with {last['length']}{unclear}."


LENGTHS = Figure("lengths", "performance", "Accuracy by text length").add_details(
    read=_read_lengths,
    draw=lambda table, look: draw_phenomena(table[::-1].rename(columns={"length": "phenomenon"}), look),
    reading=describe_lengths,
    finding=describe_lengths,
    how="Texts are grouped by their number of words, about equally many in each group. Intervals: Wilson.",
    options=thresholding.OPTIONS,
    tables=lambda table: {"Lengths": table.drop(columns="tfidf")},
    sizes=lambda table: dict(zip(table["length"], table["n"], strict=True)),
)


@dataclass(frozen=True)
class Kinds:
    """Accuracy on each linguistic phenomenon, and the number of texts with a prediction."""

    table: pd.DataFrame
    n: int


def _read_phenomena(source: Source) -> Kinds:
    examples = source.report.examples
    if PHENOMENON not in examples:
        raise NotAvailable("these data name no phenomena")
    decision = source.read_once(thresholding.read_decision)
    yardstick = results.read_tfidf_phenomena(source.record, source.split)
    return Kinds(score_phenomena(decision, examples[PHENOMENON].tolist(), yardstick), len(decision.rows))


PHENOMENA = Figure("phenomena", "performance", "Kinds of sentences").add_details(
    read=_read_phenomena,
    draw=lambda kinds, look: draw_phenomena(kinds.table[::-1], look),
    note=lambda kinds: f"n = {count(kinds.n)}, worst first",
    reading="Dot: this model. Line: 95 % interval. Ring: TF-IDF (test only). Grey: fewer than 30 sentences.",
    how="Each sentence has one kind, its hardest; it is correct or not at the threshold. Intervals: Wilson. TF-IDF: "
    "with logistic regression.",
    options=thresholding.OPTIONS,
    tables=lambda kinds: {"Phenomena": kinds.table},
    sizes=lambda kinds: dict(zip(kinds.table["phenomenon"], kinds.table["n"], strict=True)),
)


def _get_first_metric(measured: Evaluated) -> str:
    return "accuracy" if measured["task"] == "single" else "f1_macro"


def list_stats(measured: Evaluated) -> list[results.Stat]:
    """Return the main metrics of an evaluation, each with an axis from chance level to a perfect score."""
    at = measured.get("tuned") or measured
    names = results.SHOWN if measured["task"] == "single" else ("f1_macro", "f1_micro", "subset_accuracy")
    ordered = (name for name, metric in DEFINED.items() if metric.ordered)
    found = {name: results.find_metric(at, name) for name in (*names, *ordered)}
    guesses = {"roc_auc": 0.5, "accuracy": 1 / len(measured["labels"])}
    ends = {name: min(guesses.get(name, 0.0), value) for name, (value, *_) in found.items() if value is not None}
    return results.list_stats(found, measured["task"], measured["n"], ends)


def build_metric_table(measured: Evaluated) -> pd.DataFrame:
    """Return a table of an evaluation's metrics: value, interval, value on rows not seen in training, and TF-IDF's."""
    at, unseen = measured.get("tuned") or measured, measured["unseen"]
    tuned = "tuned" if measured.get("tuned") else ""
    others = {model: measured["yardsticks"].get(model) for model in YARDSTICKS}
    rows = []
    for name in at["metrics"]:
        row = {"metric": name, "title": DEFINED[name].choose_title(measured["task"])}
        row |= dict(zip(("value", "low", "high"), results.find_metric(at, name), strict=True))
        row |= {"unseen": unseen["metrics"].get(name)} if unseen else {}
        there = {model: (each.get(tuned) or each)["metrics"] for model, each in others.items() if each}
        rows.append(row | {model: found.get(name) for model, found in there.items()})
    return pd.DataFrame(rows)


def build_value_table(measured: Evaluated) -> pd.DataFrame:
    """Return a table of accuracy or macro F1 for each value of the data column that splits the evaluated rows."""
    by, name = measured["by"], _get_first_metric(measured)
    rows = [(each["value"], each["n"], *results.find_metric(each, name)) for each in by["values"]]
    return pd.DataFrame(rows, columns=[by["column"], "rows", "value", "low", "high"])


def _draw_evaluated(measured: Evaluated, look: Look) -> DataTable:
    columns = {"title": TableColumn("Metric"), **_NUMBERS}
    columns |= {"unseen": TableColumn("Unseen rows", "Without rows that the run was trained on", 3)}
    about = "Fitted on the training data of the run"
    columns |= {model: TableColumn(title, about, 3) for model, title in YARDSTICKS.items()}
    return DataTable(build_metric_table(measured).drop(columns="metric"), columns, narrow=True)


def _describe_size(measured: Evaluated) -> str:
    return f"n = {count(measured['n'])}"


ELSEWHERE_METRICS = Figure("elsewhere-metrics", "performance", "Metrics on these data").add_details(
    draw=_draw_evaluated,
    note=_describe_size,
    reading="From, To: ends of the 95 % interval.",
    how=f"Intervals: {METHOD}. TF-IDF: logistic regression on words and word pairs, and with characters within words.",
    tables=lambda measured: {"Metrics there": build_metric_table(measured)},
)
ELSEWHERE_CONFUSION = Figure("elsewhere-confusion", "performance", "Confusion on these data").add_details(
    draw=lambda measured, look: draw_confusion(np.array(measured["confusion"]), measured["labels"], look),
    note=_describe_size,
    reading="Rows: labels of the data. Columns: predictions.",
    tables=lambda measured: {
        "Confusion there": build_confusion_table(measured["labels"], np.array(measured["confusion"]), "true")
    },
)


def _draw_values(measured: Evaluated, look: Look) -> DataTable:
    title = DEFINED[_get_first_metric(measured)].choose_title(measured["task"])
    return DataTable(build_value_table(measured), _NUMBERS | {"value": TableColumn(title, decimals=3)}, narrow=True)


ELSEWHERE_VALUES = Figure("elsewhere-values", "performance", draw=_draw_values).add_details(
    title=lambda measured: f"By {measured['by']['column']}",
    note=_describe_size,
    reading="From, To: ends of the 95 % interval.",
    tables=lambda measured: {"By value there": build_value_table(measured)},
)
