"""Predictions of a run for new texts, and their printing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core import interpret, runs
from core.api.options import Change, CliArgument, Edit, File, OnProgress, PairText, Passage, RunName, Settings, Store
from core.api.options import Pair as SecondText
from core.api.printing import say, say_edit, tabulate
from core.exceptions import InputError
from core.formatting import count, format_decimals, plural, whole_percent
from core.interpret.trace_summary import is_mostly_unknown, warn_unknown
from core.runs.record import refuse_passages
from core.runs.store import RunStore
from core.runs.text_predictions import (
    build_answer,
    check_pair,
    format_answer,
    predict_edited,
    predict_file,
    predict_passages,
)
from core.text.text_pairs import join_pair
from core.text.words import check_passage

if TYPE_CHECKING:
    from core.models.trace import Intervention

NAMED = 10  # most row numbers in a note


def predict(  # noqa: PLR0913 - each is an option that a person types by name
    run: RunName,
    texts: Annotated[Sequence[str], CliArgument(metavar="TEXT…")] = (),
    *,
    pair: SecondText = None,
    file: Annotated[Path | str | None, CliArgument(name="--data")] = None,
    to: File = None,
    settings: Settings = None,
    edit: Edit = "",
    passage: Passage = 0,
    shards: Annotated[int, CliArgument(metavar="N", least=0)] = 0,
    only: Annotated[int, CliArgument(metavar="K", least=0)] = 0,
    on_progress: OnProgress = None,
    store: Store = None,
) -> dict[str, Any]:
    """Predict the class and probabilities of texts, in order; --set data.text=COLUMN names the column of a file.

    Args:
        texts: Texts to classify.
        file: A text per line (.txt), or a table: CSV, TSV, JSON Lines, XLSX, Parquet.
        to: Write the file with the predictions joined: .csv, .jsonl or .parquet; with --shards a folder of files.
        shards: Predict the file in N parts, jobs of SENTISCOPE_ENGINE; the same command redoes what was lost.
        only: Predict part K of --shards, in this process.

    Returns:
        `run`, `task`, `edit`, for a file also `text` (its column), `notes` (on a guessed encoding) and
        `predictions`; with `to`, `rows` and `to` instead (and `files` of shards), so memory does not grow with the
        file. A prediction has `row` (from 0), `text`, `label` (with several labels per text: `labels` above 0.5, and
        `labels_tuned` above the thresholds chosen on validation) and `probabilities`; `unknown`, the share of unknown
        words (None for byte pairs); `read`, the number of tokens that are read, and `cut`, of those left out at the
        end; with `passage` also `passages`, a prediction each. For a run that tags words: `words`, `tags`,
        `probabilities` (of each tag; None for an unread word) and `spans` (`type`, `text`, `first` and `last` word from
        0); `to` is then a `.conll` file, and `cut` the number of truncated texts.
    """
    store, passage = store or RunStore(), check_passage(passage)
    file, to = (Path(each) if each else None for each in (file, to))
    if store.read(run).task == "tokens":
        of_texts = {"--edit": edit, "--set": settings, "--passage": passage, "--shards": shards or only}
        return runs.word_tagging.predict_tags(store, run, texts, file=file, to=to, of_texts=of_texts)
    if file is not None and texts:
        raise InputError("give texts or --data, not both")
    if shards or only:
        asked = {"run": run, "--data": file, "--to": to, "--shards": shards, "--passage": passage, "--edit": edit}
        return runs.prediction_shards.predict_shards({**asked, "--set": settings or {}}, only, on_progress, store)
    if pair is not None and len(texts) != 1:
        raise InputError("--pair is the second text of a single text; for a file, name its column with data.pair")
    if passage:
        refuse_passages(store.read(run))
    if edit and passage and file is None:
        raise InputError("--edit needs texts that are read as a whole: leave --passage out")
    if file is not None:
        tell = on_progress or (lambda what, share: None)
        return predict_file(run, file, to, settings or {}, passage, edit, tell, store)
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
    if "to" in result:
        say(f"{plural(result['rows'], 'text')} of the column '{result['text']}' classified into {result['to']}")
        return
    rows = []
    for each in predictions:  # rows of passages follow that of a long text, numbered as 3.0, 3.1
        own = each.get("passages", [])
        rows += [each, *({**part, "row": f"{each['row']}.{part['row']}"} for part in own if len(own) > 1)]
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


def _print_tags(result: dict[str, Any]) -> None:
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


def pair(first: str, second: str) -> str:
    """Join two texts to one text for runs that read text pairs; the separator ‖ inside a text is replaced."""
    return join_pair(first, second)


def open_text(
    run: str, text: str, store: RunStore | None, edit: str, intervene: Intervention | None
) -> tuple[runs.load.LoadedRun, interpret.model_edits.Edits, interpret.explain_context.ExplainContext]:
    """Return a loaded run, the parsed model edits for a text, and the context in which the edited run is explained."""
    loaded = runs.load.load_run(store or RunStore(), run)
    check_pair(loaded.record, text)
    edits = loaded.parse_edits(text, edit)
    if intervene is not None and edits.inside:
        raise InputError("give edit or intervene, not both")
    loaded = loaded.read_step(edits.step)
    return loaded, edits, loaded.make_reader(intervene or edits.to_intervention(), unmixed=edits.unmixed)


def describe_text(run: str, text: str, edits: interpret.model_edits.Edits) -> dict[str, Any]:
    """Return the result fields that every command on one text begins with: run, text and model edits."""
    return {"run": run, "text": text, "edit": edits.encode_line()}


def collect_fields(found: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are not None, as a dictionary."""
    return {name: value for name, value in dataclasses.asdict(found).items() if value is not None}


