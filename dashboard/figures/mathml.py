"""Formulas for browsers: conversion from LaTeX to MathML, which browsers draw and read aloud without a script.

Pages, exported files and notebooks use the same code. It supports only the commands that our formulas use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

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
