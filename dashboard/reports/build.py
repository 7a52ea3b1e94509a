"""Assembly of a report: its sections, the figures in each, and the HTML file.

Data and plotly.js are packed into it, so that no text of theirs is ever read as markup; what runs is named by its
digest, and nothing else may be asked for.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

import core
from core.atomic import write_named
from core.exceptions import InputError
from core.numbers import count
from core.runs.archive import pathless
from core.runs.record import RunRecord, refuse_tagged
from core.runs.store import RunStore
from dashboard.figures.comparing import MOST, PAIRS
from dashboard.figures.drawing import as_draw, asset, element, write_node
from dashboard.figures.source import Source
from dashboard.figures.theme import DARK, LIGHT, Tokens
from dashboard.reports import rows
from dashboard.reports.about import Session, codes_section, data_card, run_card, session, settings
from dashboard.reports.drawn import Collected, Section, figure_part, finding, of_pages, paragraph, together
from dashboard.reports.reading import ReportReader, tells


@dataclass(frozen=True)
class Report:
    """The contents of a report."""

    title: str
    facts: Sequence[str]
    first: str  # markup that stands before everything else
    sections: Sequence[Section]
    found: Collected
    rows: Mapping[str, Any]
    """The table of predictions: `columns`, `n`, and the `file` of its CSV."""
    again: str  # the command that makes it again


def whole(told: Report) -> str:
    """Write the HTML document of a report."""
    found, plotly = told.found, get_plotlyjs()
    data = {"charts": found.charts, "components": found.components, "numbers": found.numbers, "rows": told.rows}
    script = f"{_components(found.scripts)}\n{asset('report.js')}"
    runs = [script, plotly] if found.charts else [script]
    packed = _packed("data", json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))
    packed += _packed("plotly", plotly.encode()) if found.charts else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(runs, found)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{write_node(told.title)} · Sentiscope</title><style>{_styles(found.scripts)}</style></head><body>"
        f"{_head(told)}<main>{told.first}{''.join(map(_section, told.sections))}</main>{_foot(told)}"
        f"{packed}<script>{script}</script></body></html>\n"
    )


def _head(told: Report) -> str:
    links = [
        element("li", element("a", each.title, href=f"#{each.name}"), element("small", each.note))
        for each in told.sections
    ]
    facts = element("ul", *(element("li", each) for each in told.facts), class_="facts")
    about = element("p", "Sentiscope report", class_="kind"), element("h1", told.title), facts
    return write_node(element("header", *about, element("nav", element("ul", *links), aria_label="Sections")))


def _section(section: Section) -> str:
    heading = element("h2", section.title, element("small", section.note), id=f"{section.name}-heading")
    return (
        f'<section id="{write_node(section.name)}" aria-labelledby="{write_node(section.name)}-heading">'
        f"{write_node(heading)}{section.markup}</section>"
    )


def _foot(told: Report) -> str:
    made = f"Made by Sentiscope {core.__version__} on {datetime.now(UTC):%Y-%m-%d %H:%M} UTC with"
    return write_node(element("footer", element("p", made, " ", element("code", told.again))))


def _packed(name: str, content: bytes) -> str:
    """Pack bytes into a block that no browser runs or reads as markup."""
    zipped = base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()
    return f'<script type="application/octet-stream" id="packed-{name}">{zipped}</script>'


def _components(names: Sequence[str]) -> str:
    """Return the scripts of our components as functions by name."""
    parts = [f"{json.dumps(name)}: (() => {{\n{as_draw(asset(f'{name}.js'))}\nreturn draw;\n}})()" for name in names]
    return f"const DRAW = {{{', '.join(parts)}}};"


def _policy(runs: Sequence[str], found: Collected) -> str:
    """Write a content security policy that forbids to fetch anything and to run scripts other than ours."""
    scripts = [f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in runs]
    traces = [trace for chart in found.charts.values() for trace in chart["light"]["data"]]
    if any(trace.get("type") in ("scattergl", "scatter3d") for trace in traces):
        scripts.append("'unsafe-eval'")  # WebGL's shaders are written while it runs
    rest = "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {' '.join(scripts)}; {rest}"


def _styles(scripts: Sequence[str]) -> str:
    dark = "@media screen and (prefers-color-scheme: dark) { :root { %s } }"
    themes = f":root {{ {_colours(LIGHT)} }} {dark % _colours(DARK)}"
    return "\n".join((themes, asset("report.css"), *(asset(f"{name}.css") for name in ("marks", *scripts))))


def _colours(tokens: Tokens) -> str:
    names = ("paper", "panel", "ink", "muted", "accent", "plus", "minus", "wrong", "right")
    own = "".join(f"--{name}: {getattr(tokens, name)}; " for name in names) + f"--rule: {tokens.grid}; "
    theme = {"text-color": tokens.ink, "background-color": tokens.paper, "primary-color": tokens.accent}
    return own + "".join(f"--st-{name}: {value}; " for name, value in theme.items())


OnProgress = Callable[[str, float | None], None]

PARTS = (
    ("results", "Results", ("performance",), ()),
    ("errors", "Errors", ("errors",), ()),
    ("map", "Map of the sentences", ("embeddings",), ()),
    ("behaviour", "Behaviour and explanations", ("behave",), ("belief",)),
    ("learning", "How it learned", ("train", "lambdas"), ()),
    ("model", "Model", ("models",), ()),
)
"""Sections of a run with the pages whose figures they hold, and further figures."""
OF_EACH = ("metrics", "confusion", "learning")  # figures that a comparison has of each run
LIST = ("errors",)  # figures that are lists of sentences: a report has its own
UNTOLD = (
    "The texts are not in this report",
    "The run was made to keep no texts (`--no-texts`): sentences, own columns, notes, definitions and examples are left"
    " out.",
)


@dataclass(frozen=True)
class Built:
    """A report as HTML, with a summary of its contents."""

    markup: str
    about: dict[str, Any]


def report(
    runs: Sequence[str],
    output: Path | str = "",
    *,
    codes: str = "",
    split: str = "",
    store: RunStore | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Write the report to a file; arguments, result and errors as `core.api.report`."""
    names = list(dict.fromkeys(runs))
    file = Path(output) if output else Path(f"sentiscope-report-{'-'.join(names)[:120]}.html")
    if file.expanduser().exists():
        raise InputError(f"--to {str(file)!r:.200}: it is there already; name another file, or remove it first")
    if not file.expanduser().absolute().parent.is_dir():  # before anything is drawn
        raise InputError(f"--to {str(file)!r:.200}: cannot be written: there is no such folder")
    made = build(names, codes=codes, split=split, store=store, on_progress=on_progress)
    write_named("--to", file, made.markup)
    return {"file": str(file), **made.about}


