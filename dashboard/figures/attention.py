"""Attention maps of a sentence: rows of heat maps, tables of weights, and the coefficients of their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.formatting import count, format_subscript, number, signed
from core.interpret.model_edits import UNCHANGED, Edits
from core.interpret.trace_summary import average_attention
from core.runs.record import RunRecord
from core.text.graphemes import clip_text
from dashboard.figures.drawing import escape_text
from dashboard.figures.theme import Look, build_template, make_sequential_scale, make_two_sided_scale

if TYPE_CHECKING:
    from core.interpret.attribution import Explanation
    from core.interpret.sentence_inspection import SentenceView

STRIPES = 48  # approximate limit across a map: more would look grey
Floats = NDArray[np.floating]
SCALES = {
    "absolute": "weight",
    "per row": "weight ÷ strongest weight of its row",
    "against uniform": "weight × tokens − sum of its row",
}
"""The scales of all weights on the page, and the label of their colour bar."""
MOST = 256  # most cells along a side of a drawn map; a longer text is shown in blocks
DUST = 1e-5  # smaller shares of the largest weight are rounding errors
ROW_HEIGHTS = (330, 240, 190, 150)  # height of a row of maps in pixels, for one, two, three, or more rows
NAMED, SMALLER, FLAT, WORDED = 48, 24, 8, 410
"""Most tokens of a single map with words, with large words and with unrotated words; its least height in pixels."""
WIDE = 700  # approximate width of a row of maps in pixels
CLIPPED = 12  # most characters of a word along many maps
SPELT = 6  # most heads with titles such as `head 2`; with more heads, only the first title has the word
HATCHED = "hatched: negative"
CLASS_TOKEN = "[CLS]"
"""As in core.interpret.sentence_inspection, which is not imported since it loads torch; a test compares them."""
MASKED = "A single sentence needs no padding; in a batch, padding has a weight of exactly 0."
READ = "This model reads padding as text; this text needs no padding."
WINDOW = 40  # most tokens in a head view; more lines would be unreadable


def draw_stripes(away: NDArray[np.bool_]) -> str:
    """Return an SVG path of diagonal stripes over the true cells, one unit wide; neighbours share a line."""
    rows, columns = away.shape
    rising = away[::-1]
    parts = []
    for offset in range(1 - rows, columns, -(-(rows + columns) // (2 * STRIPES))):
        run = np.diff(np.concatenate([[0], rising.diagonal(offset).astype(np.int8), [0]]))
        row, column = rows - 1 - max(0, -offset), max(0, offset)
        for start, end in zip(np.flatnonzero(run == 1), np.flatnonzero(run == -1), strict=True):
            here = f"M{column + start - 0.5},{row - start + 0.5}"
            parts.append(f"{here}L{column + end - 0.5},{row - end + 0.5}")
    return "".join(parts)


def make_hatching(away: NDArray[np.bool_], axis: str, width: float, look: Look) -> dict[str, Any] | None:
    """Return a Plotly shape that hatches the marked cells of a heat map on given axes; None: no cell is marked."""
    path = draw_stripes(away)
    line = {"color": look.tokens.paper, "width": look.scale_size(width)}
    return {"type": "path", "path": path, "xref": f"x{axis}", "yref": f"y{axis}", "line": line} if path else None


@dataclass(frozen=True, eq=False)  # comparing arrays gives no single truth value
class MapRow:
    """Row in a grid of attention maps: signed weights of all heads (heads, tokens that attend, tokens attended to)."""

    name: str
    weights: Floats
    off: frozenset[int] = frozenset()  # heads (from 0) that were switched off; their weights are 0
    places: Floats | None = None
    """(L,) number of tokens that each row and column represents, if merged padding makes it more than one."""


@dataclass(frozen=True, eq=False)
class AttributedWords:
    """Effect of each word of a text on the prediction, and the tokens that each word consists of."""

    found: Explanation
    belongs: NDArray[np.float64]  # (words, tokens) share of each token that belongs to each word
    read: Explanation | None = None
    """Attention that each word receives, by the method `attention`; None: no attention, or the text is too long."""


def scale_row(row: MapRow, scale: str) -> MapRow:
    """Convert attention weights to a display scale: unchanged, relative to the row's strongest, or to an even spread.

    Against uniform, 0 is an even spread of the row's own sum: weight × tokens − 1 for a plain softmax, − λ for a map
    that enters with λ. A column of several tokens is compared by its weight per token.
    """
    if scale == "absolute":
        return row
    w = row.weights
    if scale == "per row":
        return replace(row, weights=w / np.maximum(np.abs(w).max(-1, keepdims=True), np.finfo(np.float32).tiny))
    places = np.ones(w.shape[-1], w.dtype) if row.places is None else row.places
    return replace(row, weights=w * (places.sum() / places) - w.sum(-1, keepdims=True))


def get_block_size(length: int) -> int:
    """Return how many tokens share one cell when the attention map of a long text is drawn."""
    return -(-length // MOST)


def _pool_blocks(weights: Floats, size: int) -> Floats:
    """Reduce an attention map of a long text: each block of `size` × `size` cells keeps its strongest weight."""
    if size == 1:
        return weights
    lacking = -len(weights) % size
    parts = np.pad(weights, (0, lacking)).reshape((len(weights) + lacking) // size, size, -1, size)
    low, high = parts.min((1, 3)), parts.max((1, 3))
    return np.where(-low > high, low, high)


def find_top_weight(rows: Sequence[MapRow]) -> float:
    """Return the attention weight drawn in the strongest colour: the 98.5th percentile of |weight| over all maps.

    A fixed 0 to 1 makes long sentences look blank; one scale for each map makes noise look like signal. If nearly
    all weights are 0 up to rounding, the largest weight is used.
    """
    weights = np.concatenate([np.abs(row.weights).ravel() for row in rows]) if rows else np.zeros(1)
    usual, most = float(np.quantile(weights, 0.985)), float(weights.max())
    if most < DUST:
        return 1.0
    return usual if usual > DUST * most else most


def name_coefficients(components: int, subtracts: bool) -> list[str]:
    """Return the names of the coefficients that attention maps are multiplied by: `λ₁`, `λ₂` …; `−λ₁` if subtracted."""
    return [f"{'−' if subtracts else ''}λ{format_subscript(i)}" for i in range(1, components)]


def build_component_rows(components: Floats, coefficients: Floats, combined: Floats, subtracts: bool) -> list[MapRow]:
    """Return each attention map times its coefficient as a row of a grid, and their sum as the last row.

    Components are (N, H, L, L) maps after softmax, coefficients (N, H, L) with their signs, one for each reading token,
    `combined` is (H, L, L); `subtracts`: the model writes its sum with a minus (differential attention).
    """
    base, *others = name_maps(len(components), subtracts)
    if not others:
        return [MapRow(base, combined)]
    weights = coefficients[..., None] * components
    joined = f"{base} {'−' if subtracts else '+'} {others[0].lstrip('−')}" if len(others) == 1 else "sum"
    return [*map(MapRow, (base, *others), weights), MapRow(joined, combined)]


def name_maps(components: int, subtracts: bool) -> list[str]:
    """Return the names of the attention maps as terms of their sum: `A₀`, `λ₁A₁` …."""
    named = enumerate(name_coefficients(components, subtracts), start=1)
    return [f"A{format_subscript(0)}", *(f"{name}A{format_subscript(i)}" for i, name in named)]


def draw_map_grid(
    rows: Sequence[MapRow],
    tokens: Sequence[str],
    look: Look,
    *,
    top: float | None = None,
    label: str = "weight",
    numbered: bool = True,
    worded: bool = False,
) -> go.Figure:
    """Draw attention maps as a grid on one colour scale, one head per column; negative weights are hatched.

    `tokens` are for the hover label, `top` is the |weight| in the strongest colour if other figures share it, `label`
    says what the colour bar measures. `numbered`: the number of its head above each map; `worded`: the words along both
    sides of a single map, as far as they fit.
    """
    t, size = look.tokens, look.scale_size
    heads, step = rows[0].weights.shape[0], get_block_size(len(tokens))
    top = top or find_top_weight(rows)
    signed = any((row.weights < 0).any() for row in rows)
    # positions distinguish repeated words
    places = [f"{escape_text(token)} ({i})" for i, token in enumerate(tokens, start=1)][::step]
    stripe = min(4.0, max(1.0, WIDE / heads / len(places) / 5))
    height = ROW_HEIGHTS[min(len(rows), 4) - 1] * len(rows) + 80
    frame = {"type": "category", "showticklabels": False, "showgrid": False, "showline": True, "mirror": True}
    frame |= {"linecolor": t.grid}
    words: dict[str, Any] = {"showticklabels": True, "tickvals": places}
    words |= {"ticktext": [escape_text(clip_text(token, CLIPPED)) for token in tokens]}
    words |= {"tickfont": {"color": t.ink, "size": size(11)}, "automargin": True}
    named = not worded and len(tokens) <= SMALLER  # the words along the left and the bottom panels
    if worded and len(tokens) <= NAMED:
        frame |= {**words, "tickfont": {"color": t.ink, "size": size(14 if len(tokens) <= SMALLER else 11)}}
        height = max(WORDED, 22 * len(tokens) + 150)
    across = {"side": "top", "tickangle": -40 if len(tokens) > FLAT else 0} if worded else {}
    layout: dict[str, Any] = {
        "template": build_template(look),
        "height": look.scale_height(height),
        "margin": {"t": size(30), "b": size(66)},
        "coloraxis": {
            "cmin": -top if signed else 0,
            "cmax": top,
            "colorscale": make_two_sided_scale(t) if signed else make_sequential_scale(t),
            "colorbar": _make_colorbar(top, signed, label, look),
        },
        "annotations": [],
        "shapes": [],
    }
    traces = []
    for r, h in np.ndindex(len(rows), heads):
        axis, row = "" if r == h == 0 else str(r * heads + h + 1), rows[r]
        drawn = _pool_blocks(np.asarray(row.weights[h], np.float32), step)  # float32 halves the size
        of = f"{row.name}, head {h + 1}" if numbered else row.name
        heat = {"type": "heatmap", "z": drawn, "x": places, "y": places, "coloraxis": "coloraxis"}
        hover = f"from %{{y}} to %{{x}}<br>%{{z:.3f}}<extra>{of}</extra>"
        traces.append({**heat, "hovertemplate": hover, "xaxis": f"x{axis}", "yaxis": f"y{axis}"})
        layout["annotations"] += _label_heads(row, r, h, axis, look) if numbered else []
        if pattern := make_hatching(drawn < 0, axis, stripe, look):
            layout["shapes"].append(pattern)
        name = {"title": {"text": row.name, "font": {"color": t.ink, "size": size(15)}}} if h == 0 else {}
        upward = {"anchor": f"x{axis}", "domain": _place_panel(len(rows) - 1 - r, len(rows)), "autorange": "reversed"}
        left, bottom = h == 0 and named, r == len(rows) - 1 and named
        layout[f"xaxis{axis}"] = {**frame, **across, "anchor": f"y{axis}", "domain": _place_panel(h, heads)}
        layout[f"xaxis{axis}"] |= {**words, "tickangle": -90} if bottom else {}
        layout[f"yaxis{axis}"] = {**frame, **upward, **name, **(words if left else {})}
    return go.Figure({"data": traces, "layout": layout})  # at once: adding the parts one by one is ten times slower


def _place_panel(index: int, count: int) -> list[float]:
    width = (1 - 0.03 * (count - 1)) / count
    return [index * (width + 0.03), min(1.0, index * (width + 0.03) + width)]


def _label_heads(row: MapRow, r: int, h: int, axis: str, look: Look) -> list[dict[str, Any]]:
    """Return one head's chart labels: its number above its first attention map, and `off` on a map that is ablated."""
    panel = {"xref": f"x{axis} domain", "yref": f"y{axis} domain"}
    font = {"color": look.tokens.ink, "size": look.scale_size(15)}
    said = f"head {h + 1}" if h == 0 or len(row.weights) <= SPELT else str(h + 1)
    title = {"x": 0, "y": 1, "yshift": 4, "xanchor": "left", "yanchor": "bottom", "text": said, "font": font}
    middle = {"x": 0.5, "y": 0.5, "text": "off"}
    return [{**note, **panel} for note, wanted in ((title, r == 0), (middle, h in row.off)) if wanted]


