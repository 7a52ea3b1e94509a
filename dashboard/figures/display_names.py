"""Names of data sets and classes for display: as a user wrote them, never with a path on the server."""

from pathlib import Path

from core.paths import ELSEWHERE, UNKNOWN

_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "\n": "\u21b5", "\r": "\u21b5", "\t": " "}
"""Characters that Plotly reads as markup or as a template field (`%{x}`), and line breaks, which it shows as blanks."""
_ESCAPES = str.maketrans({**dict.fromkeys(map(chr, (*range(32), *range(127, 160))), "\ufffd"), **_SIGNS})


def escape_text(text: str) -> str:
    """Escape a text for Plotly: for names, labels, titles, axes and hover templates.

    Quotation marks stay, since Plotly has no entities for them. A line break becomes a visible sign.
    """
    return text.replace("\r\n", "\n").translate(_ESCAPES)


def get_data_name(name: str) -> str:
    """Return a data set's name for display: a known name unchanged, and of a file path the last part."""
    name = name.removeprefix(ELSEWHERE) if name.startswith(ELSEWHERE + UNKNOWN) else name
    return Path(name).name or name


def strip_store(name: str, store: Path) -> str:
    """Return `data.name` for display: of an uploaded file its known name, not its private path on the server."""
    return Path(name).name if Path(name).is_relative_to(store) else name
