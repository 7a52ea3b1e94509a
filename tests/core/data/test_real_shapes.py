"""Small copies, in our own words, of the shapes of users' files."""

import json

import openpyxl
import pandas as pd
import pytest
from refused import check_raises

from core.data.config import DataConfig
from core.data.labeled_files import inspect_file, read_file
from core.data.load import load_dataset
from core.data.stream import stream_rows
from core.exceptions import DataError

WORDS = ["the soup", "our guide", "this lamp", "that song", "her garden", "a bridge"]


def texts(count):
    return [f"{WORDS[n % 6]} number {n} was {'lovely' if n % 2 else 'dreadful'}" for n in range(count)]


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def count_finding(report, kind):
    return [each.count for each in report.findings if each.kind == kind]


def test_six_quoted_columns_without_header(tmp_path):
    lines = [
        f'"{0 if n % 2 else 4}","{7000 + n}","Mon Apr 0{n % 9} 2009","NO_QUERY","user{n}","@you {t}, &amp; so on"'
        for n, t in enumerate(texts(40))
    ]
    file = read_file(write(tmp_path / "tweets.csv", "\n".join(lines)))
    assert (file.report.header, file.report.text, file.report.label) == (False, "5", "0")
    assert file.classes == ("0", "4") and file.report.classes == {"0": 20, "4": 20}
    assert file.rows["text"][0] == "@you the soup number 0 was dreadful, &amp; so on"


@pytest.mark.parametrize(("encoding", "newline"), [("utf-8", "\n"), ("cp949", "\r\n")])
def test_korean_tsv_with_unbalanced_quotes_is_read(tmp_path, encoding, newline):
    reviews = ['"최고의 영화', '배우가 "정말 좋다', "지루하고 아깝다", "다시 보고 싶다", ""] * 8
    lines = [f"{n}\t{review}{n if review else ''}\t{n % 2}" for n, review in enumerate(reviews)]
    file = read_file(write(tmp_path / "reviews.txt", newline.join(["id\tdocument\tlabel", *lines]), encoding))
    report = file.report
    assert (report.kind, report.encoding, report.quoted, report.text) == ("tsv", encoding, False, "document")
    assert len(file.rows) == 32 and file.rows["text"][0] == '"최고의 영화0'
    assert [(f.kind, f.count) for f in report.findings if "text" in f.kind] == [("missing-text", 8)]


def test_unicode_escapes_in_headerless_tsv_are_resolved_unless_they_are_rare(tmp_path):
    moods = ["neutral", "positive", "negative"]
    lines = [f"26{n:09}\t{moods[n % 3]}\t{t}\\u002c wasn\\u2019t it \\ud83d\\ude00" for n, t in enumerate(texts(30))]
    file = read_file(write(tmp_path / "dev.tsv", "\n".join(lines)))
    assert (file.report.text, file.report.label) == ("2", "1")
    assert file.rows["text"][0] == "the soup number 0 was dreadful, wasn’t it 😀"
    assert count_finding(file.report, "escapes") == [30]
    frame = pd.DataFrame({"text": [*texts(199), r"the escape \u0041 in a manual"], "label": ["a", "b"] * 100})
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert read_file(tmp_path / "a.csv").rows["text"].iloc[-1] == r"the escape \u0041 in a manual"


def test_labels_separated_by_blanks_are_detected_but_not_names_of_two_words(tmp_path):
    labels = ["price", "taste", "price taste", "service", "taste service"] * 6
    lines = ["ID,text,labels", *(f"{n}t,{t},{labels[n]}" for n, t in enumerate(texts(30)))]
    file = read_file(write(tmp_path / "val.csv", "\r\n".join(lines)))
    assert (file.report.task, file.report.label) == ("multi", "labels")
    assert file.report.classes == {"price": 12, "service": 12, "taste": 18}
    assert {finding.kind: finding.message for finding in file.report.findings}["several-labels"] == (
        "several labels per text, in 'labels', separated by blanks: 12 rows with more than one, 1.40 on average; "
        "if each cell is one label, say so with data.separator"
    )
    assert read_file(tmp_path / "val.csv", separator="none").report.task == "single"
    labels = ["very negative", "negative", "neutral", "positive", "very positive"] * 6
    pd.DataFrame({"text": texts(30), "label": labels}).to_csv(tmp_path / "five.csv", index=False)
    assert len(read_file(tmp_path / "five.csv").classes) == 5


