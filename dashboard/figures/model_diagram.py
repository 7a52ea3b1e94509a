"""Diagram of a model as a column of parts from the text to the prediction, drawn as SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import pandas as pd

from core.exceptions import NotAvailable
from core.formatting import count
from core.models.model_description import ModelPart, list_parts
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.figures.theme import SANS, Look

WIDTH = 540
LEFT, RIGHT = 46, 526  # edges of a box; residual connections are left of them
CENTER = (LEFT + RIGHT) / 2
GAP, PAD, TITLE, LINE = 20, 11, 20, 19
CHARACTERS = 70  # most characters in a line that fits into a box at 14 pixels


@dataclass
class _Canvas:
    look: Look
    y: float = 0
    marks: list[str] = field(default_factory=list)

    def draw_box(self, x: float, y: float, width: float, height: float, **style: object) -> None:
        """Add a rectangle with rounded corners to an SVG drawing."""
        shape = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"{_write_attributes(style)}/>'
        self.marks.append(shape)

    def draw_text(self, x: float, y: float, words: str, **style: object) -> None:
        """Add a line of text to an SVG drawing."""
        self.marks.append(f'<text x="{x:g}" y="{y:g}"{_write_attributes(style)}>{escape(words)}</text>')

    def draw_path(self, way: str, **style: object) -> None:
        """Add a line along a path to an SVG drawing."""
        style = {"fill": "none", "stroke": self.look.tokens.muted, "stroke-width": 1.5, **style}
        self.marks.append(f'<path d="{way}"{_write_attributes(style)}/>')

    def draw_arrow(self, to: float) -> None:
        """Draw an arrow in an SVG drawing, from the current height straight down."""
        self.draw_path(f"M{CENTER:g} {self.y:g}V{to:g}")
        self.draw_path(f"M{CENTER - 4:g} {to - 5:g}L{CENTER:g} {to:g}L{CENTER + 4:g} {to - 5:g}")
        self.y = to


def draw_diagram(parts: Sequence[ModelPart], look: Look) -> str:
    """Draw a model's parts as an SVG document, with a description as alternative text."""
    canvas, tokens = _Canvas(look, 16), look.tokens
    canvas.draw_text(CENTER, canvas.y, "text", fill=tokens.muted, text_anchor="middle")
    canvas.draw_text(RIGHT - 14, canvas.y, "parameters", fill=tokens.muted, text_anchor="end")
    canvas.y += 6
    layer = [part for part in parts if part.layer]
    for part in parts:
        if not part.layer:
            canvas.draw_arrow(canvas.y + GAP)
            _draw_part(canvas, part)
        elif part is layer[0]:
            _draw_layers(canvas, layer)
    canvas.draw_arrow(canvas.y + GAP)
    canvas.draw_text(CENTER, canvas.y + 16, "answer", fill=tokens.muted, text_anchor="middle")
    height, scale = canvas.y + 24, look.scale_size(1)
    size = f'width="{WIDTH * scale:g}" height="{height * scale:g}" viewBox="0 0 {WIDTH} {height:g}"'
    about = f'role="img" aria-label="{escape(describe_parts(parts))}" font-family="{SANS}" font-size="14"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {about}>{"".join(canvas.marks)}</svg>'


def describe_parts(parts: Sequence[ModelPart]) -> str:
    """Describe the diagram of a model in words, from text to prediction."""
    said = []
    for part in parts:
        copies = f"in each of {part.times} layers " if part.layer and part.times > 1 else ""
        terms = f" with {', '.join(f'{term.name} ({term.detail})' for term in part.terms)}" if part.terms else ""
        size = _write_size(part, ", {} parameters")
        said.append(f"{copies}{part.title}{f', {part.detail}' if part.detail else ''}{terms}{size}")
    return f"From text to answer: {'; '.join(said)}."


def _write_size(part: ModelPart, form: str) -> str:
    if not part.parameters:
        return ""
    each = count(part.parameters)
    return form.format(f"{part.times} × {each}" if part.times > 1 else each)


