"""The figures of a run as HTML files that open without a network.

`sentiscope figures` comes here through the entry point `sentiscope.verbs`: core does not know the dashboard.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from core.exceptions import InputError, NotAvailable
from core.runs.store import RunStore
from dashboard.catalogue import FIGURES, Drawn, Source
from dashboard.figures.theme import Look, config

THEMES = ("light", "dark")
PLOTLY = "plotly.min.js"
TITLE = 60
"""Pixels that a title takes above a figure, which on a page has its heading there."""
_TITLE_PAD = {"t": 14, "l": 12, "b": 24}
_SHARED = (
    f'<script src="{PLOTLY}" onerror="document.body.append('
    f"'This figure is drawn by {PLOTLY}, which must lie beside this file.')\"></script>"
)
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · {run}</title>
<style>
body {{ margin: 0; background: {paper}; color: {ink}; font: 17px/1.5 "Source Sans 3", Helvetica, Arial, sans-serif; }}
h1, figure {{ max-width: 72rem; margin: 0 auto; padding: 0 1.5rem; }}
h1 {{ font: 600 1.5rem/1.3 "Source Serif 4", Georgia, serif; margin: 1.5rem auto .6rem; }}
h1 small, figcaption {{ font: 1rem/1.5 "Source Sans 3", Helvetica, Arial, sans-serif; color: {muted}; }}
h1 small {{ margin-left: .5rem; }}
figcaption {{ max-width: 46rem; margin-top: .8rem; }}
</style></head><body>
<h1>{title} <small>{note}</small></h1>
<figure aria-label="{alt}">{chart}
<figcaption>{reading}<br>{how}</figcaption>
</figure></body></html>
"""


def figures(
    run: str,
    folder: Path,
    *,
    split: str = "",
    only: Sequence[str] = (),
    text: str = "",
    theme: str = "light",
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Write the figures of a run, each into `folder/NAME.html`.

    A single figure is whole by itself; several share one `plotly.min.js` beside them, instead of 5 MB each.

    Args:
        run: A run that is not damaged.
        folder: Made if it is not there; a file of the same name is written anew.
        split: Of the figures on predictions; empty: test, or the last that was evaluated.
        only: Names; empty: all that this run has.
        text: A sentence to look into; empty: no figure of a sentence.
        theme: `light` or `dark`.
        store: Where runs live.

    Returns:
        `run`, `split`, `theme`; `files`: `name`, `title`, `file` of each; `left_out`: name → why there is none.

    Raises:
        InputError: no such run, split, figure or theme, a figure that this run does not have, or a bad folder.
        RunDamaged: a file of the run cannot be read.
    """
    source = _source(run, only, split, text, theme, store)
    drawn: dict[str, Drawn] = {}
    left_out: dict[str, str] = {}
    for name in dict.fromkeys(only or FIGURES):
        try:
            drawn[name] = _drawn(name, source) if only else FIGURES[name](source)
        except NotAvailable as error:
            left_out[name] = str(error)
    files = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        alone = len(drawn) == 1
        if drawn and not alone:
            (folder / PLOTLY).write_text(get_plotlyjs(), encoding="utf-8")
        for name, figure in drawn.items():
            path = folder / f"{name}.html"
            path.write_text(page(figure, name, run, source.look, alone=alone), encoding="utf-8", errors="replace")
            files.append({"name": name, "title": figure.title, "file": str(path)})
    except OSError as error:
        raise InputError(f"--to {folder}: cannot be written ({error.strerror})") from error
    return {"run": run, "split": source.split, "theme": theme, "files": files, "left_out": left_out}


def figure(
    run: str, name: str, *, split: str = "", text: str = "", theme: str = "light", store: RunStore | None = None
) -> go.Figure:
    """One figure of a run as a Plotly object, with its title above it; arguments and errors as `figures`."""
    source = _source(run, [name], split, text, theme, store)
    drawn = _drawn(name, source)
    chart, words = drawn.chart, ", ".join(filter(None, (drawn.title, drawn.note)))
    chart.update_layout(title={"text": words, "x": 0, "yref": "container", "automargin": True, "pad": _TITLE_PAD})
    return chart.update_layout(height=chart.layout.height + TITLE) if chart.layout.height else chart


def _source(run: str, names: Sequence[str], split: str, text: str, theme: str, store: RunStore | None) -> Source:
    """What figures of these names are drawn from; see `figures` for what is refused."""
    if theme not in THEMES:
        raise InputError(f"--theme {theme!r}: one of {', '.join(THEMES)}")
    if strange := [name for name in names if name not in FIGURES]:
        raise InputError(f"no figure is called '{strange[0]}'; there are {', '.join(FIGURES)}")
    source = Source(store or RunStore(), run, split, text, Look(dark=theme == "dark"))
    source.check()
    return source


def _drawn(name: str, source: Source) -> Drawn:
    """A figure that was asked for by name."""
    try:
        return FIGURES[name](source)
    except NotAvailable as error:
        raise InputError(f"{name}: {error}") from None


def page(figure: Drawn, name: str, run: str, look: Look, *, alone: bool) -> str:
    """One figure as a document; with `alone`, plotly.js is inside, else beside it. No other file is asked for."""
    chart = figure.chart.to_html(full_html=False, include_plotlyjs=alone, config=config(name), div_id=name)
    words = {"title": figure.title, "note": figure.note, "reading": figure.reading, "how": figure.how, "run": run}
    alt = f"{figure.title}, {figure.note}. {figure.reading}"
    t = look.tokens
    colours = {"paper": t.paper, "ink": t.ink, "muted": t.muted}
    return _PAGE.format(
        **{key: escape(value) for key, value in words.items()},
        **colours,
        alt=escape(alt),
        chart=chart if alone else _SHARED + chart,
    )
