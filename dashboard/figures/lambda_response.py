"""Effect of each λ (weight of an attention map) on one sentence's prediction: probability and log-odds by λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go

from core.exceptions import NotAvailable
from core.formatting import format_subscript, number, signed
from core.interpret.model_edits import Edits
from dashboard.figures.attention_heads import read_attention
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import Look
from dashboard.figures.word_attributions import TOWARDS, get_target_class

if TYPE_CHECKING:
    from core.interpret.ablation import LambdaCurve, LambdaCurves

DASHES = ("solid", "dash", "dot")  # of λ₁, λ₂, λ₃
EVERY = "all λ ×"


@dataclass(frozen=True)
class LambdaBench:
    """Response curves of a text's prediction to each λ (attention map weight), with the user's edits of the model."""

    found: LambdaCurves
    half: bool  # whether the answer changes at P = 0.5 (two classes)
    edits: Edits


def read_response(source: Source) -> LambdaBench:
    """Compute how a prediction changes with each λ (map weight); NotAvailable: no λ or attention maps, or long text."""
    view, record = read_attention(source), source.record
    if len(view.layers[0].components) < 2:
        raise NotAvailable("its heads have one map each, so there is no λ")
    found = source.reader.lambdas(record.run, source.text, get_target_class(source), source.edits)
    return LambdaBench(found, record.task == "single" and len(record.classes) == 2, source.edits)


def _name_values(curve: LambdaCurve) -> dict[str, float]:
    """Return the marked values of a λ's response curve by name: zero, start, learned, and `now` if a user changed λ."""
    now = None if curve.now == curve.learned else curve.now
    named = {"zero": 0.0, "start": curve.start, "learned": curve.learned, "now": now}
    return {name: value for name, value in named.items() if value is not None}


def _draw_curves(shown: LambdaBench, look: Look) -> go.Figure:
    found, t, size = shown.found, look.tokens, look.scale_size
    layers = sorted({curve.layer for curve in found.curves if curve.layer is not None})
    titles = [*(f"layer {layer + 1}" for layer in layers), EVERY]
    space = {"horizontal_spacing": 0.2 / len(titles), "vertical_spacing": 0.09}
    figure = Panels(look, [titles, [""] * len(titles)], height=460, **space, shared_yaxes=True, shared_xaxes=True)
    symbols: dict[str, dict[str, Any]] = {
        "zero": {"symbol": "x-thin", "size": size(9), "line": {"color": t.ink, "width": size(2)}},
        "start": {"symbol": "square-open", "size": size(9), "line": {"color": t.ink, "width": size(1.5)}},
        "learned": {"symbol": "diamond", "size": size(10)},
        "now": {"symbol": "circle", "size": size(12), "color": t.accent},
    }
    told, named = set[str](), escape_text(found.target)
    for curve in found.curves:
        column = len(titles) if curve.layer is None else curve.layer + 1
        name = EVERY if curve.component is None else f"λ{format_subscript(curve.component)}"
        line = {"color": t.ink, "width": size(2), "dash": DASHES[((curve.component or 1) - 1) % len(DASHES)]}
        for row, heights in enumerate((curve.probabilities, curve.log_odds), start=1):
            words = f"P({named})" if row == 1 else f"log-odds of {named}"
            hover = f"{name} %{{x:.3f}}<br>{words} %{{y:.3f}}<extra></extra>"
            own = {"x": curve.values, "y": heights, "name": name, "hovertemplate": hover, "mode": "lines", "line": line}
            several = curve.component is not None and len(found.curves) > len(layers) + 1
            figure.add_scatter(row=row, col=column, **own, **_make_legend(name, told, wanted=several))
            for mark, value in _name_values(curve).items():
                there = {"x": [value], "y": [heights[curve.values.index(value)]], "mode": "markers", "name": mark}
                look_of = {"marker": {"color": t.ink, **symbols[mark]}, "hovertemplate": f"{mark}<br>{hover}"}
                figure.add_scatter(row=row, col=column, **there, **look_of, **_make_legend(mark, told))
    even = {"color": t.muted, "width": 1, "dash": "dot"}
    if shown.half:
        figure.add_hline(0.5, row=1, line=even, layer="below")
    figure.add_hline(0, row=2, line=even, layer="below")
    figure.update_yaxes(row=1, range=[-0.04, 1.04], nticks=5)
    odds = [0.0, *(each for curve in found.curves for each in curve.log_odds)]
    room = 0.08 * max(max(odds) - min(odds), 0.5)
    figure.update_yaxes(row=2, range=[min(odds) - room, max(odds) + room], nticks=5)
    figure.update_yaxes(row=1, col=1, title=f"P({named})")
    figure.update_yaxes(row=2, col=1, title="log-odds")
    figure.update_xaxes(row=2, nticks=5, title="λ")
    figure.update_xaxes(row=2, col=len(titles), title="factor")
    legend = {"orientation": "h", "x": 0, "y": 1.1, "yanchor": "bottom", "font": {"color": t.ink}}
    figure.update_layout(showlegend=True, legend=legend, margin={"t": size(70)})
    return figure.build_figure()


def _make_legend(name: str, told: set[str], *, wanted: bool = True) -> dict[str, Any]:
    first = wanted and name not in told
    told |= {name}
    return {"legendgroup": name, "showlegend": first}


def _explain_curves(shown: LambdaBench) -> str:
    found = shown.found
    *each, every = found.curves
    most = max(each, key=lambda curve: max(curve.probabilities) - min(curve.probabilities))
    span = f"{number(min(most.probabilities), 2)} to {number(max(most.probabilities), 2)}"
    assert most.layer is not None and most.component is not None
    where = f"λ{format_subscript(most.component)} of layer {most.layer + 1}"
    zero = number(every.get_point(0.0)[1], 2)
    others = "as you changed them" if shown.edits else "as learned"
    half = " Dotted: P = 0.5, where the answer changes." if shown.half else ""
    most_of_all = f"{where} changes P({found.target}) most: {span} (others {others})."
    return f"{most_of_all} All λ at 0: {zero}.{half} {found.note}".strip()


def build_curve_table(shown: LambdaBench) -> pd.DataFrame:
    """Return the prediction at each tested value of λ as a table; without a layer, the value is a factor on all λ."""
    rows = []
    for curve in shown.found.curves:
        for value, *measured in zip(curve.values, curve.probabilities, curve.log_odds, strict=True):
            marks = ", ".join(name for name, at in _name_values(curve).items() if at == value)
            rows.append((curve.layer, curve.component, value, marks, shown.found.target, *measured))
    names = ["layer", "component", "value", "mark", "towards", "probability", "log_odds"]
    table = pd.DataFrame(rows, columns=names).astype({"layer": "Int64", "component": "Int64"})
    return table.assign(layer=table["layer"] + 1)


def _write_note(shown: LambdaBench) -> str:
    log_odds, probability = shown.found.curves[0].get_point(shown.found.curves[0].now)
    return f"towards {shown.found.target}, P {number(probability)}, log-odds {signed(log_odds)}"


LAMBDA_BENCH = Figure(
    "lambda-bench",
    "sentence",
    "λ bench",
    read_response,
    _draw_curves,
    note=_write_note,
    reading=_explain_curves,
    how="Each curve changes one λ. The model reads the text for 21 values in a range and for the marked values, in one "
    "batch; its weights stay as trained. A value holds for all heads and tokens of its layer. The factor multiplies "
    "every trained λ, except those that you set.",
    needs="lambda",
    options=(TOWARDS,),
    tables=lambda shown: {"λ bench": build_curve_table(shown)},
)