def test_excel_with_unnamed_index_column(tmp_path):
    book = openpyxl.Workbook()
    book.active.append([None, "cleaned", "classes", "labels"])
    for n, t in enumerate(texts(30)):
        book.active.append([n, f"বাংলা {t}", ["joy", "fear", "anger"][n % 3], n % 3])
    book.create_sheet("notes").append(["nothing"])
    book.save(tmp_path / "val.xlsx")
    file = read_file(tmp_path / "val.xlsx")
    assert (file.report.kind, file.report.text, file.report.label) == ("xlsx", "cleaned", "classes")
    assert file.classes == ("anger", "fear", "joy") and count_finding(file.report, "sheets") == [1]


@pytest.mark.parametrize("names", [("rt-polarity.neg", "rt-polarity.pos"), ("neg.txt", "pos.txt")])
def test_a_folder_with_one_file_per_class_is_read(tmp_path, names):
    for name, start in zip(names, (0, 100), strict=True):
        write(tmp_path / name, "\r\n".join(f"caf\xe9 {start + n} , perhaps \x85" for n in range(40)), "latin-1")
    (tmp_path / "README.md").write_text("not a class")
    dataset = load_dataset(DataConfig(name=str(tmp_path)))
    assert dataset.classes == ("neg", "pos")
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 64, "validation": 8, "test": 8}


def test_ratings_in_json_become_labels(tmp_path):
    ratings = ["10"] * 12 + ["9"] * 4 + ["1"] * 3 + ["7"]
    rows = [{"review": t, "date": "15.08.25", "rating": ratings[n], "author": "x"} for n, t in enumerate(texts(20))]
    file = read_file(write(tmp_path / "film.json", json.dumps(rows, indent=1)))
    assert (file.report.kind, file.report.text, file.report.label) == ("json", "review", "rating")
    assert file.classes == ("1", "7", "9", "10")
    assert {f.kind: f.count for f in file.report.findings} == {"small-class": 3, "small": 20}


@pytest.mark.parametrize(
    ("labels", "task", "classes"),
    [
        (["good", ["good", "bad"], "bad"], "multi", {"bad": 20, "good": 20}),
        ([["good"], ["good", "bad"], "bad"], "multi", {"bad": 20, "good": 20}),
        ([[{"name": "good"}], [{"name": "bad"}]], "single", {"bad": 15, "good": 15}),
    ],
    ids=["some are lists", "most are lists", "objects in lists"],
)
def test_labels_in_lists_and_objects_are_read(tmp_path, labels, task, classes):
    rows = [{"text": text, "label": labels[n % len(labels)]} for n, text in enumerate(texts(30))]
    report = inspect_file(write(tmp_path / "a.json", json.dumps(rows)))
    assert (report.task, report.classes) == (task, classes)


@pytest.mark.parametrize("mark", [",", "\t"])
def test_concatenated_files_are_read_as_one_table(tmp_path, mark):
    part = "\ufefftext,label\n" + "".join(f"{text},{n % 2}\n" for n, text in enumerate(texts(30)))
    path = write(tmp_path / "a.csv", (part * 2).replace(",", mark))
    assert inspect_file(path).classes == {"0": 30, "1": 30}
    assert sum(batch.num_rows for batch in stream_rows(path).batches) == 60


@pytest.mark.parametrize(
    "labels",
    [
        *(("+1", "1"), ("01", "1"), ("1e0", "1"), ("\u0661", "1"), ("-1", "\u22121"), ("bad", "b\u0430d")),
        *(("\u2764", "\u2764\ufe0f"), ("good", "good\u3164"), ("good", "good\u2800"), ("very good", "very_good")),
        *(("1", "true"), ("No", "0"), ("F", "false"), ("pos", "positive"), ("good", "good.")),
    ],
)
def test_labels_that_look_the_same_cause_warnings(tmp_path, labels):
    rows = [f"{text}\t{('other', *labels)[n % 3]}" for n, text in enumerate(texts(30))]
    assert count_finding(inspect_file(write(tmp_path / "a.tsv", "\n".join(["text\tlabel", *rows]))), "case") == [1]


