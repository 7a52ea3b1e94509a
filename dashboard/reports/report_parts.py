"""Parts of a report as HTML: dashboard figures, sections, small tables and lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from core.error_analysis.neighbors import NearestTraining
from core.error_analysis.predictions_table import read_table
from core.error_analysis.row_annotations import Annotations
from core.error_analysis.tags import TableTags
from core.exceptions import InputError, NotAvailable, RunDamaged
from core.formatting import BOM, count, format_csv
from core.runs.predictions import Answers
from core.runs.record import LABEL, PROBABILITY, RunRecord
from core.runs.store import RunStore
from dashboard.figures.drawing import DataTable, Drawing, Node, make_node, read_asset, write_node
from dashboard.figures.figure import Figure, Source
from dashboard.figures.registry import ALL, FIGURES
from dashboard.figures.row_selection import RowSelection, SplitFacts, apply_query
from dashboard.figures.theme import Look, make_config
from dashboard.reader import Reader

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.comparison import ComparisonData

LOOK = Look()
BEST_MAPS = ("map-tsne", "map-umap", "map-pca")
MOST_BARS = 10_000
"""Most bars in one chart, such as the cells of a matrix of 100 classes; more would block a browser for minutes."""
SVG_POINTS = 6_000  # most points of a map that is drawn as vector graphics, which print well and need no graphics card
HEIGHT, HALF, WIDEST, MOST_COLUMNS = 380, 470, 2, 5
"""Height of a chart that sets none; limits of height (pixels), panels and table columns of a half-width figure."""


@dataclass
class ReportData:
    """The charts, components and tables of a report, collected for the script in its HTML file."""

    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Figure id → Plotly chart in light, its difference in dark, and Plotly's settings."""
    components: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Figure id → name of the component, its data in light, and the difference in dark."""
    numbers: dict[str, str] = field(default_factory=dict)  # file → CSV
    figures: list[str] = field(default_factory=list)  # names of the drawn figures
    left_out: dict[str, str] = field(default_factory=dict)  # figure → reason
    told: bool = True  # whether texts and the data's own columns may be shown

    @property
    def scripts(self) -> list[str]:
        """Return the names of the JavaScript components that the script of a report draws."""
        return sorted({each["name"] for each in self.components.values()})


@dataclass(frozen=True)
class Section:
    """A section of a report: a heading with the HTML below it."""

    name: str  # anchor for links
    title: str
    n: int  # number of items in the section
    of: str  # what the items are, such as `sentences`
    markup: str

    @property
    def note(self) -> str:
        """Return the text after a section's heading: the number of items in the section, such as `1 194 sentences`."""
        return f"{count(self.n)} {self.of}"


def write_paragraph(words: str, kind: str = "") -> str:
    """Write plain text as an HTML paragraph, with its characters escaped."""
    return write_node(make_node("p", words, **({"class_": kind} if kind else {})))


def write_notice(title: str, words: str) -> str:
    """Write an HTML box with a notice that a reader must see before the figures."""
    return write_node(make_node("div", make_node("b", title), make_node("p", words), class_="finding"))


def write_facts(pairs: Mapping[str, str]) -> str:
    """Write names and values as an HTML definition list, leaving out empty values."""
    parts = [part for name, value in pairs.items() if value for part in (make_node("dt", name), make_node("dd", value))]
    return write_node(make_node("dl", *parts))


def write_table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Node]], numbers: Sequence[str] = ()
) -> str:
    """Write a small HTML table; each row begins with its heading, and columns named in `numbers` are right-aligned."""
    side = [{"class_": "number"} if name in numbers else {} for name in columns]
    head = [make_node("th", name, scope="col", **each) for name, each in zip(columns, side, strict=True)]
    body = []
    for first, *rest in rows:
        cells = (make_node("td", cell, **each) for cell, each in zip(rest, side[1:], strict=True))
        body.append(make_node("tr", make_node("th", first, scope="row", **side[0]), *cells))
    parts = make_node("thead", make_node("tr", *head)), make_node("tbody", *body)
    return wrap_table(write_node(make_node("table", make_node("caption", title), *parts)), title)


def arrange_figures(figures: Sequence[str]) -> str:
    """Wrap the HTML of figures so that they are placed side by side on wide screens; empty without figures."""
    there = "".join(figures)
    return f'<div class="figures">{there}</div>' if there else ""


def list_page_figures(pages: Sequence[str], without: Iterable[str] = ()) -> list[str]:
    """List the figures on some dashboard pages by name; of a figure with variants, only the first."""
    names = {figure.name: name for name, (figure, _) in reversed(FIGURES.items())}
    return [names[figure.name] for figure in ALL if figure.page in pages and figure.name not in without]


