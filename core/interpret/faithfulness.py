"""Faithfulness of attribution methods to a run's model, measured on many sentences or on one.

Words are inserted or deleted in the order of their attributions and in random orders, pairs are deleted, the sentence
is paraphrased, and the weights are shuffled. `core.interpret.faithfulness_verdict` judges a method by these tests.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from core.evaluation.intervals import TAILS, draw_resamples
from core.exceptions import InputError
from core.interpret import attribution, attribution_math
from core.interpret.attribution import READ, ExplainedText
from core.interpret.explain_context import ExplainContext
from core.interpret.faithfulness_verdict import DELETES, POINTS, Belief, MethodMeasurements, Number, ProbabilityCurve
from core.text.tokenizer import Tokenizer
from core.text.word_spans import Span, find_word_spans, match_case, remove_words

_NOT = ("do", "does", "did", "is", "are", "was", "were", "would", "could", "should", "have", "has", "had")
_SHORT = {f"{verb} not": f"{verb}n't" for verb in _NOT} | {
    "cannot": "can't",
    "will not": "won't",
    "I am": "I'm",
    "you are": "you're",
    "we are": "we're",
    "they are": "they're",
    "it is": "it's",
    "that is": "that's",
    "there is": "there's",
}
_LONG = {short: long for long, short in _SHORT.items() if not short.endswith("'s")}
"""Without `it's` and others, which may also mean `it has`."""


class Paraphrase(NamedTuple):
    """A paraphrase of a sentence, with the word indices that both have in common."""

    edit: str
    text: str
    shared: tuple[tuple[int, int], ...]  # (word index in the sentence, word index in the paraphrase)


def change_contractions(text: str) -> str:
    """Replace phrases of a text by contractions (`do not` → `don't`); if there are none, expand contractions."""
    return short if (short := replace_phrases(text, _SHORT)) != text else replace_phrases(text, _LONG)


def add_frame(text: str) -> str:
    """Add `I think that` before a text, as a paraphrase; a question stays unchanged."""
    if not text[:1].isalpha() or text.rstrip().endswith("?"):
        return text
    first = text.split(None, 1)[0]
    kept = first == "I" or first.startswith(("I'", "I’")) or any(map(str.isupper, first[1:]))
    return f"I think that {text if kept else text[:1].lower() + text[1:]}"


def toggle_full_stop(text: str) -> str:
    """Remove the final full stop of a text, or add one if it ends without a punctuation mark."""
    bare = text.rstrip()
    if bare.endswith(".") and not bare.endswith(".."):
        return bare[:-1].rstrip()
    return f"{bare}." if bare[-1:].isalnum() else text


EDITS: dict[str, Callable[[str], str]] = {
    "contraction": change_contractions,
    "frame": add_frame,
    "full stop": toggle_full_stop,
    "lower case": str.lower,
}


def iterate_paraphrases(text: str) -> Iterator[Paraphrase]:
    """Yield a paraphrase of a text for each rewriting rule that changes it, such as contractions."""
    before = _list_words(text)
    for name, edit in EDITS.items():
        if (changed := edit(text)) != text:
            blocks = SequenceMatcher(None, before, _list_words(changed), autojunk=False).get_matching_blocks()
            yield Paraphrase(name, changed, tuple((one + k, two + k) for one, two, size in blocks for k in range(size)))


def _list_words(text: str) -> list[str]:
    return [text[start:end].casefold() for start, end in find_word_spans(text)]


def replace_phrases(text: str, by: dict[str, str]) -> str:
    """Replace whole words or phrases of a text, ignoring case; a replacement gets the capitals of what it replaces."""
    pattern = r"\b(?:" + "|".join(sorted(map(re.escape, by), key=len, reverse=True)) + r")\b"
    known = {old.lower(): new for old, new in by.items()}
    return re.sub(pattern, lambda found: match_case(known[found[0].lower()], found[0]), text, flags=re.IGNORECASE)


STEPS = POINTS - 1  # Steps of a curve, fewer for a text with fewer words
SHARES = np.linspace(0, 1, POINTS)  # Shares of words at which curves of different texts are averaged


def count_steps(words: int) -> np.ndarray:
    """Return the numbers of words, from 0 to all, at which an insertion curve is evaluated."""
    return np.round(np.linspace(0, words, min(words, STEPS) + 1)).astype(np.int64)


def order_words(pushes: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return word indices by falling attribution, (W,); words with equal attribution are in random order."""
    return np.lexsort((random.permutation(len(pushes)), -np.round(pushes, attribution_math.DIGITS)))


