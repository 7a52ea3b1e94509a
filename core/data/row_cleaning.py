"""Cleaning of a table's labelled rows: rows left out, texts repaired and labels refused, each with its count."""

import contextlib
import re
import unicodedata
from collections.abc import Collection

import pandas as pd

from core.data.cells import MISSING, as_words
from core.data.columns import MOST_GUESSED, PREFIX, Layout, find_bits
from core.data.decoding import replace_surrogates
from core.data.findings import Finding, list_finding, shorten
from core.data.labels import WHOLE_NUMBER, is_several, list_labels, map_label_columns, read_labels
from core.exceptions import DataError
from core.formatting import count, plural
from core.text.text_pairs import join_pair, replace_sign, split_pair

MOST_CLASSES = 200  # Distinct labels of a column of classes, at most
LONG_TEXT = 10_000
LEAST_PER_CLASS = 3  # Rows that at least two classes need: one for each split
FEW_PER_CLASS, SMALL = 10, 100

_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}")
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“"}
_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u2800\ufffc" + "".join(map(chr, range(0xFE00, 0xFE10)))
"""Invisible letters and signs, and variation selectors of emoji."""
_SAME = dict.fromkeys(("true", "yes", "y", "t"), "1") | dict.fromkeys(("false", "no", "n", "f"), "0")
_SAME |= {"pos": "positive", "neg": "negative", "neu": "neutral"}
_UNKNOWN = frozenset("None nan NaN n/a N/A NA na ? ?? <NA> null undefined".split())
"""How programs write an unknown value; as a label it may be a class."""
_LOOK_ALIKES = str.maketrans("−аеорсхуіјѕοαρνι", "-aeopcxyijsoapvi", _UNSEEN)  # Letters that look Latin
_CLASS_NAMES = frozenset("label labels class classes category target intent y gold_label annotation".split())
"""Names of columns that have classes even with more than `MOST_GUESSED` numbers."""


def clean_rows(
    frame: pd.DataFrame, layout: Layout, *, file: str = "", withheld: str = ""
) -> tuple[pd.DataFrame, list[Finding]]:
    """Return the rows with a usable text and label, with a new index, and findings; DataError: bad 0/1 column, or pair.

    Columns: `text` (str; pairs as of `join_pair`), `label` (str or tuple; `withheld` means none) and the table's.
    """
    texts, (labels, of_labels) = as_words(frame[layout.text]), read_labels(frame, layout, file=file)
    texts = texts.mask(texts.isin(MISSING - {"NULL"}))
    usable, left_out = _find_usable(texts, labels, withheld)
    if layout.pair:
        seconds = as_words(frame[layout.pair])
        if (lost := usable & (seconds.isna() | (seconds.str.strip() == ""))).any():
            message, row = "the second text is missing; write one, or leave the row out of the file", lost.to_numpy()
            raise DataError(message, file=file, row=int(row.argmax()) + 1, field=layout.pair)
        whole = [join_pair(*two) if both else None for *two, both in zip(texts, seconds, usable, strict=True)]
        texts = pd.Series(whole, index=texts.index, dtype="str")
    taken = {*layout.taken, "text", "label"}
    if layout.task == "multi":
        taken.update(find_bits(frame, [name for name in map(str, frame.columns) if name.startswith(PREFIX)]))
    others = frame.drop(columns=[name for name in frame.columns if name in taken])
    kept = pd.concat([texts.rename("text"), labels.rename("label"), others], axis=1)
    kept = (kept if usable.all() else kept[usable.to_numpy()]).reset_index(drop=True)
    if not layout.pair:
        kept["text"] = kept["text"].map(replace_sign)
    repaired = list[Finding]()
    if layout.task != "tokens":
        kept["text"], repaired = _resolve_escaped(kept["text"])
        number = int(kept["text"].str.contains("\ufffd", regex=False).sum())
        message = "with \ufffd, where characters were lost; save the file again from its source"
        repaired += list_finding("lost-characters", "warning", number, f"{plural(number, 'text')} {message}")
    columns = f"'{shorten(layout.text)}' and '{shorten(layout.pair)}'"
    message = f"each row is a pair of texts, {columns}; data.pair=none reads the first alone"
    pairs = list_finding("pairs", "note", len(kept) if layout.pair else 0, message)
    return kept, [*of_labels, *left_out, *pairs, *repaired, *_describe_labels(frame, layout, kept["label"])]


