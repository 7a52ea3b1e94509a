"""Forward pass of one text, step by step: formulas as MathML, the matrices of the text, and explanations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from core.formatting import count, format_subscript
from core.models.capabilities import list_capabilities
from dashboard.figures.attention_heads import LAYER
from dashboard.figures.drawing import Component
from dashboard.figures.figure import Figure, Option, QuietOption, Source
from dashboard.figures.theme import Look, blend_colors, choose_text_color

if TYPE_CHECKING:
    from core.interpret.forward_stages import ForwardStage, ForwardStages, StageMatrix

_PIECES = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.")
GREEK = dict(zip("alpha beta gamma lambda mu pi rho sigma tau".split(), "αβγλμπρστ", strict=True))
SIGNS = {
    **{"cdot": "·", "odot": "⊙", "in": "∈", "le": "≤", "cup": "∪", "to": "→", "leftarrow": "←"},
    **{"infty": "∞", "lVert": "‖", "rVert": "‖", "dots": "…", "sum": "Σ", "{": "{", "}": "}"},
}
NAMES = ("max", "ln", "log", "cos", "sin")
SPACES = {",": "0.17em", " ": "0.3em", "quad": "1em"}
SIZES = ("big", "Big")
OVER = {"hat": "^", "overline": "¯"}
DRAWN = 16  # most tokens that are drawn (the first); all are computed
DIMENSIONS = 8  # most dimensions of a vector that are drawn (the first)
INK = (0.0, 0.08, 0.17, 0.27, 0.37, 0.72, 0.86, 1.0)
"""Cell shades from background to ink, without middle shades, on which numbers are hard to read."""


def write_mathml(latex: str) -> str:
    """Convert a LaTeX formula to a MathML element; ValueError: an unknown command, or a bracket that is not closed."""
    reader = _Reader(_PIECES.findall(latex))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML">{reader.read_row()}</math>'


class _Reader:
    """Parser that reads the pieces of a LaTeX formula from left to right."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces, self.at = pieces, 0

    def read_row(self, *, inner: bool = False) -> str:
        """Return the MathML of a formula up to its end, or of a group up to its closing bracket."""
        return f"<mrow>{''.join(self._read_parts(inner))}</mrow>"

    def _read_parts(self, inner: bool) -> Iterator[str]:
        while self._skip_spaces():
            if self.pieces[self.at] == "}":
                if inner:
                    self.at += 1
                    return
                raise ValueError("a bracket is closed that was not opened")
            yield self._read_scripted()
        if inner:
            raise ValueError("a bracket is not closed")

    def _read_scripted(self) -> str:
        """Return the MathML of one symbol or group of a formula with its subscript and superscript."""
        base, below, above = self._read_atom(), "", ""
        while (sign := self._skip_spaces()) and sign in "_^'":
            self.at += 1
            if sign == "_":
                below = self._read_atom()
            else:
                above += "<mo>′</mo>" if sign == "'" else self._read_atom()
        above = f"<mrow>{above}</mrow>" if above else ""
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def _skip_spaces(self) -> str:
        """Skip spaces in a LaTeX formula and return the next token of it; empty at the end."""
        while self.at < len(self.pieces) and self.pieces[self.at].isspace():
            self.at += 1
        return self.pieces[self.at] if self.at < len(self.pieces) else ""

    def _take_piece(self) -> str:
        if self.at == len(self.pieces):
            raise ValueError("something is missing at the end")
        self.at += 1
        return self.pieces[self.at - 1]

    def _read_atom(self) -> str:
        self._skip_spaces()
        piece = self._take_piece()
        if piece == "{":
            return self.read_row(inner=True)
        if piece.startswith("\\"):
            return self._read_command(piece[1:])
        if piece[0].isdigit():
            return f"<mn>{piece}</mn>"
        if piece.isalpha():
            return f"<mi>{piece}</mi>"
        return f'<mo stretchy="false">{escape("−" if piece == "-" else piece)}</mo>'

    def _read_command(self, name: str) -> str:
        if name in GREEK:
            return f"<mi>{GREEK[name]}</mi>"
        if name in SIGNS:
            return f'<mo stretchy="false" largeop="false">{SIGNS[name]}</mo>'
        if name in NAMES:
            return f"<mi>{name}</mi><mspace width='0.17em'/>" if name != "sin" else "<mi>sin</mi>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name in SIZES:
            return self._read_atom()
        if name in ("frac", "tfrac"):
            style = ' displaystyle="true"' if name == "frac" else ""
            return f"<mfrac{style}>{self._read_atom()}{self._read_atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self._read_atom()}</msqrt>"
        if name in OVER:
            stretchy = "false" if name == "hat" else "true"
            return f'<mover accent="true">{self._read_atom()}<mo stretchy="{stretchy}">{OVER[name]}</mo></mover>'
        if name in ("operatorname", "mathrm", "text"):
            return f"<mtext>{escape(self._read_words())}</mtext>"
        raise ValueError(f"no command \\{name} is known")

    def _read_words(self) -> str:
        if self._take_piece() != "{":
            raise ValueError("words need brackets")
        words = ""
        while (piece := self._take_piece()) != "}":
            words += piece
        return words


