"""Sources of figures: a run, a split of it, a text, and the chosen values of options."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from core.exceptions import InputError, NotAvailable
from core.interpret.edits import UNCHANGED, Edits
from core.runs.record import RunRecord
from core.text.graphemes import quote_text

if TYPE_CHECKING:
    from core.interpret.sentence_view import SentenceView
    from core.runs.comparison_data import ComparisonData
    from dashboard.figures.decisions import SplitPredictions
    from dashboard.reader import Reader

Found = TypeVar("Found")
LONGEST = 80  # characters of a text next to a heading


@dataclass(frozen=True)
class ValueRange:
    """The numbers from `low` to `high` that an option may have."""

    low: float
    high: float
    step: float


@dataclass(frozen=True)
class FreeText:
    """Any text that a person types."""


FREE = FreeText()


@dataclass(frozen=True, eq=False)
class Option:
    """A choice of a person: a widget on a page, a parameter of its link, `--with NAME=VALUE`."""

    name: str
    label: str
    values: Callable[[Source], Sequence[str] | ValueRange | FreeText]
    """The possible values for this run, the default first; one or none: there is nothing to choose."""
    about: str = ""  # help for the widget
    usual: Callable[[Source], str | float] | None = None
    """The default value; None: the first value."""
    words: Callable[[Source, Any], str] | None = None
    """A value in words for the heading of an exported figure; None: the value, if not the default."""
    endings: Mapping[str, str] = field(default_factory=dict)
    """Value → the end of the file's name, for figures that are exported once for each value."""
    version: Callable[[Source], str] | None = None
    """Changes when what the values mean does, while no file of the run changes."""

    def has_choices(self, source: Source) -> bool:
        """Tell whether there is anything to choose for this run."""
        return bool(self.values(source))

    def get_default(self, source: Source) -> str | float:
        """Return the value that is used where nothing was chosen."""
        if self.usual is not None:
            return self.usual(source)
        values = self.values(source)
        if isinstance(values, ValueRange):
            return values.low
        return "" if isinstance(values, FreeText) else next(iter(values), "")

    def parse_value(self, source: Source, said: str | float) -> str | float:
        """Read a value of a link or a flag; InputError: it is not among the possible ones."""
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
        """Return the key under which drawings with this choice are cached."""
        return f"{self.name}={source.get_choice(self)}{'' if self.version is None else self.version(source)}"

    def describe_choice(self, source: Source) -> str:
        """Return the chosen value in words."""
        if not self.has_choices(source):
            return ""
        value = source.get_choice(self)
        if self.words is not None:
            return self.words(source, value)
        if value == self.get_default(source):
            return ""
        return f"{self.label.lower()} {value:.2f}" if isinstance(value, float) else value


EDIT = "edit"  # the name of `Source.edits` in a link and for `--with`


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
        """Set up what figures of one run are drawn from; InputError: the split was not evaluated.

        Args:
            record: Of a run that is not damaged.
            reader: Where its files are read.
            others: Finished runs that it is compared with.
            split: Empty: test, or the last that was evaluated.
            text: A text to look into; empty: none.
            edits: What is changed inside the model when it reads the text.
            choices: Values of options by name; all others have their usual ones.
            author: The person who looks and may see some of the codes; None: all.
        """
        self.record, self.reader, self.text, self.author, self._edits = record, reader, text, author, edits
        self.others = tuple(others)
        self.choices = dict(choices or {})
        self.used: set[str] = set()
        """Names of the choices that a figure has asked for."""
        self._once: dict[Callable[[Source], Any], Any] = {}
        self.splits = reader.list_splits(record.run)
        if split and split not in self.splits:
            found = ", ".join(sorted(self.splits)) or "none: it is not evaluated yet"
            raise InputError(f"run '{record.run}' has no predictions of a split '{split}'; it has {found}")
        self.split = split or ("test" if "test" in self.splits else next(reversed(self.splits), ""))

    @property
    def edits(self) -> Edits:
        """Return the edits inside the model that apply when it reads the text."""
        self.used.add(EDIT)
        return self._edits

    def get_choice(self, option: Option) -> str | float:
        """Return the value of an option; InputError: this run has no such value."""
        if option.name not in self.choices:
            return option.get_default(self)
        self.used.add(option.name)
        return option.parse_value(self, self.choices[option.name])

    def copy_with_choices(self, **choices: Any) -> Source:
        """Return a copy of the source with other choices."""
        other = copy.copy(self)
        other.choices, other._once = {**self.choices, **choices}, {}
        return other

    def read_once(self, read: Callable[[Source], Found]) -> Found:
        """Return the result of `read` for this source; several figures that need it share it."""
        if read not in self._once:
            self._once[read] = read(self)
        found: Found = self._once[read]
        return found

    @cached_property
    def sides(self) -> ComparisonData:
        """Return the run and the runs to compare, on the same rows; NotAvailable: there are no others."""
        if not self.others:
            raise NotAvailable("it is of several runs: name others with --against")
        return self.reader.align_predictions([each.run for each in (self.record, *self.others)], self.split)

    @property
    def evaluated(self) -> str:
        """Return the split; NotAvailable: none has been evaluated."""
        if not self.split:
            raise NotAvailable(f"it is {self.record.status} and has not been evaluated")
        return self.split

    @cached_property
    def report(self) -> SplitPredictions:
        """Return the answers of the run to the split; NotAvailable: no split has been evaluated."""
        return self.reader.make_report(self.record, self.evaluated)

    @cached_property
    def view(self) -> SentenceView:
        """Return the text as the model reads it; NotAvailable: there is no text."""
        if not self.text.strip():
            raise NotAvailable("a sentence is needed: --text")
        view = self.reader.inspect_text(self.record.run, self.text, self.edits)
        if not view.tokens:
            raise NotAvailable("the model knows no word of this text")
        return view

    @property
    def quoted(self) -> str:
        """Return the beginning of the text."""
        return quote_text(self.text, LONGEST)
