"""Edits that a user makes inside a trained model: data, the line of text in a link, and a description in words.

The line is the `edit` of a link, `--edit` of the command line and `edit=` in Python; its parts are separated by commas:

    h1.2              head 2 of layer 1 outputs zero
    c2.1              A₁ of layer 2, in all heads
    m1.2.0            A₀ of head 2 of layer 1
    h1.2:mean         head 2 of layer 1 outputs its mean over the tokens; likewise c2.1:mean and m1.2.0:mean
    l2c1:0.5          λ₁ of layer 2 is 0.50
    l:0.5             every other λ is multiplied by 0.50
    g1.3:0            the gate of the third token in layer 1 is closed (g1.3:0.5: half open)
    s:0.5             half the strength of the lexical term
    s2                the lexical term of layer 2 is off: nothing is added to its scores or multiplied with them
    s2:mean           the scores of layer 2 are multiplied by the mean of the lexical term over the tokens
    t:0.5             all scores are divided by 0.50 before the softmax, so that attention is sharper
    pos:off           no positions are added to words; pos:shuffled: they are exchanged among the words
    seg.0             no segment vectors are added to the tokens of a pair
    mix.0             TF-IDF is removed from the prediction
    step:120          the weights of step 120 of the training, if training.keep has kept them

In the line, layers, heads and tokens are counted from 1, as on the pages, and components from 0 (A₀, A₁ …).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from core.exceptions import InputError
from core.formatting import format_subscript, number
from core.interpret.trace_summary import LearnedLambdas, get_lambda_range, get_learned_lambdas
from core.models.attention_config import Lexical
from core.models.capabilities import list_capabilities
from core.models.config import ModelConfig

if TYPE_CHECKING:
    from core.interpret.sentence_inspection import SentenceView
    from core.models.trace import Intervention, Placing

UNMIXED = "mix.0"
UNSEGMENTED = "seg.0"
STEP = "step:"
MEAN = ":mean"  # Suffix of a part that outputs its mean instead of zero
HOW = {"": "off", MEAN: "at its mean"}


@dataclass(frozen=True)
class Edits:
    """All edits of a trained model's internals, sorted; indices start at 0."""

    lambdas: tuple[tuple[int, int, float], ...] = ()  # (layer, component from 1, value)
    heads_off: tuple[tuple[int, int], ...] = ()  # (layer, head)
    components_off: tuple[tuple[int, int], ...] = ()  # (layer, component)
    maps_off: tuple[tuple[int, int, int], ...] = ()  # (layer, head, component)
    heads_mean: tuple[tuple[int, int], ...] = ()  # Heads at their mean over the tokens, which are not off
    components_mean: tuple[tuple[int, int], ...] = ()
    maps_mean: tuple[tuple[int, int, int], ...] = ()
    gates: tuple[tuple[int, int, float], ...] = ()  # (layer, token, value)
    factor: float = 1.0  # On every λ that is not set
    lexical: float = 1.0  # Factor on the lexical term
    lexical_off: tuple[int, ...] = ()  # Layers whose lexical term is off
    lexical_mean: tuple[int, ...] = ()  # Layers where it is at its mean
    temperature: float = 1.0  # Divisor of all attention scores
    positions: Placing = ""
    segments_off: bool = False  # Without segment vectors of a text pair
    unmixed: bool = False  # Without TF-IDF in the prediction
    step: int | None = None  # Of the training, whose weights are read; None: those of the trained model

    def __bool__(self) -> bool:
        """Return whether any edit changes the trained model."""
        return self != Edits()

    @property
    def inside(self) -> bool:
        """Return whether any edit changes the network itself, rather than its mixture with TF-IDF."""
        return replace(self, unmixed=False, step=None) != Edits()

    def get_lambda(self, layer: int, component: int) -> float | None:
        """Return the edited weight λ of an attention map in a layer; None if it has its learned value."""
        return next((value for *place, value in self.lambdas if place == [layer, component]), None)

    def get_gate(self, layer: int, token: int) -> float | None:
        """Return the edited attention gate of a token in a layer; None if it is the model's own."""
        return next((value for *place, value in self.gates if place == [layer, token]), None)

    def set_value(self, kind: Literal["lambdas", "gates"], place: tuple[int, int], value: float) -> Edits:
        """Return model edits that also set a map weight λ (layer, component) or a gate (layer, token) to a value."""
        others = [part for part in getattr(self, kind) if part[:2] != place]
        changed: dict[str, Any] = {kind: tuple(sorted([*others, (*place, round(value, 4))]))}
        return replace(self, **changed)

    def add_silenced(
        self, kind: Literal["heads", "components", "maps", "lexical"], place: tuple[int, ...] | int, *, mean: bool
    ) -> Edits:
        """Return model edits with one more part (such as a head) silenced, or replaced by its mean over tokens."""
        names = f"{kind}_off", f"{kind}_mean"
        kept = [[each for each in getattr(self, name) if each != place] for name in names]
        kept[mean].append(place)
        changed: dict[str, Any] = {name: tuple(sorted(places)) for name, places in zip(names, kept, strict=True)}
        return replace(self, **changed)

    def to_intervention(self) -> Intervention | None:
        """Convert the edits within the network to an intervention; None if there are none."""
        if not self.inside:
            return None
        from core.models.trace import Intervention  # torch

        names = [f"{kind}_{how}" for kind in ("heads", "components", "maps", "lexical") for how in ("off", "mean")]
        silent: dict[str, Any] = {name: frozenset(getattr(self, name)) for name in names}
        return Intervention(
            self.lambdas,
            lambda_scale=self.factor,
            gates=self.gates,
            lexical_scale=self.lexical,
            temperature=self.temperature,
            positions=self.positions,
            segments_off=self.segments_off,
            **silent,
        )

    def encode_line(self) -> str:
        """Write all model edits as one line for links and the command line; empty without edits."""
        return ",".join(line for parts in self._write_changes().values() for line, _ in parts)

    def describe_changes(self) -> str:
        """Describe all model edits in words: `head 2 of layer 1 off, λ₁ of layer 2 = 0.50`."""
        kinds = self._write_changes()
        first = {name: kinds[name] for name in ("heads", "components")}
        return ", ".join(words for parts in (first | kinds).values() for _, words in parts)

    def _write_changes(self) -> dict[str, list[tuple[str, str]]]:
        """Return model edits by kind, each as its text in a link and as a description in words, in link order."""
        others = "other " * bool(self.lambdas)
        return {
            "lambdas": [
                (f"l{at + 1}c{i}:{value:g}", f"λ{format_subscript(i)} of layer {at + 1} = {number(value, 2)}")
                for at, i, value in self.lambdas
            ],
            "factor": [(f"l:{self.factor:g}", f"all {others}λ × {number(self.factor, 2)}")] * (self.factor != 1),
            "heads": [
                (f"h{at + 1}.{head + 1}{how}", f"head {head + 1} of layer {at + 1} {HOW[how]}")
                for (at, head), how in self._list_silenced("heads")
            ],
            "components": [
                (f"c{at + 1}.{i}{how}", f"A{format_subscript(i)} of layer {at + 1} {HOW[how]}")
                for (at, i), how in self._list_silenced("components")
            ],
            "maps": [
                (
                    f"m{at + 1}.{head + 1}.{i}{how}",
                    f"A{format_subscript(i)} of head {head + 1} of layer {at + 1} {HOW[how]}",
                )
                for (at, head, i), how in self._list_silenced("maps")
            ],
            "gates": [
                (
                    f"g{at + 1}.{token + 1}:{value:g}",
                    f"gate of token {token + 1} in layer {at + 1} = {number(value, 2)}",
                )
                for at, token, value in self.gates
            ],
            "strength": [(f"s:{self.lexical:g}", f"lexical term × {number(self.lexical, 2)}")] * (self.lexical != 1),
            "lexical": [
                (f"s{at + 1}{how}", f"lexical term of layer {at + 1} {HOW[how]}")
                for at, how in self._list_silenced("lexical")
            ],
            "temperature": [(f"t:{self.temperature:g}", f"attention temperature = {number(self.temperature, 2)}")]
            * (self.temperature != 1),
            "positions": [(f"pos:{self.positions}", f"positions {self.positions}")] * bool(self.positions),
            "segments": [(UNSEGMENTED, "first and second text alike")] * self.segments_off,
            "mixture": [(UNMIXED, "TF-IDF taken out")] * self.unmixed,
            "step": [(f"{STEP}{self.step}", f"weights of step {self.step}")] * (self.step is not None),
        }

    def _list_silenced(self, kind: str) -> list[tuple[Any, str]]:
        """Return the silenced parts of a kind, such as heads, and those fixed at their mean, with link suffixes."""
        both = (("", getattr(self, f"{kind}_off")), (MEAN, getattr(self, f"{kind}_mean")))
        return [(place, how) for how, places in both for place in places]