def examine_rows(rows: pd.DataFrame, *, to_train: bool = True, column: str = "") -> list[Finding]:
    """Return findings about cleaned rows: duplicates, conflicts, long texts, and classes that cannot be used."""
    repeated = rows[rows["text"].duplicated(keep=False)]
    again = len(repeated) - repeated["text"].nunique()
    conflicts = int((repeated.groupby("text")["label"].nunique() > 1).sum())
    long = int((rows["text"].str.len() > LONG_TEXT).sum())
    more = "different labels" if is_several(rows["label"]) else "more than one label"
    cut = f"of more than {count(LONG_TEXT)} characters (cut at text.max_length tokens)"
    repeats = f"{plural(again, 'row')} repeat{'s' if again == 1 else ''} an earlier text (kept)"
    return [
        *list_finding("duplicate", "note", again, repeats),
        *list_finding("conflict", "warning", conflicts, f"{plural(conflicts, 'text')} with {more} (kept)"),
        *list_finding("long", "warning", long, f"{plural(long, 'text')} {cut}"),
        *examine_classes(rows, to_train=to_train, column=column),
    ]


def examine_classes(rows: pd.DataFrame, *, to_train: bool = True, column: str = "") -> list[Finding]:
    """Return findings about the classes of cleaned rows: whether they suffice to train or evaluate on."""
    counts = rows["label"].explode().value_counts()
    if not len(rows):
        return [Finding("empty", "refused", 0, "no row has both a text and a label")]
    if to_train and len(counts) < 2:
        label = [shorten(name) for name in counts.index]
        message = f"every row has the label '{label[0]}'; a classifier needs at least two classes" if label else ""
        return [Finding("single-class", "refused", len(label), message or "no row has any label")]
    return _find_too_many(counts, len(rows), column) or (_find_scarce(counts, len(rows)) if to_train else [])


def refuse_quoted(labels: pd.Series, file: str) -> None:
    """Refuse labels that begin or end with a quote, a sign that the quoting of the file was not understood."""
    for word in sorted(list_labels(labels)):
        ends = word[:1] in _QUOTES or word[-1:] in _QUOTES
        inside = word.rstrip("),;]")
        closed = len(inside) > 1 and _QUOTES.get(inside[0]) == inside[-1]
        if ends and (word.count('"') % 2 or closed or '\\"' in word):
            problem = f"the label {shorten(word)} begins or ends with a quote, so the file is quoted in a way that was"
            how = "name it with data.quoting: double, backslash, single, curly or none"
            raise DataError(f"{problem} not understood; {how}", file=file)


def _find_usable(texts: pd.Series, labels: pd.Series, withheld: str) -> tuple[pd.Series, list[Finding]]:
    lost = (
        ("missing-text", texts.isna(), "without a text"),
        ("blank-text", texts.notna() & (texts.str.strip() == ""), "with a blank text"),
        ("missing-label", labels.isna() | (labels == ""), "without a label"),
        ("unlabelled", (labels == withheld) & (withheld != ""), f"with the label {withheld} (withheld)"),
    )
    usable, findings = pd.Series(True, index=texts.index), list[Finding]()
    for kind, rows, phrase in lost:
        number = int((rows & usable).sum())
        findings += list_finding(kind, "warning", number, f"{plural(number, 'row')} {phrase} left out")
        usable &= ~rows
    return usable, findings


def _resolve_escaped(texts: pd.Series) -> tuple[pd.Series, list[Finding]]:
    r"""Replace literal \uXXXX escapes in texts if a notable share has them (an export fault); keep rare ones."""
    if (number := int(texts.str.contains(_ESCAPE, regex=True).sum())) <= max(1, 0.01 * len(texts)):
        return texts, []
    message = rf"literal \uXXXX in {plural(number, 'text')} turned to characters"
    return texts.map(_resolve_escapes), [Finding("escapes", "note", number, message)]


def _resolve_escapes(text: str) -> str:
    """Replace Unicode escapes in a text, or in each of the two texts of a pair separately."""
    whole = [_ESCAPE.sub(lambda found: chr(int(found[0][2:], 16)), part) for part in split_pair(text) or [text]]
    parts = list(map(replace_surrogates, whole))
    return join_pair(*parts) if len(parts) == 2 else replace_sign(parts[0])


