"""Answers of a run to texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.config import compose
from core.exceptions import InputError
from core.runs.record import PROBABILITY, RunRecord, refuse_passages
from core.runs.store import RunStore
from core.text.passages import passages, words_of_passage
from core.verbs.paired import paired

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from core.data.apart import ReadRows
    from core.evaluation.predict import Predictions
    from core.runs.differences import FileSample
    from core.runs.load import LoadedRun

OnProgress = Callable[[str, float | None], None]
DIGITS = 6
"""Behind the point of a probability in a file."""
READING = ("data.text", "data.pair", "data.delimiter", "data.encoding", "data.header", "data.quoting", "data.sheet")
"""Settings that say how a file without labels is read."""


def predict(
    run: str,
    texts: Sequence[str] = (),
    *,
    pair: str | None = None,
    file: Path | None = None,
    to: Path | None = None,
    settings: Mapping[str, Any] | None = None,
    edit: str = "",
    passage: int = 0,
    on_progress: OnProgress | None = None,
    store: RunStore | None = None,
) -> dict[str, Any]:
    """Class and probabilities of each text, in order; rows count from 0.

    With several labels per text: `labels`, those above 0.5, and `labels_tuned`, those above the thresholds that the run
    chose on its validation split, in place of `label`.

    Args:
        run: a run with weights.
        texts: the texts, or
        pair: of a run that reads two texts at once the second one, of one first text; or each of `texts` is a pair
            (`core.text.pair.joined`).
        file: `.txt`: a text per line; else a table (CSV, TSV, JSON Lines, XLSX, Parquet).
        to: a file to write in place of the list, `.csv`, `.jsonl` or `.parquet`: every column of `file`, then
            `predicted` (of several labels also `predicted_tuned`), a column `probability:CLASS` each, `unknown`, `read`
            and `cut`.
            Rows go from file to file, so that memory does not grow with them.
        settings: how `file` is read: `data.text` (the column of texts; guessed without), `data.pair` (that of second
            texts, of a run that reads pairs), `data.delimiter`, `data.encoding`, `data.header`, `data.quoting`,
            `data.sheet`.
        edit: what is changed inside when it reads the texts, as in the link of a page: `h1.2,l2c1:0.5`
            (`core.interpret.edits`); not of a file.
        passage: read texts of more words than these in passages of so many at most, whose log-odds are averaged: a run
            that learned from sentences reads a review so; 0: each as a whole.
        on_progress: told what is done, and which share of it.
        store: where runs live.

    Returns:
        `run`, `task`, `edit`, of a file also `text` (its column), `notes` (where its encoding was guessed),
        `differences` (in what its texts and predicted labels differ from those that the run was tested on,
        `core.evaluation.differences`) and `predictions`; with `to` in their place `rows` and `to`.
        Of a run that tags words a prediction has `words`, `tags`, `probabilities` (of each tag, None of a word that was
        not read) and `spans` (`type`, `text`, `first` and `last` word from 0); `to` is then a `.conll` file, and `cut`
        is how many texts were cut.
        `unknown` is the share of the words of a text that the run does not know; None for byte pairs. `read` is how
        many tokens of it the model reads, `cut` how many more it leaves out at the end. With `passage` a prediction has
        `passages`, a prediction each.

    Raises:
        InputError: no such run, no text, a change of what the run does not have, or a file that cannot be read or
            written; nothing is written then.
    """
    from core.runs.load import load_run

    store, passage = store or RunStore(), words_of_passage(passage)
    if store.read(run).task == "tokens":
        from core.verbs.tagged import predicted

        of_texts = {"--edit": edit, "--set": settings, "--passage": passage}
        return predicted(store, run, texts, file=file, to=to, of_texts=of_texts)
    if file is not None and texts:
        raise InputError("give texts or --data, not both")
    if file is not None and edit:
        raise InputError("--edit goes with texts: what it names may be a word of one, and a file holds many")
    if pair is not None and len(texts) != 1:
        raise InputError("--pair is the second text of one first text; of a file it is the column data.pair")
    if passage:
        refuse_passages(store.read(run))
    if edit and passage:
        raise InputError("--edit goes with texts that are read as a whole: leave --passage out")
    if file is None and (to is not None or settings):
        raise InputError(f"{'--to' if to else '--set'} belongs to --data")
    if file is None:
        if not texts:
            raise InputError("nothing to predict: give at least one text, or --data")
        loaded = load_run(store, run)
        texts = [paired(loaded.record, text, pair) for text in texts]
        found = _by_passage(loaded, texts, passage) if passage else _listed(loaded, texts, _edited(loaded, texts, edit))
        return {"run": run, "task": loaded.record.task, "edit": edit, "predictions": found}
    return _of_file(run, file, to, settings or {}, passage, on_progress or (lambda what, share: None), store)


def _of_file(
    run: str,
    file: Path,
    to: Path | None,
    settings: Mapping[str, Any],
    passage: int,
    tell: OnProgress,
    store: RunStore,
) -> dict[str, Any]:
    import numpy as np

    from core.data import apart
    from core.data.write import check_target
    from core.paths import resolve
    from core.runs.differences import FileSample
    from core.runs.load import load_run

    reading, lines = _reading(settings), file.suffix.lower() in (".txt", "") and not settings
    if to is not None:
        to = to.expanduser()
        check_target(to)
        if to.exists() and to.resolve() == resolve(str(file)).resolve():
            raise InputError(f"--to {to}: this is the file that is read; choose another name")
    store.path(run)
    tell("reading", None)
    wanted = reading.pop("pair")
    if lines and store.read(run).pairs:
        raise InputError(f"run '{run}' reads two texts: give a table with a column for each, not a text per line")
    with apart.read_rows(file, reading, lines=lines) as rows:
        if not rows.rows:
            raise InputError(f"nothing to predict: {file.name} holds no text")
        loaded = load_run(store, run)
        rows = _with_both(rows, wanted, asked=reading["text"], file=file.name) if loaded.record.pairs else rows
        known: dict[str, Any] = {"run": run, "task": loaded.record.task, "edit": "", "text": rows.text}
        known |= {"notes": list(rows.notes)} if rows.notes else {}
        sample = FileSample(loaded, file.name)
        if to is not None:
            _write(loaded, rows, to, passage, tell, sample)
            return {**known, "rows": rows.rows, "to": str(to), "differences": sample.differences()}
        found: list[dict[str, Any]] = []
        for batch in rows.batches:
            texts = rows.texts(batch)
            if passage:
                found += _by_passage(loaded, texts, passage, len(found))
            else:
                found += _listed(loaded, texts, loaded.predict(texts), len(found))
            chances = [[*each["probabilities"].values()] for each in found[len(found) - len(texts) :]]
            sample.add(texts, np.array(chances))
            tell("predicting", len(found) / rows.rows)
        return {**known, "differences": sample.differences(), "predictions": found}


def _with_both(rows: ReadRows, wanted: str, *, asked: str, file: str) -> ReadRows:
    """The same rows, each text with the second one of its row."""
    from core.data.columns import second_column

    first, second = second_column(rows.schema.names, asked and rows.text, wanted, file=file)
    return rows.paired(first or rows.text, second, file)


def _reading(settings: Mapping[str, Any]) -> dict[str, str]:
    """What `core.data.apart.read_rows` takes."""
    if strange := sorted(set(settings) - set(READING)):
        raise InputError(f"--set {strange[0]}: a file is read by {', '.join(READING)}; a run keeps all else as it is")
    names = [name.removeprefix("data.") for name in READING]
    found = compose("vanilla", settings).data.reading()
    return {name: found[name] for name in names}


def _edited(loaded: LoadedRun, texts: Sequence[str], edit: str) -> Predictions:
    """What a run says of texts with something changed inside, at places that each of them has."""
    from core.models.trace import Intervention

    edits = [loaded.edits(text, edit) for text in texts]
    changes = [each.intervention() or Intervention() for each in edits] if any(each.inside for each in edits) else None
    return loaded.predict(texts, intervene=changes, unmixed=edits[0].unmixed)


def _by_passage(loaded: LoadedRun, texts: list[str], words: int, first: int = 0) -> list[dict[str, Any]]:
    """A prediction each, with those of its passages; every passage is read once."""
    read = loaded.by_passage(texts, words)
    flat = [passage for own in read.cut for passage in own]
    found = _listed(loaded, texts, read.whole, first, words)
    parts = iter(_listed(loaded, flat, read.each))
    for each, own in zip(found, read.cut, strict=True):
        each["passages"] = [next(parts) | {"row": row} for row in range(len(own))]
    return found


def _listed(
    loaded: LoadedRun, texts: list[str], found: Predictions, first: int = 0, passage: int = 0
) -> list[dict[str, Any]]:
    """Return a prediction of each text, numbered from the first."""
    record, predictions, counts = loaded.record, [], _count_read(loaded, texts, passage)
    for row, (text, chances, (read, cut)) in enumerate(zip(texts, found.probabilities, counts, strict=True), first):
        probabilities = dict(zip(record.classes, map(float, chances), strict=True))
        known = {"unknown": loaded.tokenizer.unknown_share(text), "read": read, "cut": cut}
        predictions.append({"row": row, "text": text, **known, **answer(record, probabilities)})
    return predictions


def _count_read(loaded: LoadedRun, texts: Sequence[str], passage: int) -> list[tuple[int, int]]:
    """Return of each text how many tokens are read and how many cut off, in all of its passages together."""
    parts = [passages(text, passage) if passage else [text] for text in texts]
    each = iter(loaded.tokenizer.count_read([part for own in parts for part in own]))
    counts = [[next(each) for _ in own] for own in parts]
    return [(sum(read for read, _ in own), sum(cut for _, cut in own)) for own in counts]


def _write(loaded: LoadedRun, rows: ReadRows, to: Path, passage: int, tell: OnProgress, sample: FileSample) -> None:
    """Return the columns of the file, followed by those of the answers."""
    import numpy as np
    import pyarrow as pa

    from core.data.table_head import unique
    from core.data.write import writing

    own = list(rows.schema)
    answers = _columns(loaded, [], passage)
    names = unique([*rows.schema.names, *answers])[len(own) :]
    types = [column.type for column in answers.values()]
    schema = pa.schema([*own, *map(pa.field, names, types)])
    done = 0
    with writing(to, schema) as write:
        for batch in rows.batches:
            texts = rows.texts(batch)
            found = _columns(loaded, texts, passage)
            columns = [*batch.columns, *found.values()]
            chances = [found[f"{PROBABILITY}{name}"].to_numpy() for name in loaded.record.classes]
            sample.add(texts, np.stack(chances, 1))
            write(pa.RecordBatch.from_arrays(columns, schema=schema))
            done += len(texts)
            tell("predicting", done / rows.rows)


def _columns(loaded: LoadedRun, texts: Sequence[str], passage: int) -> dict[str, pa.Array]:
    """The answers by name of their column; of no text, for their types."""
    import numpy as np
    import pyarrow as pa

    record = loaded.record
    chances = loaded.predict(texts, passage=passage).probabilities.astype(np.float64)
    names = np.array(record.classes, dtype=object)
    said: dict[str, pa.Array] = {}
    if record.task == "single":
        said["predicted"] = pa.array(names[chances.argmax(1)], pa.string())
    else:
        said["predicted"] = _several(names, chances > 0.5)
        if (tuned := tuned_thresholds(record)) is not None:
            limits = np.array([tuned.get(name, 0.5) for name in record.classes])
            said["predicted_tuned"] = _several(names, chances > limits)
    rounded = chances.round(DIGITS)
    columns = {f"{PROBABILITY}{name}": pa.array(rounded[:, place]) for place, name in enumerate(record.classes)}
    unknown = pa.array([loaded.tokenizer.unknown_share(text) for text in texts], pa.float64())
    counts = _count_read(loaded, texts, passage)
    read, cut = (pa.array([each[place] for each in counts], pa.int64()) for place in (0, 1))
    return {**said, **columns, "unknown": unknown, "read": read, "cut": cut}


def _several(names: np.ndarray, above: np.ndarray) -> pa.Array:
    import pyarrow as pa

    return pa.array([names[row].tolist() for row in above], pa.list_(pa.string()))


def answer(record: RunRecord, probabilities: Mapping[str, float]) -> dict[str, Any]:
    """A label, or several at 0.5 and at the run's own thresholds, and the probabilities."""
    if record.task == "single":
        return {"label": max(probabilities, key=lambda name: probabilities[name]), "probabilities": dict(probabilities)}
    limits = tuned_thresholds(record)
    said: dict[str, Any] = {"labels": [name for name, chance in probabilities.items() if chance > 0.5]}
    if limits is not None:
        said["labels_tuned"] = [name for name, chance in probabilities.items() if chance > limits.get(name, 0.5)]
    return said | {"probabilities": dict(probabilities)}


def answer_line(prediction: dict[str, Any]) -> str:
    """The label with its probability; of several all predicted ones, at the run's own thresholds if it has any."""
    said = prediction.get("labels_tuned", prediction["labels"]) if "labels" in prediction else [prediction["label"]]
    return ", ".join(f"{label} {prediction['probabilities'][label]:.3f}" for label in said) or "none of them"


def tuned_thresholds(record: RunRecord) -> dict[str, float] | None:
    """By label the threshold that a multi-label run chose on its validation split; None where it has none."""
    return record.tuned_thresholds
