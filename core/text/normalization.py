"""Normalisation of texts before tokenisation, with a look-alike table whose version a run stores."""

import dataclasses
import functools
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from html.entities import html5
from operator import methodcaller
from typing import Any

from core.exceptions import ConfigError
from core.text.config import LOOKALIKES, TextConfig
from core.text.text_pairs import MARK, replace_sign, split_pair
from core.text.words import EMOJI, build_mark_class, split_words

ENTITY = r"&(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
BREAK = re.compile(r"</?\s*br\b[^<>]{0,80}>", re.IGNORECASE)
_APOSTROPHES = "\u2018\u2019\u201b\u02bc\u00b4`"
_WIDTHS = ("<wide>", "<narrow>")
_LIGATURES = ((0x132, 0x133), (0x1C4, 0x1CC), (0x1F1, 0x1F3), (0xFB00, 0xFB4F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC))
"""Latin digraphs, Latin, Armenian and Hebrew ligatures, Arabic presentation forms."""
Replace = Callable[[re.Match[str]], str]


@functools.cache
def build_lookalike_forms() -> dict[str, str]:
    """Return character → NFKC form for wide and narrow characters and for ligatures."""
    found: dict[str, str] = {}
    for code in (*range(0x3000, 0x3001), *range(0xFF00, 0xFFEF)):
        tag, *parts = unicodedata.decomposition(chr(code)).split() or [""]
        # Only one decomposition step, so that narrow Hangul letters stay letters and do not become parts of syllables.
        if tag in _WIDTHS:
            found[chr(code)] = "".join(chr(int(part, 16)) for part in parts)
    for first, last in _LIGATURES:
        for code in range(first, last + 1):
            if unicodedata.decomposition(chr(code)).startswith("<"):
                # The form of a single vowel sign has a blank before the sign.
                found[chr(code)] = unicodedata.normalize("NFKC", chr(code)).strip()
    return found


def _decode_entity(entity: re.Match[str]) -> str:
    """Decode an HTML entity; a name that only begins like a known entity stays unchanged."""
    return html.unescape(entity[0]) if (entity[0][1] == "#" or entity[0][1:] in html5) else entity[0]


@functools.cache
def build_lookalike_steps() -> tuple[tuple[re.Pattern[str], Replace], ...]:
    """Build the steps that replace look-alike characters, in their order: a pattern, and what it is replaced by."""
    forms = build_lookalike_forms()
    letter, before = r"[^\W\d_]", rf"(?:(?<=[^\W\d_])|(?<=[{build_mark_class()}]))"
    joined = rf"{EMOJI}[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f]*\u200d(?={EMOJI})"
    return (
        # Entities first, as the decoded text may contain a tag.
        (re.compile(ENTITY), _decode_entity),
        (BREAK, lambda found: " "),
        (re.compile(f"[{''.join(map(re.escape, forms))}]"), lambda found: forms[found[0]]),
        (re.compile("\u200b"), lambda found: " "),
        (re.compile(rf"({joined})|\u200d"), lambda found: found[1] or ""),
        # Variation selectors are invisible; a non-joiner has an effect only between letters.
        (re.compile(rf"[\ufe0e\ufe0f]|\u200c(?!{letter})|(?<![\w{build_mark_class()}])\u200c"), lambda found: ""),
        (re.compile(rf"{before}[{_APOSTROPHES}](?={letter})"), lambda found: "'"),
    )


def replace_lookalikes(text: str, version: int = LOOKALIKES) -> str:
    """Replace look-alike characters in a text, unless `version` is 0."""
    if not version or (text.isascii() and not any(sign in text for sign in "&<`")):
        return text
    for pattern, replace in build_lookalike_steps():
        text = pattern.sub(replace, text)
    return text


def replace_with_places(text: str, places: Sequence[int], version: int = LOOKALIKES) -> tuple[str, list[int]]:
    """Replace look-alike characters in a text, and shift the given positions in the text accordingly."""
    if replace_lookalikes(text, version) == text:
        return text, [*places]
    found = [*places]
    for pattern, replace in build_lookalike_steps():
        moved, parts, end, length = [0] * (len(text) + 1), list[str](), 0, 0
        for match in pattern.finditer(text):
            start, stop = match.span()
            moved[end : start + 1] = range(length, length + start - end + 1)
            parts += [text[end:start], replace(match)]
            length += start - end + len(parts[-1])
            moved[start + 1 : stop + 1] = [length] * (stop - start)
            end = stop
        if end:
            moved[end + 1 :] = range(length + 1, length + 1 + len(text) - end)
            text, found = "".join(parts) + text[end:], [moved[place] for place in found]
    return text, found


Step = Callable[[str], str]

