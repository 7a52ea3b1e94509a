"""Fingerprints of content: SHA-256 hashes of exactly what a result depends on."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any


def to_canonical_json(value: Any) -> str:
    """Serialise a value to JSON that is the same for equal values: sorted keys, no spaces, tuples as lists."""

    def to_plain(item: Any) -> Any:
        """Convert a dataclass, set or path to data that JSON knows; TypeError for any other type."""
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            return dataclasses.asdict(item)
        if isinstance(item, (set, frozenset)):
            return sorted(item)
        if isinstance(item, Path):
            return str(item)
        raise TypeError(f"no canonical form for {type(item).__name__}")

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=to_plain)


def hash_value(value: Any) -> str:
    """Return the SHA-256 (64 hex digits) of a value's canonical JSON, which is the same for equal values."""
    return hashlib.sha256(to_canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 (64 hex digits) of the content of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def get_file_version(path: Path) -> str:
    """Return a file's modification time and size as a text that distinguishes versions; empty if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_size}"
