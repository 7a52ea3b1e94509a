"""Learned numbers of a model, and values of tokens and token pairs besides attention, such as gates and lexicons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.exceptions import NotAvailable
from core.formatting import number
from core.runs.record import RunRecord
from core.text.lexicon import NEUTRAL, name_triples
from core.text.pos_tags import TAGS
from dashboard.figures import attention, attention_heads, theme
from dashboard.figures.attention import MapRow, draw_map_grid, has_subtraction
from dashboard.figures.drawing import DataTable, TableColumn, escape_text
from dashboard.figures.figure import Figure, Source
from dashboard.figures.theme import Look, build_template, choose_text_color
from dashboard.figures.training_log import NUMBERS, NumberLine

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

NEUTRAL_TOKENS = "neutral tokens"
Floats = NDArray[np.floating]
NAMED = 48  # most tokens with words below the cells
WRITTEN = 16  # most tokens with values in the cells
WAYS = (1, 0, -1)  # the `direction` of each number of a lexicon, in its order
TITLES = {"number": TableColumn("Number"), "what it is": TableColumn("Meaning"), "learned": TableColumn("Value")}
SIGMA = {"lexical": "added to the score", "lexical_factor": "multiplied with the score"}


def build_number_table(scalars: Mapping[str, Sequence[float]], gates: Sequence[Sequence[float]] = ()) -> pd.DataFrame:
    """Return a table of a model's learned single numbers: symbol, meaning, and value (one per layer if several)."""
    known = {name: ", ".join(number(value, 3) for value in scalars[name]) for name in scalars if name in NUMBERS}
    rows = [(*NUMBERS[name], values) for name, values in known.items()]
    if gates:
        said = ", ".join(f"{number(mean, 2)} ± {number(deviation, 2)}" for mean, deviation in gates)
        rows.append(("gate", "mean and deviation over tokens of validation texts, by layer", said))
    return pd.DataFrame(rows, columns=["number", "what it is", "learned"])


def read_view_scalars(view: SentenceView) -> dict[str, list[float]]:
    """Return the learned scalars shown in a text's forward pass, as name → values."""
    found = {name: [value] for name, value in view.positions.items()}
    temperatures = [layer.temperature for layer in view.layers if layer.temperature is not None]
    return {**found, **({"tau": temperatures} if temperatures else {})}


def read_run_numbers(record: RunRecord) -> pd.DataFrame:
    """Return a table of a run's learned scalars and the share of tokens that its lexicon lacks; empty without both."""
    table = build_number_table(record.results.get("scalars") or {}, record.results.get("gates") or ())
    shares = {split: share for split, share in (record.results.get("neutral_share") or {}).items() if share is not None}
    if shares:
        said = ", ".join(f"{split} {100 * share:.1f} %" for split, share in shares.items())
        table.loc[len(table)] = [NEUTRAL_TOKENS, "share of running tokens of which the lexicon says nothing", said]
    return table