URL_MARK, USER_MARK = "<url>", "<user>"
LONG_MARK, CAPITALS_MARK = "xxlong", "xxcaps"  # Only letters, so later steps keep them and BPE can make each one piece

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Not every "www." is a link: "awww... so sweet".
LINK = r"(?:https?://|(?<!\w)www\.(?=\w))\S+"
# The last branch is how TweetEval writes a link it has removed.
_URL = re.compile(rf"{LINK}|\bhttps?\b", re.IGNORECASE)
USER = r"(?<!\w)@[A-Za-z0-9_]+"
_USER = re.compile(USER)
HASHTAG = re.compile(r"(?<!\w)#(?!\ufe0f?\u20e3)([^\s#]+)")  # not in a keycap emoji
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# The cleaning of 7ess-Xin, section III-A: `http://`, `https://` or `www.` links, and handles `@username`.
_PAPER_URL = re.compile(LINK, re.IGNORECASE)
_PAPER_USER = re.compile(r"@\w+")
# The released code also matches inside a word ("awwww"), and up to the next blank.
_RELEASED_URL = re.compile(r"(?:http|www)\S+", re.IGNORECASE)
_RELEASED_USER = re.compile(r"@\S+")
TAG = re.compile(r"#(\w+)")
_INNER = rf"{build_mark_class()}\u200c\u200d"
# Emoji and apostrophes are removed ("don't" → "dont"); vowel signs and joiners belong to the letter before them.
_NO_WORD = re.compile(rf"[^\w\s{_INNER}]|(?<![\w{_INNER}])[{_INNER}]+")
# The released code also removes vowel signs, in scripts that write vowels above and below letters.
_NO_RELEASED_WORD = re.compile(r"[^\w\s]")
_DIGITS = re.compile(r"\d+")
# Links and @names are no words: the first two branches match them, so that the third does not.
_LETTERS = rf"(?:[^\W\d_][{build_mark_class()}]*)+"
_WORD_OUTSIDE = re.compile(rf"{LINK}|@\w+|(?<!\w)({_LETTERS}(?:['’]{_LETTERS})*)(?!\w)", re.IGNORECASE)
_RUN = re.compile(r"([^\W\d_])\1{2,}(\Z)?", re.IGNORECASE)
QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"'})


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which no file can hold, by U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _compose_unicode(text: str) -> str:
    """Normalise a text to NFC; lone surrogates become U+FFFD."""
    return text if text.isascii() else unicodedata.normalize("NFC", _replace_surrogates(text))


def _fold_blanks(text: str) -> str:
    """Replace line breaks, control characters and runs of blanks in a text by a blank; drop zero-width characters."""
    return " ".join((text if text.isprintable() else INVISIBLE.sub("", CONTROL.sub(" ", text))).split())


def _mark_elongation(text: str) -> str:
    """Shorten drawn-out words in a text, and mark them: "soooo coooool" → "so xxlong cool xxlong"."""

    def shorten_word(found: re.Match[str]) -> str:
        short = _RUN.sub(lambda run: run[1] if run[2] is not None else run[1] * 2, found[1] or "")
        return f"{short} {LONG_MARK}" if short != (found[1] or "") else found[0]

    return _WORD_OUTSIDE.sub(shorten_word, text)


def _mark_capitals(text: str) -> str:
    """Add the mark xxcaps after each word of two or more letters that are all capitals."""

    def mark_word(found: re.Match[str]) -> str:
        word, done = found[1] or "", found.string.startswith(f" {CAPITALS_MARK}", found.end())
        return f"{word} {CAPITALS_MARK}" if len(word) > 1 and word.isupper() and not done else found[0]

    return _WORD_OUTSIDE.sub(mark_word, text)


_COMPOSE = ("one form per character", _compose_unicode)
_FOLD = ("blanks folded", _fold_blanks)
_LOWER = ("lower case", str.lower)
_ELONGATION = ("drawn-out words marked", _mark_elongation)
_CAPITALS = ("words in capitals marked", _mark_capitals)
_LOOKALIKES: tuple[Step, ...] = (str, replace_lookalikes)


def _build_cleaning(
    links: re.Pattern[str], users: re.Pattern[str], no_words: re.Pattern[str]
) -> tuple[tuple[str, Step], ...]:
    """Return the text cleaning steps of the tweet encoder models, in their order."""
    return (
        _FOLD,
        _COMPOSE,
        _LOWER,
        ("links removed", partial(links.sub, "")),
        ("user names removed", partial(users.sub, "")),
        ("hash signs removed", partial(TAG.sub, r"\1")),
        ("only letters, digits and underscores", partial(no_words.sub, "")),
        ("digits removed", partial(_DIGITS.sub, "")),
        _FOLD,
    )


