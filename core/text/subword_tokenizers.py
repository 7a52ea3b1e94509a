"""Tokenizers with pieces of words: byte-level byte-pair encoding, without unknown tokens, and that of an encoder.

A pipeline comes from an untrusted file. Some components turn thirty letters into gigabytes, which kills the process, so
only components of the supported families are allowed, each once, and none that adds much text.
"""

import base64
import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import tokenizers as hf

from core import json_store
from core.exceptions import ConfigError, DataError, RunDamaged
from core.text.config import TextConfig
from core.text.normalization import prepare_all
from core.text.special_ids import FIRST, SPECIALS, UNKNOWN
from core.text.text_pairs import SIGN
from core.text.tokenizer import GrownTokenizer, State, Tokenizer, compute_max_length, rank_keys, trim_span

ALPHABET = sorted(hf.pre_tokenizers.ByteLevel.alphabet())


class BpeTokenizer(Tokenizer):
    """A byte-level BPE tokenizer (Radford et al. 2019), trained by the `tokenizers` library."""

    kind = "bpe"

    def __init__(
        self, vocabulary: Sequence[str], merges: Sequence[tuple[str, str]], config: TextConfig, max_length: int
    ) -> None:
        self.config, self.max_length = config, max_length
        self._vocabulary, self._merges = list(vocabulary), list(merges)
        self.size = FIRST + len(self._vocabulary)
        numbered = {piece: index for index, piece in enumerate(self._vocabulary)}
        if len(numbered) != len(self._vocabulary) or not numbered.keys() >= set(ALPHABET):
            raise ValueError("the pieces are not unique or do not cover all bytes")
        self._model = build_pipeline(hf.models.BPE(vocab=numbered, merges=self._merges))

    @classmethod
    def fit(cls, texts: Iterable[str], config: TextConfig) -> "BpeTokenizer":
        """Fit a BPE tokenizer on texts; refuse a vocabulary size below the 256 bytes and special entries."""
        if config.max_vocab < len(ALPHABET) + FIRST:
            least = f"at least {len(ALPHABET) + FIRST} (256 bytes and 2 special entries)"
            raise ConfigError(f"text.max_vocab={config.max_vocab}: byte-level BPE needs {least}")
        model = build_pipeline(hf.models.BPE())
        trainer = hf.trainers.BpeTrainer(
            vocab_size=config.max_vocab - FIRST,
            min_frequency=config.min_freq,
            initial_alphabet=ALPHABET,
            show_progress=False,
        )
        normalized = prepare_all(texts, config)
        model.train_from_iterator(normalized, trainer)
        learned = json.loads(model.to_str())["model"]
        vocabulary = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
        fitted = cls(vocabulary, [(first, second) for first, second in learned["merges"]], config, config.max_length)
        if not fitted.max_length:
            fitted.max_length = compute_max_length([len(ids) for ids in fitted._encode_texts(normalized)])
        return fitted

    def name(self, token: int) -> str:
        """Return the text of a token id with its leading blank; a part of a character is shown as U+FFFD."""
        if token < FIRST:
            return SPECIALS[token]
        return SIGN if self.pairs and token in self.between else self._model.decode([token - FIRST])

    def grow_vocabulary(self, texts: Iterable[str], count: int) -> GrownTokenizer:
        """Return a tokenizer in which frequent words of the texts, so far split into pieces, are whole tokens."""
        split = self._model.pre_tokenizer.pre_tokenize_str
        counts = Counter(word for text in prepare_all(texts, self.config) for word, _ in split(text))
        cut = Counter({word: number for word, number in counts.items() if len(self._split_word(word)) > 1})
        vocabulary, joined = dict.fromkeys(self._vocabulary), dict[tuple[str, str], int]()
        for word in rank_keys(cut, self.config.min_freq, count):
            pieces = _join_pieces(self._split_word(word), joined)
            while len(pieces) > 1:
                joined[pieces[0], pieces[1]] = len(joined)
                vocabulary[pieces[0] + pieces[1]] = None
                pieces = _join_pieces(pieces, joined)
        pieces = list(vocabulary)
        ids = {piece: number for number, piece in enumerate(pieces, start=FIRST)}
        origins = [[ids[part] for part in self._split_word(piece)] for piece in pieces[len(self._vocabulary) :]]
        return GrownTokenizer(BpeTokenizer(pieces, [*self._merges, *joined], self.config, self.max_length), origins)

    def add_mark(self) -> "BpeTokenizer":
        """Return a copy of the tokenizer with a separator token for pairs; a full vocabulary loses its last merge."""
        full = self.size >= self.config.max_vocab and self._merges
        merges, gone = (self._merges[:-1], {"".join(self._merges[-1])}) if full else (self._merges, set[str]())
        pieces = [piece for piece in self._vocabulary if piece not in gone]
        return BpeTokenizer([SIGN, *pieces], merges, self.config, self.max_length)

    def _split_word(self, word: str) -> list[str]:
        return [piece.value for piece in self._model.model.tokenize(word)]

    def _encode_text(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        found = self._model.encode(text)
        return [each + FIRST for each in found.ids], [trim_span(text, *span) for span in found.offsets]

    def _encode_texts(self, texts: list[str]) -> Iterable[list[int]]:
        rest = iter(texts)
        while block := list(islice(rest, 4096)):
            for found in self._model.encode_batch_fast(block):
                yield [each + FIRST for each in found.ids]

    def _dump_state(self) -> dict[str, Any]:
        return {"vocabulary": self._vocabulary, "merges": self._merges}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> "BpeTokenizer":
        """Restore a BPE tokenizer from a saved state."""
        vocabulary, merges = state.vocabulary, state.merges
        known = set(vocabulary)
        if not all({first, second, first + second} <= known for first, second in merges):
            raise ValueError("a merge makes a piece that is not listed")
        return cls(vocabulary, merges, config, max_length)


def build_pipeline(model: hf.models.BPE) -> hf.Tokenizer:
    """Build a tokenizer pipeline: words (each with a leading blank) → bytes → pieces, and back; no special tokens."""
    pipeline = hf.Tokenizer(model)
    pipeline.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=True)
    pipeline.decoder = hf.decoders.ByteLevel()
    return pipeline


