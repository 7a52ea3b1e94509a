"""Counter-examples that a training takes along: a copy of a person's list as it was when the training was planned."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypedDict

import pandas as pd

from core import stored
from core.data.config import DataConfig
from core.data.findings import plural
from core.data.labelled import is_several
from core.data.mixture import CORPUS, read_alike
from core.data.table import TRAIN
from core.exceptions import DataError, RunDamaged
from core.paths import resolve

NAME = "counter-examples"
"""As a word of `--add`, and in the column `corpus` of the training rows."""
_LARGEST = 64 * 1024**2


class Example(TypedDict):
    """One of them."""

    text: str
    label: str


class Along(NamedTuple):
    """What they come to."""

    splits: dict[str, pd.DataFrame]
    notes: list[str]
    """What was left out."""


def with_examples(given: dict[str, pd.DataFrame], classes: tuple[str, ...], config: DataConfig) -> Along:
    """The splits with the counter-examples of `config.examples` behind the training rows, and nowhere else.

    Their labels are renamed as the data's are. Those of another class stay out, and so do those that are read alike
    with a text of another split: nothing is judged on what was learned. With any, train keeps `text`, `label` and
    `corpus` alone.

    Raises:
        DataError: the file cannot be read, or the data have several labels per text.
    """
    if not config.examples:
        return Along(given, [])
    if is_several(given[TRAIN]["label"]):
        raise DataError(f"data.examples: {NAME} have one label each, and the data several per text")
    names = config.renamed()
    rows = [(each["text"], names.get(each["label"], each["label"])) for each in _read(config.examples)]
    known = [(text, classes.index(label)) for text, label in rows if label in classes]
    judged = {text for split, frame in given.items() if split != TRAIN for text in read_alike(frame["text"].tolist())}
    alike = read_alike([text for text, _ in known])
    kept = [row for row, text in zip(known, alike, strict=True) if text not in judged]
    notes = [f"{NAME}: {plural(len(kept), 'row')} joined train"]
    if other := len(rows) - len(known):
        notes.append(f"{NAME}: {plural(other, 'row')} of other classes left out")
    if twice := len(known) - len(kept):
        notes.append(f"{NAME}: {plural(twice, 'row')} left out, read alike in the other splits")
    train = given[TRAIN]
    before = train if CORPUS in train else train.assign(**{CORPUS: config.name})
    texts, labels = pd.Series([text for text, _ in kept], dtype="str"), pd.Series([n for _, n in kept], dtype="int64")
    added = pd.DataFrame({"text": texts, "label": labels, CORPUS: pd.Series([NAME] * len(kept), dtype="str")})
    columns = ["text", "label", CORPUS]
    return Along({**given, TRAIN: pd.concat([before[columns], added], ignore_index=True)}, notes)


def digest_of(config: DataConfig) -> str:
    """Under which the copy is kept."""
    return Path(config.examples).stem


def _read(name: str) -> list[Example]:
    path = resolve(name, limit=_LARGEST)
    try:
        found = stored.read(path, list[Example], limit=_LARGEST)
    except RunDamaged as error:
        raise DataError(f"no kept {NAME}: {error}", file=path.name) from None
    return [each for each in found if each["text"].strip()]
