"""Streams of unlabelled rows: every column in order, or an error that names the row."""

import json

import pandas as pd
import pytest

from core.data import stream
from core.data.stream import stream_rows
from core.exceptions import DataError


def stream_file(path, **reading):
    rows = stream_rows(path, **reading)
    return rows.text, [row for batch in rows.batches for row in batch.to_pylist()]


def test_delimited_files_give_every_column_as_strings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,review,stars\r\n1,"so, ""good""\nand long",5\r\n2,bad,\r\n')
    text, rows = stream_file(path)
    assert text == "review"
    assert rows == [
        {"id": "1", "review": 'so, "good"\nand long', "stars": "5"},
        {"id": "2", "review": "bad", "stars": None},
    ]


def test_a_file_with_only_a_header_has_no_text_to_predict(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,label\n")
    with pytest.raises(DataError, match="holds a single row; if that is a header, the rows below it are missing"):
        stream_file(path)
    path.write_text("a good film,positive\n")
    assert stream_file(path, header="no")[1] == [{"0": "a good film", "1": "positive"}], (
        "unless a person says that it is one"
    )


@pytest.mark.parametrize(("setting", "column"), [("", "note"), ("1", "title"), ("title", "title")])
def test_the_text_column_is_guessed_or_set(tmp_path, setting, column):
    path = tmp_path / "a.csv"
    path.write_text("id;title;note\n" + "".join(f"{n};title {n};a longer note of number {n}\n" for n in range(9)))
    assert stream_file(path, text=setting)[0] == column


def test_streams_detect_encodings_from_late_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "SAMPLE", 1000)
    monkeypatch.setattr(stream, "_BLOCK", 1000)
    path = tmp_path / "a.csv"
    path.write_bytes(("text,n\n" + "plain,1\n" * 1000 + "schön,2\n").encode("cp1252"))
    assert stream_file(path)[1][-1]["text"] == "schön"
    path.write_bytes("\ufefftext,n\nschön,1\n".encode())
    assert stream_file(path)[1] == [{"text": "schön", "n": "1"}]
    (tmp_path / "a.csv").write_bytes(b"text,label\n" + b"a fine day,1\n" * 200_000 + "naïve,0\n".encode())
    with pytest.raises(DataError, match=r"a\.csv: cannot be read as ascii; leave data\.encoding out"):
        list(stream_rows(tmp_path / "a.csv", encoding="ascii").batches)


def test_streams_keep_types_nesting_and_late_keys(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"text": "so good", "n": 1, "x": 0.5, "ok": True, "tags": ["a", 1]}, {"text": "bad", "x": 1, "late": "z"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    text, got = stream_file(path)
    assert text == "text"
    assert got == [
        {"text": "so good", "n": 1, "x": 0.5, "ok": True, "tags": '["a", 1]', "late": None},
        {"text": "bad", "n": None, "x": 1.0, "ok": None, "tags": None, "late": "z"},
    ]
    frame = pd.DataFrame({"n": [1, 2], "text": ["good", "bad"], "when": pd.Timestamp("2024-01-01")})
    frame.to_parquet(tmp_path / "a.parquet")
    text, rows = stream_file(tmp_path / "a.parquet")
    assert text == "text" and [row["n"] for row in rows] == [1, 2]
    assert rows[0]["when"] == frame["when"][0]


@pytest.mark.parametrize("ending", ["json", "xlsx"])
def test_formats_without_streaming_are_read_completely(tmp_path, ending):
    frame = pd.DataFrame({"id": [1, 2], "text": ["so good", "bad"]})
    path = tmp_path / f"a.{ending}"
    frame.to_json(path, orient="records") if ending == "json" else frame.to_excel(path, index=False)
    assert stream_file(path) == ("text", [{"id": "1", "text": "so good"}, {"id": "2", "text": "bad"}])


def test_small_batches_contain_all_rows_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(stream, "AT_ONCE", 7)
    path = tmp_path / "a.csv"
    path.write_text("n,text\n" + "".join(f"{n},text {n}\n" for n in range(20)))
    batches = list(stream_rows(path).batches)
    assert [each.num_rows for each in batches] == [7, 7, 6]
    assert [n for each in batches for n in each.column("n").to_pylist()] == [str(n) for n in range(20)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,text\n1,good\n2,\n", "a.csv, row 2, field 'text': the text is missing"),
        ("a.csv", "id,text\n" + "1,good\n" * 20 + "3,bad,really\n", "a.csv, row 21: has 3 fields and the others 2"),
        ("a.csv", "id,n\n1,2\n3,4\n", "no column looks like text; name it with data.text"),
        ("a.csv", "", "the file is empty"),
        ("a.jsonl", '{"text": "good"}\n{"text": "a", "text": "b"}\n', "an object has the key 'text' twice"),
        ("a.jsonl", '{"text": "good"}\n{"text": \n', "a.jsonl, row 2: this line is not valid JSON"),
        ("a.jsonl", '{"text": "good"}\n[1]\n', "a.jsonl, row 2: every row must be an object"),
        ("a.jsonl", '{"text": "good"}\n{"n": 1}\n', "a.jsonl, row 2, field 'text': the text is missing"),
        ("a.parquet", "PAR1 and nothing", "a.parquet: this Parquet file is damaged"),
        ("a.pdf", "%PDF-1.4", "it is a PDF"),
    ],
)
def test_conll_errors_name_the_row(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        stream_file(tmp_path / name)
    assert message in str(error.value)


def test_streams_report_guessed_encodings_and_misplaced_quotes(tmp_path):
    lines = ["text,label", *(f"le café numéro {n} était déjà fermé,{n % 2}" for n in range(40))]
    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(lines).encode("cp1252"))
    assert stream_rows(path).notes[0].startswith("the encoding is a guess: latin-1; it could be ")
    path.write_bytes(b"\n".join(line.encode("cp1252" if n % 3 else "utf-8") for n, line in enumerate(lines)))
    rows = stream_rows(path)
    texts = [text for batch in rows.batches for text in batch.column("text").to_pylist()]
    assert texts == [line.partition(",")[0] for line in lines[1:]]
    assert rows.notes[0].startswith("the encoding is a guess: utf-8+cp1252")
    path.write_text("\n".join(lines), encoding="utf-8")
    assert stream_rows(path).notes == ()
    lines = [f'"the tram {n} as ever",{n % 2}' for n in range(60)]
    lines[20] = lines[20].replace('ever"', "ever")
    (tmp_path / "a.csv").write_text("\n".join(["text,label", *lines]))
    assert stream_rows(tmp_path / "a.csv").notes[0].startswith("a quote is out of place")