UNCHANGED = Edits()

LONGEST = 4_000  # Characters of a line, enough for all parts of any model
STRONGEST = 3.0  # Factor on the lexical term
LARGEST = 2.0  # Factor on every λ
COLDEST, HOTTEST = 0.1, 4.0  # Temperatures of attention
PLACINGS: tuple[Placing, ...] = ("off", "shuffled")
"""What can be done to positions."""
_NUMBER = r"(-?\d{1,2}(?:\.\d{1,4})?)"
_FACTOR = re.compile(rf"l:{_NUMBER}", re.ASCII)
_LAMBDA = re.compile(rf"l(\d{{1,3}})c(\d{{1,3}}):{_NUMBER}", re.ASCII)
_GATE = re.compile(rf"g(\d{{1,3}})\.(\d{{1,4}}):{_NUMBER}", re.ASCII)
_TEMPERATURE = re.compile(rf"t:{_NUMBER}", re.ASCII)
_STRENGTH = re.compile(rf"s:{_NUMBER}", re.ASCII)
_SWITCH = re.compile(r"([hc]\d{1,3}\.\d{1,3}|m\d{1,3}\.\d{1,3}\.\d{1,3}|s\d{1,3})(:mean)?", re.ASCII)


@dataclass(frozen=True)
class Editable:
    """The parts of a model that can be edited for a text, and the range in which attention-map weights λ can be set."""

    layers: int
    heads: int
    components: int
    low: float
    high: float
    mixed: bool = False  # Whether TF-IDF is mixed into the predictions
    gated: int = 0  # Tokens of the text that have a gate in each layer
    lexical: Lexical = "none"  # How a lexicon changes the scores
    segments: bool = False  # Whether the text is a pair with segment vectors
    placed: bool = False  # Whether positions are added to words, or turn queries and keys
    steps: tuple[int, ...] = ()  # Of the training whose weights are kept

    @property
    def syntax_help(self) -> str:
        """Return help on which parts of a model can be edited, and how to write the edits."""
        several, low, high = self.components > 1, number(self.low, 1), number(self.high, 1)
        found = (
            (self.layers, f"layers 1 to {self.layers} with heads 1 to {self.heads} (h1.1)"),
            (several, f"components 0 to {self.components - 1} (c1.0, m1.1.0)"),
            (several, f"λ from {low} to {high} (l1c1:{self.high:g}, all: l:0.5)"),
            (self.gated, f"gates of tokens 1 to {self.gated} from 0 to 1 (g1.1:0)"),
            (self.lexical == "add", f"a lexical term (s:0 to s:{STRONGEST:g}, of a layer: s1)"),
            (self.lexical == "hadamard", "a lexical term in each layer (s1, s1:mean)"),
            (self.layers, f"the temperature of attention (t:{COLDEST:g} to t:{HOTTEST:g})"),
            (self.placed, "positions (pos:off, pos:shuffled)"),
            (self.segments, f"segments of a pair ({UNSEGMENTED})"),
            (self.mixed, f"TF-IDF mixed in ({UNMIXED})"),
            (self.steps, f"weights of steps {', '.join(map(str, self.steps))} ({STEP}{max(self.steps, default=0)})"),
        )
        there = [words for has, words in found if has]
        return ", ".join(there) or "nothing that can be changed when it reads this text"

    def read_link(self, text: str) -> tuple[Edits, int]:
        """Parse the model edits in a link; return them, and how many parts of the link do not fit this model."""
        found, left_out = UNCHANGED, 0
        for part in _split_parts(text):
            try:
                found = self._apply_part(found, part)
            except InputError:
                left_out += 1
        return found, left_out + (len(text) > LONGEST)

    def parse_edits(self, text: str) -> Edits:
        """Parse a line of model edits; a wrong part raises an InputError that lists the possible edits."""
        if len(text) > LONGEST:
            raise InputError(f"--edit: {LONGEST} characters at most")
        found = UNCHANGED
        for part in _split_parts(text):
            found = self._apply_part(found, part)
        return found

    def update_link(self, text: str, levers: Mapping[str, str | None]) -> Edits:
        """Return a link's edits after changes: `levers` maps the start of a part (`h1.2`) to a new part, or None."""
        link = self.read_link(text)[0].encode_line()  # normalises a line that was written by hand
        kept = [part for part in link.split(",") if part.partition(":")[0] not in levers]
        return self.read_link(",".join([*kept, *filter(None, levers.values())]))[0]

    def _apply_part(self, edits: Edits, part: str) -> Edits:
        if (step := part.removeprefix(STEP)) != part:
            found = replace(edits, step=int(step)) if step in map(str, self.steps) else None
        else:
            found = self._add_part(edits, part)
        if found is None:
            raise InputError(f"--edit {part:.40}: this run has {self.syntax_help}")
        return found

    def _add_part(self, edits: Edits, part: str) -> Edits | None:
        if part == UNMIXED:
            return replace(edits, unmixed=True) if self.mixed else None
        if part == UNSEGMENTED:
            return replace(edits, segments_off=True) if self.segments else None
        if match := _LAMBDA.fullmatch(part):
            layer, component, value = int(match[1]) - 1, int(match[2]), float(match[3])
            known = 0 <= layer < self.layers and 1 <= component < self.components and self.low <= value <= self.high
            return edits.set_value("lambdas", (layer, component), value) if known else None
        if match := _FACTOR.fullmatch(part):
            value = float(match[1])
            return replace(edits, factor=value) if self.components > 1 and 0 <= value <= LARGEST else None
        if match := _GATE.fullmatch(part):
            layer, token, value = int(match[1]) - 1, int(match[2]) - 1, float(match[3])
            known = 0 <= layer < self.layers and 0 <= token < self.gated
            return edits.set_value("gates", (layer, token), value) if known and 0 <= value <= 1 else None
        if match := _STRENGTH.fullmatch(part):
            value = float(match[1])
            return replace(edits, lexical=value) if self.lexical == "add" and 0 <= value <= STRONGEST else None
        if match := _TEMPERATURE.fullmatch(part):
            value = float(match[1])
            return replace(edits, temperature=value) if self.layers and COLDEST <= value <= HOTTEST else None
        if way := next((each for each in PLACINGS if part == f"pos:{each}"), None):
            return replace(edits, positions=way) if self.placed else None
        match = _SWITCH.fullmatch(part)
        return self._switch_part(edits, match[1], mean=match[2] is not None) if match else None

    def _switch_part(self, edits: Edits, part: str, *, mean: bool) -> Edits | None:
        layer, *rest = (int(each) for each in part[1:].split("."))
        heads, components = range(1, self.heads + 1), range(self.components)
        match part[0], rest if 1 <= layer <= self.layers else None:
            case "s", [] if self.lexical != "none":
                return edits.add_silenced("lexical", layer - 1, mean=mean)
            case "c", [i] if i in components:
                return edits.add_silenced("components", (layer - 1, i), mean=mean)
            case "h", [head] if head in heads:
                return edits.add_silenced("heads", (layer - 1, head - 1), mean=mean)
            case "m", [head, i] if head in heads and i in components:
                return edits.add_silenced("maps", (layer - 1, head - 1, i), mean=mean)
        return None


