"""Conversion of annotation exports to rows: Label Studio, Prodigy, doccano and the viewer of the Hugging Face hub."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from core.data.columns import LABEL_NAMES
from core.data.decoding import replace_surrogates
from core.data.findings import shorten
from core.exceptions import DataError
from core.formatting import plural

_LOOKED_AT = 1_000
_PRODIGY = ("_input_hash", "_task_hash", "_session_id", "_annotator_id", "_view_id", "_timestamp")
_PRODIGY_ASIDE = (*_PRODIGY, "answer", "options", "config", "style")
_ANNOTATIONS = ("annotations", "completions")
_VALUES = {"choices": "choices", "rating": "rating", "number": "number"}  # Label Studio's kinds of results → key

Row = dict[str, Any]
Note = Callable[..., None]


def unpack_export(rows: list[Row], note: Note, *, file: str = "") -> list[Row]:
    """Convert the export of an annotation tool to table rows and `note` findings; return other rows unchanged."""
    if not rows:
        return rows
    first = rows[0]
    given = (isinstance(row.get(key), list) for row in rows[:_LOOKED_AT] for key in _ANNOTATIONS)
    if isinstance(first.get("data"), dict) and any(given):
        rows = _read_label_studio(rows, note, file)
    elif "row" in first and "row_idx" in first:
        if cut := sum(bool(row.get("truncated_cells")) for row in rows):
            note("truncated-cells", cut, f"{plural(cut, 'row')} with cells that the viewer cut short", "warning")
        rows = [{"row": row.get("row")} for row in rows]
    elif "answer" in first and any(key in first for key in (*_PRODIGY, "accept")):
        rows = _read_prodigy(rows, note, file)
    _refuse_spans(rows, file)
    return rows


def _read_label_studio(tasks: list[Row], note: Note, file: str) -> list[Row]:
    rows, kinds, questions = list[Row](), Counter[str](), dict[str, None]()
    several = differing = unanswered = 0
    for task in tasks:
        given = next((each for key in _ANNOTATIONS if isinstance(each := task.get(key), list)), [])
        answers = [
            answer
            for each in given
            if isinstance(each, dict) and not each.get("was_cancelled") and not each.get("skipped")
            if (answer := _read_answer(each, kinds))
        ]
        unanswered += not answers
        several += len(answers) > 1
        differing += any(answer != answers[0] for answer in answers)
        data = task.get("data")
        chosen = answers[0] if answers else {}
        questions.update(dict.fromkeys(chosen))
        plain = data.items() if isinstance(data, dict) else ()
        rows.append({**{f"data.{key}" if key in chosen else key: value for key, value in plain}, **chosen})
    if not kinds:
        seen = f"a list of {plural(len(tasks), 'Label Studio task')} without an annotation, so there are no labels; "
        seen += "annotate some in Label Studio and export them again with their annotations"
        note("not-annotated", len(tasks), seen, "refused")
        return rows
    if not any(kind in _VALUES for kind in kinds):
        found = ", ".join(map(shorten, map(replace_surrogates, sorted(kinds))))
        number = plural(len(tasks), "Label Studio task")
        raise DataError(f"a list of {number} with annotations of the kind {found}, none of a text", file=file)
    rows = _flatten_single(rows, questions)
    note("label-studio", len(tasks), f"{plural(len(tasks), 'task')} of Label Studio, choices and ratings as labels")
    if unanswered:
        note("not-annotated", unanswered, f"{plural(unanswered, 'task')} without an annotation, which have no label")
    if several:
        message = f"{plural(several, 'task')} with more than one annotation, of which the first is read"
        note("several-annotations", several, f"{message}; {differing} of them differ", "warning")
    return rows


def _flatten_single(rows: list[Row], questions: Iterable[str]) -> list[Row]:
    """Replace one-element lists by their element in annotation columns where every row has exactly one choice."""
    for name in questions:
        if all(isinstance(row.get(name, [0]), list) and len(row.get(name, [0])) == 1 for row in rows):
            rows = [{**row, name: row[name][0]} if name in row else row for row in rows]
    return rows


def _read_answer(annotation: Mapping[str, Any], kinds: Counter[str]) -> Row:
    found: Row = {}
    results = annotation.get("result")
    for result in results if isinstance(results, list) else ():
        kind, value = (result.get("type"), result.get("value")) if isinstance(result, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(value, dict):
            continue
        kinds[kind] += 1
        if kind in _VALUES and _VALUES[kind] in value:
            name = result.get("from_name")
            question, given = name if isinstance(name, str) and name else "label", value[_VALUES[kind]]
            before = found.get(question)
            if isinstance(before, list) and isinstance(given, list):
                given = [*before, *(each for each in given if each not in before)]
            found[question] = given
    return found


def _read_prodigy(rows: list[Row], note: Note, file: str) -> list[Row]:
    answers = Counter(str(row.get("answer")) for row in rows)
    if not set(answers) <= {"accept", "reject", "ignore"}:
        return rows
    left = len(rows) - answers["accept"]
    others = ", ".join(f"{name} {number}" for name, number in sorted(answers.items()) if name != "accept")
    if left == len(rows):
        raise DataError(f"none of {plural(left, 'row')} was accepted in Prodigy ({others})", file=file)
    if left:
        message = f"{plural(left, 'row')} that were not accepted in Prodigy left out ({others})"
        note("not-accepted", left, message, "warning")
    kept = [row for row in rows if row.get("answer") == "accept"]
    plain = [{key: each for key, each in row.items() if key not in _PRODIGY_ASIDE} for row in kept]
    return _flatten_single(plain, ["accept"])


def _refuse_spans(rows: list[Row], file: str) -> None:
    """Refuse an annotation export whose labels mark spans of a text, such as `[0, 5, "PLACE"]`, not whole texts."""
    for key in dict.fromkeys(key for row in rows[:_LOOKED_AT] for key in row if key.casefold() in LABEL_NAMES):
        for number, row in enumerate(rows, 1):
            value = row.get(key)
            first = value[0] if isinstance(value, list) and value else None
            if isinstance(first, list) and first and not any(isinstance(each, (list, dict)) for each in first):
                problem = f"the cells hold spans such as {json.dumps(first, ensure_ascii=False)[:60]}"
                raise DataError(f"{problem}, and no labels of whole texts", file=file, row=number, field=key)
