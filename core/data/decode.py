"""Bytes to text: the encoding of a file found by trial and plausibility."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from encodings import normalize_encoding
from encodings.aliases import aliases

from core.exceptions import DataError

ENCODINGS = (
    *("utf-8", "utf-16", "cp1252", "latin-1", "cp949", "shift_jis", "gb18030", "cp1251"),
    *("ascii", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32", "euc-kr", "cp932", "euc-jp", "iso2022-jp", "gbk"),
    *("gb2312", "big5", "big5hkscs", "koi8-r", "koi8-u", "cp866", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("cp1257", "cp1258", "cp874", "tis-620", "iso8859-2", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8"),
    *("iso8859-9", "iso8859-15", "cp437", "cp850", "mac-roman"),
)
"""All that may be named, the usual ones first. Python's other codecs are no encodings of text, or unpack: `zlib`."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x19\x1b-\x1f]")
_HANGUL = re.compile("[ㄱ-ㆎ가-힣]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_MOST_CONTROL = 0.01
"""Largest share of control characters in something that is still called text."""
_LEAST_HANGUL = 0.6
"""Least share of Hangul among the non-ASCII characters of a file that is called CP949."""


@dataclass(frozen=True)
class Decoded:
    """A file's text, the encoding that gave it, and how many characters could not be read."""

    text: str
    encoding: str
    damaged: int = 0


def decode(data: bytes, encoding: str = "", *, file: str = "") -> Decoded:
    """The text of a file.

    Args:
        data: The bytes of the whole file.
        encoding: One of `ENCODINGS`, or another name of it; empty: found by trial (byte-order mark, UTF-16 by its zero
            bytes, UTF-8, CP949 if the outcome is Korean, then Windows-1252 or Latin-1).
        file: Name for messages.

    Raises:
        DataError: for an encoding that is not of the list, bytes that are not in it, or something that is not text.
    """
    decoded = _named(data, encoding, file) if encoding else _found(data)
    text = decoded.text.removeprefix("\ufeff")
    if "\0" in text or len(_CONTROL.findall(text[:1_000_000])) > _MOST_CONTROL * min(len(text), 1_000_000):
        raise DataError(
            "this is not a text file; give CSV, TSV, JSON, JSON Lines, XLSX, Parquet or plain text "
            "(or name its encoding with data.encoding)",
            file=file,
        )
    return Decoded(text, decoded.encoding, decoded.damaged)


def without_surrogates(text: str) -> str:
    """The text with halves of surrogate pairs joined and lone ones replaced, so that it can be stored as UTF-8."""
    if not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _named(data: bytes, encoding: str, file: str) -> Decoded:
    codec = _MODULES.get(_module(encoding))
    if codec is None:
        raise DataError(f"unknown encoding '{encoding}'; use one of {', '.join(ENCODINGS)}", file=file)
    try:
        return Decoded(data.decode(codec, "strict"), codecs.lookup(codec).name)
    except UnicodeError:
        seems = _found(data).encoding
        raise DataError(f"cannot be read as {encoding}; it seems to be {seems}", file=file) from None


def _module(encoding: str) -> str:
    """Python's own name of an encoding, by any of those that people use; nothing is imported by a visitor's word."""
    plain = normalize_encoding(encoding).lower()
    return aliases.get(plain, plain)


_MODULES = {_module(name): name for name in ENCODINGS}


def _found(data: bytes) -> Decoded:
    # Own: of 25 Western and Korean files charset-normalizer 3.5 read 19 right (Latin-1 tweets as cp775), this all.
    for mark, name in _BOMS:
        if data.startswith(mark):
            return Decoded(data.decode(name, "replace"), name)
    wide = _wide_encoding(data)
    if wide:
        return Decoded(data.decode(wide, "replace"), wide)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        pass
    return _damaged_utf8(data) or _korean(data) or _western(data)


def _wide_encoding(data: bytes) -> str:
    """UTF-16 without a mark shows as zero bytes at every second place."""
    head = data[:20_000]
    half = len(head) // 2
    if half and head[1::2].count(0) > 0.4 * half and head[0::2].count(0) < 0.05 * half:
        return "utf-16-le"
    if half and head[0::2].count(0) > 0.4 * half and head[1::2].count(0) < 0.05 * half:
        return "utf-16-be"
    return ""


def _damaged_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few broken characters, rather than another encoding that happens to have a few good ones."""
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd") - data.count("\ufffd".encode())
    good = len(_NOT_ASCII.findall(text)) - text.count("\ufffd")
    return Decoded(text, "utf-8", damaged) if good > 50 * damaged else None


def _korean(data: bytes) -> Decoded | None:
    try:
        text = data.decode("cp949")
    except UnicodeDecodeError:
        return None
    foreign = len(_NOT_ASCII.findall(text))
    return Decoded(text, "cp949") if len(_HANGUL.findall(text)) >= _LEAST_HANGUL * foreign else None


def _western(data: bytes) -> Decoded:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:  # a byte that Windows-1252 leaves undefined
        return Decoded(data.decode("latin-1"), "latin-1")
    latin = data.decode("latin-1")
    return Decoded(latin, "latin-1") if latin == text else Decoded(text, "cp1252")
