"""A suite from a file: YAML (see `core.behaviour.written`), or a table of texts; or ours."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from core.behaviour.build import SuiteSize, build
from core.behaviour.suite import Suite, SuiteTest, refuse_too_many, whole
from core.behaviour.table import suite_of
from core.behaviour.written import WrittenSuite, WrittenTest
from core.data.apart import read_cells, read_yaml
from core.data.yaml_tree import parse_yaml
from core.exceptions import DataError
from core.paths import resolve
from core.stored import Flaw, convert

OURS = "suite.yaml"
YAML = (".yaml", ".yml")


@functools.cache
def our_suite() -> Suite:
    """Return the suite that comes with Sentiscope."""
    return parse((resources.files("core.behaviour") / OURS).read_bytes(), OURS)


def read_suite(file: str) -> Suite:
    """Read a suite: YAML by its ending, else a table; without a file, ours. DataError says what is wrong."""
    if not file:
        return our_suite()
    path = resolve(file)
    if path.suffix.lower() not in YAML:
        return suite_of(read_cells(path), path.name)
    return _suite(read_yaml(path), path.name)


def parse(content: bytes, file: str) -> Suite:
    """Return the suite that our own YAML describes; that of others is read by `read_suite`, in another process."""
    return _suite(parse_yaml(content, file), file)


def _suite(found: Any, file: str) -> Suite:
    if not isinstance(found, dict):
        raise DataError("a suite has a name and tests; see `sentiscope behave --help`", file=file)
    try:
        written = convert(found, WrittenSuite)
    except Flaw as flaw:
        raise DataError(str(flaw), file=file) from None
    tests, cases, made = list[SuiteTest](), 0, SuiteSize()
    for number, each in enumerate(written.tests, 1):
        tests.append(_test(each, number, written, made, file))
        cases += len(tests[-1].cases)
        refuse_too_many(cases, file=file)  # before all of a monster is made
    return whole(Suite(written.name, tuple(tests), written.about), file=file)


def _test(found: dict[str, Any], number: int, suite: WrittenSuite, made: SuiteSize, file: str) -> SuiteTest:
    """Read one test; an error names it, or gives its number where it has no name."""
    try:
        return build(convert(found, WrittenTest), suite.slots, made)
    except Flaw as flaw:
        name = found.get("name")
        named = f"test '{name}'" if isinstance(name, str) and name else f"test {number}"
        raise DataError(f"{named}: {flaw}", file=file) from None
