"""Decisions and findings about how a data file was read: encoding, table format and columns."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.data import columns as profiles
from core.data.decoding import DecodedText, find_garbled
from core.data.delimited_text import ParsedTable
from core.data.findings import Finding, ReadingDecision, list_finding, name_files, offer_for_all, shorten
from core.data.labels import find_form
from core.exceptions import DataError, try_call
from core.formatting import count, plural

if TYPE_CHECKING:
    import pandas as pd

MOST = 20  # Alternatives to a column or sheet, at most


def describe_encoding(decoded: DecodedText) -> tuple[list[ReadingDecision], list[Finding]]:
    """Return the decisions and findings on how a text file was decoded; a guessed encoding is a warning."""
    findings = []
    if guessed := bool(decoded.others) and not decoded.named:
        first, _, second = decoded.encoding.partition("+")
        if second:
            message = f"two encodings in one file: {plural(decoded.second, 'line')} not in {first} read as {second}, "
            message += f"which is a guess (it could be {decoded.others[1].partition('+')[2] or first})"
            findings.append(Finding("two-encodings", "warning", decoded.second, message))
        else:
            message = f"the encoding is a guess: {decoded.encoding}; it could be {decoded.others[0]}"
            findings.append(Finding("encoding-guessed", "warning", 1, message))
    lost = f"{plural(decoded.damaged, 'character')} could not be read as {decoded.encoding} and became \ufffd"
    findings += list_finding("damaged-characters", "warning", decoded.damaged, lost)
    findings += list_finding("nul-bytes", "warning", decoded.nuls, f"{plural(decoded.nuls, 'NUL byte')} dropped")
    if garbled := find_garbled(decoded.text):
        message = (
            f"the text was garbled before it came here, probably {garbled.encoding} that was read as "
            f"{garbled.read_as}, such as '{shorten(garbled.run)}' for '{shorten(garbled.meant)}' "
            f"({plural(garbled.places, 'place')}); save it again from its source as UTF-8"
        )
        findings.append(Finding("garbled", "warning", garbled.places, message))
    could = decoded.encoding in ("utf-8", "utf-8-sig") and not decoded.text.isascii()
    western, data = ("cp1252", "latin-1") if could else (), decoded.text.encode() if could else b""
    valid = (each for each in western if try_call(UnicodeDecodeError, "", data.decode, each))
    alternatives = decoded.others or tuple(valid)
    proof = decoded.proof or _find_non_ascii(decoded.text)
    return [ReadingDecision("encoding", decoded.encoding, alternatives, "data.encoding", proof, guessed)], findings


def describe_encodings(files: Mapping[str, DecodedText]) -> tuple[tuple[ReadingDecision, ...], tuple[str, ...]]:
    """Return decisions and notes on how a folder's files were decoded; ASCII files count only if all are ASCII."""
    strange = {name: each for name, each in files.items() if not each.text.isascii()} or files
    groups: dict[str, dict[str, DecodedText]] = {}
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


def describe_table(parsed: ParsedTable, quoting: str = "") -> tuple[list[ReadingDecision], list[Finding]]:
    """Return the decisions and findings on how a delimited text was parsed; `quoting` is the user's setting."""
    proof = shorten(" | ".join(parsed.rows[0]), 100) if parsed.rows else ""
    chosen, others = format_delimiter(parsed.delimiter), tuple(map(format_delimiter, parsed.other_delimiters))
    decisions = [ReadingDecision("delimiter", chosen, others, "data.delimiter", proof)]
    if parsed.quoted or parsed.other_quotings:
        others = parsed.other_quotings or ("none",)
        chosen = parsed.quoting.kind
        guessed = not quoting and chosen not in ("double", "none")
        decisions.append(ReadingDecision("quoting", chosen, others, "data.quoting", proof, guessed))
    return [*decisions, describe_head(parsed.head)], _report_table(parsed)


def describe_head(head: profiles.TableHead) -> ReadingDecision:
    """Return the reading decision on whether a row of a table names its columns."""
    chosen, other = ("yes", "no") if head.named else ("no", "yes")
    proof = shorten(" | ".join(head.cells or head.columns), 100)
    return ReadingDecision("header", chosen, (other,), "data.header", proof)


def find_left_out(head: profiles.TableHead, repeated: int) -> list[Finding]:
    """Report rows around a table's header that were left out, and rows below that repeat the header."""
    titles = f"{plural(head.titles, 'row')} above the {'header' if head.named else 'table'} left out"
    again = f"{plural(repeated, 'row')} that {'repeats' if repeated == 1 else 'repeat'} the header left out"
    return [
        *list_finding("title-rows", "warning", head.titles, titles),
        *list_finding("header-rows", "warning", head.further, f"{plural(head.further, 'further header row')} left out"),
        *list_finding("repeated-header", "warning", repeated, again),
    ]


def describe_sheet(sheet: str, sheets: Sequence[str], frame: pd.DataFrame) -> list[ReadingDecision]:
    """Return the decision on which table was read from a file with several (sheet, key …); empty if it has one."""
    if not (others := tuple(each for each in sheets if each != sheet)):
        return []
    proof = " | ".join(map(str, [*frame.columns, *frame.head(1).to_numpy().ravel()]))
    return [ReadingDecision("sheet", sheet, others[:MOST], "data.sheet", shorten(proof, 100))]