def _has_attention(source: Source) -> bool:
    return "maps" in list_capabilities(source.record.config.model)


def _list_numbers(source: Source, name: str, first: int) -> list[str]:
    many = getattr(source.record.config.model.attention, name) if _has_attention(source) else 0
    return [str(number) for number in range(first, first + many)]


HEAD = QuietOption(
    "head",
    "Head",
    lambda source: _list_numbers(source, "heads", 1),
    "The head whose queries, keys, maps and values are shown.",
)
COMPONENT = QuietOption(
    "component",
    "Map",
    lambda source: _list_numbers(source, "components", 0),
    "The map whose queries, keys and scores are shown; 0 is A₀.",
)


def read_stages(source: Source) -> ForwardStages:
    """Read the steps of a text's forward pass; NotAvailable: no text, no token in the text, or too many tokens."""
    return source.read_once(_read_stages)


def _read_stages(source: Source) -> ForwardStages:
    source.view  # raises if there is no text  # noqa: B018
    places = (int(source.get_choice(each)) if each.has_choices(source) else None for each in (LAYER, HEAD, COMPONENT))
    layer, head, component = places if _has_attention(source) else (None, None, None)
    return source.reader.trace_steps(source.record.run, source.text, layer, head, component, source.edits)


STAGE = Option(
    "stage",
    "Stage",
    lambda source: [stage.key for stage in read_stages(source).stages],
    "The open stage; ← and → go to its neighbours.",
    usual=lambda source: read_stages(source).stages[0].key,
    words=lambda source, stage: read_stages(source).find_stage(stage).title.lower(),
)


@dataclass(frozen=True, eq=False)
class StageView:
    """Steps of a text's forward pass, and the step that is open on the page."""

    steps: ForwardStages
    stage: str

    @property
    def place(self) -> str:
        """Return in words which layer, head and attention map of the forward pass are shown."""
        steps = self.steps
        if not steps.layers:
            return "no attention"
        of = f", A{format_subscript(steps.component)}" if steps.components > 1 else ""
        return f"layer {steps.layer}, head {steps.head}{of}"

    @property
    def left_out(self) -> str:
        """Return a sentence that only the first tokens of a long text are drawn; empty if all tokens are drawn."""
        many = max(len(matrix.rows) for stage in self.steps.stages for matrix in stage.matrices)
        return f"The first {DRAWN} of {count(many)} tokens are drawn; all are computed." if many > DRAWN else ""


