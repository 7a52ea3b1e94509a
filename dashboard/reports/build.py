"""The assembly of a report as one HTML file, with its sections, figures and data.

Data and plotly.js are compressed, so that browsers never parse their text as markup. The content security policy allows
only scripts with a listed digest, and no requests.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

import core
from core.atomic import write_named
from core.error_analysis.codebook import list_draws
from core.error_analysis.row_annotations import Annotations
from core.exceptions import InputError
from core.formatting import count
from core.runs.archive import remove_paths
from core.runs.record import RunRecord, refuse_tagged
from core.runs.store import RunStore
from dashboard.figures.drawing import make_node, read_asset, to_draw_script, write_node
from dashboard.figures.figure import Source
from dashboard.figures.model_comparison import MOST, PAIRS
from dashboard.figures.theme import COLORS, LIGHT
from dashboard.reports import report_parts, report_sections
from dashboard.reports.report_parts import ReportData, ReportReader, Section, write_notice, write_paragraph


def write_html(told: _Parts, sections: Sequence[Section], again: str) -> str:
    """Write a report as an HTML document; `again` is the command that builds it."""
    found, plotly = told.found, get_plotlyjs()
    data = {"charts": found.charts, "components": found.components, "numbers": found.numbers, "rows": told.rows}
    drawn = [  # name of each browser component → its drawing function
        f"{json.dumps(name)}: (() => {{\n{to_draw_script(read_asset(f'{name}.js'))}\nreturn draw;\n}})()"
        for name in found.scripts
    ]
    script = f"const DRAW = {{{', '.join(drawn)}}};\n{read_asset('report.js')}"
    runs = [script, plotly] if found.charts else [script]
    packed = _pack_bytes("data", json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    packed += _pack_bytes("plotly", plotly.encode()) if found.charts else ""
    made = f"Made by Sentiscope {core.__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with"
    first = "" if told.told else write_notice(*UNTOLD)
    foot = make_node("p", made, " ", make_node("code", again))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_write_policy(runs, found)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light">'
        f"<title>{write_node(told.title)} · Sentiscope</title><style>{_write_styles(found.scripts)}</style></head>"
        f"<body>{_write_head(told, sections)}<main>{first}{''.join(map(_write_section, sections))}</main>"
        f"{write_node(make_node('footer', foot))}{packed}<script>{script}</script></body></html>\n"
    )


def _write_head(told: _Parts, sections: Sequence[Section]) -> str:
    links = [
        make_node("li", make_node("a", each.title, href=f"#{each.name}"), make_node("small", each.note))
        for each in sections
    ]
    facts = make_node("ul", *(make_node("li", each) for each in told.facts), class_="facts")
    about = make_node("p", "Sentiscope report", class_="kind"), make_node("h1", told.title), facts
    return write_node(make_node("header", *about, make_node("nav", make_node("ul", *links), aria_label="Sections")))


def _write_section(section: Section) -> str:
    heading = make_node("h2", section.title, make_node("small", section.note), id=f"{section.name}-heading")
    return (
        f'<section id="{write_node(section.name)}" aria-labelledby="{write_node(section.name)}-heading">'
        f"{write_node(heading)}{section.markup}</section>"
    )


def _pack_bytes(name: str, content: bytes) -> str:
    """Return compressed bytes as an HTML element that browsers neither run nor show."""
    zipped = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
    return f'<script type="application/octet-stream" id="packed-{name}">{zipped}</script>'


def _write_policy(runs: Sequence[str], found: ReportData) -> str:
    """Write the content security policy of a report: no requests, and no scripts other than the listed ones."""
    scripts = [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in runs]
    traces = [trace for chart in found.charts.values() for trace in chart["chart"]["data"]]
    if any(trace.get("type") in ("scattergl", "scatter3d") for trace in traces):
        scripts.append("'unsafe-eval'")  # Plotly generates code for WebGL at run time
    rest = "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {' '.join(scripts)}; {rest}"


def _write_styles(scripts: Sequence[str]) -> str:
    colors = {**LIGHT.select_colors(*COLORS), "rule": LIGHT.grid, "st-text-color": LIGHT.ink}
    colors |= {"st-background-color": LIGHT.paper, "st-primary-color": LIGHT.accent}
    root = f":root {{ {''.join(f'--{name}: {color}; ' for name, color in colors.items())} }}"
    return "\n".join((root, read_asset("report.css"), *(read_asset(f"{name}.css") for name in ("marks", *scripts))))


OnProgress = Callable[[str, float | None], None]

PARTS = (
    ("results", "Results", ("performance",), ()),
    ("errors", "Errors", ("errors",), ()),
    ("map", "Sentence map", ("embeddings",), ()),
    ("behaviour", "Behaviour and explanations", ("behave", "attention"), ("belief",)),
    ("learning", "Training", ("train",), ()),
    ("model", "Model", ("models",), ()),
)
"""Sections of a run's report: name, title, pages whose figures it shows, and further figures."""
OF_EACH = ("metrics", "confusion", "learning")  # figures of each run in a comparison
LIST = ("errors",)  # lists of sentences: a report has its own table
UNTOLD = (
    "The texts are not in this report",
    "The run keeps no texts (`--no-texts`): sentences, own columns, notes, definitions and examples are left out.",
)


