"""Reach of a negation: predictions of several runs as more and more words separate it from the negated word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from core.behavioral_tests.suite_predictions import choose_plotted_class
from core.exceptions import NotAvailable
from core.formatting import number
from core.interpret.negation_templates import FILLER, PLACE, TEMPLATES, FilledTemplate, fill_template
from core.runs.record import RunRecord
from dashboard.figures.display_names import escape_text
from dashboard.figures.figure import Figure
from dashboard.figures.model_comparison import get_model_color
from dashboard.figures.source import Option, Source
from dashboard.figures.subplots import Panels
from dashboard.figures.theme import SYMBOLS, Look, spread_labels

if TYPE_CHECKING:
    from core.interpret.negation_templates import TemplatePredictions


def _is_binary(source: Source) -> bool:
    return source.record.task == "single" and len(source.record.classes) == 2


OF = Option(
    "of",
    "Class",
    lambda source: () if _is_binary(source) else source.record.classes,
    "The class whose probability is shown",
    usual=lambda source: choose_plotted_class(source.record.classes),
    words=lambda source, name: "",
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


class TemplateQuery(NamedTuple):
    """Runs, the sentences filled into a negation template, and the class whose probability the runs predict."""

    runs: list[RunRecord]
    steps: tuple[FilledTemplate, ...]
    target: str


def prepare_query(source: Source, insert: str = FILLER) -> TemplateQuery:
    """Fill a negation template step by step; NotAvailable: no placeholder or class, InputError: it cannot be filled."""
    if PLACE not in TEMPLATES.get(source.text, source.text):
        raise NotAvailable(f"no place is marked with {PLACE} in the text; `not good` is one of ours")
    filled, target = fill_template(source.text, insert), str(source.get_choice(OF))
    runs = [source.record, *source.others]
    if lacking := [each.run for each in runs if target not in each.classes]:
        raise NotAvailable(f"run '{lacking[0]}' has no class '{target}'")
    return TemplateQuery(runs, filled, target)


def measure_distance(source: Source, insert: str = FILLER) -> Distance:
    """Predict a negation template with each run; NotAvailable: no placeholder or class, InputError: not fillable."""
    runs, filled, target = prepare_query(source, insert)
    reaches = tuple((source.reader.label_run(each.run), source.reader.reach(each.run, filled, target)) for each in runs)
    # With several classes or labels, the answer may change at other probabilities.
    return Distance(TEMPLATES.get(source.text, source.text), target, filled, reaches, _is_binary(source))


def draw_distance(shape: Distance, look: Look) -> go.Figure:
    """Draw a class's probability against the number of inserted words, a colour for each run; dashed: no negation."""
    t, figure = look.tokens, Panels(look, [[""]], height=360)
    x = [step.words for step in shape.steps]
    ends, chance = [], f"P({escape_text(shape.target)})"
    for place, (run, found) in enumerate(shape.reaches):
        own, symbol = get_model_color(look, place), SYMBOLS[place % len(SYMBOLS)]
        texts, bare = [step.text for step in shape.steps], [step.without or "" for step in shape.steps]
        kinds = [(found.probabilities, texts, "solid", "", 2.4, 8)]
        if found.without is not None:
            kinds.append((found.without, bare, "dash", ", without the negation", 1.2, 5))
        for values, words, dash, what, width, size in kinds:
            figure.add_scatter(
                x=x,
                y=values.tolist(),
                mode="lines+markers",
                line={"color": own, "width": look.scale_size(width), "dash": dash},
                marker={"color": own, "size": look.scale_size(size), "symbol": symbol},
                customdata=[escape_text(text) for text in words],
                hovertemplate=f"{escape_text(run)}{what}<br>%{{customdata}}<br>{chance} %{{y:.3f}}<extra></extra>",
            )
        end = float(found.probabilities[-1])
        ends.append((end, f"{escape_text(run)} {number(end, 2)}", own))
    for y, (_, text, own) in zip(spread_labels([end for end, _, _ in ends], 0.08), ends, strict=True):
        figure.add_annotation(x=x[-1], y=y, xanchor="left", xshift=12, text=text, font={"color": own})
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


def _write_reading(shape: Distance) -> str:
    said = f"P({shape.target}) as neutral words separate the negation from its word."
    bare = any(found.without is not None for _, found in shape.reaches)
    return f"{said} Dashed: without the negation." if bare else said


DISTANCE = Figure(
    "distance",
    "sentence",
    "Reach of negation",
    measure_distance,
    draw_distance,
    note="one sentence",
    reading=_write_reading,
    how="The {} of the template is filled with nothing, with the first piece, with the first two, and so on; brackets "
    "mark the negation. The gap to the dashed line is the effect of the negation. All runs are used as trained. One "
    "sentence is an example, not a measurement: the inserted words have an effect too, which the dashed line shows.",
    options=(OF,),
    tables=lambda shape: {"Distance": build_distance_table(shape)},
)
