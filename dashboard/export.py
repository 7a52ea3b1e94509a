"""Export of a run's figures as HTML files that open without a network.

`sentiscope figures` comes here through the entry point `sentiscope.verbs`: core does not know the dashboard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from core import runs as run_files
from core.exceptions import InputError, NotAvailable
from core.formatting import format_csv
from core.interpret.model_edits import UNCHANGED
from core.runs.store import RunStore
from dashboard.figures.drawing import Drawing, add_title, read_asset, write_fragment
from dashboard.figures.figure import EDIT, Figure, Source
from dashboard.figures.registry import ALL, FIGURES
from dashboard.figures.theme import Look
from dashboard.reader import Reader

THEMES = ("light", "dark")
PLOTLY = "plotly.min.js"
_SHARED = (
    f'<script src="{PLOTLY}" onerror="document.body.append('
    f"'This figure needs {PLOTLY} in the same folder.')\"></script>"
)


def figures(
    run: str,
    folder: Path,
    *,
    against: Sequence[str] = (),
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    csv: bool = False,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write a run's figures as HTML files, `folder/NAME.html`; arguments and result as of `core.api.figures`.

    A single figure is one complete file; several share one `plotly.min.js`, instead of 5 MB each.

    Raises:
        InputError: no such run, split, figure, option or theme, a figure that this run does not have, or a bad folder.
        RunDamaged: a file of the run cannot be read.
    """
    look = _make_look(theme)
    source = _make_source(store or RunStore(), [run, *against], only, split, text, options or {})
    drawn, left_out = _draw_figures(source, look, only)
    if unused := [name for name in options or {} if name not in source.used]:
        raise InputError(f"{unused[0]}: no figure has this option for this run")
    try:
        files = _write_files(drawn, folder, run, look, csv=csv)
    except OSError as error:
        raise InputError(f"--to {folder}: cannot be written ({error.strerror})") from error
    return {"run": run, "split": source.split, "theme": theme, "files": files, "left_out": left_out}


def _draw_figures(source: Source, look: Look, only: Sequence[str]) -> tuple[list[ExportedFigure], dict[str, str]]:
    drawn: list[ExportedFigure] = []
    left_out: dict[str, str] = {}
    for name in dict.fromkeys(only or FIGURES):
        try:
            drawn.append(_draw_figure(name, source, look))
        except NotAvailable as error:
            if only:
                raise InputError(f"{name}: {error}") from None
            left_out[name] = str(error)
    return drawn, left_out


def _write_files(
    drawn: Sequence[ExportedFigure], folder: Path, run: str, look: Look, *, csv: bool
) -> list[dict[str, str]]:
    folder.mkdir(parents=True, exist_ok=True)
    alone = len(drawn) == 1
    if not alone and any(isinstance(each.drawing, go.Figure) for each in drawn):
        (folder / PLOTLY).write_text(get_plotlyjs(), encoding="utf-8")
    files = []
    for figure in drawn:
        texts = {f"{figure.name}.html": build_page(figure, run, look, alone=alone)}
        for file, content in (texts | (figure.format_csv() if csv else {})).items():
            (folder / file).write_text(content, encoding="utf-8", errors="replace")
            files.append({"name": figure.name, "title": figure.title, "file": str(folder / file)})
    return files


def figure(
    run: str,
    name: str,
    *,
    against: Sequence[str] = (),
    split: str = "",
    text: str = "",
    theme: str = "light",
    options: Mapping[str, str | float] | None = None,
    store: RunStore | None = None,
) -> Drawing:
    """Return one figure of a run with a title above it, for notebooks; arguments and errors as of `figures`.

    Returns:
        A chart as a Plotly object; a table, whose `rows` are a pandas frame; a component, whose `data` it draws. A
        notebook shows each.
    """
    look = _make_look(theme)
    source = _make_source(store or RunStore(), [run, *against], [name], split, text, options or {})
    drawn, _ = _draw_figures(source, look, [name])
    return add_title(drawn[0].drawing, ", ".join(filter(None, (drawn[0].title, drawn[0].note))))


def _make_look(theme: str) -> Look:
    if theme not in THEMES:
        raise InputError(f"--theme {theme!r}: one of {', '.join(THEMES)}")
    return Look(dark=theme == "dark")


def _make_source(
    store: RunStore,
    runs: Sequence[str],
    names: Sequence[str],
    split: str,
    text: str,
    options: Mapping[str, str | float],
) -> Source:
    if strange := [name for name in names if name not in FIGURES]:
        raise InputError(f"no figure is called '{strange[0]}'; there are {', '.join(FIGURES)}")
    known = dict.fromkeys(option.name for each in ALL for option in each.options)
    if strange := [name for name in options if name not in (*known, EDIT)]:
        raise InputError(f"no figure has an option '{strange[0]}'; there are {', '.join((*known, EDIT))}")
    choices = dict(options)
    edit = str(choices.pop(EDIT, ""))
    if edit and not text.strip():
        raise InputError(f"{EDIT}: it changes how a sentence is read; name one with --text")
    edits = run_files.load.load_run(store, runs[0]).parse_edits(text, edit) if edit else UNCHANGED
    record, *others = [store.read(run) for run in dict.fromkeys(runs)]
    return Source(record, Reader(store), others=others, split=split, text=text, edits=edits, choices=choices)


@dataclass(frozen=True)
class ExportedFigure:
    """A drawn figure of a run, with the data, title and note that are exported with it."""

    name: str
    figure: Figure[Any]
    shape: Any
    drawing: Drawing
    note: str

    @property
    def title(self) -> str:
        """Return the heading of the exported figure."""
        return self.figure.resolve_text(self.figure.title, self.shape)

    def format_csv(self) -> dict[str, str]:
        """Return the numbers behind the exported figure as file name → CSV text."""
        tables = self.figure.build_tables(self.shape)
        ends = {name: f"-{name.lower().replace(' ', '-')}" if len(tables) > 1 else "" for name in tables}
        return {f"{self.name}{ends[name]}.csv": format_csv(table) for name, table in tables.items()}


def _draw_figure(name: str, source: Source, look: Look) -> ExportedFigure:
    figure, choices = FIGURES[name]
    for option in figure.spread:
        values = option.values(source)
        if option.name in choices and isinstance(values, Sequence) and choices[option.name] not in values:
            raise NotAvailable(f"there is no {option.label.lower()} {choices[option.name]}, only {', '.join(values)}")
    here = source.copy_with_choices(**choices) if choices else source
    shape = figure.read_data(here)
    return ExportedFigure(name, figure, shape, figure.draw(shape, look), figure.write_caption(here, shape))


def build_page(figure: ExportedFigure, run: str, look: Look, *, alone: bool) -> str:
    """Return a figure as an HTML document; `alone` embeds plotly.js, otherwise it is loaded from a file next to it."""
    own, shape = figure.figure, figure.shape
    drawn = write_fragment(figure.drawing, figure.name, plotly=alone)
    if isinstance(figure.drawing, go.Figure) and not alone:
        drawn = _SHARED + drawn
    title, reading, how = (own.resolve_text(words, shape) for words in (own.title, own.reading, own.how))
    words = {"title": title, "note": figure.note, "reading": reading, "how": how, "run": run}
    words["alt"] = own.write_alt_text(shape, figure.note, reading)
    colors = {name: getattr(look.tokens, name) for name in ("paper", "ink", "muted", "grid")}
    return read_asset("figure.html").format(
        **{key: escape(value) for key, value in words.items()}, **colors, drawing=drawn
    )
