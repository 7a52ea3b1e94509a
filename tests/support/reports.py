"""A report for tests: its packed data, unpacked as in a browser."""

import base64
import gzip
import json
import re
from typing import Any


def packed(page: str) -> dict[str, Any]:
    """The data of a report."""
    (found,) = re.findall(r'id="packed-data">([^<]*)</script>', page)
    return json.loads(gzip.decompress(base64.b64decode(found)))


def columns(page: str) -> dict[str, list[Any]]:
    """The table of predictions by column name; sets as lists of words."""
    return {each["label"]: _values(each) for each in packed(page)["rows"]["columns"]}


def _values(column: dict[str, Any]) -> list[Any]:
    if column["kind"] == "choice":
        return [column["options"][at] for at in column["values"]]
    if column["kind"] == "set":
        return [[column["options"][at] for at in each] for each in column["values"]]
    return column["values"]


def changed(value: Any, difference: dict[str, Any] | None) -> Any:
    """The value decoded by the script of a report, and its differences in the dark theme."""
    if difference is None:
        return value
    if "=" in difference:
        return difference["="]
    copy = list(value) if isinstance(value, list) else dict(value)
    for key, inside in difference["in"].items():
        at = int(key) if isinstance(copy, list) else key
        there = copy[at] if isinstance(copy, list) or at in copy else None
        copy[at] = changed(there, inside)
    return copy
