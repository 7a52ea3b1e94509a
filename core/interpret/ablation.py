"""Ablation of the parts of a model: what the log-odds of a class lose when a part is silenced.

A silenced part has output zero, or at every token its mean output over the tokens of the text. The mean keeps its
contribution to the text as a whole and removes that to single words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import torch

from core.exceptions import InputError
from core.formatting import count
from core.interpret.explain_context import ExplainContext
from core.interpret.gradients import TOKENS
from core.interpret.sentence_inspection import CLASS_TOKEN
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch

MOST_TOKENS = 64  # Tokens whose gates are closed, one by one

Kind = Literal["layer", "head", "component", "map", "gate", "lexical"]


@dataclass(frozen=True)
class PartEffect:
    """A model part with the change in a class's log-odds when the part is ablated; indices start at 0."""

    kind: Kind  # layer: all of its heads · component: in all heads · map: one component of one head · gate: of a token
    layer: int
    head: int | None = None
    component: int | None = None
    token: int | None = None
    zero: float = 0.0  # Log-odds with the part minus log-odds with its output zero, or with the gate closed
    mean: float = 0.0
    """The same with its mean over the tokens, or with the gate at the mean of its layer. For a lexicon that is added to
    the scores, the mean is one number for all keys, which softmax ignores: the same as zero. For a lexicon that
    multiplies the scores, zero means no factor, and the mean is taken for each query."""


@dataclass(frozen=True)
class AblationEffects:
    """The ablation effects of all parts of a model on the log-odds of a class for one text."""

    text: str
    target: str
    probabilities: dict[str, float]  # By class name, in label order
    log_odds: float
    tokens: tuple[str, ...]  # `PartEffect.token` is an index of these; a class token comes first, if the model has one
    parts: tuple[PartEffect, ...]  # For each layer: itself, heads, components and their maps, gates, lexical term
    note: str  # Notes for the reader; empty if there are none


def silence_parts(reader: ExplainContext, text: str, target: str = "") -> AblationEffects:
    """Compute the effect on the log-odds of a class of silencing each part of a model, one at a time.

    Each part is silenced in addition to the reader's intervention; a part that is off already has no effect.

    Raises:
        InputError: an unknown class, a model without attention, or an intervention that does not fit the model.
    """
    model = reader.model
    if not isinstance(model, EncoderClassifier):
        raise InputError("this model has no attention, so there is no layer, head or component to silence")
    reader.check_class(target)
    said, encoding = reader.predict_without(text), reader.tokenizer.encode(text)
    place, first = reader.find_class(target, said), model.first
    batch, function = Batch.from_arrays(to_batch(encoding)), reader.get_target(place, said)
    tokens = range(first, first + len(encoding.tokens))

    def predict_log_odds(changes: Sequence[Intervention]) -> list[float]:
        """Return the log-odds of the class for each intervention on the model."""
        return function(model(batch.repeat_text(len(changes)), intervene=changes).logits).tolist()

    with torch.inference_mode():
        silenced = list(_iterate_silencings(model, batch, tokens, reader.change))
        changes = [each for _, *both in silenced for each in both]
        at_once = max(1, TOKENS // max(batch.ids.shape[1], model.fill))
        [whole] = predict_log_odds([reader.change])
        some = reader.iterate_portions("parts", len(changes), at_once)
        less = [whole - each for part in some for each in predict_log_odds(changes[part])]
    effects = zip(silenced, less[::2], less[1::2], strict=True)
    notes, kept = reader.write_notes(text, encoding), len(encoding.tokens)
    if kept > MOST_TOKENS and "gates" in model.provides:
        notes.append(f"Gates are closed of the first {count(MOST_TOKENS)} of {count(kept)} tokens.")
    return AblationEffects(
        text=text,
        target=reader.classes[place],
        probabilities=reader.name_probabilities(said),
        log_odds=whole,
        tokens=(CLASS_TOKEN,) * first + tuple(encoding.tokens),
        parts=tuple(replace(part, zero=zero, mean=mean) for (part, *_), zero, mean in effects),
        note=" ".join(notes),
    )


def _iterate_silencings(
    model: EncoderClassifier, batch: Batch, tokens: range, change: Intervention
) -> Iterator[tuple[PartEffect, Intervention, Intervention]]:
    """Yield each model part with two interventions, its output zero and at its mean, both added to the given ones."""
    every, several = range(model.heads), range(model.components if model.components > 1 else 0)
    gates = _average_gates(model, batch, tokens, change)

    def silence_heads(at: int, named: Iterable[int]) -> tuple[Intervention, Intervention]:
        """Return two interventions on heads of a layer: output zero, and output fixed at its mean over tokens."""
        away = {(at, head) for head in named}
        return replace(change, heads_off=change.heads_off | away), replace(change, heads_mean=change.heads_mean | away)

    for at in range(len(model.layers)):
        yield PartEffect("layer", at), *silence_heads(at, every)
        for head in every:
            yield PartEffect("head", at, head=head), *silence_heads(at, [head])
        for i in several:
            off, mean = change.components_off | {(at, i)}, change.components_mean | {(at, i)}
            both = replace(change, components_off=off), replace(change, components_mean=mean)
            yield PartEffect("component", at, component=i), *both
        for head, i in product(every, several):
            one, mean_of_one = change.maps_off | {(at, head, i)}, change.maps_mean | {(at, head, i)}
            both = replace(change, maps_off=one), replace(change, maps_mean=mean_of_one)
            yield PartEffect("map", at, head=head, component=i), *both
        for token in tokens[:MOST_TOKENS] if gates else ():
            others = tuple(gate for gate in change.gates if gate[:2] != (at, token))
            closed, level = (replace(change, gates=(*others, (at, token, value))) for value in (0.0, gates[at]))
            yield PartEffect("gate", at, token=token), closed, level
        if model.lexical != "none":
            without = replace(change, lexical_off=change.lexical_off | {at})
            yield PartEffect("lexical", at), without, replace(change, lexical_mean=change.lexical_mean | {at})


def _average_gates(model: EncoderClassifier, batch: Batch, tokens: range, change: Intervention) -> list[float]:
    """Return each layer's mean attention gate over the tokens of a text; empty for a model without gates."""
    has = tokens and "gates" in model.provides
    trace = model(batch, trace=True, intervene=change).trace if has else None
    layers = () if trace is None else trace.layers
    return [float(layer.gates[0, list(tokens)].mean()) for layer in layers if layer.gates is not None]
