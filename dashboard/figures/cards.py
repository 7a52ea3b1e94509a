"""What the card of a data set counts, as tables: its splits, and how many labels a text has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dashboard.figures.data import as_read_text, cardinality_table, split_table, split_words
from dashboard.figures.drawing import Column, Table
from dashboard.figures.figure import Figure
from dashboard.figures.numbers import count

Card = Mapping[str, Any]


def _right(label: str, width: int, about: str = "") -> Column:
    return Column(label, about, alignment="right", width=width)


SPLIT_COLUMNS = {
    "split": Column("Split", width=84),
    "rows": _right("Rows", 62),
    "median": _right("Median", 66, "Tokens of the text in the middle"),
    "95 %": _right("95 %", 52, "95 % of the texts have at most this many tokens"),
    "longest": _right("Longest", 68, "In tokens"),
    "unknown": _right("Unknown", 76, "Share of the tokens"),
    "cut": _right("Cut", 60, "Share of the texts"),
    "repeats": _right("Repeats", 68, "Rows that repeat an earlier text of their split"),
    "repeats as read": _right(
        "As read", 68, "Rows that repeat an earlier text of their split as the tokenizer reads it"
    ),
    "also in train": _right("In train", 64, "Rows whose text is also a training text, letter by letter"),
    "in train as read": _right("As read ", 68, "Rows whose text is a training text as the tokenizer reads it"),
    "inside a training text": _right("In phrases", 88, "Share of the texts that are part of a training text"),
}


def _vocabulary(card: Card) -> str:
    known = card["vocabulary"]
    return f"vocabulary of {count(known['size'])} {'words' if known['tokenizer'] == 'word' else 'pieces'}"


SPLITS = Figure[Card](
    "splits",
    "data",
    "Splits",
    None,
    lambda card, look: Table(split_words(split_table(card)), SPLIT_COLUMNS),
    note=_vocabulary,
    reading=lambda card: (
        f"{as_read_text(card)} Unknown: share of the tokens that the vocabulary of the training split lacks. "
        "Cut: share of the texts."
    ),
    how=(
        "Repeats are rows whose text occurred before in the same split. A row of another split that is also in train, "
        "or lies inside a training text as a phrase, can be memorised instead of understood: scores on it flatter."
    ),
    tables=lambda card: {"Splits": split_table(card)},
)
CARDINALITY = Figure[Card](
    "cardinality",
    "data",
    "Labels per text",
    None,
    lambda card, look: Table(cardinality_table(card), narrow=True),
    note="how many texts have how many",
    tables=lambda card: {"Labels a text": cardinality_table(card)},  # exported files keep their names
)
