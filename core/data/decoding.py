"""Decoding of bytes to text; the encoding of a file is found by trial and plausibility, or guessed.

`charset_normalizer` guesses a legacy encoding; text that was decoded wrongly is detected.
"""

import codecs
import contextlib
import dataclasses
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from encodings import normalize_encoding
from encodings.aliases import aliases

from core.exceptions import DataError, try_call

_TRIED = 10_000  # Bytes of each part that are tried in each encoding
_PARTS, _LEAST_LINES = 4, 12  # Parts of a text that are scored apart, if it has so many lines
_IMPOSSIBLE = 0.1  # Messiness of a part in an encoding that cannot read it
_COHERENCE = 0.3  # Weight of a text's likeness to a language against its messiness, both from 0 to 1
_MESSIEST = 0.4  # A text with more mess is in no language
_HANDICAPS = dict.fromkeys("cp1257 euc-jp cp932 koi8-r koi8-u".split(), 0.02)
_HANDICAPS |= dict.fromkeys("cp1253 cp1255 cp1256 cp874 iso8859-7".split(), 0.05)
_HANDICAPS |= dict.fromkeys("cp437 cp850 cp852 cp857 cp866 cp1258 mac-cyrillic".split(), 0.12)
_HANDICAPS |= dict.fromkeys("iso8859-5 iso8859-6 iso8859-8".split(), 0.12)
_HANDICAPS |= {"cp1252": 0.0, "cp1251": 0.0, "shift_jis": 0.0, "big5": -0.005, "cp949": 0.005, "gb18030": 0.005}
_HANDICAPS |= {"iso8859-2": -0.013, "cp1250": -0.012, "cp1254": -0.01, "mac-roman": -0.01}
"""Encoding → added messiness, so that usual ones win ties; of similar ones, the one that misreads the other first."""
_SIGNS = "€£§°©®²³´½¿¡·•™‰–—‘’“”…«»\xa0"
_LETTERS = "àáâãäåæçèéêëìíîïñòóôöøùúûüßœÀÁÂÄÅÆÇÈÉÊÌÍÑÒÓÔÖØÙÚÜŒ"
_WESTERN = re.compile(f"(?:[\x00-\x7f{_SIGNS}]|[{_LETTERS}]{{1,2}}(?![^\x00-\x7f]))+")
"""Western signs and letters, alone or in twos between ASCII characters."""


def guess_encoding(data: bytes) -> list[str]:
    """Return the likeliest encodings of bytes that are not UTF-8, each with another text, best first; maybe none."""
    lines = list(dict.fromkeys(line for line in data.splitlines(keepends=True) if not line.isascii()))
    # A damaged byte rules out the right encoding, but only in its part of the lines.
    parts = [b"".join(lines[n::_PARTS])[:_TRIED] for n in range(_PARTS)] if len(lines) >= _LEAST_LINES else []
    sample = b"".join(lines)[: _PARTS * _TRIED]
    scores = Counter[str]()
    for part in parts or [sample]:
        found = _score_encodings(part[: part.rfind(b"\n") + 1] or part)  # it may end inside a character
        scores.update({name: found.get(name, _IMPOSSIBLE) for name in (*scores, *found)})
    texts: dict[str, str] = {}
    for name in sorted(scores, key=lambda name: scores[name]):
        texts.setdefault(sample.decode(name, "replace"), name)
    if (western := sample.decode("cp1252", "replace")) in texts or _WESTERN.fullmatch(western):
        texts[western] = "cp1252"
    first = ["cp1252"] if _WESTERN.fullmatch(western) else []
    return list(dict.fromkeys([*first, *texts.values()]))


def _score_encodings(sample: bytes) -> dict[str, float]:
    """Return the messiness of bytes in each encoding that can read them, less their likeness to a language."""
    from charset_normalizer import from_bytes

    found = from_bytes(sample, cp_isolation=list(_HANDICAPS), threshold=_MESSIEST, enable_fallback=False)
    every = ((_NAMES.get(each.encoding), each) for match in found for each in (match, *match.submatch))
    return {name: each.chaos - _COHERENCE * each.coherence + _HANDICAPS[name] for name, each in every if name}


def normalize_name(encoding: str) -> str:
    """Return the name of Python's module for an encoding, given the encoding's name or alias."""
    plain = normalize_encoding(encoding).lower()
    return aliases.get(plain, plain)


