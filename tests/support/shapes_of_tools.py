"""Labelled texts in the formats of common tools, with the expected result of each."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

THINGS = ("the kettle", "our tram", "that novel", "her scarf", "this bakery")
GOOD, BAD = "was a delight", "was a letdown"
ROWS = 40


def texts(count: int = ROWS) -> list[str]:
    return [f"{THINGS[n % 5]} of day {n} {GOOD if n % 2 else BAD}" for n in range(count)]


def labels(count: int = ROWS) -> list[str]:
    return ["good" if n % 2 else "bad" for n in range(count)]


PAIRS = list(zip(texts(), labels(), strict=True))
HALF = ROWS // 2


def objects() -> list[dict[str, Any]]:
    return [{"text": text, "label": label} for text, label in PAIRS]


@dataclass(frozen=True)
class Shape:
    """A file and its expected result: columns and classes, or the error message."""

    name: str  # extension of the file; of a folder, none
    write: Callable[[Path], None]
    text: str = "text"
    label: str = "label"
    task: str = "single"
    classes: dict[str, int] = field(default_factory=lambda: {"bad": HALF, "good": HALF})
    found: dict[str, int] = field(default_factory=dict)
    """Kind of a finding → its number, without those that every small file has."""
    refused: str = ""


def as_json(value: Any) -> Callable[[Path], None]:
    return lambda path: _text(path, json.dumps(value))


def as_lines(rows: list[Any]) -> Callable[[Path], None]:
    return lambda path: _text(path, "\n".join(map(json.dumps, rows)))


def as_text(text: str) -> Callable[[Path], None]:
    return lambda path: _text(path, text)


def as_written(form: str, *above: str) -> Callable[[Path], None]:
    return as_text("\n".join([*above, *(form.format(*pair) for pair in PAIRS)]))


def as_parquet(labels: list[Any]) -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table({"text": texts(), "label": labels}), path)


def csv() -> str:
    return "\n".join(["text,label", *map(",".join, PAIRS)]) + "\n"


def workbook(change: Callable[[openpyxl.Workbook], None]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Reviews"
        for row in (("text", "label"), *PAIRS):
            sheet.append(row)
        change(book)
        book.save(path)

    return write


def zip_of(members: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def class_folders_zipped(*above: str) -> bytes:
    members = {f"{top}{label}/{n}.txt": text for top in above for n, (text, label) in enumerate(PAIRS)}
    return zip_of({**members, f"__MACOSX/{above[0]}bad/._0.txt": "x", f"{above[0].split('/')[0]}/README": "about"})


def texts_by_class() -> dict[str, list[str]]:
    return {name: [text for text, label in PAIRS if label == name] for name in ("good", "bad")}


def tasks(*annotations: Any) -> list[dict[str, Any]]:
    if annotations:
        return [{"id": 1, "data": {"text": "a tram"}, "annotations": list(annotations)}]
    return [{"id": n, "data": {"text": t}, "annotations": [choice(label)]} for n, (t, label) in enumerate(PAIRS)]


def choice(*chosen: str, name: str = "sentiment", **more: Any) -> dict[str, Any]:
    return {"result": [{"type": "choices", "from_name": name, "value": {"choices": list(chosen)}}], **more}


def _text(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


def _zip(members: dict[str, str | bytes]) -> Callable[[Path], None]:
    return _bytes(zip_of(members))


def _read_me_first(book: openpyxl.Workbook) -> None:
    sheet = book.create_sheet("About", 0)
    sheet.append(["Reviews of the year"])
    sheet.append(["Ask the office"])


def _hidden_first(book: openpyxl.Workbook) -> None:
    sheet = book.create_sheet("Draft", 0)
    for row in (("text", "label"), *[(text, "unsure") for text in texts()]):
        sheet.append(row)
    sheet.sheet_state = "hidden"


def _title_above(book: openpyxl.Workbook) -> None:
    sheet = book["Reviews"]
    sheet.insert_rows(1, 2)
    sheet["A1"] = "Reviews of the year"
    sheet.merge_cells("A1:B1")


def _formulas(book: openpyxl.Workbook) -> None:
    for row in range(2, ROWS + 2):
        book["Reviews"][f"B{row}"] = f'=IF(LEN(A{row})>30,"good","bad")'


def _formulas_beside(book: openpyxl.Workbook) -> None:
    sheet = book["Reviews"]
    sheet["C1"] = "length"
    for row in range(2, ROWS + 2):
        sheet[f"C{row}"] = f"=LEN(A{row})"


def _merged(book: openpyxl.Workbook) -> None:
    sheet = book["Reviews"]
    for row in range(2, ROWS + 2):
        sheet[f"B{row}"] = "good" if row < HALF + 2 else "bad"
    sheet.merge_cells(f"B2:B{HALF + 1}")
    sheet.merge_cells(f"B{HALF + 2}:B{ROWS + 1}")


def _errors(book: openpyxl.Workbook) -> None:
    for row in (2, 4, 6):
        book["Reviews"][f"B{row}"] = "#N/A"


def _class_folders(path: Path, *above: str) -> None:
    for n, (text, label) in enumerate(PAIRS):
        folder = path.joinpath(*above, label)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{n}.txt").write_text(text)


def _movie_folders(path: Path) -> None:
    _class_folders(path, "train")
    _class_folders(path, "test")
    (path / "train" / "unsup").mkdir()
    (path / "train" / "unsup" / "1.txt").write_text("a tram without a label")
    (path / "README").write_text("about")


def _competition(path: Path) -> None:
    path.mkdir()
    (path / "train.csv").write_text(csv())
    (path / "test.csv").write_text("\n".join(["id,text", *(f"{n},{text}" for n, text in enumerate(texts(10)))]))
    (path / "sample_submission.csv").write_text("id,label\n1,good\n")


def _class_labels(path: Path) -> None:
    numbers = [["bad", "good"].index(label) for label in labels()]
    feature = {"names": ["bad", "good"], "_type": "ClassLabel"}
    kept = json.dumps({"info": {"features": {"text": {"dtype": "string"}, "label": feature}}})
    pq.write_table(pa.table({"text": texts(), "label": numbers}).replace_schema_metadata({"huggingface": kept}), path)


_ACCEPTED = [
    {"text": text, "options": [{"id": "good"}, {"id": "bad"}], "accept": [label]}
    | {"answer": "reject" if n < 6 else "accept", "_input_hash": n, "_task_hash": n}
    for n, (text, label) in enumerate(PAIRS)
]
_VIEWER = {
    "features": [{"name": "label", "type": {"names": ["bad", "good"], "_type": "ClassLabel"}}],
    "rows": [
        {"row_idx": n, "row": {"text": text, "label": int(label == "good")}, "truncated_cells": []}
        for n, (text, label) in enumerate(PAIRS)
    ],
}
_STUDIO = ["id,text,sentiment"]
_STUDIO += [f'{n},{text},"{{""choices"":[""calm"",""joy""]}}"' for n, text in enumerate(texts()[:10])]
_STUDIO += [f"{n},{text},{'joy' if n % 2 else 'calm'}" for n, text in enumerate(texts()[10:])]
_SPAN = {"type": "labels", "value": {"start": 0, "end": 3, "labels": ["X"]}}
_KAGGLE = {"sample_submission.csv": "id,label\n1,good\n", "test.csv": "id,text\n1,a\n", "train.csv": csv()}
_KEYS = {"users": [{"name": "a"}] * 90, "test": objects()[:10], "train": objects()}
_NESTED = [{"post": {"text": text, "lang": "en"}, "label": label} for text, label in PAIRS]
_BELOW = {"reviews": {**texts_by_class(), "bad": texts_by_class()["bad"][:5]}}
_FEWER = {"bad": HALF - 3, "good": HALF - 3}
_GAP = {"label-lines": ROWS, "lines-without-label": 1, "missing-label": 1}

_BROKEN = {
    "no_labels.json": as_json({"data": [{"text": text} for text in texts()]}),
    "uneven.json": as_json({"text": texts(), "label": labels()[:-1]}),
    "bad_last.json": as_text(json.dumps(objects(), indent=1)[:-4] + "\n]"),
    "bad_line.jsonl": as_text("\n".join([*map(json.dumps, objects()), '{"text": "a'])),
    "spans.jsonl": as_lines([{"text": text, "label": [[4, 8, "THING"]]} for text in texts()]),
    "studio_spans.json": as_json(tasks({"result": [_SPAN]})),
    "page.xls": as_text("<html><table>" + "<tr><td>a</td></tr>" * 7 + "</table></html>"),
    "cut.csv.gz": _bytes(gzip.compress(csv().encode(), mtime=0)[:-20]),
    "outside.zip": _zip({f"../{label}/{n}.txt": "a" for n, label in enumerate(labels())}),
    "pages.zip": _zip({f"{n % 3}/{n}.{'txt' if n % 5 else 'pdf'}": "a" for n in range(15)}),
}
_REFUSED = {
    "no_labels.json": "a list of 40 objects under `data` with the one column 'text' and no labels",
    "uneven.json": "lists of different lengths are no columns of one table: `text` 40, `label` 39",
    "bad_last.json": "is not valid JSON: Expecting ',' delimiter (line 162, character 1)",
    "bad_line.jsonl": "row 41: this line",
    "spans.jsonl": "row 1, field 'label': the cells hold spans such as [4, 8, \"THING\"], and no labels of whole texts",
    "studio_spans.json": "a list of 1 Label Studio task with annotations of the kind labels, none of a text",
    "page.xls": "it is an HTML page with a table of 7 rows",
    "cut.csv.gz": "this gzip file is damaged or cut",
    "outside.zip": "the path `../bad/0.txt` leads out of the archive",
    "pages.zip": "an archive of 12 text files in the folders 1, 2, 0; unpack it and give the folder",
}
SHAPES = (
    Shape("list.json", as_json(objects())),
    Shape("lines.jsonl", as_lines(objects())),
    Shape("key.json", as_json({"version": 2, "reviews": objects()})),
    Shape("deep_key.json", as_json({"version": 2, "result": {"page": 1, "rows": objects()}})),
    Shape("two_keys.json", as_json(_KEYS), found={"sheets": 2}),
    Shape("columns.json", as_json({"text": texts(), "label": labels()})),
    Shape("columns_below.json", as_json({"data": {"text": texts(), "label": labels()}})),
    Shape("by_column.json", as_json({"text": dict(enumerate(texts())), "label": dict(enumerate(labels()))})),
    Shape("by_row.json", as_json(dict(enumerate(objects())))),
    Shape("by_name.json", as_json({f"r{n}": row for n, row in enumerate(objects())})),
    Shape("split.json", as_json({"columns": ["text", "label"], "index": list(range(ROWS)), "data": PAIRS})),
    Shape("values.json", as_json([["text", "label"], *PAIRS])),
    Shape("viewer.json", as_json(_VIEWER), found={"nested-columns": 2, "class-names": 2}),
    Shape("pretty.json", as_text("\n".join(json.dumps(row, indent=2) for row in objects()))),
    Shape("comma.json", as_text(json.dumps(objects())[:-1] + ",\n]\n")),
    Shape("nested.jsonl", as_lines(_NESTED), found={"nested-columns": 2}),
    Shape("studio.json", as_json(tasks()), label="sentiment", found={"label-studio": ROWS}),
    Shape("studio_min.json", as_json([{"text": t, "sentiment": label} for t, label in PAIRS]), label="sentiment"),
    Shape("doccano.jsonl", as_lines([{"id": 7, "text": text, "label": [label]} for text, label in PAIRS])),
    Shape("prodigy.jsonl", as_lines(_ACCEPTED), label="accept", classes=_FEWER, found={"not-accepted": 6}),
    Shape("studio.csv", as_text("\n".join(_STUDIO)), label="sentiment", task="multi", classes={"calm": 25, "joy": 25}),
    Shape("lists_of_one.parquet", as_parquet([[label] for label in labels()])),
    Shape("label_objects.parquet", as_parquet([{"name": label, "id": 1} for label in labels()])),
    Shape("fasttext.txt", as_written("__label__{1} {0}"), found={"label-lines": ROWS}),
    Shape("fasttext_gap.txt", as_written("__label__{1}\t{0}", "no label here"), found=_GAP),
    Shape("phrases.txt", as_written("{0} , EUR 3.1 mn .@{1}"), found={"label-lines": ROWS}),
    Shape("about_first.xlsx", workbook(_read_me_first), found={"sheets": 1}),
    Shape("hidden_first.xlsx", workbook(_hidden_first), found={"sheets": 1}),
    Shape("title.xlsx", workbook(_title_above), found={"title-rows": 1}),
    Shape("merged.xlsx", workbook(_merged), found={"merged-cells": ROWS - 2}),
    Shape(
        "errors.xlsx", workbook(_errors), classes=_FEWER | {"good": HALF}, found={"error-cells": 3, "missing-label": 3}
    ),
    Shape("formulas_beside.xlsx", workbook(_formulas_beside), found={"formulas": ROWS}),
    Shape("class_labels.parquet", _class_labels, found={"class-names": 2}),
    Shape("reviews.csv.gz", _bytes(gzip.compress(csv().encode(), mtime=0))),
    Shape("reviews.json.gz", _bytes(gzip.compress(json.dumps({"data": objects()}).encode(), mtime=0))),
    Shape("one.zip", _zip({"data/train.csv": csv()}), found={"archive": 0}),
    Shape("kaggle.zip", _zip({**_KAGGLE, "README.txt": "a"}), found={"archive": 2}),
    Shape("formulas.xlsx", workbook(_formulas), refused="'label' has 40 formulas without a value; open the workbook"),
    Shape("strings.json", as_json(texts()), refused="a list of 40 strings; every row must be an object"),
    Shape(
        "tokens.jsonl",
        as_lines([{"tokens": text.split(), "label": label} for text, label in PAIRS]),
        refused="a list of 40 objects: no column looks like a label; name it with data.label (columns: tokens, label)",
    ),
    Shape("no_rows.json", as_json({"version": 2}), refused="a list of 1 object with the one column 'version'"),
    Shape("notes.zip", _zip({"a.pdf": b"%PDF", "b.doc": b"x"}), refused="in it: `a.pdf`, `b.doc`"),
    Shape("folders.zip", _bytes(class_folders_zipped("data/")), found={"class-folders": ROWS}),
    Shape("movies.zip", _bytes(class_folders_zipped("reviews/train/", "reviews/test/")), found={"class-folders": ROWS}),
    Shape("competition.zip", _zip({f"c/{name}": text for name, text in _KAGGLE.items()}), found={"archive": 2}),
    Shape("class_keys.json", as_json(texts_by_class()), found={"classes-as-keys": 2}),
    Shape("class_keys_below.json", as_json(_BELOW), classes={"bad": 5, "good": HALF}, found={"classes-as-keys": 2}),
    Shape(
        "studio_some.json",
        as_json([{**task, "annotations": task["annotations"] * (n >= 10)} for n, task in enumerate(tasks())]),
        label="sentiment",
        classes={"bad": HALF - 5, "good": HALF - 5},
        found={"label-studio": ROWS, "not-annotated": 10, "missing-label": 10},
    ),
    Shape(
        "studio_none.json",
        as_json([{**task, "annotations": []} for task in tasks()]),
        refused="a list of 40 Label Studio tasks without an annotation, so there are no labels; annotate some in Label",
    ),
    *(Shape(name, write, refused=_REFUSED[name]) for name, write in _BROKEN.items()),
)
"""Single files."""

FOLDERS = (Shape("classes", _class_folders), Shape("movies", _movie_folders), Shape("competition", _competition))
"""Folders; `classes` is of their training rows, or of all."""
