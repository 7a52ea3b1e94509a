"""What a run says while words of sentences come and go: asked for many sentences at once, batched by length."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from core.interpret import push
from core.interpret.curves import area, beaten, inserted, on_shares, order_of
from core.interpret.paraphrases import Paraphrase, paraphrases
from core.interpret.reader import Reader
from core.interpret.reading import READ, Reading
from core.interpret.verdict import DELETES
from core.text.tokenizer import Tokenizer
from core.text.typed import Span, typed_words, without

RANDOM, PAIRS = 20, 15
"""Random orders and pairs of words of each sentence."""
ORDERS = 20
"""Of Shapley values: a tenth of those of a sentence alone, so that 200 take no longer than they must."""
SEED = 0
SLAB = 2048
"""Texts between two words about progress."""

OnProgress = Callable[[str, float], None]
"""What is done now, and which share of all is done."""
Values = dict[str, np.ndarray]
"""By name (n,) of the sentences; NaN: has none."""


class Case(NamedTuple):
    """A sentence, its words, and the number of the class whose log-odds are pushed."""

    text: str
    words: tuple[Span, ...]
    target: int

    @classmethod
    def of(cls, text: str, target: int) -> Case:
        """With the words as typed."""
        return cls(text, tuple(typed_words(text)), target)


class Steps:
    """Turns steps of equal weight into a share of all."""

    def __init__(self, tell: OnProgress, all_: int) -> None:
        """`all_`: how many there will be."""
        self._tell, self._all, self._done = tell, all_, 0

    def over(self, what: str, parts: int) -> Iterator[int]:
        """Counts the parts of the next step and tells of each."""
        for part in range(parts):
            self._tell(what, min(1.0, (self._done + part / parts) / self._all))
            yield part
        self._done += 1


class Ordered(NamedTuple):
    """What the orders of one method come to."""

    tests: Values
    """`insertion` and `deletion`: share of random orders that are slower."""
    areas: Values
    """Of `insertion`, `deletion` and `random`."""
    curves: dict[str, np.ndarray]
    """(n, 11) of the same; that of `random` puts words back."""


class Trials:
    """One model, asked about sentences."""

    def __init__(self, reader: Reader, cases: Sequence[Case], steps: Steps, of: str = "") -> None:
        """`of`: what is said of the model in words about progress."""
        self.reader, self.cases, self._steps, self._of = reader, cases, steps, of

    def pushes(self, method: str, cases: Sequence[Case], what: str) -> list[np.ndarray]:
        """(W,) of each case; how much a word is read has no side, so what reads goes by size."""
        if method == DELETES:
            asked = [[case.text, *(without(case.text, [word]) for word in case.words)] for case in cases]
            return [odds[0] - odds[1:] for odds in self._odds(asked, cases, what)]
        steps = self._steps.over(f"{what}{self._of}", len(cases))
        ask = self._shapley if method == "shapley" else functools.partial(self._explained, method)
        return [ask(cases[number]) for number in steps]

    def ordered(self, method: str, pushes: Sequence[np.ndarray]) -> Ordered:
        """Words put back and taken out in the order of their pushes."""
        random = np.random.default_rng(SEED)
        orders = [order_of(each, random) for each in pushes]
        ways = {"insertion": 1} if method == DELETES else {"insertion": 1, "deletion": -1}
        what = f"words in the order of {method}"
        tests: dict[str, list[float]] = {name: [] for name in ways}
        areas: dict[str, list[float]] = {name: [] for name in (*ways, "random")}
        curves: dict[str, list[np.ndarray]] = {name: [] for name in (*ways, "random")}
        asked = [
            [text for way in ways.values() for text in inserted(case.text, case.words, order[::way])]
            for case, order in zip(self.cases, orders, strict=True)
        ]
        for case, found, baseline in zip(self.cases, self._chances(asked, self.cases, what), self._random, strict=True):
            words, others = len(case.words), area(baseline, len(case.words))
            for (name, way), curve in zip(ways.items(), found.reshape(len(ways), -1), strict=True):
                own = float(area(curve, words))
                tests[name].append(beaten(own * way, others * way))
                areas[name].append(own)
                curves[name].append(on_shares(curve, words)[::way])
            areas["random"].append(float(others.mean()))
            curves["random"].append(on_shares(baseline.mean(0), words))
        return Ordered(_arrays(tests), _arrays(areas), _arrays(curves))

    def together(self, pushes: Sequence[Sequence[np.ndarray]], sided: Sequence[bool]) -> list[np.ndarray]:
        """By method (n,): rank agreement of two words taken out together with the sum of their pushes."""
        random = np.random.default_rng(SEED)
        pairs = [_drawn(len(case.words), random) for case in self.cases]
        asked = [
            [case.text, *(without(case.text, [case.words[one], case.words[two]]) for one, two in drawn)]
            for case, drawn in zip(self.cases, pairs, strict=True)
        ]
        effects = [odds[0] - odds[1:] for odds in self._odds(asked, self.cases, "two words at a time")]
        return [
            np.array(
                [
                    rho(each[drawn].sum(1), effect if side else abs(effect))
                    for each, drawn, effect in zip(own, pairs, effects, strict=True)
                ]
            )
            for own, side in zip(pushes, sided, strict=True)
        ]

    def said_otherwise(self) -> list[tuple[int, Paraphrase]]:
        """(case, its paraphrase), those that the model reads as something else."""
        tokenizer = self.reader.tokenizer
        return [
            (number, each)
            for number, case in enumerate(self.cases)
            for each in paraphrases(case.text)
            if _read(tokenizer, each.text) != _read(tokenizer, case.text)
        ]

    def stability(
        self, method: str, pushes: Sequence[np.ndarray], edited: Sequence[tuple[int, Paraphrase]]
    ) -> np.ndarray:
        """(n,): rank agreement of the pushes of shared words before and after, mean over the edits of a sentence."""
        cases = [Case.of(each.text, self.cases[number].target) for number, each in edited]
        found: list[list[float]] = [[] for _ in self.cases]
        after = self.pushes(method, cases, f"{method}, said otherwise")
        for (number, each), own in zip(edited, after, strict=True):
            places = np.array(each.shared, np.int64).reshape(-1, 2)
            found[number].append(rho(pushes[number][places[:, 0]], own[places[:, 1]]))
        return np.array([_mean(each) for each in found])

    @functools.cached_property
    def _random(self) -> list[np.ndarray]:
        """(`RANDOM`, S + 1) of each case: words put back in random orders."""
        random = np.random.default_rng(SEED)
        asked = [
            list(chain(*(inserted(case.text, case.words, random.permutation(len(case.words))) for _ in range(RANDOM))))
            for case in self.cases
        ]
        return [each.reshape(RANDOM, -1) for each in self._chances(asked, self.cases, "words in random orders")]

    def _explained(self, method: str, case: Case) -> np.ndarray:
        pushes = Reading(self.reader, case.text, self.reader.classes[case.target]).by(method).pushes
        return np.abs(pushes) if method in READ else pushes

    def _shapley(self, case: Case) -> np.ndarray:
        def value(there: np.ndarray) -> np.ndarray:
            gone = ([word for word, stays in zip(case.words, row, strict=True) if not stays] for row in there)
            said = self.reader.predict([without(case.text, words) for words in gone])
            return push.log_odds(said.probabilities, case.target, self.reader.task)

        return push.shapley(value, len(case.words), ORDERS, SEED).pushes

    def _odds(self, asked: Sequence[Sequence[str]], cases: Sequence[Case], what: str) -> list[np.ndarray]:
        task = self.reader.task
        said = zip(self._said(asked, what), cases, strict=True)
        return [push.log_odds(each, case.target, task) for each, case in said]

    def _chances(self, asked: Sequence[Sequence[str]], cases: Sequence[Case], what: str) -> list[np.ndarray]:
        said = zip(self._said(asked, what), cases, strict=True)
        return [each[:, case.target].astype(np.float64) for each, case in said]

    def _said(self, asked: Sequence[Sequence[str]], what: str) -> list[np.ndarray]:
        """(m, C) of each list of texts; one that stands there twice is asked once."""
        texts = sorted(set(chain(*asked)), key=len)
        slabs = [texts[start : start + SLAB] for start in range(0, len(texts), SLAB)]
        steps = self._steps.over(f"{what}{self._of}", len(slabs))
        found = [self.reader.predict(slabs[number]).probabilities for number in steps]
        places = {text: place for place, text in enumerate(texts)}
        every = np.concatenate(found) if found else np.zeros((0, len(self.reader.classes)))
        return [every[[places[text] for text in each]] for each in asked]


def rho(first: np.ndarray, second: np.ndarray) -> float:
    """`push.agreement`; NaN where there is none."""
    found = push.agreement(first, second)
    return float("nan") if found is None else found


def _drawn(words: int, random: np.random.Generator) -> np.ndarray:
    """(m, 2): pairs of words, `PAIRS` at most."""
    every = np.array(list(combinations(range(words), 2)), np.int64).reshape(-1, 2)
    return every if len(every) <= PAIRS else every[np.sort(random.choice(len(every), PAIRS, replace=False))]


def _read(tokenizer: Tokenizer, text: str) -> tuple[object, ...]:
    """What a model sees of a text."""
    found = tokenizer.encode(text)
    return found.ids, found.tags, found.polarity, found.grams


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _arrays(lists: dict[str, list]) -> dict[str, np.ndarray]:
    return {name: np.array(each) for name, each in lists.items()}
