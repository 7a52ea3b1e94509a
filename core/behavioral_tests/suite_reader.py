"""Test suites read from YAML (see `core.behavioral_tests.suite`) or a table, with their cases; the built-in suite.

Each row of a table is a text, with the columns `text`, `test`, `capability`, and `expected` or `group` or both.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from typing import TYPE_CHECKING, Any

from core.behavioral_tests import suite as suites
from core.data.sandbox import read_cells, read_yaml
from core.data.yaml_tree import parse_yaml
from core.exceptions import DataError
from core.formatting import count
from core.json_store import Flaw, convert
from core.paths import resolve_path

if TYPE_CHECKING:
    import pandas as pd

_SLOT = re.compile(r"\{(\w+)\}")

Words = Mapping[str, Sequence[str]]  # slot → the words that can fill it
Make = Callable[[Mapping[str, str]], list[suites.SuiteCase]]  # slot → chosen word, to cases


@dataclass(frozen=True)
class _Form:
    """A template with slots that makes test cases: a text, a text pair or a contrast set."""

    templates: Sequence[str]
    make: Make
    words: Words


MOST_FILLINGS = 10 * suites.MOST_CASES  # of all templates of a suite, at most; several fillings may give the same case


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

    def count_characters(self, cases: Sequence[suites.SuiteCase], most: int) -> None:
        """Count the characters of all test cases of a suite; raises the error Flaw if there are too many."""
        self.characters += sum(len(text) for case in cases for text in case.texts)
        if self.characters > suites.MOST_CHARACTERS:
            raise Flaw(
                "most", most, f"lower it: the suite comes to more than {count(suites.MOST_CHARACTERS)} characters"
            )


def build_test(written: suites.WrittenTest, shared: suites.Slots, made: SuiteSize) -> suites.SuiteTest:
    """Build a behavioural test with all its cases; slots of the test override `shared` slots of the same name.

    Raises Flaw if a field is missing or belongs to another kind, or if there are no cases or too many.
    """
    _check_fields(written)
    words: Words = {**shared, **written.slots}
    forms = list(_build_forms(written, words))
    _check_slots(written, words, forms)
    found: dict[tuple[str, ...], suites.SuiteCase] = {}
    for number, form in enumerate(forms):
        slots, template = find_slots(form.templates), f"{written.name} {number}"
        size = count_combinations(slots, form.words)
        made.count_fillings(min(size, written.most), written.most)
        for drawn in draw_numbers(size, written.most, f"{written.seed} {number}"):
            cases = form.make(choose_words(slots, form.words, drawn))
            made.count_characters(cases, written.most)
            for case in cases:
                found.setdefault((*case.texts, case.group), replace(case, template=template))
        if len(found) > suites.MOST_CASES:  # checked early, before a huge test is complete
            raise Flaw("most", written.most, f"lower it: the test comes to more than {count(suites.MOST_CASES)} cases")
    if not found:
        raise Flaw("edits", list(written.edits), "an edit that changes at least one of the texts")
    return suites.SuiteTest(
        written.name,
        written.capability,
        written.kind,
        tuple(found.values()),
        written.about,
        written.must,
        written.tolerance if written.kind == "direction" else 0.0,
    )


def _check_fields(written: suites.WrittenTest) -> None:
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


def _check_slots(written: suites.WrittenTest, words: Words, forms: list[_Form]) -> None:
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


def _build_forms(written: suites.WrittenTest, words: Words) -> Iterator[_Form]:
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


def _make_case(
    templates: Sequence[str], expected: tuple[suites.Polarity, ...], chosen: Mapping[str, str]
) -> list[suites.SuiteCase]:
    texts = tuple(fill_template(each, chosen) for each in templates)
    return [suites.SuiteCase(texts, expected)] if len(set(texts)) == len(texts) else []


def _make_edits(text: str, edits: Sequence[suites.Edit], chosen: Mapping[str, str]) -> list[suites.SuiteCase]:
    plain = fill_template(text, chosen)
    changed = dict.fromkeys(suites.EDITS[name](plain) for name in edits)
    return [suites.SuiteCase((plain, other)) for other in changed if other != plain]


def _make_variation(text: str, first: Mapping[str, str], chosen: Mapping[str, str]) -> list[suites.SuiteCase]:
    """Return a test case: the text with a slot's first word, and the text with another word."""
    return [suites.SuiteCase((fill_template(text, {**chosen, **first}), fill_template(text, chosen)))]


def _make_contrast(
    contrast: Mapping[suites.Polarity, str], name: str, chosen: Mapping[str, str]
) -> list[suites.SuiteCase]:
    group = " ".join((name, *chosen.values()))
    filled = {polarity: fill_template(text, chosen) for polarity, text in contrast.items()}
    return [suites.SuiteCase((text,), (polarity,), group=group) for polarity, text in filled.items()]


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
    if sum(map(len, parts)) > suites.LONGEST:
        raise Flaw(
            "", None, f"with its slots filled '{template:.40}…' has more than {count(suites.LONGEST)} characters"
        )
    return "".join(parts)


def draw_numbers(size: int, most: int, seed: str) -> list[int]:
    """Return the sorted numbers of the slot combinations to use: all if at most `most` exist, else a random sample."""
    if size <= most:
        return list(range(size))
    random_, chosen = random.Random(seed), set[int]()
    while len(chosen) < most:  # `sample` would need a size that fits in 64 bits
        chosen.add(random_.randrange(size))
    return sorted(chosen)


