"""The parts of a run that explanation methods use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from core.data.table import Task
from core.evaluation.predict import Predictions
from core.exceptions import InputError
from core.interpret.gradients import Target
from core.interpret.sentence import SentenceView
from core.interpret.trace_summary import unknown_note
from core.interpret.watched import OnProgress, silent
from core.models.build import Model
from core.models.trace import Intervene, Intervention
from core.numbers import count
from core.text.tokenizer import Encoding, Tokenizer
from core.text.typed import Span, merged, shares, typed_words, without
from core.training.scaling import Scaling

UNCHANGED = Intervention()
HALF = 0.5  # Share of the characters of a token with which it goes when a word goes


@dataclass(frozen=True)
class Reader:
    """The interface to a run for explanation methods."""

    predict: Callable[..., Predictions]  # Of texts, with what is changed inside: for all or for each
    inspect: Callable[[str], SentenceView]  # With the same change inside
    model: Model
    tokenizer: Tokenizer
    classes: tuple[str, ...]
    task: Task
    scaling: Scaling
    mix_weight: float | None = None  # Of the network, where TF-IDF is mixed into its answers
    thresholds: Mapping[str, float] = field(default_factory=dict)  # Of several labels: of each its own, else 0.5
    tell: OnProgress = silent  # Told how far what takes its time is; it may stop it
    change: Intervention = UNCHANGED  # Inside the model; its tokens are those of the whole text

    def ask(self, text: str, gone: Sequence[Collection[Span]] = ((),)) -> Predictions:
        """Predict a text without some of its words, with the change inside: one row for each of `gone`.

        The network admits no token that it cuts off from the whole text. A change at a token goes with the token.

        Raises:
            InputError: the change names something that the model does not have.
        """
        texts, whole = self.without(text, gone), [without(text, words) for words in gone]
        return self.say(texts, self._followed(text, gone, texts) if self.at_tokens else self.intervene, whole)

    def say(self, texts: Sequence[str], intervene: Intervene, whole: Sequence[str] = ()) -> Predictions:
        """Predict texts with one intervention for all, or one for each.

        `whole` are the same texts with what the network cuts off, which TF-IDF reads where it is mixed in.
        """
        given: dict[str, Any] = {} if intervene is None else {"intervene": intervene}
        if self.mix_weight is not None and whole:
            given["whole"] = whole
        return self.predict(texts, **given)

    def without(self, text: str, gone: Sequence[Collection[Span]]) -> list[str]:
        """Return the text that the network reads without some words, for each of `gone`; it truncates, then deletes.

        Nothing that is cut off from the whole text comes in for what is deleted. Without any deletion it is the text.
        """
        unread = self.tokenizer.unread(text)
        return [without(text, merged([*words, *unread]) if unread and words else words) for words in gone]

    def read_part(self, text: str) -> str:
        """Return a text without what the network truncates."""
        return without(text, self.tokenizer.unread(text))

    @property
    def at_tokens(self) -> bool:
        """Return whether the change is at single tokens, whose places differ in another text."""
        return bool(self.change.gates or self.change.pieces_off)

    @property
    def intervene(self) -> Intervention | None:
        """Return the change as an intervention; None without a change."""
        return None if self.change == UNCHANGED else self.change

    def _followed(self, text: str, gone: Sequence[Collection[Span]], texts: Sequence[str]) -> list[Intervention]:
        """Return the change for each shortened text, with the tokens renumbered."""
        words, whole = typed_words(text), self.tokenizer.encode(text)
        belongs = shares(text, words, whole.offsets, self.tokenizer.config)
        places, found = {word: place for place, word in enumerate(words)}, []
        for left, cut in zip(texts, gone, strict=True):
            away = belongs[[places[word] for word in cut]].sum(0) > HALF
            kept = np.flatnonzero(~away).tolist()
            now = self.tokenizer.encode(left).tokens
            found.append(_moved(self.change, _places([whole.tokens[i] for i in kept], kept, now), self.model.first))
        return found

    def portions(self, what: str, many: int, at_once: int) -> Iterator[slice]:
        """Yield slices of `many` items in portions, and report the progress before each."""
        for start in range(0, many, at_once):
            self.tell(what, start / many)
            yield slice(start, start + at_once)

    def check(self, target: str) -> None:
        """Refuse a class that the run does not have with an InputError that lists its classes; empty is allowed."""
        if target and target not in self.classes:
            raise InputError(f"class '{target:.80}': this run has {', '.join(self.classes)}")

    def place(self, target: str, said: Predictions) -> int:
        """Return the index of a class; without a name, of the most probable class in the first row."""
        return self.classes.index(target) if target else int(said.probabilities[0].argmax())

    def gives(self, place: int, said: Predictions) -> np.ndarray:
        """Return (n,) bool: whether a class is predicted for each text."""
        if self.task == "single":
            return said.probabilities.argmax(1) == place
        return said.probabilities[:, place].astype(np.float64) > self.thresholds.get(self.classes[place], 0.5)

    def function(self, place: int, said: Predictions) -> Target:
        """Return the log-odds of a class, as a function of the network's logits, for the first text predicted."""
        target = Target(place, self.task, self.scaling)
        if said.parts is None or self.mix_weight is None:
            return target
        return target._replace(tfidf=torch.from_numpy(said.parts.tfidf[0]), weight=self.mix_weight)

    def notes(self, text: str, encoding: Encoding) -> list[str]:
        """Return sentences about unknown words and truncated tokens of a text."""
        notes = [unknown_note(self.tokenizer.unknown_share(text))]
        if cut := encoding.truncated:
            kept = count(len(encoding.tokens))
            notes.append(f"The model reads the first {kept} tokens; {count(cut)} at the end are cut off.")
        return list(filter(None, notes))

    def named(self, said: Predictions) -> dict[str, float]:
        """Return class name → probability for the first row."""
        return dict(zip(self.classes, map(float, said.probabilities[0]), strict=True))


def _places(before: Sequence[str], places: Sequence[int], now: Sequence[str]) -> dict[int, int]:
    """Return old → new places of tokens, matched from the front, then from the back."""
    found: dict[int, int] = {}
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            break
        found[places[at]] = at
    fixed = len(found)
    for back in range(1, min(len(before), len(now)) - fixed + 1):
        if before[-back] != now[-back]:
            break
        found[places[-back]] = len(now) - back
    return found


def _moved(change: Intervention, places: Mapping[int, int], first: int) -> Intervention:
    """Return the change with its tokens renumbered; `first` is the place of the first text token."""

    def place(token: int) -> int | None:
        """Return the new place of a token; None if it is gone."""
        return token if token < first else None if (now := places.get(token - first)) is None else first + now

    return replace(
        change,
        gates=tuple((layer, now, value) for layer, token, value in change.gates if (now := place(token)) is not None),
        pieces_off=frozenset((now, piece) for token, piece in change.pieces_off if (now := place(token)) is not None),
    )
