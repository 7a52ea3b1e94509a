"""Token ids of many texts in one flat array, and padded batches of any rows."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.text.lexicon import NEUTRAL
from core.text.tokenizer import Encoding, Tokenizer
from core.text.words import hash_char_ngrams


class PaddedBatch(NamedTuple):
    """A batch of B texts with at most L tokens, padded on the right; the fields are those of a model's `Batch`."""

    ids: np.ndarray  # (B, L) int64, 0 where padded
    keep: np.ndarray  # (B, L) bool, True at real tokens
    tags: np.ndarray | None  # (B, L) int64, 0 where padded; None without a tagger
    polarity: np.ndarray | None  # (B, L, 3K) float32, thirds where padded; None without a lexicon
    grams: np.ndarray | None  # (B, L, K) int64: bucket of each character n-gram, from 1; 0: none; None: not read


@dataclass(frozen=True)
class TokenTable:
    """The token ids of n texts in one flat array, so that a batch is one indexing operation."""

    flat: np.ndarray  # (all tokens,) int32
    offsets: np.ndarray  # (n + 1,) int64; text i is flat[offsets[i]:offsets[i + 1]]
    tags: np.ndarray | None = None  # (all tokens,) uint8: parts of speech, where the tokenizer has a tagger
    polarity: np.ndarray | None = None  # (all tokens, 3K) float32, where the tokenizer has a lexicon
    forms: np.ndarray | None = None
    spelt: "TokenTable | None" = None

    @classmethod
    def from_ids(cls, texts: Sequence[Sequence[int]]) -> "TokenTable":
        """Build a token table from the token ids of texts; empty texts are allowed."""
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return cls(np.fromiter((token for text in texts for token in text), np.int32, count=int(offsets[-1])), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def append_table(self, more: "TokenTable") -> "TokenTable":
        """Return the token table with the texts of another table, made by the same tokenizer, appended."""
        forms = spelt = None
        if self.forms is not None and self.spelt is not None and more.forms is not None and more.spelt is not None:
            forms = np.concatenate([self.forms, more.forms + np.int32(len(self.spelt))])
            spelt = self.spelt.append_table(more.spelt)
        return TokenTable(
            np.concatenate([self.flat, more.flat]),
            np.concatenate([self.offsets, self.offsets[-1] + more.offsets[1:]]),
            _join_columns(self.tags, more.tags),
            _join_columns(self.polarity, more.polarity),
            forms,
            spelt,
        )

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each text in the table, (n,) int64."""
        return np.diff(self.offsets)

    def pad_rows(self, rows: np.ndarray, width: int = 0) -> PaddedBatch:
        """Return the texts at `rows` as a batch, padded on the right to the longest, or to `width` if that is more."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        columns = np.arange(max(1, width, lengths.max(initial=0)))
        keep = columns < lengths[:, None]
        places = (starts[:, None] + columns)[keep]
        ids = np.zeros(keep.shape, np.int64)
        ids[keep] = self.flat[places]
        tags = polarity = grams = None
        if self.tags is not None:
            tags = np.zeros(keep.shape, np.int64)
            tags[keep] = self.tags[places]
        if self.polarity is not None:
            polarity = np.full((*keep.shape, self.polarity.shape[1]), NEUTRAL, np.float32)
            polarity[keep] = self.polarity[places]
        if self.forms is not None and self.spelt is not None:
            found = self.spelt.pad_rows(self.forms[places]).ids
            grams = np.zeros((*keep.shape, found.shape[1]), np.int64)
            grams[keep] = found
        return PaddedBatch(ids, keep, tags, polarity, grams)

    @property
    def neutral_share(self) -> float:
        """The share of all tokens in the table that no sentiment lexicon lists; NaN without tokens or lexicon."""
        if self.polarity is None or not len(self.polarity):
            return float("nan")
        return float((self.polarity == np.float32(NEUTRAL)).all(-1).mean())

    def pad_all(self) -> PaddedBatch:
        """Return all texts of the table as one batch, padded on the right to the longest."""
        return self.pad_rows(np.arange(len(self)))


def _join_columns(ours: np.ndarray | None, theirs: np.ndarray | None) -> np.ndarray | None:
    return None if ours is None or theirs is None else np.concatenate([ours, theirs])


def build_token_table(tokenizer: Tokenizer, texts: Sequence[str]) -> TokenTable:
    """Tokenise texts to a token table, with tags, polarities and character n-grams if the tokenizer has them."""
    if tokenizer.tagger is None and tokenizer.lexicon is None:
        table = TokenTable.from_ids(tokenizer.encode_batch(texts))
    else:
        ids, tags, polarity = tokenizer.annotate_batch(texts)
        table = dataclasses.replace(TokenTable.from_ids(ids), tags=tags, polarity=polarity)
    if not tokenizer.buckets:
        return table
    numbers: dict[str, int] = {}
    forms = [numbers.setdefault(word, len(numbers)) for words in tokenizer.split_batch(texts) for word in words]
    spelt = TokenTable.from_ids([hash_char_ngrams(word, tokenizer.buckets) for word in numbers])
    return dataclasses.replace(table, forms=np.array(forms, np.int32), spelt=spelt)


def to_batch(encoding: Encoding) -> PaddedBatch:
    """Convert one tokenised text to a padded batch."""
    tags, polarity, grams = encoding.tags, encoding.polarity, encoding.grams
    shape = len(encoding.ids), 3 * encoding.lexicons
    table = dataclasses.replace(
        TokenTable.from_ids([encoding.ids]),
        tags=None if tags is None else np.array(tags, np.uint8),
        polarity=None if polarity is None else np.array(polarity, np.float32).reshape(shape),
        forms=None if grams is None else np.arange(len(grams), dtype=np.int32),
        spelt=None if grams is None else TokenTable.from_ids(grams),
    )
    return table.pad_all()


def split_batches(order: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Split an array of row numbers into batches of `batch_size`; the last one may be shorter."""
    return [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