def _make_colorbar(top: float, signed: bool, label: str, look: Look) -> dict[str, object]:
    ticks, font = [-top, 0.0, top] if signed else [0.0, top], {"size": look.scale_size(14), "color": look.tokens.muted}
    return {
        **{"orientation": "h", "y": -0.02, "yanchor": "top", "len": 0.6, "thickness": 9, "outlinewidth": 0},
        "title": {"text": f"{label}; {HATCHED}" if signed else label, "side": "bottom", "font": font},
        **{"ticks": "", "tickvals": ticks, "tickfont": font},
        "ticktext": [number(tick, 2) if tick else "0" for tick in ticks],
    }


def draw_coefficients(layers: Sequence[Floats], subtracts: bool, look: Look) -> go.Figure:
    """Draw the λ of all attention maps but the first, a dot for each head and token; dashed and hollow: subtracted."""
    t, size = look.tokens, look.scale_size
    signs = name_coefficients(len(layers[0]), subtracts)
    lines = [
        (f"layer {layer}, {signs[i - 1]}", float(np.mean(c[i])), np.unique(c[i].round(6)))
        for layer, c in enumerate(layers, start=1)
        for i in range(1, len(c))
    ]
    traces, notes = [], []
    for name, mean, values in lines:
        away, one = mean < 0, len(values) == 1
        stem = {"color": t.ink, "width": size(2), "dash": "dash" if away else "solid"}
        dot = {"size": size(11), "color": t.paper if away else t.ink, "line": {"color": t.ink, "width": size(2)}}
        dot["opacity"] = 1 if one else 0.55
        hover = f"{name}<br>%{{x:.4f}}<extra></extra>"
        traces += [
            {"x": [0, mean], "y": [name, name], "mode": "lines", "line": stem, "hoverinfo": "skip"},
            {"x": values, "y": [name] * len(values), "mode": "markers", "marker": dot, "hovertemplate": hover},
        ]
        text, end = f"{number(mean, 2)}{'' if one else ' on average'}", float(values.max()) if mean >= 0 else 0
        notes.append({"x": end, "y": name, "xanchor": "left", "xshift": 10, "text": text, "font": {"color": t.ink}})
    low = min([0.0, *(float(values.min()) for *_, values in lines)])
    high = max([0.0, *(float(values.max()) for *_, values in lines)])
    room = max(high - low, 0.1)  # for the number behind the dot
    layout = {
        "template": build_template(look),
        "height": look.scale_height(70 + 38 * len(lines)),
        "annotations": notes,
        "shapes": [{"x0": 0, "x1": 0, "y0": 0, "y1": 1, "yref": "paper", "line": {"color": t.ink, "width": 1}}],
        "xaxis": {"range": [low - 0.05 * room, high + 0.3 * room], "nticks": 5, "showgrid": True},
        "yaxis": {"autorange": "reversed", "showgrid": False, "tickfont": {"color": t.ink}},
    }
    return go.Figure({"data": [{"type": "scatter", **trace} for trace in traces], "layout": layout})


