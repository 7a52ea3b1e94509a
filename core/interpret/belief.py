"""Faithfulness of a run's explanations, measured on many sentences or on one.

Words are inserted or deleted in the order of their attributions and in random orders, pairs are deleted, the sentence
is paraphrased, and the weights are shuffled. `core.interpret.verdict` knows which test counts for what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.evaluation.intervals import TAILS, resamples
from core.exceptions import InputError
from core.interpret import explain
from core.interpret.reader import Reader
from core.interpret.reading import READ, Reading
from core.interpret.trials import SEED, Case, OnProgress, Steps, Trials, Values, rho
from core.interpret.verdict import Belief, Curve, Measured, Number
from core.text.typed import typed_words

LEAST, MOST = 3, 60
"""Words of a sentence: of fewer no order can be told, of more the first so many are read."""


class Labelled(NamedTuple):
    """A sentence with the numbers of its true classes."""

    text: str
    labels: tuple[int, ...]


@dataclass(frozen=True)
class Own:
    """The tests of one method on one sentence, without intervals, control and verdict. None: too few words, or ties."""

    method: str
    target: str
    words: int
    tests: dict[str, float | None]  # `insertion`, `deletion` (None of itself), `pairs` and `stability`
    edits: tuple[str, ...]  # By which the sentence was said otherwise
    completeness: float | None = None  # Of integrated gradients: sum of the pushes less what they should add up to


def measure(
    reader: Reader,
    control: Reader,
    sentences: Sequence[Labelled],
    methods: Sequence[str],
    on_progress: OnProgress = lambda what, share: None,
) -> Belief:
    """Measure the faithfulness of methods of `core.interpret.explain.METHODS`, on sentences new to a run.

    `control` reads with the run's weights in random order. `on_progress` gets the progress; its exceptions end it.
    Raises InputError if no sentence has three words, or a method is for another kind of model.
    """
    for method in methods:
        explain.check(method, reader.model.provides)
    parts = [(each, _read_part(reader, each.text)) for each in sentences]
    kept = [(each, text) for each, text in parts if len(typed_words(text)) >= LEAST]
    if not kept:
        raise InputError(f"of {len(sentences)} sentences none has {LEAST} words; in fewer there is no order to test")
    texts = [text for _, text in kept]
    targets = reader.predict(texts).probabilities.argmax(1)
    cases = [Case.of(text, int(target)) for text, target in zip(texts, targets, strict=True)]
    weights = np.concatenate(list(resamples(len(cases), SEED)))
    steps = Steps(on_progress, 3 + 5 * len(methods))
    own, other = Trials(reader, cases, steps), Trials(control, cases, steps, ", weights shuffled")
    pushes = {method: own.pushes(method, cases, method) for method in methods}
    pairs = own.together(list(pushes.values()), [method not in READ for method in methods])
    edited, found = own.said_otherwise(), list[Measured]()
    for (method, each), paired in zip(pushes.items(), pairs, strict=True):
        along = own.ordered(method, each)
        randomised = other.pushes(method, cases, method)
        tests = along.tests | {"pairs": paired, "stability": own.stability(method, each, edited)}
        tests["control"] = np.array([rho(abs(a), abs(b)) for a, b in zip(each, randomised, strict=True)])
        found.append(
            Measured(
                method=method,
                tests=_numbers(tests, weights),
                areas=_numbers(along.areas, weights),
                control=_numbers(other.ordered(method, randomised).tests, weights),
                curves={name: _curve(curve, weights) for name, curve in along.curves.items()},
                agreement=_numbers(_agreements(method, pushes), weights),
            )
        )
    labels = [each.labels for each, _ in kept]
    beyond = _beyond_chance(targets, labels, len(reader.classes), weights)
    cut = sum(text != each.text for each, text in kept)
    return Belief(len(cases), len(sentences) - len(cases), cut, beyond, tuple(found))


def of_sentence(reader: Reader, text: str, method: str, target: str = "") -> Own:
    """Measure the faithfulness of a method on one sentence, for the named or the most probable class.

    Raises InputError for an unknown method or class, or a method for another kind of model.
    """
    explain.check(method, reader.model.provides)
    reader.check(target)
    case = Case.of(_read_part(reader, text), reader.place(target, reader.predict([text])))
    words, named = len(case.words), reader.classes[case.target]
    if words < LEAST:
        return Own(method, named, words, dict.fromkeys(("insertion", "deletion", "pairs", "stability")), ())
    trials = Trials(reader, [case], Steps(lambda what, share: None, 1))
    pushes = trials.pushes(method, [case], "")
    edited = trials.said_otherwise()
    tests = {"deletion": np.array([np.nan])} | trials.ordered(method, pushes).tests
    tests["pairs"] = trials.together([pushes], [method not in READ])[0]
    tests["stability"] = trials.stability(method, pushes, edited)
    whole = Reading(reader, case.text, named).by(method).completeness if method == "integrated" else None
    said = {name: None if np.isnan(each[0]) else float(each[0]) for name, each in tests.items()}
    edits = tuple(each.edit for _, each in edited)
    return Own(method, named, words, said, edits, whole.error if whole else None)


def _read_part(reader: Reader, text: str) -> str:
    """Return the first `MOST` words of a text, without what the model does not read."""
    words = typed_words(text)
    return reader.read_part(text if len(words) <= MOST else text[: words[MOST - 1][1]])


def _agreements(method: str, pushes: Mapping[str, Sequence[np.ndarray]]) -> Values:
    found = {}
    for other in [name for name in pushes if name != method]:
        sizes = method in READ or other in READ
        pairs = zip(pushes[method], pushes[other], strict=True)
        found[other] = np.array([rho(abs(a), abs(b)) if sizes else rho(a, b) for a, b in pairs])
    return found


def _numbers(values: Values, weights: np.ndarray) -> dict[str, Number]:
    """Return means over sentences with a value, with percentile bootstrap intervals; `weights` is (R, n)."""
    found = {}
    for name, each in values.items():
        there = ~np.isnan(each)
        if there.any():
            drawn = weights[:, there]
            with np.errstate(invalid="ignore"):
                low, high = np.nanpercentile(drawn @ each[there] / drawn.sum(1), TAILS)
            found[name] = Number(float(each[there].mean()), float(low), float(high), int(there.sum()))
    return found


def _curve(values: np.ndarray, weights: np.ndarray) -> Curve:
    low, high = np.percentile(weights @ values / weights.sum(1, keepdims=True), TAILS, axis=0)
    found = (tuple(np.clip(each, 0, 1).tolist()) for each in (values.mean(0), low, high))
    return Curve(*found)


def _beyond_chance(said: np.ndarray, labels: Sequence[tuple[int, ...]], classes: int, weights: np.ndarray) -> Number:
    """Compute Cohen's kappa of the most probable and the true class; with several labels, of being among them."""
    answers = np.eye(classes)[said]
    true = np.array([np.isin(np.arange(classes), each) for each in labels], float)

    def kappa(weight: np.ndarray) -> np.ndarray:
        """Return kappa for each row of weights."""
        n = weight.sum(1)
        right = weight @ (answers * true).sum(1) / n
        chance = ((weight @ answers) * (weight @ true)).sum(1) / n**2
        return (right - chance) / np.maximum(1 - chance, 1e-9)

    low, high = np.percentile(kappa(weights), TAILS)
    return Number(float(kappa(np.ones((1, len(said))))[0]), float(low), float(high), len(said))
