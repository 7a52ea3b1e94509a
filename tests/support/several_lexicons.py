"""A tokenizer with two lexicons: its own, and one with other values."""

from core.text.lexicon import Lexicon
from core.text.tokenizer import Tokenizer


def ask_two(tokenizer: Tokenizer) -> None:
    """By word length, the second lexicon gives words of the first a slightly negative value, or none."""
    assert tokenizer.lexicon is not None
    first = tokenizer.lexicon.entries
    tokenizer.set_lexicon(Lexicon({word: (*counts, 0.0, 0.2, len(word) % 3) for word, counts in first.items()}))
