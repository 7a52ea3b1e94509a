"""What takes seconds to know of a data set, made once and kept on disk beside the runs: its card, its yardsticks."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import core
from core import stored
from core.atomic import storage_errors, write_text
from core.evaluation.kept import VERSION, KeptYardsticks
from core.exceptions import NotAvailable, RunDamaged, SentiscopeError
from core.fingerprint import fingerprint
from core.runs import queue
from core.runs.budget import Counts, vocabulary_settings
from core.runs.store import RunStore
from core.text.config import TextConfig
from dashboard import access
from dashboard.data import data as reader

if TYPE_CHECKING:
    from core.config import RunConfig
    from core.data.table import Dataset


LONGEST_YARDSTICK_S = 1800.0
AT_ONCE = 2_000_000
"""Characters up to which the card of a data set is made without asking: some seconds."""


def known_card(data: Dataset, text: TextConfig) -> dict[str, Any] | None:
    """The data card if it has been made before."""
    from core.data.card import Card

    return _read_json(_kept("card", data, text), Card)


def card(data: Dataset, text: TextConfig) -> dict[str, Any]:
    """The data card without the yardsticks, made now and kept.

    Raises:
        StorageError: it cannot be kept.
    """
    from core.data.card import data_card

    return _write_json(_kept("card", data, text), data_card(data, text))


def quick(data: Dataset) -> bool:
    """Whether the card takes a few seconds only."""
    return sum(int(rows["text"].str.len().sum()) for rows in data.splits.values()) <= AT_ONCE


def counts(config: RunConfig) -> Counts | None:
    """Return the counts of a run's data; None where this server does not hold them in memory."""
    held = reader.held_dataset(replace(config.data, limit=0, examples=""))
    if held is None:
        return None
    found = Counts(len(held.splits["train"]), len(held.classes))
    if not quick(held) or config.text.tokenizer_fit == "all" or config.model.backbone or config.training.start:
        return found
    try:
        fitted = reader.tokenizer(held, vocabulary_settings(config.text))
    except SentiscopeError:  # a training with these settings says why
        return found
    return replace(found, vocabulary=fitted.size, longest=fitted.max_length)


def known_yardsticks(data: Dataset) -> dict[str, Any] | None:
    """What TF-IDF reaches, if it has been measured from here before: `yardstick`, `yardstick_chars`."""
    return _read_json(_kept("tfidf", data, None), KeptYardsticks)


def yardsticks(data: Dataset, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Measure TF-IDF in a process of its own, which waits for its turn and may import torch, and keep the outcome.

    Raises:
        InputError: as many wait as this server allows.
        NotAvailable: it could not be measured; says why.
    """
    runs, mine = RunStore().folder, f"tfidf-{data.fingerprint[:16]}"
    queue.check_room(runs, queue.SHORT)
    try:
        done = subprocess.run(
            queue.in_turn(card_command(settings), runs, mine, str(time.time_ns()), queue.SHORT),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LONGEST_YARDSTICK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(
            "TF-IDF waited and worked for more than half an hour and was stopped; limit the data, or try again later"
        ) from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason was given"]
        raise NotAvailable(f"TF-IDF could not be measured: {said[-1]}")
    measured = json.loads(done.stdout)
    return _write_json(_kept("tfidf", data, None), {name: measured[name] for name in KeptYardsticks.__annotations__})


def card_command(settings: Mapping[str, Any]) -> list[str]:
    """The command line that measures TF-IDF; -P keeps a folder `core` of the working directory out of the way."""
    chosen = [f"{name}={value}" for name, value in settings.items() if name != "data.name"]
    words = [word for each in chosen for word in ("--set", each)]
    return [sys.executable, "-P", "-m", "core.cli", "data", "card", "--json", *words, "--", settings["data.name"]]


def _kept(kind: str, data: Dataset, text: TextConfig | None) -> Path:
    made = {"version": core.__version__, "yardstick": VERSION}
    key = fingerprint({**made, "data": data.fingerprint, "classes": data.classes, "text": text})
    return access.library_folder() / "cards" / f"{kind}-{key}.json"


def _read_json(path: Path, kind: type[Any]) -> dict[str, Any] | None:
    """What was kept, of this shape at least; None where there is none, or a damaged one, which is then made anew."""
    try:
        found: dict[str, Any] = stored.read_tree(path)
        stored.check(found, kind, file=path)
    except (FileNotFoundError, RunDamaged):
        return None
    return found


def _write_json(path: Path, value: dict[str, Any]) -> dict[str, Any]:
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(value))
    return value
