"""A page of one inspected sentence that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from html import escape

import numpy as np

from core.interpret.sentence import LayerView, SentenceView, padding_name

_STYLE = """
body{font:17px/1.5 "Source Sans 3","Source Sans Pro",Helvetica,Arial,sans-serif;max-width:76rem;margin:2rem auto;
padding:0 1.25rem;color:#22262B;background:#FDFCFA}
h1,h2{font-family:"Source Serif 4","Source Serif Pro",Georgia,serif;line-height:1.2}
.note{color:#5C636B;max-width:46rem}
.maps{display:flex;flex-wrap:wrap;gap:1.4rem;align-items:flex-start}
figure{margin:0 0 1rem}figcaption{color:#5C636B;font-size:.95rem}
table{border-collapse:collapse;font-size:.8rem}
th{font-weight:400;white-space:nowrap;padding:0 .3rem;color:#5C636B}
th[scope=row]{text-align:right}thead th{writing-mode:vertical-rl;transform:rotate(180deg);text-align:left}
td{width:1.5rem;height:1.5rem;min-width:1.5rem;border:1px solid #FDFCFA}
.unknown{border-bottom:2px dotted #8E0F52}
"""
# Zero is the page; blue adds, orange takes away.
_PAGE, _PLUS, _MINUS = ((253, 252, 250), (11, 99, 165), (190, 78, 8))
_FULL_PERCENTILE = 98.5


def page(view: SentenceView, *, run: str, model: str, answer: str = "") -> str:
    """The HTML of a sentence: prediction, tokens, and per layer every component and the combined map of every head.

    Args:
        view: The sentence.
        run: Name of the run.
        model: Name of its preset.
        answer: What is said, where it is not the most probable class: all labels of a multi-label run.
    """
    said = answer or view.label
    chances = "".join(f"<li>P({escape(name)}) = {value:.3f}</li>" for name, value in view.probabilities.items())
    tokens = " ".join(_token(*pair) for pair in zip(view.tokens, view.unknown, strict=True))
    full = _full_colour(view)
    if why := without_maps(view):
        inside = f'<p class="note">{why}</p>'
    else:
        inside = "".join(_layer(view, layer, number, full) for number, layer in enumerate(view.layers, start=1))
    padding = f'<p class="note">{_padding(view)}</p>' if view.filled else ""
    cut = f'<p class="note">{view.truncated} tokens were cut off at the end.</p>' if view.truncated else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(run)}: {escape(said)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(said)}</h1><p>{escape(view.text)}</p><ul>{chances}</ul>"
        f'<p>Read as: {tokens}</p>{cut}{padding}<p class="note">Run {escape(run)}, model {escape(model)}. '
        f"Rows read, columns are read. Blue adds, orange takes away; full colour is a weight of {full:.3g}. "
        "A weight shows where a head looks; it is not an explanation of the prediction.</p>"
        f"{inside}</body></html>"
    )


def without_maps(view: SentenceView) -> str:
    """Why there are none; empty: there are."""
    if not view.layers:
        return "This model has no attention to show."
    return "The text is too long for maps of all pairs." if view.too_long else ""


def _padding(view: SentenceView) -> str:
    """How much of the attention lies on filled places, which the last row and column of each map stand for."""
    places = view.filled or 0
    said = f"{padding_name(places)} stands for {places} places of padding, which this model reads as text"
    if view.too_long:
        return f"{said}."
    weights = "; ".join(
        f"layer {number}: {', '.join(f'{weight:.3f}' for weight in view.padding_weight(number - 1))}"
        for number in range(1, len(view.layers) + 1)
    )
    return f"{said}. Its column is the sum of their weights, its row their mean; mean weight on it by head: {weights}."


def _token(token: str, unknown: bool) -> str:
    return f'<span class="unknown" title="not in the vocabulary">{escape(token)}</span>' if unknown else escape(token)


def _full_colour(view: SentenceView) -> float:
    """The weight shown in full colour, one for the whole page: a high percentile, so that one cell cannot blank all."""
    weights = [np.abs(layer.combined).ravel() for layer in view.layers if layer.combined.size]
    return max(float(np.percentile(np.concatenate(weights), _FULL_PERCENTILE)), 1e-9) if weights else 1.0


def _layer(view: SentenceView, layer: LayerView, number: int, full: float) -> str:
    components, heads = layer.components.shape[:2]
    figures = []
    for head in range(heads):
        for i in range(components if components > 1 else 0):
            c = float(layer.coefficients[i, head].mean()) if layer.coefficients.size else 0.0
            weights = layer.coefficients[i, head][:, None] * layer.components[i, head]
            figures.append(map_table(view, weights, f"Head {head + 1}, component {i + 1}, c = {c:+.3f}", full))
        figures.append(map_table(view, layer.combined[head], f"Head {head + 1}, combined", full))
    return f'<h2>Layer {number}</h2><div class="maps">{"".join(figures)}</div>'


def map_table(view: SentenceView, weights: np.ndarray, caption: str, full: float) -> str:
    """One map (L, L), rows read; `full` is the weight that is shown in full colour."""
    head = "".join(f'<th scope="col">{escape(token)}</th>' for token in view.tokens)
    rows = "".join(
        f'<tr><th scope="row">{escape(token)}</th>{"".join(_cell(float(weight), full) for weight in row)}</tr>'
        for token, row in zip(view.tokens, weights, strict=True)
    )
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>"
        f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></figure>"
    )


def _cell(weight: float, full: float) -> str:
    strength = min(1.0, abs(weight) / full)
    end = _PLUS if weight >= 0 else _MINUS
    r, g, b = (round(page + strength * (colour - page)) for page, colour in zip(_PAGE, end, strict=True))
    return f'<td title="{weight:+.4f}" style="background:rgb({r},{g},{b})"></td>'
