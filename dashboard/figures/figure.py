"""Declaration of figures: pages, the command line, exported files and notebooks use the same objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from core.exceptions import NotAvailable
from core.models.capabilities import list_capabilities
from dashboard.figures.drawing import Component, Drawing
from dashboard.figures.interval_drawing import build_component
from dashboard.figures.interval_table import IntervalTable
from dashboard.figures.source import Option, Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    import pandas as pd

    from core.error_analysis.split_analysis import SplitAnalysis

Shape = TypeVar("Shape")
Words = str | Callable[[Shape], str]


OF_SPLIT = ("performance", "errors", "embeddings", "tokens")  # pages whose figures show a split
OF_TAGGED = ("tokens", "train", "models")  # pages whose figures also exist for runs that tag words
OF_TEXT = ("sentence", "steps")  # pages whose figures show one text


@dataclass(frozen=True)
class Figure(Generic[Shape]):
    """Figure that is declared once under a name: how to read its data, how to draw it and how to describe it."""

    name: str  # in exported files, downloads and `--only`
    page: str  # the module of `screens` that shows it; figures that the page does not place come last
    title: Words[Shape]
    read: Callable[[Source], Shape] | None
    """Reads the data to draw from a run; raises `NotAvailable` with the reason if the run has none. None: the figure
    belongs to a data set or a sweep, and its page passes the data."""
    draw: Callable[[Shape, Look], Drawing]  # as a chart, a table, or one of our components
    note: Words[Shape] = ""  # n, or the setting; shown next to the heading
    reading: Words[Shape] = ""  # how to read it, in a sentence; also part of the alternative text
    finding: Callable[[Shape], str] | None = None
    """What it shows, as a sentence with a number: the headline of the presenter, which shows no other figure."""
    how: Words[Shape] = ""  # how it is computed: at most three sentences of Markdown
    needs: str = ""  # required capability of the model (`core.models.capabilities`)
    options: tuple[Option, ...] = ()  # settings that the user can change
    spread: tuple[Option, ...] = ()  # options for which `sentiscope figures` writes one file for each value
    tables: Callable[[Shape], Mapping[str, pd.DataFrame]] | None = None  # its numbers: file name → table
    sizes: Callable[[Shape], Mapping[str, int]] | None = None
    """Number of texts behind each part; a page warns if it is below `decisions.FEW`."""
    analysis: type[SplitAnalysis[Any]] | None = None  # analysis that Errors offers to compute if it is missing

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

    def get_choices(self, source: Source) -> tuple[str, ...]:
        """Return the cache key parts of a figure's option values, for the options that apply to a run."""
        return tuple(option.make_cache_key(source) for option in self.options if option.has_choices(source))

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
    title: str,
    read: Callable[[Source], Shape],
    table: Callable[[Shape], IntervalTable],
    file: str,
    more: Callable[[Shape], Mapping[str, pd.DataFrame]] = lambda shown: {},
    **words: Any,
) -> Figure[Shape]:
    """Build a figure from a table with intervals whose rows can be selected; `more` tables are exported with it."""

    def draw_table(shown: Shape, look: Look) -> Component:
        """Draw the interval table of a figure, with selectable rows."""
        return build_component(table(shown).marks, look, picked=getattr(shown, "picked", ""), picks=True)

    def build_tables(shown: Shape) -> dict[str, pd.DataFrame]:
        """Return the tables that a figure exports: the numbers of its main table, and any further tables."""
        return {file: table(shown).frame, **more(shown)}

    return Figure(name, page, title, read, draw_table, tables=build_tables, **words)