def sentence(
    run: str, text: str, store: RunStore | None = None, *, edit: str = "", intervene: Intervention | None = None
) -> interpret.sentence_inspection.SentenceView:
    """Return one text as a run reads it: tokens, probabilities and everything inside the model, as arrays.

    `edit` changes the model, as in the link of a page: `h1.2,l2c1:0.5` (`core.interpret.model_edits`). `intervene` is a
    `core.models.trace.Intervention`, for changes that `edit` cannot express; only `mix.0` of `edit` may go with it.
    """
    return open_text(run, text, store, edit, intervene)[2].inspect(text)


def inspect(
    run: RunName, text: PairText, *, edit: Edit = "", intervene: Change = None, store: Store = None
) -> dict[str, Any]:
    """Show tokens, prediction and every attention map of one text.

    Returns:
        `run`, `text`, `edit`, `read_as`, `tokens`, `unknown`, `note`, `prediction`, the model's internals
        (`core.interpret.sentence_inspection.to_json_data`), and `mix`: None, or the network's `weight` in the mixture
        with TF-IDF (1 without TF-IDF) and the probabilities of `network`, `tfidf` and their `mixture` before the
        temperature; `parts` has the same with names for display.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    view = reader.inspect(text)
    return {
        **describe_text(run, text, edits),
        "read_as": view.read_as,
        "tokens": list(view.tokens),
        "unknown": list(view.unknown),
        "unknown_words": view.unknown_words,
        "note": interpret.trace_summary.warn_unknown(view.unknown_words),
        "truncated": view.truncated,
        "prediction": build_answer(loaded.record, view.probabilities),
        "mix": None if view.mix is None else {**dataclasses.asdict(view.mix), "parts": view.mix.parts},
        **interpret.sentence_inspection.to_json_data(view),
    }


def steps(
    run: RunName,
    text: PairText,
    *,
    layer: int | None = None,
    head: int | None = None,
    component: int | None = None,
    edit: Edit = "",
    intervene: Change = None,
    store: Store = None,
) -> dict[str, Any]:
    """Show a model's forward pass on one text step by step: formulas, and with --json the matrices.

    Everything is computed from the weights in float64; the last matrix equals the output of `predict`.

    Args:
        layer: The layer, counted from 1; default: the last.
        head: The head, counted from 1; default: the first.
        component: The component, counted from 0; default: 0, the base component.

    Returns:
        `run`, `text`, `edit`, `tokens`; the chosen `layer`, `head`, `component` (0 if the model has none); `layers`,
        `heads`, `components`: their numbers; `prediction`; `note`; `stages`, from the tokens to the probabilities:
        `key`, `title`, `formulas` (LaTeX), `reading` and `matrices`: `name` (LaTeX), `rows`, `columns`, `values` (null
        for a hidden score). A stage that the model lacks has a `reading` that says so, and no matrix.
    """
    loaded, edits, reader = open_text(run, text, store, edit, intervene)
    found = interpret.forward_pass.compute_stages(reader, text, layer, head, component)
    last = found.stages[-1].matrices[-1]
    chances = dict(zip(last.columns, last.values[0].tolist(), strict=True))
    return {
        **describe_text(run, text, edits),
        "tokens": list(found.tokens),
        **{name: getattr(found, name) for name in ("layer", "head", "component", "layers", "heads", "components")},
        "prediction": build_answer(loaded.record, chances),
        "note": " ".join(found.notes),
        "stages": [
            {"key": stage.key, "title": stage.title, "formulas": list(stage.formulas), "reading": stage.reading}
            | {"matrices": list(map(_describe_matrix, stage.matrices))}
            for stage in found.stages
        ],
    }


def _describe_matrix(matrix: interpret.forward_stages.StageMatrix) -> dict[str, Any]:
    rows = [
        [*(None if value == -math.inf else value for value in numbers), *words]
        for numbers, words in zip(matrix.values.tolist(), matrix.words or ((),) * len(matrix.rows), strict=True)
    ]
    return {"name": matrix.name, "rows": list(matrix.rows), "columns": list(matrix.columns), "values": rows}


def print_inspect(result: dict[str, Any]) -> None:
    """Print the prediction for a text, its tokens, and a summary of each layer's attention maps."""
    prediction = result["prediction"]
    say_edit(result)
    say(format_answer(prediction))
    for part, chances in (result["mix"] or {"parts": {}})["parts"].items():
        say(f"{part}: {', '.join(f'{name} {format_decimals(p)}' for name, p in chances.items())}")
    say("tokens: " + " | ".join(result["tokens"]))
    for token, unknown, pieces in zip(result["tokens"], result["unknown"], result["pieces"] or (), strict=False):
        if unknown:
            say(f"{token} is not in the vocabulary, its pieces: {' '.join(pieces)}")
    for number, layer in enumerate(result["layers"], start=1):
        components, heads = len(layer["components"]), len(layer["combined"])
        maps = "--json shows the maps" if any(layer["combined"][0]) else "no maps of this text"
        taken = " ".join(map(format_decimals, layer["cancelled"])) if any(layer["cancelled"] or ()) else ""
        held = f"{plural(components, 'component')} x {plural(heads, 'head')}"
        even = ", ".join(map(whole_percent, layer["entropy"] or ()))
        parts = [held, *[f"cancelled {taken}"] * bool(taken), *[f"entropy {even} of uniform"] * bool(even), maps]
        say(f"layer {number}: {'; '.join(parts)}")


def print_steps(result: dict[str, Any]) -> None:
    """Print a row for each step of a model's forward pass, and the prediction."""
    say_edit(result)
    if result["layers"]:
        say(f"layer {result['layer']}, head {result['head']}, A{result['component']}")
    rows = []
    for number, stage in enumerate(result["stages"], start=1):
        sizes = [f"{len(each['rows'])} × {len(each['columns'])}" for each in stage["matrices"]]
        rows.append({"stage": f"{number} {stage['title']}", "gives": sizes[-1:], "reading": stage["reading"]})
    tabulate(rows, ("stage", "gives", "reading"), whole="stage")
    say(format_answer(result["prediction"]))
