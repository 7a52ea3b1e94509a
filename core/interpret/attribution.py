"""Attribution of a prediction to the words of a text: by deletion, Shapley values, gradients and attention.

Deleting a word removes its characters and the double space; the text is then read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from core.exceptions import InputError
from core.interpret.attribution_math import RankTest, TopWords, find_top_words
from core.interpret.explain_context import ExplainContext
from core.interpret.explained_text import Completeness, ExplainedText

METHODS = {
    "deletion": ("", "log-odds with the word minus without it"),
    "shapley": ("", "what the word adds to those before it, mean over the orders in which words can come"),
    "gradient": ("embedding", "gradient of the log-odds times the vector of the word"),
    "integrated": ("embedding", "the same, integrated on the path from vectors of zeros to the text"),
    "attention": ("maps", "how much the word is read in the last layer, mean over heads and readers"),
    "collapse": ("maps", "the same in the first layer (7ess-Xin, figures 6 and 7)"),
}
"""Method → (needed model capability, meaning of a word's number); see `core.models.capabilities`."""
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
    """Return the attribution of each word to the log-odds of a class, and its agreement with deletion and attention.

    The first `core.interpret.explained_text.MOST_WORDS` words of a long text are explained; an empty target is the
    class with the highest probability.

    Raises:
        InputError: an unknown method or class, a method or intervention that does not fit the model, or a text too long
            for attention maps.
    """
    check_method(method, reader.model.provides)
    return _build_explanation(ExplainedText(reader, text, target), method)


def explain_by_methods(
    reader: ExplainContext, text: str, target: str = "", named: Sequence[str] = ()
) -> Iterator[Methods]:
    """Yield a text's word attributions by more and more methods: each step adds one of the suitable or given ones.

    The other arguments are those of `explain_text`; the progress callback receives the name of each method.

    Raises:
        InputError: an unknown class, or an intervention that does not fit the model.
    """
    reader.tell("deletion", None)
    reading = ExplainedText(reader, text, target)
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
    return Explanation(
        text=text,
        method=method,
        target=reader.classes[reading.target],
        probabilities=reader.name_probabilities(reading.said),
        log_odds=float(reading.odds[0]),
        words=tuple(WordAttribution(text[at:end], at, end, float(push), error) for (at, end), push, error in rows),
        completeness=found.completeness,
        agreement={name: tests[name].rho if name in tests else None for name in COMPARED if name != method},
        note=" ".join(filter(None, (reading.note, mixed if network else ""))),
        tests=tests,
    )


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
