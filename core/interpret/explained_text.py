"""Word attributions of one text by several methods, each computed at most once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from torch import Tensor

from core.evaluation.inference import Predictions
from core.exceptions import InputError
from core.formatting import count
from core.interpret import attribution_math
from core.interpret.attribution_math import RankTest, compare_ranks
from core.interpret.explain_context import ExplainContext
from core.interpret.gradients import REFERENCE, Asked, Embeds, compute_input_gradient, integrate_gradients
from core.interpret.sentence_inspection import SentenceView
from core.interpret.trace_summary import average_attention
from core.models.trace import Batch, Intervention
from core.text.token_table import to_batch
from core.text.word_spans import Span, compute_shares, find_word_spans

READ = {"attention": -1, "collapse": 0}
"""Attention method → layer. They are unsigned: an attended word may have a positive, negative or no effect."""
MOST_WORDS = 300
ORDERS, READINGS = 200, 4000  # Of Shapley values: most orders of the words, and most predictions
AT_ONCE = 256  # Texts predicted for Shapley values between two progress reports
SEED = 0


@dataclass(frozen=True)
class Completeness:
    """A completeness check of attributions: whether they add up to the effect of the whole text."""

    reference: str  # Description of the reference input
    at_reference: float  # Its log-odds
    error: float  # Sum of the attributions - (log-odds of the text - log-odds at the reference)
    steps: int  # Steps on the path, or orders of the words


class Pushes(NamedTuple):
    """The attributions of a text's words by one method, (W,) float64, with standard errors where known."""

    pushes: np.ndarray
    completeness: Completeness | None = None
    errors: np.ndarray | None = None


