"""What figures are read from: a run, a split of it, a text, and what a person has chosen among their options."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from core.exceptions import InputError, NotAvailable
from core.interpret.edits import UNCHANGED, Edits
from core.runs.record import RunRecord
from core.text.direction import quoted

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.behaviour.judge import Judged
    from core.evaluation.projection import Projection, ProjectionConfig
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
    from core.runs.efficiency import Efficiency
    from core.runs.layers import Layers
    from core.runs.projections import MapFiles, Space
    from core.runs.sides import Sides
    from core.runs.tagged import Tagged
    from dashboard.figures.analysis import Analysis
    from dashboard.figures.curves import Curves, Line, NumberLine, Place
    from dashboard.figures.decisions import Report
    from dashboard.figures.pushed import Pushed

Found = TypeVar("Found")
LONGEST = 80
"""Characters of a text that stand beside a heading."""


@dataclass(frozen=True)
class Span:
    """The numbers from `low` to `high` that an option may have."""

    low: float
    high: float
    step: float


@dataclass(frozen=True)
class Free:
    """Any text that a person types."""


FREE = Free()


@dataclass(frozen=True, eq=False)
class Option:
    """Something that a person chooses: a widget on a page, a parameter of its link, `--with NAME=VALUE`."""

    name: str
    label: str
    values: Callable[[Source], Sequence[str] | Span | Free]
    """What may be chosen for this run, the usual one first; one or none: there is nothing to choose."""
    about: str = ""
    """Help for the widget."""
    usual: Callable[[Source], str | float] | None = None
    """What is shown where nothing was chosen; None: the first value."""
    words: Callable[[Source, Any], str] | None = None
    """A value in words next to the heading of a figure that stands alone; None: the value, if not the usual."""
    endings: Mapping[str, str] = field(default_factory=dict)
    """Value → the end of the file's name, for figures that are written once for each value."""
    version: Callable[[Source], str] | None = None
    """Changes when what the values mean does, while no file of the run changes."""

    def counts(self, source: Source) -> bool:
        """Whether there is anything to choose for this run."""
        values = self.values(source)
        return isinstance(values, Span | Free) or bool(values)

    def first(self, source: Source) -> str | float:
        """What is shown where nothing was chosen."""
        if self.usual is not None:
            return self.usual(source)
        values = self.values(source)
        if isinstance(values, Free):
            return ""
        return values.low if isinstance(values, Span) else next(iter(values), "")

    def read(self, source: Source, said: str | float) -> str | float:
        """A value as a link or a flag says it.

        Raises:
            InputError: it is none of those that there are.
        """
        values = self.values(source)
        if isinstance(values, Free):
            return str(said)
        if not isinstance(values, Span):
            if str(said) in values:
                return str(said)
            there = ", ".join(values) or "nothing to choose for this run"
            raise InputError(f"{self.name}={said}: {there if not values else f'one of {there}'}")
        try:
            number = float(said)
        except ValueError:
            number = float("nan")
        if not values.low <= number <= values.high:
            raise InputError(f"{self.name}={said}: a number from {values.low:g} to {values.high:g}")
        return number

    def kept_by(self, source: Source) -> str:
        """What a cache knows the choice by; what a person typed never as it is."""
        value = source.chosen(self)
        if isinstance(self.values(source), Free):
            value = hashlib.sha256(str(value).encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.name}={value}{'' if self.version is None else self.version(source)}"

    def told(self, source: Source) -> str:
        """The chosen value in words."""
        if not self.counts(source):
            return ""
        value = source.chosen(self)
        if self.words is not None:
            return self.words(source, value)
        if value == self.first(source):
            return ""
        return f"{self.label.lower()} {value:.2f}" if isinstance(value, float) else value


