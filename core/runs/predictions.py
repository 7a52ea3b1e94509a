"""Stored predictions of a run on a split, validated when read, as an imported file may be wrong."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from core import data
from core.cache import get_cache_folder, keep_files, pack_array
from core.data.dataset import encode_targets
from core.exceptions import DataError, InputError, NotAvailable, RunDamaged, RunNotFound
from core.fingerprint import hash_file, hash_value
from core.formatting import count
from core.metrics import TUNED, get_metric
from core.runs.record import EMBEDDINGS, EVALUATION, LABEL, PREDICTIONS, PROBABILITY, WEIGHTS, RunRecord, refuse_tagged
from core.runs.store import RunStore

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.evaluation.metrics import Scores
    from core.evaluation.significance import ScorePair
    from core.runs.evaluation_data import DataRequest, EvaluationData
else:
    from core.lazy_imports import numpy as np


def list_evaluated_splits(run: Path) -> list[str]:
    """List the splits for which a run directory has predictions, in alphabetical order."""
    return sorted(path.parent.name for path in (run / EVALUATION).glob(f"*/{PREDICTIONS}"))


def choose_split(store: RunStore, run: str, split: str) -> str:
    """Return the given split if the run has predictions on it; if empty, test or the last evaluated split."""
    splits = list_evaluated_splits(store.get_path(run))
    refuse_tagged(store.read(run))
    chosen = split or ("test" if "test" in splits else next(reversed(splits), ""))
    if chosen not in splits:
        found = ", ".join(splits) or "none: it is not evaluated yet"
        raise InputError(f"run '{run}' has no predictions{f' of a split {split!r}' * bool(split)}; it has {found}")
    return chosen


def refuse_misfit(frame: pd.DataFrame, classes: Sequence[str]) -> NoReturn:
    """Raise RunDamaged with the reason why a predictions table does not fit a run with these classes."""
    lacking = [name for name in classes if f"{PROBABILITY}{name}" not in frame]
    why = "a column is missing or holds something else"
    if lacking:
        why = f"they have none of the class {lacking[0]!r:.60}"
    raise RunDamaged(f"the saved predictions do not fit the classes of the run: {why}")


def read_predictions(path: Path) -> pd.DataFrame:
    """Read a split's predictions as a table; texts that are not stored come from the data set or are placeholders."""
    try:
        table = data.parquet.read_parquet(path)
    except DataError as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    if "text" in table:
        return table
    from core.runs.results import select_own_columns

    try:
        rows = _read_texts(path.parents[2], path.parent.name)
        if len(rows) != len(table):
            raise NotAvailable(f"{path}: {len(table)} predictions, but {len(rows)} rows in the data set")
        table.insert(1, "text", rows["text"].to_numpy())
        return table.assign(**select_own_columns(rows, set(table.columns)))
    except (NotAvailable, RunNotFound):
        absent = [f"(row {row} of {path.parent.name}: its text is not kept with this run)" for row in range(len(table))]
        table.insert(min(1, len(table.columns)), "text", absent)
        return table


def explain_lacking_texts(folder: Path, record: RunRecord) -> str:
    """Explain why the texts of a run cannot be shown on this machine, and what to do; empty if they can."""
    if record.config.data.texts:
        return ""
    try:
        for split in list_evaluated_splits(folder):
            _read_texts(folder, split)
    except (NotAvailable, RunNotFound) as error:
        return f"It was made without its texts, and {error}; with the data set here they are shown again"
    return ""


@functools.lru_cache(maxsize=8)
def _read_texts(folder: Path, split: str) -> pd.DataFrame:
    from core.runs.lineage import load_trained_data

    splits = load_trained_data(RunStore(folder.parent).read(folder.name)).splits
    if split not in splits:
        raise NotAvailable(f"the data set has no split '{split}'")
    return splits[split]


def list_embedded_splits(store: RunStore, run: str) -> list[str]:
    """List the evaluated splits of a run whose embeddings are stored, or can be computed with its weights."""
    folder = store.get_path(run)
    known = [split for split in list_evaluated_splits(folder) if (folder / EVALUATION / split / EMBEDDINGS).is_file()]
    # A run without any, such as an imported one, may have a model that makes none.
    return list_evaluated_splits(folder) if known and (folder / WEIGHTS).is_file() else known


