"""Runs and sentences as objects, for notebooks and scripts: the verbs, with the run already named.

`import sentiscope` gives these. Imports nothing heavy; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import notebook, verbs
from core.config import RunConfig
from core.exceptions import RunNotFound
from core.handle import drawing, embeddings, failures, inside
from core.handle.codes import RunCodes
from core.handle.named import Named, named, path
from core.handle.progress import told
from core.runs.record import RunRecord, Status
from core.runs.store import RunStore
from core.runs.worker import OnEvent

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.interpret.sentence import MixView, SentenceView
    from core.models.trace import Intervention


def run(name: str) -> Run:
    """The run of this name, finished or not; `sentiscope.runs()` shows all.

    Raises:
        InputError: There is none; the message names similar ones.
    """
    found = Run(name)
    found.store.path(name)
    return found


def runs() -> Runs:
    """Every run, newest first: those of this folder (`trained`, or `SENTISCOPE_RUNS`) and the starters."""
    store = RunStore()
    return Runs(Run(row["run"], store) for row in verbs.runs_list(store)["runs"])


def compare(
    run: str | Run,
    *others: str | Run,
    data: str = "",
    split: str = "",
    by: Sequence[str] = (),
    metrics: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Which of several runs is better, pair by pair, with paired tests on rows that all have.

    Args:
        run: A run or its name.
        others: Those that it is compared with, and one another; seeds and folds of one model are folded.
        data: Other labelled data; empty: the splits on which they were evaluated.
        split: Empty: test, or the whole of a single file.
        by: Columns of the data, or `label`: every pair on the rows of each of their values.
        metrics: Names as in the records; empty: accuracy, with several labels macro F1 at tuned thresholds.
        rename: Label in the data → class of the runs, where their names differ.

    Returns:
        `runs`, `data`, `split`, `n`, `pairs` and `by`: see `core.runs.comparison.compare`.

    Raises:
        InputError: There is no such run, data, split, column or metric, or runs have other rows or classes.
    """
    names, store = _named(run, *others)
    return verbs.compare(*names, data=data, split=split, by=by, metrics=metrics, rename=rename, store=store)