def _describe_labels(frame: pd.DataFrame, layout: Layout, labels: pd.Series) -> list[Finding]:
    if layout.task != "multi" or not len(labels):
        return []
    mark = {" ": "blanks", ",": "commas", "": "nothing: no cell has more than one"}.get(layout.mark, f"'{layout.mark}'")
    written = {
        "list": f"as lists in '{layout.label}'",
        "separated": f"in '{layout.label}', separated by {mark}",
        "columns": f"in {len(map_label_columns(layout))} columns of 0 and 1",
    }[layout.form]
    sizes = labels.map(len)
    many, none = int((sizes > 1).sum()), int((sizes == 0).sum())
    message = f"several labels per text, {written}: {plural(many, 'row')} with more than one, "
    message += f"{sizes.mean():.2f} on average" + (f", {count(none)} with none" if none else "")
    hint = "; if each cell is one label, say so with data.separator" if layout.mark else ""
    return [Finding("several-labels", "note", many, message + hint)]


def _find_too_many(counts: pd.Series, rows: int, column: str) -> list[Finding]:
    numeric = bool(pd.to_numeric(pd.Series(counts.index), errors="coerce").notna().all())
    classes = column.strip().casefold() in _CLASS_NAMES and all(WHOLE_NUMBER.fullmatch(name) for name in counts.index)
    most = MOST_GUESSED if numeric and not classes else MOST_CLASSES
    what = "numbers, so it is a quantity rather than a class" if numeric else "values, so it is not a class"
    message = f"the label column has {count(len(counts))} different {what}; name another one with data.label"
    many = len(counts) > most or (rows >= 20 and len(counts) > rows / 2)
    return list_finding("too-many-classes", "refused", len(counts) * many, message)


def _fold_label(label: str) -> str:
    """Return a form of a label for comparison, equal for labels that look the same or are the same number."""
    seen = unicodedata.normalize("NFKC", label).casefold().translate(_LOOK_ALIKES)
    seen = "".join(each for each in seen if each.isspace() or unicodedata.category(each) not in ("Cc", "Cf"))
    seen = _SAME.get(seen := seen.strip().rstrip(".:!") or seen, seen)
    with contextlib.suppress(ValueError):
        if "_" not in seen and len(seen) <= 15:
            return str(float(seen))
    return " ".join(re.sub(r"(?<=\w)[-_](?=\w)", " ", seen).split())


def _find_scarce(counts: pd.Series, rows: int) -> list[Finding]:
    if int((counts >= LEAST_PER_CLASS).sum()) < 2:
        message = f"too small: {plural(rows, 'row')}, and fewer than two classes have {LEAST_PER_CLASS} rows"
        return [Finding("tiny", "refused", rows, f"{message}; training, validation and test each need some")]
    few = [f"{shorten(str(name))} ({number})" for name, number in counts.items() if number < FEW_PER_CLASS]
    message = f"{plural(len(few), 'class')} with fewer than {FEW_PER_CLASS} rows: {', '.join(few[:8])}"
    small = f"only {plural(rows, 'row')}: scores will vary widely"
    return [
        *list_finding("small-class", "warning", len(few), message),
        *list_finding("small", "warning", rows if rows < SMALL else 0, small),
        *find_alike(counts.index),
    ]


def find_alike(labels: Collection[str]) -> list[Finding]:
    """Report distinct labels that look the same to a reader, such as ones that differ only in case or spacing."""
    alike = dict[str, list[str]]()
    for label in sorted(labels):
        alike.setdefault(_fold_label(label), []).append(label)
    number = len(labels) - len(alike)
    first, other, *_ = next((each for each in alike.values() if len(each) > 1), ("", ""))
    message = (
        f"{plural(number, 'label')} differing from another only in case, width, spacing, look-alike letters, a sign at "
        f'the end or a short form; if they are one, data.rename="{shorten(other)}={shorten(first)}" merges such labels'
    )
    unknown = sorted(_UNKNOWN.intersection(labels))
    left_out = ",".join(f"{each}=" for each in unknown)
    none = f'{", ".join(unknown)} read as a class; if that means no label, data.rename="{left_out}" leaves it out'
    return [
        *list_finding("case", "warning", number, message),
        *list_finding("unknown-label", "warning", len(unknown), none),
    ]
