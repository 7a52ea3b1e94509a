"""How verbs print their results for a terminal: sentences and tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from core.numbers import NARROW, whole_percent

# Printed as it is: a run may be called :x:, and a text may hold [red].
PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}


UNBROKEN = 20
"""Characters of a cell, such as an interval, that stays on one line where there is room."""
UNBOUND = 100_000
"""Columns of a terminal on which everything fits."""

out, err = Console(**PLAIN), Console(stderr=True, **PLAIN)


def say(text: str, *, head: str = "", console: Console = out) -> None:
    """Print one line as it is, whoever wrote it, after `head` in bold."""
    console.print(Text.assemble((visible(head), "bold"), visible(text)), soft_wrap=True)


def printer(write: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], None]:
    """Return a function that prints a result as one line."""
    return lambda result: say(write(result))


def say_edit(result: dict[str, Any]) -> None:
    """Print what is changed inside, before anything about the model."""
    if result["edit"]:
        say(f"as edited: {result['edit']}")


def teller() -> Callable[[str, float | None], None]:
    """Return a listener that prints progress on stderr, without repeated lines."""
    last = ""

    def tell(what: str, share: float | None) -> None:
        nonlocal last
        line = what if share is None else f"{what}: {whole_percent(share)}"
        if line != last:
            say(line, console=err)
        last = line

    return tell


def tabulate(rows: list[dict[str, Any]], columns: tuple[str, ...], whole: str = "run") -> None:
    """Print rows by column name; lists with commas, what is missing as nothing.

    Nothing is cut short and no word is broken: what is too long for its column goes on below, and
    where the words of a row do not fit beside each other, each row is a paragraph that begins with its column `whole`,
    or with the first.
    """
    cells = [[_cell(row.get(column, "")) for column in columns] for row in rows]
    for unbroken in (UNBROKEN, 0):
        table = _table(cells, columns, whole, unbroken)
        if Measurement.get(out, out.options.update(width=UNBOUND), table).minimum <= out.width:
            out.print(table)
            return
    _paragraphs(cells, columns, columns.index(whole) if whole in columns else 0)


def _table(cells: Sequence[Sequence[str]], columns: Sequence[str], whole: str, unbroken: int) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for place, column in enumerate(columns):
        texts = [row[place] for row in cells]
        words = [word for text in (visible(column), *texts) for word in text.split()]
        parts = [*words, *(text for text in texts if cell_len(text) <= unbroken)]
        least = max(map(cell_len, parts), default=0)
        table.add_column(visible(column), no_wrap=column == whole, overflow="fold", min_width=least)
    for row in cells:
        table.add_row(*row)
    return table


def _paragraphs(cells: Sequence[Sequence[str]], columns: Sequence[str], first: int) -> None:
    for row in cells:
        out.print(Text(row[first], "bold"), soft_wrap=True)
        rest = [f"{visible(columns[place])} {text}" for place, text in enumerate(row) if text and place != first]
        if rest:
            out.print(Padding(Text(" · ".join(rest), overflow="fold"), (0, 0, 0, 2)))


def _cell(cell: Any) -> str:
    return visible(", ".join(cell) if isinstance(cell, list) else str(cell))


def visible(text: str) -> str:
    """Show control characters and half characters as their numbers: a text must not steer the terminal."""
    shown = "".join(
        each.encode("unicode_escape").decode() if unicodedata.category(each) in ("Cc", "Cs") else each for each in text
    )
    return shown if out.encoding.startswith("utf") else shown.replace(NARROW, " ")


def show_tree(result: dict[str, Any]) -> None:
    """Print everything, indented."""
    out.print_json(data=result)
