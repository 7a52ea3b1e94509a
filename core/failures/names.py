"""What codes and their authors are called, and how what people type is kept."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from core.exceptions import InputError

LONGEST = 60
"""Characters of the name of a code, and of an author."""
LONGEST_TEXT = 4000
"""Of a definition, an example and a note."""
SEPARATOR = ";"
"""Between the codes of a row in a file, so in no name."""
JOINERS = "\u200c\u200d"
"""Between letters of Persian and parts of emoji."""
BLANK = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs that are drawn as nothing."""
_VISITOR = re.compile(r"\?[0-9a-f]{12}")


def nameless(token: str) -> str:
    """The author of a visitor who gives no name, so that two of them are two: under 12 digits from 0 to f."""
    return f"?{token}"


def has_name(author: str) -> bool:
    """Whether an author is a name that a person gave."""
    return bool(author) and not _VISITOR.fullmatch(author)


def known_as(author: str) -> str:
    """An author for people."""
    return author if has_name(author) else "(no name)"


def author_name(author: str) -> str:
    """An author as kept; empty: whoever gives no name.

    Raises:
        InputError: it is too long, or holds what nobody sees.
    """
    return _line(author, "author") if author.strip() else ""


def code_name(name: str, what: str = "code") -> str:
    """The name of a code, or of something else that stands in lists, as kept.

    Raises:
        InputError: it is none.
    """
    found = _line(name, what)
    if not found or SEPARATOR in found:
        raise InputError(f"{what} {name!r:.80}: a name of one line without {SEPARATOR!r}, which stands between codes")
    return found


def _line(text: str, what: str) -> str:
    found = unicodedata.normalize("NFC", " ".join(_sound(text).split()))
    if len(found) > LONGEST:
        raise InputError(f"{what} {found[:30]!r}…: at most {LONGEST} characters")
    if hidden := [each for each in found if _is_hidden(each)]:
        raise InputError(f"{what} {found!r:.80}: holds the character U+{ord(hidden[0]):04X}, which nobody sees")
    if found and not any(unicodedata.category(each)[0] in "LNPS" for each in found):
        raise InputError(f"{what} {found!r:.80}: has no letter, digit or sign that can be seen")
    return found


def _is_hidden(sign: str) -> bool:
    """Return whether a character is a control, a change of direction or a blank; joiners of letters are not."""
    return sign in BLANK or (unicodedata.category(sign) in ("Cc", "Cf") and sign not in JOINERS)


def sound_text(text: str, longest: int = LONGEST_TEXT) -> str:
    """A definition, example or note as kept.

    Raises:
        InputError: it is too long.
    """
    found = _sound(text).strip()
    if len(found) > longest:
        raise InputError(f"{found[:30]!r}…: at most {longest} characters, these are {len(found)}")
    return found


def _sound(text: str) -> str:
    """Without halves of characters and NUL, which no file can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "")


def found_name(name: str, names: Iterable[str]) -> str:
    """A code as the book has it: upper and lower case are one; empty: it has none of this name."""
    same = [each for each in names if each.casefold() == name.casefold()]
    return name if name in same else next(iter(same), "")
