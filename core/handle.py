"""Runs and sentences as objects, for notebooks and scripts: the verbs, with the run already named.

`import sentiscope` gives these. Imports nothing heavy; nothing is computed here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import notebook, verbs
from core.config import RunConfig
from core.exceptions import RunNotFound
from core.handle_codes import RunCodes
from core.runs.record import RunRecord, Status
from core.runs.store import RunStore
from core.runs.worker import OnEvent

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.interpret.sentence import MixView, SentenceView
    from core.models.trace import Intervention


def train(  # noqa: PLR0913 - what a training is chosen by, by name
    data: str = "built-in",
    model: str = "ndt-01-n3",
    settings: Mapping[str, Any] | None = None,
    *,
    add: Sequence[str] = (),
    start: str | Run = "",
    recipe: str = "",
    length: str = "",
    epochs: int | None = None,
    seed: int | None = None,
    limit: int | None = None,
    name: str = "",
    on_event: OnEvent | None = None,
) -> Run:
    """Train a model here and now, evaluate it and keep the run; it waits while other runs hold all slots.

    An interrupt (Ctrl-C, the stop button of a notebook) saves a checkpoint and ends training; `resume` continues.

    Args:
        data: A registered name (`data_list` has all), a file or a folder.
        model: A preset; `presets` has all.
        settings: Dotted settings on top of it, e.g. `{"training.lr": 1e-3, "model.width": 64}`.
        add: Short for `data.add`: registered data sets whose training texts join the training split; nothing is judged
            on them. `counter-examples` are those that are kept (`sentiscope.counter_examples_list()`).
        start: Short for `training.start`: a finished run whose tokenizer, words and layers this one starts from.
        recipe: Settings that make small models better, over the preset's and under `settings`: `strong`. What the model
            cannot take is left out, and said.
        length: Epochs and training rows at most: `short`, `medium` or `full`; `settings` override it.
        epochs: Short for `training.epochs`.
        seed: Short for `training.seed`.
        limit: Short for `data.limit`: training rows at most, seeded and stratified; other splits stay whole.
        name: Of the run; empty: data, model, seed and time.
        on_event: Told what happens (`core.runs.worker.OnEvent`); without it a line is printed for each epoch.

    Returns:
        The run: done, or cancelled by the interrupt.

    Raises:
        InputError: Data, preset, recipe, setting or length cannot be used, a run has this name already, or as many runs
            wait as this machine allows.
        SentiscopeError: Training failed; the run says why.
    """
    store = RunStore()
    short: dict[str, Any] = {"start": _name(start), "recipe": recipe, "length": length, "epochs": epochs, "seed": seed}
    short |= {"add": add, "limit": limit, "name": name}
    with _told(on_event) as tell:
        return Run(verbs.train(data, model, settings, **short, store=store, on_event=tell)["run"], store)


def pretrain(
    data: Sequence[str],
    model: str = "vanilla-swiglu",
    settings: Mapping[str, Any] | None = None,
    *,
    apart: Sequence[str] = (),
    start: str | Run = "",
    seed: int | None = None,
    limit: int | None = None,
    name: str = "",
    on_event: OnEvent | None = None,
) -> Run:
    """Train an encoder that others start from: masked words first, then the labels of several data sets at once.

    The same as `train` with the recipe `pretrain` on a mixture (`"sst2+imdb"`).

    Args:
        data: Registered names; `data.rename` in `settings` makes their classes one.
        model: A preset of an encoder.
        settings: Dotted settings on top of preset and recipe.
        apart: Registered names of further data sets whose texts beyond train are kept out of the training.
        start: A finished run to start from.
        seed: Short for `training.seed`.
        limit: Short for `data.limit`.
        name: Of the run; empty: data, model, seed and time.
        on_event: As of `train`.

    Returns:
        The run: done, or cancelled by the interrupt.

    Raises:
        InputError: As of `train`; or a name that is no registered data set.
        SentiscopeError: Training failed; the run says why.
    """
    store = RunStore()
    short: dict[str, Any] = {"apart": apart, "start": _name(start), "seed": seed, "limit": limit, "name": name}
    with _told(on_event) as tell:
        return Run(verbs.pretrain(data, model, settings, **short, store=store, on_event=tell)["run"], store)


def _name(run: str | Run) -> str:
    return run.name if isinstance(run, Run) else run


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
    return [_name(each) for each in runs], store


@dataclass(frozen=True, repr=False)
class Run:
    """One training and everything it left, as a directory; every look at it is a look at the disk."""

    name: str
    store: RunStore = field(default_factory=RunStore, compare=False)

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
            settings: How other data are read: `{"data.text": "review", "data.label": "stars"}`.
            on_progress: Told what is done and which share of all; may raise to stop.

        Returns:
            `metrics`, `intervals`, `left_out`, `per_class`, `confusion`, `seen_in_training`, `unseen`, `truncated`,
            `by`, `costs`, `warnings` …; see `core.verbs.evaluate`.

        Raises:
            InputError: There is no such data, split or column, or labels are no classes of the run.
        """
        given: dict[str, Any] = {"by": by, "cost": cost, "against": against, "limit_test": limit_test}
        given |= {"settings": settings, "on_progress": on_progress}
        return verbs.evaluate(self.name, data=str(data), split=split, rename=rename, store=self.store, **given)

    @property
    def codes(self) -> RunCodes:
        """What people say of its sentences: `run.codes.add("irony")`, `.code`, `.draw`, `.rates`, as on a terminal."""
        return RunCodes(self.name, self.store)

    def errors(
        self,
        *,
        split: str = "",
        where: Sequence[str] | str = (),
        tags: bool = False,
        against: Sequence[str | Run] | str | Run = (),
        label_errors: bool | str | Path = False,
        unsure: bool = False,
        slice: str = "",
        csv: str | Path | None = None,
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """What it says of each text of a split, and a selection of these rows.

        Args:
            split: Empty: test, or the last that was evaluated.
            where: Clauses of which all must hold: `["truth=negative", "margin<0.2", "text~not"]`; empty: what is wrong;
                `["all"]`: every row. `core.failures.rules` has the grammar.
            tags: Also tags of the texts (negation, truncated, near duplicate …) with the risk of an error of each.
            against: Further runs on the same rows, for the tags `models disagree` and `seeds disagree`.
            label_errors: Also labels that are likely wrong, of the training rows and of this split, and texts that
                stand in the data with two labels; a file: also written there.
            unsure: First read the texts again and again with dropout left on, for the tag `unsure under dropout`.
            slice: The rows of a slice (`slices`); with `where`, those where that holds too.
            csv: A file for the selected rows.
            on_progress: Told what is done, where that takes long.

        Returns:
            `n`, `wrong`, `rate`, `selected`, `said`, `rows`, `tags`, `label_errors` …; see `core.verbs.errors`.

        Raises:
            InputError: There is no such split, or a clause is not understood; the message says what there is.
        """
        runs = [against] if isinstance(against, str | Run) else against
        own: dict[str, Any] = {"tags": tags, "against": list(map(_name, runs)), "on_progress": on_progress}
        own |= {"label_errors": Path(label_errors) if isinstance(label_errors, str) else label_errors, "slice": slice}
        own["unsure"] = unsure
        return verbs.errors(self.name, split=split, where=where, csv=_path(csv), store=self.store, **own)

    def slices(
        self,
        *,
        save: str = "",
        where: Sequence[str] | str = (),
        rename: tuple[str, str] = ("", ""),
        remove: str = "",
        split: str = "",
    ) -> dict[str, Any]:
        """Selections with a name, which every run on its data has, and how often this one is wrong there.

        Args:
            save: First keep what `where` selects under this name.
            where: As of `errors`.
            rename: First give the slice of the first name the second.
            remove: First forget the slice of this name.
            split: Empty: test, or the last that was evaluated.

        Returns:
            `slices`: of each `name`, `where`, `said`, `n`, `wrong`, `rate`, `interval` …; see `core.verbs.slices`.

        Raises:
            InputError: A clause is not understood, the name is taken, or there is no such slice.
        """
        changes: dict[str, Any] = {"save": save, "rename": rename, "remove": remove}
        return verbs.slices(self.name, where=where, split=split, store=self.store, **changes)

    def shift(
        self, split: str = "", *, on_progress: Callable[[str, float | None], None] | None = None
    ) -> dict[str, Any]:
        """Whether the texts of a split are like those that it was trained on.

        Args:
            split: Empty: test, or the last that was evaluated.
            on_progress: Told what is done; it takes seconds, at first up to a minute.

        Returns:
            `auc` of a classifier that tells the two apart, `measures`, `balance`, `words`; see `core.verbs.shift`.

        Raises:
            InputError: There is no such split.
            NotAvailable: The training texts are not here.
        """
        return verbs.shift(self.name, split=split, store=self.store, on_progress=on_progress)

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
        file: str | Path | None = None,
        to: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        edit: str = "",
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """Class and probabilities of each text, in order, under `predictions`.

        Args:
            texts: The texts, or
            file: `.txt`: a text per line; else a table (CSV, TSV, JSON Lines, XLSX, Parquet).
            to: A file to write in place of the list (`.csv`, `.jsonl` or `.parquet`): every column of `file`, then
                `predicted`, `probability:CLASS` and `unknown`. Memory does not grow with the rows.
            settings: How `file` is read, e.g. `{"data.text": "review"}`; without it the column of texts is guessed.
            edit: What is changed inside, as in `sentence`; not of a file.
            on_progress: Told what is done, and which share of it.

        Raises:
            InputError: There is no text, the run lacks what the edit names, or the file cannot be read or written;
                nothing is written then.
        """
        own: dict[str, Any] = {"settings": settings, "edit": edit, "on_progress": on_progress, "store": self.store}
        return verbs.predict(self.name, texts, file=_path(file), to=_path(to), **own)

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

    def inspect(
        self,
        text: str,
        *,
        edit: str = "",
        intervene: Intervention | None = None,
        html: str | Path | None = None,
    ) -> dict[str, Any]:
        """The same as plain data for JSON; `html` also writes a page with every map, which needs no network."""
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.inspect(self.name, text, html=_path(html), store=self.store, **changed)

    def explain(
        self,
        text: str,
        *,
        method: str = "deletion",
        target: str = "",
        edit: str = "",
        intervene: Intervention | None = None,
    ) -> dict[str, Any]:
        """What each word of a text does to the log-odds of a class.

        Args:
            text: Any.
            method: `deletion`, the log-odds with the word minus without it (the text is read anew), or `shapley`;
                `gradient` (times input) or `integrated` where it reads vectors of words; beside them, how much a word
                is read: `attention`, in the last layer, or `collapse`, in the first.
            target: A class; empty: the one with the highest probability.
            edit: What is changed inside, as in `sentence`: all is then said of the model that is changed so.
            intervene: The same as an `Intervention`.

        Returns:
            `words` with `push`, `log_odds`, `completeness`, `agreement` with deletion and attention …; see
            `core.verbs.explain`.

        Raises:
            InputError: There is no such method or class, or this model cannot be explained so; the message says which
                there are.
        """
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.explain(self.name, text, method=method, target=target, store=self.store, **changed)

    def methods(
        self,
        text: str,
        *,
        target: str = "",
        edit: str = "",
        intervene: Intervention | None = None,
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """What each word of a text does to the log-odds of a class by every method, and how far each two agree.

        Args:
            text: Any.
            target: A class; empty: the one with the highest probability.
            edit: What is changed inside, as in `sentence`.
            intervene: The same as an `Intervention`.
            on_progress: Told which method is at work, and how far it is, where that is known.

        Returns:
            `words` with `pushes` by method, `agreement` of each pair, `most_read`, `most_needed` …; see
            `core.verbs.methods`.

        Raises:
            InputError: There is no such class.
        """
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.methods(self.name, text, target=target, on_progress=on_progress, store=self.store, **changed)

    def patch(
        self,
        text: str,
        donor: str,
        *,
        target: str = "",
        edit: str = "",
        intervene: Intervention | None = None,
    ) -> dict[str, Any]:
        """What the log-odds of a class become when a place inside has the values that it has of another text.

        Args:
            text: Any.
            donor: Another of as many tokens, as the model reads them.
            target: A class; empty: the one with the highest probability for the first text.
            edit: What is changed inside for both, as in `sentence`.
            intervene: The same as an `Intervention`.

        Returns:
            `patches`: `kind` (`layer`, `token` or `head`), `layer`, `token`, `head`, `log_odds`, `moved`; `tokens`,
            `donor_tokens` …; see `core.verbs.patch`.

        Raises:
            InputError: There is no such class, this model has no attention, or the texts are of different lengths.
        """
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.patch(self.name, text, donor, target=target, store=self.store, **changed)

    def parts(
        self,
        text: str,
        *,
        target: str = "",
        edit: str = "",
        intervene: Intervention | None = None,
    ) -> dict[str, Any]:
        """What silencing each layer, head, component, gate and lexical term does to the log-odds of a class.

        Args:
            text: Any.
            target: A class; empty: the one with the highest probability.
            edit: What is changed inside, as in `sentence`: each part is silenced besides.
            intervene: The same as an `Intervention`.

        Returns:
            `parts` with `zero` and `mean`: log-odds with the part minus log-odds where it says nothing, or at every
            token its mean over the tokens; `log_odds`, `tokens` …; see `core.verbs.parts`.

        Raises:
            InputError: There is no such class, or this model has no attention.
        """
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.parts(self.name, text, target=target, store=self.store, **changed)

    def lambdas(
        self, text: str, *, target: str = "", edit: str = "", intervene: Intervention | None = None
    ) -> dict[str, Any]:
        """What each λ does to the log-odds of a class, from one end of its range to the other.

        Args:
            text: Any.
            target: A class; empty: the one with the highest probability.
            edit: What is changed inside, as in `sentence`; a curve replaces what it says of the same λ.
            intervene: The same as an `Intervention`.

        Returns:
            `curves`, of each λ and of a factor on all: `values` with `log_odds` and `probabilities` of the target,
            `learned`, `start` …; see `core.verbs.lambdas`.

        Raises:
            InputError: There is no such class, or this model has no λ.
        """
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.lambdas(self.name, text, target=target, store=self.store, **changed)

    def steps(
        self,
        text: str,
        *,
        layer: int | None = None,
        head: int | None = None,
        component: int | None = None,
        edit: str = "",
        intervene: Intervention | None = None,
    ) -> dict[str, Any]:
        """The forward pass of a text as stages, from its tokens to the probabilities, with formulas and matrices.

        Args:
            text: Any, of at most 512 tokens.
            layer: Counted from 1, as on the pages; None: the last.
            head: From 1; None: the first.
            component: From 0, the base component, which is meant by None.
            edit: What is changed inside, as in `sentence`.
            intervene: The same as an `Intervention`.

        Returns:
            `stages` with `key`, `title`, `formulas` (LaTeX), `reading` and `matrices` (`name`, `rows`, `columns`,
            `values`); `tokens`, `prediction` …; see `core.verbs.steps`.

        Raises:
            InputError: There is no such layer, head or component.
            NotAvailable: The text has no token that the model knows, or too many.
        """
        changed: dict[str, Any] = {"edit": edit, "intervene": intervene}
        return verbs.steps(self.name, text, layer=layer, head=head, component=component, store=self.store, **changed)

    def agreement(
        self,
        *,
        split: str = "",
        wrong: bool = False,
        limit: int = 200,
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """How often the most read word is the most needed one, and how far methods agree with deletion in rank.

        Args:
            split: Empty: test, or the last that was evaluated.
            wrong: Only texts that it is wrong about.
            limit: Texts drawn at random, seed 0; 0: all.
            on_progress: Told which share of the texts is done.

        Returns:
            `methods`: `method`, `texts`, `same`, `rho`, `ranked`; `found`, `drawn` …; see `core.verbs.agreement`.

        Raises:
            InputError: There is no such split or text, or it can be explained by deletion alone.
        """
        given: dict[str, Any] = {"split": split, "wrong": wrong, "limit": limit, "on_progress": on_progress}
        return verbs.agreement(self.name, store=self.store, **given)

    def believe(
        self,
        text: str | None = None,
        *,
        method: str = "",
        target: str = "",
        limit: int = 200,
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """Whether the pushes of `explain` are evidence, an illustration or neither; kept with the run.

        Args:
            text: Instead, what one text says of itself, without intervals or verdict.
            method: One of `explain`; empty: all that it can be explained by.
            target: Of a text, a class; empty: the one with the highest probability.
            limit: Validation sentences, drawn with seed 0.
            on_progress: Told what is done, and which share of all.

        Returns:
            `methods`: `method`, `verdict`, `tests` with intervals, `areas`, `control`, `curves`, `agreement`;
            `answers`, `thresholds` …; see `core.verbs.believe`.

        Raises:
            InputError: There is no such method or class, this model cannot be explained so, or it has no validation
                sentence that is long enough.
        """
        given: dict[str, Any] = {"method": method, "target": target, "limit": limit, "on_progress": on_progress}
        return verbs.believe(self.name, text, store=self.store, **given)

    def flip(
        self,
        text: str,
        *,
        target: str = "",
        readings: int | None = None,
        edit: str = "",
        intervene: Intervention | None = None,
        on_progress: Callable[[str, float | None], None] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> dict[str, Any]:
        """The smallest change of a text that changes its answer: words deleted, or replaced by candidates.

        Args:
            text: Any.
            target: A class, which the answer leaves, or becomes if it is another; empty: the one with the highest
                probability.
            readings: Texts that are read at most; 4000 unless given.
            edit: What is changed inside, as in `sentence`, but for changes at single tokens.
            intervene: The same as an `Intervention`.
            on_progress: Told what is done, and which share of the readings.
            stopped: Asked before each 128 readings; True ends the search with what was found.

        Returns:
            `flip` with `text` and `moves`, or None; `also`, more of its size; `verdict`: `proven`, `smallest found`,
            `none, proven` or `none found`; `readings`, `moves_allowed` …; see `core.verbs.flip`.

        Raises:
            InputError: There is no such class, a number of readings that cannot be, or a change
                at single tokens.
        """
        given: dict[str, Any] = {"on_progress": on_progress, "stopped": stopped, "store": self.store}
        given |= {"edit": edit, "intervene": intervene}
        return verbs.flip(self.name, text, target=target, readings=readings, **given)

    def distance(
        self,
        text: str,
        *,
        against: Sequence[str | Run] = (),
        insert: str = "",
        most: int | None = None,
        target: str = "",
    ) -> dict[str, Any]:
        """How far a negation reaches: a sentence with more and more words between it and what it denies.

        Args:
            text: A sentence with {} where words are put in and, where it is to be read without its negation too, the
                negation in brackets: `"The film was [not] {} good."`; or the name of one of ours, `"not good"`.
            against: Further runs that read the same.
            insert: What is put in, one word at a time, or with | between pieces a piece at a time; empty: phrases
                without a polarity.
            most: Pieces at most.
            target: A class that all runs have; empty: the one that says positive, else the last.

        Returns:
            `steps` with `words`, `text` and `without`; `curves` with `run` and `probabilities` …; see
            `core.verbs.distance`.

        Raises:
            InputError: There is no such class or place, or nothing to put in.
        """
        given: dict[str, Any] = {
            "against": list(map(_name, against)),
            "insert": insert,
            "most": most,
            "target": target,
            "store": self.store,
        }
        return verbs.distance(self.name, text, **given)

    def figure(
        self,
        name: str,
        *,
        against: Sequence[str] = (),
        split: str = "",
        text: str = "",
        theme: str = "light",
        options: Mapping[str, str | float] | None = None,
    ) -> Any:
        """A figure of the dashboard by name (`roc`, `confusion`, `learning`, `lambdas` …) .

        Args:
            name: `sentiscope figures` has all; a name that is none is answered with the list.
            against: Names of other runs, for the figures that compare several.
            split: Of the figures on predictions; empty: test, or the last that was evaluated.
            text: Of the figures of a sentence (`grid`, `coefficients`, `gates` …).
            theme: `light` or `dark`.
            options: What its page lets a person choose, by the name in a link: `{"threshold": 0.7}`, `{"layer": 1}`.

        Returns:
            A chart as a Plotly object; a table (`metrics`, `each-class` …), whose `rows` are a pandas frame; or one of
            our components (`head-view`, `parts`), whose `data` it draws. A notebook shows each.

        Raises:
            InputError: There is no such figure, split or option, or this run has none of it; the message says why.
        """
        about: dict[str, Any] = {"against": against, "split": split, "text": text, "theme": theme}
        return verbs.figure(self.name, name, options=options, store=self.store, **about)

    def figures(
        self,
        folder: str | Path,
        *,
        against: Sequence[str] = (),
        split: str = "",
        only: Sequence[str] = (),
        text: str = "",
        theme: str = "light",
        options: Mapping[str, str | float] | None = None,
        csv: bool = False,
    ) -> dict[str, Any]:
        """Write its figures, or `only` some, into a folder as HTML files that open without a network.

        With `csv` their numbers too.

        Returns:
            `files`: name, title and file of each; `left_out`: name → why there is none.

        Raises:
            InputError: As `figure`, or the folder cannot be written.
        """
        chosen: dict[str, Any] = {"against": against, "options": options, "csv": csv, "store": self.store}
        return verbs.figures(self.name, Path(folder), split=split, only=only, text=text, theme=theme, **chosen)

    def report(
        self,
        file: str | Path = "",
        *,
        against: Sequence[str | Run] = (),
        codes: str = "",
        split: str = "",
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """Write one HTML file that opens without a network: figures, tables, codes, settings, predictions.

        Args:
            file: Empty: `sentiscope-report-RUN.html` in the working directory. A file that is there stays as it is.
            against: Other runs on the same rows, which it is compared with.
            codes: A coded session: the id of a draw, an author or the codebook, as `run.codes.list()` names them.
            split: Empty: test, or the last that was evaluated.
            on_progress: Told what is done and which share of all.

        Returns:
            `file`, its size in `bytes`, its `sections` with how much each holds, `figures`, and what was `left_out`.

        Raises:
            InputError: There is no such run, split or session, or a file of this name is there.
        """
        about: dict[str, Any] = {"codes": codes, "split": split, "on_progress": on_progress}
        return verbs.report(self.name, file, against=list(map(_name, against)), store=self.store, **about)

    def project(
        self,
        *,
        split: str = "test",
        method: str = "tsne",
        dimensions: int = 2,
        rows: int = 3000,
        seed: int = 0,
        space: str = "",
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """Compute a map of a split's embeddings and keep it, for `figure("map-tsne")` and for the dashboard.

        Args:
            split: One that was evaluated.
            method: `tsne`, `umap` or `pca`.
            dimensions: 2 or 3.
            rows: Sentences placed, a stratified sample of more; PCA places all.
            seed: Of the sample and of the map.
            space: `embedding`, `layer 1` … of a model that has layers; empty: what its head reads.
            on_progress: Told what is done and which share of it, 0 to 1, where that is known.

        Returns:
            How far the map can be believed (`quality`), and the file.

        Raises:
            InputError: There is no such split or method.
        """
        own: dict[str, Any] = {"rows": rows, "seed": seed, "on_progress": on_progress, "store": self.store}
        own["space"] = space
        return verbs.project(self.name, split=split, method=method, dimensions=dimensions, **own)

    def groups(self, *, split: str = "", csv: str | Path | None = None) -> dict[str, Any]:
        """Groups of sentences that lie close together in its space, named by the words that mark them.

        Args:
            split: Empty: test, or the last that was evaluated.
            csv: A file for the rows, each with its group.

        Returns:
            `groups`: of each `name`, `words`, `n`, `wrong`, `rate`, `interval`, `keys`; `none`; see
            `core.verbs.groups`.

        Raises:
            InputError: There is no such split, or the file cannot be written.
            NotAvailable: It makes no vector of a sentence.
        """
        return verbs.groups(self.name, split=split, csv=_path(csv), store=self.store)

    def layers(
        self, *, split: str = "", on_progress: Callable[[str, float | None], None] | None = None
    ) -> dict[str, Any]:
        """How clearly the classes of a split lie apart at each stage: from what enters to what its head reads.

        Args:
            split: Empty: test, or the last that was evaluated.
            on_progress: Told what is done, and which share of it.

        Returns:
            `stages`: of each `name`, `silhouette` and `purity`; `chance`, the purity of neighbours drawn at random; see
            `core.verbs.layers`.

        Raises:
            InputError: There is no such split.
            NotAvailable: It has no layers.
        """
        return verbs.layers(self.name, split=split, store=self.store, on_progress=on_progress)

    def neighbours(
        self,
        text: str = "",
        *,
        key: str = "",
        split: str = "",
        space: str = "",
        most: int = 10,
        on_progress: Callable[[str, float | None], None] | None = None,
    ) -> dict[str, Any]:
        """The sentences of a split that are nearest to a text, or to one of them, in a space of the model.

        Args:
            text: Any, or
            key: of a row of the split, which is no neighbour of itself.
            split: Empty: test, or the last that was evaluated.
            space: `embedding`, `layer 1` … of a model that has layers; empty: what its head reads.
            most: Sentences.
            on_progress: Told what is done, where the layers must be read first.

        Returns:
            `neighbours`: of each `key`, `text`, `truth`, `said` and the Euclidean `distance`, the nearest first.

        Raises:
            InputError: There is no such split, key or space; neither or both of text and key.
            NotAvailable: It makes no vector of a sentence.
        """
        own: dict[str, Any] = {"split": split, "space": space, "most": most, "store": self.store}
        return verbs.neighbours(self.name, text, key=key, on_progress=on_progress, **own)

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
        with _told(on_event) as tell:
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


@contextlib.contextmanager
def _told(on_event: OnEvent | None) -> Iterator[OnEvent]:
    """Who hears how far training is: whoever asked, else a person, as on the command line."""
    if on_event is not None:
        yield on_event
        return
    import sys

    from rich.console import Console

    from core.cli.printing import PLAIN
    from core.cli.progress import TrainingProgress

    # A bar on a terminal. Elsewhere lines, also in a notebook, which says that it has colours and cannot move a bar.
    here = Console(force_jupyter=False, force_terminal=sys.stdout.isatty(), soft_wrap=True, **PLAIN)
    with TrainingProgress(here) as progress:
        yield progress.tell


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)
