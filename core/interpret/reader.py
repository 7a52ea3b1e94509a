"""What a run lends to whoever explains its answers: how to ask it, and of which class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from core.data.table import Task
from core.evaluation.predict import Predictions
from core.exceptions import InputError
from core.interpret.gradients import Target
from core.interpret.sentence import SentenceView
from core.interpret.unknown import unknown_note
from core.models.build import Model
from core.numbers import count
from core.text.tokenizer import Encoding, Tokenizer


@dataclass(frozen=True)
class Reader:
    """A run, as far as explaining needs it."""

    predict: Callable[[Sequence[str]], Predictions]
    inspect: Callable[[str], SentenceView]
    model: Model
    tokenizer: Tokenizer
    classes: tuple[str, ...]
    task: Task
    temperature: float
    mix_weight: float | None = None
    """Of the network, where TF-IDF is mixed into its answers."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Of several labels per text: above which probability a text has each; 0.5 of one that is not named."""

    def check(self, target: str) -> None:
        """Whether a class is one of its own; empty: nobody asked for one.

        Raises:
            InputError: there is no such class; says which there are.
        """
        if target and target not in self.classes:
            raise InputError(f"class '{target:.80}': this run has {', '.join(self.classes)}")

    def place(self, target: str, said: Predictions) -> int:
        """The number of a class; without a name, of the one that has the highest probability in the first row."""
        return self.classes.index(target) if target else int(said.probabilities[0].argmax())

    def gives(self, place: int, said: Predictions) -> np.ndarray:
        """(n,) bool: whether a class is the answer to each text; of several labels, whether it is among them."""
        if self.task == "single":
            return said.probabilities.argmax(1) == place
        return said.probabilities[:, place].astype(np.float64) > self.thresholds.get(self.classes[place], 0.5)

    def function(self, place: int, said: Predictions) -> Target:
        """The log-odds of a class for the first text of which it said this, as a function of the network's logits."""
        target = Target(place, self.task, self.temperature)
        if said.parts is None or self.mix_weight is None:
            return target
        return target._replace(tfidf=torch.from_numpy(said.parts.tfidf[0]), weight=self.mix_weight)

    def notes(self, text: str, encoding: Encoding) -> list[str]:
        """What of a text is unknown and what is cut off, in sentences."""
        notes = [unknown_note(self.tokenizer.unknown_share(text))]
        if cut := encoding.truncated:
            kept = count(len(encoding.tokens))
            notes.append(f"The model reads the first {kept} tokens; {count(cut)} at the end are cut off.")
        return list(filter(None, notes))

    def named(self, said: Predictions) -> dict[str, float]:
        """By class name the probabilities of the first row."""
        return dict(zip(self.classes, map(float, said.probabilities[0]), strict=True))