@pytest.mark.parametrize("sign", ["#SPILL!", "#CALC!", "#BEZUG!", "#NV", "#ERROR!"])
def test_errors_of_any_spreadsheet_program_are_no_labels(tmp_path, sign):
    rows = [f"{text},{('good', 'bad', sign)[n % 3]}" for n, text in enumerate(texts(30))]
    assert inspect_file(write(tmp_path / "a.csv", "\n".join(["text,label", *rows]))).classes == {"bad": 10, "good": 10}


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (b"BZh91AY&SY\xff", "packed with bzip2; unpack it"),
        (b"\xfd7zXZ\0\0\4", "packed with xz; unpack it"),
        (b"PK\5\6" + bytes(18), "an archive with nothing in it"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 1", "get the file with `git lfs pull`"),
        (b"<reviews>\n<r label='good'>a, b</r>\n</reviews>\n", "an XML document"),
    ],
)
def test_foreign_formats_are_refused_by_name(tmp_path, begin, said):
    (tmp_path / "a.csv").write_bytes(begin)
    for read in (inspect_file, stream_rows):
        check_raises(DataError, said, read, tmp_path / "a.csv")


def test_url_columns_are_no_texts_if_another_column_has_words(tmp_path):
    rows = [f"https://a.org/{'page' * 20}/{n},{text},{('for', 'against')[n % 2]}" for n, text in enumerate(texts(30))]
    path = write(tmp_path / "a.csv", "\n".join(["url,words,stance", *rows]))
    assert inspect_file(path).text == stream_rows(path).text == "words"


def test_invalid_utf8_in_streamed_parquet_is_reported(tmp_path):
    frame = pd.DataFrame({"text": [text.encode() + b" caf\xe9" for text in texts(30)], "label": [0, 1] * 15})
    frame.to_parquet(tmp_path / "a.parquet")
    assert count_finding(inspect_file(tmp_path / "a.parquet"), "lost-characters") == [30]


def test_repeated_headers_in_a_sheet_are_no_rows(tmp_path):
    book = openpyxl.Workbook()
    for n, text in enumerate(texts(40)):
        if n % 20 == 0:
            book.active.append(["text", "label"])
        book.active.append([text, ("good", "bad")[n % 2]])
    book.save(tmp_path / "a.xlsx")
    report = inspect_file(tmp_path / "a.xlsx")
    assert report.classes == {"bad": 20, "good": 20} and count_finding(report, "repeated-header") == [1]


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([[0, 1], [1, 0]], r"a number for each class, such as \[0, 1\]"),
        ([[0, 0, 1], [1, 0, 0]], r"a number for each class, such as \[0, 0, 1\]"),
        (["[0.2, 0.8]", "[0.9, 0.1]"], r"a number for each class, such as \[0.2, 0.8\]"),
        ([[{"label": "good", "score": 0.9}, {"label": "bad", "score": 0.1}]] * 2, "a score for each label"),
    ],
)
def test_numbers_for_each_class_are_refused_as_labels(tmp_path, labels, said):
    rows = [{"text": text, "label": labels[n % 2]} for n, text in enumerate(texts(30))]
    with pytest.raises(DataError, match=rf"^a.json, field 'label': a list of 30 objects: the cells hold {said}"):
        read_file(write(tmp_path / "a.json", json.dumps(rows)))


@pytest.mark.parametrize(
    "line", ["{label}: {text}, {n}", "[{label}] {text}, {n}", "{text}, {n}^{label}", "{text}, {n} __label__{label}"]
)
def test_sentence_halves_after_a_comma_are_no_classes(tmp_path, line):
    lines = [line.format(text=f"{WORDS[n % 6]} that we had there was {n % 2}", label="no", n=n) for n in range(60)]
    check_raises(DataError, "no column looks like a label", read_file, write(tmp_path / "a.txt", "\n".join(lines)))


def test_guessed_columns_are_reported_unless_the_user_chose_one(tmp_path):
    rows = [f"{text} {text},so {text},{n % 2}" for n, text in enumerate(texts(30))]
    path = write(tmp_path / "a.csv", "\n".join(["answer,prompt,picked", *rows]))
    found, named = inspect_file(path), inspect_file(path, text="prompt", label="picked")
    message = "the text column is a guess: 'answer'; it could be 'prompt'; data.text chooses"
    assert [each.message for each in found.findings if each.kind == "text-guessed"] == [message]
    decided = [(each.chosen, each.alternatives) for each in named.decisions if each.what == "text"]
    assert decided == [("prompt", ("answer",))]
    assert not [each for each in named.findings if each.kind == "text-guessed"]


