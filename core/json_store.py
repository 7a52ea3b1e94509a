"""Validated reading of stored JSON: data match a type, or an error names the field. Imports nothing heavy."""

import dataclasses
import difflib
import json
import math
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from core.exceptions import RunDamaged
from core.formatting import count
from core.paths import read_regular

T = TypeVar("T")
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]  # a count; floats represent every whole number up to 2^53
Figure = Annotated[float, msgspec.Meta(ge=-1e100, le=1e100)]  # a measured number; its square is finite too
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e10)]  # a duration of up to 300 years

LARGEST = 64 * 1024**2  # bytes of a JSON file, at most; the default limit
DEEPEST = 64  # levels of nesting, at most
_WHOLE = 2**64
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which UTF-8 cannot encode
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "a group of fields",
    "null": "null",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}

Step = str | int | None  # a field, a place in a list, or (None) a key that msgspec does not name


class Flaw(ValueError):
    """An error about one field of JSON data, with the field's dotted name, its value and the reason."""

    def __init__(self, field: str, value: Any, reason: str) -> None:
        """Build the error message from a field's dotted name, its value and the `reason`: what was expected there."""
        super().__init__(f"{field} is {_shorten_value(value)}: {reason}" if field else reason)
        self.field, self.value, self.reason = field, value, reason


def read(path: Path, kind: type[T], *, limit: int = LARGEST) -> T:
    """Read a JSON file and validate its content; FileNotFoundError, or RunDamaged with file, field and reason."""
    return check_value(read_tree(path, limit=limit), kind, file=path)


def read_tree(path: Path, *, limit: int = LARGEST) -> Any:
    """Read a JSON file of limited size as plain data, without a type; raises as `read`."""
    try:
        return parse_json(read_regular(path, limit))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RunDamaged(f"{path}: cannot be read: {reason}") from error


def strip_schema(found: Any, schema: int, *, file: Path) -> dict[str, Any]:
    """Return the fields of data from a JSON file without the schema number; RunDamaged if it is not `schema`."""
    if not isinstance(found, dict):
        raise RunDamaged(f"{file}: cannot be read: it holds no group of fields")
    if (given := found.get("schema")) != schema:
        reason = f"schema {given!r:.20} is not {schema}: written by another version of Sentiscope"
        raise RunDamaged(f"{file}: cannot be read: {reason}")
    return {name: value for name, value in found.items() if name != "schema"}


def check_value(value: Any, kind: type[T], *, file: Path, longest: int = 0) -> T:
    """Validate file data against a type; RunDamaged: unfit or texts over `longest`, ConfigError: a bad setting."""
    try:
        refuse_unsafe(value, longest)
        return convert(value, kind)
    except Flaw as flaw:
        raise RunDamaged(f"{file}: cannot be read: {flaw}") from flaw


def parse_json(content: bytes | str) -> Any:
    """Parse JSON to plain data; a ValueError says where and why a text is no valid JSON."""
    try:
        found = msgspec.json.decode(content)
    except msgspec.ValidationError:  # without a type the only cause is a number out of range
        found = json.loads(content, parse_int=_parse_integer)
        refuse_unsafe(found)
    except msgspec.DecodeError as error:
        raise ValueError(_explain_malformed(content, str(error))) from error
    except RecursionError as error:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from error
    return found


def convert(value: Any, kind: type[T]) -> T:
    """Convert plain data to a dataclass, struct or typed dictionary, without unknown fields; Flaw names a wrong one."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _make_flaw(value, kind, str(error)) from error


def extract_unknown(given: Any, known: Any) -> dict[str, Any]:
    """Return the fields of plain data that are not in `known`, the same data after conversion to a type."""
    found = {}
    for name, value in given.items():
        if name not in known:
            found[name] = value
        elif isinstance(value, Mapping) and isinstance(known[name], Mapping):
            if inside := extract_unknown(value, known[name]):
                found[name] = inside
    return found


def merge_unknown(known: Mapping[str, Any], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Merge fields that another version wrote back into plain data; known fields take precedence."""
    found = dict(known)
    for name, value in rest.items():
        if name not in found:
            found[name] = value
        elif isinstance(value, Mapping) and isinstance(found[name], Mapping):
            found[name] = merge_unknown(found[name], value)
    return found


def flatten_tree(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested dictionaries to one dictionary with dotted keys."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        nested = isinstance(value, Mapping) and value
        found |= flatten_tree(value, f"{prefix}{key}.") if nested else {f"{prefix}{key}": value}
    return found


def refuse_unsafe(found: Any, longest: int = 0) -> None:
    """Refuse numbers beyond 64 bits, lone surrogates, deep nesting and texts over `longest`; Flaw names the place."""
    waiting: list[tuple[tuple[Step, ...], Any]] = [((), found)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, (dict, list, tuple)):
            if len(place) > DEEPEST:
                raise Flaw("", value, f"it is nested more than {DEEPEST} deep")
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*place, key), each) for key, each in parts]
            if longest and isinstance(value, dict) and any(len(key) > longest for key in value):
                raise Flaw(_join_steps(place), value, f"names of at most {count(longest)} characters")
        elif (isinstance(value, int) and abs(value) >= _WHOLE) or (isinstance(value, float) and math.isinf(value)):
            raise Flaw(_join_steps(place), value, "a number that 64 bits hold")
        elif isinstance(value, str) and not value.isascii() and _LONE_SURROGATE.search(value):
            raise Flaw(_join_steps(place), value, "a text of whole characters")
        elif longest and isinstance(value, str) and len(value) > longest:
            long = f"a text of at most {count(longest)} characters, this has {count(len(value))}"
            raise Flaw(_join_steps(place), value, long)


