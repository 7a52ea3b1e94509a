"""The tokenizer of a pretrained backbone, as its authors have published it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import tokenizers as hf

from core.exceptions import ConfigError, DataError
from core.text.config import TextConfig
from core.text.ids import FIRST, UNKNOWN
from core.text.normalise import prepare_all
from core.text.pipeline_check import check_pipeline, hold_panics
from core.text.tokenizer import State, Tokenizer, automatic_length

NAMES = (("[PAD]", "<pad>"), ("[UNK]", "<unk>"), ("[CLS]", "<s>"), ("[SEP]", "</s>"))
"""What padding, an unknown word, the beginning and the end of a text are called, the usual name first."""
BLOCK = 4096


class Published(NamedTuple):
    """A backbone's tokenizer before it is fitted to a training."""

    pipeline: str
    """The text of its `tokenizer.json`."""
    longest: int
    """Tokens of a text that the backbone has places for, without those at its beginning and end."""
    name: str


class PretrainedTokenizer(Tokenizer):
    """Ids of the backbone's tokenizer, moved behind our two special ones; its unknown token is ours."""

    kind = "pretrained"

    def __init__(self, pipeline: str, config: TextConfig, max_length: int) -> None:
        self.config, self.max_length, self._pipeline = config, max_length, pipeline
        try:
            check_pipeline(pipeline)
            with hold_panics():
                self._model = hf.Tokenizer.from_str(pipeline)
        except Exception as error:  # the library raises no narrower one
            raise ValueError(f"the tokenizer of the backbone cannot be read: {error!s:.200}") from error
        self._model.no_truncation()
        self._model.no_padding()
        self.specials = tuple(self._special(names) for names in NAMES)
        """Rows of padding, the unknown word, the beginning and the end in the table of the backbone."""
        self._unknown = self.specials[1]
        self._between, self._longest = self._between_parts(), 0
        self.rows = 1 + max(self._model.get_vocab().values())
        """Of the backbone's table that its tokenizer asks for; some may have no token."""

    @classmethod
    def fit(cls, texts: Sequence[str], config: TextConfig, published: Published) -> PretrainedTokenizer:
        """Find the length of texts; refuse more tokens than the backbone has places for."""
        if config.max_length > published.longest:
            raise ConfigError(
                f"text.max_length={config.max_length}: '{published.name}' has places for {published.longest} tokens; "
                f"choose text.max_length={published.longest}"
            )
        try:
            fitted = cls(published.pipeline, config, config.max_length)
        except ValueError as error:
            raise DataError(str(error), file=published.name) from error
        fitted._longest = published.longest
        if not fitted.max_length:
            lengths = [len(ids) for ids in fitted._batch(prepare_all(texts, config))]
            fitted.max_length = min(automatic_length(lengths), published.longest)
        return fitted

    @property
    def between(self) -> list[int]:
        """What the backbone's own encoding of a pair has between its parts: [SEP], or </s></s>."""
        return self._between

    def _between_parts(self) -> list[int]:
        with hold_panics():
            found = self._model.encode("a", "b")
        parts = found.sequence_ids
        if 0 not in parts or 1 not in parts:
            return [self.specials[3] + FIRST]
        places = range(len(parts) - parts[::-1].index(0), parts.index(1))
        return [found.ids[place] + FIRST for place in places] or [self.specials[3] + FIRST]

    def read_pairs(self, texts: Sequence[str]) -> None:
        """As any tokenizer, up to the places that the backbone has."""
        super().read_pairs(texts)
        self.max_length = min(self.max_length, self._longest or self.max_length)

    @property
    def size(self) -> int:
        """Number of ids, our two special ones included."""
        return FIRST + self.rows

    def name(self, token: int) -> str:
        """What an id stands for: pieces that begin a word with a blank before them."""
        if token < FIRST:
            return NAMES[token][0]
        piece = self._model.id_to_token(token - FIRST)
        if piece is None:
            return ""
        if isinstance(self._model.model, hf.models.WordPiece):
            prefix = self._model.model.continuing_subword_prefix
            return piece.removeprefix(prefix) if piece.startswith(prefix) else f" {piece}"
        if "\u2581" in piece:
            return piece.replace("\u2581", " ")
        with hold_panics():
            return self._model.decode([token - FIRST], skip_special_tokens=False) or piece

    def _special(self, names: tuple[str, str]) -> int:
        found = next((row for name in names if (row := self._model.token_to_id(name)) is not None), None)
        if found is None:
            raise ValueError(f"the tokenizer of the backbone has neither {names[0]} nor {names[1]}")
        return found

    def _ours(self, ids: Iterable[int]) -> list[int]:
        return [UNKNOWN if each == self._unknown else each + FIRST for each in ids]

    def _pieces(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        with hold_panics():
            found = self._model.encode(text, add_special_tokens=False)
        return self._ours(found.ids), [_trimmed(text, *span) for span in found.offsets]

    def _batch(self, texts: list[str]) -> Iterable[list[int]]:
        rest = iter(texts)
        while block := list(islice(rest, BLOCK)):
            with hold_panics():
                read = self._model.encode_batch_fast(block, add_special_tokens=False)
            yield from (self._ours(found.ids) for found in read)

    def _state(self) -> dict[str, Any]:
        return {"vocabulary": [], "pipeline": json.dumps(json.loads(self._pipeline), ensure_ascii=False)}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> PretrainedTokenizer:
        """The tokenizer of a saved state."""
        return cls(state.pipeline, config, max_length)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the blank before a word, unless the blank is all there is, which RoBERTa's leaves out too."""
    if start == end and text[start - 1 : start] == " ":
        return start - 1, end
    return (start + 1, end) if end - start > 1 and text[start] == " " else (start, end)
