"""The construction of behavioural test cases from a written test, with errors that name the invalid field."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.behavioral_tests.suite import LONGEST, MOST_CASES, MOST_CHARACTERS, Polarity, SuiteCase, SuiteTest
from core.behavioral_tests.suite_format import EDITS, Edit, Slots, WrittenTest
from core.formatting import count
from core.json_store import Flaw

_SLOT = re.compile(r"\{(\w+)\}")

Words = Mapping[str, Sequence[str]]  # slot → the words that can fill it
Make = Callable[[Mapping[str, str]], list[SuiteCase]]  # slot → chosen word, to cases


@dataclass(frozen=True)
class _Form:
    """A template with slots that makes test cases: a text, a text pair or a contrast set."""

    templates: Sequence[str]
    make: Make
    words: Words


MOST_FILLINGS = 10 * MOST_CASES  # of all templates of a suite, at most; several fillings may give the same case


@dataclass
class SuiteSize:
    """The size of a test suite while it is built; a suite beyond the limits is refused before its cases are made."""

    fillings: int = 0
    characters: int = 0

    def count_fillings(self, fillings: int, most: int) -> None:
        """Count the filled templates of a test suite before they are made; raises the error Flaw beyond the limit."""
        self.fillings += fillings
        if self.fillings > MOST_FILLINGS:
            raise Flaw("most", most, f"lower it: the suite comes to more than {count(MOST_FILLINGS)} fillings")

    def count_characters(self, cases: Sequence[SuiteCase], most: int) -> None:
        """Count the characters of all test cases of a suite; raises the error Flaw if there are too many."""
        self.characters += sum(len(text) for case in cases for text in case.texts)
        if self.characters > MOST_CHARACTERS:
            raise Flaw("most", most, f"lower it: the suite comes to more than {count(MOST_CHARACTERS)} characters")


def build_test(written: WrittenTest, shared: Slots, made: SuiteSize) -> SuiteTest:
    """Build a behavioural test with all its cases; slots of the test override `shared` slots of the same name.

    Raises Flaw if a field is missing or belongs to another kind, or if there are no cases or too many.
    """
    _check_fields(written)
    words: Words = {**shared, **written.slots}
    forms = list(_build_forms(written, words))
    _check_slots(written, words, forms)
    found: dict[tuple[str, ...], SuiteCase] = {}
    for number, form in enumerate(forms):
        slots, template = find_slots(form.templates), f"{written.name} {number}"
        size = count_combinations(slots, form.words)
        made.count_fillings(min(size, written.most), written.most)
        for drawn in draw_numbers(size, written.most, f"{written.seed} {number}"):
            cases = form.make(choose_words(slots, form.words, drawn))
            made.count_characters(cases, written.most)
            for case in cases:
                found.setdefault((*case.texts, case.group), replace(case, template=template))
        if len(found) > MOST_CASES:  # checked early, before a huge test is complete
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


def _check_fields(written: WrittenTest) -> None:
    """Check that a behavioural test has the fields that its kind needs, and no fields of another kind."""
    kind, given = written.kind, [name for name in ("texts", "pairs", "contrast") if getattr(written, name)]
    allowed = {"minimum": ("texts", "contrast"), "invariance": ("pairs", "texts"), "direction": ("pairs",)}[kind]
    if len(given) != 1 or given[0] not in allowed:
        found = " and ".join(given) or "nothing"
        raise Flaw("", None, f"kind {kind} takes {' or '.join(allowed)}, one of them; given is {found}")
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
    used = {name for form in forms for name in find_slots(form.templates)}
    if missing := sorted(used - words.keys()):
        known = f"known here are {', '.join(sorted(words))}" if words else "none has any here"
        raise Flaw("slots", missing[0], f"{{{missing[0]}}} stands in a text, so give it words; {known}")
    if idle := [name for name in written.slots if name not in used]:
        raise Flaw("slots", idle[0], "a slot that a text uses, as {" + idle[0] + "}")
    for name in sorted(used):
        if len(set(words[name])) < len(words[name]):
            raise Flaw(f"slots.{name}", list(words[name]), "every word once")
    vary_everywhere = all(written.vary in find_slots((text,)) for text in written.texts)
    if written.vary and not (vary_everywhere and len(words[written.vary]) > 1):
        raise Flaw("vary", written.vary, "a slot of every text with two words or more")


def _build_forms(written: WrittenTest, words: Words) -> Iterator[_Form]:
    given = written.expected or ()
    expected = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    for text in written.texts:
        if written.vary:
            first, *others = words[written.vary]
            make = partial(_make_variation, text, {written.vary: first})
            yield _Form((text,), make, {**words, written.vary: others})
        elif written.kind == "invariance":
            yield _Form((text,), partial(_make_edits, text, written.edits), words)
        else:
            yield _Form((text,), partial(_make_case, (text,), expected), words)
    for pair in written.pairs:
        yield _Form(pair, partial(_make_case, pair, expected), words)
    for number, contrast in enumerate(written.contrast):
        make = partial(_make_contrast, contrast, f"{written.name} {number}")
        yield _Form(tuple(contrast.values()), make, words)


def _make_case(templates: Sequence[str], expected: tuple[Polarity, ...], chosen: Mapping[str, str]) -> list[SuiteCase]:
    """Return the filled texts as a test case, if they all differ."""
    texts = tuple(fill_template(each, chosen) for each in templates)
    return [SuiteCase(texts, expected)] if len(set(texts)) == len(texts) else []


def _make_edits(text: str, edits: Sequence[Edit], chosen: Mapping[str, str]) -> list[SuiteCase]:
    """Return a test case for each edit that changes the filled text."""
    plain = fill_template(text, chosen)
    changed = dict.fromkeys(EDITS[name](plain) for name in edits)
    return [SuiteCase((plain, other)) for other in changed if other != plain]


def _make_variation(text: str, first: Mapping[str, str], chosen: Mapping[str, str]) -> list[SuiteCase]:
    """Return a test case: the text with a slot's first word, and the text with another word."""
    return [SuiteCase((fill_template(text, {**chosen, **first}), fill_template(text, chosen)))]