def describe_columns(
    frame: pd.DataFrame, columns: Sequence[profiles.ColumnProfile], layout: profiles.Layout, asked: Mapping[str, object]
) -> tuple[list[ReadingDecision], list[Finding]]:
    """Return the decisions on which columns hold texts and labels; `asked` are the user's settings."""
    if layout.form == "tags":
        return [], []
    found: profiles.Layout | None = layout
    if any(map(asked.get, ("text", "label", "pair", "separator"))):
        try:  # the layout without the user's settings
            found = find_form(frame, profiles.choose_columns(frame, columns))
        except DataError:
            found = None
    rows, sizes = len(frame), {each.name: each.mean_length for each in columns}
    texts = [
        each
        for each in profiles.rank_text_columns(columns)
        if each.name not in layout.taken and each.distinct > rows // 2
    ]
    labels = [each for each in profiles.rank_label_columns(columns, rows) if each.name not in layout.taken]
    labels.sort(key=lambda each: (not profiles.is_label_name(each.name), each.flag))
    alike = [each.name for each in texts if not each.unbroken and 3 * each.mean_length > sizes[layout.text]]
    for_text = _put_first(found.text if found else "", texts, layout.text)
    for_label = _put_first(found.label if found else "", labels, layout.label)
    proof = shorten("".join(map(str, frame[layout.text].dropna().head(1))), 100)
    counts = frame[layout.labels[0]].dropna().map(str).value_counts()
    values = shorten(", ".join(f"{name} ({number})" for name, number in counts.head(6).items()), 100)
    text_known = bool(asked.get("text")) or layout.text.strip().casefold() in profiles.KNOWN_NAMES
    label_known = bool(asked.get("label")) or layout.form == "columns" or profiles.is_label_name(layout.label)
    unsure = {"text": [] if text_known else alike, "label": () if label_known else for_label}
    decisions = [
        ReadingDecision("text", layout.text, for_text, "data.text", proof, bool(unsure["text"])),
        ReadingDecision("label", layout.label, for_label, "data.label", values, bool(unsure["label"])),
        *_describe_form(layout, found, values),
    ]
    findings = []
    for role, others in unsure.items():
        if others:
            names = ", ".join(repr(shorten(name)) for name in others[:5])
            chosen = shorten(layout.text if role == "text" else layout.label)
            message = f"the {role} column is a guess: '{chosen}'; it could be {names}; data.{role} chooses"
            findings.append(Finding(f"{role}-guessed", "warning", len(others), message))
    return decisions, findings


def _put_first(found: str, others: Sequence[profiles.ColumnProfile], chosen: str) -> tuple[str, ...]:
    """Return the names of columns to choose instead; the one found without the user's setting comes first."""
    names = dict.fromkeys((*filter(None, [found]), *(each.name for each in others)))
    return tuple(name for name in names if name != chosen)[:MOST]


def _describe_form(layout: profiles.Layout, found: profiles.Layout | None, proof: str) -> list[ReadingDecision]:
    """Return the decision on how several labels in a cell are written, even if the user chose one label per cell."""
    before = [found.mark or ";"] if found and found.form in ("list", "separated") else []
    if layout.form in ("list", "separated"):
        others = tuple(each for each in dict.fromkeys(["none", *before]) if each != (layout.mark or ";"))
        return [ReadingDecision("labels", layout.mark or "lists", others, "data.separator", proof)]
    if layout.listed:
        return [ReadingDecision("labels", "one label in each list", (";",), "data.separator", proof)]
    return [ReadingDecision("labels", "none", tuple(before), "data.separator", proof)] if before else []


def describe_rows(findings: Sequence[Finding], kept: int, rows: int) -> list[ReadingDecision]:
    """Return decisions on which labels were merged, how many rows were kept, and why the others were left out."""
    merged = [each.message for each in findings if each.kind == "labels-merged"]
    decisions = [ReadingDecision("labels", "merged", proof=message) for message in merged]
    if kept < rows:
        reasons = "; ".join(each.message for each in findings if each.message.endswith("left out"))
        decisions.append(ReadingDecision("rows", f"{count(kept)} of {count(rows)} rows", proof=reasons))
    return decisions


def format_delimiter(delimiter: str) -> str:
    """Format a delimiter as in the setting `data.delimiter`, such as `tab` or `blank`."""
    return {"\t": "tab", " ": "blank", "": "none"}.get(delimiter, delimiter)


def _report_table(parsed: ParsedTable) -> list[Finding]:
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
    line = "the first line names the delimiter and is no row"
    found += list_finding("separator-line", "note", int(parsed.separator_line), line)
    found += find_left_out(head, parsed.repeated)
    if parsed.quoting.kind not in ("double", "none"):
        how = {"backslash": "quotes in quotes are escaped with a backslash", "single": "fields are in single quotes"}
        message = f"{how.get(parsed.quoting.kind, 'fields are in curly quotes')}; data.quoting chooses another quoting"
        found.append(Finding("quoting", "note", len(parsed.rows), message))
    return found


def _find_non_ascii(text: str) -> str:
    """Return an excerpt of a text's first line with a non-ASCII character; if there is none, of its first line."""
    found = re.search("[^\x00-\x7f]", text)
    at = found.start() if found else 0
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at), at - 40) + 1
    return next(iter(text[start : start + 100].strip().splitlines()), "")
