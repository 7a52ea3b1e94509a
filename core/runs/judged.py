"""Labelled rows on which a run can be evaluated: its own data or any other."""

from __future__ import annotations

import dataclasses
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from core.config import compose
from core.data import apart, splits
from core.data.config import DataConfig
from core.data.findings import plural
from core.data.labels import WITHHELD, is_several, natural
from core.data.load import load, path_of
from core.data.matching import alike, match, suggestions
from core.data.sources import named
from core.data.table import TEST, TRAIN, VALIDATION, WHOLE, targets
from core.exceptions import InputError
from core.numbers import count
from core.runs.record import RunRecord, refuse_tagged

if TYPE_CHECKING:
    import pandas as pd

    from core.evaluation.predict import Predictions
    from core.runs.load import LoadedRun

_VIEWS = (2, 3, 5)
"""Classes that the built-in corpus can be seen as."""


@dataclass(frozen=True)
class Wanted:
    """A request for rows to measure runs on."""

    data: str = ""
    """A registered name, a folder or a file; empty: the run's own data."""
    split: str = ""
    """Empty: test, or what there is of a folder without one, or the whole of a single file."""
    rename: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Label in the data → class of the run; to nothing: its rows are left out."""
    limit: int = 0
    """Rows at most, seeded and stratified; 0: all."""
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """How other data are read and split: `{"data.label": "stars"}`."""
    passage: int = 0
    """Words of a passage, where longer texts are read passage by passage; 0: each as a whole."""
    asked: tuple[str, ...] = ()
    """What a person types before the options, for commands that are suggested; empty: `evaluate` and the run."""


@dataclass(frozen=True)
class Judged:
    """Rows on which a run can be measured."""

    rows: pd.DataFrame
    """`text`, `label` (class numbers of the run; rising tuples of them where texts have several), and every further
    column of the data; a fresh index."""
    data: str
    split: str
    dropped: dict[str, int]
    """Label in the data → rows that had it and were left out."""
    renamed: dict[str, str]
    """Label in the data → class of another name that it was taken for."""
    notes: tuple[str, ...] = ()
    passage: int = 0


@dataclass(frozen=True)
class Offered:
    """The labels of a data set, before they are mapped to classes of a run."""

    split: str
    rows: int
    labels: dict[str, int]
    meant: dict[str, str | None]
    """Label → the class of the run that is likely meant; empty: none, so that its rows would be left out; None: a
    person must say, as of −1."""
    columns: list[str]
    """By what the rows can be split: `label` and the data's own."""


def offered(record: RunRecord, wanted: Wanted) -> Offered:
    """Return the labels of a data set, and what each would mean to a run; InputError: no such data or split."""
    refuse_tagged(record)
    words, split, _ = labelled_rows(record, wanted)
    labels = [each if isinstance(each, tuple) else (each,) for each in words["label"]]
    rows = Counter(word for row in labels for word in dict.fromkeys(row))
    said, known = _renamed(record, wanted, rows), dict[str, str]()
    for word in rows:
        if (name := said.get(word, alike(word, record.classes))) is not None:
            known[word] = name
    asked = sorted(set(rows) - set(known), key=natural)
    guessed = {**suggestions(asked, record.classes, others=bool(known)), **known}
    if WITHHELD in asked:
        guessed[WITHHELD] = None
    ordered = sorted(rows, key=natural)
    columns = ["label", *(str(name) for name in words.columns if name not in ("text", "label"))]
    return Offered(
        split, len(words), {word: rows[word] for word in ordered}, {word: guessed[word] for word in ordered}, columns
    )


def _renamed(record: RunRecord, wanted: Wanted, labels: Iterable[str]) -> dict[str, str]:
    """Return the renames that a person gives and, for other data, those of the run's own labels that occur there."""
    there = list(labels)
    own = record.config.data.renamed().items() if wanted.data else ()
    return {**{old: new for old, new in own if alike(old, there) is not None}, **wanted.rename}


def judged(record: RunRecord, wanted: Wanted) -> Judged:
    """Return the requested rows, with the labels as class numbers of a run; one class, or one row, is enough.

    Raises InputError for no such data or split, for labels that are no class of the run
    (`core.data.matching.Unmatched`), or for several labels a row if the run gives each text one.
    """
    words, split, notes = labelled_rows(record, wanted)
    labels = [each if isinstance(each, tuple) else (each,) for each in words["label"]]
    there = {word for row in labels for word in row}
    found = match(
        labels,
        record.classes,
        _renamed(record, wanted, there),
        whose=f"run '{record.run}'",
        command=lambda rename: command(record.run, dataclasses.replace(wanted, rename=rename)),
    )
    rows = words[found.kept].reset_index(drop=True)
    rows["label"] = _numbers(found.numbers, record, np.flatnonzero(found.kept))
    if not len(rows):
        raise InputError(f"{_name(record, wanted)}, {split}: nothing is left of {plural(len(words), 'row')}")
    if found.dropped:
        left = ", ".join(f"'{word}' ({plural(number, 'row')})" for word, number in found.dropped.items())
        notes = (*notes, f"left out: {'label' if len(found.dropped) == 1 else 'labels'} {left}")
    if idle := [old for old in wanted.rename if alike(old, list(there)) is None]:
        notes = (*notes, f"no row has the label {', '.join(map(repr, idle))}, which is to be renamed or left out")
    if wanted.limit and wanted.limit < len(rows):
        notes = (*notes, f"{count(wanted.limit)} of {plural(len(rows), 'row')}, stratified, seed 0")
        rows = _limited(rows, record, wanted.limit)
    if wanted.passage:
        notes = (*notes, f"read in passages of {plural(wanted.passage, 'word')} at most, whose log-odds are averaged")
    return Judged(rows, _name(record, wanted), split, found.dropped, found.renamed, notes, wanted.passage)