def _draw_stages(shown: StageView, look: Look) -> Component:
    t = look.tokens
    shades = [(color, choose_text_color(t, color)) for color in (blend_colors(t.paper, t.ink, share) for share in INK)]
    colors = t.select_colors("ink", "muted", "grid", "paper", "panel", "accent")
    data = {"stages": [_describe_stage(stage) for stage in shown.steps.stages], "at": shown.stage, "colours": colors}
    return Component("steps", data | {"place": shown.place, "left_out": shown.left_out, "shades": shades}, look)


def _describe_stage(stage: ForwardStage) -> dict[str, Any]:
    """Return a step of the forward pass as plain data for the browser; its attention maps share one colour scale."""
    drawn = [_describe_matrix(matrix) for matrix in stage.matrices]
    if stage.key in ("softmax", "combine"):
        maps = [each for each, matrix in zip(drawn, stage.matrices, strict=True) if matrix.name != r"\lambda"]
        top = max((each["top"] for each in maps), default=0.0)
        for each in maps:
            each["top"] = top
    formulas = [write_mathml(formula) for formula in stage.formulas]
    texts = {"key": stage.key, "title": stage.title, "reading": stage.reading}
    return {**texts, "formulas": formulas, "matrices": drawn}


def _describe_matrix(matrix: StageMatrix) -> dict[str, Any]:
    many, wide = len(matrix.rows), matrix.values.shape[1]
    dimensions = wide > 1 and matrix.columns[-1] == str(wide)
    rows, columns = min(many, DRAWN), min(wide, DIMENSIONS if dimensions else DRAWN)
    values = matrix.values[:rows, :columns]
    seen, score = values[np.isfinite(values)], matrix.kind == "score"
    return {
        "name": write_mathml(matrix.name),
        "note": f"{columns} of {count(wide)}" if columns < wide and dimensions else "",
        **{"rows": list(matrix.rows[:rows]), "words": [list(row) for row in matrix.words[:rows]]},
        **{"columns": list(matrix.columns[:columns]), "beside": list(matrix.columns[wide:])},
        **{"dimensions": dimensions, "count": matrix.kind == "count", "score": score},
        # A cell shows fewer than four digits.
        "cells": [[float(f"{value:.4g}") if np.isfinite(value) else None for value in row] for row in values],
        # Values without ink and with most ink: zero and the largest magnitude; for scores, minimum and maximum.
        "low": float(seen.min()) if score else 0.0,
        "top": float(seen.max()) if score else float(np.abs(seen).max(initial=0.0)) or 1.0,
        "fills": [[matrix.format_cell(i, j) for j in range(columns)] for i in range(rows)],
        "made": matrix.rule is not None,
    }


def build_step_table(steps: ForwardStages) -> pd.DataFrame:
    """Return every number of a forward pass as a table: a row for each number in each matrix, for all tokens."""
    frames = []
    for stage, matrix in ((each, matrix) for each in steps.stages for matrix in each.matrices):
        row, column = (index.ravel() for index in np.indices(matrix.values.shape))
        cells = {"stage": stage.title, "matrix": matrix.name, "row_place": row + 1, "row": np.array(matrix.rows)[row]}
        cells |= {"column_place": column + 1, "column": np.array(matrix.columns)[column]}
        frames.append(pd.DataFrame(cells | {"value": matrix.values.ravel()}))
    return pd.concat(frames, ignore_index=True)


STEPS = Figure("steps", "steps", "Steps").add_details(
    read=lambda source: StageView(read_stages(source), str(source.get_choice(STAGE))),
    draw=_draw_stages,
    note=lambda shown: shown.place,
    reading=lambda shown: (
        f"Stronger colour = larger. Striped = negative. Point at a cell to see its numbers. {shown.left_out}".strip()
    ),
    how="Every number is computed again from the weights, plainly and in float64. Tests compare each stage of every "
    "preset with its formula and with the model's own values, and the last one with the prediction.",
    options=(LAYER, HEAD, COMPONENT, STAGE),
    tables=lambda shown: {"Steps": build_step_table(shown.steps)},
)
