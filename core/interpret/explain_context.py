"""The context that explanation methods need from a run: its model, tokenizer, classes and prediction functions."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from core.data.dataset import Task
from core.evaluation.inference import Predictions
from core.exceptions import InputError
from core.formatting import count
from core.interpret.background_thread import OnProgress, ignore_progress
from core.interpret.gradients import Target
from core.interpret.sentence_inspection import SentenceView
from core.interpret.trace_summary import warn_unknown
from core.models.builder import Model
from core.models.trace import Intervene, Intervention
from core.text.tokenizer import Encoding, Tokenizer
from core.text.word_spans import Span, compute_shares, find_word_spans, merge_spans, remove_words
from core.training.temperature import Scaling

UNCHANGED = Intervention()
HALF = 0.5  # A token is deleted with a word that has more than this share of its characters


@dataclass(frozen=True)
class ExplainContext:
    """The parts of a run that explanation methods use, with an optional intervention on the model."""

    predict: Callable[..., Predictions]  # Takes texts and an intervention, for all texts or for each
    inspect: Callable[[str], SentenceView]  # With the intervention `change`
    model: Model
    tokenizer: Tokenizer
    classes: tuple[str, ...]
    task: Task
    scaling: Scaling
    mix_weight: float | None = None  # Weight of the network, if TF-IDF is mixed into its predictions
    thresholds: Mapping[str, float] = field(default_factory=dict)  # Multi-label: label → threshold, by default 0.5
    tell: OnProgress = ignore_progress  # Receives progress; may raise to stop
    change: Intervention = UNCHANGED  # Its token indices are those of the whole text

    def predict_without(self, text: str, gone: Sequence[Collection[Span]] = ((),)) -> Predictions:
        """Predict a text with words deleted and interventions applied; return one row for each set of deleted words.

        Tokens truncated from the whole text stay out. An intervention at a token is deleted with the token. Raises
        InputError for an intervention that does not fit the model.
        """
        texts, whole = self.delete_words(text, gone), [remove_words(text, words) for words in gone]
        intervene = self._renumber_changes(text, gone, texts) if self.at_tokens else self.intervene
        return self.predict_texts(texts, intervene, whole)

    def predict_texts(self, texts: Sequence[str], intervene: Intervene, whole: Sequence[str] = ()) -> Predictions:
        """Predict texts with one intervention for all or one for each; TF-IDF reads `whole`, the untruncated texts."""
        given: dict[str, Any] = {} if intervene is None else {"intervene": intervene}
        if self.mix_weight is not None and whole:
            given["whole"] = whole
        return self.predict(texts, **given)

    def delete_words(self, text: str, gone: Sequence[Collection[Span]]) -> list[str]:
        """Return a text without each set of words, after truncation; an empty set of words returns the whole text."""
        unread = self.tokenizer.find_truncated(text)
        return [remove_words(text, merge_spans([*words, *unread]) if unread and words else words) for words in gone]

    def read_part(self, text: str) -> str:
        """Return the part of a text that the network reads, without what truncation cuts off."""
        return remove_words(text, self.tokenizer.find_truncated(text))

    @property
    def at_tokens(self) -> bool:
        """Return whether the intervention changes single tokens, whose indices differ in another text."""
        return bool(self.change.gates)

    @property
    def intervene(self) -> Intervention | None:
        """Return the intervention on the model with which texts are explained; None if it changes nothing."""
        return None if self.change == UNCHANGED else self.change

    def _renumber_changes(
        self, text: str, gone: Sequence[Collection[Span]], texts: Sequence[str]
    ) -> list[Intervention]:
        """Return the intervention for each text with deleted words, with token indices adapted to that text."""
        words, whole = find_word_spans(text), self.tokenizer.encode(text)
        belongs = compute_shares(text, words, whole.offsets, self.tokenizer.config)
        places, found = {word: place for place, word in enumerate(words)}, []
        for left, cut in zip(texts, gone, strict=True):
            away = belongs[[places[word] for word in cut]].sum(0) > HALF
            kept = np.flatnonzero(~away).tolist()
            matched = _match_tokens([whole.tokens[i] for i in kept], kept, self.tokenizer.encode(left).tokens)
            found.append(_renumber_tokens(self.change, matched, self.model.first))
        return found

    def iterate_portions(self, what: str, many: int, at_once: int) -> Iterator[slice]:
        """Yield slices that cover `many` items, at most `at_once` each, and report the progress before each."""
        for start in range(0, many, at_once):
            self.tell(what, start / many)
            yield slice(start, start + at_once)

    def check_class(self, target: str) -> None:
        """Refuse an unknown class name with an InputError that lists the run's classes; an empty name is allowed."""
        if target and target not in self.classes:
            raise InputError(f"class '{target:.80}': this run has {', '.join(self.classes)}")

    def find_class(self, target: str, said: Predictions) -> int:
        """Return the index of a class; without a name, of the most probable class of the first predicted text."""
        return self.classes.index(target) if target else int(said.probabilities[0].argmax())

    def is_predicted(self, place: int, said: Predictions) -> np.ndarray:
        """Return (n,) bool: whether a class is among the predicted ones of each text."""
        if self.task == "single":
            return said.probabilities.argmax(1) == place
        return said.probabilities[:, place].astype(np.float64) > self.thresholds.get(self.classes[place], 0.5)

    def get_target(self, place: int, said: Predictions) -> Target:
        """Return a function from the network's logits to the log-odds of a class, for the first predicted text."""
        target = Target(place, self.task, self.scaling)
        if said.parts is None or self.mix_weight is None:
            return target
        return target._replace(tfidf=torch.from_numpy(said.parts.tfidf[0]), weight=self.mix_weight)

    def write_notes(self, text: str, encoding: Encoding) -> list[str]:
        """Return warnings about unknown words and truncated tokens of a text, as sentences."""
        notes = [warn_unknown(self.tokenizer.compute_unknown_share(text))]
        if cut := encoding.truncated:
            kept = count(len(encoding.tokens))
            notes.append(f"The model reads the first {kept} tokens; {count(cut)} at the end are cut off.")
        return list(filter(None, notes))

    def name_probabilities(self, said: Predictions) -> dict[str, float]:
        """Return class name → probability for the first of the predicted texts."""
        return dict(zip(self.classes, map(float, said.probabilities[0]), strict=True))


def _match_tokens(before: Sequence[str], places: Sequence[int], now: Sequence[str]) -> dict[int, int]:
    """Return old → new token indices after words were deleted: equal tokens at the front, then at the back."""
    found: dict[int, int] = {}
    for at, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            break
        found[places[at]] = at
    for back in range(1, min(len(before), len(now)) - len(found) + 1):
        if before[-back] != now[-back]:
            break
        found[places[-back]] = len(now) - back
    return found


def _renumber_tokens(change: Intervention, places: Mapping[int, int], first: int) -> Intervention:
    """Return an intervention with its token indices renumbered; `first` is the index of the first text token."""
    now = {token: token for token in range(first)} | {first + old: first + new for old, new in places.items()}
    gates = tuple((layer, now[token], value) for layer, token, value in change.gates if token in now)
    return replace(change, gates=gates)