def _join_pieces(pieces: list[str], ranks: Mapping[tuple[str, str], int]) -> list[str]:
    while True:
        pairs = list(pairwise(pieces))
        if not (known := [pair for pair in pairs if pair in ranks]):
            return pieces
        place = pairs.index(min(known, key=ranks.__getitem__))
        pieces = [*pieces[:place], pieces[place] + pieces[place + 1], *pieces[place + 2 :]]


KNOWN = {
    "normalizer": (
        *("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Replace"),
        *("Strip", "StripAccents"),
    ),
    "pre_tokenizer": (
        *("BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Whitespace", "WhitespaceSplit"),
    ),
    "post_processor": ("BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing"),
    "decoder": ("BPEDecoder", "ByteFallback", "ByteLevel", "Fuse", "Metaspace", "Replace", "WordPiece"),
    "model": ("BPE", "Unigram", "WordLevel", "WordPiece"),
}  # Part of a pipeline → kinds of component that it may have
INSIDE = ("normalizers", "pretokenizers", "processors", "decoders")
BLANKS = " {2,}"  # The only regular expression that is allowed: SentencePiece replaces several blanks by one
LONGEST_REPLACED = 100  # Bytes for a character in a table of Precompiled, at most; Unicode's longest has 33
LONGEST_WORD = 1_000  # Characters of a word, at most; BERT has 100, and the time grows with the square


