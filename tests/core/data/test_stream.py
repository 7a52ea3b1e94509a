import csv
import json

import pandas as pd
import pytest
from refused import check_raises

from core.data import stream
from core.data.config import DataConfig
from core.data.load import load_dataset
from core.data.sources import SOURCES, check_availability
from core.data.stream import read_published, stream_rows
from core.exceptions import DataError, NotAvailable

AIRLINE = ["tweet_id", "airline_sentiment", "airline_sentiment_confidence", "negativereason", "airline", "name", "text"]
LABEL = r"train\.csv, row {}, field 'class': {}"


def stream_file(path, **reading):
    rows = stream_rows(path, **reading)
    return rows.text, [row for batch in rows.batches for row in batch.to_pylist()]


def test_delimited_files_give_every_column_as_strings_and_need_a_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,review,stars\r\n1,"so, ""good""\nand long",5\r\n2,bad,\r\n')
    text, rows = stream_file(path)
    assert text == "review"
    assert rows == [
        {"id": "1", "review": 'so, "good"\nand long', "stars": "5"},
        {"id": "2", "review": "bad", "stars": None},
    ]
    path = tmp_path / "a.csv"
    path.write_text("text,label\n")
    check_raises(DataError, "holds a single row; if that is a header, the rows below it are missing", stream_file, path)
    path.write_text("a good film,positive\n")
    assert stream_file(path, header="no")[1] == [{"0": "a good film", "1": "positive"}], (
        "unless a person says that it is one"
    )


@pytest.mark.parametrize(("setting", "column"), [("", "note"), ("1", "title"), ("title", "title")])
def test_the_text_column_is_guessed_or_set(tmp_path, setting, column):
    path = tmp_path / "a.csv"
    path.write_text("id;title;note\n" + "".join(f"{n};title {n};a longer note of number {n}\n" for n in range(9)))
    assert stream_file(path, text=setting)[0] == column


@pytest.mark.parametrize("ending", ["json", "xlsx"])
def test_formats_without_streaming_are_read_completely(tmp_path, ending):
    frame = pd.DataFrame({"id": [1, 2], "text": ["so good", "bad"]})
    path = tmp_path / f"a.{ending}"
    frame.to_json(path, orient="records") if ending == "json" else frame.to_excel(path, index=False)
    assert stream_file(path) == ("text", [{"id": 1, "text": "so good"}, {"id": 2, "text": "bad"}])


def test_streams_keep_types_nesting_late_keys_and_the_order_of_rows(tmp_path, monkeypatch):
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


def test_streams_report_guessed_encodings_and_detect_them_from_late_bytes(tmp_path, monkeypatch):
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


def table(path, rows, delimiter=",", encoding="utf-8", quoting=csv.QUOTE_MINIMAL):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)


def yelp(folder, stars):
    for name, count in (("train", 40), ("test", 10)):
        rows = [(1 + n % stars, f'visit {n} to the "{name}" place\\nfine, warm') for n in range(count)]
        table(folder / f"{name}.csv", rows, quoting=csv.QUOTE_ALL)


def irony(folder):
    folder.mkdir(parents=True)
    for name, count in (("train", 20), ("val", 6), ("test", 8)):
        texts = "".join(f"oh “great” {name} {n}\u2028 still one line\n" for n in range(count))
        (folder / f"{name}_text.txt").write_text(texts, encoding="utf-8", newline="\n")
        (folder / f"{name}_labels.txt").write_text("".join(f"{n % 2}\n" for n in range(count)), newline="\n")


def write_airline(folder):
    feelings = ("negative", "neutral", "positive")
    rows = [(n, feelings[n % 3], 0.7, "", "Blue Wing", f"user{n}", f"@bluewing flight {n},\nthanks") for n in range(60)]
    table(folder / "Tweets.csv", [AIRLINE, *rows])


def korean(folder):
    labels = ("none", "offensive", "hate")
    for name, count in (("train", 30), ("dev", 6)):
        rows = [(f'날씨가 "{n}" 좋다', n % 2 == 0, "none", labels[n % 3]) for n in range(count)]
        table(folder / "labeled" / f"{name}.tsv", [("comments", "contain_gender_bias", "bias", "hate"), *rows], "\t")


def tweets(folder, test=True):
    def rows(labels, count):
        return [(labels[n % len(labels)], n, "Mon", "NO_QUERY", f"u{n}", f"café {n} & more") for n in range(count)]

    files = {"training.1600000.processed.noemoticon.csv": rows("04", 40)}
    files |= {"testdata.manual.2009.06.14.csv": rows("024", 12)} if test else {}
    for name, content in files.items():
        table(folder / name, content, encoding="latin-1", quoting=csv.QUOTE_ALL)


