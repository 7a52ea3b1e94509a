"""Validation and normalisation of annotation code names, annotator names, definitions and notes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from core.exceptions import InputError

LONGEST = 60  # characters of a code's or an author's name
LONGEST_TEXT = 4000  # characters of a definition, an example or a note
SEPARATOR = ";"  # separates codes in files, so names must not contain it
JOINERS = "\u200c\u200d"  # needed between Persian letters and between parts of an emoji
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs that fonts draw as empty space
_VISITOR = re.compile(r"\?[0-9a-f]{12}")


def make_visitor_id(token: str) -> str:
    """Return the annotator ID of a visitor who gave no name: `?` and 12 hex digits that keep visitors apart."""
    return f"?{token}"


def has_name(author: str) -> bool:
    """Return whether an annotator gave a name, rather than having a generated visitor ID."""
    return bool(author) and not _VISITOR.fullmatch(author)


def name_author(author: str) -> str:
    """Return an annotator's name for display, `(no name)` for a generated visitor ID."""
    return author if has_name(author) else "(no name)"


def clean_author(author: str) -> str:
    """Normalise an annotator's name, empty for no name; InputError if too long or with hidden characters."""
    return _clean_line(author, "author") if author.strip() else ""


def clean_code_name(name: str, what: str = "code") -> str:
    """Normalise the name of an annotation code or label; InputError if the name is invalid."""
    found = _clean_line(name, what)
    if not found or SEPARATOR in found:
        raise InputError(f"{what} {name!r:.80}: write a name of one line without {SEPARATOR!r}, which separates codes")
    return found


def _clean_line(text: str, what: str) -> str:
    found = unicodedata.normalize("NFC", " ".join(_drop_invalid(text).split()))
    if len(found) > LONGEST:
        raise InputError(f"{what} {found[:30]!r}…: at most {LONGEST} characters")
    if hidden := [each for each in found if _is_hidden(each)]:
        raise InputError(f"{what} {found!r:.80}: holds the character U+{ord(hidden[0]):04X}, which is invisible")
    if found and not any(unicodedata.category(each)[0] in "LNPS" for each in found):
        raise InputError(f"{what} {found!r:.80}: has no visible letter, digit or sign")
    return found


def _is_hidden(sign: str) -> bool:
    """Return whether a character is invisible (control, format or blank); zero-width joiners do not count."""
    return sign in BLANK or (unicodedata.category(sign) in ("Cc", "Cf") and sign not in JOINERS)


def clean_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """Normalise a typed text, such as a definition or note, before it is stored; InputError if it is too long."""
    found = _drop_invalid(text).strip()
    if len(found) > longest:
        raise InputError(f"{found[:30]!r}…: at most {longest} characters, these are {len(found)}")
    return found


def _drop_invalid(text: str) -> str:
    """Remove NUL from a text and replace lone surrogates, which no file can store."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def match_name(name: str, names: Iterable[str]) -> str:
    """Return the spelling of a name in a list, ignoring letter case; empty if the list lacks it."""
    same = [each for each in names if each.casefold() == name.casefold()]
    return name if name in same else next(iter(same), "")