class Reader(Protocol):
    """Where a source reads: `Files` reads each time, the dashboard's `data` keeps what was read."""

    def runs(self) -> list[RunRecord]:
        """All runs, newest first."""

    def curves(self, record: RunRecord) -> tuple[Curves, int]:
        """What a training run has logged, and how many damaged lines were left out."""

    def learned_numbers(self, record: RunRecord) -> dict[str, list[NumberLine]]:
        """The course of every learned number but lambda."""

    def lambda_heads(self, record: RunRecord) -> dict[Place, tuple[Line, ...]]:
        """The lambda of each head over training, where heads have their own."""

    def evaluated_splits(self, run: str) -> list[str]:
        """Splits with predictions, in the order train, validation, test, others."""

    def report(self, record: RunRecord, split: str) -> Report:
        """What a run says of a split."""

    def points(self, record: RunRecord, split: str) -> pd.DataFrame:
        """What is known of each text of a split."""

    def tags(self, record: RunRecord, split: str) -> pd.DataFrame:
        """What a run said of the words of a split, columns as in `core.runs.tagged`."""

    def tagged(self, record: RunRecord, text: str) -> Tagged:
        """What a run says of each word of a text."""

    def analysis(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> Analysis:
        """The rows of a split that a selection has, with the codes that an author may see; None: with all."""

    def common(self, shown: Analysis) -> Common:
        """The training sentences that are nearest to selected ones in the space of the head.

        Raises:
            NotAvailable: the training texts are not here.
            RunDamaged: the embeddings or the model cannot be read.
        """

    def kept_slices(self, record: RunRecord) -> list[Slice]:
        """The saved slices of its data."""

    def slices(self, record: RunRecord, split: str, author: str | None = None) -> list[dict[str, Any]]:
        """What they come to on a split; those of codes, of the codes that an author may see, None: of all."""

    def whole(self, record: RunRecord, split: str) -> dict[str, Any]:
        """What all sentences of a split come to, as if they were a slice."""

    def slices_version(self, record: RunRecord) -> str:
        """A text that changes when one of them does, or a code that one asks for."""

    def sliced(self, sides: Sides, author: str | None = None) -> Sides:
        """The same sides with the rows of each saved slice.

        Raises:
            InputError: there is none by which they can be compared.
        """

    def doubted(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """The labels that are likely wrong; None: nobody has looked."""

    def shifted(self, record: RunRecord, split: str) -> dict[str, Any] | None:
        """How a split differs from training; None: nobody has looked."""

    def map_files(self, run: str, split: str, config: ProjectionConfig) -> MapFiles:
        """Where a map is kept, or will be."""

    def projection(self, record: RunRecord, files: MapFiles) -> Projection | None:
        """PCA; any other map if it has been computed."""

    def space(self, record: RunRecord, files: MapFiles) -> Space:
        """The vectors that a map is made from; `NotAvailable` where the layers have not been read."""

    def vector(self, record: RunRecord, files: MapFiles, text: str) -> np.ndarray:
        """(d,) of a typed text in that space."""

    def layers(self, record: RunRecord, split: str) -> Layers | None:
        """How the classes lie at each stage of a model; None: nobody has read them; `NotAvailable`: it has none."""

    def table(self, record: RunRecord, split: str) -> Table:
        """The predictions of a split."""

    def found_groups(self, record: RunRecord, split: str) -> tuple[Table, FoundGroups]:
        """The groups of a split in embedding space, and the table of which they are rows."""

    def behaviour(self, record: RunRecord) -> Judged:
        """What a run says to the suite that comes with Sentiscope; `NotAvailable` where it cannot be asked."""

    def sentence(self, run: str, text: str, edits: Edits = UNCHANGED) -> SentenceView:
        """One text with its inside."""

    def pushed(self, run: str, text: str, target: str, edits: Edits = UNCHANGED) -> Pushed:
        """What each word of a text does to the log-odds of a class, as the run was trained or with changes."""

    def methods(self, run: str, text: str, target: str, edits: Edits, named: Sequence[str]) -> Methods:
        """What each word does to them by these methods, as far as the model can be explained so."""

    def patches(self, run: str, text: str, donor: str, target: str, edits: Edits) -> Patches:
        """What the inside of a donor in the text does to them, one place at a time."""

    def parts(self, run: str, text: str, target: str, edits: Edits = UNCHANGED) -> Parts:
        """What each part of the model does to them, as the run was trained or besides changes."""

    def belief(self, record: RunRecord) -> Belief | None:
        """How far the explanations of a run can be believed; None: it was not measured."""

    def own_belief(self, run: str, text: str) -> tuple[Own, ...]:
        """What one text says of that, by method, as the run was trained."""

    def reach(self, run: str, steps: Sequence[Step], target: str) -> Reach:
        """What a run says of a template with more and more words put in."""

    def lambdas(self, run: str, text: str, target: str, edits: Edits = UNCHANGED) -> LambdaCurves:
        """What each λ does to them, all else as trained or as changed."""

    def steps(
        self,
        run: str,
        text: str,
        layer: int | None,
        head: int | None,
        component: int | None,
        edits: Edits = UNCHANGED,
    ) -> Steps:
        """The forward pass of a text as stages; layer and head from 1, component from 0."""

    def sides(self, runs: Sequence[str], split: str) -> Sides:
        """Several runs with what they say of the rows of a split that all have."""

    def compared(self, runs: Sequence[str], split: str, metric: str) -> dict[str, Any]:
        """Every pair of them by a metric, as `core.runs.comparison.compare` gives it."""

    def efficiency(self, record: RunRecord) -> Efficiency:
        """What a run costs, as far as that is known on this machine."""


EDIT = "edit"
"""The name of `Source.edits` in a link and for `--with`."""


class Source:
    """A run and what its figures are drawn from, each part read when a figure first needs it."""

    def __init__(
        self,
        record: RunRecord,
        reader: Reader,
        *,
        others: Sequence[RunRecord] = (),
        split: str = "",
        text: str = "",
        edits: Edits = UNCHANGED,
        choices: Mapping[str, Any] | None = None,
        author: str | None = None,
    ) -> None:
        """One run, seen in one way.

        Args:
            record: Of a run that is not damaged.
            reader: Where its files are read.
            others: Finished runs that it is compared with.
            split: Empty: test, or the last that was evaluated.
            text: A text to look into; empty: none.
            edits: What is changed inside the model when it reads the text.
            choices: Values of options by name; all others have their usual ones.
            author: Whoever looks, who may see some of the codes; None: all.

        Raises:
            InputError: the split was not evaluated.
        """
        self.record, self.reader, self.text, self.author = record, reader, text, author
        self._edits = edits
        self.others = tuple(others)
        self.choices = dict(choices or {})
        self.used: set[str] = set()
        """Names of the choices that a figure has asked for."""
        self._once: dict[Callable[[Source], Any], Any] = {}
        self.splits = reader.evaluated_splits(record.run)
        if split and split not in self.splits:
            found = ", ".join(sorted(self.splits)) or "none: it is not evaluated yet"
            raise InputError(f"run '{record.run}' has no predictions of a split '{split}'; it has {found}")
        self.split = split or ("test" if "test" in self.splits else next(reversed(self.splits), ""))

    @property
    def edits(self) -> Edits:
        """What is changed inside the model when it reads the text."""
        self.used.add(EDIT)
        return self._edits

    def chosen(self, option: Option) -> str | float:
        """The value of an option.

        Raises:
            InputError: it is none that this run has.
        """
        if option.name not in self.choices:
            return option.first(self)
        self.used.add(option.name)
        return option.read(self, self.choices[option.name])

    def with_choices(self, **choices: Any) -> Source:
        """The same with other choices."""
        chosen = {**self.choices, **choices}
        kept: dict[str, Any] = {"others": self.others, "split": self.split, "text": self.text, "edits": self._edits}
        other = Source(self.record, self.reader, **kept, choices=chosen, author=self.author)
        other.used = self.used
        return other

    def once(self, read: Callable[[Source], Found]) -> Found:
        """What `read` finds here; several figures that need it share it."""
        if read not in self._once:
            self._once[read] = read(self)
        found: Found = self._once[read]
        return found

    @cached_property
    def sides(self) -> Sides:
        """The run and those that it is compared with, on the same rows.

        Raises:
            NotAvailable: there are no others.
            InputError: they have other rows or classes.
        """
        if not self.others:
            raise NotAvailable("it is of several runs: name others with --against")
        return self.reader.sides([each.run for each in (self.record, *self.others)], self.split)

    @cached_property
    def report(self) -> Report:
        """What the run says of the split.

        Raises:
            NotAvailable: no split has been evaluated.
        """
        if not self.split:
            raise NotAvailable(f"it is {self.record.status} and has not been evaluated")
        return self.reader.report(self.record, self.split)

    @cached_property
    def view(self) -> SentenceView:
        """The text as the model reads it.

        Raises:
            NotAvailable: there is no text.
        """
        if not self.text.strip():
            raise NotAvailable("a sentence is needed: --text")
        view = self.reader.sentence(self.record.run, self.text, self.edits)
        if not view.tokens:
            raise NotAvailable("the model knows no word of this text")
        return view

    @property
    def quoted(self) -> str:
        """The beginning of the text."""
        return quoted(self.text, LONGEST)
