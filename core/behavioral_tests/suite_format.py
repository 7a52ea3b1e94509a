"""The format of a behavioural test suite in YAML, and the text edits for invariance tests.

    name: my suite
    slots:                                # words for several tests
      thing: [film, soup, hotel]
    tests:
      - name: plain praise                # minimum functionality: the answer must be the expected one
        capability: vocabulary
        kind: minimum
        expected: positive                # negative, neutral, positive, or a list of all that are right
        texts: ["The {thing} was {good}."]
        slots: {good: [excellent, superb]}
        most: 4                           # fillings of each text at most, drawn with `seed`
      - name: not                         # contrast sets: each filling is a group, which passes if all its texts do
        capability: negation
        kind: minimum
        contrast: [{positive: "I like the {thing}.", negative: "I do not like the {thing}."}]
      - name: capitals                    # invariance: the answer must not change
        capability: robustness
        kind: invariance
        texts: ["The {thing} was dull."]
        edits: [upper case]               # or `vary: thing`, or pairs: [[before, after]]
      - name: very                        # direction: the expected polarity's probability must not weaken, or rise
        capability: intensifiers
        kind: direction
        expected: positive
        must: rise                        # by more than the tolerance; `not weaken` (the default) allows a fall by it
        tolerance: 0.05
        pairs: [["The {thing} was good.", "The {thing} was very good."]]

A word in braces is a slot.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from core.behavioral_tests.suite import LONGEST, Kind, Must, Polarity
from core.text.words import build_mark_class

Edit = Literal["lower case", "upper case", "no punctuation", "exclamation", "typo", "doubled letter"]

_SIGNS = rf"{build_mark_class()}\u200c\u200d"  # vowel signs and joiners, which belong to a letter
_INSIDE = re.compile(r"[^\W\d_]{5,}")  # words long enough to stay readable with a typo


def remove_punctuation(text: str) -> str:
    """Remove punctuation from a text, except apostrophes, hyphens, # and @."""
    return " ".join(re.sub(rf"[^\w\s'’#@{_SIGNS}-]", " ", text).split())


def add_exclamation(text: str) -> str:
    """Replace the full stop at the end of a text by an exclamation mark."""
    return re.sub(r"\.$", "!", text)


def swap_letters(text: str) -> str:
    """Swap two neighbouring letters inside one word of a text; the same text always gets the same change."""
    return _change_word(text, lambda word, at: word[:at] + word[at + 1] + word[at] + word[at + 2 :])


def repeat_letter(text: str) -> str:
    """Repeat one letter inside a word of a text; the same text always gets the same change."""
    return _change_word(text, lambda word, at: word[: at + 1] + word[at:])


EDITS: dict[Edit, Callable[[str], str]] = {
    "lower case": str.lower,
    "upper case": str.upper,
    "no punctuation": remove_punctuation,
    "exclamation": add_exclamation,
    "typo": swap_letters,
    "doubled letter": repeat_letter,
}


def _change_word(text: str, change: Callable[[str, int], str]) -> str:
    """Change the inside of one long word of a text, not its first or last letter, if any word is long enough."""
    words = list(_INSIDE.finditer(text))
    random_ = random.Random(text)
    random_.shuffle(words)
    for word in words:
        places = list(range(1, len(word[0]) - 2))
        random_.shuffle(places)
        for at in places:
            if (changed := change(word[0], at)) != word[0]:
                return text[: word.start()] + changed + text[word.end() :]
    return text


MOST = 4  # fillings of a text, by default
TOLERANCE = 0.1

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
Slots = dict[str, Annotated[list[Text], msgspec.Meta(min_length=1)]]
Pair = Annotated[list[Text], msgspec.Meta(min_length=2, max_length=2)]


class WrittenTest(msgspec.Struct, forbid_unknown_fields=True):
    """A behavioural test as written in a YAML file."""

    name: Name
    capability: Name
    kind: Kind
    about: str = ""
    expected: Polarity | list[Polarity] | None = None
    texts: list[Text] = []
    pairs: list[Pair] = []
    contrast: list[dict[Polarity, Text]] = []
    slots: Slots = {}
    vary: str = ""
    edits: list[Edit] = []
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = MOST
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] = 0
    must: Must = "not weaken"
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1)] = TOLERANCE


class WrittenSuite(msgspec.Struct, forbid_unknown_fields=True):
    """A test suite as written in a YAML file; tests are converted one by one, so that errors name the test."""

    name: Name
    tests: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    about: str = ""
    slots: Slots = {}
