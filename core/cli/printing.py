"""What commands share: how they print (JSON as one object on stdout, or tables and sentences), and arguments."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from core.exceptions import InputError
from core.numbers import NARROW, whole_percent
from core.text.pair import joined

# What is printed stands there as it is: a run may be called :x:, and a text may hold [red].
PLAIN: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}


UNBROKEN = 20
"""Characters of a cell, such as an interval, that stays on one line where there is room."""
UNBOUND = 100_000
"""Columns of a terminal on which everything fits."""

out, err = Console(**PLAIN), Console(stderr=True, **PLAIN)
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout, logs on stderr.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="A setting; repeat for more.")]
Pair = Annotated[
    str | None, typer.Option("--pair", metavar="TEXT", help="The second text, of a run that reads two at once.")
]
Passage = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="WORDS",
        help="Read texts of more words in passages of so many at most, and average their log-odds; 0: each as a whole.",
    ),
]
Run = Annotated[str, typer.Argument(help="Name of a run; `sentiscope runs list` shows all.")]

Edit = Annotated[
    str,
    typer.Option(
        metavar="PART,…",
        help="Change the model inside, as `edit` in the link of the page Sentence: h1.2 (head 2 of layer 1 off), "
        "c2.1 (A₁ of layer 2), m1.2.0 (A₀ of one head), h1.2:mean (at its mean), l2c1:0.5 (λ₁ of layer 2), l:0.5 (all "
        "other λ × 0.5), g1.3:0 (gate of token 3 in layer 1 closed), s:0.5 (half the lexical term), s2 (that of layer "
        "2 off), n3.2 or word=piece (a piece of a word silenced), mix.0 (TF-IDF out). Example: --edit h1.2,l2c1:0.5",
    ),
]


def emit(result: dict[str, Any], as_json: bool, show: Callable[[dict[str, Any]], None]) -> None:
    """What a verb returned, as JSON or as `show` shows it."""
    if as_json:
        # ASCII, so that it arrives whole through any pipe, also half characters from undecodable arguments.
        sys.stdout.write(json.dumps(result, allow_nan=False) + "\n")
    else:
        show(result)


def say(text: str, *, head: str = "", console: Console = out) -> None:
    """One line as it is, whoever wrote it; `head` stands before it in bold."""
    console.print(Text.assemble((visible(head), "bold"), visible(text)), soft_wrap=True)


def say_edit(result: dict[str, Any]) -> None:
    """What is changed inside, before anything that is said of the model."""
    if result["edit"]:
        say(f"as edited: {result['edit']}")


def teller() -> Callable[[str, float | None], None]:
    """Says on stderr how far a piece of work is; a line that says what the last one said is left out."""
    last = ""

    def tell(what: str, share: float | None) -> None:
        nonlocal last
        line = what if share is None else f"{what}: {whole_percent(share)}"
        if line != last:
            say(line, console=err)
        last = line

    return tell


def tabulate(rows: list[dict[str, Any]], columns: tuple[str, ...], whole: str = "run") -> None:
    """Rows by column name; lists with commas, what is not there as nothing.

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


def both(text: str, pair: str | None) -> str:
    """The texts of a pair as one; a single text as it is."""
    return text if pair is None else joined(text, pair)


def pairs(texts: Sequence[str], wrong: str) -> dict[str, str]:
    """`["a=b", …]` as a dictionary.

    Raises:
        InputError: one has no sign of equality; `wrong` says what to write.
    """
    cut = [text.partition("=") for text in texts]
    if any(not equals for _, equals, _ in cut):
        raise InputError(wrong)
    return {name.strip(): value.strip() for name, _, value in cut}


def visible(text: str) -> str:
    """Control characters and half characters as their numbers: a text must not steer the terminal."""
    shown = "".join(
        each.encode("unicode_escape").decode() if unicodedata.category(each) in ("Cc", "Cs") else each for each in text
    )
    return shown if out.encoding.startswith("utf") else shown.replace(NARROW, " ")


def show_tree(result: dict[str, Any]) -> None:
    """Everything, indented."""
    out.print_json(data=result)
