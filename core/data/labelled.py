"""Chosen columns to labelled rows: what is left out, what is repaired, and what is refused, each with its count."""

from __future__ import annotations

import contextlib
import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from core.data import limits
from core.data.cells import MISSING, as_words, clean_label
from core.data.columns import MOST_GUESSED
from core.data.decode import without_surrogates
from core.data.findings import Finding, plural, shown
from core.data.layout import Layout, label_columns, label_sets, other_bits, prefixed_bits, single_labels
from core.data.table import Task
from core.exceptions import DataError
from core.numbers import count
from core.text.pair import joined, parted, unsigned

MOST_CLASSES = 200
"""Distinct label words beyond which a column is not taken for classes."""
LONG_TEXT = 10_000
"""Characters from which a text is called over-long."""
LEAST_PER_CLASS = 3
"""Two classes need at least this many rows: one for each split."""
FEW_PER_CLASS = 10
"""A class with fewer rows is warned about."""
SMALL = 100
"""A table with fewer rows is warned about."""

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPED_SHARE = 0.01
_WHOLE_NUMBER = re.compile(r"\d{1,300}")
"""Not `str.isdigit`, which takes `²` for one; and no more digits than Python turns into a number."""
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“"}
_CLASS_NAMES = frozenset("label labels class classes category target intent y gold_label annotation".split())
"""Columns of these names hold classes also where they are more than fifty numbers."""
WITHHELD = "-1"
"""What benchmark files write where a label is withheld; in a person's own file it may be a class."""


def clean(
    frame: pd.DataFrame, layout: Layout, *, file: str = "", withheld: str = ""
) -> tuple[pd.DataFrame, list[Finding]]:
    """Rows with a usable text and label.

    Args:
        frame: The raw table.
        layout: Its columns of texts and labels.
        file: Name for messages.
        withheld: A label that means none.

    Returns:
        A frame with a fresh index, columns `text` (str; of a pair both texts, `core.text.pair.joined`), `label` (str:
        the word in the file; where texts have several, a tuple of words) and the others, and what was found.

    Raises:
        DataError: if a 0/1 column holds something else, or a pair has no second text.
    """
    multi = layout.task == "multi"
    texts = as_words(frame[layout.text])
    if layout.task == "tokens":
        labels = frame[layout.label]
    else:
        labels = label_sets(frame, layout, file=file) if multi else as_words(single_labels(frame, layout, file=file))
    labels, merged = (labels, []) if multi or layout.task == "tokens" else _as_seen(labels)
    texts = texts.mask(texts.isin(MISSING - {"NULL"}))
    usable, findings = _usable(texts, labels, withheld)
    findings = [*merged, *findings]
    if layout.pair:
        texts = _joined(texts, as_words(frame[layout.pair]), usable, layout.pair, file)
    taken = [layout.text, layout.pair, *layout.labels, *(prefixed_bits(frame) if multi else []), "text", "label"]
    others = frame.drop(columns=[name for name in frame.columns if name in taken])
    kept = pd.concat([texts.rename("text"), labels.rename("label"), others], axis=1)
    kept = (kept if usable.all() else kept[usable.to_numpy()]).reset_index(drop=True)
    if not layout.pair:
        kept["text"] = kept["text"].map(unsigned)
    kept["text"], escapes = (kept["text"], []) if layout.task == "tokens" else _unescape(kept["text"])
    return kept, [*findings, *_pairs(layout, kept), *escapes, *_layout_findings(frame, layout, kept["label"])]


def _joined(texts: pd.Series, seconds: pd.Series, usable: pd.Series, column: str, file: str) -> pd.Series:
    """Both texts of each usable row as one."""
    lost = usable & (seconds.isna() | (seconds.str.strip() == ""))
    if lost.any():
        message = "the second text is missing; write one, or leave the row out of the file"
        raise DataError(message, file=file, row=int(lost.to_numpy().argmax()) + 1, field=column)
    pairs = zip(texts, seconds, usable, strict=True)
    return pd.Series(
        [joined(first, second) if both else None for first, second, both in pairs], index=texts.index, dtype="str"
    )


def _pairs(layout: Layout, rows: pd.DataFrame) -> list[Finding]:
    """That each row has two texts, and how to read the first alone."""
    if not layout.pair:
        return []
    columns = f"'{shown(layout.text)}' and '{shown(layout.pair)}'"
    message = f"each row is a pair of texts, {columns}; data.pair=none reads the first alone"
    return [Finding("pairs", "note", len(rows), message)]


