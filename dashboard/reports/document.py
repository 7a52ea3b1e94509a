"""A report as one HTML document: its styles, its data and plotly.js are inside, and nothing else may be asked for.

Data and plotly.js are packed, so that no text of theirs is ever read as markup; what runs is named by its digest.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from plotly.offline import get_plotlyjs

import core
from dashboard.figures.drawing import as_draw, asset, element, write_node
from dashboard.figures.theme import DARK, LIGHT, Tokens
from dashboard.reports.drawn import Collected, Section


@dataclass(frozen=True)
class Report:
    """What the document says."""

    title: str
    facts: Sequence[str]
    first: str  # markup that stands before everything else
    sections: Sequence[Section]
    found: Collected
    rows: Mapping[str, Any]
    """The table of predictions: `columns`, `n`, and the `file` of its CSV."""
    again: str  # the command that makes it again


def whole(told: Report) -> str:
    """Write the document."""
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
    """Forbid to fetch anything from anywhere, and to run what is not ours."""
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
