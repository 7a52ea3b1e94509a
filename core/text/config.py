"""Settings that turn text into token ids. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.exceptions import ConfigError

Normaliser = Literal["none", "lower", "tweet"]
TokenizerKind = Literal["word", "bpe"]


@dataclass(frozen=True)
class TextConfig:
    """How a text becomes token ids; the vocabulary always comes from the training split only."""

    normaliser: Normaliser = "lower"
    """none: only white space is folded · lower: also lower-cased · tweet: also URL and @name marked."""
    tokenizer: TokenizerKind = "word"
    """word: words, numbers, emoji and single marks · bpe: byte-level byte-pair encoding, no unknown tokens."""
    max_vocab: int = 30_000
    """Most entries, special tokens included; the most frequent are kept."""
    min_freq: int = 2
    """A token seen less often in the training split is unknown."""
    max_length: int = 0
    """Longest text in tokens, the rest is cut; 0: the 99th percentile of the training split, between 16 and 256."""

    def __post_init__(self) -> None:
        if self.max_vocab < 8:
            raise ConfigError(f"text.max_vocab={self.max_vocab}: at least 8")
        if self.min_freq < 1:
            raise ConfigError(f"text.min_freq={self.min_freq}: at least 1")
        if self.max_length != 0 and not 4 <= self.max_length <= 16_384:
            raise ConfigError(f"text.max_length={self.max_length}: 0 (automatic) or 4 to 16384")
