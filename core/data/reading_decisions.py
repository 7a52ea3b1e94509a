"""What a reading of a file decided, as decisions and findings: encoding, table, columns."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.data.columns import Column, Layout, is_label_name, label_candidates, text_candidates
from core.data.decode import Decoded, find_garbled
from core.data.delimited import Parsed
from core.data.findings import Finding, ReadingDecision, name_files, offer_for_all, plural, shown
from core.data.table_head import TableHead
from core.numbers import count

if TYPE_CHECKING:
    import pandas as pd

MOST = 20
"""Columns that are offered instead of another."""


def describe_encoding(decoded: Decoded) -> tuple[list[ReadingDecision], list[Finding]]:
    """Return how a text file was decoded; a guess is a warning, and UTF-8 is none."""
    findings = []
    if decoded.others:
        first, _, second = decoded.encoding.partition("+")
        if second:
            message = (
                f"two encodings in one file: {plural(decoded.second, 'line')} not in {first} read as {second}, which "
                f"is a guess (it could be {decoded.others[1].partition('+')[2] or first})"
            )
            findings.append(Finding("two-encodings", "warning", decoded.second, message))
        else:
            message = f"the encoding is a guess: {decoded.encoding}; it could be {decoded.others[0]}"
            findings.append(Finding("encoding-guessed", "warning", 1, message))
    if decoded.damaged:
        message = f"{plural(decoded.damaged, 'character')} could not be read as {decoded.encoding} and became \ufffd"
        findings.append(Finding("damaged-characters", "warning", decoded.damaged, message))
    if decoded.nuls:
        message = f"{plural(decoded.nuls, 'NUL byte')} dropped"
        findings.append(Finding("nul-bytes", "warning", decoded.nuls, message))
    places, run, meant = find_garbled(decoded.text)
    if places:
        message = (
            f"the text was garbled before it came here, such as '{shown(run)}' for '{shown(meant)}' "
            f"({plural(places, 'place')}); save it again from its source as UTF-8"
        )
        findings.append(Finding("garbled", "warning", places, message))
    alternatives = decoded.others or tuple(each for each in ("cp1252", "latin-1") if _can_be(decoded, each))
    proof = decoded.proof or _first_beyond_ascii(decoded.text)
    guessed = bool(decoded.others)
    return [ReadingDecision("encoding", decoded.encoding, alternatives, "data.encoding", proof, guessed)], findings


def _can_be(decoded: Decoded, encoding: str) -> bool:
    """Return whether the bytes of a text in UTF-8 can be read in another encoding."""
    if decoded.text.isascii() or decoded.encoding not in ("utf-8", "utf-8-sig"):
        return False
    try:
        decoded.text.encode().decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def describe_encodings(files: Mapping[str, Decoded]) -> tuple[tuple[ReadingDecision, ...], tuple[str, ...]]:
    """Return how the files of a folder were decoded; files of ASCII count only where there are no others."""
    strange = {name: each for name, each in files.items() if not each.text.isascii()} or files
    groups: dict[str, dict[str, Decoded]] = {}
    for name, each in strange.items():
        groups.setdefault(each.encoding, {})[name] = each
    decisions, notes = list[ReadingDecision](), list[str]()
    for group in groups.values():
        sums = {name: sum(getattr(each, name) for each in group.values()) for name in ("damaged", "second", "nuls")}
        sample = "\n".join(each.text for each in group.values())
        decided, found = describe_encoding(dataclasses.replace(next(iter(group.values())), text=sample, **sums))
        of = name_files([*group], len(strange))
        decisions += [dataclasses.replace(each, file=of) for each in decided]
        notes += [f"{of}: {each.message}" if of else each.message for each in found]
    return offer_for_all(decisions), tuple(notes)


def describe_table(parsed: Parsed) -> tuple[list[ReadingDecision], list[Finding]]:
    """Return how a delimited text was divided into rows and columns."""
    proof = shown(" | ".join(parsed.rows[0]), 100) if parsed.rows else ""
    decisions = [
        ReadingDecision(
            "delimiter", spell(parsed.delimiter), tuple(map(spell, parsed.other_delimiters)), "data.delimiter", proof
        )
    ]
    if parsed.quoted or parsed.other_quotings:
        others = parsed.other_quotings or ("none",)
        chosen = parsed.quoting.kind
        decisions.append(
            ReadingDecision("quoting", chosen, others, "data.quoting", proof, chosen not in ("double", "none"))
        )
    return [*decisions, describe_head(parsed.head)], _table_findings(parsed)


def describe_head(head: TableHead) -> ReadingDecision:
    """Return whether a row names the columns."""
    proof = " | ".join(head.cells or head.columns)
    return ReadingDecision(
        "header", "yes" if head.named else "no", ("no" if head.named else "yes",), "data.header", shown(proof, 100)
    )


def find_left_out(head: TableHead, repeated: int) -> list[Finding]:
    """Return which rows around the header were left out, and how many below that repeat it."""
    found = []
    if head.titles:
        message = f"{plural(head.titles, 'row')} above the {'header' if head.named else 'table'} left out"
        found.append(Finding("title-rows", "warning", head.titles, message))
    if head.further:
        message = f"{plural(head.further, 'further header row')} left out"
        found.append(Finding("header-rows", "warning", head.further, message))
    if repeated:
        again = "repeats" if repeated == 1 else "repeat"
        message = f"{plural(repeated, 'row')} that {again} the header left out"
        found.append(Finding("repeated-header", "warning", repeated, message))
    return found


def describe_sheet(sheet: str, sheets: Sequence[str], frame: pd.DataFrame) -> list[ReadingDecision]:
    """Return which table of a file with several was read; empty: it has one."""
    others = tuple(each for each in sheets if each != sheet)
    if not others:
        return []
    proof = " | ".join(map(str, [*frame.columns, *frame.head(1).to_numpy().ravel()]))
    return [ReadingDecision("sheet", sheet, others[:MOST], "data.sheet", shown(proof, 100))]


def describe_columns(
    frame: pd.DataFrame, columns: Sequence[Column], layout: Layout, label: str
) -> tuple[list[ReadingDecision], list[Finding]]:
    """Return which columns were taken, with others that would do; `label`: as a person named the labels."""
    if layout.form == "tags":
        return [], []
    taken = layout.taken
    texts = [each for each in text_candidates(columns) if each.name not in taken and each.distinct > len(frame) // 2]
    labels = [each for each in label_candidates(columns, len(frame)) if each.name not in taken]
    labels.sort(key=lambda each: (not is_label_name(each.name), each.flag))
    others = tuple(each.name for each in labels[:MOST])
    guessed = not label and layout.form != "columns" and bool(others) and not is_label_name(layout.label)
    first = frame[layout.labels[0]].dropna()
    decisions = [
        ReadingDecision(
            "text", layout.text, tuple(each.name for each in texts[:MOST]), "data.text", _cell(frame[layout.text])
        ),
        ReadingDecision("label", layout.label, others, "data.label", _values(first), guessed),
    ]
    if layout.form in ("list", "separated") or layout.listed:
        chosen = layout.mark or ("one label in each list" if layout.listed else "lists")
        alternative = ";" if layout.listed else "none"
        decisions.append(ReadingDecision("labels", chosen, (alternative,), "data.separator", _values(first)))
    if not guessed:
        return decisions, []
    message = (
        f"the label column is a guess: '{shown(layout.label)}'; it could be "
        f"{', '.join(repr(shown(name)) for name in others[:5])}; data.label chooses"
    )
    return decisions, [Finding("label-guessed", "warning", len(others), message)]


def describe_rows(findings: Sequence[Finding], kept: int, rows: int) -> list[ReadingDecision]:
    """Return which labels became one, and how many rows stayed with the reasons why the others did not."""
    decisions = [
        ReadingDecision("labels", "merged", proof=each.message) for each in findings if each.kind == "labels-merged"
    ]
    if kept < rows:
        reasons = "; ".join(each.message for each in findings if each.message.endswith("left out"))
        decisions.append(ReadingDecision("rows", f"{count(kept)} of {count(rows)} rows", proof=reasons))
    return decisions


def _cell(values: pd.Series) -> str:
    present = values.dropna()
    return shown(str(present.iloc[0]), 100) if len(present) else ""


def _values(values: pd.Series) -> str:
    counts = values.map(str).value_counts()
    return shown(", ".join(f"{name} ({rows})" for name, rows in counts.head(6).items()), 100)


def spell(delimiter: str) -> str:
    """Write a delimiter as `data.delimiter` does."""
    return {"\t": "tab", " ": "blank", "": "none"}.get(delimiter, delimiter)


def _table_findings(parsed: Parsed) -> list[Finding]:
    head, found = parsed.head, []
    if parsed.ragged:
        rows = ", ".join(map(str, parsed.ragged[:3]))
        message = f"{plural(len(parsed.ragged), 'row')} with too many or too few fields left out (first: row {rows})"
        found.append(Finding("ragged-rows", "warning", len(parsed.ragged), message))
    if parsed.joined:
        message = (
            f"a quote is out of place, and {plural(len(parsed.joined), 'row')} may hold the next one too (first: row "
            f"{count(parsed.joined[0])}); double the quotes inside of texts, or name the quoting with data.quoting"
        )
        found.append(Finding("joined-rows", "warning", len(parsed.joined), message))
    if parsed.separator_line:
        found.append(Finding("separator-line", "note", 1, "the first line names the delimiter and is no row"))
    found += find_left_out(head, parsed.repeated)
    if parsed.quoting.kind not in ("double", "none"):
        how = {"backslash": "quotes in quotes are escaped with a backslash", "single": "fields are in single quotes"}
        message = f"{how.get(parsed.quoting.kind, 'fields are in curly quotes')}; data.quoting chooses another quoting"
        found.append(Finding("quoting", "note", len(parsed.rows), message))
    return found


def _first_beyond_ascii(text: str) -> str:
    """Show the line with the first character that is not ASCII, from shortly before it; without one the first line."""
    found = re.search("[^\x00-\x7f]", text)
    at = found.start() if found else 0
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at), at - 40) + 1
    return next(iter(text[start : start + 100].strip().splitlines()), "")