@pytest.mark.parametrize(
    ("what", "settings", "before"),
    [
        ("delimiter", {"delimiter": "|"}, ","),
        ("quoting", {"quoting": "none"}, "double"),
        ("labels", {"separator": "none"}, ";"),
    ],
)
def test_changed_decisions_offer_the_detected_value(tmp_path, what, settings, before):
    rows = [f'"so {text}|",{("a;b", "a", "b")[n % 3]}|' for n, text in enumerate(texts(30))]
    path = write(tmp_path / "a.csv", "\n".join(["text,label", *rows]).replace("|", "" if what != "delimiter" else "|"))
    assert before in {each.what: each for each in inspect_file(path, **settings).decisions}[what].alternatives


@pytest.mark.parametrize(
    ("name", "header", "form", "kind", "counts"),
    [
        ("a.csv", "text,label", "{0} caf\ufffd,{1}", "lost-characters", [30]),
        ("a.csv", "text,label", f"{{0}},{2**62}{{1}}", "case", []),
        ("a.md", "| text | label |\n|------|:-----:|", "| {0} | {1} |", "header-rows", [1]),
    ],
    ids=["characters lost before", "long numbers", "the line below a header"],
)
def test_table_findings_are_reported_once(tmp_path, name, header, form, kind, counts):
    lines = [header, *(form.format(text, n % 2) for n, text in enumerate(texts(30)))]
    report = inspect_file(write(tmp_path / name, "\n".join(lines).lstrip("\n") + "\n"))
    assert count_finding(report, kind) == counts and report.rows == 30 and len(report.classes) == 2


def test_lists_of_null_comments_unlabeled_lines_and_sql_rows_are_refused(tmp_path):
    with pytest.raises(DataError, match="a list of 2 empty values; every row must be an object"):
        inspect_file(write(tmp_path / "a.json", "[null, null]"))
    rows = "\n".join(json.dumps({"text": text, "label": n % 2}) for n, text in enumerate(texts(30)))
    with pytest.raises(DataError, match="is not valid JSON: Expecting value"):
        read_file(write(tmp_path / "a.jsonl", f"// reviews\n{rows}"))
    lines = [f"{t} {', so' * (n % 4)} , don't you think ? " for n, t in enumerate(texts(30))]
    path = write(tmp_path / "rt.pos", "\r\n".join(lines))
    check_raises(DataError, r"30 rows with one column and no labels; .*one folder as CLASS.txt", read_file, path)
    rows = "\n".join(f"('{text}', '{label}')," for text, label in TABLE[1:])
    check_raises(DataError, "begins or ends with a quote", read_file, write(tmp_path / "a.txt", rows))


@pytest.mark.parametrize("line", ['"{:<8}","{}"', "{},INFO     {}"])
def test_padded_cells_are_not_fixed_width_columns(tmp_path, line):
    rows = [line.format(("bad", "good")[n % 2], text) for n, text in enumerate(texts(30))]
    assert inspect_file(write(tmp_path / "a.csv", "\n".join(["label,text", *rows]))).classes == {"bad": 15, "good": 15}


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


TABLE = [["text", "label"], *([text, ("bad", "good")[n % 2]] for n, text in enumerate(texts(30)))]


@pytest.mark.parametrize("word", ["nan", "None", "?", "n/a"])
def test_words_for_missing_values_as_classes_cause_warnings(tmp_path, word):
    rows = [f"{text},{('good', 'bad', word)[n % 3]}" for n, text in enumerate(texts(30))]
    (told,) = (
        each.message
        for each in inspect_file(write(tmp_path / "a.csv", "\n".join(["text,label", *rows]))).findings
        if each.kind == "unknown-label"
    )
    assert f'data.rename="{word}="' in told


def test_sheets_of_one_class_each_are_refused(tmp_path):
    parts = {name: [[text] for text, label in TABLE if label == name] for name in ("bad", "good")}
    with pytest.raises(DataError, match=r"2 sheets of one column \('bad', 'good'\); if each holds"):
        read_file(workbook(tmp_path / "a.xlsx", **parts))
    parts = {name: [["id", "text"], *([n, *row] for n, row in enumerate(rows))] for name, rows in parts.items()}
    with pytest.raises(DataError, match=r"the sheet 'bad' \(one of 2; if each is a class, put all on one.*: no column"):
        read_file(workbook(tmp_path / "b.xlsx", **parts))