def locate_embeddings(run: Path, split: str) -> Path:
    """Return the file with the embeddings of a split; starters store those of test, others are computed and cached."""
    stored = run / EVALUATION / split / EMBEDDINGS
    if stored.is_file() or split not in list_embedded_splits(RunStore(run.parent), run.name):
        return stored
    table = run / EVALUATION / split / PREDICTIONS
    path = get_cache_folder() / f"embeddings-{hash_value([hash_file(each) for each in (run / WEIGHTS, table)])}.npy"
    if not path.is_file():
        from core.runs.load import load_run  # imports torch

        texts = read_predictions(table)["text"].astype(str).tolist()
        vectors = load_run(RunStore(run.parent), run.name).predict(texts).pooled
        keep_files([(path, pack_array(vectors.astype(np.float16)))], "embeddings")
    return path


def read_vectors(run: Path, split: str, classes: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (n, d), class numbers (n,) or zeros and ones (n, C); RunDamaged: incomplete or unfit files."""
    path = locate_embeddings(run, split)
    try:
        vectors = np.load(path, allow_pickle=False).astype(np.float32)
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    table = run / EVALUATION / split / PREDICTIONS
    try:
        said, bits = read_predictions(table), [f"{LABEL}{name}" for name in classes]
        multi = set(bits) <= set(said.columns)
        labels = said[bits if multi else ["label"]]
        if not multi:
            labels = labels["label"].map({name: number for number, name in enumerate(classes)}).to_frame()
    except (ValueError, KeyError) as error:
        raise RunDamaged(f"{table}: cannot be read: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(labels) or labels.isna().to_numpy().any():
        raise RunDamaged(f"{path}: does not fit {len(labels)} predictions of the classes {', '.join(classes)}")
    found = labels.to_numpy(np.int64)
    return vectors, found if multi else found[:, 0]


OURS = ("row", "text", "label", "predicted")
"""Columns of stored predictions that are not the data's own; those of labels and probabilities have prefixes."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The predictions of one run on n labelled rows: texts, labels, probabilities and data columns."""

    record: RunRecord
    texts: list[str]
    labels: np.ndarray  # (n,) class numbers of the run, or (n, C) zeros and ones
    probabilities: np.ndarray  # (n, C) float64
    columns: pd.DataFrame  # n rows of the data's own columns, such as `phenomenon`
    thresholds: Mapping[str, float] | None = None  # multi-label: label → threshold tuned on validation

    def __len__(self) -> int:
        return len(self.texts)

    def to_scores(self, metric: str) -> Scores:
        """Return the labels and predictions that a metric reads; multi-label: cut at 0.5 or at tuned thresholds."""
        from core.evaluation.metrics import HALF, build_scores

        chosen = (self.thresholds or {}) if metric.startswith(TUNED) else {}
        record, limits = self.record, np.array([chosen.get(name, HALF) for name in self.record.classes])
        return build_scores(self.labels, self.probabilities, record.task, limits, ordered=record.ordered)


def combine_scores(first: Scores, second: Scores, metric: str) -> ScorePair:
    """Pair the scores of two runs on the same rows, with a mask of the rows whose values for a metric differ."""
    from core.evaluation.significance import ScorePair

    if get_metric(metric).whole_rows:
        return ScorePair(first, second, first.correct != second.correct)
    if get_metric(metric).reads in ("probabilities", "ranking"):
        return ScorePair(first, second, (first.probabilities != second.probabilities).any(1))
    apart = first.answers != second.answers
    return ScorePair(first, second, apart if apart.ndim == 1 else apart.any(1))


def read_answers(store: RunStore, record: RunRecord, split: str) -> Answers:
    """Read a run's stored predictions on a split of its own data; RunDamaged: unreadable, or not of its classes."""
    frame = read_predictions(store.get_path(record.run) / EVALUATION / split / PREDICTIONS)
    try:
        chances = frame[[f"{PROBABILITY}{name}" for name in record.classes]].to_numpy(np.float64)
        if record.task == "multi":
            labels: np.ndarray = frame[[f"{LABEL}{name}" for name in record.classes]].to_numpy(np.float32)
        else:
            labels = frame["label"].map({name: number for number, name in enumerate(record.classes)}).to_numpy(np.int64)
        texts = frame["text"].tolist()
    except (KeyError, ValueError):
        refuse_misfit(frame, record.classes)
    own = [name for name in frame if name not in OURS and not str(name).startswith((LABEL, PROBABILITY))]
    return Answers(record, texts, labels, chances, frame[own], record.tuned_thresholds)


def compute_answers(store: RunStore, record: RunRecord, wanted: DataRequest) -> tuple[Answers, EvaluationData]:
    """Return a run's predictions on other rows, and these; InputError: unknown data, or labels of other classes."""
    from core.runs.evaluation_data import predict_rows, read_evaluation_data
    from core.runs.load import load_run

    loaded = load_run(store, record.run)
    given = read_evaluation_data(loaded.record, wanted)
    found = predict_rows(loaded, given)
    labels = encode_targets(given.rows, len(record.classes), record.task)
    columns = given.rows.drop(columns=["text", "label"])
    texts, limits = given.rows["text"].tolist(), record.tuned_thresholds
    return Answers(record, texts, labels, found.probabilities, columns, limits), given


def align_answers(several: Sequence[Answers]) -> list[Answers]:
    """Reorder predictions to the rows and classes of the first run; InputError names two runs that do not match."""
    first, *others = several
    return [first, *(_align_rows(first, _align_classes(first, other)) for other in others)]


def average_answers(several: Iterable[Answers]) -> Answers:
    """Average the predicted probabilities of runs that differ in seed; InputError: they have different rows."""
    same = align_answers(list(several))
    mean = np.mean([each.probabilities for each in same], 0)
    return dataclasses.replace(same[0], probabilities=mean, thresholds=None)


def _align_classes(first: Answers, other: Answers) -> Answers:
    ours, theirs = first.record.classes, other.record.classes
    refused = f"{_name_pair(first, other)} cannot be compared"
    if first.record.task != other.record.task:
        raise InputError(f"{refused}: one gives each text one label, the other several")
    if ours == theirs:
        return other
    if set(ours) != set(theirs):
        raise InputError(f"{refused}: the classes are {', '.join(ours)} and {', '.join(theirs)}")
    order = [theirs.index(name) for name in ours]
    labels = other.labels[:, order] if other.labels.ndim == 2 else np.argsort(order)[other.labels]
    record = dataclasses.replace(other.record, classes=ours)
    return dataclasses.replace(other, record=record, labels=labels, probabilities=other.probabilities[:, order])


def _align_rows(first: Answers, other: Answers) -> Answers:
    if first.texts == other.texts and np.array_equal(first.labels, other.labels):
        return other
    ours, theirs = _make_keys(first), _make_keys(other)
    common = sum((Counter(ours) & Counter(theirs)).values())
    if common < max(len(ours), len(theirs)):
        raise InputError(
            f"{_name_pair(first, other)} were not tested on the same rows: {count(len(ours))} and {count(len(theirs))},"
            f" {count(common) if common else 'none'} in common{_explain_rows(first.record, other.record)}. Compare them"
            f" on one file: `sentiscope compare {first.record.run} {other.record.run} --data FILE`"
        )
    places: dict[tuple[str, bytes], list[int]] = {}
    for place, key in reversed(list(enumerate(theirs))):
        places.setdefault(key, []).append(place)
    return select_rows(other, np.array([places[key].pop() for key in ours]))


def _explain_rows(first: RunRecord, other: RunRecord) -> str:
    ours, theirs = first.config.data, other.config.data
    if ours.name != theirs.name:
        return ""
    reasons = []
    if ours.split_rule != theirs.split_rule:
        older, newer = (first, other) if ours.split_rule < theirs.split_rule else (other, first)
        old, new = older.config.data.split_rule, newer.config.data.split_rule
        reasons.append(
            f"'{older.run}' was cut by an older rule than '{newer.run}' (data.split_rule={old} and {new}; a new "
            f"training with --set data.split_rule={old} has the rows of '{older.run}')"
        )
    first_learned, other_learned = ({Path(name).name for name in each.parse_list("lineage")} for each in (ours, theirs))
    if first_learned != other_learned:
        reasons.append("rows that a run which one of them started from had learned from are left out")
    return f": {'; '.join(reasons)}" if reasons else ""


def select_rows(answers: Answers, rows: np.ndarray) -> Answers:
    """Select rows of a run's predictions by position."""
    return dataclasses.replace(
        answers,
        texts=[answers.texts[row] for row in rows],
        labels=answers.labels[rows],
        probabilities=answers.probabilities[rows],
        columns=answers.columns.iloc[rows],
    )


def _make_keys(answers: Answers) -> list[tuple[str, bytes]]:
    return [(text, label.tobytes()) for text, label in zip(answers.texts, answers.labels, strict=True)]


def _name_pair(first: Answers, other: Answers) -> str:
    return f"'{first.record.run}' and '{other.record.run}'"