def insert_words(text: str, words: Sequence[Span], order: np.ndarray) -> list[str]:
    """Return texts that keep only the first words of a given order, from none to all, at their original positions."""
    return [remove_words(text, [words[place] for place in order[count:]]) for count in count_steps(len(words))]


def compute_area(values: np.ndarray, words: int) -> np.ndarray:
    """Compute the area under insertion or deletion curves, as mean height over the share of words."""
    steps = np.diff(count_steps(words)) / words
    return ((values[..., 1:] + values[..., :-1]) / 2 * steps).sum(-1)


def interpolate_curve(values: np.ndarray, words: int) -> np.ndarray:
    """Interpolate an insertion curve linearly at fixed shares of words, which all sentences have in common."""
    return np.interp(SHARES, count_steps(words) / words, values)


def compute_beaten_share(own: float, others: np.ndarray) -> float:
    """Return the share of random word orders with a smaller area than an attribution's order; ties count half."""
    return float((np.sign(np.round(own - others, attribution_math.DIGITS)) / 2 + 0.5).mean())


RANDOM, PAIRS = 20, 15  # Random orders and pairs of words of each sentence
ORDERS = 20  # Orders for Shapley values: a tenth of those for a single sentence, to save time
SEED = 0
SLAB = 2048  # Texts predicted between two progress reports

OnProgress = Callable[[str, float], None]  # Receives the current step and the share done
Values = dict[str, np.ndarray]  # Name → (n,) values of the sentences, NaN if undefined


class PerturbationCase(NamedTuple):
    """A sentence to perturb, its words, and the index of the class whose log-odds are explained."""

    text: str
    words: tuple[Span, ...]
    target: int

    @classmethod
    def from_text(cls, text: str, target: int) -> "PerturbationCase":
        """Create a perturbation-test case from a typed text and a class index."""
        return cls(text, tuple(find_word_spans(text)), target)


class StepProgress:
    """A progress counter over steps of equal weight."""

    def __init__(self, tell: OnProgress, all_: int) -> None:
        self._tell, self._all, self._done = tell, all_, 0

    def iterate_parts(self, what: str, parts: int) -> Iterator[int]:
        """Yield the indices of the parts of the next step, reporting progress for each."""
        for part in range(parts):
            self._tell(what, min(1.0, (self._done + part / parts) / self._all))
            yield part
        self._done += 1


class OrderResults(NamedTuple):
    """Results of inserting and deleting words in the order of one attribution method: areas, scores and curves."""

    tests: Values  # `insertion` and `deletion`: share of random orders that the method beats
    areas: Values  # `insertion`, `deletion` and `random`
    curves: dict[str, np.ndarray]  # (n, 11) of the same; `random` inserts words


