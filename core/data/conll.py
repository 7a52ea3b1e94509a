"""Sentences in the format of the CoNLL shared tasks: a word and, last, its IOB2 tag per line; blank lines between."""

import re
from collections.abc import Sequence
from pathlib import PurePath

import pandas as pd

from core.data import limits
from core.data.findings import Finding, list_finding, shorten
from core.exceptions import DataError
from core.formatting import plural

KIND = "conll"  # The name of the format, also as a value of `data.delimiter`
SUFFIXES = (".conll", ".iob", ".iob2", ".bio", ".bioes")
OUTSIDE = "O"
_TAG = re.compile(r"O|[BIESLU]-\S+")
_ANYWHERE = re.compile(r"[ \t]+")
_INSIDE = "IEL"
_LOOKED_AT = 200  # Lines that decide whether a file is CoNLL


def is_conll(text: str, file: str) -> bool:
    """Return whether a text file is CoNLL (words with tags), judged by its name or by tags that end its first lines."""
    if PurePath(file).suffix.casefold() in SUFFIXES:
        return True
    lines = re.split(r"\r\n|\n|\r", text.strip())[:_LOOKED_AT]
    words = [_ANYWHERE.split(line.strip()) for line in lines if line.strip() and not _is_wordless(line)]
    tagged = [parts for parts in words if len(parts) > 1 and _TAG.fullmatch(parts[-1])]
    return len(words) > 1 and len(tagged) == len(words) and any(not line.strip() for line in lines)


def read_conll(text: str, file: str) -> tuple[pd.DataFrame, list[Finding]]:
    """Read a CoNLL file as a table of sentences with an IOB2 tag (B-, I-, O) per word; also return findings."""
    sentences, aside = _parse_sentences(text, file)
    if not sentences:
        how = "write a word and its tag per line, and a blank line between sentences"
        raise DataError(f"has no word with a tag: {how}", file=file)
    rows, begun, other = [], 0, 0
    for sentence in sentences:
        tags, repaired = to_iob2([tag for _, tag in sentence])
        begun += repaired
        other += sum(tag[0] in "ESLU" for _, tag in sentence)
        rows.append((" ".join(word for word, _ in sentence), tags))
    words = sum(len(tags) for _, tags in rows)
    tagged = f"{plural(words, 'word')} with a tag each, in {plural(len(rows), 'sentence')}"
    found = [Finding("tags", "note", words, tagged)]
    message = f"{plural(begun, 'span')} that began with I- (IOB1, or a slip) read as IOB2: now with B-"
    found += list_finding("bioes", "note", other, f"{plural(other, 'tag')} of BIOES or BILOU read as IOB2")
    found += list_finding("iob1", "note", begun, message)
    found += list_finding("aside", "note", aside, f"{plural(aside, 'comment or document line')} left out")
    if not any(OUTSIDE in tags for _, tags in rows):
        raise DataError("every word is inside a span; words outside have the tag O", file=file)
    return pd.DataFrame({"text": [text for text, _ in rows], "label": [tags for _, tags in rows]}, dtype=object), found


def to_iob2(tags: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """Convert the tags of a sentence to IOB2; also return how many spans began with I- instead of B-."""
    found, before, repaired = list[str](), "", 0
    for tag in tags:
        kind = tag[2:]
        continues = tag[0] in _INSIDE and kind == before
        repaired += tag[0] == "I" and not continues
        found.append(OUTSIDE if tag == OUTSIDE else f"{'I' if continues else 'B'}-{kind}")
        # E, S, L and U end a span, so an I- tag after them begins a new one.
        before = "" if tag[0] in "ESLU" else kind
    return tuple(found), repaired


def _parse_sentences(text: str, file: str) -> tuple[list[list[tuple[str, str]]], int]:
    """Return the words of each sentence of a CoNLL file with their tags, and the number of lines left out."""
    sentences, aside, columns = list[list[tuple[str, str]]]([[]]), 0, 0
    for row, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        if not line.strip():
            sentences.append([])
            continue
        if _is_wordless(line) and (_is_doc_start(line) or not sentences[-1]):
            aside += 1
            sentences += [[]] if _is_doc_start(line) else []
            continue
        parts = line.strip("\r\n").split("\t") if "\t" in line else _ANYWHERE.split(line.strip())
        parts = [part.strip() for part in parts]
        columns = columns or len(parts)
        sentences[-1].append(_parse_word(parts, columns, row, file))
        limits.check_shape(row, 1, file=file)
    return [sentence for sentence in sentences if sentence], aside


def _parse_word(parts: list[str], columns: int, row: int, file: str) -> tuple[str, str]:
    word, tag = parts[0], parts[-1]
    if len(parts) < 2:
        raise DataError(
            f"'{shorten(word)}' has no tag: write the word, a tab or blank, and its tag", file=file, row=row
        )
    if len(parts) != columns:
        raise DataError(f"{len(parts)} columns, and the first word has {columns}", file=file, row=row)
    if not _TAG.fullmatch(tag):
        raise DataError(f"'{shorten(tag)}' is no tag: O, B-TYPE or I-TYPE (BIOES and BILOU too)", file=file, row=row)
    if not word or _ANYWHERE.search(word):
        raise DataError(f"'{shorten(word)}' is not a single word; split it into lines", file=file, row=row)
    return word, tag


def _is_doc_start(line: str) -> bool:
    return line.lstrip().startswith("-DOCSTART-")


def _is_wordless(line: str) -> bool:
    """Return whether a line of a CoNLL file has no word: a document mark, or an untagged comment before a sentence."""
    if _is_doc_start(line):
        return True
    parts = _ANYWHERE.split(line.strip())
    return line.startswith("#") and (len(parts) == 1 or not _TAG.fullmatch(parts[-1]))
