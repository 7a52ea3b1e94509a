"""A suite as a person writes it, in YAML.

    name: my suite
    slots:                                # words that several tests share
      thing: [film, soup, hotel]
    tests:
      - name: plain praise                # minimum functionality: the answer must be what is expected
        capability: vocabulary
        kind: minimum
        expected: positive                # negative, neutral, positive, or a list of all that are right
        texts: ["The {thing} was {good}."]
        slots: {good: [excellent, superb]}
        most: 4                           # fillings of each text at most, drawn with `seed`
      - name: not                         # contrast sets: each filling makes a group, consistent if all of it is right
        capability: negation
        kind: minimum
        contrast: [{positive: "I like the {thing}.", negative: "I do not like the {thing}."}]
      - name: capitals                    # invariance: the answer must not change
        capability: robustness
        kind: invariance
        texts: ["The {thing} was dull."]
        edits: [upper case]               # or `vary: thing`, or pairs: [[before, after]]
      - name: very                        # direction: the expected side's probability must not weaken, or rise
        capability: intensifiers
        kind: direction
        expected: positive
        must: rise                        # by more than the tolerance; `not weaken` (the default) allows a fall by it
        tolerance: 0.05
        pairs: [["The {thing} was good.", "The {thing} was very good."]]

A word in braces is a slot; without one a text is taken as it is.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from core.behaviour.edits import Edit
from core.behaviour.suite import LONGEST, Kind, Must, Polarity

MOST = 4  # fillings of a text, where a test does not say
TOLERANCE = 0.1

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=80)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
Slots = dict[str, Annotated[list[Text], msgspec.Meta(min_length=1)]]
Pair = Annotated[list[Text], msgspec.Meta(min_length=2, max_length=2)]


class WrittenTest(msgspec.Struct, forbid_unknown_fields=True):
    """A test as it stands in the file."""

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
    """The file; its tests are read one by one, so that a flaw is told with the name of the test."""

    name: Name
    tests: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    about: str = ""
    slots: Slots = {}
