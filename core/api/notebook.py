"""HTML of runs and sentences for notebooks, made from plain data, with every text of the user escaped.

The HTML needs no scripts or requests, and its colours suit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from core import interpret
from core.formatting import count, format_cell

if TYPE_CHECKING:
    import numpy as np

LONGEST_MAP = 40  # most tokens of a drawn map: with more, its cells are too small
_MAP = """
.sentiscope-map figure{margin:1em 0}.sentiscope-map table{border-collapse:collapse;margin:.5em 0}
.sentiscope-map tr,.sentiscope-map tr:hover{background:none!important}
.sentiscope-map th{font-weight:400!important;white-space:nowrap!important;padding:0 .4em!important;text-align:right}
.sentiscope-map thead th{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left!important}
.sentiscope-map thead th{padding:.4em 0!important}
.sentiscope-map td{width:1.6em;height:1.6em;min-width:1.6em;padding:0!important;border:1px solid #FDFCFA!important}
"""
"""Overrides the table styles of notebooks."""
# Zero has the background colour; larger weights are darker.
_PAGE, _INK = (253, 252, 250), (34, 38, 43)
_STRIPES = "repeating-linear-gradient(135deg,#FDFCFA 0 2px,transparent 2px 5px)"
"""Hatching of negative weights."""
_BAR = '<div style="background:#5C636B;height:.8em;width:{width:.2f}em;min-width:1px"></div>'


def describe_run(shown: Mapping[str, Any]) -> str:
    """Return a line about a run, from the result of `runs_show`: status, model, data, size, time, reason."""
    words = [shown["status"]]
    if "config" in shown:
        words += [
            f"{shown['described']} on {shown['config']['data']['name']}",
            f"{count(shown['parameters'])} parameters" if shown["parameters"] else "",
            f"{shown['seconds']:.0f} s of training" if shown["seconds"] else "",
        ]
    return ", ".join([word for word in words if word]) + (f": {shown['reason']}" if shown["reason"] else "")


def render_run(shown: Mapping[str, Any], scores: Sequence[Mapping[str, Any]]) -> str:
    """Render a run as HTML, with its facts and a table of its main scores (`core.api.training.tabulate_scores`)."""
    return f"<div><strong>{escape(shown['run'])}</strong><br>{escape(describe_run(shown))}{_render_table(scores)}</div>"


def render_runs(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return several runs, given as the rows of `core.api.runs.runs_table`, as an HTML table."""
    return f"<div>{_render_table(rows) or 'no runs yet'}</div>"


def render_sentence(view: interpret.sentence_inspection.SentenceView, answer: str) -> str:
    """Render a sentence as HTML: its prediction, probabilities as bars, the mean attention map of the last layer."""
    chances = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{value:.3f}</td>"
        f'<td style="text-align:left;min-width:10em">{_BAR.format(width=10 * value)}</td></tr>'
        for name, value in view.probabilities.items()
    )
    note = interpret.trace_summary.warn_unknown(view.unknown_words)
    return (
        f"<div><q>{escape(view.text)}</q><br>{f'<em>{note}</em><br>' if note else ''}<strong>{escape(answer)}</strong>"
        f"<table><tbody>{chances}</tbody></table>{_render_mixture(view)}{_render_mean_map(view)}</div>"
    )


def _render_mixture(view: interpret.sentence_inspection.SentenceView) -> str:
    """Return an HTML table of the class probabilities of network, TF-IDF and their mixture; empty without a mixture."""
    parts = view.mix.parts if view.mix else {}
    return _render_table([{"": part, **{name: f"{p:.3f}" for name, p in said.items()}} for part, said in parts.items()])


def _render_mean_map(view: interpret.sentence_inspection.SentenceView) -> str:
    if why := interpret.sentence_inspection.explain_missing_maps(view):
        return f"<p>{why}</p>"
    if not 0 < len(view.tokens) <= LONGEST_MAP:
        return f"<p>No map of {len(view.tokens)} tokens here; <code>figure()</code> draws long ones.</p>"
    last = view.layers[-1].combined
    mean = last.mean(0)
    full = float(abs(mean).max()) or 1.0
    heads = f"mean of {len(last)} heads" if len(last) > 1 else "one head"
    caption = (
        f"Layer {len(view.layers)}, {heads}. Rows read, columns are read; full ink is {full:.3g}"
        f"{', hatched: taken away' if bool((mean < 0).any()) else ''}. A weight is not an explanation."
    )
    return f'<style>{_MAP}</style><div class="sentiscope-map">{_render_map_table(view, mean, caption, full)}</div>'


def _render_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Render rows (dictionaries with equal keys) as an HTML table; return an empty string without rows."""
    if not rows:
        return ""
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(format_cell(value))}</td>' for value in row.values())}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _render_map_table(
    view: interpret.sentence_inspection.SentenceView, weights: np.ndarray, caption: str, full: float
) -> str:
    """Render an attention map (L, L) as an HTML table, a row per query; the weight `full` gets the darkest colour."""
    head = "".join(f'<th scope="col">{escape(token)}</th>' for token in view.tokens)
    rows = "".join(
        f'<tr><th scope="row">{escape(token)}</th>{"".join(_render_cell(float(weight), full) for weight in row)}</tr>'
        for token, row in zip(view.tokens, weights, strict=True)
    )
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></figure>"
    )


def _render_cell(weight: float, full: float) -> str:
    strength = min(1.0, abs(weight) / full)
    r, g, b = (round(page + strength * (ink - page)) for page, ink in zip(_PAGE, _INK, strict=True))
    stripes = f"{_STRIPES}," if weight < 0 else ""
    return f'<td title="{weight:+.4f}" style="background:{stripes}rgb({r},{g},{b})"></td>'
