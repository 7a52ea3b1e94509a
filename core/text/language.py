"""Which language a text is in, as far as a tagger has to know: by script and by function words."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from core.text.words import split_words

SAMPLE = 2000
"""Texts that are looked at, evenly spread."""
LEAST = 0.08
"""Share of running words that are function words of a language, below which a text is not taken to be in it."""

# Frequent words that are rare in the other two and in their neighbours (French, Spanish, Swedish …).
FUNCTION_WORDS = {
    "en": "the and of to is that it for you with this are not have but they from i'm it's my what there which would",
    "de": "der die das und ist nicht ich zu ein eine mit auf für den dem sich auch es wie noch aber wir sie im hat",
    "nl": "het een van ik niet dat op zijn voor maar ook je wel aan bij nog uit deze heeft wordt naar hij dit wat zo",
}


def language_of(texts: Sequence[str]) -> str:
    """The code of the language that most texts seem to be in, of those in `FUNCTION_WORDS`; empty for any other."""
    step = max(1, len(texts) // SAMPLE)
    counts = Counter(word.lower() for text in texts[::step] for word in split_words(text) if word[0].isalpha())
    total = sum(counts.values())
    shares = {name: sum(counts[each] for each in words.split()) for name, words in FUNCTION_WORDS.items()}
    best = max(shares, key=lambda name: shares[name])
    return best if total and shares[best] / total >= LEAST else ""


def script_of(texts: Sequence[str]) -> str:
    """The script of most letters, as Unicode names it (Latin, Hangul, Bengali …); empty without letters."""
    step = max(1, len(texts) // SAMPLE)
    letters = Counter(letter for text in texts[::step] for letter in text if letter.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[unicodedata.name(letter, "unknown").split()[0].split("-")[0].capitalize()] += count
    return max(scripts, key=lambda name: scripts[name]) if scripts else ""