_NAMES = {normalize_name(name): name for name in _HANDICAPS}

_RUN = re.compile("[^\x00-\x7f]{2,}|[\x80-\x84\x86-\x9f]")
_USUAL_LEADS = {bytes([lead]) for lead in (*range(0xC2, 0xC6), *range(0xE0, 0xF5))}
"""First UTF-8 bytes of Latin letters and signs; a single garbled character must be one of them."""
_READ_AS = ("cp1252", "cp1251", "mac-roman")  # Encodings with which programs misread UTF-8
_SEARCHED = 1_000_000


@dataclass(frozen=True)
class GarbledText:
    """Garbled text (mojibake): text that was written in one encoding and read as another, with an example."""

    places: int
    run: str
    meant: str
    encoding: str
    read_as: str


def find_garbled(text: str) -> GarbledText | None:
    """Find text that was decoded wrongly (mojibake) before it was written to a file; return None if there is none."""
    runs = Counter(_RUN.findall(text[:_SEARCHED]))
    found = [(run, *decoded, number) for run, number in runs.items() if (decoded := _decode_run(run))]
    if not found:
        return None
    run, meant, codec, _ = max(found, key=lambda each: len(each[0]) > 1)
    places = sum(number for *_, number in found)
    return GarbledText(places, run, meant, "cp1252" if codec == "latin-1" else "utf-8", codec)


def _decode_run(run: str) -> tuple[str, str] | None:
    """Decode a garbled run of characters back to UTF-8, and name the encoding it was misread as; None if impossible."""
    if len(run) == 1:
        meant = run.encode("latin-1").decode("cp1252", "ignore")
        return (meant, "latin-1") if meant else None
    # A single decoded character must be a usual one: `’é` in correct French would give an Armenian letter.
    for codec in _READ_AS:
        with contextlib.suppress(UnicodeError):
            data = run.encode(codec, "latin-1-rest" if codec.startswith("cp125") else "strict")
            meant = data.decode("utf-8")
            if len(meant) > 1 or data[:1] in _USUAL_LEADS:
                return meant, codec
    return None


