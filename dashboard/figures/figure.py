"""Declaration of figures, their options and the data sources that they read, for pages, exports and notebooks."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from core.exceptions import InputError, NotAvailable
from core.interpret.model_edits import UNCHANGED, Edits
from core.models.capabilities import list_capabilities
from core.runs.record import RunRecord
from core.text.graphemes import quote_text
from dashboard.figures.drawing import Component, DataTable, Drawing
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import IntervalTable
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

    from core.error_analysis.split_analysis import SplitAnalysis
    from core.interpret.sentence_inspection import SentenceView
    from core.runs.comparison import ComparisonData
    from dashboard.figures.decisions import SplitPredictions
    from dashboard.reader import Reader

Found = TypeVar("Found")
LONGEST = 80  # most characters of a text next to a heading
EDIT = "edit"  # name of `Source.edits` in links and in `--with`
OF_SPLIT = ("performance", "errors", "embeddings", "tokens")  # pages whose figures show a split
OF_TAGGED = ("tokens", "train", "models")  # pages whose figures also exist for runs that tag words
OF_TEXT = ("sentence", "steps")  # pages whose figures show one text


@dataclass(frozen=True)
class ValueRange:
    """Range of numbers from `low` to `high` that a figure's option accepts."""

    low: float
    high: float
    step: float


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


QuietOption = partial(Option, words=lambda source, value: "")
"""Option whose value the heading of an exported figure leaves out."""


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

        The record must not be damaged; `others` are finished runs to compare with. Empty split: test, or the last
        evaluated one. `edits` change the model for the forward pass of the text; `choices` are option name → value;
        `author` is the annotator whose codes may be shown, None: all.
        """
        self.record, self.reader, self.text, self.author, self._edits = record, reader, text, author, edits
        self.others = tuple(others)
        self.choices = dict(choices or {})
        self.used: set[str] = set()  # names of the options that figures have read
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


Shape = TypeVar("Shape")
Words = str | Callable[[Shape], str]


@dataclass(frozen=True)
class Figure(Generic[Shape]):
    """Figure that is declared once under a name: how to read its data, how to draw it and how to describe it."""

    name: str  # in exported files, downloads and `--only`
    page: str  # the module of `screens` that shows it; figures that the page does not place come last
    title: Words[Shape] = ""
    read: Callable[[Source], Shape] | None = None
    """Reads the data to draw from a run; raises `NotAvailable` with the reason if the run has none. None: the figure
    belongs to a data set or a sweep, and its page passes the data."""
    draw: Callable[[Shape, Look], Drawing] = lambda shape, look: DataTable(cast("pd.DataFrame", shape))
    """Draws them as a chart, a table, or one of our components; by default a table is drawn as it is."""
    note: Words[Shape] = ""  # n, or the setting; shown next to the heading
    reading: Words[Shape] = ""  # how to read it, in a sentence; also part of the alternative text
    finding: Callable[[Shape], str] | None = None
    """What it shows, as a sentence with a number: the headline of the presenter, which shows no other figure."""
    exhibit: Callable[[Shape, Look], Drawing] | None = None  # how the presenter draws it; None: as the page does
    how: Words[Shape] = ""  # how it is computed: at most three sentences of Markdown
    needs: str = ""  # required capability of the model (`core.models.capabilities`)
    options: tuple[Option, ...] = ()  # settings that the user can change
    spread: tuple[Option, ...] = ()  # options for which `sentiscope figures` writes one file for each value
    tables: Callable[[Shape], Mapping[str, pd.DataFrame]] | None = None  # its numbers: file name → table
    sizes: Callable[[Shape], Mapping[str, int]] | None = None
    """Number of texts behind each part; a page warns if it is below `decisions.FEW`."""
    analysis: type[SplitAnalysis[Any]] | None = None  # analysis that Errors offers to compute if it is missing

    def add_details(self, **details: Any) -> Figure[Any]:
        """Return the figure with texts, options and tables, named as the fields of this class."""
        return replace(self, **details)

    def read_data(self, source: Source) -> Shape:
        """Read the data that a figure draws; NotAvailable: the run has no such data, InputError: wrong option."""
        if source.record.task == "tokens" and self.page not in OF_TAGGED:
            raise NotAvailable("the run gives each word a tag, and this is about labels of whole texts")
        if self.needs and self.needs not in list_capabilities(source.record.config.model):
            raise NotAvailable(f"{source.record.preset} has no {self.needs.replace('-', ' ')}")
        if self.read is None:
            raise NotAvailable("it is not a figure of a run")
        return self.read(source)

    def is_available(self, source: Source) -> bool:
        """Tell whether a run has the data that a figure draws."""
        try:
            self.read_data(source)
        except NotAvailable:
            return False
        return True

    def build_tables(self, shape: Shape) -> dict[str, pd.DataFrame]:
        """Return the data tables of a figure by file name; empty if it has none."""
        return dict(self.tables(shape)) if self.tables else {}

    def resolve_text(self, words: Words[Shape], shape: Shape) -> str:
        """Return a text of a figure (such as title or note): a fixed one, or one computed from the data drawn."""
        return words(shape) if callable(words) else words

    def write_alt_text(self, shape: Shape, note: str, reading: str) -> str:
        """Return the alternative text of a figure: its title, a note, and how to read it."""
        return f"{', '.join(filter(None, (self.resolve_text(self.title, shape), note)))}. {reading}"

    def write_caption(self, source: Source, shape: Shape) -> str:
        """Return a figure's caption for use outside a page: split, note, chosen options and input text."""
        about = source.split if self.page in OF_SPLIT else ""
        chosen = [option.describe_choice(source) for option in self.options]
        quoted = f"in {source.quoted}" if self.page in OF_TEXT else ""
        return ", ".join(filter(None, (about, self.resolve_text(self.note, shape), *chosen, quoted)))

    def iterate_variants(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name of every file that is exported for a figure, with its option values."""
        for values in product(*(option.endings for option in self.spread)):
            named = {option: value for option, value in zip(self.spread, values, strict=True) if option.endings[value]}
            ending = "".join(option.endings[value] for option, value in named.items())
            yield self.name + ending, {option.name: value for option, value in named.items()}


def make_interval_figure(
    name: str,
    page: str,
    title: Words[Shape],
    read: Callable[[Source], Shape],
    table: Callable[[Shape], IntervalTable],
    file: str,
    more: Callable[[Shape], Mapping[str, pd.DataFrame]] = lambda shown: {},
    **words: Any,
) -> Figure[Shape]:
    """Build a figure from a table with intervals whose rows can be selected; `more` tables are exported with it."""

    def draw_table(shown: Shape, look: Look) -> Component:
        return build_component(table(shown).marks, look, picked=getattr(shown, "picked", ""), picks=True)

    def build_tables(shown: Shape) -> dict[str, pd.DataFrame]:
        return {file: table(shown).frame, **more(shown)}

    return Figure(name, page, title, read, draw_table, tables=build_tables, **words)
