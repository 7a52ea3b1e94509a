"""Counter-examples: sentences that people found a model gets wrong, with the expected label.

They are stored in the file of `core.failures.ledger`, next to the runs. A training that uses them gets a copy of the
list at that time (`planned`), so that it can be resumed and repeated when the list has grown.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.atomic import storage_errors, write_text
from core.data.kept_examples import NAME
from core.data.write import SEPARATOR
from core.evaluation.scores import HALF, NOTHING
from core.exceptions import InputError
from core.failures.ledger import Ledger, now
from core.failures.names import author_name, code_name, sound_text
from core.fingerprint import fingerprint

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from core.runs.load import LoadedRun
    from core.runs.record import RunRecord

FOLDER = ".counter-examples"  # beside the runs: copies that trainings took along
MOST = 20_000
LONGEST_LINK = 30_000
"""Characters: a link carries the text itself, each letter that is not ASCII as six or more."""


@dataclass(frozen=True)
class Answer:
    """What a run predicts for a counter-example today."""

    said: str
    p_label: float | None
    """Probability of the expected label, of several the least sure; None: the run has no such class."""
    breaks: bool | None  # None: the run has no such class


@dataclass(frozen=True)
class CounterExample:
    """A sentence that somebody found, with the label that a model should predict."""

    id: str
    text: str
    label: str  # as files of data have it: several with a semicolon between, of none nothing
    note: str
    author: str
    link: str  # where it was found, such as a page with run and sentence
    time: str

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the expected labels as a tuple."""
        return tuple(self.label.split(SEPARATOR)) if self.label else ()

    @property
    def ought(self) -> str:
        """Return the expected labels in words."""
        return ", ".join(self.labels) or NOTHING


def labels_of(label: str | Collection[str]) -> tuple[str, ...]:
    """Split labels at semicolons, or check labels given one by one; InputError for a bad name."""
    if isinstance(label, str):
        label = [] if label.strip() == NOTHING else label.split(SEPARATOR)
    return tuple(sorted({code_name(each, "label") for each in label}))


def keep_example(
    folder: Path, text: str, label: str | Collection[str], note: str = "", author: str = "", link: str = ""
) -> CounterExample:
    """Store a counter-example; an equal one by the same author gets the new note and link.

    Without an author, another note makes another example. InputError for bad text or label, or if there are too many.
    """
    link = sound_text(link, LONGEST_LINK)
    text, label, author = sound_text(text), SEPARATOR.join(labels_of(label)), author_name(author)
    if not text:
        raise InputError("a counter-example needs a text")
    note, ledger = sound_text(note), Ledger(folder)
    with ledger.changing(NAME, author, f"{label}: {text[:60]}") as change:
        same = change.rows("examples", text=text, label=label, author=author, **({} if author else {"note": note}))
        name = str(same[0]["id"]) if same else fingerprint([text, label, author, "" if author else note])[:12]
        if not same and len(change.rows("examples")) >= MOST:
            raise InputError(f"there are {MOST} counter-examples, and no more are kept; remove some")
        row = CounterExample(name, text, label, note, author, link, now())
        change.put("examples", asdict(row))
    return row


def counter_examples(folder: Path) -> list[CounterExample]:
    """Read all counter-examples, newest first."""
    found = [CounterExample(**row) for row in Ledger(folder).rows("examples")]
    return sorted(found, key=lambda each: (each.time, each.id), reverse=True)


def answers(loaded: LoadedRun, rows: Sequence[CounterExample]) -> list[Answer]:
    """Predict each counter-example; with several labels all must be right, at the run's own thresholds."""
    record = loaded.record
    answer = _answer_of_several if record.task == "multi" else _answer
    found = loaded.predict([each.text for each in rows]).probabilities
    return [answer(record, row, chances) for row, chances in zip(rows, found, strict=True)]


def _answer(record: RunRecord, row: CounterExample, chances: np.ndarray) -> Answer:
    said = record.classes[int(chances.argmax())]
    if row.label not in record.classes:
        return Answer(said, None, None)
    return Answer(said, float(chances[record.classes.index(row.label)]), said != row.label)


def _answer_of_several(record: RunRecord, row: CounterExample, chances: np.ndarray) -> Answer:
    limits = [(record.tuned_thresholds or {}).get(name, HALF) for name in record.classes]
    said = [name for name, chance, limit in zip(record.classes, chances, limits, strict=True) if chance > limit]
    words = ", ".join(said) or NOTHING
    if not set(row.labels) <= set(record.classes):
        return Answer(words, None, None)
    sure = min(
        float(chance) if name in row.labels else 1 - float(chance)
        for name, chance in zip(record.classes, chances, strict=True)
    )
    return Answer(words, sure, set(said) != set(row.labels))


def example_table(rows: Sequence[CounterExample]) -> pd.DataFrame:
    """Return the counter-examples as a training table: `text`, `label`, `note`, `author`, `link`, `time`, `id`."""
    import pandas as pd

    return pd.DataFrame(
        [asdict(row) for row in rows], columns=["text", "label", "note", "author", "link", "time", "id"]
    )


def remove_example(folder: Path, name: str, author: str = "") -> None:
    """Remove a counter-example; InputError if none has this id."""
    ledger = Ledger(folder)
    with ledger.changing(NAME, author_name(author), f"{name} removed") as change:
        if not change.rows("examples", id=name):
            raise InputError(f"no counter-example {name!r:.40}; `sentiscope counter-examples list` shows all")
        change.drop("examples", {"id": name})


def planned(folder: Path) -> str:
    """Write a copy of the list under its digest and return its path; InputError if it is empty."""
    rows = sorted({(each.text, each.label) for each in counter_examples(folder)})
    if not rows:
        raise InputError(f"no {NAME} are kept yet: `sentiscope counter-examples keep TEXT --label CLASS` keeps one")
    content = [{"text": text, "label": label} for text, label in rows]
    path = folder / FOLDER / f"{fingerprint(content)[:16]}.json"
    if not path.is_file():
        with storage_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(content, ensure_ascii=False, indent=1))
    return str(path.absolute())