class Trials:
    """The perturbation tests of one model's attributions on some sentences."""

    def __init__(
        self, reader: ExplainContext, cases: Sequence[PerturbationCase], steps: StepProgress, of: str = ""
    ) -> None:
        self.reader, self.cases, self._steps, self._of = reader, cases, steps, of

    def compute_attributions(self, method: str, cases: Sequence[PerturbationCase], what: str) -> list[np.ndarray]:
        """Return word attributions (W,) of each sentence; absolute values for attention methods, which have no sign."""
        if method == DELETES:
            asked = [[case.text, *(remove_words(case.text, [word]) for word in case.words)] for case in cases]
            return [odds[0] - odds[1:] for odds in self._predict_log_odds(asked, cases, what)]
        ask = self._compute_shapley if method == "shapley" else functools.partial(self._attribute_case, method)
        return [ask(cases[number]) for number in self._steps.iterate_parts(f"{what}{self._of}", len(cases))]

    def test_orders(self, method: str, pushes: Sequence[np.ndarray]) -> OrderResults:
        """Run the insertion and deletion tests: words are added or removed in the order of their attributions."""
        random = np.random.default_rng(SEED)
        orders = [order_words(each, random) for each in pushes]
        ways = {"insertion": 1} if method == DELETES else {"insertion": 1, "deletion": -1}
        what = f"words in the order of {method}"
        tests, areas, curves = (defaultdict[str, list](list) for _ in range(3))
        asked = [
            [text for way in ways.values() for text in insert_words(case.text, case.words, order[::way])]
            for case, order in zip(self.cases, orders, strict=True)
        ]
        chances = self._predict_target(asked, self.cases, what)
        for case, found, baseline in zip(self.cases, chances, self._random, strict=True):
            words, others = len(case.words), compute_area(baseline, len(case.words))
            for (name, way), curve in zip(ways.items(), found.reshape(len(ways), -1), strict=True):
                own = float(compute_area(curve, words))
                tests[name].append(compute_beaten_share(own * way, others * way))
                areas[name].append(own)
                curves[name].append(interpolate_curve(curve, words)[::way])
            areas["random"].append(float(others.mean()))
            curves["random"].append(interpolate_curve(baseline.mean(0), words))
        return OrderResults(_to_arrays(tests), _to_arrays(areas), _to_arrays(curves))

    def test_pairs(self, pushes: Sequence[Sequence[np.ndarray]], sided: Sequence[bool]) -> list[np.ndarray]:
        """Return each method's rank correlations of word-pair deletion effects with the pairs' summed attributions."""
        random = np.random.default_rng(SEED)
        pairs = [_draw_pairs(len(case.words), random) for case in self.cases]
        asked = [
            [case.text, *(remove_words(case.text, [case.words[one], case.words[two]]) for one, two in drawn)]
            for case, drawn in zip(self.cases, pairs, strict=True)
        ]
        effects = [odds[0] - odds[1:] for odds in self._predict_log_odds(asked, self.cases, "two words at a time")]
        found = []
        for own, side in zip(pushes, sided, strict=True):
            sums = [each[drawn].sum(1) for each, drawn in zip(own, pairs, strict=True)]
            changes = [effect if side else abs(effect) for effect in effects]
            found.append(np.array(list(map(compute_rho, sums, changes))))
        return found

    def find_paraphrases(self) -> list[tuple[int, Paraphrase]]:
        """Return (sentence index, paraphrase) for paraphrases that change the model's input."""
        tokenizer = self.reader.tokenizer
        return [
            (number, each)
            for number, case in enumerate(self.cases)
            for each in iterate_paraphrases(case.text)
            if _encode_text(tokenizer, each.text) != _encode_text(tokenizer, case.text)
        ]

    def measure_stability(
        self, method: str, pushes: Sequence[np.ndarray], edited: Sequence[tuple[int, Paraphrase]]
    ) -> np.ndarray:
        """Return (n,) mean rank correlations of word attributions in a sentence with those in its paraphrases."""
        cases = [PerturbationCase.from_text(each.text, self.cases[number].target) for number, each in edited]
        found: list[list[float]] = [[] for _ in self.cases]
        after = self.compute_attributions(method, cases, f"{method}, said otherwise")
        for (number, each), own in zip(edited, after, strict=True):
            places = np.array(each.shared, np.int64).reshape(-1, 2)
            found[number].append(compute_rho(pushes[number][places[:, 0]], own[places[:, 1]]))
        known = [[value for value in each if not np.isnan(value)] for each in found]
        return np.array([np.mean(each) if each else np.nan for each in known], float)

    @functools.cached_property
    def _random(self) -> list[np.ndarray]:
        """Return each sentence's target probabilities as words are inserted in several random orders."""
        random = np.random.default_rng(SEED)
        asked = []
        for case in self.cases:
            orders = [random.permutation(len(case.words)) for _ in range(RANDOM)]
            asked.append([text for order in orders for text in insert_words(case.text, case.words, order)])
        return [each.reshape(RANDOM, -1) for each in self._predict_target(asked, self.cases, "words in random orders")]

    def _attribute_case(self, method: str, case: PerturbationCase) -> np.ndarray:
        pushes = ExplainedText(self.reader, case.text, self.reader.classes[case.target]).attribute_by(method).pushes
        return np.abs(pushes) if method in READ else pushes

    def _compute_shapley(self, case: PerturbationCase) -> np.ndarray:
        def predict_subsets(there: np.ndarray) -> np.ndarray:
            """Return the log-odds of the text without the words that each row leaves out."""
            gone = ([word for word, stays in zip(case.words, row, strict=True) if not stays] for row in there)
            said = self.reader.predict([remove_words(case.text, words) for words in gone])
            return attribution_math.compute_log_odds(said.probabilities, case.target, self.reader.task)

        return attribution_math.compute_shapley(predict_subsets, len(case.words), ORDERS, SEED).pushes

    def _predict_log_odds(
        self, asked: Sequence[Sequence[str]], cases: Sequence[PerturbationCase], what: str
    ) -> list[np.ndarray]:
        task = self.reader.task
        said = zip(self._predict_texts(asked, what), cases, strict=True)
        return [attribution_math.compute_log_odds(each, case.target, task) for each, case in said]

    def _predict_target(
        self, asked: Sequence[Sequence[str]], cases: Sequence[PerturbationCase], what: str
    ) -> list[np.ndarray]:
        said = zip(self._predict_texts(asked, what), cases, strict=True)
        return [each[:, case.target].astype(np.float64) for each, case in said]

    def _predict_texts(self, asked: Sequence[Sequence[str]], what: str) -> list[np.ndarray]:
        """Return class probabilities (m, C) for each list of texts; repeated texts are predicted once."""
        texts = sorted(set(chain(*asked)), key=len)
        slabs = [texts[start : start + SLAB] for start in range(0, len(texts), SLAB)]
        steps = self._steps.iterate_parts(f"{what}{self._of}", len(slabs))
        found = [self.reader.predict(slabs[number]).probabilities for number in steps]
        places = {text: place for place, text in enumerate(texts)}
        every = np.concatenate(found) if found else np.zeros((0, len(self.reader.classes)))
        return [every[[places[text] for text in each]] for each in asked]


