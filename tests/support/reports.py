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