def has_subtraction(record: RunRecord) -> bool:
    """Tell whether a run's model subtracts its second attention map."""
    return record.config.model.attention.subtracts


def build_map_rows(view: SentenceView, layer: int, minus: bool, edits: Edits = UNCHANGED) -> list[MapRow]:
    """Return a layer's maps times their coefficients, then their sum; ablated heads have zeros and are in `off`."""
    found = view.layers[layer]
    heads = range(len(found.combined))
    silent = {head for at, head in edits.heads_off + edits.heads_mean if at == layer}
    away = {component for at, component in edits.components_off + edits.components_mean if at == layer}
    alone = {(head, component) for at, head, component in edits.maps_off + edits.maps_mean if at == layer}
    rows = build_component_rows(found.components, found.coefficients, found.combined, minus)
    loud = np.array([head not in silent for head in heads], np.float32)[:, None, None]
    places = view.places if view.filled else None
    off = [frozenset(h for h in heads if h in silent or i in away or (h, i) in alone) for i in range(len(rows))]
    return [MapRow(row.name, row.weights * loud, each, places) for row, each in zip(rows, off, strict=True)]


def build_combined_rows(view: SentenceView, minus: bool, edits: Edits = UNCHANGED) -> list[MapRow]:
    """Return a row for each layer with its combined attention map, which weights the value vectors."""
    lasts = [build_map_rows(view, layer, minus, edits)[-1] for layer in range(len(view.layers))]
    return [replace(row, name=f"layer {i}") for i, row in enumerate(lasts, start=1)]


