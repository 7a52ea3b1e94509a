"""Readings of runs on disk: training curves, predictions and costs, of one run or several."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import runs as run_files
from core import stored
from core.data.table import TEST, TRAIN, VALIDATION
from core.exceptions import RunDamaged, SentiscopeError
from core.fingerprint import file_fingerprint, file_version
from core.runs import efficiency as costs
from core.runs import sweep
from core.runs.efficiency import Efficiency
from core.runs.predictions import lacks_texts, read_predictions
from core.runs.record import CHECKPOINT, EVALUATION, HISTORY, METRICS, PREDICTIONS, RECORD, TAGS, WEIGHTS, RunRecord
from core.runs.store import RunStore
from core.runs.sweep import Plan
from core.training.history import History, read_history
from dashboard.figures import curves as lines
from dashboard.figures import decisions
from dashboard.figures.curves import Curves, Line, NumberLine, Place
from dashboard.reader.memo import Key, Memo, kept

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.sides import Sides
    from dashboard.figures.drawing import Component
    from dashboard.figures.leaderboard import Board
    from dashboard.figures.theme import Look

ORDER = {TRAIN: 0, VALIDATION: 1, TEST: 2}
_testing = threading.Lock()
"""One visitor tests for ties; the others find it done."""


@dataclass
class Ties:
    """Groups of a board's models that tests cannot tell apart; empty until a first visitor has tested them."""

    groups: list[list[int]] | None = None
    """Places of the models that were measured; None before it has been tested."""
    reason: str = ""