def write_figure(name: str, source: Source, found: ReportData, prefix: str = "") -> str:
    """Write a named figure as HTML; if the run has no data for the figure, note the reason in `found`.

    Of the embedding maps, only the best computed one is written. `prefix` keeps ids of several runs apart.
    """
    reasons: dict[str, str] = {}
    for each in BEST_MAPS if name in BEST_MAPS else (name,):
        figure, choices = FIGURES[each]
        here, told = source.copy_with_choices(**choices) if choices else source, f"{prefix}{each}"
        try:
            if not found.told and each not in WITHOUT_TEXTS:
                raise NotAvailable(NO_TEXTS)
            shape = figure.read_data(here)
        except (InputError, NotAvailable, RunDamaged) as error:
            reasons[told] = str(error)
            continue
        found.figures.append(told)
        return write_shape(figure, shape, found, told, figure.write_caption(here, shape), numbers=name not in BEST_MAPS)
    found.left_out |= reasons
    return ""


def write_shape(
    figure: Figure[Any], shape: Any, found: ReportData, name: str, note: str = "", *, numbers: bool = True
) -> str:
    """Write a figure as HTML: title, drawing, how to read it, how it is computed, and its numbers as CSV."""
    title, reading, how = (figure.resolve_text(words, shape) for words in (figure.title, figure.reading, figure.how))
    note = note or figure.resolve_text(figure.note, shape)
    alt = figure.write_alt_text(shape, note, reading)
    drawing = figure.draw(shape, LOOK)
    drawn = _write_drawing(drawing, found, name, alt, title)
    files = _make_downloads(figure, shape, found, name) if numbers else []
    about = make_node("summary", "How this is computed"), make_node("p", _strip_markdown(how))
    foot = make_node("details", *about) if how else None, make_node("p", *files, class_="files") if files else None
    heading = make_node("h3", title, make_node("small", note) if note else None)
    caption = make_node("figcaption", make_node("p", _strip_markdown(reading)) if reading else None, *foot)
    wide = ' class="wide"' if _is_wide(drawing) else ""
    return f'<figure id="{write_node(name)}"{wide}>{write_node(heading)}{drawn}{write_node(caption)}</figure>'


def _is_wide(drawing: Drawing) -> bool:
    """Return whether a drawing needs the full page width: it has many panels or columns, or is high."""
    if isinstance(drawing, go.Figure):
        panels = sum(str(name).startswith("xaxis") for name in drawing.layout.to_plotly_json())
        return panels > WIDEST or (drawing.layout.height or 0) > HALF
    if isinstance(drawing, DataTable):
        return len(drawing.rows.columns) > MOST_COLUMNS + 1
    return drawing.still is None or drawing.still().count('scope="col"') > MOST_COLUMNS


def _write_drawing(drawing: Drawing, found: ReportData, name: str, alt: str, title: str) -> str:
    if isinstance(drawing, go.Figure):
        if (bars := _count_points(drawing, "bar")) > MOST_BARS:
            return write_node(make_node("p", f"{count(bars)} bars are too many for a file; the numbers are below."))
        words = _serialize_chart(drawing)
        found.charts[name] = {"chart": words, "config": make_config(name)}
        style = f"height:{int(words['layout'].get('height') or HEIGHT)}px"
        chart = {"class_": "chart", "data_chart": name, "role": "group", "aria_label": alt, "style": style}
        return write_node(make_node("div", **chart))
    if isinstance(drawing, DataTable):
        caption = f"<caption>{write_node(title)}</caption>"
        return wrap_table(drawing.to_html().replace("<table>", f"<table>{caption}", 1), title)
    if drawing.still is not None:
        style = f"<style>{read_asset(f'{drawing.name}.css')}</style>"  # the report already includes it
        about = f'tabindex="0" role="group" aria-label="{write_node(title)}"'
        return f'<div class="scroll" {about}>{drawing.still().removeprefix(style)}</div>'
    found.components[name] = {"name": drawing.name, "data": drawing.data}
    place = {"data_component": name, "role": "group", "aria_label": alt}
    return write_node(make_node("div", make_node("div", class_=drawing.name), **place))


def wrap_table(table: str, title: str) -> str:
    """Wrap an HTML table so that it can be scrolled, also by keyboard, where the page is narrower."""
    return f'<div class="table" tabindex="0" role="group" aria-label="{write_node(title)}">{table}</div>'


def _serialize_chart(figure: go.Figure) -> dict[str, Any]:
    """Return a Plotly chart as plain data; a chart with few points is drawn as vector graphics."""
    words: dict[str, Any] = json.loads(figure.to_json())
    for trace in words["data"]:
        if trace.get("type") == "scattergl" and _count_points(figure) <= SVG_POINTS:
            trace["type"] = "scatter"
    return words


