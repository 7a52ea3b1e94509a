"""What a model has for all pairs of tokens that is no attention: the products of a lexicon, and who may see whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.exceptions import NotAvailable
from core.text.lexicon import NEUTRAL
from dashboard.figures import heads
from dashboard.figures.attention import MapRow, map_grid
from dashboard.figures.figure import Figure
from dashboard.figures.source import Source
from dashboard.figures.theme import Look

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

Floats = NDArray[np.floating]
SIGMA = {"lexical": "added to the score", "lexical_factor": "multiplied with the score"}


def sigma(view: SentenceView, layer: int, heads: slice) -> MapRow | None:
    """What lexicons do to the scores of one layer, in these heads.

    Counted from its value for a pair with a neutral token, since a softmax does not see what all scores have in common.
    """
    polarity, terms = view.polarity, view.layers[layer].terms if view.layers else {}
    for name, term in terms.items():
        if polarity is not None:
            return MapRow(SIGMA[name], np.stack([each - _neutral(each, polarity) for each in term[heads]]))
    return None


def _neutral(term: Floats, polarity: Floats) -> float:
    """Of a term (L, L), a weighed sum of products of polarities (L, 3K), its value beside a neutral token.

    The three of a lexicon sum to 1, so that their product with thirds is a third whatever the other token is.
    """
    each = [polarity[:, start : start + 3] for start in range(0, polarity.shape[1], 3)]
    products = np.stack([(part @ part.T).ravel() for part in each], 1)
    weights, *_ = np.linalg.lstsq(products, term.ravel(), rcond=None)
    return float(weights.sum()) * NEUTRAL


def seen(view: SentenceView, layer: int) -> MapRow | None:
    """Who may see whom in one layer, 1 or 0."""
    support = view.layers[layer].support if view.layers else None
    return None if support is None else MapRow("may see", support[None].astype("float32"))


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


def _reached(source: Source) -> slice:
    """The last head, which every setting reaches; where each lexicon has heads to itself, the first of each."""
    attention = source.record.config.model.attention
    return slice(attention.lexicons) if attention.lexical_heads == "apart" else slice(-1, None)


def _heads(shown: OfPairs) -> str:
    many = len(shown.row.weights)
    return "last head" if many == 1 else f"heads 1 to {many}, of a lexicon each"


def _draw_pairs(label: str, top: float = 0) -> Callable[[OfPairs, Look], go.Figure]:
    def draw(shown: OfPairs, look: Look) -> go.Figure:
        row, several = replace(shown.row, name=""), len(shown.row.weights) > 1
        return map_grid([row], shown.tokens, look, top=top, label=label, numbered=several, worded=not several)

    return draw


LEXICON = Figure(
    "sigma",
    "sentence",
    "Sigma",
    lambda source: _of_pairs(source, sigma(source.view, heads.layer(source), _reached(source))),
    _draw_pairs("σ − neutral"),
    note=lambda shown: f"{shown.row.name}, {_heads(shown)}",
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
