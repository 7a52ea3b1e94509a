"""What a model knows of each token of one sentence, and how its other learned numbers moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.exceptions import NotAvailable
from core.runs.record import RunRecord
from core.text.lexicon import NEUTRAL
from core.text.tags import TAGS
from dashboard.figures import heads
from dashboard.figures.attention import MapRow, block, coefficient_names, map_grid
from dashboard.figures.curves import NUMBERS, NumberLine
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.hatching import hatched
from dashboard.figures.numbers import number
from dashboard.figures.panels import Panels
from dashboard.figures.sentence import subtracts
from dashboard.figures.source import Source
from dashboard.figures.theme import (
    Look,
    diverging,
    ink_shade,
    layer_colour,
    readable,
    sequential,
    shade,
    template,
    two_sided,
)

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

Floats = NDArray[np.floating]
NAMED = 48
"""Tokens whose words fit below the cells."""
WRITTEN = 16
"""Tokens whose values fit into the cells."""
PER_ROW = 3
"""Panels side by side."""


@dataclass(frozen=True)
class TokenRow:
    """One number for each token, under a name."""

    name: str
    values: Floats
    """(L,)."""
    direction: int | None = None
    """Where more of it pushes: 1 towards positive, −1 towards negative, 0 to neither; None: it pushes nowhere and is
    drawn in ink."""


NEUTRAL_TOKENS = "neutral tokens"
"""The row of a record's numbers that is counted, not learned."""
POLARITIES = {"positive": 1, "neutral": 0, "negative": -1}
"""In the order of a lexicon's numbers, each with the direction in which more of it pushes."""


def tag_names(view: SentenceView) -> list[str]:
    """The part of speech of each token; empty where it has none."""
    names = ("", *TAGS, "")  # 0 unknown, 13 the class token
    return [names[tag] for tag in view.tags or ()]


def gate_rows(view: SentenceView) -> list[TokenRow]:
    """The gate of each token in each layer."""
    return [TokenRow(f"layer {i}", layer.gates) for i, layer in enumerate(view.layers, 1) if layer.gates is not None]


def lambda_rows(view: SentenceView, minus: bool) -> list[TokenRow]:
    """The coefficients of each token where they differ between tokens, mean over heads: layer by component."""
    rows = []
    for number_, layer in enumerate(view.layers, start=1):
        names = coefficient_names(len(layer.coefficients), minus)
        for name, values in zip(names, layer.coefficients[1:].mean(1), strict=True):
            rows.append(TokenRow(f"layer {number_}, {name}", values))
    return rows


def polarity_rows(view: SentenceView) -> list[TokenRow]:
    """How positive, neutral and negative the lexicon holds each token."""
    if view.polarity is None:
        return []
    return [TokenRow(name, view.polarity[:, i], way) for i, (name, way) in enumerate(POLARITIES.items())]


def branch_rows(view: SentenceView) -> list[TokenRow]:
    """The mean over channels of each convolution of the head at each token."""
    return [TokenRow(f"{width} tokens wide", values.mean(-1)) for width, values in view.branches.items()]


def head_reading(view: SentenceView) -> list[TokenRow]:
    """How much each token is read by the head's own attention, mean over readers and heads."""
    if view.head_maps is None or not view.tokens:  # of no readers there is no mean
        return []
    return [TokenRow("is read", np.average(view.head_maps.mean(0), axis=0, weights=view.places))]


def sigma(view: SentenceView, layer: int) -> MapRow | None:
    """What the lexicon does to the scores of one layer, in the last head, which every setting reaches.

    Counted from its value for a pair with a neutral token, since a softmax does not see what all scores have in common.
    """
    polarity, terms = view.polarity, view.layers[layer].terms if view.layers else {}
    for name, term in terms.items():
        if polarity is not None:
            factor = term[-1, 0, 0] / (polarity[0] @ polarity[0])  # strength and scale
            return MapRow(SIGMA[name], term[-1:] - factor * NEUTRAL)
    return None


