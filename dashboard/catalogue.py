"""Every figure of a run by name, drawn from its files as on the pages, without a browser or Streamlit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from core.evaluation.projection import METHODS, NAMES, Method, Projection, ProjectionConfig, project
from core.exceptions import InputError, NotAvailable
from core.models.provides import provides
from core.papers.reported import counterpart
from core.runs import projections
from core.runs.predictions import read_predictions
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, RunRecord
from core.runs.store import RunStore
from core.training.history import read_history
from dashboard.figures import (
    attention,
    calibration,
    decisions,
    embeddings,
    labels,
    lambdas,
    parts,
    ranking,
    readings,
    silhouettes,
    training,
)
from dashboard.figures.calibration import reliability
from dashboard.figures.confusion import draw_confidence, draw_confusion, outcomes
from dashboard.figures.decisions import ANSWER, Decision, Report, decide, make_report
from dashboard.figures.embeddings import draw_map
from dashboard.figures.labels import label_table, scattered, thresholds
from dashboard.figures.lambdas import has_lambda, head_lines, moved, other_seeds, reported_places
from dashboard.figures.numbers import count
from dashboard.figures.phenomena import draw_phenomena, phenomena
from dashboard.figures.results import yardstick_phenomena
from dashboard.figures.sentence import map_rows, subtracts
from dashboard.figures.silhouettes import spectra
from dashboard.figures.theme import Look, class_colours
from dashboard.figures.training import history_curves, shown_metric, steps_per_epoch

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

LONGEST = 80
"""Characters of a sentence that stand beside a heading."""


@dataclass(frozen=True)
class Drawn:
    """A figure with the words that stand around it on its page."""

    title: str
    chart: go.Figure
    note: str = ""
    """n, or the setting."""
    reading: str = ""
    """How to read it, also part of the alternative text."""
    how: str = ""
    """How it is computed."""


class Source:
    """A run and what its figures are drawn from, each part read when a figure first needs it."""

    def __init__(self, store: RunStore, run: str, split: str, text: str, look: Look) -> None:
        """`split` may be empty; see `figures`."""
        self.store, self.run, self.text, self.look = store, run, text, look
        self.record: RunRecord = store.read(run)
        self._asked = split

    def check(self) -> None:
        """Refuse a split that was not evaluated.

        Raises:
            InputError: it was not.
        """
        if self._asked and self._asked not in self.splits:
            found = ", ".join(self.splits) or "none: it is not evaluated yet"
            raise InputError(f"run '{self.run}' has no predictions of a split '{self._asked}'; it has {found}")

    @cached_property
    def splits(self) -> list[str]:
        """Evaluated splits, in alphabetical order."""
        found = (self.store.path(self.run) / EVALUATION).glob(f"*/{PREDICTIONS}")
        return sorted(path.parent.name for path in found)

    @cached_property
    def split(self) -> str:
        """The split that was asked for, else test, else the last; empty if none was evaluated."""
        return self._asked or ("test" if "test" in self.splits else next(reversed(self.splits), ""))

    @cached_property
    def saved(self) -> pd.DataFrame:
        """The predictions of the split."""
        if not self.split:
            raise NotAvailable(f"it is {self.record.status} and has not been evaluated")
        return read_predictions(self.store.path(self.run) / EVALUATION / self.split / PREDICTIONS)

    @cached_property
    def report(self) -> Report:
        """What the run says of the split."""
        return make_report(self.saved, self.record.classes)

    @cached_property
    def decision(self) -> Decision:
        """The answers as the model gives them: the more probable class; of several labels, one of them at 0.5."""
        if self.record.task == "multi":
            return decisions.decide_label(self.report, decisions.first_label(self.report), 0.5)
        two = len(self.report.classes) == 2
        return decide(self.report.labels, self.report.probabilities, self.report.classes, ANSWER, 0.5 if two else 0.0)

    @property
    def n(self) -> str:
        """The split and its size in words, and of several labels the one that is shown: the most frequent."""
        of = f", label {decisions.first_label(self.report)}" if self.record.task == "multi" else ""
        return f"{self.split}, n = {count(len(self.decision.rows))}{of}"

    def curves(self, record: RunRecord) -> training.Curves:
        """What a run has logged."""
        history = read_history(self.store.path(record.run) / HISTORY)
        chosen, progress = record.config.training, record.progress
        steps, rows = int(progress.get("steps") or 0), int(progress.get("rows", {}).get("validation") or 0)
        return history_curves(history, chosen.epochs, shown_metric(chosen.metric, record.task), steps, rows)

    @cached_property
    def own_curves(self) -> training.Curves:
        """Those of the run itself."""
        found = self.curves(self.record)
        if not found.loss:
            raise NotAvailable("it has no curves: it was not trained step by step, or has not begun")
        return found

    @property
    def quoted(self) -> str:
        """The beginning of the sentence."""
        return f"“{self.text[:LONGEST]}{'…' if len(self.text) > LONGEST else ''}”"

    @cached_property
    def view(self) -> SentenceView:
        """The sentence as the model reads it."""
        if not self.text.strip():
            raise NotAvailable("a sentence is needed: --text")
        from core.interpret.sentence import inspect_text
        from core.runs.load import load_run

        loaded = load_run(self.store, self.run)
        classes, task = self.record.classes, self.record.task
        view = inspect_text(loaded.model, loaded.tokenizer, classes, self.text, task=task)
        if not view.layers or not view.tokens:
            raise NotAvailable(f"{self.record.preset} has no attention to look into in this text")
        return view

    def map(self, method: Method, dimensions: int) -> tuple[ProjectionConfig, Projection]:
        """A map of the split: PCA is made, others are read."""
        if "pooled" not in provides(self.record.config.model):
            raise NotAvailable(f"{self.record.preset} makes no vector of a sentence")
        chosen = ProjectionConfig(method, dimensions)
        try:
            files = projections.map_files(self.store, self.run, self.split, chosen)
        except InputError as error:
            raise NotAvailable(str(error)) from None
        if method == "pca":
            return chosen, project(*projections.read_vectors(files.run, self.split, self.record.classes), chosen)
        made = projections.read(files)
        if made is None:
            command = f"sentiscope project {self.run} --split {self.split} --method {method} --dimensions {dimensions}"
            raise NotAvailable(f"it has not been computed: {command}")
        return chosen, made


def _learning(source: Source) -> Drawn:
    curves = source.own_curves
    chart = training.draw_learning(curves, source.look)
    return Drawn("Learning", chart, f"{curves.epochs} epochs planned", readings.LEARNING, readings.LEARNING_HOW)


def _lambdas(source: Source) -> Drawn:
    curves = source.own_curves
    if not curves.lambdas:
        raise NotAvailable(f"{source.record.preset} has no lambda")
    chart, note = training.draw_lambdas(curves, source.look), "weight of each further component, by layer"
    return Drawn("Lambdas", chart, note, readings.LAMBDAS, readings.LAMBDAS_HOW)


def _course(source: Source, scale: lambdas.Scale) -> Drawn:
    record = source.record
    if not source.own_curves.lambdas:
        raise NotAvailable(f"{record.preset} has no lambda")
    records = {one.run: one for one in source.store.list() if one.run != record.run and has_lambda(one)}
    heads = head_lines(read_history(source.store.path(record.run) / HISTORY))
    seeds = [records[name] for name in other_seeds(record, list(records.values()))]
    tracks = [lambdas.Track(record.run, record.config.training.seed, source.own_curves, heads=heads)]
    tracks += [lambdas.Track(one.run, one.config.training.seed, source.curves(one), sibling=True) for one in seeds]
    chart = lambdas.draw_course(tracks, source.look, scale, reported_places(counterpart(record.preset, record.config)))
    note = f"{scale}, {count(len(tracks))} seed{'s' if len(tracks) > 1 else ''}"
    reading = f"{moved(tracks[0])} {readings.COURSE[scale]}"
    return Drawn("Course of lambda", chart, note, reading, readings.COURSE_HOW)


def _confusion(source: Source, normalised: bool) -> Drawn:
    decision = source.decision
    chart = draw_confusion(decision.counts, decision.classes, source.look, normalised=normalised)
    note = f"{source.n}, {'shares of the row' if normalised else 'counts'}"
    return Drawn("Confusion matrix", chart, note, readings.CONFUSION, readings.CONFUSION_HOW)


def _confidence(source: Source) -> Drawn:
    decision = source.decision
    counted = outcomes(decision)
    chart = draw_confidence(*counted, decision.threshold, decision.score_name, source.look)
    reading = readings.OUTCOMES_TOP if decision.positive is None else readings.OUTCOMES
    return Drawn("Confidence by outcome", chart, source.n, reading, readings.OUTCOMES_HOW)


def _labels(source: Source) -> Drawn:
    if source.record.task == "single":
        raise NotAvailable("each text has one label; see confusion")
    table = label_table(source.report, thresholds(source.record))
    chart = labels.draw_labels(scattered(table), source.look)
    return Drawn("Each label", chart, f"{source.split}, frequent ones first", readings.LABELS, readings.LABELS_HOW)


def _roc(source: Source) -> Drawn:
    curves = ranking.roc_curves(source.decision)
    if not curves:
        raise NotAvailable("it needs sentences of at least two classes in this split")
    chart = ranking.draw_roc(curves, source.look)
    return Drawn("ROC", chart, f"{source.n}, area under the curve", readings.ROC, readings.ROC_HOW)


def _pr(source: Source) -> Drawn:
    chart = ranking.draw_pr(ranking.pr_curves(source.decision), source.look)
    return Drawn("Precision and recall", chart, f"{source.n}, average precision", readings.PR, readings.PR_HOW)


def _calibration(source: Source) -> Drawn:
    decision = source.decision
    bins = reliability(decision)
    chart = calibration.draw_calibration(bins, decision.threshold, decision.score_name, source.look)
    return Drawn("Calibration", chart, source.n, readings.CALIBRATION, readings.CALIBRATION_HOW)


def _phenomena(source: Source) -> Drawn:
    if "phenomenon" not in source.report.examples:
        raise NotAvailable("these data name no phenomena")
    names = source.report.examples["phenomenon"].tolist()
    table = phenomena(source.decision, names, yardstick_phenomena(source.record, source.split))
    chart, note = draw_phenomena(table[::-1], source.look), f"{source.n}, the worst on top"
    return Drawn("Phenomena", chart, note, readings.PHENOMENA, readings.PHENOMENA_HOW)


def _map(source: Source, method: Method, dimensions: int) -> Drawn:
    chosen, made = source.map(method, dimensions)
    placed = embeddings.points_frame(source.saved, source.record.classes).iloc[made.rows]
    way = embeddings.ways(placed)[0]
    groups = embeddings.colouring(placed, way, source.record.classes, source.look.tokens)
    axes = embeddings.axis_titles(made, chosen)
    chart = draw_map(made.places, made.rows, embeddings.hover_words(placed), groups, axes, source.look)
    note = f"{source.split}, n = {count(len(made.rows))}, colour: {way}"
    return Drawn(embeddings.map_name(chosen), chart, note, readings.MAP[method], readings.MAP_HOW[method])


def _silhouettes(source: Source, method: Method) -> Drawn:
    chosen, made = source.map(method, 2)
    if made.quality.reason:
        raise NotAvailable(f"it compares a class with the nearest other one, and {made.quality.reason}")
    width = projections.read_vectors(source.store.path(source.run), source.split, source.record.classes)[0].shape[1]
    placed = source.saved.iloc[made.rows]
    spaces, there = spectra(made, placed, source.record.classes, chosen, width)
    colours = class_colours(source.look.tokens, source.record.classes)
    chart = silhouettes.draw_silhouettes(spaces, [colours[i] for i in there], source.look)
    note = f"{NAMES[method]}, {source.split}, n = {count(len(made.quality.rows))}"
    return Drawn("Silhouettes", chart, note, readings.SILHOUETTE, readings.SILHOUETTE_HOW)


def _grid(source: Source) -> Drawn:
    view = source.view
    layer = len(view.layers) - 1
    rows = map_rows(view, layer, subtracts(source.record))
    chart = attention.map_grid(rows, view.tokens, source.look)
    note = f"layer {layer + 1} of {len(view.layers)}, {source.quoted}"
    return Drawn("Heads side by side", chart, note, readings.GRID, readings.GRID_HOW)


def _coefficients(source: Source) -> Drawn:
    layers = [layer.coefficients for layer in source.view.layers]
    if len(layers[0]) < 2:
        raise NotAvailable("its heads have one map each, so there is nothing to weigh")
    chart = attention.coefficients(layers, subtracts(source.record), source.look)
    return Drawn("Weights of the components", chart, f"in {source.quoted}", readings.WEIGHTS)


def _numbers(source: Source) -> Drawn:
    history, record = read_history(source.store.path(source.run) / HISTORY), source.record
    epochs = record.config.training.epochs
    per_epoch = steps_per_epoch(history, epochs, int(record.progress.get("steps") or 0))
    lines = parts.number_lines(history, per_epoch)
    if not lines:
        raise NotAvailable(f"{record.preset} learns no number with a meaning of its own")
    chart = parts.numbers_course(lines, epochs, source.look)
    return Drawn("Other learned numbers", chart, "by layer", readings.COURSE_NUMBERS)


def _of_tokens(
    source: Source, part: str, rows: Callable[[SentenceView], list[parts.TokenRow]], drawn: TokenFigure
) -> Drawn:
    """A figure with a row of cells, one for each token; `part` is its name among what models provide."""
    if part not in provides(source.record.config.model):
        raise NotAvailable(f"{source.record.preset} has no {part}")
    view, (title, label, reading, top, zero) = source.view, drawn
    chart = parts.token_rows(rows(view), view.tokens, source.look, label=label, top=top, zero=zero)
    return Drawn(title, chart, f"in {source.quoted}", reading)


def _token_lambda(source: Source) -> Drawn:
    drawn = TokenFigure("Lambda of each token", "coefficient", readings.TOKEN_LAMBDA)
    return _of_tokens(source, "token-lambda", partial(parts.lambda_rows, minus=subtracts(source.record)), drawn)


def _gate_bars(source: Source) -> Drawn:
    if "gates" not in provides(source.record.config.model):
        raise NotAvailable(f"{source.record.preset} has no gates")
    view = source.view
    row = parts.gate_rows(view)[-1]
    chart = parts.token_bars(row, view.tokens, source.look, label="gate")
    return Drawn("Gates of one layer", chart, f"{row.name}, in {source.quoted}", readings.GATE_BARS)


def _last_layer(source: Source, title: str, found: Callable[..., attention.MapRow | None], reading: str) -> Drawn:
    """A map of all pairs in the last layer that is no attention."""
    view = source.view
    row = found(view, len(view.layers) - 1)
    if row is None:
        raise NotAvailable(f"{source.record.preset} has none")
    chart = attention.map_grid([row], view.tokens, source.look, label=row.name, numbered=False, worded=True)
    return Drawn(title, chart, f"last layer, {source.quoted}", reading)


class TokenFigure(NamedTuple):
    """How a row of cells is drawn."""

    title: str
    label: str
    reading: str
    top: float = 0
    zero: float = 0


_GATES = TokenFigure("Gates", "gate", readings.GATES, 1)
_POLARITY = TokenFigure("Polarity of each token", "polarity", readings.POLARITY, 2 / 3, parts.NEUTRAL)
_BRANCHES = TokenFigure("Convolutions of the head", "mean activation", readings.BRANCHES)
_HEAD = TokenFigure("Attention of the head", "is read", readings.HEAD_READING)

FIGURES: dict[str, Callable[[Source], Drawn]] = {
    "learning": _learning,
    "lambdas": _lambdas,
    "course": partial(_course, scale="change"),
    "course-value": partial(_course, scale="value"),
    "confusion": partial(_confusion, normalised=False),
    "confusion-shares": partial(_confusion, normalised=True),
    "confidence": _confidence,
    "labels": _labels,
    "roc": _roc,
    "pr": _pr,
    "calibration": _calibration,
    "phenomena": _phenomena,
    **{f"map-{name}": partial(_map, method=name, dimensions=2) for name in METHODS},
    **{f"map-{name}-3d": partial(_map, method=name, dimensions=3) for name in METHODS},
    **{f"silhouettes-{name}": partial(_silhouettes, method=name) for name in METHODS},
    "numbers-course": _numbers,
    "grid": _grid,
    "coefficients": _coefficients,
    "token-lambda": _token_lambda,
    "gates": partial(_of_tokens, part="gates", rows=parts.gate_rows, drawn=_GATES),
    "gate-bars": _gate_bars,
    "polarity": partial(_of_tokens, part="polarity", rows=parts.polarity_rows, drawn=_POLARITY),
    "sigma": partial(_last_layer, title="Sigma", found=parts.sigma, reading=readings.SIGMA),
    "support": partial(_last_layer, title="Who may see whom", found=parts.seen, reading=readings.SUPPORT),
    "branches": partial(_of_tokens, part="branches", rows=parts.branch_rows, drawn=_BRANCHES),
    "head-reading": partial(_of_tokens, part="head-maps", rows=parts.head_reading, drawn=_HEAD),
}
"""Every figure by name, in the order of the pages."""