def behave(
    run: str | Run, *others: str | Run, suite: str | Path = "", rename: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """How often runs fail what everybody expects, by capability.

    Args:
        run: A finished run with one label per text, or its name.
        others: Those that stand beside it.
        suite: A file in YAML or a table; empty: the suite that comes with Sentiscope.
        rename: Class of the runs → `negative`, `neutral`, `positive` or `none`, where its name does not say it.

    Returns:
        `suite`, `runs`, `capabilities` with their tests and what fails, and `differences`: see `core.verbs.behave`.

    Raises:
        InputError: There is no such run, the suite cannot be read, or a class has no polarity.
    """
    names, store = _named(run, *others)
    return verbs.behave(*names, suite=suite, rename=rename, store=store)


def _named(*runs: str | Run) -> tuple[list[str], RunStore]:
    """The names of runs, and where they live."""
    store = next((each.store for each in runs if isinstance(each, Run)), RunStore())
    return [named(each) for each in runs], store


@dataclass(frozen=True, repr=False)
class Run(Named):
    """One training and everything it left, as a directory; every look at it is a look at the disk."""

    @property
    def record(self) -> RunRecord:
        """Everything that the run says of itself: settings, classes, parameters, progress, results.

        Raises:
            InputError: The run is gone.
            RunDamaged: The record cannot be read; the message names the file and the reason.
        """
        return self.store.read(self.name)

    @property
    def status(self) -> Status:
        """`queued`, `running`, `done`, `failed`, `cancelled` or `damaged`."""
        return verbs.runs_show(self.name, self.store)["status"]

    @property
    def config(self) -> RunConfig:
        """Its complete settings: `data`, `text`, `model` and `training`."""
        return self.record.config

    @property
    def metrics(self) -> dict[str, dict[str, float]]:
        """By split, by name: metrics at the end of the training; with several labels per text at 0.5."""
        return self.record.results.get("metrics", {})

    @property
    def history(self) -> pd.DataFrame:
        """What the training wrote down as it went, a row for each logged step and each epoch (`kind`).

        `loss`, `train_loss`, `lr`, `grad_norm`, `seconds`; a column for each metric on validation
        (`validation.accuracy`); where the model has λ, `lambda`: a list by layer, by component.
        """
        return verbs.runs_history(self.name, self.store)

    def predictions(self, split: str = "") -> pd.DataFrame:
        """What it says of the texts of a split: `row`, `text`, `label`, `predicted`, `probability:CLASS`.

        The data's own further columns follow (`phenomenon`, `domain`). No model is loaded.

        Args:
            split: Empty: test, or the last that was evaluated.

        Raises:
            InputError: It has no predictions of this split.
        """
        return verbs.runs_predictions(self.name, split, self.store)

    def evaluate(
        self,
        *,
        data: str | Path = "",
        split: str = "",
        rename: Mapping[str, str] | None = None,
        by: str = "",
        cost: Mapping[str, float] | None = None,
        against: str = "",
        limit_test: int = 0,
        passage: int = 0,
        settings: Mapping[str, Any] | None = None,
        on_progress: Callable[[str, float], None] | None = None,
    ) -> dict[str, Any]:
        """Metrics with intervals, confusion and warnings on a split of its own data or on any labelled data.

        Args:
            data: A registered name, a folder or a file; empty: the data it was trained on.
            split: Empty: test, or the whole of a single file.
            rename: Label in the data → class of the run, where their names differ by more than case; to an empty name:
                its rows are left out.
            by: A column of the data, for metrics of each of its values.
            cost: Class → how many false positives one false negative is as bad as: `{"positive": 5}`.
            against: Another run, compared on the same rows.
            limit_test: Rows at most, seeded and stratified; 0: all.
            passage: Words of a passage, where longer texts are read passage by passage and the log-odds averaged; 0:
                each as a whole.
            settings: How other data are read: `{"data.text": "review", "data.label": "stars"}`.
            on_progress: Told what is done and which share of all; may raise to stop.

        Returns:
            `metrics`, `intervals`, `left_out`, `per_class`, `confusion`, `seen_in_training`, `unseen`, `truncated`,
            `by`, `costs`, `warnings` …; see `core.verbs.evaluate`.

        Raises:
            InputError: There is no such data, split or column, or labels are no classes of the run.
        """
        given: dict[str, Any] = {"by": by, "cost": cost, "against": against, "limit_test": limit_test}
        given |= {"passage": passage, "settings": settings, "on_progress": on_progress}
        return verbs.evaluate(self.name, data=str(data), split=split, rename=rename, store=self.store, **given)

    @property
    def codes(self) -> RunCodes:
        """What people say of its sentences: `run.codes.add("irony")`, `.code`, `.draw`, `.rates`, as on a terminal."""
        return RunCodes(self.name, self.store)

    def compare(
        self,
        *others: str | Run,
        data: str = "",
        split: str = "",
        by: Sequence[str] = (),
        metrics: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Whether it is better than others; see `sentiscope.compare`."""
        return compare(self, *others, data=data, split=split, by=by, metrics=metrics, rename=rename)

    def behave(
        self, *others: str | Run, suite: str | Path = "", rename: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """How often it, and others beside it, fail the tests of a suite; see `sentiscope.behave`."""
        return behave(self, *others, suite=suite, rename=rename)

    def predict(
        self,
        texts: Sequence[str] = (),
        *,
        pair: str | None = None,
        file: str | Path | None = None,
        to: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        edit: str = "",
        passage: int = 0,
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """Class and probabilities of each text, in order, under `predictions`.

        Args:
            texts: The texts, or
            pair: Of a run that reads two texts at once the second one, of one first text; or each of `texts` is a
                `sentiscope.pair(first, second)`.
            file: `.txt`: a text per line; else a table (CSV, TSV, JSON Lines, XLSX, Parquet).
            to: A file to write in place of the list (`.csv`, `.jsonl` or `.parquet`): every column of `file`, then
                `predicted`, `probability:CLASS`, `unknown`, `read` and `cut`. Memory does not grow with the rows.
            settings: How `file` is read, e.g. `{"data.text": "review"}`; without it the column of texts is guessed.
            edit: What is changed inside, as in `sentence`; not of a file.
            passage: Words of a passage, where longer texts are read passage by passage and the log-odds averaged; a
                prediction then has `passages`, each with its own answer. 0: each text as a whole.
            on_progress: Told what is done, and which share of it.

        Raises:
            InputError: There is no text, the run lacks what the edit names, or the file cannot be read or written;
                nothing is written then.
        """
        own: dict[str, Any] = {"settings": settings, "edit": edit, "passage": passage, "on_progress": on_progress}
        own["store"] = self.store
        return verbs.predict(self.name, texts, pair=pair, file=path(file), to=path(to), **own)

    def sentence(self, text: str, *, edit: str = "", intervene: Intervention | None = None) -> Sentence:
        """One text, seen from inside.

        Args:
            text: Any.
            edit: What is changed inside, as in the link of a page: `"h1.2,l2c1:0.5"` is head 2 of layer 1 off and λ₁ of
                layer 2 at 0.50; `core.interpret.edits` has all that it may say.
            intervene: In its place what a line cannot say: a `core.models.trace.Intervention`.

        Raises:
            InputError: The run has no such part; the message says what it has.
            RunDamaged: The model cannot be read, or is not there yet.
        """
        view = verbs.sentence(self.name, text, self.store, edit=edit, intervene=intervene)
        return Sentence(self, view, verbs.answer(self.record, view.probabilities))

    def measure(self) -> dict[str, Any]:
        """What it costs: `parameters`, `seconds` of training, `disk`, and what a prediction takes on this machine.

        The latter, `one`, `batch`, `memory` and `where` as in `core.runs.efficiency.Efficiency`, is measured once.

        Raises:
            InputError: It has no weights or predictions yet.
        """
        found: dict[str, Any] = verbs.runs_measure([self.name], self.store)["efficiency"][self.name]
        return found

    def resume(self, *, on_event: OnEvent | None = None) -> Run:
        """Resume a training run that was cancelled or failed, to the same bits as if it had not stopped.

        Raises:
            InputError: It is done, or another process trains it.
            SentiscopeError: Training failed; the run says why.
        """
        with told(on_event) as tell:
            verbs.resume(self.name, store=self.store, on_event=tell)
        return self

    def cancel(self) -> dict[str, Any]:
        """Ask its training, in whichever process it is, to stop; it saves a checkpoint and can be resumed.

        Raises:
            InputError: It is neither waiting nor running.
        """
        return verbs.runs_cancel(self.name, self.store)

    def export(self, file: str | Path) -> dict[str, Any]:
        """Write it into one zip file, without checkpoints, that `sentiscope.runs_import` takes in elsewhere."""
        return verbs.runs_export(self.name, Path(file), self.store)

    def remove(self) -> dict[str, Any]:
        """Delete its directory.

        Raises:
            InputError: It is being trained, or comes with Sentiscope.
        """
        return verbs.runs_remove(self.name, self.store)

    inspect = inside.inspect
    explain = inside.explain
    methods = inside.methods
    patch = inside.patch
    parts = inside.parts
    lambdas = inside.lambdas
    steps = inside.steps
    flip = inside.flip
    distance = inside.distance
    agreement = inside.agreement
    believe = inside.believe
    project = embeddings.project
    groups = embeddings.groups
    layers = embeddings.layers
    neighbours = embeddings.neighbours
    figure = drawing.figure
    figures = drawing.figures
    report = drawing.report
    errors = failures.errors
    slices = failures.slices
    shift = failures.shift

    def __repr__(self) -> str:
        return f"Run({self.name!r}: {notebook.facts(self._shown())})"

    def _repr_html_(self) -> str:
        shown = self._shown()
        return notebook.run(shown, verbs.scores(verbs.summary(self.record)) if "results" in shown else [])

    def _shown(self) -> dict[str, Any]:
        """What can be said of it, also of one that is damaged or gone."""
        try:
            return verbs.runs_show(self.name, self.store)
        except RunNotFound as error:
            return {"run": self.name, "status": "gone", "reason": str(error)}


class Runs(tuple[Run, ...]):
    """Runs in their order, shown as a table."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "no runs yet"

    def _repr_html_(self) -> str:
        names = {each.name for each in self}
        listed = verbs.runs_list(self[0].store)["runs"] if self else []
        return notebook.runs(verbs.runs_table({"runs": [row for row in listed if row["run"] in names]}))


@dataclass(frozen=True, repr=False)
class Sentence:
    """One text as a run reads it. Of L tokens, H heads, N components; arrays are float32, queries in rows."""

    run: Run
    view: SentenceView
    """All that is inside, also what has no name here: see `core.interpret.sentence`."""
    prediction: dict[str, Any]
    """`label` and `probabilities` by class; of several labels `labels` at 0.5 and `labels_tuned`."""

    @property
    def text(self) -> str:
        """As it was typed."""
        return self.view.text

    @property
    def tokens(self) -> tuple[str, ...]:
        """(L,): what stands beside rows and columns of the maps."""
        return self.view.tokens

    @property
    def unknown(self) -> tuple[bool, ...]:
        """(L,): True where the vocabulary lacks the token."""
        return self.view.unknown

    @property
    def mix(self) -> MixView | None:
        """`network`, `tfidf` and `mixture` by class, and the `weight` of the network; None: nothing is mixed in."""
        return self.view.mix

    @property
    def maps(self) -> tuple[np.ndarray, ...]:
        """A layer each, (H, L, L): coefficient times map, added up over the components.

        Empty without attention; (H, 0, 0) where the text is too long for maps.
        """
        return tuple(layer.combined for layer in self.view.layers)

    @property
    def components(self) -> tuple[np.ndarray, ...]:
        """A layer each, (N, H, L, L): the softmax maps, before they are added up."""
        return tuple(layer.components for layer in self.view.layers)

    @property
    def coefficients(self) -> tuple[np.ndarray, ...]:
        """A layer each, (N, H, L): what every component counts, by query; the first has 1."""
        return tuple(layer.coefficients for layer in self.view.layers)

    @property
    def gates(self) -> tuple[np.ndarray, ...]:
        """A layer each, (L,): how far each token may be seen, 0 to 1; empty where the model has no gates."""
        return tuple(layer.gates for layer in self.view.layers if layer.gates is not None)

    def figure(
        self, name: str = "grid", *, theme: str = "light", options: Mapping[str, str | float] | None = None
    ) -> Any:
        """A figure of this sentence by name (`grid`, `coefficients`, `gates` …); see `Run.figure`."""
        return self.run.figure(name, text=self.text, theme=theme, options=options)

    def __repr__(self) -> str:
        return f"Sentence({self.text!r}: {verbs.answer_line(self.prediction)})"

    def _repr_html_(self) -> str:
        return notebook.sentence(self.view, verbs.answer_line(self.prediction))