SIGMA = {"lexical": "added to the score", "lexical_factor": "multiplied with the score"}


def seen(view: SentenceView, layer: int) -> MapRow | None:
    """Who may see whom in one layer, 1 or 0."""
    support = view.layers[layer].support if view.layers else None
    return None if support is None else MapRow("may see", support[None].astype("float32"))


def number_table(scalars: Mapping[str, Sequence[float]], gates: Sequence[Sequence[float]] = ()) -> pd.DataFrame:
    """One row for each learned number: its sign, its meaning, its value (by layer where there are several)."""
    rows = [(*NUMBERS[name], _by_layer(values)) for name, values in scalars.items() if name in NUMBERS]
    if gates:
        said = ", ".join(f"{number(mean, 2)} ± {number(deviation, 2)}" for mean, deviation in gates)
        rows.append(("gate", "mean and deviation over tokens of validation texts, by layer", said))
    return pd.DataFrame(rows, columns=["number", "what it is", "learned"])


def _by_layer(values: Sequence[float]) -> str:
    return ", ".join(number(value, 3) for value in values)


def view_scalars(view: SentenceView) -> dict[str, list[float]]:
    """The learned numbers that a reading shows."""
    found = {name: [value] for name, value in view.positions.items()}
    temperatures = [layer.temperature for layer in view.layers if layer.temperature is not None]
    return {**found, **({"tau": temperatures} if temperatures else {})}


def record_numbers(record: RunRecord) -> pd.DataFrame:
    """The same of a finished run, with how much its lexicon knows; empty where its model has neither."""
    table = number_table(record.results.get("scalars") or {}, record.results.get("gates") or ())
    shares = {split: share for split, share in (record.results.get("neutral_share") or {}).items() if share is not None}
    if shares:
        said = ", ".join(f"{split} {100 * share:.1f} %" for split, share in shares.items())
        table.loc[len(table)] = [NEUTRAL_TOKENS, "share of running tokens of which the lexicon says nothing", said]
    return table


def token_table(view: SentenceView) -> pd.DataFrame:
    """One row for each token with everything that the model knows of it besides the maps."""
    columns: dict[str, Any] = {"place": range(1, len(view.tokens) + 1), "token": view.tokens}
    if view.tags is not None:
        columns["part of speech"] = tag_names(view)
    groups = {"": polarity_rows(view), "gate, ": gate_rows(view), "convolution ": branch_rows(view)}
    for start, rows in groups.items():
        columns |= {f"{start}{row.name}": row.values for row in rows}
    columns |= {f"head {row.name}": row.values for row in head_reading(view)}
    return pd.DataFrame(columns)


def numbers_table(lines: Mapping[str, Sequence[NumberLine]]) -> pd.DataFrame:
    """One row for each logged value of each number: number, layer (from 1), epoch, value."""
    rows = [
        (name, layer, x, y)
        for name, layers in lines.items()
        for layer, line in enumerate(layers, start=1)
        for x, y in zip(line.x, line.y, strict=True)
    ]
    return pd.DataFrame(rows, columns=["number", "layer", "epoch", "value"])


