"""Predictions of a run for new texts, and their printing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from core import runs
from core.api.options import CliArgument, Edit, File, OnProgress, Passage, RunName, Settings, Store
from core.api.options import Pair as SecondText
from core.api.printing import say, say_edit, tabulate
from core.data.findings import plural
from core.exceptions import InputError
from core.formatting import count
from core.interpret.trace_summary import is_mostly_unknown, warn_unknown
from core.runs.record import refuse_passages
from core.runs.store import RunStore
from core.runs.text_predictions import check_pair, format_answer, predict_edited, predict_file, predict_passages
from core.text.words import check_passage

NAMED = 10  # most row numbers in a note


def predict(
    run: RunName,
    texts: Annotated[Sequence[str], CliArgument(metavar="TEXT…")] = (),
    *,
    pair: SecondText = None,
    file: Annotated[Path | str | None, CliArgument(name="--data")] = None,
    to: File = None,
    settings: Settings = None,
    edit: Edit = "",
    passage: Passage = 0,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Predict the class and probabilities of texts, in order; --set data.text=COLUMN names the column of a file.

    Args:
        texts: Texts to classify.
        file: A text per line (.txt), or a table: CSV, TSV, JSON Lines, XLSX, Parquet.
        to: Write the file with the predictions joined: .csv, .jsonl or .parquet.

    Returns:
        `run`, `task`, `edit`, for a file also `text` (its column), `notes` (on a guessed encoding), `differences` (of
        its texts and predicted labels from those of the run's test data, `core.evaluation.split_differences`) and
        `predictions`; with `to`, `rows` and `to` instead, so memory does not grow with the file. A prediction has `row`
        (from 0), `text`, `label` (with several labels per text: `labels` above 0.5, and `labels_tuned` above the
        thresholds chosen on validation) and `probabilities`; `unknown`, the share of unknown words (None for byte
        pairs); `read`, the number of tokens that are read, and `cut`, of those left out at the end; with `passage` also
        `passages`, a prediction each. For a run that tags words: `words`, `tags`, `probabilities` (of each tag; None
        for an unread word) and `spans` (`type`, `text`, `first` and `last` word from 0); `to` is then a `.conll` file,
        and `cut` the number of truncated texts.
    """
    store, passage = store or RunStore(), check_passage(passage)
    file, to = (None if each is None else Path(each) for each in (file, to))
    if store.read(run).task == "tokens":
        of_texts = {"--edit": edit, "--set": settings, "--passage": passage}
        return runs.word_tagging.predict_tags(store, run, texts, file=file, to=to, of_texts=of_texts)
    if file is not None and texts:
        raise InputError("give texts or --data, not both")
    if file is not None and edit:
        raise InputError("--edit needs texts: it may name a word of a text, and a file has many texts")
    if pair is not None and len(texts) != 1:
        raise InputError("--pair is the second text of a single text; for a file, name its column with data.pair")
    if passage:
        refuse_passages(store.read(run))
    if edit and passage:
        raise InputError("--edit needs texts that are read as a whole: leave --passage out")
    if file is not None:
        return predict_file(run, file, to, settings or {}, passage, on_progress or (lambda what, share: None), store)
    if to is not None or settings:
        raise InputError(f"{'--to' if to else '--set'} belongs to --data")
    if not texts:
        raise InputError("nothing to predict: give at least one text, or --data")
    loaded = runs.load.load_run(store, run)
    texts = [check_pair(loaded.record, text, pair) for text in texts]
    found = predict_passages(loaded, texts, passage) if passage else predict_edited(loaded, texts, edit)
    return {"run": run, "task": loaded.record.task, "edit": edit, "predictions": found}


def print_predict(result: dict[str, Any]) -> None:
    """Print a row with the prediction of each text, below notes about the texts."""
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
    rows = _add_passages(predictions)
    if result["task"] == "multi":
        first: dict[str, Any] = {"row": "row", "labels": format_answer}
    else:
        first = {"row": "row", "label": "label", "probability": lambda each: each["probabilities"][each["label"]]}
    tabulate(rows, {**first, "read": "read", "cut": "cut", "text": "text"})


def _print_unknown(predictions: list[dict[str, Any]]) -> None:
    """Print which predictions are of texts in which at least half of the words are unknown to the run's model."""
    found = [each for each in predictions if is_mostly_unknown(each["unknown"])]
    if len(predictions) == 1:
        for each in found:
            say(warn_unknown(each["unknown"]))
    elif found:
        many = f"{plural(len(found), 'text')} of {count(len(predictions))}"
        say(f"Half of the words or more are unknown to the run in {many}: rows {_name_rows(found)}")


def _print_cut(predictions: list[dict[str, Any]]) -> None:
    """Print which predictions used only the beginning of a text, because the end was cut off."""
    if found := [each for each in predictions if each["cut"]]:
        many = f"{plural(len(found), 'text')} of {count(len(predictions))}"
        where = f"row{'s' if len(found) > 1 else ''} {_name_rows(found)}"
        say(f"Only the beginning of {many} was read ({where}); 'read' and 'cut' count tokens")


def _name_rows(found: list[dict[str, Any]]) -> str:
    return ", ".join(count(each["row"]) for each in found[:NAMED]) + (" …" if len(found) > NAMED else "")


def _add_passages(predictions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per predicted text; for a long text, rows of its passages follow, numbered as 3.0, 3.1."""
    found = []
    for each in predictions:
        own = each.get("passages", [])
        found.append(each)
        found += [{**part, "row": f"{each['row']}.{part['row']}"} for part in own] if len(own) > 1 else []
    return found


def _print_tags(result: dict[str, Any]) -> None:
    """Print each word of the texts with its predicted tag, one word a line."""
    if "to" in result:
        cut = f"; only the beginning of {plural(result['cut'], 'text')} was read" if result["cut"] else ""
        say(f"The words of {plural(result['rows'], 'text')} tagged into {result['to']}{cut}")
        return
    for each in result["predictions"]:
        rows = [
            {"word": word, "tag": tag, "probability": "not read" if chance is None else chance}
            for word, tag, chance in zip(each["words"], each["tags"], each["probabilities"], strict=True)
        ]
        tabulate(rows, ("word", "tag", "probability"))