def sum_received(row: MapRow) -> list[float]:
    """Return the mean attention that each token receives in one layer's map, over heads and attending tokens."""
    return average_attention(row.weights, row.places).tolist()


def choose_watched_class(view: SentenceView) -> str:
    """Return the class whose probability is shown while a user edits: the second of two classes, else the predicted."""
    names = list(view.probabilities)
    return names[1] if len(names) == 2 else view.label


def describe_special(view: SentenceView, layer: int) -> str:
    """Return a sentence on the special tokens and padding in the attention maps of one layer (from 0)."""
    if view.filled:
        weight = number(float(view.average_padding_weight(layer).mean()), 2)
        places = f"{count(view.filled)} padding tokens, weight {weight} (mean over tokens and heads)"
        sums = "which this model reads as text. Its column is their sum, its row their mean."
        return f"{view.tokens[-1]}: {places}, {sums}"
    padding = MASKED if view.filled is None else READ
    if CLASS_TOKEN not in view.tokens[:1]:
        return padding
    if view.behind:
        return f"The pretrained encoder adds {CLASS_TOKEN} and {view.tokens[-1]} to a text. {padding}"
    return f"{CLASS_TOKEN} is a learned token before the words; the answer is read from it. {padding}"


def compare_views(first: SentenceView, second: SentenceView) -> tuple[str, str]:
    """Return a heading and a sentence on how two models' tokens of one text differ; no heading if they are the same."""
    if bool(first.layers) != bool(second.layers):
        return "Only one of the two models has attention", "The other reads the words without it."
    a, b = _read_words(first), _read_words(second)
    if a == b and (first.filled or 0) != (second.filled or 0):
        one, other = (
            f"with {count(view.filled)} padding tokens after them" if view.filled else "without padding"
            for view in (first, second)
        )
        told = f"Both read the same {count(len(a))} tokens, the first {one}, the second {other}."
        return "The two models read padding differently", told
    if a == b and first.unknown == second.unknown:
        return "", f"Both models read the same {count(len(a))} tokens."
    if a == b:
        lost = (_list_unknown(view) for view in (first, second))
        return "The two vocabularies differ", "Unknown to the first: {}. Unknown to the second: {}.".format(*lost)
    said = [
        f"the {name} reads {count(len(_read_words(view)))} tokens"
        + (f" and cuts {count(view.truncated)} off" if view.truncated else "")
        for name, view in (("first", first), ("second", second))
    ]
    how = f"{said[0].capitalize()}, {said[1]}: their positions do not match."
    return "The two models cut the text differently", how


