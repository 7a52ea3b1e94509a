"""Labelled rows on which a run can be evaluated: a split of its own data or any other data set."""

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
from core.data import sandbox, splits
from core.data.config import DataConfig
from core.data.dataset import TEST, TRAIN, VALIDATION, WHOLE, encode_targets
from core.data.labels import WITHHELD, find_same_name, is_several, match_labels, suggest_classes, to_natural_key
from core.data.load import load_dataset, resolve_data_path
from core.data.sources import is_registered
from core.exceptions import InputError, try_call
from core.formatting import count, plural
from core.runs.record import RunRecord, refuse_tagged

if TYPE_CHECKING:
    import pandas as pd

    from core.evaluation.inference import Predictions
    from core.runs.load import LoadedRun

_VIEWS = (2, 3, 5)  # numbers of classes that the built-in corpus offers


@dataclass(frozen=True)
class DataRequest:
    """A request for labelled rows to evaluate runs on: data set, split, label renames, row limit and file options."""

    data: str = ""  # a registered name, a folder or a file; empty: the run's own data
    split: str = ""  # empty: test; a folder without test: its validation split; a single file: all rows
    rename: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Label in the data → class of the run; an empty class leaves its rows out."""
    limit: int = 0  # largest number of rows, a seeded stratified sample; 0: all
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """How other data are read and split: `{"data.label": "stars"}`."""
    passage: int = 0  # words of a passage, if longer texts are predicted by passages; 0: each text as a whole
    edit: str = ""  # of the model, without places of a text
    read_as: str = ""  # normaliser of the texts; empty: that of the run
    asked: tuple[str, ...] = ()  # words before the options in suggested commands; empty: `evaluate` and the run


@dataclass(frozen=True)
class EvaluationData:
    """Labelled rows on which a run can be evaluated, with notes on how they were read."""

    rows: pd.DataFrame
    """`text`, `label` (class numbers of the run, or ascending tuples of them for multi-label data), and all other
    columns of the data; a new index."""
    data: str
    split: str
    dropped: dict[str, int]  # label in the data → number of rows left out because of it
    renamed: dict[str, str]  # label in the data → class of another name that it was mapped to
    notes: tuple[str, ...] = ()
    passage: int = 0


@dataclass(frozen=True)
class DatasetLabels:
    """The labels of a data set with their counts, before they are mapped to the classes of a run."""

    split: str
    rows: int
    labels: dict[str, int]
    meant: dict[str, str | None]
    """Label → the likely class of the run; empty: no class, its rows would be left out; None: a person must decide, as
    for −1."""
    columns: list[str]  # columns by which rows can be grouped: `label` and the data's own


def list_labels(record: RunRecord, wanted: DataRequest) -> DatasetLabels:
    """Return the labels of a data set, each with the class of a run that it likely means; InputError: no such data."""
    refuse_tagged(record)
    words, split, _ = read_labeled_rows(record, wanted)
    labels = [each if isinstance(each, tuple) else (each,) for each in words["label"]]
    rows = Counter(word for row in labels for word in dict.fromkeys(row))
    said, known = _find_renames(record, wanted, rows), dict[str, str]()
    for word in rows:
        if (name := said.get(word, find_same_name(word, record.classes))) is not None:
            known[word] = name
    asked = sorted(set(rows) - set(known), key=to_natural_key)
    guessed = {**suggest_classes(asked, record.classes, others=bool(known)), **known}
    if WITHHELD in asked:
        guessed[WITHHELD] = None
    ordered = sorted(rows, key=to_natural_key)
    columns = ["label", *(str(name) for name in words.columns if name not in ("text", "label"))]
    meant = {word: guessed[word] for word in ordered}
    return DatasetLabels(split, len(words), {word: rows[word] for word in ordered}, meant, columns)


def _find_renames(record: RunRecord, wanted: DataRequest, labels: Iterable[str]) -> dict[str, str]:
    """Find the label renames for evaluating a run: the user's, and on other data also those of the run itself."""
    there = list(labels)
    own = record.config.data.parse_renames().items() if wanted.data else ()
    return {**{old: new for old, new in own if find_same_name(old, there) is not None}, **wanted.rename}


def read_evaluation_data(record: RunRecord, wanted: DataRequest) -> EvaluationData:
    """Read the requested rows, with labels as the run's class numbers; InputError: unknown data or unmatched labels."""
    words, split, notes = read_labeled_rows(record, wanted)
    data = wanted.data or record.config.data.name
    labels = [each if isinstance(each, tuple) else (each,) for each in words["label"]]
    there = {word for row in labels for word in row}
    found = match_labels(
        labels,
        record.classes,
        _find_renames(record, wanted, there),
        whose=f"run '{record.run}'",
        command=lambda rename: format_command(record.run, dataclasses.replace(wanted, rename=rename)),
    )
    rows = words[found.kept].reset_index(drop=True)
    rows["label"] = _to_class_numbers(found.numbers, record, np.flatnonzero(found.kept))
    if not len(rows):
        raise InputError(f"{data}, {split}: nothing is left of {plural(len(words), 'row')}")
    if found.dropped:
        left = ", ".join(f"'{word}' ({plural(number, 'row')})" for word, number in found.dropped.items())
        notes = (*notes, f"left out: {'label' if len(found.dropped) == 1 else 'labels'} {left}")
    if idle := [old for old in wanted.rename if find_same_name(old, list(there)) is None]:
        notes = (*notes, f"no row has the label {', '.join(map(repr, idle))}, which is to be renamed or left out")
    if wanted.limit and wanted.limit < len(rows):
        notes = (*notes, f"{count(wanted.limit)} of {plural(len(rows), 'row')}, stratified, seed 0")
        strata = encode_targets(rows, len(record.classes), record.task)
        strata = strata if record.task == "single" else splits.find_strata(strata)
        rows = rows.iloc[splits.cut_rows(strata, wanted.limit, 0)[0]].reset_index(drop=True)
    if wanted.passage:
        notes = (*notes, f"read in passages of {plural(wanted.passage, 'word')} at most, whose log-odds are averaged")
    return EvaluationData(rows, data, split, found.dropped, found.renamed, notes, wanted.passage)