class ExplainedText:
    """A text with its word attributions by each method, each computed at most once.

    Only the first `MOST_WORDS` words are explained; an empty target is the most probable class. `said` are predictions
    of the text and of the text without each of its words, if known.

    Raises:
        InputError: an unknown class, or an intervention that does not fit the model.
    """

    def __init__(self, reader: ExplainContext, text: str, target: str = "", said: Predictions | None = None) -> None:
        reader.check_class(target)
        self.reader, self.text = reader, text
        self.words = select_words(text)
        self.said = reader.predict_without(text, list_deletions(self.words)) if said is None else said
        self.target = reader.find_class(target, self.said)
        self.odds = self.compute_log_odds(self.said)
        self.encoding = reader.tokenizer.encode(text)
        self._found: dict[str, Pushes] = {}

    def compute_log_odds(self, said: Predictions) -> np.ndarray:
        """Return the log-odds of the explained class for each predicted text, (n,)."""
        return attribution_math.compute_log_odds(said.probabilities, self.target, self.reader.task)

    def attribute_by(self, method: str) -> Pushes:
        """Return the word attributions by a method; InputError if it needs attention maps and the text is too long."""
        if method not in self._found:
            self._found[method] = self._compute_attributions(method)
        return self._found[method]

    def filter_methods(self, methods: Iterable[str]) -> list[str]:
        """Return those of the given attribution methods for which the text is not too long."""
        return [name for name in methods if name not in READ or not self.view.too_long]

    def compute_agreement(self, first: str, second: str) -> float | None:
        """Return Spearman's rho of two methods' word attributions, of absolute values if one method has no sign."""
        return attribution_math.compute_agreement(*self._get_pair(first, second))

    def compare_methods(self, first: str, second: str) -> RankTest:
        """Test whether two attribution methods rank the words of the text alike."""
        return compare_ranks(*self._get_pair(first, second))

    def _get_pair(self, first: str, second: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the word attributions by two methods, without words that the model does not read, which have 0."""
        pair = self.attribute_by(first).pushes, self.attribute_by(second).pushes
        if first in READ or second in READ:
            pair = np.abs(pair[0]), np.abs(pair[1])
        cut = "embedding" in self.reader.model.provides and self.reader.mix_weight is None
        read = self._belongs.any(1) if cut else slice(None)
        return pair[0][read], pair[1][read]

    def _compute_attributions(self, method: str) -> Pushes:
        if method == "deletion":
            return Pushes(self.odds[0] - self.odds[1:])
        if method == "shapley":
            return self._compute_shapley()
        if method == "integrated":
            path = integrate_gradients(*self._prepare_gradients(method))
            complete = Completeness(REFERENCE, path.at_reference, path.error, path.steps)
            return Pushes(self._sum_to_words(path.pushes), complete)
        if method == "gradient":
            return Pushes(self._sum_to_words(compute_input_gradient(*self._prepare_gradients(method))))
        view = self.view
        if view.too_long:
            raise InputError(f"method '{method}': the text is too long for maps of all pairs; choose deletion")
        if not self.encoding.tokens:
            return Pushes(np.zeros(len(self.words)))
        layer = range(len(view.layers))[READ[method]]
        change = self.reader.change
        off = {head for at, head in change.heads_off | change.heads_mean if at == layer}
        loud = [[[head not in off]] for head in range(len(view.layers[layer].combined))]
        read = average_attention(view.layers[layer].combined * loud, view.places)
        return Pushes(self._sum_to_words(read[view.before :]))

    @cached_property
    def view(self) -> SentenceView:
        """Return the model's prediction and internal values (such as attention maps) for the text."""
        return self.reader.inspect(self.text)

    @property
    def note(self) -> str:
        """Return a note on a text's unknown words, truncation, and words beyond the number that is explained."""
        notes, every = self.reader.write_notes(self.text, self.encoding), find_word_spans(self.text)
        if len(every) > len(self.words):
            notes.append(f"Explained are the first {count(len(self.words))} of {count(len(every))} words.")
        return " ".join(notes)

    def _compute_shapley(self) -> Pushes:
        number = len(self.words)
        orders = max(2, min(ORDERS, READINGS // max(1, number)))

        def predict_subsets(there: np.ndarray) -> np.ndarray:
            """Return the log-odds of the explained class with only a subset of the words, for each subset."""
            gone = [[word for word, stays in zip(self.words, row, strict=True) if not stays] for row in there]
            found = []
            for start in range(0, len(gone), AT_ONCE):
                self.reader.tell("shapley", start / len(gone))
                said = self.reader.predict_without(self.text, gone[start : start + AT_ONCE])
                found.append(self.compute_log_odds(said))
            return np.concatenate(found)

        found = attribution_math.compute_shapley(predict_subsets, number, orders, SEED)
        error = float(found.pushes.sum() - (self.odds[0] - found.alone))
        complete = Completeness("the text without its words", found.alone, error, found.orders)
        return Pushes(found.pushes, complete, found.errors)

    def _prepare_gradients(self, method: str) -> tuple[Embeds, Batch, Asked, Intervention | None]:
        """Return the arguments of the gradient methods: model, batch, target function and intervention."""
        reader, target = self.reader, self.reader.get_target(self.target, self.said)

        def report_target(logits: Tensor) -> Tensor:
            """Return the log-odds of the explained class from logits, after a progress report."""
            self.reader.tell(method, None)
            return target(logits)

        model = cast(Embeds, reader.model)
        return model, Batch.from_arrays(to_batch(self.encoding)), report_target, reader.intervene

    def _sum_to_words(self, tokens: np.ndarray) -> np.ndarray:
        """Sum attributions of tokens into attributions of words, ignoring positions after the text."""
        return self._belongs @ tokens[: self._belongs.shape[1]]

    @cached_property
    def _belongs(self) -> np.ndarray:
        """Return which share of each token belongs to each word, (words, tokens)."""
        return compute_shares(self.text, self.words, self.encoding.offsets, self.reader.tokenizer.config)


def select_words(text: str) -> list[Span]:
    """Return the character spans of the words that are explained: the words of a text, up to a maximum number."""
    return find_word_spans(text)[:MOST_WORDS]


def list_deletions(words: Sequence[Span]) -> list[Sequence[Span]]:
    """Return the sets of words to delete for deletion attribution: the empty set, then each single word."""
    return [(), *((word,) for word in words)]
