"""A guess of a text's legacy encoding by `charset_normalizer`, and the detection of text that was decoded wrongly."""

import codecs
import contextlib
import re
from collections import Counter
from dataclasses import dataclass
from encodings import normalize_encoding
from encodings.aliases import aliases

_SAMPLE = 50_000  # Bytes that are tried in each encoding
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
    from charset_normalizer import from_bytes

    lines = dict.fromkeys(line for line in data.splitlines(keepends=True) if not line.isascii())
    sample = b"".join(lines)[:_SAMPLE]
    sample = sample[: sample.rfind(b"\n") + 1] or sample  # may end inside a character
    scores: dict[str, tuple[float, str]] = {}
    for match in from_bytes(sample, cp_isolation=list(_HANDICAPS), threshold=_MESSIEST, enable_fallback=False):
        for each in (match, *match.submatch):
            if encoding := _NAMES.get(each.encoding):
                score = each.chaos - _COHERENCE * each.coherence + _HANDICAPS[encoding]
                text = sample.decode(encoding, "replace")
                scores[text] = min(scores.get(text, (1.0, "")), (score, encoding))
    ranked, western = sorted(scores, key=scores.__getitem__), sample.decode("cp1252", "replace")
    found = ["cp1252" if text == western else scores[text][1] for text in ranked]
    return list(dict.fromkeys(("cp1252", *found))) if _WESTERN.fullmatch(western) else found


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