def _draw_layers(canvas: _Canvas, layer: Sequence[ModelPart]) -> None:
    """Draw the layers of a model, each with its sublayers and their residual connections."""
    tokens, times = canvas.look.tokens, layer[0].times
    canvas.draw_arrow(canvas.y + GAP)
    start, place = canvas.y, len(canvas.marks)
    canvas.y += 26
    canvas.draw_text(LEFT, start + 19, f"{times} layers" if times > 1 else "1 layer", fill=tokens.ink, font_weight=600)
    canvas.draw_path(f"M{CENTER:g} {start:g}V{canvas.y:g}")
    pre = layer[0].key == "norm"
    left = canvas.y
    for part in layer:
        core = part.key != "norm"
        if pre != core:  # a residual branch starts before the norm, or before the sublayer if the norm follows the sum
            left = canvas.y + 5
        canvas.draw_arrow(canvas.y + GAP)
        _draw_part(canvas, part)
        if core:
            _draw_sum(canvas, left)
    canvas.y += 12
    canvas.draw_path(f"M{CENTER:g} {canvas.y - 12:g}V{canvas.y:g}")
    size = f'width="{WIDTH - 12}" height="{canvas.y - start:g}" rx="8" fill="{tokens.panel}"'
    canvas.marks.insert(place, f'<rect x="6" y="{start:g}" {size}/>')


def _draw_sum(canvas: _Canvas, left: float) -> None:
    """Draw the plus sign that adds a sublayer's output to its residual connection."""
    y = canvas.y + GAP
    canvas.draw_arrow(y - 8)
    canvas.draw_path(f"M{CENTER:g} {left:g}H26V{y:g}H{CENTER - 8:g}", stroke_linejoin="round")
    canvas.marks.append(
        f'<circle cx="{CENTER:g}" cy="{y:g}" r="8" fill="{canvas.look.tokens.panel}" '
        f'stroke="{canvas.look.tokens.muted}" stroke-width="1.5"/>'
    )
    canvas.draw_path(f"M{CENTER - 4:g} {y:g}H{CENTER + 4:g}M{CENTER:g} {y - 4:g}V{y + 4:g}")
    canvas.y = y + 8


def _draw_part(canvas: _Canvas, part: ModelPart) -> None:
    tokens, top = canvas.look.tokens, canvas.y
    detail = textwrap.wrap(part.detail, CHARACTERS)
    terms = [(term.name, textwrap.wrap(term.detail, CHARACTERS)) for term in part.terms]
    lines = len(detail) + sum(1 + len(more) for _, more in terms)
    height = 2 * PAD + TITLE - 4 + lines * LINE + 8 * len(terms)
    canvas.draw_box(LEFT, top, RIGHT - LEFT, height, fill=tokens.paper, stroke=tokens.right)
    y = top + PAD + 12
    canvas.draw_text(LEFT + 14, y, part.title, fill=tokens.ink, font_weight=600, font_size=15)
    canvas.draw_text(RIGHT - 14, y, _write_size(part, "{}"), fill=tokens.muted, text_anchor="end")
    for line in detail:
        y += LINE
        canvas.draw_text(LEFT + 14, y, line, fill=tokens.muted)
    for name, more in terms:
        y += 8
        canvas.draw_box(LEFT + 14, y + 5, 4, LINE * (1 + len(more)) - 2, fill=tokens.accent)
        for i, line in enumerate((name, *more)):
            y += LINE
            style = {"fill": tokens.muted} if i else {"fill": tokens.accent, "font_weight": 600}
            canvas.draw_text(LEFT + 28, y, line, **style)
    canvas.y = top + height


def _write_attributes(style: dict[str, object]) -> str:
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())


def build_parts_table(made: Sequence[ModelPart]) -> pd.DataFrame:
    """Return the diagram of a model as a table, one row for each model part and each term of the attention scores."""
    rows: list[tuple[str, str, str, int, int]] = []
    for part in made:
        rows.append((part.title, "", part.detail, part.parameters, part.times))
        rows += [(part.title, term.name, term.detail, term.parameters, part.times) for term in part.terms]
    return pd.DataFrame(rows, columns=["part", "term", "detail", "parameters", "copies"])


@dataclass(frozen=True)
class ModelDiagram:
    """Parts of a model, and the name of the preset or run that the model comes from."""

    parts: Sequence[ModelPart]
    name: str


def _read_parts(source: Source) -> ModelDiagram:
    record = source.record
    if not record.vocabulary or len(record.classes) < 2:
        raise NotAvailable("how large its parts are is known when training begins")
    parts = list_parts(record.config.model, vocabulary=record.vocabulary, classes=len(record.classes))
    return ModelDiagram(parts, record.run)


def _draw_component(made: ModelDiagram, look: Look) -> Component:
    return Component("diagram", {"svg": draw_diagram(made.parts, look), "name": f"sentiscope-model-{made.name}"}, look)


DIAGRAM = Figure(
    "parts",
    "models",
    "Parts",
    _read_parts,
    _draw_component,
    note=lambda made: f"{count(sum(part.parameters * part.times for part in made.parts))} parameters",
    reading="Coloured: additions to plain attention. Lines on the left: residual connections.",
    tables=lambda made: {"Parts": build_parts_table(made.parts)},
)
