"""A tokenizer with two lexicons: its own, and one with other values."""

from core.text.lexicon import Lexicon
from core.text.tokenizer import Tokenizer


def ask_two(tokenizer: Tokenizer) -> None:
    """The second says of the words of the first, by their length, that they are a little negative, or nothing."""
    assert tokenizer.lexicon is not None
    first = tokenizer.lexicon.entries
    tokenizer.set_lexicon(Lexicon({word: (*counts, 0.0, 0.2, len(word) % 3) for word, counts in first.items()}))
