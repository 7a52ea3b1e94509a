"""Attention maps of one text as rows of a figure, as tables of weights, and described in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.formatting import count, number, signed
from core.interpret.model_edits import UNCHANGED, Edits
from core.interpret.trace_summary import average_attention
from core.runs.record import RunRecord
from dashboard.figures.attention import MapRow, build_component_rows

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView

CLASS_TOKEN = "[CLS]"
"""As in core.interpret.sentence_inspection, which is not imported since it loads torch; a test compares them."""
MASKED = "A single sentence needs no padding; in a batch, padding has a weight of exactly 0."
READ = "This model reads padding as text; this text needs no padding."
WINDOW = 40  # most tokens in a head view; more lines would be unreadable


def has_subtraction(record: RunRecord) -> bool:
    """Tell whether a run's model subtracts its second attention map."""
    return record.config.model.attention.subtracts


def build_map_rows(view: SentenceView, layer: int, minus: bool, edits: Edits = UNCHANGED) -> list[MapRow]:
    """Return the attention maps of one layer (from 0), each times its coefficient, and their sum if there are several.

    A part that is switched off or outputs its mean attends to no token: its maps are 0, and `off` names its heads.
    """
    found = view.layers[layer]
    heads = range(len(found.combined))
    silent = {head for at, head in edits.heads_off + edits.heads_mean if at == layer}
    away = {component for at, component in edits.components_off + edits.components_mean if at == layer}
    alone = {(head, component) for at, head, component in edits.maps_off + edits.maps_mean if at == layer}
    rows = build_component_rows(found.components, found.coefficients, found.combined, minus)
    loud = np.array([head not in silent for head in heads], np.float32)[:, None, None]
    places = view.places if view.filled else None
    made = []
    for i, row in enumerate(rows):
        off = frozenset(head for head in heads if head in silent or i in away or (head, i) in alone)
        made.append(MapRow(row.name, row.weights * loud, off, places))
    return made


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
        behind = f"the first {_describe_padding(first)}, the second {_describe_padding(second)}"
        return "The two models read padding differently", f"Both read the same {count(len(a))} tokens, {behind}."
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
    apart = f"{said[0].capitalize()}, {said[1]}: their positions do not match."
    return "The two models cut the text differently", apart


def _read_words(view: SentenceView) -> tuple[str, ...]:
    return view.tokens[:-1] if view.filled else view.tokens


def _describe_padding(view: SentenceView) -> str:
    return f"with {count(view.filled)} padding tokens after them" if view.filled else "without padding"


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
    """Return a table of a text's attention weights: layer, head, both tokens, and a column for each map of the head.

    With `edits`, one column describes them and another has the combined map `untouched` by them.
    """
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
