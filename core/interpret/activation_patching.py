"""Activation patching between two texts of equal length: the log-odds after each activation is replaced.

Activation patching (Vig and others 2020, "Investigating gender bias in language models using causal mediation
analysis"; Meng and others 2022, section 2): an activation of the donor that changes the prediction carries the
difference between the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from core.exceptions import InputError
from core.formatting import count
from core.interpret.attribution_math import compute_log_odds
from core.interpret.explain_context import ExplainContext
from core.interpret.gradients import TOKENS
from core.interpret.sentence_inspection import CLASS_TOKEN
from core.models.encoder import EncoderClassifier
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch
from core.text.tokenizer import Encoding

MOST_TOKENS = 64  # Tokens of a text that are patched one by one
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
    """Compute a class's log-odds when a layer, token or head gets its activations from a donor text, one at a time.

    The reader's intervention applies to both texts. Empty target: the text's most probable class.

    Raises:
        InputError: an unknown class, a model without attention, or texts with different numbers of tokens.
    """
    model = reader.model
    if not isinstance(model, EncoderClassifier):
        raise InputError("this model has no attention, so there is no layer or head to take from another text")
    reader.check_class(target)
    ours, theirs = (reader.tokenizer.encode(each) for each in (text, donor))
    if len(ours.tokens) != len(theirs.tokens):
        read = (f"{count(len(each.tokens))}: {' | '.join(each.tokens):.{READ_AS}}" for each in (ours, theirs))
        raise InputError("the texts differ in their number of tokens. The first has {}; the second {}".format(*read))
    said, other = reader.predict_without(text), reader.predict_without(donor)
    place = reader.find_class(target, said)
    function, first = reader.get_target(place, said), model.first
    batch, given = (Batch.from_arrays(to_batch(each)) for each in (ours, theirs))
    with torch.inference_mode():
        traced = model(given, trace=True, intervene=reader.intervene)
        length = traced.trace.embedded.shape[1]
        places = list(_iterate_places(model, length, range(first + min(len(ours.tokens), MOST_TOKENS)), reader.change))

        def predict_log_odds(changes: Sequence[Intervention]) -> list[float]:
            """Return the log-odds of the class for each patching intervention."""
            read = model(batch.repeat_text(len(changes)), intervene=changes, donor=traced.trace)
            return function(read.logits).tolist()

        [whole] = predict_log_odds([reader.change])
        at_once = max(1, TOKENS // length)
        changes = [change for _, change in places]
        some = reader.iterate_portions("patches", len(changes), at_once)
        found = [each for part in some for each in predict_log_odds(changes[part])]
    before = (CLASS_TOKEN,) * first
    return Patches(
        text=text,
        donor=donor,
        target=reader.classes[place],
        probabilities=reader.name_probabilities(said),
        donor_probabilities=reader.name_probabilities(other),
        log_odds=whole,
        donor_log_odds=float(compute_log_odds(other.probabilities, place, reader.task)[0]),
        tokens=before + tuple(ours.tokens),
        donor_tokens=before + tuple(theirs.tokens),
        patches=tuple(
            replace(patch, log_odds=each, moved=each - whole) for (patch, _), each in zip(places, found, strict=True)
        ),
        note=_write_note(reader, ours),
    )


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


def _write_note(reader: ExplainContext, encoding: Encoding) -> str:
    notes = []
    if cut := encoding.truncated:
        notes.append(f"The model reads the first {count(len(encoding.tokens))} tokens; {count(cut)} are cut off.")
    if len(encoding.tokens) > MOST_TOKENS:
        notes.append(f"Patched are the first {count(MOST_TOKENS)} of {count(len(encoding.tokens))} tokens.")
    if reader.mix_weight is not None:
        notes.append("TF-IDF is mixed into the answer: its part stays that of the first text.")
    return " ".join(notes)