def predict_rows(loaded: LoadedRun, given: EvaluationData) -> Predictions:
    """Predict the texts of evaluation rows with a loaded run, in the order of the rows."""
    return loaded.predict(given.rows["text"].tolist(), passage=given.passage)


def format_command(run: str, wanted: DataRequest) -> str:
    """Return the shell command that evaluates a run on the requested data."""
    return shlex.join(["sentiscope", *build_arguments(run, wanted)])


def build_arguments(run: str, wanted: DataRequest) -> list[str]:
    """Return the arguments after `sentiscope` that evaluate a run on the requested data."""
    words = list(wanted.asked or ("evaluate", run))
    numbers = (("--limit", wanted.limit), ("--passage", wanted.passage))
    for name, value in (
        ("--data", wanted.data),
        ("--split", wanted.split),
        *numbers,
        ("--read-as", wanted.read_as),
        ("--edit", wanted.edit),
    ):
        words += [name, str(value)] if value else []
    words += [part for name, value in wanted.settings.items() for part in ("--set", f"{name}={value}")]
    return [*words, *(part for old, new in wanted.rename.items() for part in ("--map", f"{old}={new}"))]


def read_labeled_rows(record: RunRecord, wanted: DataRequest) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Read rows with labels as text, their split's name, and notes on how they were read."""
    if not wanted.data:
        if wanted.settings:
            raise InputError(f"--set {next(iter(wanted.settings))}: how other data are read; name them with --data")
        return _read_dataset_split(record.config.data, wanted.split)
    config = _build_config(record, wanted)
    if is_registered(wanted.data):
        return _read_dataset_split(config, wanted.split)
    path = resolve_data_path(wanted.data)
    if path.is_file():
        if wanted.split not in ("", WHOLE):
            raise InputError(f"--split {wanted.split}: the single file {path.name} has no splits")
        file = sandbox.read_labeled(path, config.get_read_settings(), to_train=False)
        return file.rows, WHOLE, file.notes
    return _read_folder_split(path, config, wanted.split)


def _build_config(record: RunRecord, wanted: DataRequest) -> DataConfig:
    """Return the settings for reading other data; the run's own file is read in the same way as for training."""
    own = record.config.data
    settings: dict[str, Any] = {"data.name": wanted.data}
    if wanted.data == "built-in" and len(record.classes) in _VIEWS:
        settings["data.classes"] = len(record.classes)
    if not is_registered(wanted.data) and not is_registered(own.name):
        first, second = (Path(name).expanduser() for name in (wanted.data, own.name))
        if try_call(OSError, False, first.samefile, second):
            settings |= {f"data.{name}": value for name, value in own.get_read_settings().items()}
    if other := [name for name in wanted.settings if not name.startswith("data.")]:
        raise InputError(f"--set {other[0]}: the run is trained; only how data are read can be set, such as data.text")
    return compose("vanilla", {**settings, **wanted.settings}).data


def _read_folder_split(path: Path, config: DataConfig, split: str) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Read a split from its file in a folder; if the folder has no such file, split the data as for training."""
    found = sandbox.read_labeled(path, config.get_read_settings(), to_train=False)
    first = (TEST, WHOLE) if TRAIN in found.splits else (TEST, WHOLE, VALIDATION)
    given = split or next((name for name in first if name in found.splits), "")
    if given in found.splits and not config.split and not config.folds:
        return found.splits[given], given, found.notes
    made = {TRAIN, VALIDATION, TEST} if {TRAIN, WHOLE} & set(found.splits) else set[str]()
    if (split or TEST) not in made:
        raise InputError(f"--split {split}: {path.name} has {', '.join(found.splits)}")
    return _read_dataset_split(config, split)


def _read_dataset_split(config: DataConfig, split: str) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    config = dataclasses.replace(config, examples="")  # counter-examples are for training only
    dataset, split = load_dataset(config, to_train=split == TRAIN), split or TEST
    if split not in dataset.splits:
        raise InputError(f"--split {split}: {dataset.name} has {', '.join(dataset.splits)}")
    rows = dataset.splits[split]
    several = is_several(rows["label"])
    words = [tuple(dataset.classes[n] for n in (each if several else (each,))) for each in rows["label"]]
    return rows.assign(label=_make_column(words)), split, dataset.notes


def _make_column(values: Sequence[Any]) -> pd.Series:
    """Return a pandas column of objects from a list of tuples, which pandas would otherwise split."""
    import pandas as pd

    return pd.Series(list(values), dtype=object)


def _to_class_numbers(found: Sequence[tuple[int, ...]], record: RunRecord, rows: np.ndarray) -> Any:
    if record.task == "multi":
        return _make_column(found)
    if wrong := [(int(row) + 1, len(each)) for row, each in zip(rows, found, strict=True) if len(each) != 1]:
        first, labels = wrong[0]
        raise InputError(
            f"{plural(len(wrong), 'row')} {'has' if len(wrong) == 1 else 'have'} several labels or none (row {first}: "
            f"{labels}); run '{record.run}' gives each text one"
        )
    return np.array([number for (number,) in found], np.int64)
