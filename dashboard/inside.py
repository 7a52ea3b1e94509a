"""Export of one text as an HTML file: prediction, tokens and every attention map of every layer.

`sentiscope inspect --html` comes here through the entry point `sentiscope.verbs`: core does not know the dashboard.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from core.exceptions import InputError
from core.interpret.sentence import SentenceView, padding_name, without_maps
from core.interpret.trace_summary import unknown_note
from core.runs.record import RunRecord
from dashboard.figures.drawing import fragment
from dashboard.figures.figure import Figure
from dashboard.figures.heads import COEFFICIENTS, HEADS, Weighed, of_layer
from dashboard.figures.sentence import subtracts
from dashboard.figures.theme import LIGHT, Look

_STYLE = f"""
body{{font:17px/1.5 "Source Sans 3","Source Sans Pro",Helvetica,Arial,sans-serif;max-width:76rem;margin:2rem auto;
padding:0 1.25rem;color:{LIGHT.ink};background:{LIGHT.paper}}}
h1,h2{{font-family:"Source Serif 4","Source Serif Pro",Georgia,serif;line-height:1.2}}
.note{{color:{LIGHT.muted};max-width:46rem}}
figure{{margin:0 0 1rem}}
.unknown{{border-bottom:2px dotted {LIGHT.wrong}}}
"""
LOOK = Look()


def write(view: SentenceView, file: Path, record: RunRecord, answer: str = "") -> None:
    """Write the page of a text; `answer` replaces the label in its heading. InputError: the file cannot be written."""
    try:
        whole = page(view, run=record.run, model=record.described, minus=subtracts(record), answer=answer)
        file.write_text(whole, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"--html {file}: cannot be written ({error.strerror})") from error


def page(view: SentenceView, *, run: str, model: str, minus: bool = False, answer: str = "") -> str:
    """Return the HTML of a text: prediction, tokens, and for each layer the maps of every component and head.

    `minus` says that the model takes its second map away; `answer` is all labels of a multi-label run.
    """
    said = answer or view.label
    chances = "".join(f"<li>P({escape(name)}) = {value:.3f}</li>" for name, value in view.probabilities.items())
    tokens = " ".join(_token(*pair) for pair in zip(view.tokens, view.unknown, strict=True))
    why = without_maps(view)
    doubt, padding = _note(unknown_note(view.unknown_words)), _note(_padding(view) if view.filled else "")
    inside = f'<p class="note">{why}</p>' if why or not view.tokens else _figures(view, minus)
    cut = _note(f"{view.truncated} tokens were cut off at the end." if view.truncated else "")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(run)}: {escape(said)}</title><style>{_STYLE}</style></head><body>"
        f"{doubt}"
        f"<h1>{escape(said)}</h1><p>{escape(view.text)}</p><ul>{chances}</ul>{_mixture(view)}"
        f'<p>Read as: {tokens}</p>{cut}{padding}<p class="note">Run {escape(run)}, model {escape(model)}. '
        "A weight shows where a head looks; it is not an explanation of the prediction.</p>"
        f"{inside}</body></html>"
    )


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>' if text else ""


def _mixture(view: SentenceView) -> str:
    parts = view.mix.parts if view.mix else {}
    rows = (
        f"<li>{escape(part)}: {', '.join(f'P({escape(name)}) = {value:.3f}' for name, value in said.items())}</li>"
        for part, said in parts.items()
    )
    return f'<ul class="note">{"".join(rows)}</ul>' if parts else ""


def _figures(view: SentenceView, minus: bool) -> str:
    shown = [_figure(HEADS, of_layer(view, layer, minus), f"layer-{layer}") for layer in range(len(view.layers))]
    layers = [layer.coefficients for layer in view.layers]
    if len(layers[0]) > 1:
        shown.append(_figure(COEFFICIENTS, Weighed(layers, minus), "weights"))
    return "".join(shown)


def _figure(figure: Figure[Any], shape: Any, name: str) -> str:
    """Draw one figure; the first has plotly.js inside, so that no other file is asked for."""
    title, note, reading = (figure.say(words, shape) for words in (figure.title, figure.note, figure.reading))
    drawn = fragment(figure.draw(shape, LOOK), name, plotly=name == "layer-0")
    return (
        f'<h2>{escape(title)} <small class="note">{escape(note)}</small></h2>'
        f'<figure aria-label="{escape(figure.alternative(shape, note, reading))}">{drawn}'
        f'<figcaption class="note">{escape(reading)}</figcaption></figure>'
    )


def _padding(view: SentenceView) -> str:
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
