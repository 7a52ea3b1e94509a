"""Lines that carry their label in them: `__label__good a text`, as fastText reads them, and `a text@good`."""

from __future__ import annotations

import re
from collections import Counter

import pandas as pd

from core.data import limits
from core.data.findings import Finding, RawTable, plural

_PREFIX = "__label__"
_PREFIXED = re.compile(r"\s*((?:__label__[^\s,]+(?:\s+|$))+)(.*)", re.DOTALL)
_AT_END = re.compile(r"(.*\S)\s*@\s*([^\W\d][\w-]{0,39})\s*", re.DOTALL)
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_LOOKED_AT = 500
_LEAST = 0.95
"""Least share of lines of a form for a file to be taken for one."""
_MOST_AT = 20
"""Most labels behind an at sign: beyond, they are rather names of people."""


def read_label_lines(text: str, file: str) -> RawTable | None:
    """Read lines that carry their label, or lists of labels where a line has several; None: they do not."""
    if _PREFIX not in text[:10_000] and "@" not in text[:10_000]:
        return None
    first = [line for line in _LINE_ENDS.split(text[:400_000]) if line.strip()][:_LOOKED_AT]
    if sum(line.lstrip().startswith(_PREFIX) for line in first) >= _LEAST * len(first):
        if sum(_PREFIXED.fullmatch(line) is not None for line in first) < _LEAST * len(first):
            return None
        form, pattern = f"{_PREFIX}NAME in front of the text", _PREFIXED
    elif _ends_with_label(first):
        form, pattern = "@NAME behind the text", _AT_END
    else:
        return None
    rows, without = list[tuple[str, object]](), 0
    for number, line in enumerate(filter(str.strip, _LINE_ENDS.split(text)), 1):
        limits.check_shape(number, 2, file=file)
        if len(line) > limits.current().characters:
            raise limits.refusal("a line is longer", "characters", file=file, row=number)
        found = pattern.fullmatch(line)
        if found is None:
            without += 1
            rows.append((line.strip(), None))
        elif pattern is _PREFIXED:
            labels = [label.removeprefix(_PREFIX) for label in found[1].split()]
            rows.append((found[2].strip(), labels))
        else:
            rows.append((found[1], found[2]))
    several = any(isinstance(labels, list) and len(labels) > 1 for _, labels in rows)
    cells = [(words, labels[0] if isinstance(labels, list) and not several else labels) for words, labels in rows]
    findings = [Finding("label-lines", "note", len(rows) - without, f"the label of each line is read as {form}")]
    if without:
        message = f"{plural(without, 'line')} without a label in that form"
        findings.append(Finding("lines-without-label", "warning", without, message))
    frame = pd.DataFrame(cells, columns=["text", "label"], dtype=object)
    return RawTable(frame, "text", header=False, findings=tuple(findings))


def _ends_with_label(lines: list[str]) -> bool:
    found = [match[2] for line in lines if (match := _AT_END.fullmatch(line))]
    counts = Counter(found)
    return (
        len(found) >= 4
        and len(found) >= _LEAST * len(lines)
        and 2 <= len(counts) <= min(_MOST_AT, len(found) // 3)
        and min(counts.values()) > 1
    )
