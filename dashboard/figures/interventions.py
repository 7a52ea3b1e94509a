"""Changes inside a model or in a text: each λ, activations of another sentence, words after a negation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import plotly.graph_objects as go

from core.behavioral_tests.suite import choose_plotted_class
from core.exceptions import NotAvailable
from core.formatting import format_subscript, number, signed
from core.interpret.model_edits import Edits
from core.interpret.negation_templates import FILLER, PLACE, TEMPLATES, FilledTemplate, fill_template
from core.runs.record import RunRecord
from dashboard.figures import word_attributions
from dashboard.figures.attention_heads import read_attention
from dashboard.figures.drawing import Component, Panels, escape_text
from dashboard.figures.figure import FREE, Figure, Option, QuietOption, Source
from dashboard.figures.model_comparison import get_model_color
from dashboard.figures.theme import SYMBOLS, Look
from dashboard.figures.word_attributions import TOWARDS, Cell, get_target_class, is_binary, make_ramps

if TYPE_CHECKING:
    from core.interpret.ablation import LambdaCurve, LambdaCurves, Patches
    from core.interpret.negation_templates import TemplatePredictions

DASHES = ("solid", "dash", "dot")  # of λ₁, λ₂, λ₃
EVERY = "all λ ×"
EVERYTHING = "everything"


@dataclass(frozen=True)
class LambdaBench:
    """Response curves of a text's prediction to each λ (attention map weight), with the user's edits of the model."""

    found: LambdaCurves
    half: bool  # whether the answer changes at P = 0.5 (two classes)
    edits: Edits


def _read_response(source: Source) -> LambdaBench:
    view, record = read_attention(source), source.record
    if len(view.layers[0].components) < 2:
        raise NotAvailable("its heads have one map each, so there is no λ")
    found = source.reader.lambdas(record.run, source.text, get_target_class(source), source.edits)
    return LambdaBench(found, is_binary(record), source.edits)


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
    symbols: dict[str, tuple[Any, float, str]] = {
        **{"zero": (t.ink, 9, "x-thin"), "start": (t.ink, 9, "square-open")},
        **{"learned": (t.ink, 10, "diamond"), "now": (t.accent, 12, "circle")},
    }
    rims = {name: {"line": {"color": t.ink, "width": size(wide)}} for name, wide in (("zero", 2), ("start", 1.5))}
    told, named = set[str](), escape_text(found.target)
    for curve in found.curves:
        column = len(titles) if curve.layer is None else curve.layer + 1
        name = EVERY if curve.component is None else f"λ{format_subscript(curve.component)}"
        stroke = t.ink, 2, DASHES[((curve.component or 1) - 1) % len(DASHES)]
        for row, heights in enumerate((curve.probabilities, curve.log_odds), start=1):
            what = f"P({named})" if row == 1 else f"log-odds of {named}"
            hover = f"{name} %{{x:.3f}}<br>{what} %{{y:.3f}}"
            own = {"x": curve.values, "y": heights, "name": name, "hover": hover}
            several = curve.component is not None and len(found.curves) > len(layers) + 1
            figure.add_scatter(row=row, col=column, stroke=stroke, **own, **_make_legend(name, told, wanted=several))
            for mark, value in _name_values(curve).items():
                own = {"x": [value], "y": [heights[curve.values.index(value)]], "hover": f"{mark}<br>{hover}"}
                own |= {"name": mark, "marker": rims.get(mark, {})} | _make_legend(mark, told)
                figure.add_scatter(row=row, col=column, dots=symbols[mark], **own)
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
    found, (*each, every) = shown.found, shown.found.curves
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


LAMBDA_BENCH = Figure("lambda-bench", "sentence", "Vary λ", _read_response, _draw_curves).add_details(
    note=_write_note,
    reading=_explain_curves,
    how="Each curve changes one λ. The model reads the text for 21 values in a range and for the marked values, in one "
    "batch; its weights stay as trained. A value holds for all heads and tokens of its layer. The factor multiplies "
    "every trained λ, except those that you set.",
    needs="lambda",
    options=(TOWARDS,),
    tables=lambda shown: {"Vary λ": build_curve_table(shown)},
)

DONOR = Option(
    "donor",
    "Second sentence",
    lambda source: FREE,
    "It must have the same number of tokens.",
    words=lambda source, donor: f"from “{donor}”" if donor else "",
)


@dataclass(frozen=True, eq=False)
class Patching:
    """Results of activation patching: the effect of replacing each activation by that of another sentence."""

    record: RunRecord
    patches: Patches
    edited: bool  # both sentences are read by an edited model


def _patch_text(source: Source) -> Patching:
    read_attention(source)
    donor = str(source.get_choice(DONOR))
    if not donor.strip():
        raise NotAvailable("a second sentence of as many tokens is needed: --with donor=TEXT")
    found = source.reader.patches(source.record.run, source.text, donor, get_target_class(source), source.edits)
    return Patching(source.record, found, bool(source.edits))


def _list_places(shown: Patching) -> Iterator[tuple[str, int | None, int | None]]:
    found = shown.patches
    yield EVERYTHING, None, None
    tokens = {each.token for each in found.patches if each.kind == "token"}
    for token, (ours, theirs) in enumerate(zip(found.tokens, found.donor_tokens, strict=True)):
        if token in tokens:
            yield ours if ours == theirs else f"{ours} ← {theirs}", token, None
    for head in sorted({each.head for each in found.patches if each.head is not None}):
        yield f"head {head + 1}", None, head


def _draw_patches(shown: Patching, look: Look) -> Component:
    found, t = shown.patches, look.tokens
    moved = {(each.layer, each.token, each.head): each.moved for each in found.patches}
    layers = sorted({each.layer for each in found.patches})
    top, ramps = word_attributions.find_full_color(moved.values()), make_ramps(shown.record, found.target, t)

    def draw_cell(name: str, layer: int, token: int | None, head: int | None) -> Cell:
        push = moved[layer, token, head]
        about = f"{name}, layer {layer + 1}: log-odds of {found.target} {signed(push, 3)}"
        return word_attributions.make_push_cell(push, top, ramps, about, t)

    rows = [
        {"name": name, "cells": [draw_cell(name, layer, token, head) for layer in layers]}
        for name, token, head in _list_places(shown)
    ]
    heads = [{"name": f"layer {layer + 1}", "about": "output of this layer"} for layer in layers]
    both = f"{signed(found.log_odds)} for the first sentence, {signed(found.donor_log_odds)} for the second."
    lines = list(filter(None, (f"Log-odds of {found.target}: {both}", found.note)))
    return word_attributions.draw_heatmap(heads, rows, "effect of each patched place, by layer", lines, look)


def build_patch_table(shown: Patching) -> pd.DataFrame:
    """Return a table of patched activations: layer, token, head (from 1), log-odds after patching and their change."""
    found = shown.patches
    rows = []
    for each in found.patches:
        at = each.token
        words = ("", "") if at is None else (found.tokens[at], found.donor_tokens[at])
        token, head = (None if place is None else place + 1 for place in (at, each.head))
        rows.append((each.kind, each.layer + 1, token, *words, head, each.log_odds, each.moved))
    names = ["place", "layer", "token", "here", "donor", "head", f"log-odds of {found.target}", "moved"]
    return pd.DataFrame(rows, columns=names)


PATCHING = Figure("patching", "sentence", "Activation patching", _patch_text, _draw_patches).add_details(
    note=lambda shown: f"towards {shown.patches.target}" + (", both after your changes" if shown.edited else ""),
    reading=lambda shown: f"Change in the log-odds of {shown.patches.target} with this value from the second sentence.",
    how="The model reads both sentences, then the first again with one value from the second: the output of a layer at "
    "one token or at all (everything: from there on it is the second sentence), or of a head at every token. If a word "
    "has an effect in one layer and not in the next, it has passed its information on.",
    needs="maps",
    options=(DONOR, TOWARDS),
    tables=lambda shown: {"Patching": build_patch_table(shown)},
)


OF = QuietOption(
    "of",
    "Class",
    lambda source: () if is_binary(source.record) else source.record.classes,
    "The class whose probability is shown",
    usual=lambda source: choose_plotted_class(source.record.classes),
)


@dataclass(frozen=True, eq=False)
class Distance:
    """Probabilities of several runs for a sentence template with more and more words after the negation."""

    template: str
    target: str
    steps: tuple[FilledTemplate, ...]
    reaches: tuple[tuple[str, TemplatePredictions], ...]  # (run, its predictions), in order
    half: bool  # whether the answer changes at 0.5

    @property
    def notes(self) -> list[str]:
        """Return a note for each run on unknown words and truncated texts in a negation template."""
        return [f"{run}: {found.note}" for run, found in self.reaches if found.note]


def prepare_query(source: Source, insert: str = FILLER) -> tuple[list[RunRecord], tuple[FilledTemplate, ...], str]:
    """Return the runs, the steps of a filled negation template, and the class whose probability the runs predict.

    NotAvailable: no placeholder or class, InputError: it cannot be filled.
    """
    if PLACE not in TEMPLATES.get(source.text, source.text):
        raise NotAvailable(f"no place is marked with {PLACE} in the text; `not good` is one of ours")
    filled, target = fill_template(source.text, insert), str(source.get_choice(OF))
    runs = [source.record, *source.others]
    if lacking := [each.run for each in runs if target not in each.classes]:
        raise NotAvailable(f"run '{lacking[0]}' has no class '{target}'")
    return runs, filled, target


def measure_distance(source: Source, insert: str = FILLER) -> Distance:
    """Predict a negation template with each run; NotAvailable: no placeholder or class, InputError: not fillable."""
    runs, filled, target = prepare_query(source, insert)
    reaches = tuple((source.reader.label_run(each.run), source.reader.reach(each.run, filled, target)) for each in runs)
    # With several classes or labels, the answer may change at other probabilities.
    return Distance(TEMPLATES.get(source.text, source.text), target, filled, reaches, is_binary(source.record))


def _draw_distance(shape: Distance, look: Look) -> go.Figure:
    t, figure = look.tokens, Panels(look, [[""]], height=360)
    x = [step.words for step in shape.steps]
    ends, chance = [], f"P({escape_text(shape.target)})"
    for place, (run, found) in enumerate(shape.reaches):
        own, symbol = get_model_color(look, place), SYMBOLS[place % len(SYMBOLS)]
        kinds = [(found.probabilities, [step.text for step in shape.steps], "solid", "", 2.4, 8)]
        if found.without is not None:
            bare = [step.without or "" for step in shape.steps]
            kinds.append((found.without, bare, "dash", ", without the negation", 1.2, 5))
        for values, words, dash, what, width, size in kinds:
            told: dict[str, Any] = {"hover": f"{escape_text(run)}{what}<br>%{{customdata}}<br>{chance} %{{y:.3f}}"}
            told |= {"customdata": [escape_text(text) for text in words], "x": x, "y": values.tolist()}
            figure.add_scatter(stroke=(own, width, dash), dots=(own, size, symbol), **told)
        end = float(found.probabilities[-1])
        ends.append((f"{escape_text(run)} {number(end, 2)}", end, own))
    figure.add_end_labels(ends, 0.08, x=x[-1], xshift=12)
    if shape.half:
        figure.add_hline(0.5, line={"color": t.right, "width": look.scale_size(1.2), "dash": "dot"})
    figure.update_xaxes(title="words between", tickvals=x)
    figure.update_yaxes(title=chance, range=[-0.02, 1.03], tickvals=[0, 0.25, 0.5, 0.75, 1])
    return figure.build_figure()


def build_distance_table(shape: Distance) -> pd.DataFrame:
    """Return a row for each run and each number of words inserted into a negation template."""
    rows = []
    for run, found in shape.reaches:
        for place, step in enumerate(shape.steps):
            row = {"run": run, "words": step.words, "text": step.text, "target": shape.target}
            row |= {"probability": float(found.probabilities[place])}
            if found.without is not None:
                row |= {"text without": step.without, "probability without": float(found.without[place])}
            rows.append(row)
    return pd.DataFrame(rows)


DISTANCE = Figure("distance", "sentence", "Reach of negation", measure_distance, _draw_distance).add_details(
    note="one sentence",
    reading=lambda shape: (
        f"P({shape.target}) as neutral words separate the negation from its word."
        + " Dashed: without the negation." * any(found.without is not None for _, found in shape.reaches)
    ),
    how="The {} of the template is filled with nothing, with the first piece, with the first two, and so on; brackets "
    "mark the negation. The gap to the dashed line is the effect of the negation. All runs are used as trained. One "
    "sentence is an example, not a measurement: the inserted words have an effect too, which the dashed line shows.",
    options=(OF,),
    tables=lambda shape: {"Distance": build_distance_table(shape)},
)
