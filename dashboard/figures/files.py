"""A run's files as figures need them, read anew each time; the dashboard keeps them in `dashboard.data`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core import stored
from core.evaluation.projection import Projection, ProjectionConfig
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.interpret.edits import UNCHANGED, Edits
from core.models.provides import provides
from core.numbers import count
from core.runs import beliefs, layers, projections
from core.runs.efficiency import Efficiency, efficiency
from core.runs.layers import Layers
from core.runs.predictions import read_predictions
from core.runs.projections import MapFiles, Space
from core.runs.record import EVALUATION, HISTORY, PREDICTIONS, TAGS, RunRecord
from core.runs.store import RunStore
from core.training.history import History, read_history
from dashboard.figures import curves, decisions
from dashboard.figures.curves import Curves, Line, NumberLine, Place

if TYPE_CHECKING:
    import pandas as pd

    from core.behaviour.judge import Judged
    from core.failures.codes import Coded
    from core.failures.common import Common
    from core.failures.found_groups import FoundGroups
    from core.failures.slices import Slice
    from core.failures.table import Table
    from core.interpret.belief import Own
    from core.interpret.believed import Belief
    from core.interpret.distance import Reach
    from core.interpret.explain import Methods
    from core.interpret.lambdas import LambdaCurves
    from core.interpret.parts import Parts
    from core.interpret.patch import Patches
    from core.interpret.sentence import SentenceView
    from core.interpret.stages import Steps
    from core.interpret.templates import Step
    from core.runs.load import LoadedRun
    from core.runs.sides import Sides
    from core.runs.tagged import Tagged
    from dashboard.figures.analysis import Analysis
    from dashboard.figures.errors import Detail
    from dashboard.figures.pushed import Pushed

ORDER = {"train": 0, "validation": 1, "test": 2}
"""Splits as they are listed, others behind them."""


class Files:
    """A `Reader` without a memory."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    def runs(self) -> list[RunRecord]:
        """All runs, newest first."""
        return self.store.list()

    def curves(self, record: RunRecord) -> tuple[Curves, int]:
        """What a training run has logged, and how many damaged lines were left out."""
        history, chosen, progress = self._history(record), record.config.training, record.progress
        steps, rows = int(progress.get("steps") or 0), int(progress.get("rows", {}).get("validation") or 0)
        metric = curves.shown_metric(chosen.metric, record.task, ordered=record.ordered)
        return curves.history_curves(history, chosen.epochs, metric, steps, rows), history.skipped

    def learned_numbers(self, record: RunRecord) -> dict[str, list[NumberLine]]:
        """The course of every learned number but lambda, by its sign."""
        history, steps = self._history(record), int(record.progress.get("steps") or 0)
        return curves.number_lines(history, curves.steps_per_epoch(history, record.config.training.epochs, steps))

    def lambda_heads(self, record: RunRecord) -> dict[Place, tuple[Line, ...]]:
        """The lambda of each head over training, where heads have their own."""
        return curves.head_lines(self._history(record))

    def _history(self, record: RunRecord) -> History:
        return read_history(self.store.path(record.run) / HISTORY)

    def behaviour(self, record: RunRecord) -> Judged:
        """What a run says to the suite that comes with Sentiscope.

        Raises:
            NotAvailable: it has not been asked; it has several labels per text, or classes without a polarity.
        """
        from core.behaviour.answers import asked, judged
        from core.behaviour.read import our_suite

        suite = our_suite()
        if record.task == "single" and not asked(self.store, record.run, suite):
            raise NotAvailable(f"it has not been asked yet; `sentiscope behave {record.run}` does it")
        try:
            return judged(self.store, record.run, suite)
        except InputError as error:
            raise NotAvailable(str(error)) from error

    def evaluated_splits(self, run: str) -> list[str]:
        """Splits with predictions, in the order train, validation, test, others."""
        there = self.store.path(run) / EVALUATION
        found = [path.parent.name for name in (PREDICTIONS, TAGS) for path in there.glob(f"*/{name}")]
        return sorted(found, key=lambda split: (ORDER.get(split, 3), split))

    @staticmethod
    def rows(metrics: Path) -> int:
        """Texts of a split, from the file of its metrics; 0 where it cannot be read."""
        try:
            found = stored.read_tree(metrics)
        except (FileNotFoundError, RunDamaged):
            return 0
        return found["n"] if isinstance(found, dict) and isinstance(found.get("n"), int) else 0

    def report(self, record: RunRecord, split: str) -> decisions.Report:
        """What a run says of a split.

        Raises:
            RunDamaged: the predictions cannot be read.
        """
        return decisions.make_report(self._predictions(record, split), record.classes)

    def points(self, record: RunRecord, split: str) -> pd.DataFrame:
        """What is known of each text of a split.

        Raises:
            RunDamaged: the predictions cannot be read.
        """
        from dashboard.figures.points import points_frame  # pandas

        try:
            return points_frame(self._predictions(record, split), record.classes)
        except ValueError as error:
            raise RunDamaged(f"{record.run}, {split}: the predictions cannot be read: {error}") from error

    def tags(self, record: RunRecord, split: str) -> pd.DataFrame:
        """What a run said of the words of a split.

        Raises:
            NotAvailable: it has nothing of the kind.
            RunDamaged: the file cannot be read.
        """
        from core.runs.tagged import read_tags

        return read_tags(self.store.path(record.run), split)

    def tagged(self, record: RunRecord, text: str) -> Tagged:
        """What a run says of each word of a text.

        Raises:
            RunDamaged: the model cannot be read.
        """
        from core.runs.load import load_run
        from core.runs.tagged import tag_texts

        loaded = load_run(self.store, record.run, tags=True)
        return tag_texts(loaded.model, loaded.tokenizer, [text], record.classes)[0]

    def _predictions(self, record: RunRecord, split: str) -> pd.DataFrame:
        return read_predictions(self.store.path(record.run) / EVALUATION / split / PREDICTIONS)

    def analysis(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> Analysis:
        """The rows of a split that a selection has, with all tags, and that of what another run says otherwise.

        Raises:
            InputError: a rule is not understood, or the sentences are not kept any more.
            RunDamaged: the predictions, or what was kept, cannot be read.
        """
        from dashboard.figures.analysis import analyse, make_known  # pandas

        known = make_known(self.store, record, split)
        known.find()
        return analyse(known.beside(against), select, self.store, self.seen(record, author))

    def common(self, shown: Analysis) -> Common:
        """The training sentences that are nearest to selected ones in the space of the head.

        Raises:
            NotAvailable: the training texts are not here.
            RunDamaged: the embeddings or the model cannot be read.
        """
        from core.failures.common import common

        table = shown.table
        space = self.space(table.record, self.map_files(table.record.run, table.split, ProjectionConfig("pca")))
        return common(table, shown.places, space.vectors[shown.places], shown.known.tagged.training)

    def seen(self, record: RunRecord, author: str | None) -> Coded:
        """What was said of the rows of its data, as far as an author may see it; None: all."""
        from core.failures.codes import Codes, data_of

        found = Codes(self.store.folder, data_of(record)).coded()
        return found if author is None else found.seen_by(author)

    def kept_slices(self, record: RunRecord) -> list[Slice]:
        """The saved slices of its data.

        Raises:
            RunDamaged: one cannot be read.
        """
        from core.failures.slices import slices

        return slices(self.store, record)

    def slices_version(self, record: RunRecord) -> str:
        """A text that changes when one of them does, or a code that one asks for."""
        from core.failures.codes import Codes, data_of
        from core.failures.slices import version

        coded = any(each.of_codes for each in self.kept_slices(record))
        return version(self.store, record) + (Codes(self.store.folder, data_of(record)).version if coded else "")

    def slices(self, record: RunRecord, split: str, author: str | None = None) -> list[dict[str, Any]]:
        """What they come to on a split.

        Raises:
            RunDamaged: the predictions or a slice cannot be read.
        """
        from core.failures.slices_report import slices_report

        found = self.kept_slices(record)
        return slices_report(self.store, self.table(record, split), found, self.seen(record, author)) if found else []

    def whole(self, record: RunRecord, split: str) -> dict[str, Any]:
        """What all sentences of a split come to, as if they were a slice.

        Raises:
            RunDamaged: the predictions cannot be read.
        """
        from core.failures.slices import WHOLE
        from core.failures.slices_report import slices_report

        return slices_report(self.store, self.table(record, split), [WHOLE])[0]

    def sliced(self, sides: Sides, author: str | None = None) -> Sides:
        """The same sides with the rows of each saved slice of the data of the first.

        Raises:
            InputError: there is none by which they can be compared.
            RunDamaged: predictions or a slice cannot be read.
        """
        from core.failures.slices_compared import with_slices

        record = sides.sides[0].model.records[0]
        return with_slices(self.store, sides, self.kept_slices(record), self.table, self.seen(record, author))

    def doubted(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """The labels that are likely wrong, as far as they are kept; None: nobody has looked."""
        from core.failures import doubted

        return doubted.kept(doubted.files(self.store, record, split))

    def shifted(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """How a split differs from training, as far as it is kept; None: nobody has looked."""
        from core.failures import shifted

        return shifted.kept(shifted.files(self.store, record, split))

    def map_files(self, run: str, split: str, config: ProjectionConfig) -> MapFiles:
        """Where a map is kept, or will be.

        Raises:
            InputError: no embeddings of this split are kept.
        """
        return projections.map_files(self.store, run, split, config)

    def projection(self, record: RunRecord, files: MapFiles) -> Projection | None:
        """PCA; any other map if it has been computed.

        Raises:
            RunDamaged: the embeddings, or the map, cannot be read.
            InputError: there are too few embeddings for a map.
        """
        if files.config.method != "pca":
            return projections.read(files)
        try:
            return projections.project_space(self.space(record, files), files.config)
        except NotAvailable:
            return None

    def space(self, record: RunRecord, files: MapFiles) -> Space:
        """The vectors that a map is made from.

        Raises:
            RunDamaged: they cannot be read.
            NotAvailable: the layers of the model have not been read.
        """
        return projections.read_space(self.store, files, record.classes)

    def layers(self, record: RunRecord, split: str) -> Layers | None:
        """How the classes lie at each stage of a model; None: nobody has read them.

        Raises:
            NotAvailable: the model has no layers, or no weights.
        """
        return layers.read(layers.files(self.store, record.run, split))

    def vector(self, record: RunRecord, files: MapFiles, text: str) -> np.ndarray:
        """(d,) of a typed text in the space of a map.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        return load_run(self.store, record.run).vector(text, files.config.space)

    def table(self, record: RunRecord, split: str) -> Table:
        """The predictions of a split.

        Raises:
            RunDamaged: they cannot be read.
        """
        from core.failures.table import read_table

        return read_table(self.store, record.run, split)

    def found_groups(self, record: RunRecord, split: str) -> tuple[Table, FoundGroups]:
        """The groups of a split in embedding space, and the table of which they are rows.

        Raises:
            RunDamaged: the predictions or the embeddings cannot be read.
            NotAvailable: no embeddings of the split are kept.
        """
        from core.failures.found_groups import found_groups

        return found_groups(self.store, record.run, split)

    def sentence(self, run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
        """One text with its inside, as trained or with changes.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
            InputError: the run has none.
        """
        from core.runs.load import load_run  # torch

        return look_inside(load_run(self.store, run), text, edits)

    def pushed(self, run: str, text: str, target: str, edits: Edits = UNCHANGED) -> Pushed:
        """What each word of a text does to the log-odds of a class, as the run was trained or with changes.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        return push_words(load_run(self.store, run), text, target, edits)

    def methods(self, run: str, text: str, target: str, edits: Edits, named: Sequence[str]) -> Methods:
        """What each word does to them by these methods, as far as the model can be explained so, and how they agree.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        *_, found = side_by_side(load_run(self.store, run), text, target, edits, named)
        return found

    def belief(self, record: RunRecord) -> Belief | None:
        """How far the explanations of a run can be believed; None: it was not measured, or cannot be read."""
        with contextlib.suppress(RunDamaged):
            folders = self.store.path(record.run) / beliefs.FOLDER, beliefs.files(self.store, record.run).folder
            if not any(folder.is_dir() for folder in folders):
                return None
            from core.interpret.explain import methods  # torch

            return beliefs.kept(self.store, record.run, methods(provides(record.config.model)))
        return None

    def own_belief(self, run: str, text: str) -> tuple[Own, ...]:
        """What one text says of that, by method, as the run was trained.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        return ask_sentence(load_run(self.store, run), text)

    def patches(self, run: str, text: str, donor: str, target: str, edits: Edits) -> Patches:
        """What the inside of a donor in the text does to them, one place at a time.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
            InputError: the two texts have different numbers of tokens.
        """
        from core.runs.load import load_run  # torch

        return put_inside(load_run(self.store, run), text, donor, target, edits)

    def parts(self, run: str, text: str, target: str, edits: Edits = UNCHANGED) -> Parts:
        """What each part of the model does to them, as the run was trained or besides changes.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        return silence_parts(load_run(self.store, run), text, target, edits)

    def lambdas(self, run: str, text: str, target: str, edits: Edits = UNCHANGED) -> LambdaCurves:
        """What each λ does to them, all else as trained or as changed.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        return along_lambdas(load_run(self.store, run), text, target, edits)

    def reach(self, run: str, steps: Sequence[Step], target: str) -> Reach:
        """What a run says of a template with more and more words put in.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
        """
        from core.runs.load import load_run  # torch

        return load_run(self.store, run).reach(steps, target)

    def steps(
        self,
        run: str,
        text: str,
        layer: int | None,
        head: int | None,
        component: int | None,
        edits: Edits = UNCHANGED,
    ) -> Steps:
        """The forward pass of a text as stages, as edited; layer and head from 1, component from 0.

        Raises:
            RunDamaged: the weights or the tokenizer cannot be read.
            NotAvailable: the text has no token, or too many.
        """
        from core.runs.load import load_run  # torch

        loaded = load_run(self.store, run)
        return loaded.steps(text, layer, head, component, edits.intervention(), unmixed=edits.unmixed)

    def sides(self, runs: Sequence[str], split: str) -> Sides:
        """Several runs with what they say of the rows of a split that all have.

        Raises:
            InputError: they have other rows or classes, or one is not finished.
        """
        from core.runs.sides import read_sides  # pandas

        return read_sides(self.store, runs, split=split)

    def compared(self, runs: Sequence[str], split: str, metric: str) -> dict[str, Any]:
        """Every pair of them by a metric, as `core.runs.comparison.compare` gives it."""
        from core.runs.comparison import compare  # pandas

        return compare(self.sides(runs, split), metrics=[metric])

    def efficiency(self, record: RunRecord) -> Efficiency:
        """What a run costs, as far as that is known on this machine."""
        return efficiency(self.store, record)


def look_inside(loaded: LoadedRun, text: str, edits: Edits) -> SentenceView:
    """One text as a loaded model reads it, with changes inside where there are any."""
    return loaded.inspect(text, edits.intervention(), unmixed=edits.unmixed)


def silence_parts(loaded: LoadedRun, text: str, target: str, edits: Edits) -> Parts:
    """What each part of a loaded model does to a text, besides changes inside where there are any."""
    return loaded.parts(text, target, edits.intervention(), unmixed=edits.unmixed)


def along_lambdas(loaded: LoadedRun, text: str, target: str, edits: Edits) -> LambdaCurves:
    """What each λ of a loaded model does to a text, with changes inside where there are any."""
    return loaded.lambdas(text, target, edits.intervention(), unmixed=edits.unmixed)


def put_inside(loaded: LoadedRun, text: str, donor: str, target: str, edits: Edits) -> Patches:
    """The inside of a donor in a text, with changes inside where there are any."""
    return loaded.patch(text, donor, target, edits.intervention(), unmixed=edits.unmixed)


def side_by_side(loaded: LoadedRun, text: str, target: str, edits: Edits, named: Sequence[str]) -> Iterator[Methods]:
    """The words of a text by several methods, one more with each step."""
    return loaded.side_by_side(text, target, edits.intervention(), unmixed=edits.unmixed, named=named)


def push_words(loaded: LoadedRun, text: str, target: str, edits: Edits = UNCHANGED) -> Pushed:
    """The words of a text by leaving each out, how much they are read, and the tokens of its view that are theirs."""
    from core.text.typed import shares
    from dashboard.figures.pushed import Pushed

    *_, methods = side_by_side(loaded, text, target, edits, ("deletion", "attention"))
    found, view, encoding = methods.by["deletion"], loaded.inspect(text), loaded.tokenizer.encode(text)
    spans = [(word.start, word.end) for word in found.words]
    own = shares(text, spans, encoding.offsets, loaded.tokenizer.config)
    belongs = np.pad(own, ((0, 0), (view.before, view.behind)))
    return Pushed(found, belongs, methods.by.get("attention"))


def ask_sentence(loaded: LoadedRun, text: str) -> tuple[Own, ...]:
    """What one text says of each method by which a run can be explained."""
    from core.interpret.belief import of_sentence
    from core.interpret.explain import methods

    named, found = methods(loaded.model.provides), []
    reader = replace(loaded.reader(), tell=lambda what, share: loaded.tell("", share))
    for place, method in enumerate(named):
        loaded.tell("own", place / len(named))
        found.append(of_sentence(reader, text, method))
    return tuple(found)


def read_rows(loaded: LoadedRun | None, shown: Analysis, keys: Sequence[str]) -> dict[str, Detail]:
    """What a reader is told of rows by their keys: the pushes of the words, and what training has nearest to them.

    Args:
        loaded: the model; None: the run has no weights.
        shown: the rows among which these are.
        keys: theirs; any others are left out.
    """
    from core.interpret import several
    from dashboard.figures.errors import NEAREST, Detail, targets

    place = {key: at for at, key in enumerate(shown.table.frame["key"].tolist())}
    at = {key: place[key] for key in keys if key in place}
    places = list(at.values())
    texts = [shown.table.texts[each] for each in places]
    words: Sequence[several.Pushed | None] = [None] * len(places)
    if loaded is not None:
        words = several.pushed(loaded.reader(), texts, targets(shown, places))
    if not shown.known.whole:
        return {key: Detail(each, later=True) for key, each in zip(at, words, strict=True)}
    space = loaded.predict(texts).pooled if loaded is not None and "pooled" in loaded.model.provides else None
    try:
        near = shown.known.nearest.of(places, NEAREST, space)
        same = shown.known.tagged.training.same(texts)
    except NotAvailable as error:
        lone = f"No nearest training sentences: {error}."
        return {key: Detail(each, lone=lone) for key, each in zip(at, words, strict=True)}
    of = shown.known.tagged.training
    among = f"of {count(len(of.rows))} drawn from {count(len(of.texts))}" if len(of.rows) < len(of.texts) else ""
    found = zip(words, near, same, strict=True)
    return {key: Detail(*each, among=among) for key, each in zip(at, found, strict=True)}
