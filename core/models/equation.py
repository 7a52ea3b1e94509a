"""A model's equation in LaTeX, built from its parts: one equation for all attention, with exactly the terms it has.

out = (sum_i c_i softmax(score_i + bias)) V; what stands in it and nothing else is defined below it. What a term brings
in stands beside its setting (`core.models.attention_config`), what the other parts do in `core.models.describe`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.models.config import ModelConfig
from core.models.describe import parts
from core.models.formula import Formula, Line, Term


def equation(config: ModelConfig) -> tuple[Line, ...]:
    """The lines, those of attention first (of a baseline there are none)."""
    found = parts(config, vocabulary=0, classes=2)
    attention = [line for part in found if part.key == "attention" for line in _attention(config, part.terms)]
    return (*attention, *(line for part in found for line in part.lines))


def _attention(config: ModelConfig, terms: Sequence[Term]) -> Iterator[Line]:
    """How the maps combine, what a map is made of, and what defines the letters of both."""
    part = config.attention
    width = part.qk(config.width) // part.heads
    formula = Formula(f"q_i{part.superscript}", f"k_j{part.superscript}", rf"\sqrt{{{width}}}")
    for term in terms:
        formula = term.write(formula)
    inner = rf"\big({formula.combined}\,V\big)" if formula.norm else rf"{formula.combined}\,V"
    yield Line(rf"\mathrm{{out}} = {formula.norm}{inner}", formula.words)
    content = rf"{formula.before}\frac{{{formula.q}\cdot {formula.k}}}{{{formula.below}}}{formula.factor}"
    yield Line(
        rf"{'A_{n}' if part.components > 1 else 'A'} = "
        rf"\operatorname{{softmax}}_{{{formula.seen}}}\Big({content}{formula.added}\Big)",
        f"How much token i reads token j, by the content of both{' and what is added' if formula.added else ''}.",
    )
    for term in terms:
        yield from term.lines
