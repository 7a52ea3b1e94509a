import pandas as pd
import pytest
from refused import check_raises
from shapes_of_tools import csv, zip_of

from core.data import limits
from core.data.folders import find_split_files
from core.data.labeled_files import read_file, read_folder
from core.exceptions import DataError


def frame(count, start=0, **columns):
    texts = [f"text {start + n}" for n in range(count)]
    return pd.DataFrame({"text": texts, "label": [0, 1] * (count // 2), **columns})


@pytest.mark.slow
def test_parquet_splits_with_labels_json_are_read(tmp_path):
    for name, count, start in (("train", 20, 0), ("validation", 4, 100), ("test", 6, 200)):
        frame(count, start, stars=3).to_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "labels.json").write_text('{"type": "single", "classes": {"0": "bad", "1": "good", "2": "ugly"}}')
    found = read_folder(tmp_path)
    assert found.classes == ("bad", "good", "ugly")
    assert {name: len(rows) for name, rows in found.splits.items()} == {"train": 20, "validation": 4, "test": 6}
    assert found.splits["test"].iloc[1].to_dict() == {"text": "text 201", "label": "good", "stars": 3}


@pytest.mark.parametrize("dev", ["validation.csv", "valid.tsv", "val.jsonl", "dev.json"])
def test_other_formats_and_names_of_splits_are_read(tmp_path, dev):
    frame(20).to_csv(tmp_path / "train.csv", index=False)
    rows, path = frame(4), tmp_path / dev
    if path.suffix in (".csv", ".tsv"):
        rows.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    else:
        rows.to_json(path, orient="records", lines=path.suffix == ".jsonl")
    found = read_folder(tmp_path)
    assert list(found.splits) == ["train", "validation"] and found.classes == ("0", "1")
    assert list(found.splits["validation"]["label"]) == ["0", "1", "0", "1"]
    assert find_split_files(tmp_path)["validation"][0].name == dev


def get_decision(found, what):
    return [(each.chosen, each.guessed, each.file) for each in found.decisions if each.what == what]


def test_decisions_of_several_files_are_joined(tmp_path):
    words = ["a tram", "ein schöner Tag", "der Müller kam spät", "über Nacht"]
    rows = [f"{words[n % 4]}, {n};{'ja' if n % 2 else 'nein'}" for n in range(40)]
    (tmp_path / "train.csv").write_bytes("\n".join(["satz;label", *rows]).encode("cp1252"))
    (tmp_path / "dev.csv").write_text("\n".join(["satz;label", *rows[:8], ";ja"]))
    (tmp_path / "test.tsv").write_text("\n".join(["satz;label", *rows[:10]]).replace(";", "\t"))
    found = read_folder(tmp_path)
    assert get_decision(found, "encoding") == [("latin-1", True, "train.csv"), ("utf-8", False, "dev.csv, test.tsv")]
    assert get_decision(found, "delimiter") == [(";", False, "train.csv, dev.csv"), ("tab", False, "test.tsv")]
    assert get_decision(found, "label") == [("label", False, "")]
    assert get_decision(found, "rows") == [("8 of 9 rows", False, "dev.csv")]
    assert found.decisions[0].alternatives and "Müller" in found.decisions[0].proof


def test_the_encoding_of_class_files_is_a_decision(tmp_path):
    for name, word in (("ja", "schön wie früher"), ("nein", "öde und fürchterlich")):
        text = "\n".join(f"die Fahrt {n} war {word}" for n in range(12))
        (tmp_path / f"{name}.txt").write_bytes(text.encode("cp1252"))
    found = read_folder(tmp_path)
    assert get_decision(found, "encoding") == [("latin-1", True, "")] and found.decisions[0].alternatives
    assert "the encoding is a guess: latin-1; it could be " in found.notes[1]
    (tmp_path / "nein.txt").write_text("\n".join(f"die Fahrt {n} war öde" for n in range(12)))
    found = read_folder(tmp_path)
    assert get_decision(found, "encoding") == [("latin-1", True, "ja.txt"), ("utf-8", False, "nein.txt")]
    assert found.notes[1].startswith("ja.txt: the encoding is a guess")
    assert {text[-3:] for text in found.splits["all"]["text"]} == {"öde", "her"}


def test_limits_apply_to_class_files(monkeypatch, tmp_path):
    for name in ("ja", "nein"):
        (tmp_path / f"{name}.txt").write_text("short\nrather long\n" * 50_000)
    for chosen, said in (("characters=8", "a cell has 11 characters"), ("size=1", "its files have more together")):
        monkeypatch.setenv(limits.VARIABLE, chosen)
        check_raises(DataError, said, read_folder, tmp_path)


@pytest.mark.slow
def test_all_splits_use_the_columns_of_train(tmp_path):
    frame(20, alt=["yes", "no"] * 10).to_csv(tmp_path / "train.csv", index=False)
    frame(4).to_csv(tmp_path / "test.csv", index=False)
    assert read_folder(tmp_path).splits["test"].shape == (4, 2)
    check_raises(DataError, r"test.csv: no column 'alt' for data.label", read_folder, tmp_path, label="alt")


def test_splits_with_withheld_labels_are_left_out_with_a_count(tmp_path):
    frame(20).to_csv(tmp_path / "train.csv", index=False)
    frame(6).assign(label=-1).to_csv(tmp_path / "test.csv", index=False)
    found = read_folder(tmp_path)
    assert list(found.splits) == ["train"]
    assert found.notes == ("test.csv: 6 rows with the label -1 (withheld) left out",)


def test_labels_json_can_declare_several_labels(tmp_path):
    frame(20).to_parquet(tmp_path / "train.parquet")
    (tmp_path / "labels.json").write_text('{"type": "multi", "classes": {"0": "a", "1": "b"}}')
    found = read_folder(tmp_path)
    assert found.task == "multi" and found.classes == ("a", "b")
    assert set(found.splits["train"]["label"]) == {("a",), ("b",)}
    for content, said in (
        ('{"type": "pair", "classes": {"0": "a", "1": "b"}}', "labels.json: type 'pair': single or multi"),
        ('{"classes": {"0": "a"}}', "label '1' is not among 0 of labels.json"),
    ):
        (tmp_path / "labels.json").write_text(content)
        check_raises(DataError, said, read_folder, tmp_path)


def test_further_splits_are_read_with_the_layout_of_train(tmp_path):
    text = [f"text {n}" for n in range(30)]
    pd.DataFrame({"text": text, "label": ["a;b", "a", "b"] * 10}).to_csv(tmp_path / "train.csv", index=False)
    pd.DataFrame({"text": text, "label": ["a", "b", "a"] * 10}).to_csv(tmp_path / "test.csv", index=False)
    found = read_folder(tmp_path)
    assert found.task == "multi" and found.classes == ("a", "b")
    assert set(found.splits["test"]["label"]) == {("a",), ("b",)}


def test_folders_without_splits_or_without_train_are_refused(tmp_path):
    check_raises(DataError, "no data file in this folder", read_folder, tmp_path)
    frame(4).to_csv(tmp_path / "other.csv", index=False)
    check_raises(DataError, "no train file", read_folder, tmp_path)
    frame(4).to_csv(tmp_path / "test.csv", index=False)
    check_raises(DataError, r"found test.csv but no train file", read_folder, tmp_path)


def test_tables_are_not_read_as_class_files(tmp_path):
    for name in ("one.txt", "two.txt"):
        frame(20).to_csv(tmp_path / name, index=False, sep="\t")
    check_raises(DataError, r"one.txt: has several columns", read_folder, tmp_path)


def make_remarks(count=40):
    return [(f"the tram of day {n} was {('late', 'on time')[n % 2]}", ("bad", "good")[n % 2]) for n in range(count)]


def test_labels_with_an_unmatched_quote_are_refused_in_folders(tmp_path):
    rows = "".join(f'{text},"{label}\n' for text, label in make_remarks())
    (tmp_path / "train.csv").write_text(f"text,label\n{rows}")
    check_raises(DataError, r"train\.csv: the label \"bad begins or ends with a quote", read_folder, tmp_path)


def test_each_line_of_a_class_file_is_a_text(tmp_path):
    for name, end in (("bad", b"\r"), ("good", b"\r\n")):
        texts = [text.encode() for text, label in make_remarks() if label == name]
        (tmp_path / f"{name}.txt").write_bytes(end.join(texts))
    assert read_folder(tmp_path).splits["all"]["label"].value_counts().to_dict() == {"bad": 20, "good": 20}


def write_remarks(folder, **names):
    """Write a file for each remark into the folder of its class; `names` renames the folders."""
    for n, (text, label) in enumerate(make_remarks()):
        place = folder / names.get(label, label)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{n}.txt").write_text(text)


def test_circular_links_and_system_files_are_no_texts(tmp_path):
    write_remarks(tmp_path)
    (tmp_path / "good" / "Thumbs.db").write_bytes(b"\0")
    (tmp_path / "loop").symlink_to("loop")
    assert len(read_folder(tmp_path).splits["all"]) == 40


def test_special_files_in_class_folders_are_refused(tmp_path):
    write_remarks(tmp_path)
    for target, reason in (("absent.txt", "no such file"), ("link.txt", "cannot be opened")):
        (tmp_path / "good" / "link.txt").symlink_to(target)
        check_raises(DataError, f"link.txt: {reason}", read_folder, tmp_path)
        (tmp_path / "good" / "link.txt").unlink()
    (tmp_path / "good" / "90.txt").write_bytes(b"\x89PNG\1\2\3\4\xff" * 9)
    (tmp_path / "good" / "91.txt").write_bytes("schön".encode("cp1252"))
    check_raises(DataError, r"^good/90.txt: this is not a text file", read_folder, tmp_path)


def test_names_of_class_folders_are_cleaned_like_labels(tmp_path):
    write_remarks(tmp_path / "train", good="caf\u00e9")
    write_remarks(tmp_path / "test", good="cafe\u0301")
    found = read_folder(tmp_path)
    assert found.classes == ("bad", "caf\u00e9")
    assert found.splits["test"]["label"].value_counts().to_dict() == {"bad": 20, "caf\u00e9": 20}
    write_remarks(tmp_path / "train", good="BAD")
    assert "1 label differing from another only in case" in " ".join(read_folder(tmp_path).notes)
    write_remarks(tmp_path / "train", good="b\udcff")
    check_raises(DataError, "the name 'b\ufffd' of a class is not in UTF-8", read_folder, tmp_path)


def test_several_files_of_one_class_are_all_read(tmp_path):
    for name in ("bad.one", "bad.two", "good.one"):
        (tmp_path / name).write_text("".join(f"{text}\n" for text, label in make_remarks() if name.startswith(label)))
    assert read_folder(tmp_path).splits["all"]["label"].value_counts().to_dict() == {"bad": 40, "good": 20}


def test_offered_encodings_keep_the_utf_8_files_of_a_folder(tmp_path):
    lines = ["text,label", *(f"скучный фильм номер {n},{n % 2}" for n in range(40))]
    (tmp_path / "train.csv").write_text("\n".join(lines), encoding="cp1251")
    (tmp_path / "test.csv").write_text("\n".join(lines), encoding="utf-8")
    guess, certain = (each for each in read_folder(tmp_path).decisions if each.what == "encoding")
    assert guess.chosen == "cp1251" and "utf-8+koi8-r" in guess.alternatives and not certain.alternatives
    found = read_folder(tmp_path, encoding="utf-8+koi8-r")
    assert found.splits["test"]["text"][0] == "скучный фильм номер 0" != found.splits["train"]["text"][0]


def test_archives_with_a_file_per_class_are_read_like_folders(tmp_path):
    texts = {name: [f"{text}, really" for text, label in make_remarks() if label == name] for name in ("bad", "good")}
    for names in ("{}.txt", "in/{}.txt", "rt-polarity.{}"):
        members = {names.format(name): "\n".join(lines) for name, lines in texts.items()}
        (tmp_path / "a.zip").write_bytes(zip_of({**members, "in/README.md" if "/" in names else "README.md": "so"}))
        found = read_file(tmp_path / "a.zip")
        assert found.report.classes == {"bad": 20, "good": 20} and found.notes[0].startswith("one class per file: ")
        assert set(found.rows["text"]) == {*texts["bad"], *texts["good"]}
    (tmp_path / "a.zip").write_bytes(zip_of({f"{name}.txt": "a\tb\n" * 9 for name in ("dev", "test")}))
    with pytest.raises(DataError, match=r"an archive of 2 text files \(`dev.txt`, `test.txt`\); unpack it"):
        read_file(tmp_path / "a.zip")


def test_second_files_of_a_split_are_left_out_and_named(tmp_path):
    frame(20).to_csv(tmp_path / "train.csv", index=False)
    frame(20, 50).to_csv(tmp_path / "train.tsv", index=False, sep="\t")
    found = read_folder(tmp_path)
    assert found.notes == ("`train.tsv` is left out, since `train.csv` is the train split",)
    assert found.splits["train"]["text"][0] == "text 0"


@pytest.mark.parametrize("name", ["{}/data.csv", "reviews_{}.csv", "{}_data.csv", "a/{}/x/data.csv"])
def test_the_training_table_of_an_archive_is_read_first(tmp_path, name):
    (tmp_path / "a.zip").write_bytes(zip_of({name.format(split): csv() for split in ("dev", "test", "train")}))
    assert read_file(tmp_path / "a.zip").report.sheet == name.format("train")


@pytest.mark.parametrize("packed", [False, True])
def test_other_files_next_to_class_folders_are_left_out_and_named(tmp_path, packed):
    members = {f"{label}/{n}.txt": text for n, (text, label) in enumerate(make_remarks())}
    members |= {"index.csv": "a,b\n", "README.md": "about", "code/run.py": "x"}
    if packed:
        (tmp_path / "a.zip").write_bytes(zip_of(members))
        found = read_file(tmp_path / "a.zip")
    else:
        for name, content in members.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(content)
        found = read_folder(tmp_path)
    assert "left out beside the folders of the classes: `index.csv`, `code/`" in found.notes


@pytest.mark.parametrize("names", [("train.data", "test.data"), ("train_text.txt", "train_labels.txt")])
def test_files_named_after_splits_are_not_classes(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("a text\n" * 9)
    check_raises(DataError, r"no train file .* and no text files named after classes", read_folder, tmp_path)


def test_archives_of_empty_files_are_refused_and_archives_in_archives_named(tmp_path):
    (tmp_path / "a.zip").write_bytes(zip_of({f"{label}/{n}.txt": " " for n, (_, label) in enumerate(make_remarks())}))
    check_raises(DataError, "40 files in the folders of its classes, and all are empty", read_file, tmp_path / "a.zip")
    (tmp_path / "a.zip").write_bytes(zip_of({"small.csv": csv(), "train.zip": "PK"}))
    assert "left out: `train.zip`" in read_file(tmp_path / "a.zip").notes[0]