@dataclass(frozen=True)
class BuiltReport:
    """A finished report as HTML, with a summary of its contents."""

    markup: str
    about: dict[str, Any]


def report(
    runs: Sequence[str],
    output: Path | str = "",
    *,
    split: str = "",
    store: RunStore | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Write a report on some runs to a file; arguments, result and errors as `core.api.report`."""
    names = list(dict.fromkeys(runs))
    file = Path(output) if output else Path(f"sentiscope-report-{'-'.join(names)[:120]}.html")
    if file.expanduser().exists():
        raise InputError(f"--to {str(file)!r:.200}: it is there already; name another file, or remove it first")
    if not file.expanduser().absolute().parent.is_dir():  # checked before the figures are drawn, which takes long
        raise InputError(f"--to {str(file)!r:.200}: cannot be written: there is no such folder")
    made = build_report(names, split=split, store=store, on_progress=on_progress)
    write_named("--to", file, made.markup)
    return {"file": str(file), **made.about}


def build_report(
    runs: Sequence[str],
    *,
    split: str = "",
    author: str | None = None,
    no_paths: bool = False,
    store: RunStore | None = None,
    on_progress: OnProgress | None = None,
) -> BuiltReport:
    """Build a report on some runs as HTML text; arguments and errors as `core.api.report`.

    `author` may see their own codes, None all; `no_paths` hides file paths from visitors of a server.
    """
    store, names = store or RunStore(), list(dict.fromkeys(runs))
    if not names:
        raise InputError("name a run, or several on the same rows; `sentiscope runs list` shows all")
    records = [store.read(name) for name in names]
    reading = ReportReader(store, author, told=all(record.config.data.texts for record in records))
    for record in records:
        refuse_tagged(record)
        if not reading.list_splits(record.run):
            why = f"run '{record.run}' is {record.status} and has not been evaluated"
            raise InputError(f"{why}: nothing can be reported")
    kind = _Comparison if len(records) > 1 else _Run
    made = kind(reading, records, split, on_progress or (lambda what, share: None))
    made.no_paths = no_paths
    return made.assemble_report(shlex.join(["sentiscope", "report", *names, *(["--split", split] if split else [])]))


class _Parts(ABC):
    """The base class of reports on one run or on several, with the figures and sections collected so far."""

    kind = title = ""
    many = 0  # number of figures, for the progress

    def __init__(self, reading: ReportReader, records: Sequence[RunRecord], split: str, tell: OnProgress) -> None:
        self.reading, self.records, self.tell = reading, list(records), tell
        self.record = self.records[0]
        self.source = self.make_source(split)
        self.split, self.told = self.source.split, reading.told
        self.found = ReportData(told=self.told)
        self.table = reading.read_tagged_rows(self.record, self.split).table  # the predictions of the first run
        self.n = len(self.table.frame)
        self.facts = [f"{count(self.n)} {self.split} sentences of {Path(self.record.config.data.name).name}"]
        self.rows: dict[str, Any] = {}
        self.no_paths = False
        self._done = 0

    def make_source(self, split: str) -> Source:
        """Return the data source (runs, split, reader) from which the figures of a report are drawn."""
        return Source(self.record, self.reading, others=self.records[1:], split=split)

    @abstractmethod
    def build_sections(self) -> Iterator[Section]:
        """Yield the sections of a report in order."""

    def build_cards(self, record: RunRecord, name: str = "card") -> tuple[Section, Section]:
        """Return two report sections on a run: the run card (model, training, how to repeat it), and all settings."""
        told = replace(record, config=remove_paths(record.config)) if self.no_paths else record
        return report_sections.write_run_card(told, self.reading.store(), name), report_sections.write_settings(told)

    def draw_figures(self, names: Sequence[str], source: Source, prefix: str = "") -> str:
        """Draw named figures as HTML, without those that the run has no data for, and report progress for each."""
        parts = []
        for name in names:
            self._done += 1
            self.tell(f"drawing {name}", min(1.0, self._done / self.many))
            parts.append(report_parts.write_figure(name, source, self.found, prefix))
        return report_parts.arrange_figures(parts)

    def assemble_report(self, again: str) -> BuiltReport:
        """Assemble the HTML of a report and the summary of its contents."""
        sections = []
        for section in self.build_sections():
            self.tell(section.title, None)
            sections.append(section)
        self.tell("writing", None)
        made = write_html(self, sections, again)
        about = {
            "bytes": len(made.encode("utf-8", "replace")),
            "kind": self.kind,
            "runs": [record.run for record in self.records],
            "split": self.split,
            "n": self.n,
            "texts": self.told,
            "command": again,
            "sections": [{"name": each.name, "title": each.title, "n": each.n} for each in sections],
            "figures": self.found.figures,
            "left_out": self.found.left_out,
        }
        return BuiltReport(made, about)

    def list_predictions(self, columns: list[dict[str, Any]], kept: report_sections.KeptRows) -> Section:
        """Return the report section of the prediction table, and store the table's columns for the report's script."""
        file, n = f"sentiscope-{self.record.run}-{self.split}", len(kept.places)
        self.rows = {"columns": columns, "n": n, "file": file}
        words = "Search, filter and sort; the CSV has the filtered rows, in this order."
        if not kept.whole:
            part = f"{count(n)} of {count(kept.of)}"
            words += f" This file holds {part} rows, errors first: more would make it too large."
        place = '<div id="rows"></div><noscript>The table of predictions needs JavaScript.</noscript>'
        return Section("predictions", "Predictions", n, "sentences", write_paragraph(words) + place)


class _Run(_Parts):
    kind = "run"
    many = sum(len(report_parts.list_page_figures(pages, LIST)) + len(more) for _, _, pages, more in PARTS)

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.title, seed = self.record.run, f"seed {self.record.config.training.seed}"
        self.facts = [self.record.described, *self.facts, seed]

    def build_sections(self) -> Iterator[Section]:
        """Yield the report sections of a run: results first, run card last."""
        coded, draws = self.reading.read_annotations(self.record), list_draws(self.reading.open_codebook(self.record))
        codes = report_sections.write_codes_section(coded, draws, self.table, told=self.told)
        for name, title, pages, more in PARTS:
            markup = self.draw_figures([*report_parts.list_page_figures(pages, LIST), *more], self.source)
            if name == "errors" and not self.table.wrong.any():
                markup = write_notice("No errors", f"All {count(self.n)} sentences are correct.")
                for each in report_parts.list_page_figures(pages, LIST):
                    self.found.charts.pop(each, None)
                    self.found.components.pop(each, None)
                    if each in self.found.figures:
                        self.found.figures.remove(each)
                        self.found.left_out[each] = "nothing is wrong"
            if markup:
                yield Section(name, title, *self._count_contents(name), markup)
            if name == "errors" and codes:
                yield codes
        yield self._collect_rows(coded)
        yield from self.build_cards(self.record)
        yield report_sections.write_data_card(self.record, self.table, self.found, no_paths=self.no_paths)

    def _count_contents(self, name: str) -> tuple[int, str]:
        tables = len({"behaviour", "belief"} & set(self.found.figures))
        sizes = {
            "errors": (int(self.table.wrong.sum()), f"of {count(self.n)} sentences wrong"),
            "learning": (self.record.results.get("steps", 0), "training steps"),
            "model": (self.record.parameters, "parameters"),
            "behaviour": (tables, "table" if tables == 1 else "tables"),
        }
        return sizes.get(name, (self.n, "sentences"))

    def _collect_rows(self, coded: Annotations) -> Section:
        said = self.table.frame["key"].isin({*coded.given, *coded.notes}).to_numpy(bool)
        kept = report_sections.select_rows(self.table.wrong, report_sections.measure_rows(self.table), said)
        tags = self.reading.read_tagged_rows(self.record, self.split).found_tags
        columns = report_sections.list_run_columns(self.table, kept.places, tags, told=self.told)
        keys = self.table.frame["key"].iloc[kept.places].tolist()
        columns += report_sections.list_code_columns(coded, keys, told=self.told)
        return self.list_predictions(columns, kept)


class _Comparison(_Parts):
    kind = "comparison"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.title = " · ".join(record.run for record in self.records)
        self.many = len(report_parts.list_page_figures(("compare",))) + len(OF_EACH) * len(self.records)

    def make_source(self, split: str) -> Source:
        """Return the data source from which a comparison's figures are drawn; InputError: too many models."""
        source = super().make_source(split)
        if len(source.sides.sides) > MOST:
            raise InputError(f"{len(source.sides.sides)} models: at most {MOST} can be compared; name fewer runs")
        return super().make_source(source.sides.split)  # a split on which all runs were evaluated

    def build_sections(self) -> Iterator[Section]:
        """Yield the report sections of a comparison: first the comparison itself, then one section for each run."""
        pairs = PAIRS.read_data(self.source)
        told = write_paragraph(pairs.summary, "told") + (write_paragraph(pairs.closest) if pairs.closest else "")
        models, names = len(self.source.sides.sides), report_parts.list_page_figures(("compare",))
        yield Section("comparison", "Comparison", models, "models", told + self.draw_figures(names, self.source))
        yield self._collect_rows()
        for place, record in enumerate(self.records, 1):
            own, prefix = Source(record, self.reading, split=self.split), f"{place}-"
            card, chosen = self.build_cards(record, f"run-{place}")
            parts = [self.draw_figures(OF_EACH, own, prefix), "<h3>Run card</h3>", card.markup, "<h3>Settings</h3>"]
            yield replace(card, title=record.run, markup="".join([*parts, chosen.markup]))
        yield report_sections.write_data_card(self.record, self.table, self.found, no_paths=self.no_paths)

    def _collect_rows(self) -> Section:
        tables = {record.run: self.reading.read_tagged_rows(record, self.split).table for record in self.records}
        first, *others = (table.frame["key"].tolist() for table in tables.values())
        if any(keys != first for keys in others):
            words = "The runs were tested on different folds of the data: see the predictions in their own reports."
            return Section("predictions", "Predictions", 0, "sentences in common", write_paragraph(words))
        wrong = np.any([table.wrong for table in tables.values()], axis=0)
        kept = report_sections.select_rows(wrong, report_sections.measure_rows(self.table))
        return self.list_predictions(report_sections.list_model_columns(tables, kept.places, told=self.told), kept)