def compute_rho(first: np.ndarray, second: np.ndarray) -> float:
    """Return Spearman's rank correlation of two lists of attributions, or NaN if it is undefined."""
    found = attribution_math.compute_agreement(first, second)
    return float("nan") if found is None else found


def _draw_pairs(words: int, random: np.random.Generator) -> np.ndarray:
    every = np.array(list(combinations(range(words), 2)), np.int64).reshape(-1, 2)
    return every if len(every) <= PAIRS else every[np.sort(random.choice(len(every), PAIRS, replace=False))]


def _encode_text(tokenizer: Tokenizer, text: str) -> tuple[object, ...]:
    """Return the model's input for a text, to compare texts: token ids, tags, polarities and character n-grams."""
    found = tokenizer.encode(text)
    return found.ids, found.tags, found.polarity, found.grams


def _to_arrays(lists: dict[str, list]) -> dict[str, np.ndarray]:
    return {name: np.array(each) for name, each in lists.items()}


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
    """Measure how faithful methods are to a run's model on sentences that it was not trained on.

    `control` has shuffled weights. InputError: no sentence of three words, or an unfit method.
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
    beyond = _compute_kappa(targets, [each.labels for each, _ in kept], len(reader.classes), weights)
    cut = sum(text != each.text for each, text in kept)
    return Belief(len(cases), len(sentences) - len(cases), cut, beyond, tuple(found))


def measure_sentence(reader: ExplainContext, text: str, method: str, target: str = "") -> SentenceFaithfulness:
    """Measure a method's faithfulness on a sentence, for the named or most probable class; InputError: does not fit."""
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
    return ProbabilityCurve(*(tuple(np.clip(each, 0, 1).tolist()) for each in (values.mean(0), low, high)))


def _compute_kappa(said: np.ndarray, labels: Sequence[tuple[int, ...]], classes: int, weights: np.ndarray) -> Number:
    """Compute Cohen's kappa of predicted and true classes; multi-label: of whether the top class is a true one."""
    answers = np.eye(classes)[said]
    true = np.array([np.isin(np.arange(classes), each) for each in labels], float)

    def weigh_kappa(weight: np.ndarray) -> np.ndarray:
        n = weight.sum(1)
        right = weight @ (answers * true).sum(1) / n
        chance = ((weight @ answers) * (weight @ true)).sum(1) / n**2
        return (right - chance) / np.maximum(1 - chance, 1e-9)

    low, high = np.percentile(weigh_kappa(weights), TAILS)
    return Number(float(weigh_kappa(np.ones((1, len(said))))[0]), float(low), float(high), len(said))
