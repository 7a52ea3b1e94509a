"""A section of a report, and the small tables and lists that its words are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.figures.drawing import Node, element, write_node
from dashboard.figures.numbers import count
from dashboard.reports.drawn import wrapped


@dataclass(frozen=True)
class Section:
    """A heading with what stands below it, as markup."""

    name: str  # of its place in a link
    title: str
    n: int
    """How much it holds,"""
    of: str
    """and of what: `1 194 sentences`."""
    markup: str

    @property
    def note(self) -> str:
        """Return what stands behind the heading."""
        return f"{count(self.n)} {self.of}"


def paragraph(words: str, kind: str = "") -> str:
    """Write words of any origin as a paragraph."""
    return write_node(element("p", words, **({"class_": kind} if kind else {})))


def finding(title: str, words: str) -> str:
    """Write something that a reader must know before the figures."""
    return write_node(element("div", element("b", title), element("p", words), class_="finding"))


def facts(pairs: Mapping[str, str]) -> str:
    """List names and values, those that are empty left out."""
    parts = [part for name, value in pairs.items() if value for part in (element("dt", name), element("dd", value))]
    return write_node(element("dl", *parts))


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Node]], numbers: Sequence[str] = ()) -> str:
    """Write a small table; columns of `numbers` stand at the right, the first cell heads its row."""
    side = [{"class_": "number"} if name in numbers else {} for name in columns]
    head = [element("th", name, scope="col", **each) for name, each in zip(columns, side, strict=True)]
    body = [
        element("tr", element("th", row[0], scope="row", **side[0]), *map(_cell, row[1:], side[1:])) for row in rows
    ]
    parts = element("thead", element("tr", *head)), element("tbody", *body)
    return wrapped(write_node(element("table", element("caption", title), *parts)), title)


def _cell(content: str | Node, side: dict[str, str]) -> Node:
    return element("td", content, **side)


def together(figures: Sequence[str]) -> str:
    """Put figures beside each other where there is room; nothing where there are none."""
    there = "".join(figures)
    return f'<div class="figures">{there}</div>' if there else ""


def folded(summary: str, markup: str) -> str:
    """Write markup that is opened when it is asked for."""
    return f"<details><summary>{write_node(summary)}</summary>{markup}</details>"
