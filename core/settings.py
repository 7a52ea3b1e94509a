"""What every setting means: its type, choices, default and the sentence that stands below it in its source.

The sentence is read from the source of the settings' classes, so it is written once. Imports nothing heavy.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import textwrap
import typing
from collections.abc import Iterator

from core.config import RunConfig


@dataclasses.dataclass(frozen=True)
class Setting:
    """One leaf of the settings."""

    name: str
    """Dotted, as in `--set`."""
    choices: tuple[str, ...]
    """What is allowed, empty where it is a number or a text; a switch has true and false."""
    help: str
    """What it does; empty where the name says it."""


@functools.cache
def settings() -> tuple[Setting, ...]:
    """Every setting, in order of declaration."""
    return tuple(_settings(RunConfig, ""))


def _settings(kind: type, prefix: str) -> Iterator[Setting]:
    hints, notes = typing.get_type_hints(kind), _notes(kind)
    for field in dataclasses.fields(kind):
        hint, name = hints[field.name], prefix + field.name
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from _settings(hint, f"{name}.")
        else:
            yield Setting(name, _choices(hint), notes.get(field.name, ""))


def _choices(hint: object) -> tuple[str, ...]:
    if hint is bool:
        return ("true", "false")
    choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
    return tuple(str(choice) for choice in choices if choice != "")  # empty is what stands there unasked


def _notes(kind: type) -> dict[str, str]:
    """The text that stands below each field, as one line."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    notes, last = {}, ""
    for node in tree.body if isinstance(tree, ast.ClassDef) else []:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
            continue
        if last and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            notes[last] = " ".join(str(node.value.value).split())
        last = ""
    return notes