def check_pipeline(text: str) -> None:
    """Raise a ValueError if the text of a `tokenizer.json` has a component that is not allowed."""
    if not isinstance((tree := json_store.parse_json(text)), dict):
        raise ValueError("it is no group of fields")
    for part, known in KNOWN.items():
        kinds = list[str]()
        for each in _iterate_parts(tree.get(part)):
            kind = each.get("type", "")
            if part == "model" and not kind:
                continue  # older files omit it; the library recognises the model by its fields
            if kind not in known:
                raise ValueError(f"its {part} has a part {kind!r:.40}, which is not read; known are {', '.join(known)}")
            if kind in kinds and kind != "Replace":
                raise ValueError(f"its {part} has {kind} twice")
            kinds.append(kind)
            _check_growth(each, kind, part)


def _iterate_parts(part: Any) -> Iterator[Mapping[str, Any]]:
    if part is None:
        return
    if not isinstance(part, dict):
        raise ValueError("a part of it is no group of fields")
    if part.get("type") != "Sequence":
        yield part
        return
    for inside in (part.get(name, []) for name in INSIDE):
        if not isinstance(inside, list):
            raise ValueError("a Sequence of it is no list")
        for each in inside:
            yield from _iterate_parts(each)


def _check_growth(part: Mapping[str, Any], kind: str, place: str) -> None:
    """Refuse a tokenizer component that makes texts much longer, or is slow for long words."""
    if kind == "Replace":
        pattern, content = part.get("pattern"), part.get("content")
        plain = pattern.get("String") if isinstance(pattern, dict) else None
        blanks = pattern == {"Regex": BLANKS} and content in (" ", "\u2581")
        if not blanks and not (isinstance(plain, str) and isinstance(content, str) and 0 < len(plain) >= len(content)):
            raise ValueError(f"its {place} has a Replace by something longer, or by a rule, which is not read")
    if kind == "Precompiled":
        try:
            table = base64.b64decode(str(part.get("precompiled_charsmap") or ""))
        except ValueError as error:
            raise ValueError(f"its {place} has a Precompiled whose table cannot be read") from error
        words = table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")
        if max(map(len, words)) > LONGEST_REPLACED:
            raise ValueError(f"its {place} has a Precompiled that makes texts much longer, which is not read")
    longest = part.get("max_input_chars_per_word", 0) if place == "model" else 0
    if longest and not (isinstance(longest, int) and longest <= LONGEST_WORD):
        raise ValueError(f"its model has max_input_chars_per_word={longest!r:.40}; at most {LONGEST_WORD} are read")


