"""Log-odds of a class after changes inside the model: ablation, activation patching, and other map weights λ.

Ablation: a silenced part has output zero, or at every token its mean output over the tokens of the text. The mean keeps
its contribution to the text as a whole and removes that to single words.
Activation patching (Vig and others 2020, "Investigating gender bias in language models using causal mediation
analysis"; Meng and others 2022, section 2): an activation of a donor text of equal length that changes the prediction
carries the difference between the texts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, cast

import numpy as np
import torch

from core.evaluation.inference import Predictions
from core.exceptions import InputError
from core.formatting import count
from core.interpret.attribution_math import compute_log_odds
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.gradients import TOKENS, Target
from core.interpret.sentence_inspection import CLASS_TOKEN
from core.interpret.trace_summary import LearnedLambdas, get_lambda_range, get_learned_lambdas
from core.models.attention_config import AttentionConfig
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention, Trace
from core.text.token_table import to_batch

MOST_TOKENS = 64  # Tokens whose gates are closed, or that are patched, one by one

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


def silence_parts(
    reader: ExplainContext, text: str, target: str = "", said: Predictions | None = None
) -> AblationEffects:
    """Compute the effect on a class's log-odds of silencing each part alone, in addition to the reader's changes.

    `said` are predictions, the first of them of the text, if known. Raises InputError for an unknown class, a model
    without attention, or an intervention that does not fit the model.
    """
    model = reader.model
    if not isinstance(model, EncoderClassifier):
        raise InputError("this model has no attention, so there is no layer, head or component to silence")
    reader.check_class(target)
    said, encoding = said or reader.predict_without(text), reader.tokenizer.encode(text)
    place, first = reader.find_class(target, said), model.first
    batch, function = Batch.from_arrays(to_batch(encoding)), reader.get_target(place, said)
    tokens = range(first, first + len(encoding.tokens))
    with torch.inference_mode():
        silenced = list(_iterate_silencings(model, batch, tokens, reader.change))
        changes = [reader.change, *(each for _, both in silenced for each in both)]
        whole, *odds = _predict_log_odds(reader, "parts", batch, changes, function)
    less = [whole - each for each in odds]
    effects = zip(silenced, less[::2], less[1::2], strict=True)
    notes, kept = reader.write_notes(text, encoding), len(encoding.tokens)
    if kept > MOST_TOKENS and "gates" in model.provides:
        notes.append(f"Gates are closed of the first {count(MOST_TOKENS)} of {count(kept)} tokens.")
    parts = tuple(replace(part, zero=zero, mean=mean) for (part, _), zero, mean in effects)
    chances, read = reader.name_probabilities(said), (CLASS_TOKEN,) * first + tuple(encoding.tokens)
    return AblationEffects(text, reader.classes[place], chances, whole, read, parts, " ".join(notes))


def _predict_log_odds(
    reader: ExplainContext,
    what: str,
    batch: Batch,
    changes: Sequence[Intervention],
    function: Target,
    donor: Trace | None = None,
) -> list[float]:
    """Return the log-odds of a class for each intervention on the model, with progress reports."""
    model, found = cast(EncoderClassifier, reader.model), list[float]()
    for part in reader.iterate_portions(what, len(changes), max(1, TOKENS // max(batch.ids.shape[1], model.fill))):
        some = changes[part]
        found += function(model(batch, intervene=some, donor=donor).logits).tolist()
    return found


def _iterate_silencings(
    model: EncoderClassifier, batch: Batch, tokens: range, change: Intervention
) -> Iterator[tuple[PartEffect, Sequence[Intervention]]]:
    """Yield each model part with two interventions, its output zero and at its mean, both added to the given ones."""
    every, several = range(model.heads), range(model.components if model.components > 1 else 0)
    has = tokens and "gates" in model.provides
    trace = model(batch, trace=True, intervene=change).trace if has else None
    layers = () if trace is None else trace.layers
    gates = [float(layer.gates[0, list(tokens)].mean()) for layer in layers if layer.gates is not None]

    def silence(kind: str, *places: Any) -> list[Intervention]:
        """Return interventions with these parts at zero and at their mean, added to the given one."""
        names = f"{kind}_off", f"{kind}_mean"
        return [replace(change, **{name: getattr(change, name).union(places)}) for name in names]

    for at in range(len(model.layers)):
        yield PartEffect("layer", at), silence("heads", *((at, head) for head in every))
        for head in every:
            yield PartEffect("head", at, head=head), silence("heads", (at, head))
        for i in several:
            yield PartEffect("component", at, component=i), silence("components", (at, i))
        for head, i in product(every, several):
            yield PartEffect("map", at, head=head, component=i), silence("maps", (at, head, i))
        for token in tokens[:MOST_TOKENS] if gates else ():
            others = tuple(gate for gate in change.gates if gate[:2] != (at, token))
            closed, level = (replace(change, gates=(*others, (at, token, value))) for value in (0.0, gates[at]))
            yield PartEffect("gate", at, token=token), (closed, level)
        if model.lexical != "none":
            yield PartEffect("lexical", at), silence("lexical", at)


READ_AS = 300  # Characters of a text's tokens in a message


@dataclass(frozen=True)
class Patch:
    """The effect of patching one activation from a donor text; indices start at 0."""

    kind: Literal["layer", "token", "head"]  # layer, head: its output at every token; token: a layer's output at one
    layer: int
    token: int | None = None
    head: int | None = None
    log_odds: float = 0.0
    moved: float = 0.0  # Log-odds minus those without patching


@dataclass(frozen=True)
class Patches:
    """The effects of patching a donor text's activations into another text's forward pass, one at a time."""

    text: str
    donor: str
    target: str
    probabilities: dict[str, float]  # Class name → probability without patching, in label order
    donor_probabilities: dict[str, float]
    log_odds: float
    donor_log_odds: float
    tokens: tuple[str, ...]  # `Patch.token` is an index of these; a class token comes first, if the model has one
    donor_tokens: tuple[str, ...]
    patches: tuple[Patch, ...]  # For each layer: itself, its tokens, its heads
    note: str  # Notes for the reader; empty if there are none


def patch_activations(reader: ExplainContext, text: str, donor: str, target: str = "") -> Patches:
    """Compute a class's log-odds as a layer, token or head gets its activations from a donor text with as many tokens.

    The reader's intervention applies to both texts. Empty target: the text's most probable class.
    """
    model = reader.model
    if not isinstance(model, EncoderClassifier):
        raise InputError("this model has no attention, so there is no layer or head to take from another text")
    reader.check_class(target)
    ours, theirs = (reader.tokenizer.encode(each) for each in (text, donor))
    if len(ours.tokens) != len(theirs.tokens):
        both = (f"{count(len(each.tokens))}: {' | '.join(each.tokens):.{READ_AS}}" for each in (ours, theirs))
        raise InputError("the texts differ in their number of tokens. The first has {}; the second {}".format(*both))
    said, other = reader.predict_without(text), reader.predict_without(donor)
    place = reader.find_class(target, said)
    function, first = reader.get_target(place, said), model.first
    batch, given = (Batch.from_arrays(to_batch(each)) for each in (ours, theirs))
    with torch.inference_mode():
        traced = model(given, trace=True, intervene=reader.intervene)
        length, tokens = traced.trace.embedded.shape[1], range(first + min(len(ours.tokens), MOST_TOKENS))
        places = list(_iterate_places(model, length, tokens, reader.change))
        changes = [reader.change, *(change for _, change in places)]
        whole, *found = _predict_log_odds(reader, "patches", batch, changes, function, traced.trace)
    before, notes, read = (CLASS_TOKEN,) * first, [], count(len(ours.tokens))
    if ours.truncated:
        notes.append(f"The model reads the first {read} tokens; {count(ours.truncated)} are cut off.")
    if len(ours.tokens) > MOST_TOKENS:
        notes.append(f"Patched are the first {count(MOST_TOKENS)} of {read} tokens.")
    if reader.mix_weight is not None:
        notes.append("TF-IDF is mixed into the answer: its part stays that of the first text.")
    pairs = zip(places, found, strict=True)
    patches = tuple(replace(patch, log_odds=each, moved=each - whole) for (patch, _), each in pairs)
    chances = reader.name_probabilities(said), reader.name_probabilities(other)
    odds = whole, float(compute_log_odds(other.probabilities, place, reader.task)[0])
    words = before + tuple(ours.tokens), before + tuple(theirs.tokens)
    return Patches(text, donor, reader.classes[place], *chances, *odds, *words, patches, " ".join(notes))


def _iterate_places(
    model: EncoderClassifier, length: int, tokens: range, change: Intervention
) -> Iterator[tuple[Patch, Intervention]]:
    """Yield each layer, token and head with the intervention that patches it, added to the given interventions."""
    for at in range(len(model.layers)):
        yield Patch("layer", at), replace(change, hidden_from=frozenset((at, token) for token in range(length)))
        for token in tokens:
            yield Patch("token", at, token=token), replace(change, hidden_from=frozenset({(at, token)}))
        for head in range(model.heads):
            yield Patch("head", at, head=head), replace(change, heads_from=frozenset({(at, head)}))


POINTS = 21  # Evenly spaced points of a curve, in addition to the learned, initial and current value
FACTORS = (0.0, 2.0)  # Ends of the factor on all λ
VARIES = "λ differs among heads or tokens here: at its mean a curve need not give the answer of the model as trained."


@dataclass(frozen=True)
class LambdaCurve:
    """The log-odds of a class as one λ (weight of an attention map) varies, all else equal; indices start at 0."""

    layer: int | None  # None, with `component`: the factor on every λ that is not edited
    component: int | None
    learned: float  # As trained, the mean over heads and tokens; 1 for the factor
    start: float | None  # Before training; None: unknown or none
    now: float  # The current value: as trained, or as edited
    values: tuple[float, ...]  # Ascending, with `learned`, `start`, `now` and 0
    log_odds: tuple[float, ...] = ()  # Of the class at each value, set for all heads and tokens
    probabilities: tuple[float, ...] = ()

    def get_point(self, value: float) -> tuple[float, float]:
        """Return the log-odds and probability of a class at one value of the attention-map weight λ on the curve."""
        place = self.values.index(value)
        return self.log_odds[place], self.probabilities[place]


@dataclass(frozen=True)
class LambdaCurves:
    """The log-odds curves of every attention-map weight λ of a model for one text."""

    text: str
    target: str
    probabilities: dict[str, float]  # Class name → probability of the model as trained, in label order
    log_odds: float  # Of the target, as trained
    curves: tuple[LambdaCurve, ...]  # By layer and component, then the factor on all λ
    note: str  # Notes for the reader; empty if there are none


def compute_lambda_curves(
    reader: ExplainContext,
    text: str,
    attention: AttentionConfig,
    target: str = "",
    *,
    starts: Sequence[Sequence[float]] = (),
    change: Intervention = UNCHANGED,
    unmixed: bool = False,
) -> LambdaCurves:
    """Compute a class's log-odds as each attention-map weight λ varies alone, and as all λ are scaled together.

    `attention` gives the range of λ, `starts` the values before training; empty target: the most probable class. Curves
    replace an edit of their λ in `change`. `unmixed` leaves out TF-IDF. InputError: no such class, λ or known word.
    """
    model = reader.model
    if not isinstance(model, EncoderClassifier) or "lambda" not in model.provides:
        raise InputError("this model has no λ: nothing is added to its first map, or it has no maps")
    reader.check_class(target)
    said, encoding = reader.predict([text]), reader.tokenizer.encode(text)
    if not encoding.tokens:
        raise InputError("there is no word in this text that the model reads, so no λ has an effect")
    place = reader.find_class(target, said)
    batch, function = Batch.from_arrays(to_batch(encoding)), reader.get_target(place, said)
    own = get_learned_lambdas(reader.inspect(text), model.subtracts)
    places = [(layer, i) for layer, values in enumerate(own.values) for i in range(1, 1 + len(values))]
    lines = [_prepare_curve(each, own, get_lambda_range(attention, own), starts, change) for each in (*places, None)]
    changes = [_change_lambda(change, line, value) for line in lines for value in line.values]
    with torch.inference_mode():
        [whole] = function(model(batch).logits).tolist()
        ask = function._replace(tfidf=None) if unmixed else function
        left = iter(_predict_log_odds(reader, "lambdas", batch, changes, ask))
    curves = []
    for line in lines:
        odds = tuple(next(left) for _ in line.values)
        curves.append(replace(line, log_odds=odds, probabilities=tuple((1 / (1 + np.exp(-np.array(odds)))).tolist())))
    notes = [*reader.write_notes(text, encoding), *([VARIES] if own.varies else [])]
    chances = reader.name_probabilities(said)
    return LambdaCurves(text, reader.classes[place], chances, whole, tuple(curves), " ".join(notes))


def _prepare_curve(
    place: tuple[int, int] | None,
    own: LearnedLambdas,
    span: tuple[float, float],
    starts: Sequence[Sequence[float]],
    change: Intervention,
) -> LambdaCurve:
    """Return a curve without log-odds: the values to try for one attention-map weight λ, or for a factor on all λ."""
    if place is None:
        values = _spread_values(FACTORS, 1.0, change.lambda_scale)
        return LambdaCurve(None, None, 1.0, None, change.lambda_scale, values)
    layer, component = place
    trained, start = own.values[layer][component - 1], float(starts[layer][component - 1]) if starts else None
    by_hand = [value for *there, value in change.lambdas if there == [layer, component]]
    now = by_hand[-1] if by_hand else trained * change.lambda_scale
    named = [trained, now, *([] if start is None else [start])]
    return LambdaCurve(layer, component, trained, start, now, _spread_values(span, 0.0, *named))


def _spread_values(span: tuple[float, float], *named: float) -> tuple[float, ...]:
    return tuple(sorted({*np.linspace(*span, POINTS).round(9).tolist(), *named}))


def _change_lambda(change: Intervention, line: LambdaCurve, value: float) -> Intervention:
    if line.layer is None or line.component is None:
        return replace(change, lambda_scale=value)
    others = tuple(each for each in change.lambdas if each[:2] != (line.layer, line.component))
    return replace(change, lambdas=(*others, (line.layer, line.component, value)))