def build_history_table(lines: Mapping[str, Sequence[NumberLine]]) -> pd.DataFrame:
    """Return a row for each logged value of each learned scalar: name, layer (from 1), epoch, value."""
    rows = [
        (name, layer, x, y)
        for name, layers in lines.items()
        for layer, line in enumerate(layers, start=1)
        for x, y in zip(line.x, line.y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["number", "layer", "epoch", "value"])


@dataclass(frozen=True)
class Numbers:
    """Learned scalars of a run as a table, with a title and a note."""

    table: pd.DataFrame
    title: str = "Learned numbers"
    note: str = "best epoch"


def read_numbers(record: RunRecord) -> Numbers:
    """Return the learned scalars of a finished run as a table; NotAvailable: its model has none."""
    table = read_run_numbers(record)
    if table.empty:
        raise NotAvailable(f"{record.preset} learns no number with a meaning of its own")
    if set(table["number"]) == {NEUTRAL_TOKENS}:
        return Numbers(table, "Lexicon coverage", "counted, not learned")
    return Numbers(table)


NUMBERS_OF = Figure("numbers", "attention", lambda shown: shown.title).add_details(
    read=lambda source: read_numbers(source.record),
    draw=lambda shown, look: DataTable(shown.table, TITLES, narrow=True),
    note=lambda shown: shown.note,
    reading="Several values: one per layer, in order. One value: the whole model.",
    tables=lambda shown: {"Learned numbers": shown.table},
)


@dataclass(frozen=True)
class TokenRow:
    """Row of a figure with one number for each token, and the name of the row."""

    name: str
    values: Floats  # (L,)
    direction: int | None = None
    """Effect of a higher value: 1 towards positive, −1 towards negative, 0 neither; None: no direction (ink)."""


def read_pos_tags(view: SentenceView) -> list[str]:
    """Return the part of speech of each token; empty for a token without one."""
    names = ("", *TAGS, "")  # 0 unknown, 13 the class token
    return [names[tag] for tag in view.tags or ()]


def build_gate_rows(view: SentenceView) -> list[TokenRow]:
    """Return the attention gate of each token in each layer, a row for each layer."""
    return [TokenRow(f"layer {i}", layer.gates) for i, layer in enumerate(view.layers, 1) if layer.gates is not None]


def build_lambda_rows(view: SentenceView, minus: bool) -> list[TokenRow]:
    """Return each token's weight λ of each attention map but the first, mean over heads, as rows by layer and map."""
    every = enumerate((layer.coefficients for layer in view.layers), start=1)
    return [
        TokenRow(f"layer {place}, {name}", values.mean(0))
        for place, coefficients in every
        for name, values in zip(attention.name_coefficients(len(coefficients), minus), coefficients[1:], strict=True)
    ]


def build_polarity_rows(view: SentenceView) -> list[TokenRow]:
    """Return how positive, neutral and negative each token is in each lexicon, a row for each of the three."""
    if view.polarity is None:
        return []
    names = name_triples(view.polarity.shape[1] // 3)
    return [TokenRow(name, view.polarity[:, i], WAYS[i % 3]) for i, name in enumerate(names)]


def build_branch_rows(view: SentenceView) -> list[TokenRow]:
    """Return each token's mean output of the classification head's convolutions, a row for each kernel width."""
    return [TokenRow(f"{width} tokens wide", values.mean(-1)) for width, values in view.branches.items()]


def read_head_attention(view: SentenceView) -> list[TokenRow]:
    """Return the mean attention that each token receives in the classification head, as a list of one row or none."""
    if view.head_maps is None or not view.tokens:  # without tokens there is no mean
        return []
    return [TokenRow("is read", np.average(view.head_maps.mean(0), axis=0, weights=view.places))]


def build_token_table(view: SentenceView) -> pd.DataFrame:
    """Return a row for each token with all its values other than attention, such as polarity and gates."""
    columns: dict[str, Any] = {"place": range(1, len(view.tokens) + 1), "token": view.tokens}
    if view.tags is not None:
        columns["part of speech"] = read_pos_tags(view)
    groups = {"": build_polarity_rows(view), "gate, ": build_gate_rows(view), "convolution ": build_branch_rows(view)}
    for start, rows in groups.items():
        columns |= {f"{start}{row.name}": row.values for row in rows}
    columns |= {f"head {row.name}": row.values for row in read_head_attention(view)}
    return pd.DataFrame(columns)


def draw_token_rows(
    rows: Sequence[TokenRow], tokens: Sequence[str], look: Look, *, label: str, top: float = 0, zero: float = 0
) -> go.Figure:
    """Draw token values as a heat map: one column for each token, one line for each row of values.

    `zero` has the background colour, as do all cells of a row with direction 0. The strongest colour is at distance
    `top` from it; 0: at the largest distance that occurs.
    """
    t, size, step = look.tokens, look.scale_size, attention.get_block_size(len(tokens))
    values = np.stack([_reduce_blocks(row.values, step) for row in rows])
    push = rows[0].direction is not None
    z = (values - zero) * np.array([[1 if row.direction is None else row.direction] for row in rows], np.float32)
    top = top or float(np.abs(z).max()) or 1.0
    sided = push or bool((z < 0).any())
    words = [escape_text(token) for token in tokens][::step]
    places = list(range(len(words)))
    across = {"tickvals": places, "ticktext": words, "tickangle": -40 if len(words) > 10 else 0}
    plain = {"showgrid": False, "tickfont": {"color": t.ink}}
    layout = {
        "template": build_template(look),
        "height": look.scale_height(96 + 34 * len(rows)),
        "margin": {"t": size(6), "b": size(40)},
        "xaxis": {**plain, **across} if len(words) <= NAMED else {"visible": False},
        "yaxis": {**plain, "autorange": "reversed"},
    }
    trace = {
        **{"type": "heatmap", "z": z, "x": places, "y": [escape_text(row.name) for row in rows]},
        **{"text": [words] * len(rows), "customdata": values, "xgap": 2, "ygap": 2},
        **{"zmin": -top if sided else 0, "zmax": top, "showscale": False},
        "colorscale": (
            theme.make_diverging_scale if push else theme.make_two_sided_scale if sided else theme.make_sequential_scale
        )(t),
        "hovertemplate": f"%{{text}}<br>{escape_text(label)} %{{customdata:.3f}}<extra>%{{y}}</extra>",
    }
    color = theme.shade_signed if push else theme.shade_ink
    if len(words) > WRITTEN:
        pattern = None if push else attention.make_hatching(z < 0, "", 1.5, look)
        layout["shapes"] = [pattern] if pattern else []
    else:
        layout["annotations"] = [
            {"x": x, "y": y, "text": number(float(value), 2)}
            | {"font": {"size": size(13), "color": choose_text_color(t, color(t, float(z[y, x]), top))}}
            for (y, x), value in np.ndenumerate(values)
        ]
    return go.Figure({"data": [trace], "layout": layout})


def _reduce_blocks(values: Floats, step: int) -> Floats:
    """Reduce the token values of a long text to one for each block of tokens: the largest in absolute value."""
    parts = [values[start : start + step] for start in range(0, len(values), step)]
    return np.array([part[np.abs(part).argmax()] for part in parts], np.float32)


def compute_lexicon_effect(view: SentenceView, layer: int, heads: slice) -> MapRow | None:
    """Compute the effect of lexicons on the attention scores of one layer, in the given heads.

    The value of a pair with a neutral token is subtracted: a softmax ignores a constant that all scores share.
    """
    polarity, terms = view.polarity, view.layers[layer].terms if view.layers else {}
    for name, term in terms.items():
        if polarity is not None:
            return MapRow(SIGMA[name], np.stack([each - _compute_neutral(each, polarity) for each in term[heads]]))
    return None


def _compute_neutral(term: Floats, polarity: Floats) -> float:
    """Compute the value that a lexicon adds to the attention score of a pair with a neutral token.

    The three polarities of a token sum to 1, so their product with those of a neutral token (thirds) is always 1/3.
    """
    each = [polarity[:, start : start + 3] for start in range(0, polarity.shape[1], 3)]
    products = np.stack([(part @ part.T).ravel() for part in each], 1)
    weights, *_ = np.linalg.lstsq(products, term.ravel(), rcond=None)
    return float(weights.sum()) * NEUTRAL


def read_support(view: SentenceView, layer: int) -> MapRow | None:
    """Return which tokens may attend to which in one layer, as a matrix of 1 and 0; None: attention is not limited."""
    support = view.layers[layer].support if view.layers else None
    return None if support is None else MapRow("may see", support[None].astype("float32"))


TokenRows = tuple[Sequence[TokenRow], tuple[str, ...]]
"""Rows of one number for each token of a text, and the tokens."""


def _read_token_rows(source: Source, rows: Sequence[TokenRow]) -> TokenRows:
    if not rows:
        raise NotAvailable(f"{source.record.preset} has none in this text")
    return rows, source.view.tokens


def _draw_rows(label: str, top: float = 0, zero: float = 0) -> Callable[[TokenRows, Look], go.Figure]:
    return lambda shown, look: draw_token_rows(*shown, look, label=label, top=top, zero=zero)


GATES = Figure("gates", "sentence", "Token gates").add_details(
    read=lambda source: _read_token_rows(source, build_gate_rows(source.view)),
    draw=_draw_rows("gate", 1),
    note="every layer",
    reading="Stronger colour: other tokens can attend to this token more.",
    how="Sigmoid of a learned linear map of the token's vector in that layer; its logarithm is added to every score "
    "with this token as key (SentiFormer, equation 4). A class token has the gate 1.",
    needs="gates",
)
TOKEN_LAMBDA = Figure("token-lambda", "sentence", "λ per token").add_details(
    read=lambda source: _read_token_rows(source, build_lambda_rows(source.view, has_subtraction(source.record))),
    draw=_draw_rows("coefficient"),
    note="mean over heads",
    reading="Weight of each further component in the rows of this token.",
    needs="token-lambda",
)
POLARITY = Figure("polarity", "sentence", "Token polarity").add_details(
    read=lambda source: _read_token_rows(source, build_polarity_rows(source.view)),
    draw=_draw_rows("polarity", 2 / 3, NEUTRAL),
    note="from the lexicon",
    reading="Blue: towards the positive class. Orange: towards the negative class.",
    how="Blue: more positive or less negative than a third. The three numbers of a token sum to 1; for an unknown word "
    "each is a third. They are counts of the lexicon's entries for the word, weighted by intensity, plus one "
    "(Laplace), normalised (Sentiment Lexical Attention, section 3). Several lexicons are numbered as in text.lexicon.",
    needs="polarity",
)
BRANCHES = Figure("branches", "sentence", "Convolutions").add_details(
    read=lambda source: _read_token_rows(source, build_branch_rows(source.view)),
    draw=_draw_rows("mean activation"),
    note="mean over channels",
    reading="Mean filter activation (after ReLU) around this token, by filter width.",
    needs="branches",
)


@dataclass(frozen=True)
class TokenPairs:
    """Matrix over all token pairs that is not attention, such as the effect of a lexicon."""

    tokens: tuple[str, ...]
    row: MapRow
    layer: int  # from 0


def _read_token_pairs(source: Source, row: MapRow | None) -> TokenPairs:
    if row is None:
        raise NotAvailable(f"{source.record.preset} has none")
    return TokenPairs(source.view.tokens, row, attention_heads.get_layer(source))


def _draw_pairs(label: str, top: float = 0) -> Callable[[TokenPairs, Look], go.Figure]:
    def draw_map(shown: TokenPairs, look: Look) -> go.Figure:
        row, several = replace(shown.row, name=""), len(shown.row.weights) > 1
        return draw_map_grid([row], shown.tokens, look, top=top, label=label, numbered=several, worded=not several)

    return draw_map


def _choose_heads(source: Source) -> slice:
    """Return the heads whose lexicon effect is drawn: the last head, or one head for each lexicon."""
    settings = source.record.config.model.attention
    return slice(settings.lexicons) if settings.lexical_heads == "apart" else slice(-1, None)


LEXICON = Figure("sigma", "sentence", "Lexical similarity σ").add_details(
    read=lambda source: _read_token_pairs(
        source, compute_lexicon_effect(source.view, attention_heads.get_layer(source), _choose_heads(source))
    ),
    draw=_draw_pairs("σ − neutral"),
    note=lambda shown: (
        f"{shown.row.name}, "
        + ("last head" if (many := len(shown.row.weights)) == 1 else f"heads 1 to {many}, one lexicon each")
    ),
    reading="Plain: σ raises the score of two tokens. Hatched: σ lowers it.",
    how="σ of two tokens is the product of their polarities, shown minus σ with a neutral token.",
    options=(attention_heads.LAYER,),
)
SUPPORT = Figure("support", "sentence", "Attention mask").add_details(
    read=lambda source: _read_token_pairs(source, read_support(source.view, attention_heads.get_layer(source))),
    draw=_draw_pairs("may see", 1),
    note=lambda shown: f"layer {shown.layer + 1}",
    reading="Filled: the row's token can attend to the column's token.",
    how="A token can attend to its neighbours, and to the few tokens that all can attend to.",
    options=(attention_heads.LAYER,),
)
