"""Test suites read from YAML (see `core.behavioral_tests.suite_format`) or a table, and the built-in suite.

Each row of a table is a text, with the columns `text`, `test`, `capability`, and `expected` or `group` or both.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Any

from core.behavioral_tests.case_builder import SuiteSize, build_test
from core.behavioral_tests.suite import POLARITIES, Polarity, Suite, SuiteCase, SuiteTest, check_suite, refuse_too_many
from core.behavioral_tests.suite_format import WrittenSuite, WrittenTest
from core.data.sandbox import read_cells, read_yaml
from core.data.yaml_tree import parse_yaml
from core.exceptions import DataError
from core.json_store import Flaw, convert
from core.paths import resolve_path

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("text", "test", "capability")
ANSWERS = ("expected", "group")
BETWEEN = "|"  # separates several correct answers in `expected`

Row = dict[str, str]


def convert_table(frame: pd.DataFrame, file: str) -> Suite:
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
    rows = [
        {
            name: "" if cell is None or cell != cell else str(cell).strip()
            for name, cell in zip(names, cells, strict=True)
        }
        for cells in frame[list(names.values())].itertuples(index=False)
    ]
    kept: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for number, row in enumerate(rows, 1):
        for name in COLUMNS:
            if not row[name]:
                raise DataError("the cell is empty", file=file, row=number, field=name)
        kept[row["test"]].append((number, row))
    return check_suite(Suite(file, tuple(_read_test(name, own, file) for name, own in kept.items())), file=file)


def _read_test(name: str, rows: list[tuple[int, Row]], file: str) -> SuiteTest:
    capability = rows[0][1]["capability"]
    for number, row in rows:
        if row["capability"] != capability:
            problem = f"test '{name}' is of '{capability}' in an earlier row; a test has one capability"
            raise DataError(problem, file=file, row=number, field="capability")
    expecting = [bool(row.get("expected")) for _, row in rows]
    if not any(expecting):
        return SuiteTest(name, capability, "invariance", _group_cases(name, rows, file))
    if not all(expecting):
        number = rows[expecting.index(False)][0]
        raise DataError(f"test '{name}' expects an answer in other rows", file=file, row=number, field="expected")
    return SuiteTest(name, capability, "minimum", tuple(_build_case(name, number, row, file) for number, row in rows))


def _build_case(name: str, number: int, row: Row, file: str) -> SuiteCase:
    group = f"{name} {row['group']}" if row.get("group") else ""
    expected = _parse_expected(row["expected"], number, file)
    return SuiteCase((row["text"],), expected, group or f"{name} row {number}", group)


def _parse_expected(cell: str, number: int, file: str) -> tuple[Polarity, ...]:
    found = {each.strip().lower() for each in cell.split(BETWEEN)}
    answers = tuple(polarity for polarity in POLARITIES if polarity in found)
    if len(answers) < len(found):
        problem = f"'{cell:.40}' is no answer; write negative, neutral or positive, with {BETWEEN} between several"
        raise DataError(problem, file=file, row=number, field="expected")
    return answers


def _group_cases(name: str, rows: list[tuple[int, Row]], file: str) -> tuple[SuiteCase, ...]:
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
        cases.append(SuiteCase(texts, template=f"{name} {group}"))
    return tuple(cases)


OURS = "suite.yaml"
YAML = (".yaml", ".yml")


@functools.cache
def load_builtin_suite() -> Suite:
    """Return the built-in suite of behavioural tests."""
    return parse_suite((resources.files("core.behavioral_tests") / OURS).read_bytes(), OURS)


def read_suite(file: str) -> Suite:
    """Read a test suite from YAML or a table, by the file's ending; no file: the built-in suite. Raises DataError."""
    if not file:
        return load_builtin_suite()
    path = resolve_path(file)
    if path.suffix.lower() not in YAML:
        return replace(convert_table(read_cells(path), path.name), path=file)
    return replace(_build_suite(read_yaml(path), path.name), path=file)


def parse_suite(content: bytes, file: str) -> Suite:
    """Parse a test suite from trusted YAML of Sentiscope; `read_suite` reads other files in a separate process."""
    return _build_suite(parse_yaml(content, file), file)


def _build_suite(found: Any, file: str) -> Suite:
    if not isinstance(found, dict):
        raise DataError("a suite has a name and tests; see `sentiscope behave --help`", file=file)
    try:
        written = convert(found, WrittenSuite)
    except Flaw as flaw:
        raise DataError(str(flaw), file=file) from None
    tests, cases, made = list[SuiteTest](), 0, SuiteSize()
    for number, each in enumerate(written.tests, 1):
        tests.append(_build_test(each, number, written, made, file))
        cases += len(tests[-1].cases)
        refuse_too_many(cases, file=file)  # checked early, before a huge suite is complete
    return check_suite(Suite(written.name, tuple(tests), written.about), file=file)


def _build_test(found: dict[str, Any], number: int, suite: WrittenSuite, made: SuiteSize, file: str) -> SuiteTest:
    """Build a behavioural test from its YAML fields; errors give its name, or its number if it has none."""
    try:
        return build_test(convert(found, WrittenTest), suite.slots, made)
    except Flaw as flaw:
        name = found.get("name")
        named = f"test '{name}'" if isinstance(name, str) and name else f"test {number}"
        raise DataError(f"{named}: {flaw}", file=file) from None
