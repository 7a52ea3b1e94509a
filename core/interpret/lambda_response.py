"""The effect of each λ (attention-map weight) on a prediction: log-odds and probability of a class as λ varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from core.exceptions import InputError
from core.interpret.explain_context import UNCHANGED, ExplainContext
from core.interpret.gradients import TOKENS
from core.interpret.trace_summary import LearnedLambdas, get_lambda_range, get_learned_lambdas
from core.models.attention_config import AttentionConfig
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch

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

    `attention` gives the range of λ, `starts` (by layer and component; empty: unknown) the values before training. An
    empty target is the class with the highest probability as trained. A curve replaces an edit of its λ in `change`.
    With `unmixed`, TF-IDF is left out of the prediction.

    Raises:
        InputError: an unknown class, a model without λ, or a text without known words.
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
    at_once = max(1, TOKENS // max(batch.ids.shape[1], model.fill))
    with torch.inference_mode():
        [whole] = function(model(batch).logits).tolist()
        ask = function._replace(tfidf=None) if unmixed else function
        some = (changes[part] for part in reader.iterate_portions("lambdas", len(changes), at_once))
        read = (model(batch.repeat_text(len(each)), intervene=each).logits for each in some)
        odds = [value for logits in read for value in ask(logits).tolist()]
    left = iter(odds)
    notes = [*reader.write_notes(text, encoding), *([VARIES] if own.varies else [])]
    return LambdaCurves(
        text=text,
        target=reader.classes[place],
        probabilities=reader.name_probabilities(said),
        log_odds=whole,
        curves=tuple(_fill_curve(line, [next(left) for _ in line.values]) for line in lines),
        note=" ".join(notes),
    )


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
    even = np.linspace(*span, POINTS).round(9).tolist()
    return tuple(sorted({*even, *named}))


def _change_lambda(change: Intervention, line: LambdaCurve, value: float) -> Intervention:
    if line.layer is None or line.component is None:
        return replace(change, lambda_scale=value)
    others = tuple(each for each in change.lambdas if each[:2] != (line.layer, line.component))
    return replace(change, lambdas=(*others, (line.layer, line.component, value)))


def _fill_curve(line: LambdaCurve, odds: list[float]) -> LambdaCurve:
    chances = 1 / (1 + np.exp(-np.array(odds)))
    return replace(line, log_odds=tuple(odds), probabilities=tuple(chances.tolist()))