def _layout_findings(frame: pd.DataFrame, layout: Layout, labels: pd.Series) -> list[Finding]:
    """How several labels are written and how many there are; or columns that might have been meant."""
    bits = other_bits(frame, layout)
    if len(bits) > 1:
        named = ",".join(bits[:8])
        message = f"{len(bits)} columns hold only 0 and 1; if they are labels, name them: data.label={named}"
        return [Finding("indicator-columns", "note", len(bits), message)]
    if layout.task != "multi" or not len(labels):
        return []
    written = {
        "list": f"as lists in '{layout.label}'",
        "separated": f"in '{layout.label}', separated by {_spoken(layout.mark)}",
        "columns": f"in {len(label_columns(layout))} columns of 0 and 1",
    }[layout.form]
    sizes = labels.map(len)
    many, none = int((sizes > 1).sum()), int((sizes == 0).sum())
    message = (
        f"several labels per text, {written}: {plural(many, 'row')} with more than one, {sizes.mean():.2f} on average"
    )
    message += f", {count(none)} with none" if none else ""
    hint = "; if each cell is one label, say so with data.separator" if layout.mark else ""
    return [Finding("several-labels", "note", many, message + hint)]


def _spoken(mark: str) -> str:
    return {" ": "blanks", ",": "commas", "": "nothing: no cell has more than one"}.get(mark, f"'{mark}'")


def examine(rows: pd.DataFrame, *, to_train: bool = True, column: str = "") -> list[Finding]:
    """Return what is worth knowing about cleaned rows: repeats, conflicts, lengths, classes; refusals included.

    Args:
        rows: As `clean` gives them.
        to_train: Whether there must be enough rows of two classes.
        column: Name of the label column, which may say that many numbers are classes.
    """
    return [*_repeats(rows), *_lengths(rows), *examine_classes(rows, to_train=to_train, column=column)]


def refuse_quoted(labels: pd.Series, file: str) -> None:
    """Refuse labels that keep a quote of a delimited file, since its quoting was not understood.

    Raises:
        DataError: a label begins or ends with a quote that has no partner inside, or stands in quotes.
    """
    for word in sorted(words(labels)):
        ends = word[:1] in _QUOTES or word[-1:] in _QUOTES
        if ends and (word.count('"') % 2 or (len(word) > 1 and _QUOTES.get(word[0]) == word[-1]) or '\\"' in word):
            raise DataError(
                f"the label {shown(word)} begins or ends with a quote, so the file is quoted in a way that was not "
                "understood; name it with data.quoting: double, backslash, single, curly or none",
                file=file,
            )


def examine_classes(rows: pd.DataFrame, *, to_train: bool = True, column: str = "") -> list[Finding]:
    """Return whether cleaned rows are enough to train or evaluate on: refusals and warnings about classes only."""
    counts = rows["label"].explode().value_counts()
    if not len(rows):
        return [Finding("empty", "refused", 0, "no row has both a text and a label")]
    if not to_train:
        return [each for each in [_too_many(counts, len(rows), column)] if each]
    if len(counts) == 1:
        message = f"every row has the label '{shown(counts.index[0])}'; a classifier needs at least two classes"
        return [Finding("single-class", "refused", 1, message)]
    if not len(counts):
        return [Finding("single-class", "refused", 0, "no row has any label")]
    too_many = _too_many(counts, len(rows), column)
    if too_many:
        return [too_many]
    enough = int((counts >= LEAST_PER_CLASS).sum())
    if enough < 2:
        message = (
            f"too small: {plural(len(rows), 'row')}, and fewer than two classes have {LEAST_PER_CLASS} rows; "
            "training, validation and test each need some"
        )
        return [Finding("tiny", "refused", len(rows), message)]
    return _scarce(counts, len(rows))


