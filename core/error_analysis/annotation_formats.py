"""Annotations as files: CSV, Parquet, and JSON of Label Studio with data, predictions and annotations for each task."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pandas as pd

from core.data import sandbox
from core.error_analysis.annotation_store import SEPARATOR
from core.exceptions import DataError, InputError
from core.formatting import format_csv
from core.paths import resolve_path

CODED = ("author", "codes", "note", "time")
"""Columns of an annotation, beside those of its sentence."""
MOST_BYTES = 200 * 1024**2


def describe_interface(classes: Iterable[str], codes: Iterable[str]) -> str:
    """Return the labelling interface (XML) of a Label Studio project that shows an exported file."""
    labels, choices = ("".join(f"<Choice value={quoteattr(name)}/>" for name in names) for names in (classes, codes))
    return (
        f'<View><Text name="text" value="$text"/><Choices name="label" toName="text">{labels}</Choices>'
        f'<Choices name="codes" toName="text" choice="multiple">{choices}</Choices>'
        '<TextArea name="note" toName="text"/><TextArea name="author" toName="text"/></View>'
    )


def encode_annotations(frame: pd.DataFrame, name: str, run: str) -> bytes:
    """Encode annotated sentences in the format that the file name's ending says; InputError: no such format."""
    suffix = Path(name).suffix.lower()
    if suffix not in ENCODERS:
        raise InputError(f"{name}: a name that ends in {', '.join(ENCODERS)} says the format")
    return ENCODERS[suffix](frame, run)


def _encode_tasks(frame: pd.DataFrame, run: str) -> bytes:
    """Encode sentences as tasks of Label Studio: one for each sentence, with an annotation of each author."""
    tasks = []
    for key, rows in frame.groupby("key", sort=False):
        own = rows.drop(columns=list(CODED)).iloc[0]
        data = {
            name: None if pd.api.types.is_scalar(value) and pd.isna(value) else value for name, value in own.items()
        }
        guess: dict[str, Any] = {"model_version": run, "result": [_make_result("label", [str(data["predicted"])])]}
        if isinstance(data.get("p_predicted"), float):
            guess["score"] = data["p_predicted"]
        said = [_make_annotation(row) for row in rows[list(CODED)].to_dict("records") if row["time"]]
        tasks.append({"data": {**data, "key": key}, "predictions": [guess], "annotations": said})
    found = json.dumps(tasks, ensure_ascii=False, indent=1, default=lambda each: getattr(each, "item", each.__str__)())
    return found.encode()


def _make_result(name: str, choices: Sequence[str], kind: str = "choices") -> dict[str, Any]:
    value = {"choices" if kind == "choices" else "text": list(choices)}
    return {"from_name": name, "to_name": "text", "type": kind, "value": value}


def _make_annotation(row: Mapping[Any, str]) -> dict[str, Any]:
    codes = [code.strip() for code in row["codes"].split(SEPARATOR) if code.strip()]
    texts = {name: row[name] for name in ("note", "author") if row[name]}
    said = [_make_result("codes", codes)] if codes else []
    return {
        "result": [*said, *(_make_result(name, [text], "textarea") for name, text in texts.items())],
        "updated_at": row["time"],
    }


ENCODERS = {
    ".csv": lambda frame, run: format_csv(frame).encode(),
    ".parquet": lambda frame, run: frame.to_parquet(index=False),
    ".json": _encode_tasks,
}
"""Ending of a file's name → the function that encodes annotated sentences."""


def read_annotations(file: Path) -> list[dict[str, str]]:
    """Read the rows of a Parquet or Label Studio file as column → text; DataError names a wrong row and its field."""
    if file.suffix.lower() == ".parquet":
        frame = sandbox.read_cells(file).fillna("")
        return [{str(name): str(cell) for name, cell in row.items()} for row in frame.to_dict("records")]
    try:
        tasks = json.loads(resolve_path(str(file), limit=MOST_BYTES).read_text("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"no JSON: {str(error)[:100]}", file=file.name) from None
    if not isinstance(tasks, list):
        raise DataError("it has to be a list of tasks, as Label Studio exports it (JSON)", file=file.name)
    return [row for number, task in enumerate(tasks, 1) for row in _read_task(task, number, file.name)]


def _read_task(task: Any, number: int, file: str) -> Iterator[dict[str, str]]:
    data = task.get("data") if isinstance(task, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("key"), str):
        said = "the task has no text under data.key; export annotations from here first and import that file there"
        raise DataError(said, file=file, row=number, field="data.key")
    given = task.get("annotations", [])
    if not isinstance(given, list):
        raise DataError("it has to be a list", file=file, row=number, field="annotations")
    for each in given:
        if not isinstance(each, dict) or not isinstance(each.get("result"), list):
            raise DataError("an annotation needs a list under result", file=file, row=number, field="annotations")
        if each.get("was_cancelled"):
            continue
        texts: dict[str, list[str]] = {}
        for result in each["result"]:
            value = result.get("value") if isinstance(result, dict) else None
            found = value.get("choices", value.get("text", [])) if isinstance(value, dict) else []
            found = [found] if isinstance(found, str) else found
            if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
                raise DataError("choices and texts have to be texts", file=file, row=number, field="annotations")
            texts.setdefault(str(result.get("from_name")), []).extend(found)
        who = each.get("completed_by")
        known = who.get("email", "") if isinstance(who, dict) else ""
        yield {
            "key": data["key"],
            "author": " ".join(texts.get("author", [])) or str(known),
            "codes": f"{SEPARATOR} ".join(texts.get("codes", [])),
            "note": "\n".join(texts.get("note", [])),
            "time": str(each.get("updated_at") or ""),
        }
