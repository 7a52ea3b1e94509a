"""What can be changed inside a model when it reads a text, and the changes that a line asks for (`edits`). No torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from core.exceptions import InputError
from core.interpret.edits import UNCHANGED, UNMIXED, UNSEGMENTED, Edits
from core.interpret.trace_summary import Learned, learned, reach
from core.models.attention_config import Lexical
from core.models.config import ModelConfig
from core.models.provides import provides
from core.numbers import number

if TYPE_CHECKING:
    from core.interpret.sentence import SentenceView

LONGEST = 4_000  # Characters of a line that are looked at: more than any model has parts to change
STRONGEST = 3.0  # Factor on the lexical term
LARGEST = 2.0  # Factor on every λ
_NUMBER = r"(-?\d{1,2}(?:\.\d{1,4})?)"
_FACTOR = re.compile(rf"l:{_NUMBER}", re.ASCII)
_LAMBDA = re.compile(rf"l(\d{{1,3}})c(\d{{1,3}}):{_NUMBER}", re.ASCII)
_GATE = re.compile(rf"g(\d{{1,3}})\.(\d{{1,4}}):{_NUMBER}", re.ASCII)
_STRENGTH = re.compile(rf"s:{_NUMBER}", re.ASCII)
_SWITCH = re.compile(r"([hc]\d{1,3}\.\d{1,3}|m\d{1,3}\.\d{1,3}\.\d{1,3}|s\d{1,3})(:mean)?", re.ASCII)
_PIECE = re.compile(r"n(\d{1,4})\.(\d{1,3})", re.ASCII)


@dataclass(frozen=True)
class Editable:
    """What a model has that can be changed when it reads a text, and where its λ may be put."""

    layers: int
    heads: int
    components: int
    low: float
    high: float
    tokens: tuple[str, ...] = ()  # Of the text
    pieces: tuple[tuple[str, ...], ...] = ()  # Those of each token; empty where the model reads none
    mixed: bool = False  # Whether TF-IDF is mixed into the answers
    gated: int = 0  # Tokens of the text that have a gate in each layer
    lexical: Lexical = "none"  # What a lexicon does to the scores
    segments: bool = False  # Whether something is added for the text of a pair that a token stands in

    @property
    def has(self) -> str:
        """What can be changed, with how to write it."""
        several, low, high = self.components > 1, number(self.low, 1), number(self.high, 1)
        found = (
            (self.layers, f"layers 1 to {self.layers} with heads 1 to {self.heads} (h1.1)"),
            (several, f"components 0 to {self.components - 1} (c1.0, m1.1.0)"),
            (several, f"λ from {low} to {high} (l1c1:{self.high:g}, all: l:0.5)"),
            (self.gated, f"gates of tokens 1 to {self.gated} from 0 to 1 (g1.1:0)"),
            (self.lexical == "add", f"a lexical term (s:0 to s:{STRONGEST:g}, of a layer: s1)"),
            (self.lexical == "hadamard", "a lexical term in each layer (s1, s1:mean)"),
            (any(self.pieces), "pieces of words (n1.1, or word=piece)"),
            (self.segments, f"segments of a pair ({UNSEGMENTED})"),
            (self.mixed, f"TF-IDF mixed in ({UNMIXED})"),
        )
        there = [words for has, words in found if has]
        return ", ".join(there) or "nothing that can be changed when it reads this text"

    def read(self, text: str) -> tuple[Edits, int]:
        """The changes that a link asks for, and how many of its parts this model cannot follow (they are left out)."""
        found, left_out = UNCHANGED, 0
        for part in _parts(text):
            try:
                found = self._with(found, part)
            except InputError:
                left_out += 1
        return found, left_out + (len(text) > LONGEST)

    def asked(self, text: str) -> Edits:
        """Return the changes that a line asks for.

        Raises:
            InputError: a part of it cannot be followed; says which, and what there is.
        """
        if len(text) > LONGEST:
            raise InputError(f"--edit: {LONGEST} characters at most")
        found = UNCHANGED
        for part in _parts(text):
            found = self._with(found, part)
        return found

    def moved(self, text: str, levers: Mapping[str, str | None]) -> Edits:
        """Return the changes of a link after some of its parts were moved.

        `levers` has, by what a part begins with (`h1.2`, `l2c1`), the whole part, or None to leave it as trained.
        """
        link = self.read(text)[0].encode()  # one written by hand may say the same otherwise
        kept = [part for part in link.split(",") if part.partition(":")[0] not in levers]
        return self.read(",".join([*kept, *filter(None, levers.values())]))[0]

    def _with(self, edits: Edits, part: str) -> Edits:
        found = self._named(edits, part) if "=" in part else self._add(edits, part)
        if found is None:
            raise InputError(f"--edit {part:.40}: this run has {self.has}")
        return found

    def _named(self, edits: Edits, part: str) -> Edits | None:
        """A piece of a word by name, wherever the word stands."""
        word, _, piece = (each.strip() for each in part.partition("="))
        if not any(self.pieces):
            return None
        places = [place for place, token in enumerate(self.tokens) if token == word and self.pieces[place]]
        if not places:
            raise InputError(f"--edit {part:.40}: no word {word!r:.80} in the text: {' '.join(self.tokens):.200}")
        for place in places:
            own = self.pieces[place]
            if piece not in own:
                there = " ".join(own)
                raise InputError(f"--edit {part:.40}: {word!r:.80} has no piece {piece!r:.80}; it has {there:.200}")
            for at in (at for at, name in enumerate(own) if name == piece):
                edits = edits.with_piece(place, at)
        return edits

    def _add(self, edits: Edits, part: str) -> Edits | None:
        if part == UNMIXED:
            return replace(edits, unmixed=True) if self.mixed else None
        if part == UNSEGMENTED:
            return replace(edits, segments_off=True) if self.segments else None
        if match := _LAMBDA.fullmatch(part):
            layer, component, value = int(match[1]) - 1, int(match[2]), float(match[3])
            known = 0 <= layer < self.layers and 1 <= component < self.components and self.low <= value <= self.high
            return edits.with_value("lambdas", (layer, component), value) if known else None
        if match := _FACTOR.fullmatch(part):
            value = float(match[1])
            return replace(edits, factor=value) if self.components > 1 and 0 <= value <= LARGEST else None
        if match := _GATE.fullmatch(part):
            layer, token, value = int(match[1]) - 1, int(match[2]) - 1, float(match[3])
            known = 0 <= layer < self.layers and 0 <= token < self.gated
            return edits.with_value("gates", (layer, token), value) if known and 0 <= value <= 1 else None
        if match := _STRENGTH.fullmatch(part):
            value = float(match[1])
            return replace(edits, lexical=value) if self.lexical == "add" and 0 <= value <= STRONGEST else None
        if match := _PIECE.fullmatch(part):
            token, piece = int(match[1]) - 1, int(match[2]) - 1
            known = 0 <= token < len(self.pieces) and 0 <= piece < len(self.pieces[token])
            return edits.with_piece(token, piece) if known else None
        match = _SWITCH.fullmatch(part)
        return self._switch(edits, match[1], mean=match[2] is not None) if match else None

    def _switch(self, edits: Edits, part: str, *, mean: bool) -> Edits | None:
        layer, *rest = (int(each) for each in part[1:].split("."))
        heads, components = range(1, self.heads + 1), range(self.components)
        match part[0], rest if 1 <= layer <= self.layers else None:
            case "s", [] if self.lexical != "none":
                return edits.with_silent("lexical", layer - 1, mean=mean)
            case "c", [i] if i in components:
                return edits.with_silent("components", (layer - 1, i), mean=mean)
            case "h", [head] if head in heads:
                return edits.with_silent("heads", (layer - 1, head - 1), mean=mean)
            case "m", [head, i] if head in heads and i in components:
                return edits.with_silent("maps", (layer - 1, head - 1, i), mean=mean)
        return None


NOTHING = Editable(0, 0, 0, 0.0, 0.0)  # Of a model without maps


def _parts(text: str) -> Iterator[str]:
    return (part.strip() for part in text[:LONGEST].split(",") if part.strip())


def editable(model: ModelConfig, learned: Learned) -> Editable:
    """What can be changed in this model, whatever it reads."""
    attention = model.attention
    return Editable(model.layers, attention.heads, attention.components, *reach(attention, learned))


def allowed(model: ModelConfig, trained: SentenceView) -> Editable:
    """What can be changed in a model that reads a text, by what it shows of it as trained."""
    mixed = trained.mix is not None
    if not trained.layers or not trained.tokens or trained.too_long:
        return replace(NOTHING, mixed=mixed)
    return replace(
        editable(model, learned(trained, model.attention.subtracts)),
        tokens=trained.tokens,
        pieces=trained.pieces or (),
        mixed=mixed,
        gated=len(trained.tokens) - bool(trained.filled) if "gates" in provides(model) else 0,
        lexical=model.attention.lexical,
        segments=trained.segments is not None,
    )
