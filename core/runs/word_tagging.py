"""Runs that give each word a tag: training examples, predictions, metrics and files.

evaluation/<split>/tags.parquet: row, text (words separated by spaces), label, predicted (a tag for each word) and
probability (of the predicted tag; missing if the model read no token of the word). evaluation/<split>/metrics.json: n,
words, metrics, intervals, per_type, outcomes, unread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from core.atomic import convert_os_errors, make_folder, write_bytes, write_text
from core.data import limits
from core.data.conll import OUTSIDE, SUFFIXES
from core.data.dataset import Dataset, Task
from core.data.decoding import decode_bytes
from core.data.parquet import read_parquet
from core.evaluation.inference import Classifier, get_device, switch_to_eval
from core.evaluation.intervals import compute_percentiles, draw_resamples
from core.evaluation.span_metrics import KINDS, SpanScores, decode_spans
from core.exceptions import ConfigError, DataError, InputError, NotAvailable, RunDamaged
from core.metrics import select_metrics
from core.models.builder import check_token_tagging
from core.models.trace import Batch
from core.paths import resolve_path
from core.runs.evaluation_data import DataRequest, read_labeled_rows
from core.runs.load import load_run
from core.runs.record import EVALUATION, TAGS
from core.runs.results import write_metrics
from core.runs.store import RunStore
from core.text.normalization import prepare
from core.text.token_table import build_token_table, split_batches
from core.text.tokenizer import Tokenizer
from core.training.config import TrainingConfig
from core.training.history import replace_nonfinite
from core.training.loop import UNTAGGED
from core.training.training_stage import Examples

if TYPE_CHECKING:
    from core.config import RunConfig

BATCH = 64
_WORD = re.compile(r"[^ \t\n\r\f\v]+")  # a non-breaking space is part of a word, in files and in typed texts
TASK: Task = "tokens"


def check_config(config: RunConfig) -> None:
    """Check that the settings can train a model that tags words; ConfigError names the nearest valid choice."""
    check_token_tagging(config.model)
    training, usual = config.training, TrainingConfig()
    for name in ("teacher", "nonsense", "joined", "mix", "start", "passages"):
        if (value := getattr(training, name)) != getattr(usual, name):
            said = f"training.{name}={value!s:.60}: only for labels of whole texts"
            raise ConfigError(f"{said}, and here each word has a tag; leave it out")
    if not config.data.texts:
        raise ConfigError("data.texts=false: tags say nothing without their words; choose data.texts=true")


def build_examples(dataset: Dataset, split: str, tokenizer: Tokenizer) -> Examples:
    """Return a split as training examples: each word's tag at its first token, `UNTAGGED` elsewhere."""
    rows = dataset.splits[split]
    texts = rows["text"].tolist()
    tags = np.full((len(rows), max(1, tokenizer.max_length)), UNTAGGED, np.int64)
    for row, (text, label) in enumerate(zip(texts, rows["label"], strict=True)):
        for place, tag in zip(find_first_tokens(tokenizer, text), label, strict=True):
            if place != NOWHERE:
                tags[row, place] = tag
    return Examples(build_token_table(tokenizer, texts), tags)


def score_validation(classes: Sequence[str], labels: np.ndarray, logits: torch.Tensor) -> dict[str, float]:
    """Compute the tagging metrics of a validation split during training, over the words that the model reads."""
    names, known, rows = np.array(classes, dtype=object), labels != UNTAGGED, range(len(labels))
    sides = labels, logits.argmax(-1).numpy()
    return compute_metrics(SpanScores(*([names[side[row][known[row]]].tolist() for row in rows] for side in sides)))


def compute_metrics(scores: SpanScores) -> dict[str, float]:
    """Compute every tagging metric (such as span F1) of sentences with true and predicted tags."""
    once = np.ones((1, len(scores)))
    return {name: float(metric.measure(scores, once)[0]) for name, metric in select_metrics(TASK).items()}


def compute_intervals(scores: SpanScores) -> dict[str, list[float]]:
    """Return each metric's 95 % bootstrap interval over sentences; without metrics on which all resamples agree."""
    drawn = list(draw_resamples(len(scores), 0)) if len(scores) else []
    ends = {
        name: compute_percentiles(np.concatenate([metric.measure(scores, weights) for weights in drawn]))
        for name, metric in (select_metrics(TASK).items() if drawn else ())
    }
    return {name: each for name, each in ends.items() if each is not None}


@dataclass(frozen=True)
class TaggedText:
    """The words of a text with the predicted probability of each tag."""

    words: list[str]
    chances: np.ndarray  # (W, C) float32: of each tag at each word; NaN if the model read no token of the word
    classes: tuple[str, ...]

    @cached_property
    def tags(self) -> list[str]:
        """Return the most probable tag of each word of the text; `O` for a word that the model did not read."""
        unread = np.isnan(self.chances[:, 0])
        best = np.where(unread, self.classes.index(OUTSIDE), np.nan_to_num(self.chances).argmax(1))
        return [self.classes[number] for number in best]

    @property
    def tag_probabilities(self) -> list[float | None]:
        """Return the probability of each word's predicted tag; None for a word that the model did not read."""
        best = np.nan_to_num(self.chances).max(1)
        return [None if np.isnan(row[0]) else float(chance) for row, chance in zip(self.chances, best, strict=True)]