def _make_contrast(contrast: Mapping[Polarity, str], name: str, chosen: Mapping[str, str]) -> list[SuiteCase]:
    """Return a test case for each text of a filled contrast set."""
    group = " ".join((name, *chosen.values()))
    filled = {polarity: fill_template(text, chosen) for polarity, text in contrast.items()}
    return [SuiteCase((text,), (polarity,), group=group) for polarity, text in filled.items()]


def find_slots(templates: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the slots in templates that are filled together, in order of appearance."""
    return tuple(dict.fromkeys(name for template in templates for name in _SLOT.findall(template)))


def count_combinations(names: Sequence[str], words: Words) -> int:
    """Return the number of ways to fill the slots of a template; 1 without slots."""
    return math.prod(len(words[name]) for name in names)


def choose_words(names: Sequence[str], words: Words, number: int) -> dict[str, str]:
    """Return slot → word for combination `number` of the slots of a template; the last slot changes fastest."""
    chosen = {}
    for name in reversed(names):
        number, place = divmod(number, len(words[name]))
        chosen[name] = words[name][place]
    return chosen


def fill_template(template: str, chosen: Mapping[str, str]) -> str:
    """Fill the slots of a template with words; raises the error Flaw if the sentence would be too long."""
    parts = _SLOT.split(template)  # every second part is the name of a slot
    parts[1::2] = [chosen[name] for name in parts[1::2]]
    if sum(map(len, parts)) > LONGEST:
        raise Flaw("", None, f"with its slots filled '{template:.40}…' has more than {count(LONGEST)} characters")
    return "".join(parts)


def draw_numbers(size: int, most: int, seed: str) -> list[int]:
    """Return the sorted numbers of the slot combinations to use: all if at most `most` exist, else a random sample."""
    if size <= most:
        return list(range(size))
    random_, chosen = random.Random(seed), set[int]()
    while len(chosen) < most:  # `sample` would need a size that fits in 64 bits
        chosen.add(random_.randrange(size))
    return sorted(chosen)
