"""Answers of a run to texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core.api.options import Edit, File, OnProgress, Passage, RunName, Settings, Store, Typed
from core.api.options import Pair as SecondText
from core.api.printing import say, say_edit, tabulate
from core.cells import decimals
from core.config import compose
from core.data.findings import plural
from core.exceptions import InputError
from core.interpret.unknown import mostly_unknown, unknown_note
from core.numbers import count
from core.runs.record import PROBABILITY, RunRecord, refuse_passages
from core.runs.store import RunStore
from core.text.pair import joined, parted
from core.text.passages import passages, words_of_passage

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from core.data.apart import ReadRows
    from core.evaluation.predict import Predictions
    from core.runs.differences import FileSample
    from core.runs.load import LoadedRun


Tell = Callable[[str, float | None], None]
DIGITS = 6
"""Behind the point of a probability in a file."""
READING = ("data.text", "data.pair", "data.delimiter", "data.encoding", "data.header", "data.quoting", "data.sheet")
"""Settings that say how a file without labels is read."""
NAMED = 10
"""Rows with many unknown words that are named."""
MISSING = "reads two texts: give the second with --pair (in Python: pair=, or sentiscope.pair(first, second))"


def predict(
    run: RunName,
    texts: Annotated[Sequence[str], Typed(metavar="TEXT…")] = (),
    *,
    pair: SecondText = None,
    file: Annotated[Path | str | None, Typed(name="--data")] = None,
    to: File = None,
    settings: Settings = None,
    edit: Edit = "",
    passage: Passage = 0,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Predict class and probabilities of texts, in order; --set data.text=COLUMN where the guess is wrong.

    Args:
        texts: Texts to classify.
        file: A text per line (.txt), or a table: CSV, TSV, JSON Lines, XLSX, Parquet.
        to: Write the file with the predictions joined: .csv, .jsonl or .parquet.

    Returns:
        `run`, `task`, `edit`, of a file also `text` (its column), `notes` (where its encoding was guessed),
        `differences` (between its texts and predicted labels and those that the run was tested on,
        `core.evaluation.differences`) and `predictions`; with `to` in their place `rows` and `to`: memory does not grow
        with the rows of a file. A prediction has `row` (from 0), `text`, `label` (with several labels `labels`, those
        above 0.5, and `labels_tuned`, those above the thresholds chosen on validation) and `probabilities`; `unknown`,
        the share of the words that the run does not know (None for byte pairs); `read`, how many tokens are read,
        and `cut`, how many more it leaves out at the end; with `passage` also `passages`, a prediction each.
        Of a run that tags words `words`, `tags`, `probabilities` (of each tag, None of a word that was not read) and
        `spans` (`type`, `text`, `first` and `last` word from 0); `to` is then a `.conll` file, and `cut` the number of
        texts that were cut.
    """
    from core.runs.load import load_run

    store, passage, file, to = store or RunStore(), words_of_passage(passage), file and Path(file), to and Path(to)
    if store.read(run).task == "tokens":
        from core.runs.tagged_texts import predict_tags

        of_texts = {"--edit": edit, "--set": settings, "--passage": passage}
        return predict_tags(store, run, texts, file=file, to=to, of_texts=of_texts)
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
    if file is not None:
        return _predict_file(run, file, to, settings or {}, passage, on_progress or (lambda what, share: None), store)
    if to is not None or settings:
        raise InputError(f"{'--to' if to else '--set'} belongs to --data")
    if not texts:
        raise InputError("nothing to predict: give at least one text, or --data")
    loaded = load_run(store, run)
    texts = [check_pair(loaded.record, text, pair) for text in texts]
    found = _by_passage(loaded, texts, passage) if passage else _listed(loaded, texts, _edited(loaded, texts, edit))
    return {"run": run, "task": loaded.record.task, "edit": edit, "predictions": found}


def check_pair(record: RunRecord, text: str, pair: str | None = None) -> str:
    """Return both texts as one; or a text as it is, where a run reads single texts or it is a pair already.

    Raises:
        InputError: the run reads pairs and there is no second text, or the other way round.
    """
    if pair is not None and not record.pairs:
        raise InputError(f"run '{record.run}' reads single texts: leave --pair out")
    if pair is not None and not (text.strip() and pair.strip()):
        raise InputError(f"run '{record.run}' reads two texts, and one of them is empty; write both")
    if pair is not None:
        return joined(text, pair)
    if record.pairs and parted(text) is None:
        raise InputError(f"run '{record.run}' {MISSING}")
    return text


