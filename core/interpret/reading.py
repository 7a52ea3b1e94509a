"""One text of which it is asked what its words do to an answer: everything is asked once, whoever wants it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from torch import Tensor

from core.evaluation.predict import Predictions
from core.exceptions import InputError
from core.interpret import push
from core.interpret.gradients import REFERENCE, Asked, Embeds, gradient_times_input, integrated_gradients
from core.interpret.push import RankTest, compare_ranks
from core.interpret.reader import Reader
from core.interpret.sentence import SentenceView
from core.interpret.trace_summary import received
from core.models.trace import Batch, Intervention
from core.numbers import count
from core.text.token_table import one_text
from core.text.typed import Span, shares, typed_words

READ = {"attention": -1, "collapse": 0}
"""The layer; these have no side: a word that is read much may push either way, or not at all."""
MOST_WORDS = 300
ORDERS, READINGS = 200, 4000
"""Of Shapley values: orders of the words, fewer where they would ask for more texts than that."""
AT_ONCE = 256  # Texts that Shapley values ask for before they say how far they are
SEED = 0


@dataclass(frozen=True)
class Completeness:
    """How far pushes add up to what the whole text adds."""

    reference: str  # What the text is compared with, in words
    at_reference: float  # Its log-odds
    error: float  # Sum of the pushes - (log-odds of the text - log-odds at the reference)
    steps: int  # On the path, or orders of the words


class Pushes(NamedTuple):
    """(W,) float64 of the words by one method, with what is known of their errors."""

    pushes: np.ndarray
    completeness: Completeness | None = None
    errors: np.ndarray | None = None


class Reading:
    """One text with everything that was asked about it, asked once.

    Of a long text the first `MOST_WORDS` words; an empty target is the class with the highest probability. `said` is
    what was said of the text and of it without each of its words, where that has been asked.

    Raises:
        InputError: no such class, or a change inside that names what the model does not have.
    """

    def __init__(self, reader: Reader, text: str, target: str = "", said: Predictions | None = None) -> None:
        reader.check(target)
        self.reader, self.text = reader, text
        self.words = shown_words(text)
        self.said = reader.ask(text, leaving_out(self.words)) if said is None else said
        self.target = reader.place(target, self.said)
        self.odds = self.log_odds(self.said)
        self.encoding = reader.tokenizer.encode(text)
        self._found: dict[str, Pushes] = {}

    def log_odds(self, said: Predictions) -> np.ndarray:
        """(n,)."""
        return push.log_odds(said.probabilities, self.target, self.reader.task)

    def by(self, method: str) -> Pushes:
        """What a method says of the words.

        Raises:
            InputError: the text is too long for maps, which the method needs.
        """
        if method not in self._found:
            self._found[method] = self._by(method)
        return self._found[method]

    def possible(self, methods: Iterable[str]) -> list[str]:
        """Those that the text is not too long for; the model provides what they need."""
        return [name for name in methods if name not in READ or not self.view.too_long]

    def agreement(self, first: str, second: str) -> float | None:
        """Spearman's rho over the words of two methods; of sizes, where one of them has no side."""
        return push.agreement(*self._pair(first, second))

    def compare(self, first: str, second: str) -> RankTest:
        """Test whether two methods rank the words alike."""
        return compare_ranks(*self._pair(first, second))

    def _pair(self, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of two methods as they are compared, without words that nothing reads.

        Such words have 0 by both methods, which would count as agreement.
        """
        pair = self.by(first).pushes, self.by(second).pushes
        if first in READ or second in READ:
            pair = np.abs(pair[0]), np.abs(pair[1])
        cut = "embedding" in self.reader.model.provides and self.reader.mix_weight is None
        read = self._belongs.any(1) if cut else slice(None)
        return pair[0][read], pair[1][read]

    def _by(self, method: str) -> Pushes:
        if method == "deletion":
            return Pushes(self.odds[0] - self.odds[1:])
        if method == "shapley":
            return self._shapley()
        if method == "integrated":
            return self._integrated()
        if method == "gradient":
            return Pushes(self._of_words(gradient_times_input(*self._asked(method))))
        view = self.view
        if view.too_long:
            raise InputError(f"method '{method}': the text is too long for maps of all pairs; choose deletion")
        if not self.encoding.tokens:
            return Pushes(np.zeros(len(self.words)))
        layer = range(len(view.layers))[READ[method]]
        change = self.reader.change
        off = {head for at, head in change.heads_off | change.heads_mean if at == layer}
        loud = [[[head not in off]] for head in range(len(view.layers[layer].combined))]
        read = received(view.layers[layer].combined * loud, view.places)
        return Pushes(self._of_words(read[view.before :]))

    @cached_property
    def view(self) -> SentenceView:
        """The text from inside."""
        return self.reader.inspect(self.text)

    @property
    def note(self) -> str:
        """What is unknown, cut off or left out."""
        notes, every = self.reader.notes(self.text, self.encoding), typed_words(self.text)
        if len(every) > len(self.words):
            notes.append(f"Explained are the first {count(len(self.words))} of {count(len(every))} words.")
        return " ".join(notes)

    def _shapley(self) -> Pushes:
        number = len(self.words)
        orders = max(2, min(ORDERS, READINGS // max(1, number)))

        def value(there: np.ndarray) -> np.ndarray:
            gone = [[word for word, stays in zip(self.words, row, strict=True) if not stays] for row in there]
            found = []
            for start in range(0, len(gone), AT_ONCE):
                self.reader.tell("shapley", start / len(gone))
                found.append(self.log_odds(self.reader.ask(self.text, gone[start : start + AT_ONCE])))
            return np.concatenate(found)

        found = push.shapley(value, number, orders, SEED)
        error = float(found.pushes.sum() - (self.odds[0] - found.alone))
        complete = Completeness("the text without its words", found.alone, error, found.orders)
        return Pushes(found.pushes, complete, found.errors)

    def _integrated(self) -> Pushes:
        found = integrated_gradients(*self._asked("integrated"))
        complete = Completeness(REFERENCE, found.at_reference, found.error, found.steps)
        return Pushes(self._of_words(found.pushes), complete)

    def _asked(self, method: str) -> tuple[Embeds, Batch, Asked, Intervention | None]:
        """Of which model gradients are asked, for what; it is told each time that they are."""
        reader, target = self.reader, self.reader.function(self.target, self.said)

        def function(logits: Tensor) -> Tensor:
            self.reader.tell(method, None)
            return target(logits)

        model = cast(Embeds, reader.model)  # it provides `embedding`
        return model, Batch.of(one_text(self.encoding)), function, reader.intervene

    def _of_words(self, tokens: np.ndarray) -> np.ndarray:
        """Numbers of the tokens, and of places behind them, summed into words."""
        return self._belongs @ tokens[: self._belongs.shape[1]]

    @cached_property
    def _belongs(self) -> np.ndarray:
        """Which part of each token belongs to which word, (words, tokens)."""
        return shares(self.text, self.words, self.encoding.offsets, self.reader.tokenizer.config)


def shown_words(text: str) -> list[Span]:
    """The words that are explained."""
    return typed_words(text)[:MOST_WORDS]


def leaving_out(words: Sequence[Span]) -> list[Sequence[Span]]:
    """What is gone: nothing, then each word by itself."""
    return [(), *((word,) for word in words)]
