"""Which words push the answer to a typed text: by leaving them out, by gradients, and how much they are read.

Without a word means: its characters cut, the doubled space closed, the text read anew. What a text comes to is the
log-odds of one class, from the probabilities that the run gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from core.evaluation.predict import Predictions
from core.exceptions import InputError
from core.interpret import push
from core.interpret.gradients import REFERENCE, Embeds, Target, gradient_times_input, integrated_gradients
from core.interpret.reader import Reader
from core.interpret.received import received
from core.interpret.sentence import SentenceView
from core.models.trace import Batch
from core.numbers import count
from core.text.token_table import one_text
from core.text.typed import shares, typed_words, without

METHODS = {
    "deletion": ("", "log-odds with the word minus without it"),
    "shapley": ("", "what the word adds to those before it, mean over the orders in which words can come"),
    "gradient": ("embedding", "gradient of the log-odds times the vector of the word"),
    "integrated": ("embedding", "the same, integrated on the path from vectors of zeros to the text"),
    "attention": ("maps", "how much the word is read in the last layer, mean over heads and readers"),
    "collapse": ("maps", "the same in the first layer (7ess-Xin, figures 6 and 7)"),
}
"""By name: what a model has to provide (`core.models.provides`), and what the number of a word is."""
LACKING = {"embedding": "reads no vectors of words", "maps": "has no attention"}
READ = {"attention": -1, "collapse": 0}
"""The layer; these have no side: a word that is read much may push either way, or not at all."""
COMPARED = ("deletion", "attention")
"""Every method is compared with these."""
MOST_WORDS = 300
ORDERS, READINGS = 200, 4000
"""Of Shapley values: orders of the words, fewer where they would ask for more texts than that."""
SEED = 0


@dataclass(frozen=True)
class Word:
    """A word of the typed text and its number."""

    word: str
    start: int
    end: int
    push: float
    error: float | None = None
    """Standard error, of a method that samples."""


@dataclass(frozen=True)
class Completeness:
    """How far pushes add up to what the whole text adds."""

    reference: str
    """What the text is compared with, in words."""
    at_reference: float
    """Its log-odds."""
    error: float
    """Sum of the pushes - (log-odds of the text - log-odds at the reference)."""
    steps: int
    """On the path, or orders of the words."""


@dataclass(frozen=True)
class Explanation:
    """The words of a text with what each does to the log-odds of a class, by one method."""

    text: str
    method: str
    target: str
    probabilities: dict[str, float]
    """By class name, in label order."""
    log_odds: float
    words: tuple[Word, ...]
    completeness: Completeness | None
    """None of a method that promises nothing of the kind."""
    agreement: dict[str, float | None]
    """Spearman's rho over the words with each of `COMPARED` but the method itself; of sizes, where one of the two has
    no side. None: fewer than three words, all alike, or no attention."""
    note: str
    """What to know before reading it; empty: nothing."""


def explain(reader: Reader, text: str, method: str = "deletion", target: str = "") -> Explanation:
    """What each word of a text does to the log-odds of a class, and how far that agrees with deletion and attention.

    Args:
        reader: of a run.
        text: as typed; of a long one the first `MOST_WORDS` words.
        method: one of `METHODS`.
        target: a class; empty: the one with the highest probability.

    Raises:
        InputError: no such method or class, a method for another kind of model, or a text too long for maps.
    """
    _check(method, reader.model.provides)
    reader.check(target)
    reading = _Reading(reader, text, target)
    found = reading.by(method)
    against = [name for name in COMPARED if name != method]
    return Explanation(
        text=text,
        method=method,
        target=reader.classes[reading.target],
        probabilities=reader.named(reading.said),
        log_odds=float(reading.odds[0]),
        words=tuple(
            Word(text[start:end], start, end, float(each), None if found.errors is None else float(found.errors[place]))
            for place, ((start, end), each) in enumerate(zip(reading.words, found.pushes, strict=True))
        ),
        completeness=found.completeness,
        agreement={name: _agreement(method, found.pushes, name, reading) for name in against},
        note=" ".join(filter(None, (reading.note, _of_the_network(reader, method)))),
    )


def _of_the_network(reader: Reader, method: str) -> str:
    if reader.mix_weight is None or not METHODS[method][0]:
        return ""
    return f"TF-IDF is mixed into the answer: {method} is of the network alone, deletion and shapley of both."


def methods(provides: frozenset[str]) -> list[str]:
    """Those by which a model that provides so much can be explained."""
    return [name for name, (needs, _) in METHODS.items() if not needs or needs in provides]


def _check(method: str, provides: frozenset[str]) -> None:
    if method not in METHODS:
        raise InputError(f"method '{method:.80}': one of {', '.join(METHODS)}")
    needs = METHODS[method][0]
    if needs and needs not in provides:
        raise InputError(f"method '{method}': this model {LACKING[needs]}; choose {' or '.join(methods(provides))}")


class _Pushes(NamedTuple):
    """(W,) float64 of the words by one method, with what is known of their errors."""

    pushes: np.ndarray
    completeness: Completeness | None = None
    errors: np.ndarray | None = None


class _Reading:
    """One text with everything that was asked about it, asked once."""

    def __init__(self, reader: Reader, text: str, target: str) -> None:
        self.reader, self.text = reader, text
        self.every = typed_words(text)
        self.words = self.every[:MOST_WORDS]
        self.said = reader.predict([text, *(without(text, [word]) for word in self.words)])
        self.target = reader.place(target, self.said)
        self.odds = self.log_odds(self.said)
        self.encoding = reader.tokenizer.encode(text)

    def log_odds(self, said: Predictions) -> np.ndarray:
        """(n,)."""
        return push.log_odds(said.probabilities, self.target, self.reader.task)

    def by(self, method: str) -> _Pushes:
        """What a method says of the words."""
        if method == "deletion":
            return _Pushes(self.odds[0] - self.odds[1:])
        if method == "shapley":
            return self._shapley()
        if method == "integrated":
            return self._integrated()
        if method == "gradient":
            return _Pushes(self._of_words(gradient_times_input(self._model, self._batch, self._function)))
        view = self.view
        if view.too_long:
            raise InputError(f"method '{method}': the text is too long for maps of all pairs; choose deletion")
        if not self.encoding.tokens:
            return _Pushes(np.zeros(len(self.words)))
        first = len(view.tokens) - len(self.encoding.tokens) - bool(view.filled)
        return _Pushes(self._of_words(received(view.layers[READ[method]].combined, view.places)[first:]))

    @cached_property
    def view(self) -> SentenceView:
        """The text from inside."""
        return self.reader.inspect(self.text)

    @property
    def note(self) -> str:
        """What is unknown, cut off or left out."""
        notes = self.reader.notes(self.text, self.encoding)
        if len(self.every) > len(self.words):
            notes.append(f"Explained are the first {count(len(self.words))} of {count(len(self.every))} words.")
        return " ".join(notes)

    def _shapley(self) -> _Pushes:
        number = len(self.words)
        orders = max(2, min(ORDERS, READINGS // max(1, number)))

        def value(there: np.ndarray) -> np.ndarray:
            gone = ([word for word, stays in zip(self.words, row, strict=True) if not stays] for row in there)
            return self.log_odds(self.reader.predict([without(self.text, words) for words in gone]))

        found = push.shapley(value, number, orders, SEED)
        error = float(found.pushes.sum() - (self.odds[0] - found.alone))
        complete = Completeness("the text without its words", found.alone, error, found.orders)
        return _Pushes(found.pushes, complete, found.errors)

    def _integrated(self) -> _Pushes:
        found = integrated_gradients(self._model, self._batch, self._function)
        complete = Completeness(REFERENCE, found.at_reference, found.error, found.steps)
        return _Pushes(self._of_words(found.pushes), complete)

    @property
    def _model(self) -> Embeds:
        return cast(Embeds, self.reader.model)  # it provides `embedding`

    @property
    def _batch(self) -> Batch:
        return Batch.of(one_text(self.encoding))

    @property
    def _function(self) -> Target:
        return self.reader.function(self.target, self.said)

    def _of_words(self, tokens: np.ndarray) -> np.ndarray:
        """Numbers of the tokens, and of places behind them, summed into words."""
        belongs = shares(self.text, self.words, self.encoding.offsets, self.reader.tokenizer.config)
        return belongs @ tokens[: belongs.shape[1]]


def _agreement(method: str, pushes: np.ndarray, other: str, reading: _Reading) -> float | None:
    needs = METHODS[other][0]
    if needs and (needs not in reading.reader.model.provides or reading.view.too_long):
        return None
    pair = pushes, reading.by(other).pushes
    if method in READ or other in READ:
        pair = np.abs(pair[0]), np.abs(pair[1])
    return push.agreement(*pair)