NORMALIZERS: dict[str, tuple[tuple[str, Step], ...]] = {
    "raw": (("lone surrogates replaced", _replace_surrogates),),
    "none": (_FOLD, _COMPOSE),
    "lower": (_FOLD, _LOWER, _COMPOSE),
    "tweet": (
        # Entities first, as the decoded text may contain an emoji or a blank.
        ("HTML entities", html.unescape),
        _FOLD,
        ("links marked", partial(_URL.sub, f" {URL_MARK} ")),
        ("user names marked", partial(_USER.sub, f" {USER_MARK} ")),
        # `#BuyTheDip` becomes `# Buy The Dip`.
        ("hashtags split", lambda text: HASHTAG.sub(lambda found: f" # {HUMP.sub(' ', found[1])} ", text)),
        ("quotes straightened", methodcaller("translate", QUOTES)),
        _LOWER,
        _COMPOSE,
        _FOLD,
    ),
    "tweet-clean": _build_cleaning(_PAPER_URL, _PAPER_USER, _NO_WORD),
    "tweet-clean-as-released": _build_cleaning(_RELEASED_URL, _RELEASED_USER, _NO_RELEASED_WORD),
}


def prepare_all(texts: Iterable[str], config: TextConfig) -> list[str]:
    """Normalise many texts by the normaliser and options in the settings; see `prepare`."""
    changes = [change for _, change in choose_steps(config)]
    return [apply_steps(text, changes) for text in texts]


def prepare(text: str, config: TextConfig, *, cased: bool = False) -> str:
    """Normalise a text, or both texts of a pair, by the settings; `cased` omits lower-casing, for a tagger."""
    return apply_steps(text, [change for _, change in choose_steps(config, cased)])


def measure_lengths(text: str, places: Sequence[int], config: TextConfig) -> list[int]:
    """Return the length of the normalised text before each of the given positions in the typed text."""
    plain, found = replace_with_places(text, places, config.lookalikes)
    plain = plain if split_pair(text) else replace_sign(plain)  # a pair mark that a replacement made is no mark
    rest = [change for _, change in choose_steps(config) if change is not _LOOKALIKES[config.lookalikes]]
    whole = len(apply_steps(plain, rest))
    return [min(whole, len(apply_steps(plain[:place], rest))) for place in found]


def list_steps(text: str, config: TextConfig) -> list[tuple[str, str]]:
    """Return each normalisation step that changed the text, as (name, text after it), for display."""
    shown = []
    for name, change in choose_steps(config):
        if (changed := apply_steps(text, [change])) != text:
            shown.append((name, changed))
        text = changed
    return shown


def apply_steps(text: str, changes: Iterable[Step]) -> str:
    """Apply normalisation steps to a text, or to each text of a pair, so that steps do not see the pair mark."""
    if parts := split_pair(text):
        return MARK.join(apply_steps(part, changes) for part in parts)
    for change in changes:
        text = change(text)
    return text


@functools.lru_cache(1024)
def choose_steps(config: TextConfig, cased: bool = False) -> tuple[tuple[str, Step], ...]:
    """Return the name and function of each step of the settings' normalisation, in order."""
    if config.normaliser not in NORMALIZERS:
        raise ConfigError(f"text.normaliser={config.normaliser!r}: one of {', '.join(NORMALIZERS)}")
    chosen = NORMALIZERS[config.normaliser]
    # Marks are set after blanks are folded, and before steps that remove capitals or split words.
    first = chosen.index(_FOLD) + 1 if _FOLD in chosen else 1
    marks = (*((_ELONGATION,) * config.mark_elongation), *((_CAPITALS,) * config.mark_capitals))
    table = (("look-alikes", _LOOKALIKES[config.lookalikes]),) if config.lookalikes else ()
    return tuple(step for step in (*table, *chosen[:first], *marks, *chosen[first:]) if not (cased and step is _LOWER))


MATTERS = ("normaliser", "lookalikes", "mark_elongation", "mark_capitals", "tokenizer")


def make_text_keys(texts: Iterable[str], config: TextConfig) -> list[str]:
    """Return a comparison key for each text; texts with equal keys are the same to every model with these settings.

    The key is the words and marks of the normalised text for the word tokenizer, else the normalised text. Texts that
    differ only in an unknown word, or only after the truncation of a long text, have different keys.
    """
    prepared = prepare_all(texts, config)
    return [" ".join(split_words(text)) for text in prepared] if config.tokenizer == "word" else prepared


def get_key_settings(config: TextConfig) -> dict[str, Any]:
    """Return the text settings that the comparison keys of texts depend on (see `make_text_keys`)."""
    known = dataclasses.asdict(config)
    return {name: known[name] for name in known if name in MATTERS and (name != "lookalikes" or known[name])}