def build(
    runs: Sequence[str],
    *,
    codes: str = "",
    split: str = "",
    author: str | None = None,
    no_paths: bool = False,
    store: RunStore | None = None,
    on_progress: OnProgress | None = None,
) -> Built:
    """Build the report as text; arguments and errors as `core.api.report`.

    `author` may see their own codes, None all; `no_paths`, for a visitor of a server: no path of its files is told.
    """
    store, names = store or RunStore(), list(dict.fromkeys(runs))
    if not names:
        raise InputError("name a run, or several on the same rows; `sentiscope runs list` shows all")
    if codes and len(names) > 1:
        raise InputError("--codes: a coded session is one of one run; name one run")
    records = [store.read(name) for name in names]
    reading = ReportReader(store, author, told=all(map(tells, records)))
    for record in records:
        refuse_tagged(record)
        if not reading.evaluated_splits(record.run):
            why = f"run '{record.run}' is {record.status} and has not been evaluated"
            raise InputError(f"{why}: nothing can be reported")
    kind = _Comparison if len(records) > 1 else _Run
    made = kind(reading, records, split, codes, on_progress or (lambda what, share: None))
    made.no_paths = no_paths
    chosen = [*(["--codes", codes] if codes else []), *(["--split", split] if split else [])]
    return made.built(shlex.join(["sentiscope", "report", *names, *chosen]))


