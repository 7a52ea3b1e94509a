"""Counter-examples in the annotation file: sentences that a model gets wrong, with the label; training copies them."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.atomic import make_folder, write_text
from core.data.cells import SEPARATOR
from core.data.mixture import COUNTER_EXAMPLES as NAME
from core.error_analysis.annotation_store import Ledger, clean_author, clean_code_name, clean_text, get_timestamp
from core.evaluation.metrics import HALF, NOTHING
from core.exceptions import InputError
from core.fingerprint import hash_value

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.runs.load import LoadedRun
    from core.runs.record import RunRecord

FOLDER = ".counter-examples"  # copies that trainings use, next to the runs
MOST = 20_000
LONGEST_LINK = 30_000  # characters: a link contains the text, with six or more for each non-ASCII letter


@dataclass(frozen=True)
class ExamplePrediction:
    """A run's current prediction for a counter-example, and the probability of the expected label."""

    predicted: str
    p_label: float | None
    """Probability of the expected label, with several labels the smallest; None: the run has no such class."""
    breaks: bool | None  # whether the prediction is wrong; None: the run has no such class


@dataclass(frozen=True)
class CounterExample:
    """A counter-example that a person found: a sentence with the label that a model should predict."""

    id: str
    text: str
    label: str  # as in data files: several labels separated by semicolons, empty for none
    note: str
    author: str
    link: str  # the page where it was found
    time: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the expected labels of a counter-example as a tuple, empty for none."""
        return tuple(self.label.split(SEPARATOR)) if self.label else ()

    @property
    def expected(self) -> str:
        """Return the expected labels of a counter-example as text, joined by commas."""
        return ", ".join(self.labels) or NOTHING


def parse_labels(label: str | Collection[str]) -> tuple[str, ...]:
    """Parse a counter-example's expected labels, a list or text with semicolons; InputError if a name is invalid."""
    if isinstance(label, str):
        label = [] if label.strip() == NOTHING else label.split(SEPARATOR)
    return tuple(sorted({clean_code_name(each, "label") for each in label}))


def keep_example(
    folder: Path, text: str, label: str | Collection[str], note: str = "", author: str = "", link: str = ""
) -> CounterExample:
    """Store a counter-example in place of one with the same text, label and author; InputError: bad, or too many."""
    link = clean_text(link, LONGEST_LINK)
    text, label, author = clean_text(text), SEPARATOR.join(parse_labels(label)), clean_author(author)
    if not text:
        raise InputError("a counter-example needs a text")
    note, ledger = clean_text(note), Ledger(folder)
    with ledger.begin_change(NAME, author, f"{label}: {text[:60]}") as change:
        same = change.read_rows("examples", text=text, label=label, author=author, **({} if author else {"note": note}))
        name = str(same[0]["id"]) if same else hash_value([text, label, author, "" if author else note])[:12]
        if not same and len(change.read_rows("examples")) >= MOST:
            raise InputError(f"there are {MOST} counter-examples, which is the maximum; remove some")
        row = CounterExample(name, text, label, note, author, link, get_timestamp())
        change.put_row("examples", asdict(row))
    return row


def read_examples(folder: Path) -> list[CounterExample]:
    """Read all stored counter-examples, newest first."""
    found = [CounterExample(**row) for row in Ledger(folder).read_rows("examples")]
    return sorted(found, key=lambda each: (each.time, each.id), reverse=True)


def predict_examples(loaded: LoadedRun, rows: Sequence[CounterExample]) -> list[ExamplePrediction]:
    """Predict each counter-example with a run; a multi-label prediction is right only if every label is right."""
    record = loaded.record
    answer = _judge_multi if record.task == "multi" else _judge_single
    found = loaded.predict([each.text for each in rows]).probabilities
    return [answer(record, row, chances) for row, chances in zip(rows, found, strict=True)]


def _judge_single(record: RunRecord, row: CounterExample, chances: np.ndarray) -> ExamplePrediction:
    said = record.classes[int(chances.argmax())]
    if row.label not in record.classes:
        return ExamplePrediction(said, None, None)
    return ExamplePrediction(said, float(chances[record.classes.index(row.label)]), said != row.label)


def _judge_multi(record: RunRecord, row: CounterExample, chances: np.ndarray) -> ExamplePrediction:
    limits = [(record.tuned_thresholds or {}).get(name, HALF) for name in record.classes]
    said = [name for name, chance, limit in zip(record.classes, chances, limits, strict=True) if chance > limit]
    words = ", ".join(said) or NOTHING
    if not set(row.labels) <= set(record.classes):
        return ExamplePrediction(words, None, None)
    sure = min(
        float(chance) if name in row.labels else 1 - float(chance)
        for name, chance in zip(record.classes, chances, strict=True)
    )
    return ExamplePrediction(words, sure, set(said) != set(row.labels))


def build_table(rows: Sequence[CounterExample]) -> pd.DataFrame:
    """Return the counter-examples as a training table: `text`, `label`, `note`, `author`, `link`, `time`, `id`."""
    import pandas as pd

    columns = ["text", "label", "note", "author", "link", "time", "id"]
    return pd.DataFrame([asdict(row) for row in rows], columns=columns)


def remove_example(folder: Path, name: str, author: str = "") -> None:
    """Remove a stored counter-example; InputError if none has this id."""
    with Ledger(folder).begin_change(NAME, clean_author(author), f"{name} removed") as change:
        if not change.read_rows("examples", id=name):
            raise InputError(f"no counter-example {name!r:.40}; `sentiscope counter-examples list` shows all")
        change.drop_row("examples", {"id": name})


def write_copy(folder: Path) -> str:
    """Write all counter-examples to a JSON file named by its digest; return its path, or InputError if none exist."""
    rows = sorted({(each.text, each.label) for each in read_examples(folder)})
    if not rows:
        raise InputError(f"no {NAME} are stored yet: `sentiscope counter-examples keep TEXT --label CLASS` stores one")
    content = [{"text": text, "label": label} for text, label in rows]
    path = folder / FOLDER / f"{hash_value(content)[:16]}.json"
    if not path.is_file():
        make_folder(path.parent)
        write_text(path, json.dumps(content, ensure_ascii=False, indent=1))
    return str(path.absolute())
