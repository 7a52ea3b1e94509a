"""The construction of test cases from a written test, with errors that name the invalid field."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from core.behaviour.suite import LONGEST, MOST_CASES, MOST_CHARACTERS, Case, Polarity, SuiteTest
from core.behaviour.written import EDITS, Edit, Slots, WrittenTest
from core.numbers import count
from core.stored import Flaw

_SLOT = re.compile(r"\{(\w+)\}")

Words = Mapping[str, Sequence[str]]  # by slot what may stand in it
Make = Callable[[Mapping[str, str]], list[Case]]


@dataclass(frozen=True)
class _Form:
    """A template of cases: a text, a pair or a contrast set."""

    slots: tuple[str, ...]
    make: Make  # words of the slots → cases
    words: Words


MOST_FILLINGS = 10 * MOST_CASES  # of all texts of a suite together, at most; many may come to the same case


@dataclass
class SuiteSize:
    """The size of a suite while it is built; what exceeds the limits is refused before it is made."""

    fillings: int = 0
    characters: int = 0

    def fill(self, fillings: int, most: int) -> None:
        """Count fillings before they are made; Flaw if the suite has too many."""
        self.fillings += fillings
        if self.fillings > MOST_FILLINGS:
            raise Flaw("most", most, f"lower it: the suite comes to more than {count(MOST_FILLINGS)} fillings")

    def write(self, cases: Sequence[Case], most: int) -> None:
        """Count the characters of cases; Flaw if the suite has too many."""
        self.characters += sum(len(text) for case in cases for text in case.texts)
        if self.characters > MOST_CHARACTERS:
            raise Flaw("most", most, f"lower it: the suite comes to more than {count(MOST_CHARACTERS)} characters")


def build(written: WrittenTest, shared: Slots, made: SuiteSize) -> SuiteTest:
    """Build a test with all its sentences; its own slots override the `shared` slots of the suite.

    Raises Flaw if a field is missing, belongs to another kind, leads to no sentence, or to too many.
    """
    _check_fields(written)
    words: Words = {**shared, **written.slots}
    forms = list(_forms(written, words))
    _check_slots(written, words, forms)
    found: dict[tuple[str, ...], Case] = {}
    for number, form in enumerate(forms):
        size, template = combinations(form.slots, form.words), f"{written.name} {number}"
        made.fill(min(size, written.most), written.most)
        for drawn in draw(size, written.most, f"{written.seed} {number}"):
            cases = form.make(filling(form.slots, form.words, drawn))
            made.write(cases, written.most)
            for case in cases:
                found.setdefault((*case.texts, case.group), replace(case, template=template))
        if len(found) > MOST_CASES:  # before all of a monster is made
            raise Flaw("most", written.most, f"lower it: the test comes to more than {count(MOST_CASES)} cases")
    if not found:
        raise Flaw("edits", list(written.edits), "an edit that changes at least one of the texts")
    return SuiteTest(
        written.name,
        written.capability,
        written.kind,
        tuple(found.values()),
        written.about,
        written.must,
        written.tolerance if written.kind == "direction" else 0.0,
    )


def _texts(written: WrittenTest) -> list[str]:
    pairs = [text for pair in written.pairs for text in pair]
    return [*written.texts, *pairs, *(text for each in written.contrast for text in each.values())]


def _check_fields(written: WrittenTest) -> None:
    """Check that a test has the fields that its kind needs, and no fields of another kind."""
    kind, given = written.kind, [name for name in ("texts", "pairs", "contrast") if getattr(written, name)]
    allowed = {"minimum": ("texts", "contrast"), "invariance": ("pairs", "texts"), "direction": ("pairs",)}[kind]
    if len(given) != 1 or given[0] not in allowed:
        said = " and ".join(given) or "nothing"
        raise Flaw("", None, f"kind {kind} takes {' or '.join(allowed)}, one of them; given is {said}")
    expects = kind == "direction" or (kind == "minimum" and not written.contrast)
    if expects and not written.expected:
        raise Flaw("", None, "the field expected is missing: negative, neutral or positive")
    if not expects and written.expected:
        why = "each text of a contrast says it" if written.contrast else "kind invariance expects no answer"
        raise Flaw("expected", written.expected, f"leave it out: {why}")
    if kind == "direction" and written.expected not in ("negative", "positive"):
        raise Flaw("expected", written.expected, "negative or positive, the side that is looked at")
    if kind == "invariance" and written.texts and bool(written.vary) == bool(written.edits):
        raise Flaw("", None, "kind invariance with texts takes either vary (a slot) or edits")
    if (written.vary or written.edits) and not (kind == "invariance" and written.texts):
        raise Flaw("vary" if written.vary else "edits", written.vary or list(written.edits), "only invariance has it")
    if any(len(each) < 2 for each in written.contrast):
        raise Flaw("contrast", written.contrast[0], "two texts or more that expect different answers")


def _check_slots(written: WrittenTest, words: Words, forms: list[_Form]) -> None:
    used = set(slots_of(_texts(written)))
    if missing := sorted(used - words.keys()):
        known = f"known here are {', '.join(sorted(words))}" if words else "none has any here"
        raise Flaw("slots", missing[0], f"{{{missing[0]}}} stands in a text, so give it words; {known}")
    if idle := [name for name in written.slots if name not in used]:
        raise Flaw("slots", idle[0], "a slot that a text uses, as {" + idle[0] + "}")
    for name in sorted(used):
        if len(set(words[name])) < len(words[name]):
            raise Flaw(f"slots.{name}", list(words[name]), "every word once")
    if written.vary and (
        any(written.vary not in slots_of((text,)) for text in written.texts) or len(words[written.vary]) < 2
    ):
        raise Flaw("vary", written.vary, "a slot of every text with two words or more")


def _forms(written: WrittenTest, words: Words) -> Iterator[_Form]:
    for text in written.texts:
        if written.vary:
            yield _varied(text, written.vary, words)
        elif written.kind == "invariance":
            yield _Form(slots_of((text,)), _edited(text, written.edits), words)
        else:
            yield _Form(slots_of((text,)), _single(text, _answers(written)), words)
    for before, after in written.pairs:
        yield _Form(slots_of((before, after)), _pair(before, after, _answers(written)), words)
    for number, contrast in enumerate(written.contrast):
        yield _Form(slots_of(tuple(contrast.values())), _contrast(contrast, f"{written.name} {number}"), words)


def _answers(written: WrittenTest) -> tuple[Polarity, ...]:
    if written.expected is None:
        return ()
    return (written.expected,) if isinstance(written.expected, str) else tuple(dict.fromkeys(written.expected))


def _single(text: str, expected: tuple[Polarity, ...]) -> Make:
    return lambda chosen: [Case((filled(text, chosen),), expected)]


def _pair(before: str, after: str, expected: tuple[Polarity, ...]) -> Make:
    def make(chosen: Mapping[str, str]) -> list[Case]:
        """Return the pair as a case, if its texts differ."""
        texts = filled(before, chosen), filled(after, chosen)
        return [Case(texts, expected)] if texts[0] != texts[1] else []

    return make


def _edited(text: str, edits: Sequence[Edit]) -> Make:
    def make(chosen: Mapping[str, str]) -> list[Case]:
        """Return a case for each edit that changes the text."""
        plain = filled(text, chosen)
        changed = dict.fromkeys(EDITS[name](plain) for name in edits)
        return [Case((plain, other)) for other in changed if other != plain]

    return make


def _varied(text: str, vary: str, words: Words) -> _Form:
    """Build pairs of a text: the slot's first word against each of its other words."""
    first, *others = words[vary]

    def make(chosen: Mapping[str, str]) -> list[Case]:
        """Return the pair with the first word and another one."""
        return [Case((filled(text, {**chosen, vary: first}), filled(text, chosen)))]

    return _Form(slots_of((text,)), make, {**words, vary: others})


