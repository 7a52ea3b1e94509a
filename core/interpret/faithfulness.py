"""Faithfulness of attribution methods to a run's model, measured on many sentences or on one.

Words are inserted or deleted in the order of their attributions and in random orders, pairs are deleted, the sentence
is paraphrased, and the weights are shuffled. `core.interpret.faithfulness_verdict` judges a method by these tests.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.evaluation.intervals import TAILS, draw_resamples
from core.exceptions import InputError
from core.interpret import attribution
from core.interpret.attribution import READ, ExplainedText
from core.interpret.explain_context import ExplainContext
from core.interpret.faithfulness_verdict import Belief, MethodMeasurements, Number, ProbabilityCurve
from core.interpret.perturbations import SEED, OnProgress, PerturbationCase, StepProgress, Trials, Values, compute_rho
from core.text.word_spans import find_word_spans

LEAST, MOST = 3, 60  # Words of a sentence: shorter ones have no order to test, longer ones are cut


class LabeledSentence(NamedTuple):
    """A sentence with the class indices of its true labels."""

    text: str
    labels: tuple[int, ...]


@dataclass(frozen=True)
class SentenceFaithfulness:
    """Faithfulness tests of one attribution method on one sentence; a test is None if it cannot be computed."""

    method: str
    target: str
    words: int
    tests: dict[str, float | None]  # `insertion`, `deletion` (None for method deletion), `pairs` and `stability`
    edits: tuple[str, ...]  # Rules by which the sentence was paraphrased
    completeness: float | None = None  # Completeness error, only for integrated gradients


def measure_methods(
    reader: ExplainContext,
    control: ExplainContext,
    sentences: Sequence[LabeledSentence],
    methods: Sequence[str],
    on_progress: OnProgress = lambda what, share: None,
) -> Belief:
    """Measure how faithful attribution methods are to a run's model, on sentences that it was not trained on.

    `control` is the model with shuffled weights. An exception of `on_progress` stops the work. Raises InputError if no
    sentence has three words, or a method does not fit the model.
    """
    for method in methods:
        attribution.check_method(method, reader.model.provides)
    parts = [(each, _read_part(reader, each.text)) for each in sentences]
    kept = [(each, text) for each, text in parts if len(find_word_spans(text)) >= LEAST]
    if not kept:
        raise InputError(f"of {len(sentences)} sentences none has {LEAST} words; in fewer there is no order to test")
    texts = [text for _, text in kept]
    targets = reader.predict(texts).probabilities.argmax(1)
    cases = [PerturbationCase.from_text(text, int(target)) for text, target in zip(texts, targets, strict=True)]
    weights = np.concatenate(list(draw_resamples(len(cases), SEED)))
    steps = StepProgress(on_progress, 3 + 5 * len(methods))
    own, other = Trials(reader, cases, steps), Trials(control, cases, steps, ", weights shuffled")
    pushes = {method: own.compute_attributions(method, cases, method) for method in methods}
    pairs = own.test_pairs(list(pushes.values()), [method not in READ for method in methods])
    edited, found = own.find_paraphrases(), list[MethodMeasurements]()
    for (method, each), paired in zip(pushes.items(), pairs, strict=True):
        along = own.test_orders(method, each)
        randomized = other.compute_attributions(method, cases, method)
        tests = along.tests | {"pairs": paired, "stability": own.measure_stability(method, each, edited)}
        tests["control"] = np.array([compute_rho(abs(a), abs(b)) for a, b in zip(each, randomized, strict=True)])
        found.append(
            MethodMeasurements(
                method=method,
                tests=_bootstrap_means(tests, weights),
                areas=_bootstrap_means(along.areas, weights),
                control=_bootstrap_means(other.test_orders(method, randomized).tests, weights),
                curves={name: _bootstrap_curve(curve, weights) for name, curve in along.curves.items()},
                agreement=_bootstrap_means(_compute_agreements(method, pushes), weights),
            )
        )
    labels = [each.labels for each, _ in kept]
    beyond = _compute_kappa(targets, labels, len(reader.classes), weights)
    cut = sum(text != each.text for each, text in kept)
    return Belief(len(cases), len(sentences) - len(cases), cut, beyond, tuple(found))


def measure_sentence(reader: ExplainContext, text: str, method: str, target: str = "") -> SentenceFaithfulness:
    """Measure an attribution method's faithfulness on one sentence, for the named or the most probable class.

    Raises InputError for an unknown method or class, or a method that does not fit the model.
    """
    attribution.check_method(method, reader.model.provides)
    reader.check_class(target)
    case = PerturbationCase.from_text(_read_part(reader, text), reader.find_class(target, reader.predict([text])))
    words, named = len(case.words), reader.classes[case.target]
    if words < LEAST:
        untested = dict.fromkeys(("insertion", "deletion", "pairs", "stability"))
        return SentenceFaithfulness(method, named, words, untested, ())
    trials = Trials(reader, [case], StepProgress(lambda what, share: None, 1))
    pushes = trials.compute_attributions(method, [case], "")
    edited = trials.find_paraphrases()
    tests = {"deletion": np.array([np.nan])} | trials.test_orders(method, pushes).tests
    tests["pairs"] = trials.test_pairs([pushes], [method not in READ])[0]
    tests["stability"] = trials.measure_stability(method, pushes, edited)
    whole = None
    if method == "integrated":
        whole = ExplainedText(reader, case.text, named).attribute_by(method).completeness
    said = {name: None if np.isnan(each[0]) else float(each[0]) for name, each in tests.items()}
    edits = tuple(each.edit for _, each in edited)
    return SentenceFaithfulness(method, named, words, said, edits, whole.error if whole else None)


def _read_part(reader: ExplainContext, text: str) -> str:
    """Return the first words of a text, up to a maximum number, without words that the model truncates."""
    words = find_word_spans(text)
    return reader.read_part(text if len(words) <= MOST else text[: words[MOST - 1][1]])


def _compute_agreements(method: str, pushes: Mapping[str, Sequence[np.ndarray]]) -> Values:
    found = {}
    for other in [name for name in pushes if name != method]:
        sizes = method in READ or other in READ
        pairs = zip(pushes[method], pushes[other], strict=True)
        found[other] = np.array([compute_rho(abs(a), abs(b)) if sizes else compute_rho(a, b) for a, b in pairs])
    return found


def _bootstrap_means(values: Values, weights: np.ndarray) -> dict[str, Number]:
    """Return each test's mean over the sentences that have a value, with bootstrap intervals."""
    found = {}
    for name, each in values.items():
        there = ~np.isnan(each)
        if there.any():
            drawn = weights[:, there]
            with np.errstate(invalid="ignore"):
                low, high = np.nanpercentile(drawn @ each[there] / drawn.sum(1), TAILS)
            found[name] = Number(float(each[there].mean()), float(low), float(high), int(there.sum()))
    return found


