"""Which parts of the tokenizers library the pipeline of a backbone may have, and what becomes of its panics.

A pipeline comes with a file of somebody else, and some parts make a text of thirty letters one of gigabytes, which ends
the whole process. So only the parts of the families that are read here are known, each once, and none that adds much.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from core import stored
from core.exceptions import RunDamaged

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
}
"""By part of a pipeline the kinds that it may have."""
INSIDE = ("normalizers", "pretokenizers", "processors", "decoders")
BLANKS = " {2,}"
"""The one regular expression that is read: several blanks become one, as SentencePiece has it."""
LONGEST_REPLACED = 100
"""Bytes that a table of Precompiled may put in the place of a character; the longest of Unicode's have 33."""
LONGEST_WORD = 1_000
"""Characters of a word that WordPiece looks through; BERT has 100, and the time grows with the square."""


def check_pipeline(text: str) -> None:
    """Refuse the text of a `tokenizer.json` with a part that is not known, as a ValueError."""
    tree = stored.tree(text)
    if not isinstance(tree, dict):
        raise ValueError("it is no group of fields")
    for part, known in KNOWN.items():
        kinds = list[str]()
        for each in _members(tree.get(part)):
            kind = each.get("type", "")
            if part == "model" and not kind:
                continue  # older files leave it out; the library tells the models apart by their fields
            if kind not in known:
                raise ValueError(f"its {part} has a part {kind!r:.40}, which is not read; known are {', '.join(known)}")
            if kind in kinds and kind != "Replace":
                raise ValueError(f"its {part} has {kind} twice")
            kinds.append(kind)
            _check_growth(each, kind, part)


def _members(part: Any) -> Iterator[Mapping[str, Any]]:
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
            yield from _members(each)


def _check_growth(part: Mapping[str, Any], kind: str, place: str) -> None:
    """Refuse what makes a text much longer, or takes long for a long word."""
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
    if (
        place == "model"
        and (longest := part.get("max_input_chars_per_word", 0))
        and not (isinstance(longest, int) and longest <= LONGEST_WORD)
    ):
        raise ValueError(f"its model has max_input_chars_per_word={longest!r:.40}; at most {LONGEST_WORD} are read")


@contextlib.contextmanager
def hold_panics() -> Iterator[None]:
    """Turn a panic of the library, which no `except Exception` holds, into RunDamaged."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # its class cannot be imported
            raise
        raise RunDamaged(f"the tokenizer of the backbone broke down: {error!s:.200}") from None
