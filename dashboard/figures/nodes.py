"""A drawing of ours as plain data: an exported file writes it as HTML, a component builds it in the browser.

A node is a text, or a list of a tag, its attributes and its children. Texts and attributes are data wherever it goes:
here they are escaped, in the browser they arrive through `createTextNode` and `setAttribute`. No node names a script,
an address or an event.
"""

from __future__ import annotations

from html import escape
from typing import Any

Node = str | list[Any]
EMPTY = frozenset({"col", "br"})
"""Tags that have no end."""


def element(tag: str, *children: Node | None, **attributes: str) -> Node:
    """A node; of the names of attributes a final `_` is left away and each other `_` is a dash."""
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    return [tag, named, *(child for child in children if child is not None)]


def html(node: Node) -> str:
    """The node as HTML."""
    if isinstance(node, str):
        return escape(node)
    tag, attributes, *children = node
    head = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
    return f"<{tag}{head}>" + ("" if tag in EMPTY else "".join(map(html, children)) + f"</{tag}>")