@contextlib.contextmanager
def convert_panics() -> Iterator[None]:
    """Convert a panic of the `tokenizers` library, which `except Exception` does not catch, to RunDamaged."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # its class cannot be imported
            raise
        raise RunDamaged(f"the tokenizer of the backbone failed: {error!s:.200}") from None


NAMES = (("[PAD]", "<pad>"), ("[UNK]", "<unk>"), ("[CLS]", "<s>"), ("[SEP]", "</s>"))  # Of each, the usual name first
BLOCK = 4096


class PublishedTokenizer(NamedTuple):
    """The published tokenizer of a pretrained encoder, before it is fitted to a training run."""

    pipeline: str  # The text of its `tokenizer.json`
    longest: int  # Tokens of a text that the backbone has positions for, without its special tokens at both ends
    name: str


class PretrainedTokenizer(Tokenizer):
    """A pretrained encoder's tokenizer, with ids shifted behind Sentiscope's two special ids (padding and unknown)."""

    kind = "pretrained"

    def __init__(self, pipeline: str, config: TextConfig, max_length: int) -> None:
        self.config, self.max_length, self._pipeline = config, max_length, pipeline
        try:
            check_pipeline(pipeline)
            with convert_panics():
                self._model = hf.Tokenizer.from_str(pipeline)
        except Exception as error:  # the library raises no narrower one
            raise ValueError(f"the tokenizer of the backbone cannot be read: {error!s:.200}") from error
        self._model.no_truncation()
        self._model.no_padding()
        self.specials = tuple(self._find_special(names) for names in NAMES)  # Rows in the embedding table
        self._unknown = self.specials[1]
        self.between, self._longest = self._find_between(), 0
        self.rows = 1 + max(self._model.get_vocab().values())  # Of the embedding table; some may have no token
        self.size = FIRST + self.rows

    @classmethod
    def fit(cls, texts: Sequence[str], config: TextConfig, published: PublishedTokenizer) -> "PretrainedTokenizer":
        """Fit a pretrained encoder's tokenizer: choose a maximum length; refuse more tokens than the encoder reads."""
        if config.max_length > published.longest:
            most = f"has places for {published.longest} tokens; choose text.max_length={published.longest}"
            raise ConfigError(f"text.max_length={config.max_length}: '{published.name}' {most}")
        try:
            fitted = cls(published.pipeline, config, config.max_length)
        except ValueError as error:
            raise DataError(str(error), file=published.name) from error
        fitted._longest = published.longest
        if not fitted.max_length:
            lengths = [len(ids) for ids in fitted._encode_texts(prepare_all(texts, config))]
            fitted.max_length = min(compute_max_length(lengths), published.longest)
        return fitted

    def _find_between(self) -> list[int]:
        """Return the token ids that the pretrained encoder has between the texts of a pair: [SEP], or </s></s>."""
        with convert_panics():
            found = self._model.encode("a", "b")
        parts = found.sequence_ids
        if 0 not in parts or 1 not in parts:
            return [self.specials[3] + FIRST]
        places = range(len(parts) - parts[::-1].index(0), parts.index(1))
        return [found.ids[place] + FIRST for place in places] or [self.specials[3] + FIRST]

    @property
    def adds_ends(self) -> bool:
        """Return whether the published tokenizer puts [CLS] before a text, [SEP] behind it, and nothing else."""
        with convert_panics():
            bare, whole = (self._model.encode("a", add_special_tokens=each).ids for each in (False, True))
        return bool(whole == [self.specials[2], *bare, self.specials[3]])

    def enable_pairs(self, texts: Sequence[str]) -> None:
        """Start reading text pairs; the maximum length stays within what the pretrained encoder can read."""
        super().enable_pairs(texts)
        self.max_length = min(self.max_length, self._longest or self.max_length)

    def name(self, token: int) -> str:
        """Return the text of a token id; a piece that begins a word has a leading blank."""
        if token < FIRST:
            return NAMES[token][0]
        if (piece := self._model.id_to_token(token - FIRST)) is None:
            return ""
        if isinstance(self._model.model, hf.models.WordPiece):
            prefix = self._model.model.continuing_subword_prefix
            return piece.removeprefix(prefix) if piece.startswith(prefix) else f" {piece}"
        if "\u2581" in piece:
            return piece.replace("\u2581", " ")
        with convert_panics():
            return self._model.decode([token - FIRST], skip_special_tokens=False) or piece

    def _find_special(self, names: tuple[str, str]) -> int:
        if (found := next((row for name in names if (row := self._model.token_to_id(name)) is not None), None)) is None:
            raise ValueError(f"the tokenizer of the backbone has neither {names[0]} nor {names[1]}")
        return found

    def _shift_ids(self, ids: Iterable[int]) -> list[int]:
        return [UNKNOWN if each == self._unknown else each + FIRST for each in ids]

    def _encode_text(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        with convert_panics():
            found = self._model.encode(text, add_special_tokens=False)
        return self._shift_ids(found.ids), [trim_span(text, *span) for span in found.offsets]

    def _encode_texts(self, texts: list[str]) -> Iterable[list[int]]:
        rest = iter(texts)
        while block := list(islice(rest, BLOCK)):
            with convert_panics():
                read = self._model.encode_batch_fast(block, add_special_tokens=False)
            yield from (self._shift_ids(found.ids) for found in read)

    def _dump_state(self) -> dict[str, Any]:
        return {"vocabulary": [], "pipeline": json.dumps(json.loads(self._pipeline), ensure_ascii=False)}

    @classmethod
    def restore(cls, state: State, config: TextConfig, max_length: int) -> "PretrainedTokenizer":
        """Restore a pretrained encoder's tokenizer from a saved state."""
        return cls(state.pipeline, config, max_length)