def _scarce(counts: pd.Series, rows: int) -> list[Finding]:
    findings = []
    few = [f"{shown(str(name))} ({count})" for name, count in counts.items() if count < FEW_PER_CLASS]
    if few:
        message = f"{plural(len(few), 'class')} with fewer than {FEW_PER_CLASS} rows: {', '.join(few[:8])}"
        findings.append(Finding("small-class", "warning", len(few), message))
    if rows < SMALL:
        findings.append(Finding("small", "warning", rows, f"only {plural(rows, 'row')}: scores will vary widely"))
    folded = {" ".join(unicodedata.normalize("NFKC", name).casefold().split()) for name in counts.index}
    if len(folded) < len(counts):
        alike = len(counts) - len(folded)
        message = f"{plural(alike, 'label')} differing from another only in upper or lower case, width or spacing"
        findings.append(Finding("case", "warning", alike, message))
    return findings


def encode(rows: pd.DataFrame, classes: tuple[str, ...], task: Task = "single") -> pd.DataFrame:
    """The rows with `label` as int64 position in `classes`; of tokens a tuple of them in the order of the words.

    Raises:
        DataError: for a label that is no class.
    """
    positions = {name: number for number, name in enumerate(classes)}
    strange = sorted(words(rows["label"]) - set(classes))
    if strange:
        raise DataError(f"label '{strange[0]}' is none of the classes {', '.join(classes)}", field="label")
    if is_several(rows["label"]):
        arranged = tuple if task == "tokens" else sorted
        numbers = [tuple(arranged(positions[word] for word in each)) for each in rows["label"]]
        return rows.assign(label=pd.Series(numbers, index=rows.index, dtype=object))
    return rows.assign(label=rows["label"].map(positions).astype("int64"))


def is_several(labels: pd.Series) -> bool:
    """Whether cleaned labels are tuples."""
    return bool(len(labels)) and isinstance(labels.iloc[0], tuple)


def words(labels: pd.Series) -> set[str]:
    """The distinct labels of cleaned rows, one or several a row, or the tags of its words."""
    return set(labels.explode().dropna().unique())


def renamed(labels: pd.Series, names: Mapping[Any, str]) -> pd.Series:
    """Replace label names by those in `names`; a row has one or several."""
    if is_several(labels):
        return labels.map(lambda each: tuple(dict.fromkeys(names.get(word, word) for word in each)))
    return labels.map(lambda word: names.get(word, word)).astype("str")


def sorted_names(labels: pd.Series) -> tuple[str, ...]:
    """Distinct labels as a person orders them: numbers by value, words by alphabet, `item 2` before `item 10`."""
    return tuple(sorted(words(labels), key=natural))


@dataclass(frozen=True)
class LabelNames:
    """What the `labels.json` of a folder says."""

    names: dict[str, str]
    """Label value → class name, in class order."""
    task: Task


