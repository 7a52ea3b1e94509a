"""How data is called on a page: by the name of its file, never by the path that a server keeps it under."""

from __future__ import annotations

from pathlib import Path


def data_name(name: str) -> str:
    """A known name as it is; of a path the last part."""
    return Path(name).name or name


def without_store(name: str, store: Path) -> str:
    """The setting `data.name` as its owner would write it.

    A file that somebody uploaded lies under a path that only the server knows; its owner has it under its own name.
    """
    return Path(name).name if Path(name).is_relative_to(store) else name
