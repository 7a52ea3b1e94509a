"""Error tags from the wording of texts: patterns, word lists in some languages, and a sentiment lexicon."""

import functools
import re
from collections.abc import Sequence

import numpy as np

from core.behavioral_tests.suite import find_polarities
from core.data.sources import SOURCES
from core.error_analysis.predictions_table import PredictionTable
from core.exceptions import InputError, SentiscopeError
from core.text.lexicon import VADER, read_lexicon
from core.text.normalization import LINK
from core.text.pos_tags import LANGUAGES, NAMES, detect_language, list_by_language
from core.text.words import EMOJI

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LINK = re.compile(LINK, re.IGNORECASE)
SIGNS = {
    "question": re.compile("[?？؟]"),
    "elongation": re.compile(r"([^\W\d_])\1\1", re.IGNORECASE),
    "emoji": re.compile(rf"{EMOJI}|[\U0001f1e6-\U0001f1ff]"),
    "hashtag": re.compile(r"(?<!\w)#[^\W_]"),
}  # searched outside of links, in any language
_CASED = re.compile(r"(?<![\w@#$])[^\W\d_]{2,}(?!\w)")
"""Words that count if in capitals: no @names, #hashtags or $shares."""
NAMED = ("negation", "contrast", "intensifier")  # tags by word list
_TABLES = {name: list_by_language(name) for name in NAMED}


def find_signs(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return tag → (n,) bool: which texts have a question mark, elongation, emoji, hashtag or word in capitals."""
    plain = [_LINK.sub(" ", text) if "://" in text or "ww." in text.lower() else text for text in texts]
    found = {name: [pattern.search(text) is not None for text in plain] for name, pattern in SIGNS.items()}
    found["capitals"] = [any(word.isupper() for word in _CASED.findall(text)) for text in plain]
    return {name: np.array(has, bool) for name, has in found.items()}


def find_words(text: str) -> list[str]:
    """Return the words of a text in order, in lower case, with straight apostrophes."""
    return _WORD.findall(text.replace("’", "'").lower())


def collect_words(texts: Sequence[str]) -> list[set[str]]:
    """Return the distinct words of each text, in lower case, with straight apostrophes."""
    return [set(find_words(text)) for text in texts]


def match_words(name: str, found: Sequence[set[str]], language: str) -> np.ndarray:
    """Return (n,) bool: which texts, as word sets, contain a word of a tag such as negation, listed for a language."""
    listed = frozenset(_TABLES[name][language].split())
    if name == "negation" and language == "en":
        return np.array([not listed.isdisjoint(each) or any(w.endswith("n't") for w in each) for each in found], bool)
    return np.array([not listed.isdisjoint(each) for each in found], bool)


def guess_language(data: str, texts: Sequence[str]) -> str:
    """Return the language of a data set known by name, else the likely language of most texts; may be empty."""
    known = SOURCES[data].language if data in SOURCES else ""
    return known or detect_language(texts)


def explain_language(code: str) -> str:
    """Return why tags from word lists, such as negation, are not available for texts in this language."""
    own = f"another language ({code})" if code else "none of them"
    return f"its words are known in {', '.join(NAMES[each] for each in LANGUAGES)}; these texts are in {own}"


SIDES = {"negative": -1, "positive": 1}


def find_disagreement(table: PredictionTable, words: Sequence[set[str]], language: str) -> np.ndarray | str:
    """Return (n,) bool: texts whose words, by the lexicon, contradict the true class; or why this cannot be computed.

    The lexicons are those of the run; without one, VADER's for English texts. Phrases and emoticons of a lexicon do not
    count. `words` are the distinct lower-case words of each text.
    """
    record = table.record
    if table.task == "multi":
        return "its texts have several labels each"
    valences = _read_lexicons(record.config.text.lexicons, language)
    if isinstance(valences, str):
        return valences
    try:
        sides = find_polarities(record.run, record.classes, order=record.classes if record.ordered else ())
    except InputError as error:
        return f"{error}".partition(";")[0]
    of_class = np.array([SIDES.get(sides[each] or "", 0) for each in record.classes])
    said = np.sign([sum(valence.get(word, 0.0) for word in each for valence in valences) for each in words])
    return said * of_class[table.true.argmax(1)] < 0


BALANCED = 0.25
"""Share of all valence of a text that one side may have more than the other, for the tag *both signs*."""


def find_both_signs(table: PredictionTable, words: Sequence[set[str]], language: str) -> np.ndarray | str:
    """Return (n,) bool: texts whose positive and negative words balance; or the reason; see `find_disagreement`."""
    valences = _read_lexicons(table.record.config.text.lexicons, language)
    if isinstance(valences, str):
        return valences
    known = [[sum(valence.get(word, 0.0) for valence in valences) for word in each] for each in words]
    more, less = (np.array([sum(max(0.0, sign * value) for value in each) for each in known]) for sign in (1, -1))
    return (np.minimum(more, less) > 0) & (abs(more - less) <= BALANCED * (more + less))


def _read_lexicons(names: Sequence[str], language: str) -> list[dict[str, float]] | str:
    """Return the valences of a run's lexicons, or of VADER for English texts; a reason if there are none."""
    names = names or ((VADER,) if language == "en" else ())
    if not names:
        return "there is no lexicon for these texts; the run was trained without one, and VADER's is English"
    try:
        return [read_valences(name) for name in names]
    except SentiscopeError as error:
        return str(error)


@functools.cache
def read_valences(name: str) -> dict[str, float]:
    """Return the valence of each lower-case word of a lexicon: positive minus negative count."""
    found: dict[str, float] = {}
    for word, (positive, _, negative) in read_lexicon(name):
        found[word.lower()] = found.get(word.lower(), 0.0) + positive - negative
    return found