class RunReader:
    """Reader of the files of runs; RunDamaged: predictions cannot be read."""

    def __init__(self, store: RunStore | None = None, memo: Memo | None = None) -> None:
        """Read the runs of a store, by default the usual one, looked up at each call; without memo cache nothing."""
        self._store, self.memo = store, memo or Memo()

    def store(self) -> RunStore:
        """Return the store of the runs."""
        return RunStore() if self._store is None else self._store

    def runs(self) -> list[RunRecord]:
        """List all runs as they are on disk now, newest first."""
        return self.store().list()

    def runs_with_weights(self) -> list[RunRecord]:
        """List the runs whose models can be asked about whole texts, newest first."""
        return [record for record in self.runs() if record.task != "tokens" and self.has_weights(record.run)]

    def has_weights(self, run: str) -> bool:
        """Return whether a run has weights, so that its model can be asked."""
        return (self.store().path(run) / WEIGHTS).is_file()

    def has_checkpoint(self, run: str) -> bool:
        """Return whether a training run that ended early can be resumed."""
        return (self.store().path(run) / CHECKPOINT).is_dir()

    def evaluated_splits(self, run: str) -> list[str]:
        """List the splits with predictions, in the order train, validation, test, others."""
        there = self.store().path(run) / EVALUATION
        found = [path.parent.name for name in (PREDICTIONS, TAGS) for path in there.glob(f"*/{name}")]
        return sorted(found, key=lambda split: (ORDER.get(split, 3), split))

    def lacks_texts(self, record: RunRecord) -> str:
        """Say why the texts of a run cannot be shown here, and what to do; empty: they can."""
        return lacks_texts(self.store().path(record.run), record)

    def version(self, run: str, split: str, *names: str) -> Key:
        """Return the folder of a run, one of its splits or none, and the versions of files of either."""
        return versions(self.store().path(run), split, *names)

    def split_version(self, record: RunRecord, split: str, *names: str) -> Key:
        """Return the version of the predictions of a split, and of further files."""
        return *self.version(record.run, split, PREDICTIONS, *names), record.classes

    def model_version(self, run: str, *asked: object) -> Key:
        """Return the cache key of a request to a model: store, run, fingerprint of the weights, arguments."""
        return str(self.store().path(run).parent), run, self.weights_fingerprint(run), *asked

    def weights_fingerprint(self, run: str) -> str:
        """Return the fingerprint that a model's results are cached under; empty if the run has no weights."""
        path = self.store().path(run) / WEIGHTS
        # How it answers is known last, when the weights have long been read by somebody who could not wait.
        return f"{self._fingerprint(path)} {self.store().read(run).answering}" if path.is_file() else ""

    @kept(256, lambda self, path: (path, file_version(path)), copied=True)
    def _fingerprint(self, path: Path) -> str:
        return file_fingerprint(path)

    def _read_history(self, record: RunRecord) -> History:
        return read_history(self.store().path(record.run) / HISTORY)

    def _history_version(self, record: RunRecord) -> Key:
        chosen, progress = record.config.training, record.progress
        settings = chosen.epochs, chosen.metric, progress.get("steps"), progress.get("rows")
        return *self.version(record.run, "", HISTORY), *settings

    @kept(1024, _history_version)
    def curves(self, record: RunRecord) -> tuple[Curves, int]:
        """Return the curves of a training so far, and the number of damaged lines that were left out."""
        history, chosen, progress = self._read_history(record), record.config.training, record.progress
        steps, rows = int(progress.get("steps") or 0), int(progress.get("rows", {}).get("validation") or 0)
        metric = lines.shown_metric(chosen.metric, record.task, ordered=record.ordered)
        return lines.history_curves(history, chosen.epochs, metric, steps, rows), history.skipped

    @kept(64, _history_version)
    def learned_numbers(self, record: RunRecord) -> dict[str, list[NumberLine]]:
        """Return the course of every learned number but lambda over training, by its sign."""
        history, steps = self._read_history(record), int(record.progress.get("steps") or 0)
        return lines.number_lines(history, lines.steps_per_epoch(history, record.config.training.epochs, steps))

    @kept(64, _history_version)
    def lambda_heads(self, record: RunRecord) -> dict[Place, tuple[Line, ...]]:
        """Return the lambda of each head over training, where heads have their own."""
        return lines.head_lines(self._read_history(record))

    def read_predictions(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Read the file with the predictions of a split."""
        return read_predictions(self.store().path(record.run) / EVALUATION / split / PREDICTIONS)

    @kept(16, split_version)
    def report(self, record: RunRecord, split: str) -> decisions.Report:
        """Return the answers of a run to a split."""
        return decisions.make_report(self.read_predictions(record, split), record.classes)

    @kept(8, split_version)
    def points(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Return a row for each text of a split, with its predictions."""
        return decisions.points_frame(self.read_predictions(record, split), record.classes)

    @kept(8, lambda self, record, split: self.version(record.run, split, TAGS))
    def tags(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Read the predicted tags of the words of a split, as `core.runs.tagged` does; NotAvailable: it has none."""
        return run_files.tagged.read_tags(self.store().path(record.run), split)

    def _answered(self, runs: Sequence[str], split: str, *asked: object) -> Key:
        return str(self.store().folder), [self.split_version(self.store().read(run), split) for run in runs], *asked

    @kept(8, _answered)
    def sides(self, runs: Sequence[str], split: str) -> Sides:
        """Return the predictions of several runs on the rows that all share; InputError: they share none."""
        return run_files.sides.read_sides(self.store(), runs, split=split)

    @kept(64, _answered, spinner="Comparing the runs")
    def compared(self, runs: Sequence[str], split: str, metric: str) -> dict[str, Any]:
        """Compare every pair of runs by a metric, as `core.runs.comparison.compare` does; raises as `sides`."""
        return run_files.comparison.compare(self.sides(runs, split), metrics=[metric])

    @kept(1024, lambda self, record: (*self.version(record.run, "", RECORD), costs.version(self.store(), record.run)))
    def efficiency(self, record: RunRecord) -> Efficiency:
        """Return the costs of a run, as far as they are known on this machine."""
        return costs.efficiency(self.store(), record)

    @kept(256, lambda self, record: self.version(record.run, TEST, METRICS), copied=True)
    def test_rows(self, record: RunRecord) -> int:
        """Return the number of test texts that a run was measured on; 0 where it was not."""
        try:
            found = stored.read_tree(self.store().path(record.run) / EVALUATION / TEST / METRICS)
        except (FileNotFoundError, RunDamaged):
            return 0
        return found["n"] if isinstance(found, dict) and isinstance(found.get("n"), int) else 0

    def _versions(self, records: Sequence[RunRecord], *asked: object) -> Key:
        path = self.store().path
        return *((one.status, *versions(path(one.run), "", RECORD, HISTORY)) for one in records), *asked

    @kept(16, _versions)
    def boards(self, records: Sequence[RunRecord], metric: str) -> list[Board]:
        """Return every data set with its models, ordered by a metric."""
        from dashboard.figures.leaderboard import boards

        return boards(records, metric)

    def _board_version(self, board: Board, *asked: object) -> Key:
        records = [record for entry in board.entries for record in entry.model.records]
        return self._versions(records, board.metric, board.name, *asked)

    @kept(64, _board_version)
    def models_table(
        self, board: Board, groups: Sequence[Sequence[str]], ticked: Sequence[str], look: Look
    ) -> Component:
        """Draw the table of a board's models, whose rows can be ticked and picked."""
        from dashboard.figures.interval_drawing import component
        from dashboard.figures.leaderboard import models_table

        found = {entry.record.run: self.curves(entry.record)[0] for entry in board.measured}
        table = models_table(board, found, groups, look.tokens)
        return component(table, look, picks=True, tick="compare", ticked=ticked)

    def _tested(self, board: Board) -> Key:
        path, models = self.store().path, _runs_of(board)
        return board.metric, models, [versions(path(run), TEST, PREDICTIONS) for model in models for run in model]

    @kept(64, _tested)
    def ties(self, board: Board) -> Ties:
        """Return the ties of a board as far as they are known; `test_ties` computes them."""
        return Ties()

    def test_ties(self, board: Board) -> None:
        """Test every pair of a board's models, seconds where they are many, and keep the result in `ties`."""
        with _testing:
            found, models = self.ties(board), _runs_of(board)
            if found.groups is not None:
                return
            try:
                groups = run_files.comparison.ties(self.store(), models, board.metric) if len(models) > 1 else []
            except SentiscopeError as error:
                groups, found.reason = [], str(error)
            found.groups = groups

    def _plan_version(self, plan: Plan, *asked: object) -> Key:
        return str(self.store().folder), plan.name, plan.created, *asked

    @kept(32, _plan_version, spinner="Comparing the runs", copied=True)
    def sweep_table(
        self, plan: Plan, version: str, metrics: tuple[str, ...] = (), baseline: str = "", *, tests: bool = True
    ) -> dict[str, Any]:
        """Return the table of a sweep; `version` changes when a member ends; InputError: no such baseline."""
        store = self.store()
        plan = sweep.read(store, plan.name)
        return run_files.sweep_table.table(store, plan, metrics=metrics, baseline=baseline, tests=tests)


def versions(folder: Path, split: str, *names: str) -> Key:
    """Return a folder of a run, one of its splits or none, and the versions of files of either."""
    if not split:
        return str(folder), *(file_version(folder / name) for name in names)
    inside = f"{EVALUATION}/{split}"
    return str(folder), split, *(file_version(folder / inside / name) or file_version(folder / name) for name in names)


def _runs_of(board: Board) -> list[list[str]]:
    return [[record.run for record in entry.model.runs.values()] for entry in board.measured]
