"""Labelled texts in the shapes in which tools write them, in our own words, and what is to be read of each."""

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


def objects() -> list[dict[str, Any]]:
    return [{"text": text, "label": label} for text, label in zip(texts(), labels(), strict=True)]


@dataclass(frozen=True)
class Shape:
    """A file and what is read of it: columns and classes, or the sentence with which it is refused."""

    name: str
    """Of the file, or of the folder where it has no ending."""
    write: Callable[[Path], None]
    text: str = "text"
    label: str = "label"
    task: str = "single"
    classes: dict[str, int] = field(default_factory=lambda: {"bad": ROWS // 2, "good": ROWS // 2})
    found: dict[str, int] = field(default_factory=dict)
    """Kind of a finding → its number, of all but those that every small file has."""
    refused: str = ""


def as_json(value: Any) -> Callable[[Path], None]:
    return lambda path: _text(path, json.dumps(value))


def as_lines(rows: list[Any]) -> Callable[[Path], None]:
    return lambda path: _text(path, "\n".join(map(json.dumps, rows)))


def as_text(text: str) -> Callable[[Path], None]:
    return lambda path: _text(path, text)


def csv() -> str:
    return "\n".join(["text,label", *map(",".join, zip(texts(), labels(), strict=True))]) + "\n"


def workbook(change: Callable[[openpyxl.Workbook], None]) -> Callable[[Path], None]:

    def write(path: Path) -> None:
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Reviews"
        for row in (("text", "label"), *zip(texts(), labels(), strict=True)):
            sheet.append(row)
        change(book)
        book.save(path)

    return write


def zipped(**members: str | bytes) -> bytes:
    """Return a zip archive; in a name, `__` is a slash and `_dot_` a dot."""
    return zip_of({name.replace("__", "/").replace("_dot_", "."): content for name, content in members.items()})


def zip_of(members: dict[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def class_folders_zipped(*above: str) -> bytes:
    rows = list(enumerate(zip(texts(), labels(), strict=True)))
    members = {f"{top}{label}/{n}.txt": text for top in above for n, (text, label) in rows}
    return zip_of({**members, f"__MACOSX/{above[0]}bad/._0.txt": "x", f"{above[0].split('/')[0]}/README": "about"})


def texts_by_class() -> dict[str, list[str]]:
    pairs = list(zip(texts(), labels(), strict=True))
    return {name: [text for text, label in pairs if label == name] for name in ("good", "bad")}


def tasks(*annotations: Any) -> list[dict[str, Any]]:
    if annotations:
        return [{"id": 1, "data": {"text": "a tram"}, "annotations": list(annotations)}]
    return [
        {"id": n, "data": {"text": text}, "annotations": [choice(label)]}
        for n, (text, label) in enumerate(zip(texts(), labels(), strict=True))
    ]


def choice(*chosen: str, name: str = "sentiment", **more: Any) -> dict[str, Any]:
    return {"result": [{"type": "choices", "from_name": name, "value": {"choices": list(chosen)}}], **more}


def _text(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def _bytes(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


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
        sheet[f"B{row}"] = "good" if row < ROWS // 2 + 2 else "bad"
    sheet.merge_cells(f"B2:B{ROWS // 2 + 1}")
    sheet.merge_cells(f"B{ROWS // 2 + 2}:B{ROWS + 1}")


def _errors(book: openpyxl.Workbook) -> None:
    for row in (2, 4, 6):
        book["Reviews"][f"B{row}"] = "#N/A"


def _class_folders(path: Path, *above: str) -> None:
    for n, (text, label) in enumerate(zip(texts(), labels(), strict=True)):
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
    table = pa.table({"text": texts(), "label": numbers})
    pq.write_table(table.replace_schema_metadata({"huggingface": kept}), path)


_ACCEPTED = [
    {
        "text": row["text"],
        "options": [{"id": "good"}, {"id": "bad"}],
        "accept": [row["label"]],
        "answer": "reject" if n < 6 else "accept",
        "_input_hash": n,
        "_task_hash": n,
    }
    for n, row in enumerate(objects())
]
_WITHOUT_SIX = {"bad": ROWS // 2 - 3, "good": ROWS // 2 - 3}
_VIEWER_FEATURES = [{"name": "label", "type": {"names": ["bad", "good"], "_type": "ClassLabel"}}]

SHAPES = (
    Shape("list.json", as_json(objects())),
    Shape("lines.jsonl", as_lines(objects())),
    Shape("key.json", as_json({"version": 2, "reviews": objects()})),
    Shape("deep_key.json", as_json({"version": 2, "result": {"page": 1, "rows": objects()}})),
    Shape(
        "two_keys.json",
        as_json({"users": [{"name": "a"}] * 90, "test": objects()[:10], "train": objects()}),
        found={"sheets": 2},
    ),
    Shape("columns.json", as_json({"text": texts(), "label": labels()})),
    Shape("columns_below.json", as_json({"data": {"text": texts(), "label": labels()}})),
    Shape("by_column.json", as_json({"text": dict(enumerate(texts())), "label": dict(enumerate(labels()))})),
    Shape("by_row.json", as_json(dict(enumerate(objects())))),
    Shape("by_name.json", as_json({f"r{n}": row for n, row in enumerate(objects())})),
    Shape(
        "split.json",
        as_json(
            {"columns": ["text", "label"], "index": list(range(ROWS)), "data": [[*row.values()] for row in objects()]}
        ),
    ),
    Shape("values.json", as_json([["text", "label"], *([*row.values()] for row in objects())])),
    Shape(
        "viewer.json",
        as_json(
            {
                "features": _VIEWER_FEATURES,
                "rows": [
                    {"row_idx": n, "row": {**row, "label": int(row["label"] == "good")}, "truncated_cells": []}
                    for n, row in enumerate(objects())
                ],
            }
        ),
        found={"nested-columns": 2, "class-names": 2},
    ),
    Shape("pretty.json", as_text("\n".join(json.dumps(row, indent=2) for row in objects()))),
    Shape("python.jsonl", as_text("\n".join(map(repr, objects()))), found={"python-dictionaries": ROWS}),
    Shape("comma.json", as_text(json.dumps(objects())[:-1] + ",\n]\n"), found={"trailing-comma": 1}),
    Shape(
        "nested.jsonl",
        as_lines([{"post": {"text": row["text"], "lang": "en"}, "label": row["label"]} for row in objects()]),
        found={"nested-columns": 2},
    ),
    Shape("studio.json", as_json(tasks()), label="sentiment", found={"label-studio": ROWS}),
    Shape(
        "studio_min.json",
        as_json([{"id": n, "text": row["text"], "sentiment": row["label"]} for n, row in enumerate(objects())]),
        label="sentiment",
    ),
    Shape(
        "doccano.jsonl",
        as_lines([{"id": n, "text": row["text"], "label": [row["label"]]} for n, row in enumerate(objects())]),
    ),
    Shape("prodigy.jsonl", as_lines(_ACCEPTED), label="accept", classes=_WITHOUT_SIX, found={"not-accepted": 6}),
    Shape(
        "studio.csv",
        as_text(
            "\n".join(
                ["id,text,sentiment"]
                + [f'{n},{text},"{{""choices"":[""calm"",""joy""]}}"' for n, text in enumerate(texts()[:10])]
                + [f"{n},{text},{'joy' if n % 2 else 'calm'}" for n, text in enumerate(texts()[10:])]
            )
        ),
        label="sentiment",
        task="multi",
        classes={"calm": 25, "joy": 25},
    ),
    Shape(
        "lists_of_one.parquet",
        lambda path: pq.write_table(pa.table({"text": texts(), "label": [[e] for e in labels()]}), path),
    ),
    Shape(
        "label_objects.parquet",
        lambda path: pq.write_table(
            pa.table({"text": texts(), "label": [{"name": e, "id": 1} for e in labels()]}), path
        ),
    ),
    Shape(
        "fasttext.txt",
        as_text("\n".join(f"__label__{row['label']} {row['text']}" for row in objects())),
        found={"label-lines": ROWS},
    ),
    Shape(
        "fasttext_gap.txt",
        as_text("\n".join(["no label here", *(f"__label__{row['label']}\t{row['text']}" for row in objects())])),
        found={"label-lines": ROWS, "lines-without-label": 1, "missing-label": 1},
    ),
    Shape(
        "phrases.txt",
        as_text("\n".join(f"{row['text']} , EUR 3.1 mn .@{row['label']}" for row in objects())),
        found={"label-lines": ROWS},
    ),
    Shape("about_first.xlsx", workbook(_read_me_first), found={"sheets": 1}),
    Shape("hidden_first.xlsx", workbook(_hidden_first), found={"sheets": 1}),
    Shape("title.xlsx", workbook(_title_above), found={"title-rows": 1}),
    Shape("merged.xlsx", workbook(_merged), found={"merged-cells": ROWS - 2}),
    Shape(
        "errors.xlsx",
        workbook(_errors),
        classes={"bad": ROWS // 2 - 3, "good": ROWS // 2},
        found={"error-cells": 3, "missing-label": 3},
    ),
    Shape("formulas_beside.xlsx", workbook(_formulas_beside), found={"formulas": ROWS}),
    Shape("class_labels.parquet", _class_labels, found={"class-names": 2}),
    Shape("reviews.csv.gz", _bytes(gzip.compress(csv().encode(), mtime=0))),
    Shape("reviews.json.gz", _bytes(gzip.compress(json.dumps({"data": objects()}).encode(), mtime=0))),
    Shape("one.zip", _bytes(zipped(data__train_dot_csv=csv())), found={"archive": 0}),
    Shape(
        "kaggle.zip",
        _bytes(
            zipped(
                sample_submission_dot_csv="id,label\n1,a\n",
                test_dot_csv="id,text\n1,a\n",
                train_dot_csv=csv(),
                README_dot_txt="a",
            )
        ),
        found={"archive": 2},
    ),
    Shape("formulas.xlsx", workbook(_formulas), refused="'label' has 40 formulas without a value; open the workbook"),
    Shape("strings.json", as_json(texts()), refused="a list of 40 strings; every row must be an object"),
    Shape(
        "no_labels.json",
        as_json({"data": [{"text": text} for text in texts()]}),
        refused="a list of 40 objects under `data` with the one column 'text' and no labels",
    ),
    Shape(
        "tokens.jsonl",
        as_lines([{"tokens": row["text"].split(), "label": row["label"]} for row in objects()]),
        refused="a list of 40 objects: no column looks like a label; name it with data.label (columns: tokens, label)",
    ),
    Shape(
        "uneven.json",
        as_json({"text": texts(), "label": labels()[:-1]}),
        refused="lists of different lengths are no columns of one table: `text` 40, `label` 39",
    ),
    Shape("no_rows.json", as_json({"version": 2}), refused="a list of 1 object with the one column 'version'"),
    Shape(
        "bad_last.json",
        as_text(json.dumps(objects(), indent=1)[:-4] + "\n]"),
        refused="is not valid JSON: Expecting ',' delimiter (line 162, character 1)",
    ),
    Shape(
        "bad_line.jsonl", as_text("\n".join([*map(json.dumps, objects()), '{"text": "a'])), refused="row 41: this line"
    ),
    Shape(
        "spans.jsonl",
        as_lines([{"text": row["text"], "label": [[4, 8, "THING"]]} for row in objects()]),
        refused="row 1, field 'label': the cells hold spans such as [4, 8, \"THING\"], and no labels of whole texts",
    ),
    Shape(
        "studio_spans.json",
        as_json(tasks({"result": [{"type": "labels", "value": {"start": 0, "end": 3, "labels": ["X"]}}]})),
        refused="a list of 1 Label Studio task with annotations of the kind labels, none of a text",
    ),
    Shape(
        "page.xls",
        as_text("<html><table>" + "<tr><td>a</td></tr>" * 7 + "</table></html>"),
        refused="it is an HTML page with a table of 7 rows",
    ),
    Shape(
        "cut.csv.gz", _bytes(gzip.compress(csv().encode(), mtime=0)[:-20]), refused="this gzip file is damaged or cut"
    ),
    Shape("notes.zip", _bytes(zipped(a_dot_pdf=b"%PDF", b_dot_doc=b"x")), refused="in it: `a.pdf`, `b.doc`"),
    Shape("folders.zip", _bytes(class_folders_zipped("data/")), found={"class-folders": ROWS}),
    Shape("movies.zip", _bytes(class_folders_zipped("reviews/train/", "reviews/test/")), found={"class-folders": ROWS}),
    Shape(
        "competition.zip",
        _bytes(
            zipped(
                competition__train_dot_csv=csv(),
                competition__test_dot_csv="id,text\n1,a\n",
                competition__sample_submission_dot_csv="id,label\n1,good\n",
            )
        ),
        found={"archive": 2},
    ),
    Shape("class_keys.json", as_json(texts_by_class()), found={"classes-as-keys": 2}),
    Shape(
        "class_keys_below.json",
        as_json({"reviews": {**texts_by_class(), "bad": texts_by_class()["bad"][:5]}}),
        classes={"bad": 5, "good": ROWS // 2},
        found={"classes-as-keys": 2},
    ),
    Shape(
        "studio_some.json",
        as_json([{**task, "annotations": task["annotations"] * (n >= 10)} for n, task in enumerate(tasks())]),
        label="sentiment",
        classes={"bad": ROWS // 2 - 5, "good": ROWS // 2 - 5},
        found={"label-studio": ROWS, "not-annotated": 10, "missing-label": 10},
    ),
    Shape(
        "studio_none.json",
        as_json([{**task, "annotations": []} for task in tasks()]),
        refused="a list of 40 Label Studio tasks without an annotation, so there are no labels; annotate some in Label",
    ),
    Shape(
        "outside.zip",
        _bytes(zip_of({f"../{label}/{n}.txt": "a" for n, label in enumerate(labels())})),
        refused="the path `../bad/0.txt` leads out of the archive",
    ),
    Shape(
        "pages.zip",
        _bytes(zip_of({f"{n % 3}/{n}.{'txt' if n % 5 else 'pdf'}": "a" for n in range(15)})),
        refused="an archive of 12 text files in the folders 1, 2, 0; unpack it and give the folder",
    ),
)
"""Single files."""

FOLDERS = (Shape("classes", _class_folders), Shape("movies", _movie_folders), Shape("competition", _competition))
"""Folders; `classes` is of their training rows, or of all."""