def _count_points(figure: go.Figure, kind: str = "") -> int:
    traces = [trace for trace in figure.data if trace.type.startswith(kind)]
    return sum(len(trace.x) for trace in traces if getattr(trace, "x", None) is not None)


def _make_downloads(figure: Figure[Any], shape: Any, found: ReportData, name: str) -> list[Node]:
    buttons: list[Node] = []
    for label, table in figure.build_tables(shape).items():
        file = f"sentiscope-{name}-{label.lower().replace(' ', '-')}.csv"
        found.numbers[file] = format_csv(table).removeprefix(BOM)  # the report's script adds it again
        buttons.append(make_node("button", f"{label} · CSV", type="button", data_file=file))
    return buttons


def _strip_markdown(markdown: str) -> str:
    return markdown.replace("`", "").replace("*", "")


WITHOUT_TEXTS = frozenset(
    (
        *("metrics", "confusion", "confidence", "each-class", "labels", "roc", "pr", "calibration", "costs"),
        *("error-tags", "map-pca", "map-tsne", "map-umap", "silhouettes-pca", "silhouettes-tsne", "silhouettes-umap"),
        *("learning", "course", "final-values", "numbers", "parts", "behaviour", "belief"),
        *("attention-heads", "attention-mass", "attention-distance", "attention-deviation", "attention-gates"),
        *("attention-received", "attention-importance", "attention-lambda"),
        *("compare-models", "compare-pairs", "compare-matrix", "compare-roc", "compare-calibration"),
        *("compare-lambdas", "compare-cost"),
    )
)
"""Figures that show neither texts nor the data's own columns."""
NO_TEXTS = "it may show texts, and the run keeps none"
_OURS = ("label", "predicted")


class ReportReader(Reader):
    """A class that reads runs for one report, and reads the rows of each split only once."""

    def __init__(self, store: RunStore, author: str | None = None, *, told: bool = True) -> None:
        """Set up the reading of runs for a report, given a store, an author and whether texts may be shown.

        Args:
            store: The folder of the runs.
            author: The annotator whose codes are shown; None: all.
            told: Whether texts and the data's own columns may be shown.
        """
        super().__init__(store)
        self.told, self._author = told, author
        self._known: dict[tuple[str, str], SplitFacts] = {}
        self._chosen: dict[tuple[str, str, str, str], RowSelection] = {}

    def read_tagged_rows(self, record: RunRecord, split: str) -> SplitFacts:
        """Return the rows of a split with all their error tags."""
        name = record.run, split
        if name not in self._known:
            table = read_table(self.store(), *name)
            if not self.told:  # the texts are still needed to find tags
                table = replace(table, frame=table.frame.drop(columns=list(table.own)), own=())
            tagged = TableTags(self.store(), table)
            self._known[name] = SplitFacts(table, tagged, NearestTraining(table, tagged.training))
            self._known[name].find_tags()
        return self._known[name]

    def select_tagged_rows(
        self, record: RunRecord, split: str, select: str, author: str | None = None, *, against: str = ""
    ) -> RowSelection:
        """Return the split rows that match a link's filter, with all error tags; `against`: a run to compare with."""
        name = record.run, split, select, against
        if name not in self._chosen:
            known = self.read_tagged_rows(record, split).add_peer_run(against)
            self._chosen[name] = apply_query(known, select, self.store(), self.read_annotations(record))
        return self._chosen[name]

    def read_annotations(self, record: RunRecord, author: str | None = None) -> Annotations:
        """Return the annotations that the report's author may see; the author passed as an argument is ignored."""
        return super().read_annotations(record, self._author)

    def align_predictions(self, runs: Sequence[str], split: str) -> ComparisonData:
        """Return several runs' predictions on shared rows, without texts if a report may not show them."""
        found = super().align_predictions(runs, split)
        if self.told:
            return found

        def remove_texts(answers: Answers) -> Answers:
            return replace(answers, texts=_make_placeholders(len(answers)), columns=answers.columns.iloc[:, :0])

        bare = (
            replace(side, answers={run: remove_texts(answers) for run, answers in side.answers.items()})
            for side in found.sides
        )
        return replace(found, sides=tuple(bare))

    def read_predictions(self, record: RunRecord, split: str) -> pd.DataFrame:
        """Read the predictions of a split, without texts and the data's own columns if a report may not show them."""
        found = super().read_predictions(record, split)
        if self.told:
            return found
        ours = [name for name in found if name in _OURS or str(name).startswith((LABEL, PROBABILITY))]
        bare = found[ours]
        bare.insert(0, "text", _make_placeholders(len(found)))
        return bare


def _make_placeholders(rows: int) -> list[str]:
    return [f"sentence {row}" for row in range(rows)]
