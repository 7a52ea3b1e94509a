"""A model's equation in LaTeX, built from its parts: one equation for all attention, with exactly the terms it has.

out = (sum_i c_i softmax(score_i + bias)) V; what stands in it and nothing else is defined below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from core.models.config import AttentionConfig, Constraint, ModelConfig
from core.models.describe import qk_width


class Line(NamedTuple):
    """One line of the equation and what it says."""

    latex: str
    words: str


_RANGE: dict[Constraint, tuple[str, str]] = {
    "01": (r"\operatorname{sigmoid}", r"[0,1]"),
    "pm1": (r"\tanh", r"[-1,1]"),
    "pos": (r"\operatorname{ReLU}", r"[0,\infty)"),
    "free": (r"\operatorname{id}", r"(-\infty,\infty)"),
}


def equation(config: ModelConfig) -> tuple[Line, ...]:
    """The lines, the one of attention first (or what a baseline has in its place)."""
    if config.family != "encoder":
        return _baseline(config)
    return (*_maps(config), *_score(config), *_lambda(config), *_around(config))


def _maps(config: ModelConfig) -> Iterator[Line]:
    """How the maps combine."""
    part = config.attention
    if part.components == 1 and part.mixing == "single":
        combined, words = "A", "One map weighs the values."
    else:
        token = _of_token(part)
        if part.mixing.startswith("differential"):
            combined = r"\Big(A_1 - \lambda_i A_2\Big)" if token else r"\Big(A_1 - \lambda A_2\Big)"
        else:
            further = (rf" + \lambda_{{{n}{',i' if token else ''}}} A_{{{n}}}" for n in range(1, part.components))
            combined = rf"\Big(A_0{''.join(further)}\Big)"
        words = "Each map weighs the values; lambda weighs the maps."
    if part.row_norm:
        combined = rf"\frac{{1}}{{\sum_n|c_n|}}\,{combined}"
        words += " The weights c of the maps are divided by the sum of their magnitudes."
    if part.head_norm:
        yield Line(rf"\mathrm{{out}} = {_norm_scale(part)}\,\operatorname{{RMSNorm}}\big({combined}\,V\big)", words)
    else:
        yield Line(rf"\mathrm{{out}} = {combined}\,V", words)


def _norm_scale(part: AttentionConfig) -> str:
    if part.mixing == "differential":
        return r"(1-\lambda_{\mathrm{init}})"
    if part.mixing == "additive" and part.components > 1:
        return r"\frac{1}{1+\sum_n\lambda_{n,\mathrm{init}}}"
    return ""


def _of_token(part: AttentionConfig) -> bool:
    return part.lambda_input or part.mixing == "differential-v2"


def _score(config: ModelConfig) -> Iterator[Line]:
    """What a map is made of: content, its factor, and what is added."""
    part = config.attention
    several = part.components > 1
    at = "^{(n)}" if several else ""
    q, k = f"q_i{at}", f"k_j{at}"
    if part.rotary:
        q, k = f"R_i{q}", f"R_j{k}"
    width = qk_width(config) // part.heads
    if part.qk_norm:
        content = rf"\tau\,\frac{{{q}\cdot {k}}}{{\lVert q_i{at}\rVert\,\lVert k_j{at}\rVert}}"
    else:
        content = rf"\frac{{{q}\cdot {k}}}{{\sqrt{{{width}}}}}"
    if part.lexical == "hadamard":
        content += rf"\,{_strength(part)}\sigma_{{ij}}{_reach(part)}"
    added = r" + \log g_j" if part.gate else ""
    if part.lexical == "add":
        scaled = rf"\frac{{\sigma_{{ij}}}}{{\sqrt{{{width}}}}}" if part.lexical_scaled else r"\sigma_{ij}"
        added += rf" + {_strength(part)}{scaled}{_reach(part)}"
    name = "A_{n}" if several else "A"
    seen = r"j \in S_i" if part.window else "j"
    yield Line(
        rf"{name} = \operatorname{{softmax}}_{{{seen}}}\Big({content}{added}\Big)",
        "How much token i reads token j, by the content of both" + (" and what is added." if added else "."),
    )
    if part.rotary:
        yield Line(
            rf"R_i:\ (2m,2m{{+}}1)\ \text{{turned by}}\ i\,/\,10000^{{2m/{width}}}",
            "Rotary positions: scores see distances only.",
        )
    if part.gate:
        guided = r" + c\,|\rho_j^{+}-\rho_j^{-}|" if part.lexicon_gate else ""
        yield Line(
            rf"g_j = \operatorname{{sigmoid}}(x_j\cdot w_g + b{guided})",
            "The gate of token j" + (", wider open for a word with a polarity; c is learned." if guided else "."),
        )
    if part.lexical != "none":
        yield Line(
            r"\sigma_{ij} = \rho_i\cdot\rho_j,\quad \rho=(\rho^{+},\rho^{0},\rho^{-})",
            "The polarities of two tokens in the lexicon; 1/3 each where it knows nothing."
            + (" The strength s is learned." if part.learn_strength else ""),
        )
    if part.window:
        drawn = f", and {part.random_globals} random ones" if part.random_globals else ""
        yield Line(
            rf"S_i = \{{j : |i-j|\le {part.window // 2}\}} \cup G",
            f"Whom token i sees; G, the first and the last token{drawn}, see all and are seen by all.",
        )


def _strength(part: AttentionConfig) -> str:
    if part.learn_strength:
        return r"s\,"
    return "" if part.lexical_strength == 1 else rf"{part.lexical_strength:g}\,"


def _reach(part: AttentionConfig) -> str:
    """A condition behind sigma where it does not reach every head and map."""
    where = ["h=H"] if part.lexical_heads == "last" else []
    if part.lexical_component >= 0 and part.components > 1:
        where.append(f"n={part.lexical_component}")
    return rf"\,[{', '.join(where)}]" if where else ""


def _lambda(config: ModelConfig) -> Iterator[Line]:
    """Where the weights of the maps come from."""
    part = config.attention
    sets = " One per head." if part.lambda_per_head else ""
    if part.mixing == "differential":
        begin = "grows with the layer" if part.start is None else f"is {part.start:g}"
        yield Line(
            r"\lambda = e^{u_1\cdot v_1} - e^{u_2\cdot v_2} + \lambda_{\mathrm{init}}",
            f"Four learned vectors; the start {begin}.{sets}",
        )
    elif part.mixing == "differential-v2":
        yield Line(r"\lambda_i = \operatorname{sigmoid}(x_i\cdot w_h)", "One per token i and head h.")
    elif part.mixing == "additive" and part.components > 1:
        name, interval = _RANGE[part.constraint]
        each, key = ("_{n,i}", "W_n x_i") if part.lambda_input else ("_n", "v_n")
        beta = "alpha is fixed, beta learned" if part.learn_beta else "alpha and beta are fixed"
        begin = (
            "fitted to what the paper's models learned"
            if part.start is None
            else f"so that it starts at {part.start:g}"
        )
        yield Line(
            rf"\lambda{each} = p{each}\,\alpha_n + (1-p{each})\,\beta_n",
            f"The weight of map n, between two ends; {beta}: {begin}.{sets}",
        )
        yield Line(
            rf"p{each} = \operatorname{{mean}}\big({name}(u_n)\odot {name}({key})\big)",
            f"In {_plain(interval)}, from two learned vectors{' and the token' * part.lambda_input}.",
        )


def _plain(interval: str) -> str:
    return interval.replace(r"\infty", "∞").replace("-", "−")


def _around(config: ModelConfig) -> Iterator[Line]:
    """Positions before the layers, and what lies between the last layer and the answer."""
    if config.position == "polarity-aware":
        terms = r"\alpha\,p^{\sin}_i"
        if config.recency:
            terms += r" + \beta\,[\sin\tfrac{\pi i}{T},\cos\tfrac{\pi i}{T}]"
        if config.pos_tags:
            terms += r" + \gamma\,E^{\mathrm{tag}}_i"
        yield Line(
            rf"x_i = {_embedding(config)} + {terms}",
            "What enters the first layer: the token and its place among T, each term with a learned factor.",
        )
    elif config.position == "sinusoidal":
        yield Line(
            rf"x_i = {_embedding(config)} + p^{{\sin}}_i", "What enters the first layer: the token and its place."
        )
    else:
        yield Line(rf"x_i = {_embedding(config)}", "What enters the first layer.")
    yield from _head(config)


def _embedding(config: ModelConfig) -> str:
    return rf"\sqrt{{{config.width}}}\,E_i" if config.initial == "xavier" else "E_i"


def _head(config: ModelConfig) -> Iterator[Line]:
    head = config.head
    token, words = "h_i", "The class token" if config.pooling == "cls" else "The mean of the T tokens"
    if head.kernels:
        branches = ";".join(f"C_{{{k}}}(H)_i" for k in head.widths())
        yield Line(rf"r_i = [h_i;\,{branches}]", "Beside each token what the convolutions find around it.")
        token = "r_i"
    if head.attention_heads:
        inner = token[0].upper()
        yield Line(
            rf"a_i = \operatorname{{Attention}}({inner})_i", f"One more attention, of {head.attention_heads} heads."
        )
        token = "a_i"
    pooled = token.replace("_i", "_1") if config.pooling == "cls" else rf"\tfrac{{1}}{{T}}\textstyle\sum_i {token}"
    yield from _classified(config, pooled, f"{words} and a linear map.")


def _classified(config: ModelConfig, vector: str, words: str) -> Iterator[Line]:
    """The dense layer, if there is one, and the classifier, over one vector a text."""
    head = config.head
    if head.dense:
        dense = rf"t = \operatorname{{LayerNorm}}\big(\operatorname{{ReLU}}(W_1\,{vector} + b_1)\big)"
        yield Line(dense, words.replace("linear map", "dense layer"))
        vector, words = "t", "A linear map."
    if head.one_logit:
        yield Line(rf"[0,\,z] = [0,\, w\cdot {vector} + b]", "One number, its sigmoid the second class.")
    else:
        yield Line(rf"\mathrm{{logits}} = W\,{vector} + b", words)


def _above(layers: int) -> str:
    return f", in the top one of {layers} layers" if layers > 1 else ""


def _baseline(config: ModelConfig) -> tuple[Line, ...]:
    if config.family == "bilstm":
        states = r"h = \big[\overrightarrow{\mathrm{LSTM}}(x)_T;\ \overleftarrow{\mathrm{LSTM}}(x)_1\big]"
        return (
            Line(states, f"The last state of each direction{_above(config.layers)}."),
            *_classified(config, "h", "A linear map."),
        )
    if config.family == "cnn":
        kernels = r",\,".join(map(str, config.head.widths()))
        return (
            Line(
                rf"m_{{k,c}} = \max_i\ \operatorname{{ReLU}}\big(w_{{k,c}}\cdot x_{{i:i+k}} + b_{{k,c}}\big),\quad "
                rf"k\in\{{{kernels}\}}",
                "The strongest trace of each pattern, wherever it stands.",
            ),
            *_classified(config, "m", "A linear map."),
        )
    if config.family == "lexicon":
        return (
            Line(
                r"f = \big(\textstyle\sum_i v_i,\ \tfrac{1}{T}\sum_i v_i\big),\quad v_i=\rho_i^{+}-\rho_i^{-}",
                "Valences.",
            ),
            Line(r"\mathrm{logits} = W f + b", "Logistic regression."),
        )
    return (
        Line(
            r"x_g = (1+\ln \mathrm{count}_g)\cdot\mathrm{idf}_g",
            "The weight of each word and pair of neighbours in a text.",
        ),
        Line(r"\mathrm{logits} = W\,x/\lVert x\rVert + b", "A linear map."),
    )