def predictions_of(loaded: LoadedRun, given: Judged) -> Predictions:
    """Predict such rows, in their order."""
    return loaded.predict(given.rows["text"].tolist(), passage=given.passage)


def command(run: str, wanted: Wanted) -> str:
    """Return the command with which a person measures a run on this."""
    words = ["sentiscope", *(wanted.asked or ("evaluate", run))]
    numbers = (("--limit", wanted.limit), ("--passage", wanted.passage))
    for name, value in (("--data", wanted.data), ("--split", wanted.split), *numbers):
        words += [name, str(value)] if value else []
    words += [part for name, value in wanted.settings.items() for part in ("--set", f"{name}={value}")]
    return shlex.join([*words, *(part for old, new in wanted.rename.items() for part in ("--map", f"{old}={new}"))])


def _name(record: RunRecord, wanted: Wanted) -> str:
    return wanted.data or record.config.data.name


def labelled_rows(record: RunRecord, wanted: Wanted) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Return rows with labels as words, the name of their split, and notes on how they were read."""
    if not wanted.data:
        if wanted.settings:
            raise InputError(f"--set {next(iter(wanted.settings))}: how other data are read; name them with --data")
        return _of_dataset(record.config.data, wanted.split)
    config = _config(record, wanted)
    if named(wanted.data):
        return _of_dataset(config, wanted.split)
    path = path_of(wanted.data)
    if path.is_file():
        if wanted.split not in ("", WHOLE):
            raise InputError(f"--split {wanted.split}: the single file {path.name} has no splits")
        file = apart.read_labeled(path, config.reading(), to_train=False)
        return file.rows, WHOLE, file.notes
    return _of_folder(path, config, wanted.split)


def _config(record: RunRecord, wanted: Wanted) -> DataConfig:
    """Return how other data are read: the run's own file as it read it, the built-in corpus in its classes."""
    own = record.config.data
    settings: dict[str, Any] = {"data.name": wanted.data}
    if wanted.data == "built-in" and len(record.classes) in _VIEWS:
        settings["data.classes"] = len(record.classes)
    if not named(wanted.data) and not named(own.name) and _same(wanted.data, own.name):
        settings |= {f"data.{name}": value for name, value in own.reading().items()}
    if other := [name for name in wanted.settings if not name.startswith("data.")]:
        raise InputError(f"--set {other[0]}: the run is trained; only how data are read can be set, such as data.text")
    return compose("vanilla", {**settings, **wanted.settings}).data


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).expanduser().samefile(Path(other).expanduser())
    except OSError:
        return False


def _of_folder(path: Path, config: DataConfig, split: str) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Return a split from its file; a folder without this split is split as for training."""
    found = apart.read_labeled(path, config.reading(), to_train=False)
    first = (TEST, WHOLE) if TRAIN in found.splits else (TEST, WHOLE, VALIDATION)
    given = split or next((name for name in first if name in found.splits), "")
    if given in found.splits and not config.split and not config.folds:
        return found.splits[given], given, found.notes
    made = {TRAIN, VALIDATION, TEST} if {TRAIN, WHOLE} & set(found.splits) else set[str]()
    if (split or TEST) not in made:
        raise InputError(f"--split {split}: {path.name} has {', '.join(found.splits)}")
    return _of_dataset(config, split)


def _of_dataset(config: DataConfig, split: str) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    config = dataclasses.replace(config, examples="")  # counter-examples are trained on and counted nowhere
    dataset, split = load(config, to_train=split == TRAIN), split or TEST
    if split not in dataset.splits:
        raise InputError(f"--split {split}: {dataset.name} has {', '.join(dataset.splits)}")
    rows = dataset.splits[split]
    several = is_several(rows["label"])
    words = [tuple(dataset.classes[n] for n in (each if several else (each,))) for each in rows["label"]]
    return rows.assign(label=_column(words)), split, dataset.notes


def _column(values: Sequence[Any]) -> pd.Series:
    """Store tuples as values of one column: pandas would split them into several."""
    import pandas as pd

    return pd.Series(list(values), dtype=object)


def _numbers(found: Sequence[tuple[int, ...]], record: RunRecord, rows: np.ndarray) -> Any:
    if record.task == "multi":
        return _column(found)
    if wrong := [(int(row) + 1, len(each)) for row, each in zip(rows, found, strict=True) if len(each) != 1]:
        first, labels = wrong[0]
        raise InputError(
            f"{plural(len(wrong), 'row')} {'has' if len(wrong) == 1 else 'have'} several labels or none (row {first}: "
            f"{labels}); run '{record.run}' gives each text one"
        )
    return np.array([number for (number,) in found], np.int64)


def _limited(rows: pd.DataFrame, record: RunRecord, most: int) -> pd.DataFrame:
    labels = targets(rows, len(record.classes), record.task)
    strata = labels if record.task == "single" else splits.strata(labels)
    return rows.iloc[splits.cut(strata, most, 0)[0]].reset_index(drop=True)