WRITTEN = {
    "yelp-5": (lambda folder: yelp(folder, 5), (35, 5, 10), 'visit 0 to the "test" place\nfine, warm'),
    "yelp-polarity": (lambda folder: yelp(folder, 2), (36, 4, 10), 'visit 0 to the "test" place\nfine, warm'),
    "tweeteval_irony": (irony, (20, 6, 8), "oh “great” test 0\u2028 still one line"),
    "us_airline": (write_airline, (48, 6, 6), None),
    "korean_hate_speech": (korean, (27, 3, 6), '날씨가 "0" 좋다'),
    "sentiment140": (tweets, (36, 4, 8), "café 0 & more"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_published_layout_loads(name, tmp_path, monkeypatch):
    write, sizes, first = WRITTEN[name]
    write(tmp_path / name)
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    data = load_dataset(DataConfig(name=name))
    assert tuple(len(data.splits[split]) for split in ("train", "validation", "test")) == sizes
    assert data.classes == (("negative", "positive") if name == "sentiment140" else SOURCES[name].classes)
    assert first is None or data.splits["test"]["text"][0] == first
    assert check_availability(SOURCES[name]).state == "found, as published"
    assert any("are published" in note for note in data.notes)  # the tiny file is incomplete
    assert SOURCES[name].published.checked in data.source


def read_published_folder(folder, name):
    return read_published(folder, SOURCES[name].published)


def test_published_columns_are_kept_without_authors_and_missing_files_named(tmp_path, monkeypatch):
    write_airline(tmp_path / "us_airline")
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    train = load_dataset(DataConfig(name="us_airline")).splits["train"]
    assert list(train.columns) == ["text", "label", "airline", "airline_sentiment_confidence", "negativereason"]
    assert set(train["airline"]) == {"Blue Wing"}
    tweets(tmp_path / "sentiment140", test=False)
    sizes = {split: len(rows) for split, rows in load_dataset(DataConfig(name="sentiment140")).splits.items()}
    assert sizes == {"train": 32, "validation": 4, "test": 4}
    yelp(tmp_path / "yelp-5", 5)
    (tmp_path / "yelp-5" / "test.csv").unlink()
    with pytest.raises(DataError, match=r"yelp-5: test\.csv is not there; as published \(https://"):
        read_published_folder(tmp_path / "yelp-5", "yelp-5")
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    assert check_availability(SOURCES["yelp-5"]).state == "incomplete: test.csv lacks"


@pytest.mark.parametrize(
    ("name", "file", "content", "says"),
    [
        ("yelp-5", "train.csv", "1,good\n6,great\n", LABEL.format(2, "the label '6' is none of 1, 2, 3, 4, 5;")),
        ("yelp-5", "train.csv", "1,good\n,great\n", LABEL.format(2, "an empty label is none of")),
        ("yelp-5", "train.csv", "label,text\n1,good\n", LABEL.format(1, r"the label 'label' .* labels\.json is in")),
        ("yelp-5", "train.csv", "1,good\n2,a,b\n", r"train\.csv: .*Expected 2 fields in line 2, saw 3; as published"),
        ("yelp-5", "train.csv", "", r"train\.csv: has no row with a text; as published"),
        ("yelp-5", "train.csv", '"1","fine"\n"2","café"\n', r"train\.csv: is not UTF-8: see line 2"),
        ("us_airline", "Tweets.csv", "id,feeling,text\n1,neutral,ok\n", "no column 'airline_sentiment' but id, feel"),
        ("tweeteval_irony", "train_labels.txt", "1\n0\n", r"train_labels\.txt: has a label for 2 texts"),
        ("tweeteval_irony", "train_labels.txt", "1\n" * 21, r"train_labels\.txt: has a label for 21 texts"),
    ],
)
def test_files_that_differ_from_the_layout_are_named(name, file, content, says, tmp_path):
    WRITTEN[name][0](tmp_path / name)
    (tmp_path / name / file).write_text(content, encoding="latin-1")
    check_raises(DataError, says, read_published_folder, tmp_path / name, name)


def test_unmatched_quotes_and_blank_texts_are_reported_and_byte_order_marks_removed(tmp_path):
    korean(tmp_path)
    with (tmp_path / "labeled" / "train.tsv").open("a", encoding="utf-8") as file:
        file.write('"open\tFalse\tnone\thate\nb\tFalse\tnone\thate\nc "\tTrue\tnone\tnone\n')
    with pytest.raises(DataError, match=r"train\.tsv, row 31: a quotation mark opens a cell"):
        read_published_folder(tmp_path, "korean_hate_speech")
    yelp(tmp_path, 2)
    table(tmp_path / "train.csv", [(1, "good"), (2, " "), (2, "")])
    splits, notes = read_published(tmp_path, SOURCES["yelp-polarity"].published)
    assert len(splits["train"]) == 1
    assert notes[:2] == ["train: 2 rows without a text left out", "train: 3 rows, and 560\u202f000 are published"]
    yelp(tmp_path, 5)
    table(tmp_path / "train.csv", [(1, "good"), (2, "fine")], encoding="utf-8-sig", quoting=csv.QUOTE_ALL)
    read_published_folder(tmp_path, "yelp-5")


def test_folders_with_labels_json_are_read_as_splits(tmp_path, monkeypatch):
    folder = tmp_path / "yelp-polarity"
    table(folder / "train.csv", [("text", "label"), *((f"a text {n}", n % 2) for n in range(40))])
    (folder / "labels.json").write_text('{"classes": {"0": "negative", "1": "positive"}}')
    monkeypatch.setenv("SENTISCOPE_DATA", str(tmp_path))
    assert check_availability(SOURCES["yelp-polarity"]).state == "found"
    assert len(load_dataset(DataConfig(name="yelp-polarity")).splits["train"]) == 32
    with pytest.raises(NotAvailable, match=r"kaggle\.com.*Tweets\.csv.*Terms: CC-BY-NC-SA"):
        load_dataset(DataConfig(name="us_airline"))
