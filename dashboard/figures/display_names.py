"""Names of data sets and classes for display: as a user wrote them, never with a path on the server."""

from __future__ import annotations

from pathlib import Path

_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "\n": "\u21b5", "\r": "\u21b5", "\t": " "}
"""What Plotly would take for markup or for a field of a template (`%{x}`), and breaks, which it shows as blanks."""
_ESCAPES = str.maketrans({**dict.fromkeys(map(chr, (*range(32), *range(127, 160))), "\ufffd"), **_SIGNS})


def escape_text(text: str) -> str:
    """Escape a text for Plotly: for names, labels, titles, axes and hover templates.

    Quotation marks stay: Plotly knows no entities for them. A line break is a sign of its own.
    """
    return text.replace("\r\n", "\n").translate(_ESCAPES)


def get_data_name(name: str) -> str:
    """Return a data set's name for display: a known name unchanged, and of a file path the last part."""
    return Path(name).name or name


def strip_store(name: str, store: Path) -> str:
    """Return the setting `data.name` for display; for an uploaded file its name, not its path on the server.

    The path of an uploaded file is known only to the server; its owner knows the file by its own name.
    """
    return Path(name).name if Path(name).is_relative_to(store) else name