def _encode_latin1(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    return error.object[error.start : error.end].encode("latin-1"), error.end


codecs.register_error("latin-1-rest", _encode_latin1)  # Bytes that Windows leaves undefined


ENCODINGS = (
    *("utf-8", "utf-16", "cp1252", "latin-1", "cp949", "shift_jis", "gb18030", "cp1251"),
    *("ascii", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-32", "euc-kr", "cp932", "euc-jp", "iso2022-jp", "gbk"),
    *("gb2312", "big5", "big5hkscs", "koi8-r", "koi8-u", "cp866", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("cp1257", "cp1258", "cp874", "tis-620", "iso8859-2", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8"),
    *("iso8859-9", "iso8859-15", "cp437", "cp850", "cp852", "cp857", "mac-roman", "mac-cyrillic"),
)  # The accepted encodings, usual ones first; Python's other codecs are no text encodings, such as `zlib`

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x19\x1b-\x1f]")
_NOT_ASCII = re.compile("[^\x00-\x7f]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_SAMPLE = 1_000_000  # Bytes that are searched for binary data, and for alternatives to a chosen encoding
_UTF8_LINES = 0.05  # Share of non-ASCII lines in UTF-8, from which on the others are in a second encoding
_MOST_CONTROL = 0.01  # Share of control characters in a text, at most


@dataclass(frozen=True)
class DecodedText:
    """The decoded text of a file, with its encoding, other possible encodings and counts of damaged characters."""

    text: str
    encoding: str  # The encoding; `utf-8+X` if the lines that are not UTF-8 are in encoding X
    damaged: int = 0  # Characters that could not be read
    others: tuple[str, ...] = ()  # Other possible encodings, the likeliest first; empty: the encoding is certain
    proof: str = ""  # A line whose text depends on the encoding
    second: int = 0  # Lines in the second encoding
    nuls: int = 0
    named: bool = False  # Whether the user chose the encoding; `others` then has those that would have been detected


def decode_bytes(data: bytes, encoding: str = "", *, file: str = "", guess: DecodedText | None = None) -> DecodedText:
    """Decode the bytes of a file to text; detect or guess the encoding if none is given.

    `encoding` is one of `ENCODINGS`, an alias of one, or `utf-8+X` with the encoding X for lines that are not UTF-8;
    empty: found by byte-order mark, zero bytes (UTF-16) or validity (UTF-8), else guessed (`guess_encoding`).
    `guess` is the guess for several files together.
    """
    nuls = 0 if data.startswith(_WIDE_BOMS) or _detect_utf16(data) else data.count(0)
    if 0 < nuls <= _MOST_CONTROL * len(data):
        data = data.replace(b"\0", b"")
    if encoding:
        decoded = _decode_as(data, encoding, file)
        found = guess.others if guess else _find_others(data)
        others = tuple(each for each in found if each != decoded.encoding)
        decoded = dataclasses.replace(decoded, named=True, others=others)
    else:
        decoded = _decode_certain(data) or (_decode_guessed(data, guess) if guess else _decode_legacy(data, file))
    text = decoded.text.removeprefix("\ufeff").replace("\n\ufeff", "\n")  # byte-order marks of concatenated files
    _refuse_binary(text, file)
    return dataclasses.replace(decoded, text=text, nuls=nuls)


def decode_together(files: Mapping[str, bytes], encoding: str = "", *, folder: str = "") -> list[DecodedText]:
    """Decode the files of one data set (name → bytes); guess one encoding for all files whose encoding is uncertain."""
    if encoding:
        unnamed = DecodedText("", encoding, others=_find_others(b"\n".join(files.values())))
        return [decode_bytes(data, encoding, file=name, guess=unnamed) for name, data in files.items()]
    uncertain = {name: data for name, data in files.items() if _decode_certain(data) is None}
    for name, data in uncertain.items():
        _refuse_binary(data[:1_000_000].replace(b"\0", b"").decode("latin-1"), name)
    guess = decode_bytes(b"\n".join(uncertain.values()), file=folder) if uncertain else None
    return [decode_bytes(data, file=name, guess=guess) for name, data in files.items()]


def _find_others(data: bytes) -> tuple[str, ...]:
    """Return the encodings that would be guessed for a file if the user had not set one, the likeliest first."""
    lines = [line for line in data[:_SAMPLE].splitlines(keepends=True) if not line.isascii()]
    sample = data[:_SAMPLE] if _detect_utf16(data) or data.startswith(_WIDE_BOMS) else b"".join(lines)
    try:
        found = _decode_certain(sample) or _decode_legacy(sample, "")
    except DataError:
        return ()
    return (found.encoding, *found.others) if sample else ()


def decode_line(line: bytes, encoding: str) -> str:
    """Decode one line of a file; if the file mixes two encodings (`utf-8+X`), choose the one that fits the line."""
    first, _, second = encoding.partition("+")
    return line.decode(second if second and _is_legacy(line) else first, "replace")


def _refuse_binary(text: str, file: str) -> None:
    if "\0" in text or len(_CONTROL.findall(text[:1_000_000])) > _MOST_CONTROL * min(len(text), 1_000_000):
        formats = "CSV, TSV, JSON, JSON Lines, XLSX, Parquet or plain text (or name its encoding with data.encoding)"
        raise DataError(f"this is not a text file; give {formats}", file=file)


def replace_surrogates(text: str) -> str:
    """Join halves of surrogate pairs and replace lone ones, so that a text can be stored as UTF-8."""
    if not _LONE_SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _decode_as(data: bytes, encoding: str, file: str) -> DecodedText:
    first, _, second = encoding.partition("+")
    codec, further = (_MODULES.get(normalize_name(each)) if each else "" for each in (first, second))
    if codec is None or further is None:
        unknown = second if further is None else first
        raise DataError(f"unknown encoding '{unknown}'; use one of {', '.join(ENCODINGS)}", file=file)
    if second:
        return _decode_lines(data, codecs.lookup(str(further)).name)
    try:
        return DecodedText(data.decode(codec, "strict"), codecs.lookup(codec).name)
    except UnicodeError:
        seems = (_decode_certain(data) or _decode_legacy(data, file)).encoding
        raise DataError(f"cannot be read as {encoding}; it seems to be {seems}", file=file) from None


_MODULES = {normalize_name(name): name for name in ENCODINGS}


def _decode_certain(data: bytes) -> DecodedText | None:
    """Decode the bytes of a file if the encoding is certain, such as valid UTF-8; return None if it must be guessed."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return DecodedText(data.decode(name, "replace"), name)
    if wide := _detect_utf16(data):
        return DecodedText(data.decode(wide, "replace"), wide)
    if b"\x1b$" in data and data.isascii():
        return DecodedText(data.decode("iso2022-jp", "replace"), "iso2022-jp")
    text = try_call(UnicodeDecodeError, None, data.decode, "utf-8")
    return None if text is None else DecodedText(text, "utf-8")


def _decode_guessed(data: bytes, guess: DecodedText) -> DecodedText:
    first, _, second = guess.encoding.partition("+")
    if second:
        return dataclasses.replace(_decode_lines(data, second), others=guess.others, proof=guess.proof)
    text = data.decode(first, "replace")
    damaged = max(0, text.count("\ufffd") - data.count("\ufffd".encode()))
    return DecodedText(text, first, damaged, guess.others, guess.proof)


def _detect_utf16(data: bytes) -> str:
    """Return the UTF-16 variant of bytes without a byte-order mark, judged by zero bytes; else empty."""
    head = data[:20_000]
    half = len(head) // 2
    if half and head[1::2].count(0) > 0.4 * half and head[0::2].count(0) < 0.05 * half:
        return "utf-16-le"
    if half and head[0::2].count(0) > 0.4 * half and head[1::2].count(0) < 0.05 * half:
        return "utf-16-be"
    return ""


def _decode_legacy(data: bytes, file: str) -> DecodedText:
    """Decode bytes that are not all valid UTF-8: as damaged UTF-8, or in a guessed legacy encoding."""
    _refuse_binary(data[:_SAMPLE].decode("latin-1"), file)
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    if not (legacy := [line for line in lines if _is_legacy(line)]):
        text = data.decode("utf-8", "replace")
        return DecodedText(text, "utf-8", text.count("\ufffd") - data.count("\ufffd".encode()))
    if not (found := guess_encoding(b"".join(legacy))):
        problem = "its encoding is unknown: it is not UTF-8, and no other encoding gives words of a language"
        raise DataError(f"{problem}; if you know it, name it with data.encoding, such as cp1251", file=file)
    # Windows-1252 leaves bytes undefined.
    western = found[0] == "cp1252" and try_call(UnicodeDecodeError, None, data.decode, "cp1252")
    encoding = "latin-1" if western in (None, data.decode("latin-1")) else found[0]
    usual = (each for each in ENCODINGS if each not in (encoding, "latin-1"))
    usual = (each for each in usual if try_call(UnicodeError, "", data.decode, each))
    others = tuple(dict.fromkeys([*found[1:], *usual]))[:3]
    proof = _find_excerpt(legacy, encoding)
    if len(lines) - len(legacy) > _UTF8_LINES * len(lines):
        others = (encoding, *(f"utf-8+{each}" for each in others))
        return dataclasses.replace(_decode_lines(data, found[0]), others=others, proof=proof)
    text = data.decode(encoding, "replace")
    return DecodedText(text, encoding, text.count("\ufffd"), others, proof)


def _is_legacy(line: bytes) -> bool:
    """Return whether a line of bytes is in a legacy encoding, rather than UTF-8 with a few broken characters."""
    try:
        line.decode()
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        damaged = text.count("\ufffd") - line.count("\ufffd".encode())
        return len(_NOT_ASCII.findall(text)) - text.count("\ufffd") <= 3 * damaged
    return False


def _decode_lines(data: bytes, second: str) -> DecodedText:
    lines = data.splitlines(keepends=True)
    legacy = sum(map(_is_legacy, lines))
    text = "".join(decode_line(line, f"utf-8+{second}") for line in lines)
    damaged = text.count("\ufffd") - data.count("\ufffd".encode())
    return DecodedText(text, f"utf-8+{second}", max(0, damaged), second=legacy)


def _find_excerpt(lines: list[bytes], encoding: str) -> str:
    """Return an excerpt of the second line (as the first may be a header) around its first non-ASCII character."""
    text = lines[min(1, len(lines) - 1)].decode(encoding, "replace").strip()
    found = _NOT_ASCII.search(text)
    start = max(0, (found.start() if found else 0) - 40)
    return text[start : start + 100]
