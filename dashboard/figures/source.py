"""Data sources of figures: a run, a split of its data, a text, and the chosen values of options."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from core.exceptions import InputError, NotAvailable
from core.interpret.model_edits import UNCHANGED, Edits
from core.runs.record import RunRecord
from core.text.graphemes import quote_text

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView
    from core.runs.comparison import ComparisonData
    from dashboard.figures.decisions import SplitPredictions
    from dashboard.reader import Reader

Found = TypeVar("Found")
LONGEST = 80  # most characters of a text next to a heading


@dataclass(frozen=True)
class ValueRange:
    """Range of numbers from `low` to `high` that a figure's option accepts."""

    low: float
    high: float
    step: float


@dataclass(frozen=True)
class FreeText:
    """Free text that a person may type as the value of a figure's option."""


FREE = FreeText()


@dataclass(frozen=True, eq=False)
class Option:
    """Option of a figure, set by a widget on a page, a parameter in a link or the flag `--with NAME=VALUE`."""

    name: str
    label: str
    values: Callable[[Source], Sequence[str] | ValueRange | FreeText]
    """The possible values for this run, the default first; with one or none there is no choice."""
    about: str = ""  # help for the widget
    usual: Callable[[Source], str | float] | None = None  # the default value; None: the first value
    words: Callable[[Source, Any], str] | None = None
    """Describes a value in the heading of an exported figure; None: the value itself, unless it is the default."""
    endings: Mapping[str, str] = field(default_factory=dict)
    """Value → suffix of the file name, for figures that are exported once for each value."""
    version: Callable[[Source], str] | None = None
    """Part of the cache key; changes when values get another meaning although no file of the run changed."""

    def has_choices(self, source: Source) -> bool:
        """Tell whether an option of a figure has any values to choose from for a run."""
        return bool(self.values(source))

    def get_default(self, source: Source) -> str | float:
        """Return the default value of a figure's option, used if the user chose nothing."""
        if self.usual is not None:
            return self.usual(source)
        values = self.values(source)
        if isinstance(values, ValueRange):
            return values.low
        return "" if isinstance(values, FreeText) else next(iter(values), "")

    def parse_value(self, source: Source, said: str | float) -> str | float:
        """Parse the value of a figure's option from a link or flag; InputError: it is not allowed."""
        values = self.values(source)
        if isinstance(values, FreeText):
            return str(said)
        if not isinstance(values, ValueRange):
            if str(said) in values:
                return str(said)
            there = f"one of {', '.join(values)}" if values else "nothing to choose for this run"
            raise InputError(f"{self.name}={said}: {there}")
        try:
            number = float(said)
        except ValueError:
            number = float("nan")
        if not values.low <= number <= values.high:
            raise InputError(f"{self.name}={said}: a number from {values.low:g} to {values.high:g}")
        return number

    def make_cache_key(self, source: Source) -> str:
        """Return the part of a drawing's cache key that the chosen value of a figure's option adds."""
        return f"{self.name}={source.get_choice(self)}{'' if self.version is None else self.version(source)}"

    def describe_choice(self, source: Source) -> str:
        """Return the chosen value of a figure's option in words; empty for the default."""
        if not self.has_choices(source):
            return ""
        value = source.get_choice(self)
        if self.words is not None:
            return self.words(source, value)
        if value == self.get_default(source):
            return ""
        return f"{self.label.lower()} {value:.2f}" if isinstance(value, float) else value


EDIT = "edit"  # name of `Source.edits` in links and in `--with`


class Source:
    """Data source of figures: a run with its split, text and options; each is read from disk when first needed."""

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
        """Set up the data source of one run's figures; InputError: the split was not evaluated.

        Args:
            record: The run's record, which must not be damaged.
            reader: Reads the files of runs.
            others: Finished runs to compare with.
            split: Empty: test, or the last evaluated split.
            text: A text to explain; empty: none.
            edits: Changes inside the model for the forward pass of the text.
            choices: Option name → value; other options have their defaults.
            author: The annotator whose codes may be shown; None: all.
        """
        self.record, self.reader, self.text, self.author, self._edits = record, reader, text, author, edits
        self.others = tuple(others)
        self.choices = dict(choices or {})
        self.used: set[str] = set()
        """Names of the options that figures have read."""
        self._once: dict[Callable[[Source], Any], Any] = {}
        self.splits = reader.list_splits(record.run)
        if split and split not in self.splits:
            found = ", ".join(sorted(self.splits)) or "none: it is not evaluated yet"
            raise InputError(f"run '{record.run}' has no predictions of a split '{split}'; it has {found}")
        self.split = split or ("test" if "test" in self.splits else next(reversed(self.splits), ""))

    @property
    def edits(self) -> Edits:
        """Return the user's edits inside the model (such as heads switched off) for the forward pass of the text."""
        self.used.add(EDIT)
        return self._edits

    def get_choice(self, option: Option) -> str | float:
        """Return the chosen value of a figure's option; InputError: the run has no such value."""
        if option.name not in self.choices:
            return option.get_default(self)
        self.used.add(option.name)
        return option.parse_value(self, self.choices[option.name])

    def copy_with_choices(self, **choices: Any) -> Source:
        """Return a copy of a figure's data source with other option values."""
        other = copy.copy(self)
        other.choices, other._once = {**self.choices, **choices}, {}
        return other

    def read_once(self, read: Callable[[Source], Found]) -> Found:
        """Return what a function reads from a data source, cached so that several figures share the result."""
        if read not in self._once:
            self._once[read] = read(self)
        found: Found = self._once[read]
        return found

    @cached_property
    def sides(self) -> ComparisonData:
        """Return the predictions of all compared runs on the same rows; NotAvailable: no second run was named."""
        if not self.others:
            raise NotAvailable("it is of several runs: name others with --against")
        return self.reader.align_predictions([each.run for each in (self.record, *self.others)], self.split)

    @property
    def evaluated(self) -> str:
        """Return the name of the evaluated split; NotAvailable: the run has not been evaluated."""
        if not self.split:
            raise NotAvailable(f"it is {self.record.status} and has not been evaluated")
        return self.split

    @cached_property
    def report(self) -> SplitPredictions:
        """Return the run's predictions on the split; NotAvailable: no split has been evaluated."""
        return self.reader.make_report(self.record, self.evaluated)

    @cached_property
    def view(self) -> SentenceView:
        """Return the forward pass of the text; NotAvailable: there is no text, or the model knows no word of it."""
        if not self.text.strip():
            raise NotAvailable("a sentence is needed: --text")
        view = self.reader.inspect_text(self.record.run, self.text, self.edits)
        if not view.tokens:
            raise NotAvailable("the model knows no word of this text")
        return view

    @property
    def quoted(self) -> str:
        """Return the beginning of the chosen text in quotation marks."""
        return quote_text(self.text, LONGEST)
