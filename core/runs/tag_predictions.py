"""Word tagging with a trained run: tags for new texts, and evaluation on labelled data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.atomic import convert_os_errors, write_text
from core.data import limits
from core.data.conll import SUFFIXES
from core.data.decoding import decode_bytes
from core.evaluation.span_metrics import decode_spans
from core.exceptions import InputError
from core.paths import resolve_path
from core.runs.evaluation_data import DataRequest, read_labeled_rows
from core.runs.load import load_run
from core.runs.store import RunStore
from core.runs.word_tagging import TaggedSplit, TaggedText, tag_texts
from core.training.history import replace_nonfinite


def evaluate_tags(store: RunStore, run: str, wanted: DataRequest, of_texts: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate a run that tags words on a split of its data or on other tagged data; see `core.api.evaluation`.

    `of_texts` are options for labels of whole texts, which must be empty.
    """
    _refuse_text_options(run, of_texts)
    loaded = load_run(store, run, tags=True)
    rows, split, notes = read_labeled_rows(loaded.record, wanted)
    name = wanted.data or loaded.record.config.data.name
    labels = [list(each) if isinstance(each, tuple) else [] for each in rows["label"]]
    texts = rows["text"].tolist()
    if any(len(tags) != len(text.split(" ")) for tags, text in zip(labels, texts, strict=True)):
        raise InputError(f"{name}: has a label for each text, and run '{run}' gives each word a tag")
    if wanted.limit and wanted.limit < len(rows):
        kept = sorted(rows.sample(wanted.limit, random_state=0).index)
        texts, labels = [texts[row] for row in kept], [labels[row] for row in kept]
        notes = (*notes, f"{wanted.limit} of {len(rows)} sentences, seed 0")
    said = tag_texts(loaded.model, loaded.tokenizer, texts, loaded.record.classes)
    report = TaggedSplit(split, texts, labels, said).report
    return replace_nonfinite({"run": run, "task": "tokens", "data": name, **report, "notes": list(notes)})


def predict_tags(
    store: RunStore, run: str, texts: Sequence[str], *, file: Path | None, to: Path | None, of_texts: Mapping[str, Any]
) -> dict[str, Any]:
    """Predict the tag of each word of texts with a run; see `core.api.prediction`."""
    _refuse_text_options(run, of_texts)
    if file is not None and texts:
        raise InputError("give texts or --data, not both")
    if to is not None:
        _check_target(to)
    texts = [text for text in (_read_lines(file) if file else texts) if text.strip()]
    if not texts:
        raise InputError("nothing to predict: give at least one text, or --data")
    loaded = load_run(store, run, tags=True)
    found = tag_texts(loaded.model, loaded.tokenizer, texts, loaded.record.classes)
    known = {"run": run, "task": "tokens", "edit": ""}
    texts = [" ".join(each.words) for each in found]
    counts = loaded.tokenizer.count_read(texts)
    if to is not None:
        blocks = ("\n".join(map("\t".join, zip(each.words, each.tags, strict=True))) for each in found)
        with convert_os_errors(to):
            write_text(to.expanduser(), "\n\n".join(blocks) + "\n")
        return {**known, "rows": len(found), "cut": sum(cut > 0 for _, cut in counts), "to": str(to)}
    rows = enumerate(zip(texts, found, counts, strict=True))
    return {
        **known,
        "predictions": [
            {"row": row, "text": text, "read": read, "cut": cut, **describe_tags(each)}
            for row, (text, each, (read, cut)) in rows
        ],
    }


def describe_tags(found: TaggedText) -> dict[str, Any]:
    """Return the tagged words of a text as plain data: `words`, `tags`, `probabilities` and `spans`."""
    spans = []
    for span in decode_spans(found.tags):
        text = " ".join(found.words[span.first : span.end])
        spans.append({"type": span.kind, "text": text, "first": span.first, "last": span.end - 1})
    return {"words": found.words, "tags": found.tags, "probabilities": found.tag_probabilities, "spans": spans}


def _refuse_text_options(run: str, of_texts: Mapping[str, Any]) -> None:
    if given := [name for name, value in of_texts.items() if value]:
        raise InputError(f"{given[0]}: only for runs that label texts; run '{run}' gives each word a tag")


def _read_lines(file: Path) -> list[str]:
    path = resolve_path(str(file))
    if path.suffix.lower() not in (".txt", ""):
        raise InputError(f"--data {file}: give a file with one text per line (.txt)")
    return decode_bytes(limits.read_bytes(path), "", file=path.name).text.splitlines()


def _check_target(to: Path) -> None:
    if to.suffix.lower() not in SUFFIXES:
        said = f"tags are written as one word and its tag per line; the name must end in {SUFFIXES[0]}"
        raise InputError(f"--to {to}: {said}")
    if to.is_dir() or not to.expanduser().absolute().parent.is_dir():
        raise InputError(f"--to {to}: name a file in an existing folder")