def token_rows(
    rows: Sequence[TokenRow], tokens: Sequence[str], look: Look, *, label: str, top: float = 0, zero: float = 0
) -> go.Figure:
    """A cell for each token, a line for each row; the page colour is `zero`, and a row of direction 0 has no other.

    Args:
        rows: At least one; all with a direction, or none.
        tokens: L words.
        look: Theme and size.
        label: What the colour measures.
        top: How far from `zero` is full colour; 0: as far as the farthest value.
        zero: The value that means nothing.
    """
    t, size = look.tokens, look.size
    step = block(len(tokens))
    values = np.stack([_strongest(row.values, step) for row in rows])
    push = rows[0].direction is not None
    z = (values - zero) * np.array([[1 if row.direction is None else row.direction] for row in rows], np.float32)
    top = top or float(np.abs(z).max()) or 1.0
    signed = bool((z < 0).any())
    words = [escape(token) for token in tokens][::step]
    places = list(range(len(words)))
    axis: dict[str, Any] = {"tickvals": places, "ticktext": words, "tickangle": -40 if len(words) > 10 else 0}
    layout = {
        "template": template(look),
        "height": look.height(96 + 34 * len(rows)),
        "margin": {"t": size(6), "b": size(40)},
        "xaxis": {"showgrid": False, "tickfont": {"color": t.ink}, **axis}
        if len(words) <= NAMED
        else {"visible": False},
        "yaxis": {"autorange": "reversed", "showgrid": False, "tickfont": {"color": t.ink}},
    }
    trace = {
        "type": "heatmap",
        "z": z,
        "x": places,
        "y": [escape(row.name) for row in rows],
        "text": [words] * len(rows),
        "customdata": values,
        "zmin": -top if signed or push else 0,
        "zmax": top,
        "colorscale": (diverging(t) if push else two_sided(t)) if signed or push else sequential(t),
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": f"%{{text}}<br>{escape(label)} %{{customdata:.3f}}<extra>%{{y}}</extra>",
    }
    colour = shade if push else ink_shade
    if len(words) > WRITTEN:
        pattern = None if push else hatched(z < 0, "", 1.5, look)
        layout["shapes"] = [pattern] if pattern else []
    else:
        layout["annotations"] = [
            {
                "x": x,
                "y": y,
                "text": number(value, 2),
                "font": {"size": size(13), "color": readable(t, colour(t, float(z[y, x]), top))},
            }
            for y, line in enumerate(values)
            for x, value in enumerate(line)
        ]
    return go.Figure({"data": [trace], "layout": layout})


def _strongest(values: Floats, step: int) -> Floats:
    """(L,) to one value of each block of a long text: the one that is largest in size."""
    parts = [values[start : start + step] for start in range(0, len(values), step)]
    return np.array([part[np.abs(part).argmax()] for part in parts], np.float32)


def token_bars(row: TokenRow, tokens: Sequence[str], look: Look, *, label: str) -> go.Figure:
    """A bar for each token, from 0 to 1."""
    t, step = look.tokens, block(len(tokens))
    words = [escape(token) for token in tokens][::step]
    places = list(range(len(words)))
    trace = {
        "type": "bar",
        "x": places,
        "y": _strongest(row.values, step),
        "marker": {"color": t.accent},
        "customdata": words,
        "hovertemplate": f"%{{customdata}}<br>{escape(label)} %{{y:.3f}}<extra>{escape(row.name)}</extra>",
    }
    layout = {
        "template": template(look),
        "height": look.height(210),
        "bargap": 0.25,
        "xaxis": {"tickvals": places, "ticktext": words, "tickangle": -40 if len(words) > 10 else 0}
        if len(words) <= NAMED
        else {"visible": False},
        "yaxis": {"range": [0, 1.02], "dtick": 0.5, "title": {"text": label}},
    }
    return go.Figure({"data": [trace], "layout": layout})


