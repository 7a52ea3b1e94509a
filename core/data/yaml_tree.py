"""A safe YAML reader (core schema of YAML 1.2) that builds plain data; tags in a file create no objects."""

import re
from pathlib import Path
from typing import Any, NoReturn

import yaml

from core.exceptions import DataError
from core.json_store import DEEPEST, Flaw, refuse_unsafe
from core.paths import TooLarge, read_regular

LARGEST = 2 * 1024**2
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TEXT = "tag:yaml.org,2002:str"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,3})?")


def read_yaml(path: Path) -> Any:
    """Read a YAML file as plain data; refuse a file that is too large or not YAML."""
    try:
        return parse_yaml(read_regular(path, LARGEST), path.name)
    except TooLarge as error:
        raise DataError(str(error), file=path.name) from None


def parse_yaml(content: bytes, file: str) -> Any:
    """Parse YAML to plain data; refuse tags, aliases, keys that are repeated or not text, and too deep nesting."""
    try:
        tree = _Tree(file)
        for event in yaml.parse(content.decode("utf-8-sig"), Loader=_PARSER):
            tree.add_event(event)
        found = tree.root[0] if tree.root else None
        refuse_unsafe(found)
    except UnicodeDecodeError:
        raise DataError("it is not UTF-8; save it as UTF-8", file=file) from None
    except Flaw as flaw:
        raise DataError(str(flaw), file=file) from None
    except yaml.MarkedYAMLError as error:
        raise _make_error(error.problem or error.context or "it is no YAML", error.problem_mark, file) from None
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"it is no YAML: {' '.join(str(error).split()):.200}", file=file) from None
    return found


class _Tree:
    """A builder of plain data (dicts, lists and values) from the events of a YAML parser."""

    def __init__(self, file: str) -> None:
        self.file, self.root = file, list[Any]()
        self.open: list[tuple[dict[str, Any] | list[Any], list[str]]] = [(self.root, [])]  # Not ended, each with a name

    def add_event(self, event: yaml.Event) -> None:
        """Add the content of a YAML parser's event to the plain data built so far."""
        if isinstance(event, yaml.AliasEvent):
            self._raise_error(f"aliases (*{event.anchor}) are not read; put the words under slots", event)
        if isinstance(event, yaml.DocumentStartEvent) and self.root:
            self._raise_error("a second document begins here; a file holds one", event)
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.open.pop()
        elif isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)):
            if event.tag not in (None, "!", _TEXT):
                self._raise_error(f"the tag {event.tag!s:.60} is not read; take it out", event)
            inside, name = self.open[-1]
            if not isinstance(inside, dict) or name:
                self._add_value(event, inside, name)
            elif not isinstance(event, yaml.ScalarEvent):
                self._raise_error("a name is a text, and this is a group or a list", event)
            elif event.value in inside:
                self._raise_error(f"{event.value:.80} stands here twice", event)
            else:
                name.append(str(event.value))

    def _add_value(self, event: yaml.Event, inside: dict[str, Any] | list[Any], name: list[str]) -> None:
        group: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        value = _convert_scalar(event) if isinstance(event, yaml.ScalarEvent) else group
        if isinstance(inside, dict):
            inside[name.pop()] = value
        else:
            inside.append(value)
        if value is group:
            self.open.append((group, []))
            if len(self.open) > DEEPEST:
                self._raise_error(f"it is nested more than {DEEPEST} deep", event)

    def _raise_error(self, problem: str, event: yaml.Event) -> NoReturn:
        raise _make_error(problem, event.start_mark, self.file)


def _convert_scalar(event: yaml.ScalarEvent) -> str | bool | int | float | None:
    """Convert a YAML scalar to a value; quoted words, and words that YAML's core schema does not define, are texts."""
    text = event.value
    if event.tag is not None or event.style not in (None, ""):
        return str(text)
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else str(text)


def _make_error(problem: str, mark: yaml.Mark | None, file: str) -> DataError:
    if "nesting depth" in problem:  # newer parsers have their own, higher limit
        problem = f"it is nested more than {DEEPEST} deep"
    return DataError(f"line {mark.line + 1}: {problem}" if mark else problem, file=file)
