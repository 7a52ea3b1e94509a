"""Part-of-speech tags (HanTa's tags mapped to the universal ones), and the language and script of texts."""

import functools
import hashlib
import importlib.metadata
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from core.cache import get_cache_folder, keep_array
from core.text.normalization import CAPITALS_MARK, LONG_MARK, URL_MARK, USER_MARK
from core.text.words import split_words

TAGS = ("NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "PUNCT", "X")
"""Ids 1 to 12, in this order: the universal tags of Petrov, Das and McDonald (2012), with PUNCT for their dot. X is any
other word (interjections, foreign words, symbols, links). Id 0: not tagged."""
UNTAGGED = 0

LANGUAGES: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("languages.json").read_text(encoding="utf-8")
)
"""Code → name; model of the tagger, and its tags up to their first bracket (BNC C5, STTS, CGN) by universal tag; words:
function words are frequent, and rare in the other two and their neighbours (French, Spanish, Swedish …); stop words
carry no polarity of their own; in English also every word that ends with n't is a negation."""


def list_by_language(what: str) -> dict[str, str]:
    """Return code → one fact on each language, such as its `name` or its words of one kind, with blanks between."""
    return {code: each[what] for code, each in LANGUAGES.items()}


MODELS, NAMES, FUNCTION_WORDS, STOP_WORDS = map(list_by_language, ("model", "name", "function", "stop"))
SCHEME = 2  # Version of the tags; raise it when the same words get other tags
LONGEST = 40  # Characters that are read from the end of a word; the time grows with their cube
ENDS = frozenset(".!?…")

_MARKS = frozenset((URL_MARK, USER_MARK, LONG_MARK, CAPITALS_MARK))

# The tagger learned "did" and "n't", "it" and "'s" as two words each; here they are one, with the tag of the first.
_CONTRACTION = re.compile(r"(?<=\w)(?:n['’]t|['’](?:s|m|d|re|ve|ll))\Z", re.IGNORECASE)

UNIVERSAL = {
    language: {own: TAGS.index(tag) + 1 for tag, owns in each["tags"].items() for own in owns.split()}
    for language, each in LANGUAGES.items()
}  # By language, from the tagger's tag to an id
_PUNCT, _X = TAGS.index("PUNCT") + 1, TAGS.index("X") + 1


class Tagger:
    """A part-of-speech tagger of one language; its model is loaded when the first word is tagged."""

    def __init__(self, language: str) -> None:
        if language not in MODELS:
            raise ValueError(f"no tagger for {language!r}, only for {', '.join(MODELS)}")
        self.language = language
        self.version = f"hanta {importlib.metadata.version('HanTa')} {language} {SCHEME}"  # Part of the cache key

    def tag(self, words: Sequence[str]) -> list[int]:
        """Return the part-of-speech tag (id of `TAGS`) of each word; the words need their original capitals."""
        read = [_CONTRACTION.sub("", word) for word in words] if self.language == "en" else words
        # A sentence includes its final punctuation.
        ends = [n for n in range(1, len(words)) if words[n - 1] in ENDS and words[n] not in ENDS]
        found = list[str]()
        for start, end in pairwise([0, *ends, len(words)] if words else [0]):
            found += _load_hanta(self.language).tag_sent([word[-LONGEST:] for word in read[start:end]], taglevel=0)
        table = UNIVERSAL[self.language]
        return [_tag_symbol(word) or table[tag.partition("(")[0]] for word, tag in zip(words, found, strict=True)]


def _tag_symbol(word: str) -> int:
    """Return the part-of-speech tag of a punctuation mark, symbol or normaliser mark; 0 for all other words."""
    if word in _MARKS:
        return _X
    if any(character.isalnum() for character in word):
        return UNTAGGED
    return _PUNCT if unicodedata.category(word[0])[0] == "P" else _X


@functools.cache
def _load_hanta(language: str) -> Any:
    """Load the HanTa tagger of a language; its model is the only pickle ever read, from HanTa's own package."""
    from HanTa import HanoverTagger

    # With a bare name, HanTa would look in the working directory first.
    model = Path(HanoverTagger.__file__).resolve().with_name(MODELS[language])
    tagger = HanoverTagger.HanoverTagger(str(model))
    # Analysing a word is the slowest part and depends only on the word; even rare words occur again.
    tagger.analyze_forward = functools.lru_cache(1 << 17)(tagger.analyze_forward)
    return tagger


SAMPLE = 2000  # Texts that are read to detect the language, evenly spread
LEAST = 0.08  # Lowest share of a language's function words in texts of that language


def find_content_words(words: Sequence[str]) -> list[bool]:
    """Return which words of a text are neither punctuation nor stop words; all, if there is no other word."""
    left_out = STOP_WORDS.get(detect_language([" ".join(words)]), "").split()
    found = [any(map(str.isalnum, word)) and word.lower() not in left_out for word in words]
    return found if any(found) else [True] * len(words)


def detect_language(texts: Sequence[str]) -> str:
    """Detect the language of most texts, as a code of `FUNCTION_WORDS` (en, de, nl); an empty string for any other."""
    step = max(1, len(texts) // SAMPLE)
    counts = Counter(word.lower() for text in texts[::step] for word in split_words(text) if word[0].isalpha())
    total = sum(counts.values())
    shares = {name: sum(counts[each] for each in words.split()) for name, words in FUNCTION_WORDS.items()}
    best = max(shares, key=lambda name: shares[name])
    return best if total and shares[best] / total >= LEAST else ""


def detect_script(texts: Sequence[str]) -> str:
    """Return the script of most letters in texts by its Unicode name (Latin, Hangul …); empty without letters."""
    step = max(1, len(texts) // SAMPLE)
    letters = Counter(letter for text in texts[::step] for letter in text if letter.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[unicodedata.name(letter, "unknown").split()[0].split("-")[0].capitalize()] += count
    return max(scripts, key=lambda name: scripts[name]) if scripts else ""


def tag_texts(tagger: Tagger, texts: Sequence[Sequence[str]]) -> list[bytes]:
    """Tag the words of each text with parts of speech, a byte per word; cached by words and the tagger's version."""
    ends = np.cumsum([0, *map(len, texts)])
    content = "\0".join((tagger.version, *("\n".join(words) for words in texts))).encode("utf-8", "surrogatepass")
    path = get_cache_folder() / f"tags-{hashlib.blake2b(content, digest_size=16).hexdigest()}.npy"
    found = keep_array(
        path, (int(ends[-1]),), lambda: np.array([tag for words in texts for tag in tagger.tag(words)], np.uint8)
    )
    return [found[start:end].tobytes() for start, end in pairwise(ends)]