def _read_words(view: SentenceView) -> tuple[str, ...]:
    return view.tokens[:-1] if view.filled else view.tokens


def _list_unknown(view: SentenceView) -> str:
    words = dict.fromkeys(token for token, missing in zip(view.tokens, view.unknown, strict=True) if missing)
    shown = ", ".join(list(words)[:12])
    return f"{shown} and {len(words) - 12} more" if len(words) > 12 else shown or "nothing"


def describe_difference(before: SentenceView, now: SentenceView, what: str = "answer") -> str:
    """Describe the prediction after edits: `P(positive) 0.828, +0.087 compared with …`, and the label if changed."""
    name = choose_watched_class(before)
    p = now.probabilities[name]
    said = f"P({name}) {number(p)}, {signed(p - before.probabilities[name], 3)} against the trained model"
    return said if now.label == before.label else f"{said}; the {what} is {now.label} instead of {before.label}"


def build_prediction_table(columns: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return a table of class probabilities: a row for each class, a column for each model."""
    named = {name: pd.Series(probabilities, dtype=float) for name, probabilities in columns.items()}
    return pd.DataFrame(named).rename_axis("class").reset_index()


def build_attention_table(
    view: SentenceView, minus: bool, edits: Edits = UNCHANGED, untouched: SentenceView | None = None
) -> pd.DataFrame:
    """Return weights by layer, head and both tokens; with `edits`, also what they are and the `untouched` map."""
    frames = [_build_weights(view, layer, minus, edits) for layer in range(len(view.layers))]
    table = pd.concat(frames, ignore_index=True)
    if untouched is None or not edits:
        return table
    before = np.concatenate([row.weights.ravel() for row in build_combined_rows(untouched, minus)])
    return table.assign(as_trained=before, changed=edits.describe_changes())


def _build_weights(view: SentenceView, layer: int, minus: bool, edits: Edits) -> pd.DataFrame:
    rows = build_map_rows(view, layer, minus, edits)
    heads, length, _ = rows[0].weights.shape
    head, reads, read = (index.ravel() for index in np.indices((heads, length, length)))
    tokens: NDArray[np.str_] = np.array(view.tokens)
    places = {"layer": layer + 1, "head": head + 1, "place": reads + 1, "reads": tokens[reads]}
    frame = pd.DataFrame({**places, "read_place": read + 1, "is_read": tokens[read]})
    frame = frame.assign(**{row.name: row.weights.ravel() for row in rows})
    taken = view.measure_cancellation(layer)
    return frame if taken is None else frame.assign(cancelled=taken[head])
