"""Spans of tagged words, and the agreement of predicted spans with labelled ones.

A span is correct if its type and both ends are (Tjong Kim Sang and De Meulder, 2003, "Introduction to the
CoNLL-2003 shared task"). As in the official script and seqeval, an `I-` tag that continues no span begins one. Counts
are by sentence, since intervals resample sentences.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from core.data.conll import OUTSIDE
from core.evaluation.metrics import SIDES, Part, divide_safely, score_class

Kind = Literal["right", "wrong type", "wrong border", "missed", "spurious"]
KINDS: tuple[Kind, ...] = ("right", "wrong type", "wrong border", "missed", "spurious")
"""Right · same words, other type · shared words, other border · no predicted span · no labelled span."""


class WordSpan(NamedTuple):
    """A span of tagged words in a sentence, such as a name, with its type."""

    kind: str
    first: int  # its first word, from 0
    end: int  # the word after its last one


class SpanMatch(NamedTuple):
    """A labelled span with the predicted span that overlaps it, or a span without a counterpart, and the outcome."""

    outcome: Kind
    label: WordSpan | None
    said: WordSpan | None

    @property
    def span(self) -> WordSpan:
        """Return the labelled span of a match if there is one, else the predicted one."""
        return self.label or self.said or WordSpan("", 0, 0)

    @property
    def kind(self) -> str:
        """Return the type of a matched span, such as `PLACE`."""
        return self.span.kind


def decode_spans(tags: Sequence[str]) -> list[WordSpan]:
    """Return the spans of a sentence in order, from IOB2 tags; an I- tag that continues no span begins one."""
    found: list[WordSpan] = []
    for place, tag in enumerate(tags):
        if tag == OUTSIDE:
            continue
        last = found[-1] if found else None
        if tag.startswith("I-") and last is not None and last.end == place and last.kind == tag[2:]:
            found[-1] = last._replace(end=place + 1)
        else:
            found.append(WordSpan(tag[2:], place, place + 1))
    return found


def match_spans(label: Sequence[str], said: Sequence[str]) -> list[SpanMatch]:
    """Match labelled and predicted spans of a sentence; return the matches in the order of their first words.

    Spans of the same words are matched first, then, among the others, the first spans that share a word. A span has at
    most one match, so that `right`, `wrong type`, `wrong border` and `missed` add up to the labelled spans, and the
    first three with `spurious` to the predicted ones.
    """
    true, claimed = decode_spans(label), decode_spans(said)
    there = {span[1:]: span for span in claimed}
    found, left = list[SpanMatch](), list[WordSpan]()
    for span in true:
        if other := there.pop(span[1:], None):
            found.append(SpanMatch("right" if span == other else "wrong type", span, other))
        else:
            left.append(span)
    waiting = [span for span in claimed if span[1:] in there]
    place = 0  # spans of one side do not overlap: a span that ends before this one ends before all later ones
    for span in left:
        while place < len(waiting) and waiting[place].end <= span.first:
            found.append(SpanMatch("spurious", None, waiting[place]))
            place += 1
        if place < len(waiting) and waiting[place].first < span.end:
            found.append(SpanMatch("wrong border", span, waiting[place]))
            place += 1
        else:
            found.append(SpanMatch("missed", span, None))
    found += [SpanMatch("spurious", None, span) for span in waiting[place:]]
    return sorted(found, key=lambda each: each.span.first)


@dataclass(frozen=True)
class SpanScores:
    """True and predicted word tags of n sentences, for the metrics of spans."""

    labels: Sequence[Sequence[str]]
    said: Sequence[Sequence[str]]

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def found(self) -> list[list[SpanMatch]]:
        """Return the matches of labelled and predicted spans, sentence by sentence."""
        return [match_spans(*both) for both in zip(self.labels, self.said, strict=True)]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Return the span types that occur in true or predicted tags, sorted."""
        tags = {tag for side in (self.labels, self.said) for sentence in side for tag in sentence}
        return tuple(sorted({tag[2:] for tag in tags if tag != OUTSIDE}))

    @cached_property
    def counts(self) -> np.ndarray:
        """Return (3, n, T) counts of correct, labelled and predicted spans by sentence and type."""
        place = {kind: number for number, kind in enumerate(self.kinds)}
        counts = np.zeros((3, len(self), len(place)))
        for row, (label, said) in enumerate(zip(self.labels, self.said, strict=True)):
            true, claimed = Counter(decode_spans(label)), Counter(decode_spans(said))
            for which, spans in enumerate((true & claimed, true, claimed)):
                for span in spans:
                    counts[which, row, place[span.kind]] += 1
        return counts

    def score_spans(self, part: Part, weights: np.ndarray) -> np.ndarray:
        """Return (R,) precision, recall or F1 over all spans, for each set of sentence weights; 0 if undefined."""
        a, b = SIDES[part]
        hits, true, claimed = (weights @ each.sum(1) for each in self.counts)
        return divide_safely(hits, a * true + b * claimed)

    def compute_accuracy(self, weights: np.ndarray) -> np.ndarray:
        """Return (R,) shares of words with the correct tag, one for each set of sentence weights."""
        both = [zip(*each, strict=True) for each in zip(self.labels, self.said, strict=True)]
        right = np.array([sum(true == said for true, said in tags) for tags in both], float)
        return divide_safely(weights @ right, weights @ np.array([len(tags) for tags in self.labels], float))

    def evaluate_types(self) -> dict[str, dict[str, float]]:
        """Return precision, recall, F1 and support of each span type, with the number of spans of each outcome."""
        hits, true, claimed = self.counts.sum(1)
        table: dict[str, dict[str, float]] = {}
        for number, kind in enumerate(self.kinds):
            row = score_class(hits[number], true[number], claimed[number])
            ends = Counter(each.outcome for found in self.found for each in found if each.kind == kind)
            table[kind] = row | {name: float(ends[name]) for name in KINDS}
        return table