def _predict_file(
    run: str, file: Path, to: Path | None, settings: Mapping[str, Any], passage: int, tell: Tell, store: RunStore
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
    """Return the same rows, each text with the second one of its row."""
    from core.data.columns import second_column

    first, second = second_column(rows.schema.names, asked and rows.text, wanted, file=file)
    return rows.paired(first or rows.text, second, file)


def _reading(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings as `core.data.apart.read_rows` takes them."""
    if strange := sorted(set(settings) - set(READING)):
        raise InputError(f"--set {strange[0]}: a file is read by {', '.join(READING)}; a run keeps all else as it is")
    names = [name.removeprefix("data.") for name in READING]
    found = compose("vanilla", settings).data.reading()
    return {name: found[name] for name in names}


def _edited(loaded: LoadedRun, texts: Sequence[str], edit: str) -> Predictions:
    """Predict texts with something changed inside, at places that each of them has."""
    from core.models.trace import Intervention

    edits = [loaded.edits(text, edit) for text in texts]
    changes = [each.intervention() or Intervention() for each in edits] if any(each.inside for each in edits) else None
    return loaded.predict(texts, intervene=changes, unmixed=edits[0].unmixed)


def _by_passage(loaded: LoadedRun, texts: list[str], words: int, first: int = 0) -> list[dict[str, Any]]:
    """Return a prediction of each text with those of its passages; every passage is read once."""
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


def _write(loaded: LoadedRun, rows: ReadRows, to: Path, passage: int, tell: Tell, sample: FileSample) -> None:
    """Write the columns of the file, followed by those of the answers."""
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
    """Return the answers by name of their column; of no text, for their types."""
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
        if (tuned := record.tuned_thresholds) is not None:
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
    """Return a label, or several at 0.5 and at the run's own thresholds, and the probabilities."""
    if record.task == "single":
        return {"label": max(probabilities, key=lambda name: probabilities[name]), "probabilities": dict(probabilities)}
    limits = record.tuned_thresholds
    said: dict[str, Any] = {"labels": [name for name, chance in probabilities.items() if chance > 0.5]}
    if limits is not None:
        said["labels_tuned"] = [name for name, chance in probabilities.items() if chance > limits.get(name, 0.5)]
    return said | {"probabilities": dict(probabilities)}


def answer_line(prediction: dict[str, Any]) -> str:
    """Write the label with its probability; of several all predicted ones, at the run's own thresholds if any."""
    said = prediction.get("labels_tuned", prediction["labels"]) if "labels" in prediction else [prediction["label"]]
    return ", ".join(f"{label} {prediction['probabilities'][label]:.3f}" for label in said) or "none of them"


def print_predict(result: dict[str, Any]) -> None:
    """Print a row for each text, below what to know of them."""
    predictions = result.get("predictions", [])
    if result["task"] == "tokens":
        _print_cut(predictions)
        _print_tags(result)
        return
    say_edit(result)
    for note in result.get("notes", ()):
        say(f"Note: {note}.")
    _print_unknown(predictions)
    _print_cut(predictions)
    for warning in result.get("differences", {}).get("warnings", ()):
        say(warning, head="Warning: ")
    if "to" in result:
        say(f"{count(result['rows'])} texts of the column '{result['text']}' classified into {result['to']}")
        return
    rows = _with_passages(predictions)
    if result["task"] == "multi":
        tabulate([{**each, "labels": answer_line(each)} for each in rows], ("row", "labels", "read", "cut", "text"))
    else:
        rows = [{**each, "probability": f"{each['probabilities'][each['label']]:.3f}"} for each in rows]
        tabulate(rows, ("row", "label", "probability", "read", "cut", "text"))


def _print_unknown(predictions: list[dict[str, Any]]) -> None:
    """Print which answers rest on few words."""
    found = [each for each in predictions if mostly_unknown(each["unknown"])]
    if len(predictions) == 1:
        for each in found:
            say(unknown_note(each["unknown"]))
    elif found:
        many = f"{plural(len(found), 'text')} of {count(len(predictions))}"
        say(f"Half of the words or more are unknown to the run in {many}: rows {_name_rows(found)}")


def _print_cut(predictions: list[dict[str, Any]]) -> None:
    """Print which answers rest on the beginning of their text only."""
    if found := [each for each in predictions if each["cut"]]:
        many = f"{plural(len(found), 'text')} of {count(len(predictions))}"
        where = f"row{'s' if len(found) > 1 else ''} {_name_rows(found)}"
        say(f"Only the beginning of {many} was read ({where}); 'read' and 'cut' count tokens")


def _name_rows(found: list[dict[str, Any]]) -> str:
    return ", ".join(count(each["row"]) for each in found[:NAMED]) + (" …" if len(found) > NAMED else "")


def _with_passages(predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return predictions, each followed by its passages where it has several: row 3, then 3.0, 3.1."""
    found = []
    for each in predictions:
        own = each.get("passages", [])
        found.append(each)
        found += [{**part, "row": f"{each['row']}.{part['row']}"} for part in own] if len(own) > 1 else []
    return found


def _print_tags(result: dict[str, Any]) -> None:
    """Print a word and its tag a line, as in a file."""
    if "to" in result:
        cut = f"; only the beginning of {plural(result['cut'], 'text')} was read" if result["cut"] else ""
        say(f"The words of {plural(result['rows'], 'text')} tagged into {result['to']}{cut}")
        return
    for each in result["predictions"]:
        rows = [
            {"word": word, "tag": tag, "probability": decimals(chance) if chance is not None else "not read"}
            for word, tag, chance in zip(each["words"], each["tags"], each["probabilities"], strict=True)
        ]
        tabulate(rows, ("word", "tag", "probability"))
