import dataclasses
import json
from pathlib import Path
from typing import Literal, TypedDict

import pytest
from refused import check_raises

from core import json_store
from core.exceptions import RunDamaged
from core.json_store import Count, Figure, Seconds


class Inner(TypedDict, total=False):
    by_name: dict[str, dict[str, list[Figure]]]


@dataclasses.dataclass(frozen=True)
class Thing:
    count: Count
    kind: Literal["a", "b"] = "a"
    seconds: Seconds = 0.0
    inner: Inner = dataclasses.field(default_factory=Inner)
    names: tuple[str, ...] = ()
    pairs: list[list[float | None]] | None = None


def read_content(tmp_path, content):
    file = tmp_path / "thing.json"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return json_store.read(file, Thing)


def test_valid_data_are_typed_and_unknown_fields_can_be_merged_back(tmp_path):
    found = read_content(
        tmp_path, {"count": 3, "names": ["x"], "inner": {"by_name": {"t": {"f": [1]}}, "new": 1}, "later": 5}
    )
    assert found == Thing(3, names=("x",), inner={"by_name": {"t": {"f": [1.0]}}})
    given = {"a": 1, "b": {"c": 2, "new": {"x": 1}}, "later": [1]}
    known = {"a": 1, "b": {"c": 2}}
    rest = json_store.extract_unknown(given, known)
    assert rest == {"b": {"new": {"x": 1}}, "later": [1]} and json_store.merge_unknown(known, rest) == given
    assert json_store.merge_unknown({"b": {"c": 3}}, rest) == {"b": {"c": 3, "new": {"x": 1}}, "later": [1]}
    assert list(json_store.flatten_tree(rest)) == ["b.new.x", "later"]


REFUSED = {
    "a text": ({"count": "x"}, "count is 'x': a whole number"),
    "a truth": ({"count": True}, "count is True: a whole number"),
    "below": ({"count": -1}, "count is -1: at least 0"),
    "above": ({"count": 1, "seconds": 1e300}, r"seconds is 1e\+300: at most 1"),
    "missing": ({}, "the field count is missing"),
    "none of the choices": ({"count": 1, "kind": "c"}, "kind is 'c': one of a, b"),
    "deep, by every name": (
        {"count": 1, "inner": {"by_name": {"good": {"fine": [1.0]}, "test": {"fine": [0.1], "f1": [2, "b"]}}}},
        r"inner\.by_name\.test\.f1\[1\] is 'b': a number",
    ),
    "no group": ({"count": 1, "inner": {"by_name": [1]}}, r"inner\.by_name is \[1\]: a group of fields"),
    "in a tuple": ({"count": 1, "names": ["a", 5]}, r"names\[1\] is 5: a text"),
    "or nothing": ({"count": 1, "pairs": [[None, "x"]]}, r"pairs\[0\]\[1\] is 'x': a number or null"),
    "400 digits": ({"count": 10**400}, "count is a number of 401 digits: a number that 64 bits hold"),
    "400 digits nobody reads": ({"count": 1, "later": [10**400]}, r"later\[0\] is a number of 401 digits"),
    "a list": ([], r"\[\]: a group of fields|a group of fields"),
    "NaN": (b'{"count": 1,\n "seconds": NaN}', r"line 2 is no JSON: '\"seconds\": NaN}'"),
    "an infinite number": (b'{"count": 1, "seconds": 1e999}', "seconds is inf: a number that 64 bits hold"),
    "5,000 digits": (b'{"count": ' + b"1" * 5000 + b"}", "count is .*: a number that 64 bits hold"),
    "cut off": (b'{"count": 1', "it is cut off"),
    "empty": (b"", "it is empty"),
    "no text": (b"\x80\x81", "line 1 is no JSON"),
    "nested": (b"[" * 100_000, "nested more than 64 deep"),
    "a little too deep": (b'{"count": 1, "later": ' + b"[" * 100 + b"]" * 100 + b"}", "nested more than 64 deep"),
}


@pytest.mark.parametrize(("content", "said"), REFUSED.values(), ids=REFUSED)
def test_wrong_data_are_refused_with_file_field_and_reason(tmp_path, content, said):
    with pytest.raises(RunDamaged, match=rf"thing\.json: cannot be read: .*(?:{said})") as refusal:
        read_content(tmp_path, content)
    assert len(str(refusal.value)) < 400


def test_missing_damaged_and_too_large_files_and_other_schemas_are_distinguished(tmp_path):
    check_raises(FileNotFoundError, None, json_store.read, tmp_path / "none.json", Thing)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(RunDamaged, match=r"folder\.json: cannot be read: this is a folder"):
        json_store.read(tmp_path / "folder.json", Thing)
    (tmp_path / "large.json").write_bytes(b" " * 2_000_000)
    with pytest.raises(RunDamaged, match="it has 2 MB, and at most 1 MB are read"):
        json_store.read(tmp_path / "large.json", Thing, limit=1024**2)
    file = Path("plan.json")
    assert json_store.strip_schema({"schema": 1, "a": 2}, 1, file=file) == {"a": 2}
    with pytest.raises(RunDamaged, match=r"plan\.json: .*schema 9 is not 1: written by another version"):
        json_store.strip_schema({"schema": 9}, 1, file=file)
    check_raises(RunDamaged, r"plan\.json: .*it holds no group of fields", json_store.strip_schema, [], 1, file=file)