NOTHING = Editable(0, 0, 0, 0.0, 0.0)  # For a model without attention maps


def _split_parts(text: str) -> Iterator[str]:
    return (part.strip() for part in text[:LONGEST].split(",") if part.strip())


def refuse_words(text: str) -> None:
    """Raise an InputError if a line of model edits names a word or token, which other texts do not have."""
    parts = list(_split_parts(text))
    if not parts:
        raise InputError(f"--edit {text:.40}: this names no part; name one, such as h1.2 or l:0")
    for part in parts:
        if _GATE.fullmatch(part) or "=" in part:
            raise InputError(
                f"--edit {part:.40}: this names a word of one text; an edit of many texts names parts of the model, "
                "such as h1.2, c1.1, l:0, s1, t:0.5 or pos:off"
            )


def get_editable(model: ModelConfig, learned: LearnedLambdas) -> Editable:
    """Return which parts of a model can be edited for any text."""
    attention = model.attention
    placed = model.family == "encoder" and (model.position != "none" or attention.rotary)
    limits = get_lambda_range(attention, learned)
    return Editable(model.layers, attention.heads, attention.components, *limits, placed=placed)


def get_text_editable(model: ModelConfig, trained: SentenceView) -> Editable:
    """Return which parts of a model can be edited when it reads a certain text."""
    mixed = trained.mix is not None
    if not trained.layers or not trained.tokens or trained.too_long:
        return replace(NOTHING, mixed=mixed)
    return replace(
        get_editable(model, get_learned_lambdas(trained, model.attention.subtracts)),
        mixed=mixed,
        gated=len(trained.tokens) - bool(trained.filled) if "gates" in list_capabilities(model) else 0,
        lexical=model.attention.lexical,
        segments=trained.segments is not None,
    )