class _Parts(ABC):
    """Base of both kinds of report, which collects figures section by section."""

    kind = title = ""
    many = 0  # figures that are looked for

    def __init__(
        self, reading: ReportReader, records: Sequence[RunRecord], split: str, codes: str, tell: OnProgress
    ) -> None:
        self.reading, self.records, self.codes, self.tell = reading, list(records), codes, tell
        self.record = self.records[0]
        self.source = self.sourced(split)
        self.split, self.told = self.source.split, reading.told
        self.found = Collected(told=self.told)
        self.table = reading.known(self.record, self.split).table  # what the first run says of the split
        self.n = len(self.table.frame)
        self.facts = [f"{count(self.n)} {self.split} sentences of {Path(self.record.config.data.name).name}"]
        self.rows: dict[str, Any] = {}
        self.no_paths = False
        self._done = 0

    def sourced(self, split: str) -> Source:
        """Return the source of the figures."""
        return Source(self.record, self.reading, others=self.records[1:], split=split)

    @abstractmethod
    def sections(self) -> Iterator[Section]:
        """Yield the sections in order."""

    def cards(self, record: RunRecord, name: str = "card") -> tuple[Section, Section]:
        """Return the card and the settings of a run."""
        told = replace(record, config=pathless(record.config)) if self.no_paths else record
        return run_card(told, self.reading.store(), name), settings(told)

    def figures(self, names: Sequence[str], source: Source, prefix: str = "") -> str:
        """Draw the figures that the run has."""
        parts = []
        for name in names:
            self._done += 1
            self.tell(f"drawing {name}", min(1.0, self._done / self.many))
            parts.append(figure_part(name, source, self.found, prefix))
        return together(parts)

    def built(self, again: str) -> Built:
        """Build the report and its summary."""
        sections = []
        for section in self.sections():
            self.tell(section.title, None)
            sections.append(section)
        self.tell("writing", None)
        first = "" if self.told else finding(*UNTOLD)
        made = whole(Report(self.title, self.facts, first, sections, self.found, self.rows, again))
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
        return Built(made, about)

    def listed(self, columns: list[dict[str, Any]], kept: rows.Kept) -> Section:
        """Return the table of predictions."""
        file, n = f"sentiscope-{self.record.run}-{self.split}", len(kept.places)
        self.rows = {"columns": columns, "n": n, "file": file}
        words = "Search, choose and sort; the CSV has the rows that are left, in their order."
        if not kept.whole:
            part = f"{count(n)} of {count(kept.of)}"
            words += f" This file holds {part} rows, what is wrong first: more would make it too large."
        place = '<div id="rows"></div><noscript>The table of predictions needs JavaScript.</noscript>'
        return Section("predictions", "Predictions", n, "sentences", paragraph(words) + place)


