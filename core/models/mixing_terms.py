"""The description of how a head's attention maps are combined: in words, LaTeX and parameter counts."""

from __future__ import annotations

from collections.abc import Callable

from core.models.attention_config import LAMBDA_RANGES, AttentionConfig
from core.models.latex_terms import EquationLine, Formula, Term

DIFFERENTIAL = r"\lambda = e^{u_1\cdot v_1} - e^{u_2\cdot v_2} + \lambda_{\mathrm{init}}"
OF_TOKEN = r"\lambda_i = \operatorname{sigmoid}(x_i\cdot w_h)"
ADDITIVE = r"\lambda_n = p_n\,\alpha_n + (1-p_n)\,\beta_n"
COMBINED = "Each map weighs the values; λ weights the maps."


def list_mixing_terms(part: AttentionConfig, width: int) -> tuple[Term, ...]:
    """List descriptions of how a head combines and normalises its attention maps, in the order of these steps."""
    return tuple(
        term for say in (_describe_mixing, _describe_row_norm, _describe_head_norm) if (term := say(part, width))
    )


def _describe_mixing(part: AttentionConfig, width: int) -> Term | None:
    if part.mixing == "single":
        return None
    if part.mixing == "differential-v2":
        line = EquationLine(OF_TOKEN, "One per token i and head h.")
        detail = "two maps subtracted, λ per token and head"
        write = _write_subtraction(r"\lambda_i")
        return Term("A₀ − λA₁, λ of the token", detail, width * part.heads, write, (line,))
    return _describe_differential(part, width) if part.mixing == "differential" else _describe_addition(part, width)


def _write_subtraction(lam: str) -> Callable[[Formula], Formula]:
    return lambda formula: formula._replace(combined=rf"\Big(A_0 - {lam} A_1\Big)", words=COMBINED)


def _describe_differential(part: AttentionConfig, width: int) -> Term:
    begin = "grows with the layer" if part.start is None else f"is {part.start:g}"
    return Term(
        "A₀ − λA₁",
        f"two maps subtracted, one λ{' per head' * part.lambda_per_head}{_describe_start(part)}",
        4 * part.lambda_sets * (part.get_qk_width(width) // part.heads),
        _write_subtraction(r"\lambda"),
        lines=(
            EquationLine(
                DIFFERENTIAL,
                f"Four learned vectors; the start {begin}.{' One per head.' * part.lambda_per_head}",
            ),
        ),
    )


def _describe_addition(part: AttentionConfig, width: int) -> Term:
    extra = (part.components - 1) * part.lambda_sets
    each = " per token" if part.lambda_input else " per head" if part.lambda_per_head else ""
    maps = "1 map" if part.components == 1 else f"{part.components} maps"
    token = ",i" * part.lambda_input
    further = "".join(rf" + \lambda_{{{n}{token}}} A_{{{n}}}" for n in range(1, part.components))
    return Term(
        f"{maps}, λ in {LAMBDA_RANGES[part.constraint].words}",
        f"further maps added, each with its λ{each}{', β learned' * part.learn_beta}{_describe_start(part)}",
        extra * (width // 4) * (1 + width if part.lambda_input else 2) + extra * part.learn_beta,
        lambda formula: formula._replace(combined=rf"\Big(A_0{further}\Big)", words=COMBINED),
        _define_lambda(part) if part.components > 1 else (),
    )


def _define_lambda(part: AttentionConfig) -> tuple[EquationLine, EquationLine]:
    between = LAMBDA_RANGES[part.constraint]
    each, key = ("_{n,i}", "W_n x_i") if part.lambda_input else ("_n", "v_n")
    beta = "α is fixed, β learned" if part.learn_beta else "α and β are fixed"
    fitted = "fitted to what the paper's models learned"
    begin = fitted if part.start is None else f"so that it starts at {part.start:g}"
    return (
        EquationLine(
            ADDITIVE.replace(r"\lambda_n", rf"\lambda{each}").replace("p_n", f"p{each}"),
            f"The weight of map n, between two ends; {beta}: {begin}.{' One per head.' * part.lambda_per_head}",
        ),
        EquationLine(
            rf"p{each} = \operatorname{{mean}}\big({between.function}(u_n)\odot {between.function}({key})\big)",
            f"In {between.words}, from two learned vectors{' and the token' * part.lambda_input}.",
        ),
    )


def _describe_start(part: AttentionConfig) -> str:
    return "" if part.start is None else f", starting at {part.start:g}"


def _describe_row_norm(part: AttentionConfig, width: int) -> Term | None:
    if not part.row_norm:
        return None
    words = " The weights c of the maps are divided by the sum of their magnitudes."
    return Term(
        "row norm",
        "weights of the maps divided by the sum of their magnitudes",
        write=lambda formula: formula._replace(
            combined=rf"\frac{{1}}{{\sum_n|c_n|}}\,{formula.combined}", words=formula.words + words
        ),
    )


def _describe_head_norm(part: AttentionConfig, width: int) -> Term | None:
    if not part.head_norm:
        return None
    scale = ""
    if part.mixing == "differential":
        scale = r"(1-\lambda_{\mathrm{init}})"
    if part.mixing == "additive" and part.components > 1:
        scale = r"\frac{1}{1+\sum_n\lambda_{n,\mathrm{init}}}"
    return Term(
        "head norm",
        "RMSNorm of each head's output",
        width // part.heads,
        lambda formula: formula._replace(norm=rf"{scale}\,\operatorname{{RMSNorm}}"),
    )
