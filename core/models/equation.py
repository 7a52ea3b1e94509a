"""A model's equation in LaTeX, built from its parts: one equation for all attention, with exactly the terms it has.

out = (sum_i c_i softmax(score_i + bias)) V; what stands in it and nothing else is defined below it. What a term brings
in stands beside its setting (`core.models.attention_config`), what the other parts do in `core.models.describe`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.models.attention_config import AttentionConfig, Line, Term
from core.models.config import ModelConfig
from core.models.describe import parts


def equation(config: ModelConfig) -> tuple[Line, ...]:
    """The lines, those of attention first (of a baseline there are none)."""
    found = parts(config, vocabulary=0, classes=2)
    attention = [line for part in found if part.key == "attention" for line in _attention(config, part.terms)]
    return (*attention, *(line for part in found for line in part.lines))


def _attention(config: ModelConfig, terms: Sequence[Term]) -> Iterator[Line]:
    yield _maps(config.attention)
    yield _score(config, terms)
    for term in terms:
        yield from term.lines


def _maps(part: AttentionConfig) -> Line:
    """How the maps combine."""
    combined, words = _combined(part)
    if part.row_norm:
        combined = rf"\frac{{1}}{{\sum_n|c_n|}}\,{combined}"
        words += " The weights c of the maps are divided by the sum of their magnitudes."
    if part.head_norm:
        return Line(rf"\mathrm{{out}} = {_norm_scale(part)}\,\operatorname{{RMSNorm}}\big({combined}\,V\big)", words)
    return Line(rf"\mathrm{{out}} = {combined}\,V", words)


def _combined(part: AttentionConfig) -> tuple[str, str]:
    if part.mixing == "single":
        return "A", "One map weighs the values."
    words = "Each map weighs the values; lambda weighs the maps."
    if part.mixing.startswith("differential"):
        return rf"\Big(A_1 - \lambda{'_i' * part.of_token} A_2\Big)", words
    further = (rf" + \lambda_{{{n}{',i' * part.of_token}}} A_{{{n}}}" for n in range(1, part.components))
    return rf"\Big(A_0{''.join(further)}\Big)", words


def _norm_scale(part: AttentionConfig) -> str:
    if part.mixing == "differential":
        return r"(1-\lambda_{\mathrm{init}})"
    if part.mixing == "additive" and part.components > 1:
        return r"\frac{1}{1+\sum_n\lambda_{n,\mathrm{init}}}"
    return ""


def _score(config: ModelConfig, terms: Sequence[Term]) -> Line:
    """What a map is made of: content, its factor, and what is added."""
    part = config.attention
    at = "^{(n)}" if part.components > 1 else ""
    q, k = f"q_i{at}", f"k_j{at}"
    if part.rotary:
        q, k = f"R_i{q}", f"R_j{k}"
    if part.qk_norm:
        content = rf"\tau\,\frac{{{q}\cdot {k}}}{{\lVert q_i{at}\rVert\,\lVert k_j{at}\rVert}}"
    else:
        content = rf"\frac{{{q}\cdot {k}}}{{\sqrt{{{part.qk(config.width) // part.heads}}}}}"
    factor, added = "".join(term.factor for term in terms), "".join(term.added for term in terms)
    name, seen = "A_{n}" if part.components > 1 else "A", r"j \in S_i" if part.window else "j"
    return Line(
        rf"{name} = \operatorname{{softmax}}_{{{seen}}}\Big({content}{factor}{added}\Big)",
        "How much token i reads token j, by the content of both" + (" and what is added." if added else "."),
    )