def tag_texts(
    model: Classifier, tokenizer: Tokenizer, texts: Sequence[str], classes: tuple[str, ...]
) -> list[TaggedText]:
    """Predict the tag of each word of texts, which are split at spaces; the results have the order of the texts."""
    texts = [" ".join(_WORD.findall(text)) for text in texts]
    tokens, places = build_token_table(tokenizer, texts), [find_first_tokens(tokenizer, text) for text in texts]
    chances: list[np.ndarray] = [np.empty(0)] * len(texts)
    with switch_to_eval(model):
        for rows in split_batches(np.argsort(-tokens.lengths, kind="stable"), BATCH):
            logits = model(Batch.from_arrays(tokens.pad_rows(rows)).to(get_device(model))).logits
            for row, found in zip(rows, logits.float().softmax(-1).cpu().numpy(), strict=True):
                at = np.array(places[row])
                read = at != NOWHERE
                chances[row] = np.where(read[:, None], found[np.where(read, at, 0)], np.nan)
    return [TaggedText(split_words(text), said, classes) for text, said in zip(texts, chances, strict=True)]


@dataclass(frozen=True)
class TaggedSplit:
    """A split of tagged sentences with true and predicted tags, and the metrics on it."""

    split: str
    texts: list[str]
    labels: list[list[str]]
    said: list[TaggedText]

    @classmethod
    def from_rows(
        cls, split: str, rows: pd.DataFrame, classes: tuple[str, ...], model: Classifier, tokenizer: Tokenizer
    ) -> TaggedSplit:
        """Tag the sentences of a data split with a model; the rows' true tags are numbers in `classes`."""
        texts = rows["text"].tolist()
        labels = [[classes[number] for number in tags] for tags in rows["label"]]
        return cls(split, texts, labels, tag_texts(model, tokenizer, texts, classes))

    @cached_property
    def scores(self) -> SpanScores:
        """Return the true and predicted tags of the split, ready for span metrics."""
        return SpanScores(self.labels, [each.tags for each in self.said])

    @cached_property
    def report(self) -> dict[str, Any]:
        """Return the evaluation of a tagged split as plain data, the content of `metrics.json`."""
        ends = Counter(each.outcome for found in self.scores.found for each in found)
        return {
            "split": self.split,
            "n": len(self.texts),
            "words": sum(map(len, self.labels)),
            "metrics": compute_metrics(self.scores),
            "intervals": compute_intervals(self.scores),
            "per_type": self.scores.evaluate_types(),
            "outcomes": {name: ends[name] for name in KINDS},
            "unread": sum(chance is None for each in self.said for chance in each.tag_probabilities),
        }

    def build_table(self) -> pd.DataFrame:
        """Return the true and predicted tags of a split as a table, the content of `tags.parquet`."""
        return pd.DataFrame(
            {
                "row": np.arange(len(self.texts)),
                "text": self.texts,
                "label": self.labels,
                "predicted": [each.tags for each in self.said],
                "probability": [each.tag_probabilities for each in self.said],
            }
        )

    def write(self, run: Path) -> None:
        """Write the tags table and the metrics of the split into a run directory."""
        folder = run / EVALUATION / self.split
        make_folder(folder)
        write_bytes(folder / TAGS, self.build_table().to_parquet(index=False))
        write_metrics(folder, self.report)


def read_tags(run: Path, split: str) -> pd.DataFrame:
    """Read the stored tags of a split, with lists of tags; NotAvailable: there are none, RunDamaged: an unfit file."""
    path = run / EVALUATION / split / TAGS
    if split != Path(split).name or not path.is_file():
        raise NotAvailable(f"the run has no tags of a split '{split}' yet")
    try:
        table = read_parquet(path)
        for name in ("label", "predicted", "probability"):
            table[name] = [list(each) for each in table[name]]
        words = table["text"].map(lambda text: len(split_words(text)))
        sound = all((table[name].map(len) == words).all() for name in ("label", "predicted", "probability"))
    except (DataError, KeyError, TypeError, AttributeError) as error:
        raise RunDamaged(f"{path}: cannot be read: {error}") from error
    if not sound:
        raise RunDamaged(f"{path}: cannot be read: a row has not one tag for each word")
    return table


NOWHERE = -1  # position of a word without a token, as the text is cut before it or normalisation removes it


def split_words(text: str) -> list[str]:
    """Split a tagged text into words at single blanks."""
    return text.split(" ")


def find_first_tokens(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return each word's first token in the input, found in order in the normalised text; `NOWHERE`: it has none."""
    encoded = tokenizer.encode(text)
    found, begins, token = list[int](), 0, 0
    for word in split_words(text):
        spelt = prepare(word, tokenizer.config).strip()
        place = encoded.text.find(spelt, begins) if spelt else -1
        if place < 0:
            found.append(NOWHERE)
            continue
        begins = place + len(spelt)
        while token < len(encoded.offsets) and encoded.offsets[token][1] <= place:
            token += 1
        inside = token < len(encoded.offsets) and encoded.offsets[token][0] < begins
        # A token that contains the end of one word and the beginning of the next belongs to the first.
        found.append(token if inside and token not in found[-1:] else NOWHERE)
    return found


def evaluate_tags(store: RunStore, run: str, wanted: DataRequest, of_texts: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluate a run that tags words on a split or other tagged data; `of_texts` are other options, must be empty."""
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
    if to is not None and to.suffix.lower() not in SUFFIXES:
        said = f"tags are written as one word and its tag per line; the name must end in {SUFFIXES[0]}"
        raise InputError(f"--to {to}: {said}")
    if to is not None and (to.is_dir() or not to.expanduser().absolute().parent.is_dir()):
        raise InputError(f"--to {to}: name a file in an existing folder")
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
    return {
        **known,
        "predictions": [
            {"row": row, "text": text, "read": read, "cut": cut, **describe_tags(each)}
            for row, (text, each, (read, cut)) in enumerate(zip(texts, found, counts, strict=True))
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