def _parse_integer(digits: str) -> int:
    """Parse the digits of a JSON integer; 40 digits or more, slow to convert, become an out-of-range number."""
    return int(digits) if len(digits) < 40 else _WHOLE * (-1 if digits.startswith("-") else 1)


def _explain_malformed(content: bytes | str, reason: str) -> str:
    """Explain briefly, with the line, why a text is no valid JSON."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    if not data.strip():
        return "it is empty"
    if not (found := re.search(r"\(byte (\d+)\)", reason)):
        return "it is cut off" if "truncated" in reason else reason[:1].lower() + reason[1:]
    at = int(found[1])
    start = data.rfind(b"\n", 0, at) + 1
    line = data[start:].partition(b"\n")[0].decode("utf-8", "replace").strip()
    number = data.count(b"\n", 0, at) + 1
    return f"line {number} is no JSON: {_shorten_value(line)}"


def _make_flaw(value: Any, kind: Any, said: str) -> Flaw:
    reason, _, place = said.partition(" - at `")
    parts = re.findall(r"\.([^.\[`]+)|\[(\d+|\.\.\.)\]", place)
    names = tuple(name or (int(number) if number.isdigit() else None) for name, number in parts)
    steps = _name_keys(value, kind, names)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", reason):
        known = [field.name for field in msgspec.structs.fields(_find_type(kind, steps))]
        near = difflib.get_close_matches(unknown[1], known, n=1)
        hint = f"; is {near[0]} meant?" if near else f"; there are {', '.join(known)}"
        return Flaw("", None, f"there is no field {_join_steps((*steps, unknown[1]))}{hint}")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return Flaw("", None, f"the field {_join_steps((*steps, missing[1]))} is missing")
    return Flaw(_join_steps(steps), _get_part(value, steps), _describe_reason(reason, kind, steps))


def _name_keys(value: Any, kind: Any, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Replace wildcards in an error's path by the keys of the first values that do not match their type."""
    while None in steps:
        place = steps.index(None)
        inside = _find_type(kind, steps[: place + 1])
        named = _get_part(value, steps[:place]).items()
        if (key := next((key for key, each in named if not _is_valid(each, inside)), None)) is None:
            return steps[:place]
        steps = (*steps[:place], key, *steps[place + 1 :])
    return steps


def _is_valid(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _get_part(value: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        value = value[step]
    return value


def _describe_reason(reason: str, kind: Any, steps: tuple[Step, ...]) -> str:
    if found := re.match(r"Expected `(\w+)` of length (>=|<=)? ?(\d+)", reason):
        if found.groups()[1:] == (">=", "1"):
            return "it must not be empty"
        bound = f"{_BOUNDS[found[2]]} " if found[2] else ""
        return f"{_WORDS.get(found[1], found[1])} of length {bound}{found[3]}"
    if found := re.match(r"Expected `\w+` (>=|<=|<|>) (.+)", reason):
        return f"{_BOUNDS[found[1]]} {found[2]}"
    if found := re.match(r"Expected `([^`]+)`, got", reason):
        return " or ".join(_WORDS.get(word, word) for word in found[1].split(" | "))
    if reason.startswith("Invalid enum value"):
        choices = _list_choices(_find_type(kind, steps))
        return f"one of {', '.join(str(each) for each in choices if each not in ('', None))}"
    if "matching regex" in reason:
        return "in another form than is written here"
    return "a number that 64 bits hold" if "out of range" in reason else reason[:1].lower() + reason[1:]


def _list_choices(kind: Any) -> tuple[Any, ...]:
    """List the allowed values of a Literal type, or of all Literal types in a union."""
    inside = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Literal:
        return inside
    return tuple(dict.fromkeys(word for each in inside for word in _list_choices(each)))


def _find_type(kind: Any, steps: tuple[Step, ...]) -> Any:
    """Return the type of a nested field, given the type of the whole data and the path of the field."""
    for step in steps:
        kind = getattr(kind, "__origin__", kind) if hasattr(kind, "__metadata__") else kind
        if typing.get_origin(kind) in (typing.Union, types.UnionType):
            kind = next(each for each in typing.get_args(kind) if each is not types.NoneType)
        inside = typing.get_args(kind)
        if not inside:
            kind = typing.get_type_hints(kind, include_extras=True)[str(step)]
        else:
            kind = inside[-1 if typing.get_origin(kind) in (dict, Mapping) else 0]
    return kind


def _join_steps(steps: tuple[Step, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def _shorten_value(value: Any) -> str:
    """Format a value for an error message, shortened: a huge number as its count of digits, a text to 60 characters."""
    if isinstance(value, int) and abs(value) > _WHOLE:
        return f"a number of {len(str(abs(value)))} digits"
    text = repr(value) if not dataclasses.is_dataclass(value) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}…"
