"""Models without attention in words: what a page says in place of what they lack."""

from __future__ import annotations

from core.models.config import Family

_COUNTS = "It weighs words and pairs of neighbours"
_READS: dict[Family, str] = {
    "bilstm": "It reads the words one after the other, in both directions",
    "cnn": "It looks for patterns of a few words wherever they stand",
    "tfidf-logreg": _COUNTS,
    "tfidf-nb": _COUNTS,
    "tfidf-svm": _COUNTS,
    "lexicon": "It adds up what a lexicon says of the words",
}


def reads_without(family: Family, lacks: str) -> str:
    """How a baseline reads a text, and that it does so without what the page would show."""
    return f"{_READS[family]}, without {lacks}."
