"""A suite from a file: YAML (see `core.behaviour.written`), or a table of texts; or ours."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import yaml

from core.behaviour.build import build
from core.behaviour.suite import Suite, SuiteTest, refuse_too_many, whole
from core.behaviour.written import WrittenSuite, WrittenTest
from core.exceptions import DataError
from core.paths import TooLarge, regular_bytes, resolve
from core.stored import DEEPEST, Flaw, convert, refuse_monsters

LARGEST = 2 * 1024**2
"""Bytes of a suite in YAML."""
OURS = "suite.yaml"
YAML = (".yaml", ".yml")


@functools.cache
def our_suite() -> Suite:
    """The suite that comes with Sentiscope."""
    return parse((resources.files("core.behaviour") / OURS).read_bytes(), OURS)


def read_suite(file: str) -> Suite:
    """The suite in a file: YAML by its ending, else a table.

    Args:
        file: Its path; empty: the suite that comes with Sentiscope.

    Raises:
        DataError: it cannot be read or asked; the message names file, test and field.
    """
    if not file:
        return our_suite()
    path = resolve(file)
    if path.suffix.lower() not in YAML:
        from core.behaviour.table import suite_of
        from core.data.apart import read_cells

        return suite_of(read_cells(path), path.name)
    try:
        content = regular_bytes(path, LARGEST)
    except TooLarge as error:
        raise DataError(str(error), file=path.name) from None
    return parse(content, path.name)


def parse(content: bytes, file: str) -> Suite:
    """The suite that YAML describes.

    Args:
        content: UTF-8.
        file: Its name, for messages.

    Raises:
        DataError: it is no YAML, or no suite; the message names test and field.
    """
    found = _tree(content, file)
    if not isinstance(found, dict):
        raise DataError("a suite has a name and tests; see `sentiscope behave --help`", file=file)
    try:
        refuse_monsters(found)
        written = convert(found, WrittenSuite)
    except Flaw as flaw:
        raise DataError(str(flaw), file=file) from None
    tests, cases = list[SuiteTest](), 0
    for number, each in enumerate(written.tests, 1):
        tests.append(_test(each, number, written, file))
        cases += len(tests[-1].cases)
        refuse_too_many(cases, file=file)  # before all of a monster is made
    return whole(Suite(written.name, tuple(tests), written.about), file=file)


def _test(found: dict[str, Any], number: int, suite: WrittenSuite, file: str) -> SuiteTest:
    """One test; a flaw is told with its name, or its number where it has none."""
    try:
        return build(convert(found, WrittenTest), suite.slots)
    except Flaw as flaw:
        name = found.get("name")
        named = f"test '{name}'" if isinstance(name, str) and name else f"test {number}"
        raise DataError(f"{named}: {flaw}", file=file) from None


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain data only, and every key once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As its parent, which lets the last of two equal keys win."""
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands here twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _tree(content: bytes, file: str) -> Any:
    """YAML as plain data; without anchors, by which a few lines become a million."""
    try:
        text = content.decode("utf-8-sig")
        for event in yaml.parse(text, Loader=_Loader):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1
                raise DataError(
                    f"line {line}: aliases (*{event.anchor}) are not read; put the words under slots", file=file
                )
        return yaml.load(text, Loader=_Loader)
    except UnicodeDecodeError:
        raise DataError("it is not UTF-8; save it as UTF-8", file=file) from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        problem = error.problem or error.context or "it is no YAML"
        if "nesting depth" in problem:  # newer parsers have a limit of their own, far above ours
            problem = f"it is nested more than {DEEPEST} deep"
        raise DataError(f"{line}{problem}", file=file) from None
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"it is no YAML: {' '.join(str(error).split()):.200}", file=file) from None
    except RecursionError:
        raise DataError("it is nested too deep", file=file) from None