def numbers_course(lines: Mapping[str, Sequence[NumberLine]], epochs: int, look: Look) -> go.Figure:
    """A panel for each number, a line for each layer that has one of its own; the deeper the layer, the stronger.

    Args:
        lines: By name; one line for each layer, or a single one of the whole model.
        epochs: Planned.
        look: Theme and size.
    """
    t = look.tokens
    names = list(lines)
    titles = [
        [*names[i : i + PER_ROW], *[""] * (PER_ROW - len(names[i : i + PER_ROW]))]
        for i in range(0, len(names), PER_ROW)
    ]
    figure = Panels(
        look, titles, height=40 + 220 * len(titles), horizontal_spacing=0.09, vertical_spacing=0.44 / len(titles)
    )
    for index, (name, layers) in enumerate(lines.items()):
        at = {"row": index // PER_ROW + 1, "col": index % PER_ROW + 1}
        for layer, line in enumerate(layers):
            of = f"layer {layer + 1}" if len(layers) > 1 else "all layers"
            figure.add_scatter(
                x=line.x,
                y=line.y,
                mode="lines",
                line={"color": layer_colour(t, layer, len(layers)), "width": look.size(2.4)},
                hovertemplate=f"{of}<br>epoch %{{x:.1f}}<br>{escape(name)} %{{y:.4f}}<extra></extra>",
                **at,
            )
        figure.update_xaxes(range=[0, epochs], title="epoch", nticks=5, **at)
        figure.update_yaxes(nticks=5, exponentformat="none", **at)
    for index in range(len(names), len(titles) * PER_ROW):
        figure.update_xaxes(visible=False, row=index // PER_ROW + 1, col=index % PER_ROW + 1)
        figure.update_yaxes(visible=False, row=index // PER_ROW + 1, col=index % PER_ROW + 1)
    return figure.drawn()


@dataclass(frozen=True)
class OfTokens:
    """Rows of one number for each token."""

    tokens: tuple[str, ...]
    rows: Sequence[TokenRow]


def _of_tokens(source: Source, rows: Sequence[TokenRow]) -> OfTokens:
    if not rows:
        raise NotAvailable(f"{source.record.preset} has none in this text")
    return OfTokens(source.view.tokens, rows)


@dataclass(frozen=True)
class OfPairs:
    """A map of all pairs of tokens that is no attention."""

    tokens: tuple[str, ...]
    row: MapRow
    layer: int
    """From 0."""


def _of_pairs(source: Source, row: MapRow | None) -> OfPairs:
    if row is None:
        raise NotAvailable(f"{source.record.preset} has none")
    return OfPairs(source.view.tokens, row, heads.layer(source))


def _draw_rows(label: str, top: float = 0, zero: float = 0) -> Callable[[OfTokens, Look], go.Figure]:
    return lambda shown, look: token_rows(shown.rows, shown.tokens, look, label=label, top=top, zero=zero)


def _draw_pairs(label: str, top: float = 0) -> Callable[[OfPairs, Look], go.Figure]:
    def draw(shown: OfPairs, look: Look) -> go.Figure:
        row = replace(shown.row, name="")
        return map_grid([row], shown.tokens, look, top=top, label=label, numbered=False, worded=True)

    return draw


GATES = Figure(
    "gates",
    "sentence",
    "Gates",
    lambda source: _of_tokens(source, gate_rows(source.view)),
    _draw_rows("gate", 1),
    note="every layer",
    reading=("The more ink, the more freely other tokens look at this one; near the page colour, hardly at all."),
    how=(
        "Sigmoid of a learned linear map of the token's vector in that layer; its logarithm is added to every score "
        "in which the token is read (SentiFormer, equation 4). A class token has the gate 1."
    ),
    needs="gates",
)
GATE_BARS = Figure(
    "gate-bars",
    "sentence",
    "Gates of one layer",
    lambda source: _of_tokens(source, [gate_rows(source.view)[heads.layer(source)]]),
    lambda shown, look: token_bars(shown.rows[0], shown.tokens, look, label="gate"),
    note=lambda shown: shown.rows[0].name,
    reading="The same of the chosen layer: 1 is wide open, 0 hides the token as padding is hidden.",
    needs="gates",
    options=(heads.LAYER,),
)
TOKEN_LAMBDA = Figure(
    "token-lambda",
    "sentence",
    "Lambda of each token",
    lambda source: _of_tokens(source, lambda_rows(source.view, subtracts(source.record))),
    _draw_rows("coefficient"),
    note="mean over heads",
    reading="The weight with which a further component enters the sum, where this token is the reader.",
    needs="token-lambda",
)
POLARITY = Figure(
    "polarity",
    "sentence",
    "Polarity of each token",
    lambda source: _of_tokens(source, polarity_rows(source.view)),
    _draw_rows("polarity", 2 / 3, NEUTRAL),
    note="from the lexicon",
    reading=(
        "The three numbers of a token sum to 1; a third each where the lexicon does not know the word. Blue speaks "
        "for the positive class (more positive or less negative than a third), orange for the negative one."
    ),
    how=(
        "Counts of the lexicon's entries for the word, each weighted by its intensity, with one added to every class "
        "(Laplace) and normalised (Sentiment Lexical Attention, section 3)."
    ),
    needs="polarity",
)
LEXICON = Figure(
    "sigma",
    "sentence",
    "Sigma",
    lambda source: _of_pairs(source, sigma(source.view, heads.layer(source))),
    _draw_pairs("σ − neutral"),
    note=lambda shown: f"{shown.row.name}, last head",
    reading=(
        "σ of two tokens is the product of their polarities. Shown is by how much it differs from σ with a neutral "
        "token: plain ink draws two tokens together, hatched ink keeps them apart."
    ),
    options=(heads.LAYER,),
)
SUPPORT = Figure(
    "support",
    "sentence",
    "Who may see whom",
    lambda source: _of_pairs(source, seen(source.view, heads.layer(source))),
    _draw_pairs("may see", 1),
    note=lambda shown: f"layer {shown.layer + 1}",
    reading=("Filled: the reader (row) may see the token (column): its neighbours, and the few tokens that all see."),
    options=(heads.LAYER,),
)
BRANCHES = Figure(
    "branches",
    "sentence",
    "Convolutions",
    lambda source: _of_tokens(source, branch_rows(source.view)),
    _draw_rows("mean activation"),
    note="mean over channels",
    reading="How strongly the filters of each width answer around this token, after the ReLU.",
    needs="branches",
)
HEAD_READING = Figure(
    "head-reading",
    "sentence",
    "Attention of the head",
    lambda source: _of_tokens(source, head_reading(source.view)),
    _draw_rows("is read"),
    note="received",
    reading="How much the head's own attention reads each token, on average over readers and heads.",
    needs="head-maps",
)


@dataclass(frozen=True)
class Learned:
    """The course of every learned number but lambda."""

    lines: Mapping[str, Sequence[NumberLine]]
    epochs: int
    title: str = "Other learned numbers"


def learned(source: Source) -> Learned:
    """What a training run has logged of them.

    Raises:
        NotAvailable: the model has none.
    """
    lines = source.reader.learned_numbers(source.record)
    if not lines:
        raise NotAvailable(f"{source.record.preset} learns no number with a meaning of its own")
    return Learned(lines, source.record.config.training.epochs)


LEARNED = Figure(
    "numbers-course",
    "lambdas",
    lambda shown: shown.title,
    learned,
    lambda shown, look: numbers_course(shown.lines, shown.epochs, look),
    note="by layer",
    reading="The stronger the line, the deeper the layer; a single line belongs to the whole model.",
    tables=lambda shown: {"Course of numbers": numbers_table(shown.lines)},
)


@dataclass(frozen=True)
class Numbers:
    """The table of `number_table` or `record_numbers`, and when they were so."""

    table: pd.DataFrame
    title: str = "Numbers inside"
    note: str = "of the epoch that was kept"


def numbers(record: RunRecord) -> Numbers:
    """Those of a finished run.

    Raises:
        NotAvailable: its model has none.
    """
    table = record_numbers(record)
    if table.empty:
        raise NotAvailable(f"{record.preset} learns no number with a meaning of its own")
    if set(table["number"]) == {NEUTRAL_TOKENS}:
        return Numbers(table, "What its lexicon knows", "counted, not learned")
    return Numbers(table)


def _draw_numbers(shown: Numbers, look: Look) -> Table:
    titles = {"number": "Number", "what it is": "What it is", "learned": "Value"}
    return Table(shown.table, {name: Column(title) for name, title in titles.items()}, narrow=True)


NUMBERS_OF = Figure(
    "numbers",
    "lambdas",
    lambda shown: shown.title,
    lambda source: numbers(source.record),
    _draw_numbers,
    note=lambda shown: shown.note,
    reading=(
        "Several values are those of the layers, from the first to the last; a single one belongs to the whole model."
    ),
    tables=lambda shown: {"Learned numbers": shown.table},
)