def _contrast(contrast: Mapping[Polarity, str], name: str) -> Make:
    def make(chosen: Mapping[str, str]) -> list[Case]:
        """Return the cases of the contrast set."""
        group = " ".join((name, *chosen.values()))
        return [Case((filled(text, chosen),), (polarity,), group=group) for polarity, text in contrast.items()]

    return make


def slots_of(templates: Sequence[str]) -> tuple[str, ...]:
    """Return the slots of templates that are filled together, in order of appearance."""
    return tuple(dict.fromkeys(name for template in templates for name in _SLOT.findall(template)))


def combinations(names: Sequence[str], words: Words) -> int:
    """Return the number of ways to fill the slots; 1 without slots."""
    return math.prod(len(words[name]) for name in names)


def filling(names: Sequence[str], words: Words, number: int) -> dict[str, str]:
    """Return the word of each slot in combination `number`; the last slot changes fastest."""
    chosen = {}
    for name in reversed(names):
        number, place = divmod(number, len(words[name]))
        chosen[name] = words[name][place]
    return chosen


def filled(template: str, chosen: Mapping[str, str]) -> str:
    """Fill the slots of a template; Flaw if the sentence would be too long."""
    parts = _SLOT.split(template)  # a slot's name at every second place
    parts[1::2] = [chosen[name] for name in parts[1::2]]
    if sum(map(len, parts)) > LONGEST:
        raise Flaw("", None, f"with its slots filled '{template:.40}…' has more than {count(LONGEST)} characters")
    return "".join(parts)


def draw(size: int, most: int, seed: str) -> list[int]:
    """Return the sorted numbers of the combinations to use: all if at most `most`, else a seeded sample.

    None of them is made here, so that they may be very many.
    """
    if size <= most:
        return list(range(size))
    random_, chosen = random.Random(seed), set[int]()
    while len(chosen) < most:  # not `sample`, which needs a size that fits the machine's words
        chosen.add(random_.randrange(size))
    return sorted(chosen)
