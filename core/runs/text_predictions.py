"""Predictions of a run for texts, text pairs, long texts in passages, and the rows of a file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core import data
from core.config import compose
from core.data import sandbox
from core.exceptions import InputError
from core.paths import resolve_path
from core.runs.record import PROBABILITY, RunRecord
from core.runs.store import RunStore
from core.text.text_pairs import join_pair, split_pair
from core.text.words import split_passages

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from core.data.sandbox import ReadRows
    from core.evaluation.inference import Predictions
    from core.runs.load import LoadedRun
else:
    from core.lazy_imports import numpy as np
    from core.lazy_imports import pyarrow as pa

Tell = Callable[[str, float | None], None]
DIGITS = 6  # decimals of a probability in a file
READING = ("data.text", "data.pair", "data.delimiter", "data.encoding", "data.header", "data.quoting", "data.sheet")
"""Settings for reading a file without labels."""
MISSING = "reads two texts: give the second with --pair (in Python: pair=, or sentiscope.pair(first, second))"


def check_pair(record: RunRecord, text: str, pair: str | None = None) -> str:
    """Join both texts of a pair, or return a single one; InputError: the run reads the other kind."""
    if pair is not None and not record.pairs:
        raise InputError(f"run '{record.run}' reads single texts: leave --pair out")
    if pair is not None and not (text.strip() and pair.strip()):
        raise InputError(f"run '{record.run}' reads two texts, and one of them is empty; write both")
    if pair is not None:
        return join_pair(text, pair)
    if record.pairs and split_pair(text) is None:
        raise InputError(f"run '{record.run}' {MISSING}")
    return text


def build_answer(record: RunRecord, probabilities: Mapping[str, float]) -> dict[str, Any]:
    """Return the predicted label (multi-label: all, at 0.5 and at tuned thresholds) and the probabilities."""
    if record.task == "single":
        return {"label": max(probabilities, key=lambda name: probabilities[name]), "probabilities": dict(probabilities)}
    limits = record.tuned_thresholds
    said: dict[str, Any] = {"labels": [name for name, chance in probabilities.items() if chance > 0.5]}
    if limits is not None:
        said["labels_tuned"] = [name for name, chance in probabilities.items() if chance > limits.get(name, 0.5)]
    return said | {"probabilities": dict(probabilities)}


def format_answer(prediction: dict[str, Any]) -> str:
    """Format the predicted label with its probability, or all predicted labels of a multi-label run."""
    said = prediction.get("labels_tuned", prediction["labels"]) if "labels" in prediction else [prediction["label"]]
    return ", ".join(f"{label} {prediction['probabilities'][label]:.3f}" for label in said) or "none of them"


def predict_file(
    run: str,
    file: Path,
    to: Path | None,
    settings: Mapping[str, Any],
    passage: int,
    edit: str,
    tell: Tell,
    store: RunStore,
) -> dict[str, Any]:
    """Predict every row of a file with a run; return a list, or write the predictions to the file `to`."""
    from core.runs.load import load_run

    if to is not None:
        to = to.expanduser()
        data.cells.check_target(to)
        if to.exists() and to.resolve() == resolve_path(str(file)).resolve():
            raise InputError(f"--to {to}: this is the file that is read; choose another name")
    store.get_path(run)
    tell("reading", None)
    with open_rows(store.read(run), file, settings) as rows:
        loaded = load_run(store, run)
        loaded = loaded.edit_all(edit) if edit else loaded
        known: dict[str, Any] = {"run": run, "task": loaded.record.task, "edit": edit, "text": rows.text}
        known |= {"notes": list(rows.notes)} if rows.notes else {}
        if to is not None:
            write_predictions(loaded, rows, to, passage, tell)
            return {**known, "rows": rows.rows, "to": str(to)}
        found: list[dict[str, Any]] = []
        for batch in rows.batches:
            texts = rows.get_texts(batch)
            if passage:
                found += predict_passages(loaded, texts, passage, len(found))
            else:
                found += list_predictions(loaded, texts, loaded.predict(texts), len(found))
            tell("predicting", len(found) / rows.rows)
        return {**known, "predictions": found}


@contextlib.contextmanager
def open_rows(record: RunRecord, file: Path, settings: Mapping[str, Any]) -> Iterator[ReadRows]:
    """Read the rows of a file that a run is to predict, for a run on pairs with both texts; InputError: no rows."""
    reading, lines = _parse_reading(settings), file.suffix.lower() in (".txt", "") and not settings
    wanted = reading.pop("pair")
    if lines and record.pairs:
        raise InputError(
            f"run '{record.run}' reads two texts: give a table with a column for each, not a text per line"
        )
    with sandbox.read_rows(file, reading, lines=lines) as rows:
        if not rows.rows:
            raise InputError(f"nothing to predict: {file.name} holds no text")
        if record.pairs:
            asked = reading["text"] and rows.text
            first, second = data.columns.find_text_pair(rows.schema.names, asked, wanted, file=file.name)
            rows = rows.as_pairs(first or rows.text, second, file.name)
        yield rows


def _parse_reading(settings: Mapping[str, Any]) -> dict[str, str]:
    if strange := sorted(set(settings) - set(READING)):
        raise InputError(f"--set {strange[0]}: a file is read by {', '.join(READING)}; a run keeps all else as it is")
    names = [name.removeprefix("data.") for name in READING]
    found = compose("vanilla", settings).data.get_read_settings()
    return {name: found[name] for name in names}


def predict_edited(loaded: LoadedRun, texts: list[str], edit: str) -> list[dict[str, Any]]:
    """Predict each text with changes inside the model; token positions in them must exist in every text."""
    from core.models.trace import Intervention  # torch

    edits, changes = [loaded.parse_edits(text, edit) for text in texts], None
    loaded = loaded.read_step(edits[0].step)
    if any(each.inside for each in edits):
        changes = [each.to_intervention() or Intervention() for each in edits]
    return list_predictions(loaded, texts, loaded.predict(texts, intervene=changes, unmixed=edits[0].unmixed))


def predict_passages(loaded: LoadedRun, texts: list[str], words: int, first: int = 0) -> list[dict[str, Any]]:
    """Predict long texts as means over their passages; return the prediction of each text and of its passages."""
    read = loaded.predict_by_passage(texts, words)
    flat = [passage for own in read.cut for passage in own]
    found = list_predictions(loaded, texts, read.whole, first, words)
    parts = iter(list_predictions(loaded, flat, read.each))
    for each, own in zip(found, read.cut, strict=True):
        each["passages"] = [next(parts) | {"row": row} for row in range(len(own))]
    return found


def list_predictions(
    loaded: LoadedRun, texts: list[str], found: Predictions, first: int = 0, passage: int = 0
) -> list[dict[str, Any]]:
    """Return the predictions of texts as a list of plain records, numbered from `first`."""
    record, predictions, counts = loaded.record, [], _count_read(loaded, texts, passage)
    for row, (text, chances, (read, cut)) in enumerate(zip(texts, found.probabilities, counts, strict=True), first):
        probabilities = dict(zip(record.classes, map(float, chances), strict=True))
        known = {"unknown": loaded.tokenizer.compute_unknown_share(text), "read": read, "cut": cut}
        predictions.append({"row": row, "text": text, **known, **build_answer(record, probabilities)})
    return predictions


def _count_read(loaded: LoadedRun, texts: Sequence[str], passage: int) -> list[tuple[int, int]]:
    """Count for each text the tokens that the model reads and the tokens that are cut off."""
    parts = [split_passages(text, passage) if passage else [text] for text in texts]
    each = iter(loaded.tokenizer.count_read([part for own in parts for part in own]))
    counts = [[next(each) for _ in own] for own in parts]
    return [(sum(read for read, _ in own), sum(cut for _, cut in own)) for own in counts]


def write_predictions(loaded: LoadedRun, rows: ReadRows, to: Path, passage: int, tell: Tell) -> None:
    """Predict rows batch by batch and write them with the predictions to a file, which appears complete."""
    own = list(rows.schema)
    answers = _build_columns(loaded, [], passage)
    names = data.columns.make_unique([*rows.schema.names, *answers])[len(own) :]
    types = [column.type for column in answers.values()]
    schema = pa.schema([*own, *map(pa.field, names, types)])
    done = 0
    with data.cells.open_writer(to, schema) as write:
        for batch in rows.batches:
            texts = rows.get_texts(batch)
            found = _build_columns(loaded, texts, passage)
            columns = [*batch.columns, *found.values()]
            write(pa.RecordBatch.from_arrays(columns, schema=schema))
            done += len(texts)
            tell("predicting", done / rows.rows)


def _build_columns(loaded: LoadedRun, texts: Sequence[str], passage: int) -> dict[str, pa.Array]:
    """Return predictions of texts as table columns by name, also for no texts (empty columns of the right types)."""
    record = loaded.record
    chances = loaded.predict(texts, passage=passage).probabilities.astype(np.float64)
    names = np.array(record.classes, dtype=object)
    said: dict[str, pa.Array] = {}
    if record.task == "single":
        said["predicted"] = pa.array(names[chances.argmax(1)], pa.string())
    else:
        said["predicted"] = _list_labels(names, chances > 0.5)
        if (tuned := record.tuned_thresholds) is not None:
            limits = np.array([tuned.get(name, 0.5) for name in record.classes])
            said["predicted_tuned"] = _list_labels(names, chances > limits)
    rounded = chances.round(DIGITS)
    columns = {f"{PROBABILITY}{name}": pa.array(rounded[:, place]) for place, name in enumerate(record.classes)}
    unknown = pa.array([loaded.tokenizer.compute_unknown_share(text) for text in texts], pa.float64())
    counts = _count_read(loaded, texts, passage)
    read, cut = (pa.array([each[place] for each in counts], pa.int64()) for place in (0, 1))
    return {**said, **columns, "unknown": unknown, "read": read, "cut": cut}


def _list_labels(names: np.ndarray, above: np.ndarray) -> pa.Array:
    return pa.array([names[row].tolist() for row in above], pa.list_(pa.string()))
