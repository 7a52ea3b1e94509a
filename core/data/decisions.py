"""Decisions that a reading of a file made: what was chosen, why, and what else could have been chosen."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.exceptions import DataError

What = Literal["encoding", "delimiter", "quoting", "header", "sheet", "text", "label", "labels", "rows"]

_NAMED = 3
"""Files that are named before the others are counted."""


@dataclass(frozen=True)
class ReadingDecision:
    """One choice between several ways to read a file."""

    what: What
    chosen: str
    """As the setting would write it, such as `cp1251`; of `rows` a sentence."""
    alternatives: tuple[str, ...] = ()
    """Other values of the setting that would do, the likeliest first."""
    setting: str = ""
    """The setting that chooses another one, such as `data.encoding`; empty: there is none."""
    proof: str = ""
    """A line of text by which a person sees whether the choice is right."""
    guessed: bool = False
    """Whether the file leaves the choice open, so that a person should look at the proof."""
    file: str = ""
    """The files of a folder that it is of; empty: all files."""


@contextlib.contextmanager
def naming_sheets(sheets: Sequence[str], sheet: str) -> Iterator[None]:
    """Add to the refusal of a table the other tables of its file, so that a person can choose one of them."""
    try:
        yield
    except DataError as error:
        error.sheets, error.sheet = tuple(sheets), sheet
        raise


def join_decisions(by_file: Mapping[str, Iterable[ReadingDecision]]) -> tuple[ReadingDecision, ...]:
    """Return the decisions of all files of a folder; one that several files share is there once, with their names."""
    files: dict[tuple[str, str, bool], dict[str, ReadingDecision]] = {}
    for file, decisions in by_file.items():
        for each in decisions:
            files.setdefault((each.what, each.chosen, each.guessed), {})[file] = each
    return offer_for_all(
        dataclasses.replace(next(iter(alike.values())), file=name_files([*alike], len(by_file)))
        for alike in files.values()
    )


def offer_for_all(decisions: Iterable[ReadingDecision]) -> tuple[ReadingDecision, ...]:
    """Remove the encodings that would misread those files of a folder whose encoding is certain."""
    found = tuple(decisions)
    certain = {each.chosen.removesuffix("-sig") for each in found if each.what == "encoding" and not each.guessed}
    if len({each.chosen for each in found if each.what == "encoding"}) < 2 or not certain:
        return found
    return tuple(each if each.what != "encoding" else _keep_certain_readable(each, certain) for each in found)


def _keep_certain_readable(decision: ReadingDecision, certain: set[str]) -> ReadingDecision:
    """Offer `utf-8+X` instead of X where the certain files are in UTF-8, and no encoding where they are in another."""
    offered = decision.alternatives if decision.guessed and certain == {"utf-8"} else ()
    both = dict.fromkeys(f"utf-8+{each.removeprefix('utf-8+')}" for each in offered)
    return dataclasses.replace(decision, alternatives=tuple(each for each in both if each != decision.chosen))


def name_files(names: Sequence[str], of: int) -> str:
    """Name the files of a decision; empty: all of a folder."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "" if len(names) == of else f"{', '.join(names[:_NAMED])}{more}"