def label_names(folder: Path, file: str = "labels.json") -> LabelNames | None:
    """Class names by label value from the `labels.json` of a folder; None if there is none.

    Raises:
        DataError: if it cannot be understood.
    """
    path = folder / file
    if not path.is_file():
        return None
    try:
        content = json.loads(limits.read_bytes(path).decode("utf-8"))
        names = {str(value): str(name) for value, name in content["classes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DataError('expected {"type": "single", "classes": {"0": "negative", …}}', file=str(path)) from None
    task = content.get("type", "single")
    if task not in ("single", "multi"):
        raise DataError(f"type {task!r}: single or multi (several labels per text)", file=str(path))
    return LabelNames(names, task)


def refuse(findings: list[Finding], file: str) -> None:
    """Raise the first refusal among the findings.

    Raises:
        DataError: with its message.
    """
    for finding in findings:
        if finding.level == "refused":
            raise DataError(finding.message, file=file)


def _usable(texts: pd.Series, labels: pd.Series, withheld: str) -> tuple[pd.Series, list[Finding]]:
    """Which rows stay, and how many go for which reason; a row counts for its first reason only."""
    lost = (
        ("missing-text", texts.isna(), "without a text"),
        ("blank-text", texts.notna() & (texts.str.strip() == ""), "with a blank text"),
        ("missing-label", labels.isna() | (labels == ""), "without a label"),
        ("unlabelled", (labels == withheld) & (withheld != ""), f"with the label {withheld} (withheld)"),
    )
    usable = pd.Series(True, index=texts.index)
    findings = []
    for kind, rows, phrase in lost:
        count = int((rows & usable).sum())
        usable &= ~rows
        if count:
            findings.append(Finding(kind, "warning", count, f"{plural(count, 'row')} {phrase} left out"))
    return usable, findings


def _as_seen(labels: pd.Series) -> tuple[pd.Series, list[Finding]]:
    """Clean labels (`clean_label`); return them, and how many spellings became one."""
    written = labels.dropna().unique()
    seen = {word: clean_label(word) for word in written}
    of: dict[str, list[str]] = {}
    for word, label in seen.items():
        of.setdefault(label, []).append(word)
    findings = []
    if signs := sorted(word.strip() for word in of.get("", []) if word.strip()):
        cells = int(labels.isin(of[""]).sum())
        message = f"{plural(cells, 'cell')} of {', '.join(signs)} read as no label"
        findings.append(Finding("missing-signs", "warning", cells, message))
    several = {label: words for label, words in of.items() if label and len({word.strip() for word in words}) > 1}
    if several:
        example = next(iter(several.values()))
        ways = sum(map(len, several.values()))
        message = (
            f"{ways} ways of writing became {plural(len(several), 'label')}, such as "
            f"{' = '.join(ascii(word) for word in example[:3])}"
        )
        findings.append(Finding("labels-merged", "warning", ways, message))
    return labels.map(seen, na_action="ignore").astype("str"), findings


def _unescape(texts: pd.Series) -> tuple[pd.Series, list[Finding]]:
    r"""Literal \uXXXX in a noticeable share of the texts is an export fault and resolved; a rare one is content."""
    escaped = texts.str.contains(r"\\u[0-9a-fA-F]{4}", regex=True)
    count = int(escaped.sum())
    if count <= max(1, _ESCAPED_SHARE * len(texts)):
        return texts, []
    return texts.map(_resolved), [
        Finding("escapes", "note", count, rf"literal \uXXXX in {plural(count, 'text')} turned to characters")
    ]


def _resolved(text: str) -> str:
    """Of a pair each of both texts: what is resolved may be the sign that stands between them."""
    parts = [
        without_surrogates(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), part)) for part in parted(text) or [text]
    ]
    return joined(*parts) if len(parts) == 2 else unsigned(parts[0])


def _repeats(rows: pd.DataFrame) -> list[Finding]:
    repeated = rows[rows["text"].duplicated(keep=False)]
    findings = []
    again = len(repeated) - repeated["text"].nunique()
    if again:
        message = f"{plural(again, 'row')} repeat{'s' if again == 1 else ''} an earlier text (kept)"
        findings.append(Finding("duplicate", "note", again, message))
    labels = repeated.groupby("text")["label"].nunique()
    conflicts = int((labels > 1).sum())
    if conflicts:
        more = "different labels" if is_several(rows["label"]) else "more than one label"
        message = f"{plural(conflicts, 'text')} with {more} (kept)"
        findings.append(Finding("conflict", "warning", conflicts, message))
    return findings


def _lengths(rows: pd.DataFrame) -> list[Finding]:
    long = int((rows["text"].str.len() > LONG_TEXT).sum())
    if not long:
        return []
    message = f"{plural(long, 'text')} of more than {count(LONG_TEXT)} characters (cut at text.max_length tokens)"
    return [Finding("long", "warning", long, message)]


def _too_many(counts: pd.Series, rows: int, column: str) -> Finding | None:
    numeric = bool(pd.to_numeric(pd.Series(counts.index), errors="coerce").notna().all())
    classes = column.strip().casefold() in _CLASS_NAMES and all(_WHOLE_NUMBER.fullmatch(name) for name in counts.index)
    most = MOST_GUESSED if numeric and not classes else MOST_CLASSES
    if len(counts) <= most and not (rows >= 20 and len(counts) > rows / 2):
        return None
    what = "numbers, so it is a quantity rather than a class" if numeric else "values, so it is not a class"
    message = f"the label column has {count(len(counts))} different {what}; name another one with data.label"
    return Finding("too-many-classes", "refused", len(counts), message)


def natural(word: str) -> tuple[int, float, list[tuple[int, int | str]], str]:
    """Numbers by size, then words with the numbers in them by size; of equals the text decides, never chance."""
    with contextlib.suppress(ValueError):
        if not math.isnan(number := float(word)):
            return 0, number, [], word
    parts = re.split(r"(\d{1,300})", word.casefold())
    return 1, 0.0, [(0, int(part)) if _WHOLE_NUMBER.fullmatch(part) else (1, part) for part in parts], word
