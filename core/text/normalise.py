"""Text before it is cut into tokens: what a normaliser changes, step by step."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable

from core.exceptions import ConfigError

Step = Callable[[str], str]

URL_MARK, USER_MARK = "<url>", "<user>"

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# The last branch is how TweetEval writes a link it has removed.
_URL = re.compile(r"(?:https?://|www\.)\S+|\bhttps?\b", re.IGNORECASE)
_USER = re.compile(r"(?<!\w)@[A-Za-z0-9_]+")
_HASHTAG = re.compile(r"(?<!\w)#([^\s#]+)")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})


def _compose(text: str) -> str:
    """One code point sequence per character (NFC); half characters, which no file can hold, become U+FFFD."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))


def _fold_blanks(text: str) -> str:
    """Line breaks, control characters and runs of blanks become one blank; characters without width go."""
    if not text.isprintable():
        text = _INVISIBLE.sub("", _CONTROL.sub(" ", text))
    return " ".join(text.split())


def _unescape(text: str) -> str:
    return html.unescape(text) if "&" in text else text


def _mark_links(text: str) -> str:
    return _URL.sub(f" {URL_MARK} ", text)


def _mark_users(text: str) -> str:
    return _USER.sub(f" {USER_MARK} ", text)


def _split_hashtags(text: str) -> str:
    """`#BuyTheDip` becomes `# Buy The Dip`: the mark stays visible and the words are known words."""
    return _HASHTAG.sub(lambda found: " # " + _HUMP.sub(" ", found[1]) + " ", text)


def _straighten_quotes(text: str) -> str:
    return text.translate(_QUOTES)


_COMPOSE = ("one form per character", _compose)
_FOLD = ("blanks folded", _fold_blanks)
_LOWER = ("lower case", str.lower)

NORMALISERS: dict[str, tuple[tuple[str, Step], ...]] = {
    "none": (_FOLD, _COMPOSE),
    "lower": (_FOLD, _LOWER, _COMPOSE),
    "tweet": (
        # Entities first: what they hide (an emoji, a blank) is text like any other.
        ("HTML entities", _unescape),
        _FOLD,
        ("links marked", _mark_links),
        ("user names marked", _mark_users),
        ("hashtags split", _split_hashtags),
        ("quotes straightened", _straighten_quotes),
        _LOWER,
        _COMPOSE,
        _FOLD,
    ),
}


def normalise(text: str, kind: str) -> str:
    """The text that the tokenizer reads; a second application changes nothing but HTML entities.

    Raises:
        ConfigError: for an unknown kind.
    """
    for _, change in _steps_of(kind):
        text = change(text)
    return text


def steps(text: str, kind: str) -> list[tuple[str, str]]:
    """Every step that changed something, as (name, text after it), for display; empty if the text stays as typed."""
    shown = []
    for name, change in _steps_of(kind):
        changed = change(text)
        if changed != text:
            shown.append((name, changed))
        text = changed
    return shown


def _steps_of(kind: str) -> tuple[tuple[str, Step], ...]:
    if kind not in NORMALISERS:
        raise ConfigError(f"text.normaliser={kind!r}: one of {', '.join(NORMALISERS)}")
    return NORMALISERS[kind]