def _bootstrap_curve(values: np.ndarray, weights: np.ndarray) -> ProbabilityCurve:
    low, high = np.percentile(weights @ values / weights.sum(1, keepdims=True), TAILS, axis=0)
    found = (tuple(np.clip(each, 0, 1).tolist()) for each in (values.mean(0), low, high))
    return ProbabilityCurve(*found)


def _compute_kappa(said: np.ndarray, labels: Sequence[tuple[int, ...]], classes: int, weights: np.ndarray) -> Number:
    """Compute Cohen's kappa of predicted and true classes; multi-label: of whether the top class is a true one."""
    answers = np.eye(classes)[said]
    true = np.array([np.isin(np.arange(classes), each) for each in labels], float)

    def weigh_kappa(weight: np.ndarray) -> np.ndarray:
        """Return Cohen's kappa for each row of bootstrap weights over the sentences."""
        n = weight.sum(1)
        right = weight @ (answers * true).sum(1) / n
        chance = ((weight @ answers) * (weight @ true)).sum(1) / n**2
        return (right - chance) / np.maximum(1 - chance, 1e-9)

    low, high = np.percentile(weigh_kappa(weights), TAILS)
    return Number(float(weigh_kappa(np.ones((1, len(said))))[0]), float(low), float(high), len(said))
