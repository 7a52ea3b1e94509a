"""Attribution of a prediction to the words of a text: by deletion, Shapley values, gradients and attention.

Deleting a word removes its characters and the double space; the text is then read again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple, cast

import numpy as np
from torch import Tensor

from core.evaluation.inference import Predictions
from core.exceptions import InputError
from core.formatting import count
from core.interpret import attribution_math
from core.interpret.attribution_math import RankTest, TopWords, compare_ranks, compute_log_odds, find_top_words
from core.interpret.explain_context import ExplainContext
from core.interpret.gradients import REFERENCE, Asked, Embeds, compute_input_gradient, integrate_gradients
from core.interpret.sentence_inspection import SentenceView
from core.interpret.split_attention import estimate_means
from core.interpret.trace_summary import average_attention
from core.models.trace import Batch, Intervention
from core.text.special_ids import UNKNOWN
from core.text.token_table import to_batch
from core.text.word_spans import Span, compute_shares, find_word_spans, remove_words
from core.text.words import is_bare_mark, split_words

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
    """A text with its word attributions by each method, each computed at most once, of the first `MOST_WORDS` words.

    `said` are predictions of the text and of the text without each of its words, if known.
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
            """Return the log-odds of the text without the words that each row leaves out."""
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
            self.reader.tell(method, None)
            return target(logits)

        return cast(Embeds, reader.model), Batch.from_arrays(to_batch(self.encoding)), report_target, reader.intervene

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


METHODS = {
    "deletion": ("", "log-odds with the word minus without it"),
    "shapley": ("", "what the word adds to those before it, mean over the orders in which words can come"),
    "gradient": ("embedding", "gradient of the log-odds times the vector of the word"),
    "integrated": ("embedding", "the same, integrated on the path from vectors of zeros to the text"),
    "attention": ("maps", "how much the word is read in the last layer, mean over heads and readers"),
    "collapse": ("maps", "the same in the first layer (7ess-Xin, figures 6 and 7)"),
}  # Method → (needed model capability, meaning of a word's number); see `core.models.capabilities`
LACKING = {"embedding": "reads no vectors of words", "maps": "has no attention"}
COMPARED = ("deletion", "attention")  # Every method is compared with these
MIXED = "TF-IDF is mixed into the answer: deletion and shapley are of both, the other methods of the network alone."
QUICK = ("deletion", "attention", "collapse", "gradient", "integrated")  # The quickest first
SLOW = ("shapley",)  # Needs thousands of predictions


@dataclass(frozen=True)
class WordAttribution:
    """A word of the typed text with its attribution to the log-odds of a class."""

    word: str
    start: int
    end: int
    push: float
    error: float | None = None  # Standard error, for a method that samples


@dataclass(frozen=True)
class Explanation:
    """The attributions of a text's words to the log-odds of a class, by one method."""

    text: str
    method: str
    target: str
    probabilities: dict[str, float]  # By class name, in label order
    log_odds: float
    words: tuple[WordAttribution, ...]
    completeness: Completeness | None  # None for a method without this property
    agreement: dict[str, float | None]
    """Other method of `COMPARED` → Spearman's rho over the words that are read, or over absolute values if one of the
    two methods is unsigned. None: fewer than three words, equal values, or no attention."""
    note: str  # Notes for the reader; empty if there are none
    tests: dict[str, RankTest] = field(default_factory=dict)  # Method of `COMPARED` → test, if available

    @property
    def pushes(self) -> np.ndarray:
        """Return the attributions of all words as an array, (words,)."""
        return np.array([word.push for word in self.words], np.float64)


@dataclass(frozen=True)
class Methods:
    """The attributions of a text's words to the log-odds of a class, by several methods."""

    by: dict[str, Explanation]  # Method → explanation; all with the same words, target and log-odds
    agreement: dict[tuple[str, str], float | None]  # Spearman's rho of each pair; see `Explanation.agreement`
    left_out: dict[str, str]  # Other method → why it is not available
    note: str  # Notes for the reader; empty if there are none
    tests: dict[tuple[str, str], RankTest] = field(default_factory=dict)  # Pair → test whether the methods agree

    @property
    def most(self) -> TopWords | None:
        """Return the indices of the most attended word and that of largest deletion effect; None if not computed."""
        if "attention" not in self.by or "deletion" not in self.by:
            return None
        return find_top_words(self.by["attention"].pushes, self.by["deletion"].pushes)