class _Run(_Parts):
    """A report of one run, or of a coding session of it."""

    many = sum(len(of_pages(pages, LIST)) + len(more) for _, _, pages, more in PARTS)

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        run, seed = self.record.run, f"seed {self.record.config.training.seed}"
        self.kind, self.title = ("codes", f"Coded session of {run}") if self.codes else ("run", run)
        self.facts = [self.record.described, *self.facts, seed, *([f"codes {self.codes}"] if self.codes else [])]

    def sections(self) -> Iterator[Section]:
        """Yield results first and the run card last; of a coding session the codes come first."""
        chosen = session(self.reading, self.record, self.codes, self.table)
        codes = codes_section(chosen, self.table, told=self.told)
        if self.codes and codes:
            yield codes
        for name, title, pages, more in PARTS:
            markup = self.figures([*of_pages(pages, LIST), *more], self.source)
            if name == "errors" and not self.table.wrong.any():
                markup = finding("Nothing is wrong", f"All {count(self.n)} sentences are right.")
                self._forget(of_pages(pages, LIST))
            if markup:
                yield Section(name, title, *self._size(name), markup)
            if name == "errors" and codes and not self.codes:
                yield codes
        yield self._rows(chosen)
        yield from self.cards(self.record)
        yield data_card(self.record, self.table, self.found, no_paths=self.no_paths)

    def _forget(self, names: Sequence[str]) -> None:
        """Leave out figures of errors where there are none."""
        for name in names:
            self.found.charts.pop(name, None)
            self.found.components.pop(name, None)
            if name in self.found.figures:
                self.found.figures.remove(name)
                self.found.left_out[name] = "nothing is wrong"

    def _size(self, name: str) -> tuple[int, str]:
        tables = len({"behaviour", "belief"} & set(self.found.figures))
        sizes = {
            "errors": (int(self.table.wrong.sum()), f"of {count(self.n)} sentences wrong"),
            "learning": (self.record.results.get("steps", 0), "steps of training"),
            "model": (self.record.parameters, "parameters"),
            "behaviour": (tables, "table" if tables == 1 else "tables"),
        }
        return sizes.get(name, (self.n, "sentences"))

    def _rows(self, chosen: Session) -> Section:
        said = {*chosen.coded.given, *chosen.coded.notes}
        coded = self.table.frame["key"].isin(said).to_numpy(bool)
        kept = rows.kept(self.table.wrong, rows.sizes(self.table), coded)
        tags = self.reading.known(self.record, self.split).there
        columns = rows.of_run(self.table, kept.places, tags, told=self.told)
        keys = self.table.frame["key"].iloc[kept.places].tolist()
        columns += rows.of_codes(chosen.coded, keys, told=self.told)
        if self.codes:
            own = set(chosen.keys)
            inside = ["yes" if key in own else "no" for key in keys]
            columns.append(rows.choice_column("in the session", inside, ("yes", "no"), first="yes"))
        return self.listed(columns, kept)


class _Comparison(_Parts):
    """A report that compares several runs on the same rows."""

    kind = "comparison"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.title = " · ".join(record.run for record in self.records)
        self.many = len(of_pages(("compare",))) + len(OF_EACH) * len(self.records)

    def sourced(self, split: str) -> Source:
        """Return the source of the figures; InputError: too many models."""
        source = super().sourced(split)
        if len(source.sides.sides) > MOST:
            raise InputError(f"{len(source.sides.sides)} models: at most {MOST} can be told apart; name fewer runs")
        return super().sourced(source.sides.split)  # a split that all were evaluated on

    def sections(self) -> Iterator[Section]:
        """Yield the comparison first, then a section for each run."""
        pairs = PAIRS.shape(self.source)
        told = paragraph(pairs.told, "told") + (paragraph(pairs.closest) if pairs.closest else "")
        models, names = len(self.source.sides.sides), of_pages(("compare",))
        yield Section("comparison", "Comparison", models, "models", told + self.figures(names, self.source))
        yield self._rows()
        for place, record in enumerate(self.records, 1):
            own, prefix = Source(record, self.reading, split=self.split), f"{place}-"
            card, chosen = self.cards(record, f"run-{place}")
            parts = [self.figures(OF_EACH, own, prefix), "<h3>Run card</h3>", card.markup, "<h3>Settings</h3>"]
            yield replace(card, title=record.run, markup="".join([*parts, chosen.markup]))
        yield data_card(self.record, self.table, self.found, no_paths=self.no_paths)

    def _rows(self) -> Section:
        tables = {record.run: self.reading.known(record, self.split).table for record in self.records}
        first, *others = (table.frame["key"].tolist() for table in tables.values())
        if any(keys != first for keys in others):
            words = "The runs were judged on different folds of the data: their predictions stand in their own reports."
            return Section("predictions", "Predictions", 0, "sentences in common", paragraph(words))
        wrong = np.any([table.wrong for table in tables.values()], axis=0)
        kept = rows.kept(wrong, rows.sizes(self.table))
        return self.listed(rows.of_models(tables, kept.places, told=self.told), kept)