COLUMNS = ("text", "test", "capability")
ANSWERS = ("expected", "group")
BETWEEN = "|"  # separates several correct answers in `expected`

Row = dict[str, str]


def convert_table(frame: pd.DataFrame, file: str) -> suites.Suite:
    """Build a test suite from a table of texts; DataError names the row if something is missing or wrong.

    Rows with `expected` test minimum functionality; rows of the same `group` form a contrast set. Rows with only a
    `group` test invariance: all texts of a group must get the same prediction.
    """
    names = {str(name).strip().lower(): name for name in frame.columns}
    missing = [name for name in COLUMNS if name not in names]
    if missing or not any(name in names for name in ANSWERS):
        wanted = f"{', '.join(COLUMNS)} and {' or '.join(ANSWERS)}"
        found = "no row that names its columns" if all(map(str.isdecimal, names)) else ", ".join(names)
        raise DataError(f"a suite as a table has rows below the column names {wanted}; found {found}", file=file)
    cells = frame[list(names.values())].astype(object).fillna("").astype(str).to_numpy().tolist()
    rows = [dict(zip(names, map(str.strip, row), strict=True)) for row in cells]
    kept: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for number, row in enumerate(rows, 1):
        for name in COLUMNS:
            if not row[name]:
                raise DataError("the cell is empty", file=file, row=number, field=name)
        kept[row["test"]].append((number, row))
    return suites.check_suite(
        suites.Suite(file, tuple(_read_test(name, own, file) for name, own in kept.items())), file=file
    )


def _read_test(name: str, rows: list[tuple[int, Row]], file: str) -> suites.SuiteTest:
    capability = rows[0][1]["capability"]
    for number, row in rows:
        if row["capability"] != capability:
            problem = f"test '{name}' is of '{capability}' in an earlier row; a test has one capability"
            raise DataError(problem, file=file, row=number, field="capability")
    expecting = [bool(row.get("expected")) for _, row in rows]
    if not any(expecting):
        return suites.SuiteTest(name, capability, "invariance", _group_cases(name, rows, file))
    if not all(expecting):
        number = rows[expecting.index(False)][0]
        raise DataError(f"test '{name}' expects an answer in other rows", file=file, row=number, field="expected")
    cases = []
    for number, row in rows:
        group, said = f"{name} {row['group']}" if row.get("group") else "", row["expected"]
        found = {each.strip().lower() for each in said.split(BETWEEN)}
        if not found <= set(suites.POLARITIES):
            problem = f"'{said:.40}' is no answer; write negative, neutral or positive, with {BETWEEN} between several"
            raise DataError(problem, file=file, row=number, field="expected")
        expected = tuple(polarity for polarity in suites.POLARITIES if polarity in found)
        cases.append(suites.SuiteCase((row["text"],), expected, group or f"{name} row {number}", group))
    return suites.SuiteTest(name, capability, "minimum", tuple(cases))


def _group_cases(name: str, rows: list[tuple[int, Row]], file: str) -> tuple[suites.SuiteCase, ...]:
    groups: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, row in rows:
        if not row.get("group"):
            raise DataError(f"test '{name}' has neither expected nor group here", file=file, row=number)
        groups[row["group"]].append((number, row["text"]))
    cases = []
    for group, members in groups.items():
        texts = tuple(dict.fromkeys(text for _, text in members))
        if len(texts) < 2:
            problem = f"group '{group}' of test '{name}' needs two different texts to be compared"
            raise DataError(problem, file=file, row=members[0][0], field="group")
        cases.append(suites.SuiteCase(texts, template=f"{name} {group}"))
    return tuple(cases)


OURS = "suite.yaml"
YAML = (".yaml", ".yml")


@functools.cache
def load_builtin_suite() -> suites.Suite:
    """Return the built-in suite of behavioural tests."""
    return parse_suite((resources.files("core.behavioral_tests") / OURS).read_bytes(), OURS)


def read_suite(file: str) -> suites.Suite:
    """Read a test suite from YAML or a table, by the file's ending; no file: the built-in suite. Raises DataError."""
    if not file:
        return load_builtin_suite()
    path = resolve_path(file)
    if path.suffix.lower() not in YAML:
        return replace(convert_table(read_cells(path), path.name), path=file)
    return replace(_build_suite(read_yaml(path), path.name), path=file)


def parse_suite(content: bytes, file: str) -> suites.Suite:
    """Parse a test suite from trusted YAML of Sentiscope; `read_suite` reads other files in a separate process."""
    return _build_suite(parse_yaml(content, file), file)


def _build_suite(found: Any, file: str) -> suites.Suite:
    if not isinstance(found, dict):
        raise DataError("a suite has a name and tests; see `sentiscope behave --help`", file=file)
    try:
        written = convert(found, suites.WrittenSuite)
    except Flaw as flaw:
        raise DataError(str(flaw), file=file) from None
    tests, cases, made = list[suites.SuiteTest](), 0, SuiteSize()
    for number, each in enumerate(written.tests, 1):
        try:
            tests.append(build_test(convert(each, suites.WrittenTest), written.slots, made))
        except Flaw as flaw:
            name = each.get("name")
            named = f"test '{name}'" if isinstance(name, str) and name else f"test {number}"
            raise DataError(f"{named}: {flaw}", file=file) from None
        cases += len(tests[-1].cases)
        suites.refuse_too_many(cases, file=file)  # checked early, before a huge suite is complete
    return suites.check_suite(suites.Suite(written.name, tuple(tests), written.about), file=file)
