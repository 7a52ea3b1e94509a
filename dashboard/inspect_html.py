"""Export of a model's prediction for one text as an HTML file, with tokens and all attention maps of all layers.

`sentiscope inspect --html` comes here through the entry point `sentiscope.verbs`: core does not know the dashboard.
"""

from html import escape
from pathlib import Path
from typing import Any

from core.exceptions import InputError
from core.interpret.sentence_inspection import SentenceView, explain_missing_maps, name_padding
from core.interpret.trace_summary import warn_unknown
from core.runs.record import RunRecord
from dashboard.figures.attention import has_subtraction
from dashboard.figures.attention_heads import COEFFICIENTS, HEADS, LayerCoefficients, build_layer_maps
from dashboard.figures.drawing import write_fragment
from dashboard.figures.figure import Figure
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
    """Write a text's prediction and maps as HTML; `answer` replaces the predicted label. InputError: not writable."""
    try:
        whole = build_page(view, run=record.run, model=record.described, minus=has_subtraction(record), answer=answer)
        file.write_text(whole, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"--html {file}: cannot be written ({error.strerror})") from error


def build_page(view: SentenceView, *, run: str, model: str, minus: bool = False, answer: str = "") -> str:
    """Return a text's prediction, tokens and the attention maps of every layer and head as an HTML document.

    `minus` says that the model takes its second map away; `answer` is all labels of a multi-label run.
    """
    said = answer or view.label
    chances = "".join(f"<li>P({escape(name)}) = {value:.3f}</li>" for name, value in view.probabilities.items())
    tokens = " ".join(_format_token(*pair) for pair in zip(view.tokens, view.unknown, strict=True))
    why = explain_missing_maps(view)
    doubt = _format_note(warn_unknown(view.unknown_words))
    padding = _format_note(_describe_padding(view) if view.filled else "")
    inside = f'<p class="note">{why}</p>' if why or not view.tokens else _draw_layers(view, minus)
    cut = _format_note(f"{view.truncated} tokens were cut off at the end." if view.truncated else "")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(run)}: {escape(said)}</title><style>{_STYLE}</style></head><body>"
        f"{doubt}<h1>{escape(said)}</h1><p>{escape(view.text)}</p><ul>{chances}</ul>{_format_mixture(view)}"
        f'<p>Tokens: {tokens}</p>{cut}{padding}<p class="note">Run {escape(run)}, model {escape(model)}. '
        "A weight shows where a head looks; it is not an explanation of the prediction.</p>"
        f"{inside}</body></html>"
    )


def _format_note(text: str) -> str:
    return f'<p class="note">{text}</p>' if text else ""


def _format_mixture(view: SentenceView) -> str:
    parts = view.mix.parts if view.mix else {}
    rows = (
        f"<li>{escape(part)}: {', '.join(f'P({escape(name)}) = {value:.3f}' for name, value in said.items())}</li>"
        for part, said in parts.items()
    )
    return f'<ul class="note">{"".join(rows)}</ul>' if parts else ""


def _draw_layers(view: SentenceView, minus: bool) -> str:
    shown = [
        _draw_figure(HEADS, build_layer_maps(view, layer, minus), f"layer-{layer}") for layer in range(len(view.layers))
    ]
    layers = [layer.coefficients for layer in view.layers]
    if len(layers[0]) > 1:
        shown.append(_draw_figure(COEFFICIENTS, LayerCoefficients(layers, minus), "weights"))
    return "".join(shown)


def _draw_figure(figure: Figure[Any], shape: Any, name: str) -> str:
    """Return a figure as HTML; the figure of layer 0 embeds plotly.js, so that the page loads no other file."""
    title, note, reading = (figure.resolve_text(words, shape) for words in (figure.title, figure.note, figure.reading))
    drawn = write_fragment(figure.draw(shape, LOOK), name, plotly=name == "layer-0")
    return (
        f'<h2>{escape(title)} <small class="note">{escape(note)}</small></h2>'
        f'<figure aria-label="{escape(figure.write_alt_text(shape, note, reading))}">{drawn}'
        f'<figcaption class="note">{escape(reading)}</figcaption></figure>'
    )


def _describe_padding(view: SentenceView) -> str:
    places = view.filled or 0
    said = f"{name_padding(places)} represents {places} padding tokens, which this model reads as text"
    if view.too_long:
        return f"{said}."
    weights = "; ".join(
        f"layer {number}: {', '.join(f'{weight:.3f}' for weight in view.average_padding_weight(number - 1))}"
        for number in range(1, len(view.layers) + 1)
    )
    return f"{said}. Its column is the sum of their weights, its row their mean; mean weight on it by head: {weights}."


def _format_token(token: str, unknown: bool) -> str:
    return f'<span class="unknown" title="not in the vocabulary">{escape(token)}</span>' if unknown else escape(token)