def explain_text(reader: ExplainContext, text: str, method: str = "deletion", target: str = "") -> Explanation:
    """Return the attribution of each word to a class's log-odds, and its agreement with deletion and attention.

    An empty target is the most probable class. InputError: an unknown or unfit method, class or intervention.
    """
    check_method(method, reader.model.provides)
    return _build_explanation(ExplainedText(reader, text, target), method)


def explain_by_methods(
    reader: ExplainContext, text: str, target: str = "", named: Sequence[str] = (), said: Predictions | None = None
) -> Iterator[Methods]:
    """Yield a text's word attributions, each step with one more suitable or given method; see `ExplainedText`."""
    reader.tell("deletion", None)
    reading = ExplainedText(reader, text, target, said)
    found: dict[str, Explanation] = {}
    tests: dict[tuple[str, str], RankTest] = {}
    unfit = _find_unfit_methods(reader.model.provides)
    left_out = {name: f"this model {LACKING[needs]}" for name, needs in unfit.items()}
    if "maps" in reader.model.provides and reading.view.too_long:
        left_out |= {name: "the text is too long for maps of all pairs" for name in ("attention", "collapse")}
    mixed = "" if reader.mix_weight is None else MIXED
    note = " ".join(filter(None, (reading.note, mixed)))
    for method in [name for name in (*QUICK, *SLOW) if name not in left_out and (not named or name in named)]:
        reader.tell(method, None)
        found[method] = _build_explanation(reading, method)
        there = [name for name in METHODS if name in found]
        tests = {pair: tests.get(pair) or reading.compare_methods(*pair) for pair in combinations(there, 2)}
        agreement = {pair: test.rho for pair, test in tests.items()}
        yield Methods({name: found[name] for name in there}, agreement, left_out, note, tests)


def _build_explanation(reading: ExplainedText, method: str) -> Explanation:
    found, text, reader = reading.attribute_by(method), reading.text, reading.reader
    maps = "maps" in reader.model.provides and not reading.view.too_long
    others = [name for name in COMPARED if name != method and (maps or name == "deletion")]
    network = reader.mix_weight is not None and METHODS[method][0]
    mixed = f"TF-IDF is mixed into the answer: {method} is of the network alone, deletion and shapley of both."
    tests = {name: reading.compare_methods(method, name) for name in others}
    errors = [None] * len(reading.words) if found.errors is None else map(float, found.errors)
    rows = zip(reading.words, found.pushes, errors, strict=True)
    words = tuple(WordAttribution(text[at:end], at, end, float(push), error) for (at, end), push, error in rows)
    agreement = {name: tests[name].rho if name in tests else None for name in COMPARED if name != method}
    note = " ".join(filter(None, (reading.note, mixed if network else "")))
    answer = reader.classes[reading.target], reader.name_probabilities(reading.said), float(reading.odds[0])
    return Explanation(text, method, *answer, words, found.completeness, agreement, note, tests)


def list_methods(provides: frozenset[str]) -> list[str]:
    """Return the names of the attribution methods that can explain a model with the given capabilities."""
    lacking = _find_unfit_methods(provides)
    return [name for name in METHODS if name not in lacking]


def _find_unfit_methods(provides: frozenset[str]) -> dict[str, str]:
    """Return the missing capability for each attribution method that does not fit a model, as method → capability."""
    return {name: needs for name, (needs, _) in METHODS.items() if needs and needs not in provides}


def check_method(method: str, provides: frozenset[str]) -> None:
    """Refuse an attribution method that is unknown or does not fit the model; the InputError lists the others."""
    if method not in METHODS:
        raise InputError(f"method '{method:.80}': one of {', '.join(METHODS)}")
    if needs := _find_unfit_methods(provides).get(method):
        others = " or ".join(list_methods(provides))
        raise InputError(f"method '{method}': this model {LACKING[needs]}; choose {others}")


BATCH = 2048  # Texts in a batch, including their versions without a word, after which a new batch starts


