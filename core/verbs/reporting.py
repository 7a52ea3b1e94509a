"""A run, a comparison or a coded session as one file to give away; and the command that makes a run again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.config import RunConfig, compose, flat, parse_settings
from core.exceptions import SentiscopeError
from core.runs.record import RunRecord
from core.runs.store import RunStore
from core.verbs.registered import of_the_dashboard
from core.verbs.training import configured


def report(
    run: str,
    file: Path | str = "",
    *,
    against: Sequence[str] = (),
    codes: str = "",
    split: str = "",
    store: RunStore | None = None,
    on_progress: Callable[[str, float | None], None] | None = None,
) -> dict[str, Any]:
    """Write one HTML file that opens without a network: figures, tables, codes, settings, data card, predictions.

    Args:
        run: An evaluated run.
        file: Empty: `sentiscope-report-RUN.html` in the working directory. A file that is there stays.
        against: Further runs on the same rows, which it is compared with.
        codes: A coded session of the one run, as `codes_list` names it: a draw by its `id`, an author, or `data`, the
            codebook with all that anybody coded. Empty: the codes of what is wrong.
        split: Empty: test, or the last that was evaluated.
        store: Where runs live.
        on_progress: Told what is done and which share of all.

    Returns:
        `file`, its size in `bytes`, `kind` (`run`, `comparison` or `codes`), `runs`, `split`, `n` sentences, whether
        their `texts` are in it, `command`, which makes it again; `sections`: `name`, `title` and the number `n` of what
        each holds, in order; `figures`: their names; `left_out`: figure → why there is none.

    Raises:
        InputError: No such run, split or session; a file of this name is there, or it cannot be written; the runs have
            other rows.
        RunDamaged: A file of a run cannot be read.
        NotAvailable: The installation knows no dashboard.
    """
    make, names = of_the_dashboard("report"), [run, *against]
    found: dict[str, Any] = make(names, file, codes=codes, split=split, store=store, on_progress=on_progress)
    return found


def train_command(record: RunRecord, store: RunStore | None = None) -> tuple[str, str]:
    """The command line that trains a run again, with every setting that preset, data set and recipe do not give.

    Returns:
        The command, to be run as it is; and what would still differ or is needed, empty where nothing does.
    """
    store, note = store or RunStore(), ""
    recipe = record.recipe
    try:
        settings = _beside(record, recipe, store)
    except SentiscopeError:  # what it starts from, its data or its recipe is not here: every setting is written out
        recipe = ""
        settings = _differences(record.config, compose(record.preset))
    words = ["sentiscope", "train", f"--data={record.config.data.name}", f"--model={record.preset}"]
    words += [f"--recipe={recipe}"] if recipe else []
    words += [f"--set={name}={_typed(value)}" for name, value in settings.items() if name != "data.name"]
    command = shlex.join(words)
    try:
        lost = _differences(record.config, read_command(command, store))
        note = f"It cannot say {', '.join(lost)}." if lost else ""
    except SentiscopeError as error:
        note = f"It cannot be run here: {error}."
    return command, record.unbound or note


def read_command(command: str, store: RunStore) -> RunConfig:
    """The settings that a command of `train_command` comes to.

    Raises:
        InputError: it cannot be run here.
    """
    given, settings = dict[str, str](), list[str]()
    for word in shlex.split(command)[2:]:
        name, _, value = word.removeprefix("--").partition("=")
        if name == "set":
            settings.append(value)
        else:
            given[name] = value
    recipe = given.get("recipe", "")
    return configured(given["data"], given["model"], parse_settings(settings), recipe, store=store)[0]


def _beside(record: RunRecord, recipe: str, store: RunStore) -> dict[str, Any]:
    """What has to be set so that the command comes to the settings of the record.

    Raises:
        InputError: preset, data, recipe or the run that it started from are not here.
    """
    wanted, settings = record.config, dict[str, Any]()
    for _ in range(3):  # a setting that is given can bring others along, as `training.start` does
        made, _ = configured(wanted.data.name, record.preset, settings, recipe, store=store)
        lacking = _differences(wanted, made)
        if not lacking:
            break
        settings |= lacking
    return settings


_GIVEN = ("data.name", "data.lineage")
"""Settings that a command has a word of its own for, or that a training fills in."""


def _differences(wanted: RunConfig, made: RunConfig) -> dict[str, Any]:
    found: Mapping[str, Any] = flat(made)
    return {name: value for name, value in flat(wanted).items() if found[name] != value and name not in _GIVEN}


def _typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
