"""The forward pass of one text, stage by stage, computed anew from the weights of a run."""

from __future__ import annotations

import numpy as np
import torch

from core.evaluation.predict import Predictions, device_of
from core.exceptions import InputError, NotAvailable
from core.interpret.reader import Reader
from core.interpret.rules import Array
from core.interpret.sentence import CLASS_TOKEN, LAST_TOKEN, PADDING
from core.interpret.stages import Matrix, Stage, Steps
from core.interpret.steps_encoder import encoder_stages
from core.interpret.steps_head import probability_stage
from core.interpret.steps_plain import plain_stages
from core.models.encoder import EncoderClassifier
from core.models.linear import BagOfNgrams
from core.models.trace import Batch
from core.numbers import count, number
from core.text.ids import UNKNOWN
from core.text.tags import TAGS
from core.text.token_table import one_text
from core.text.tokenizer import Encoding

MOST_TOKENS = 512
"""Of a longer text nothing is computed: its maps in float64 would be too large to be worth it."""
TOLERANCE = 1e-4
"""Largest difference between a probability of the last stage and the model's own, which is rounding in float32."""


def steps(
    reader: Reader, text: str, layer: int | None = None, head: int | None = None, component: int | None = None
) -> Steps:
    """All stages of a text, as it is read with the reader's change; the model is only read.

    Args:
        reader: what a run lends.
        text: any.
        layer: from 1; None: the last.
        head: from 1; None: the first.
        component: from 0; None: the base component.

    Raises:
        InputError: the model has no such layer, head or component, or not what is changed.
        NotAvailable: the text has no token, or too many, or the last stage is not the model's own answer.
    """
    encoding, model = reader.tokenizer.encode(text), reader.model
    if not encoding.tokens:
        raise NotAvailable("the model knows no word of this text; type another one")
    batch = Batch.of(one_text(encoding)).to(device_of(model))
    attentive = isinstance(model, EncoderClassifier)
    if len(encoding.tokens) > MOST_TOKENS or (isinstance(model, EncoderClassifier) and model.fill > MOST_TOKENS):
        raise NotAvailable(
            f"a text of more than {count(MOST_TOKENS)} tokens is too long for its steps; type a shorter one"
        )
    said = reader.say([text], reader.intervene)
    tokens, read = list(encoding.tokens), batch
    sizes = (len(model.layers), model.heads, model.components) if isinstance(model, EncoderClassifier) else (0, 0, 0)
    place = _place((layer, head, component), sizes)
    with torch.inference_mode():
        if isinstance(model, EncoderClassifier):
            tokens = [CLASS_TOKEN] * model.first + tokens + [LAST_TOKEN] * model.last
            tokens += [PADDING] * max(0, model.fill - len(tokens))
            read = model.complete(batch)[0]
            inside = list(encoder_stages(model, batch, tuple(tokens), place, reader.classes, reader.change))
        else:
            read = batch._replace(tags=None)
            inside = list(plain_stages(model, batch, tuple(tokens), reader.classes))
    first = _tokens(encoding, read, tuple(tokens), reader.tokenizer.size, counted=isinstance(model, BagOfNgrams))
    last = probability_stage(inside[-1].matrices[-1], reader.task, reader.scaling, _mixed(reader, said))
    _check_answer(last.matrices[-1].values[0], said.probabilities[0], reader.classes)
    at = [each + 1 if attentive else 0 for each in place[:2]]
    return Steps(
        text=text,
        tokens=tuple(tokens),
        stages=(first, *inside, last),
        layer=at[0],
        head=at[1],
        component=place[2],
        layers=sizes[0],
        heads=sizes[1],
        components=sizes[2],
        notes=tuple(reader.notes(text, encoding)),
    )


def _place(asked: tuple[int | None, int | None, int | None], sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    """Layer, head and component from 0."""
    if not sizes[0]:
        if any(each is not None for each in asked):
            raise InputError("this model has no attention, so it has no layer, head or component to choose")
        return 0, 0, 0
    usual = (sizes[0], 1, 0)
    found = []
    for name, value, default, first, many in zip(
        ("layer", "head", "component"), asked, usual, (1, 1, 0), sizes, strict=True
    ):
        chosen = default if value is None else value
        if not first <= chosen < first + many:
            raise InputError(f"{name} {chosen}: this model has {name}s {first} to {first + many - 1}")
        found.append(chosen - first)
    return found[0], found[1], found[2]


def _check_answer(computed: Array, own: Array, classes: tuple[str, ...]) -> None:
    """Refuse stages that do not end at the model's own probabilities: a part of the model is missing from them."""
    worst = int(np.abs(computed - own).argmax())
    if not abs(computed[worst] - own[worst]) <= TOLERANCE:
        raise NotAvailable(
            f"Steps computes P({classes[worst]}) = {number(float(computed[worst]), 4)}, but the model answers "
            f"{number(float(own[worst]), 4)}: Steps does not know every part of this model, so it shows nothing"
        )


def _mixed(reader: Reader, said: Predictions) -> tuple[float, Array] | None:
    if reader.mix_weight is None or said.parts is None:
        return None
    return reader.mix_weight, np.asarray(said.parts.tfidf, np.float64)


def _tokens(encoding: Encoding, read: Batch, tokens: tuple[str, ...], size: int, *, counted: bool) -> Stage:
    """What the text becomes."""
    words: tuple[tuple[str, ...], ...] = ()
    columns: tuple[str, ...] = ("id",)
    ids = read.ids[0].cpu().numpy()
    if read.tags is not None:
        names = ("–", *TAGS, "class")
        words, columns = tuple((names[tag],) for tag in read.tags[0].tolist()), ("id", "part of speech")
    matrix = Matrix(r"\mathrm{id}", ids[:, None].astype(float), tokens, columns, "count", words=words)
    what = "n-grams, words and pairs of them," if counted else "pieces,"
    reading = f"The text becomes {what} each with its number in a vocabulary of {count(size)}."
    if not counted and UNKNOWN in encoding.ids:
        reading += f" Number {UNKNOWN} is for all that the vocabulary lacks."
    formula = r"\mathrm{text} \to t_1,\dots,t_T"
    return Stage("tokens", "Tokens", (formula,), reading, (matrix,))