@dataclass(frozen=True)
class DeletionAttribution:
    """The words of one text with their attributions by deletion (loss of log-odds without each word)."""

    target: str  # The class whose log-odds are explained
    words: tuple[str, ...]
    pushes: tuple[float, ...]  # Loss of log-odds without each word
    unknown: tuple[bool, ...]  # Whether a part of the word is not in the vocabulary


def attribute_texts(reader: ExplainContext, texts: Sequence[str], targets: Sequence[str]) -> list[DeletionAttribution]:
    """Return deletion attributions of n texts' words to given or predicted classes; InputError for an unknown class."""
    bare = "embedding" not in reader.model.provides  # TF-IDF has no token for unknown words
    found = []
    for reading in iterate_texts(reader, texts, targets):
        belongs = compute_shares(reading.text, reading.words, reading.encoding.offsets, reader.tokenizer.config)
        strange = np.array([token == UNKNOWN for token in reading.encoding.ids], bool)
        unknown = [bool(row[strange].any()) or (bare and not row.any()) for row in belongs]
        words = tuple(reading.text[start:end] for start, end in reading.words)
        pushes = tuple(map(float, reading.attribute_by("deletion").pushes))
        found.append(DeletionAttribution(reader.classes[reading.target], words, pushes, tuple(unknown)))
    return found


def iterate_texts(reader: ExplainContext, texts: Sequence[str], targets: Sequence[str] = ()) -> Iterator[ExplainedText]:
    """Yield each text, ready for deletion attribution: with the model's predictions without each single word."""
    wanted = iter(targets or [""] * len(texts))
    for part in _split_batches(texts):
        gone = [list_deletions(select_words(text)) for text in part]
        left = [reader.delete_words(text, each) for text, each in zip(part, gone, strict=True)]
        whole = [remove_words(text, each) for text, one in zip(part, gone, strict=True) for each in one]
        said, start = reader.predict_texts([each for one in left for each in one], None, whole), 0
        for text, one in zip(part, left, strict=True):
            yield ExplainedText(reader, text, next(wanted), said=said.select_rows(slice(start, start + len(one))))
            start += len(one)


def _split_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    part, number = list[str](), 0
    for text in texts:
        part.append(text)
        number += 1 + len(select_words(text))
        if number >= BATCH:
            yield part
            part, number = [], 0
    if part:
        yield part


LEAST = 5  # texts that have a listed word
PORTION = 16  # texts between two progress reports


def measure_words(
    reader: ExplainContext, texts: Sequence[str], tell: Callable[[str, float | None], None] = lambda what, share: None
) -> list[dict[str, Any]]:
    """Measure the mean effect of deleting each word over texts, on the log-odds of each class.

    The effect of a word in a text is the loss of log-odds without it, the mean over its occurrences. Capitals are
    ignored; marks and words of fewer than `LEAST` texts are left out.

    Returns:
        Rows, for each class from the largest effect to the smallest: `class`, `word`, `texts` with it, `value` (mean
        over them) and its 95 % `interval` (percentile bootstrap over them).
    """
    found: dict[str, list[np.ndarray]] = defaultdict(list)  # word → effects (C,) of each text
    for start in range(0, len(texts), PORTION):
        tell("deleting one word at a time", start / len(texts))
        for reading in iterate_texts(reader, texts[start : start + PORTION]):
            chances, own = reading.said.probabilities, defaultdict[str, list[np.ndarray]](list)
            odds = np.stack([compute_log_odds(chances, at, reader.task) for at in range(len(reader.classes))], 1)
            for (first, end), effect in zip(reading.words, odds[0] - odds[1:], strict=True):
                own[reading.text[first:end].lower()].append(effect)
            for word, effects in own.items():
                found[word].append(np.mean(effects, 0))
    rows = []
    for word, each in found.items():
        if len(each) >= LEAST and len(split_words(word)) == 1 and not is_bare_mark(word):
            means = estimate_means(np.stack(each))
            about = {"word": word, "texts": len(each)}
            rows += [{"class": name, **about, **means.describe(at)} for at, name in enumerate(reader.classes)]
    place = {name: at for at, name in enumerate(reader.classes)}
    return sorted(rows, key=lambda row: (place[row["class"]], -row["value"], row["word"]))
