import re

import pytest
from named_words import write_conll
from refused import check_raises

from core.data.card import build_card
from core.data.config import DataConfig
from core.data.conll import is_conll, read_conll, to_iob2
from core.data.labeled_files import inspect_file
from core.data.load import load_dataset
from core.exceptions import ConfigError, DataError
from core.text.config import TextConfig

TWO = "Almo B-PER\nruns O\n\nin O\nPell B-LOC\n"


def rows(text):
    frame, found = read_conll(text, "a.conll")
    return list(zip(frame["text"], frame["label"], strict=True)), {each.kind: each.count for each in found}


@pytest.mark.parametrize("text", [TWO, TWO.replace(" ", "\t"), TWO.replace("\n", "\r\n"), TWO.replace(" ", "  X Y ")])
def test_conll_lines_may_use_blanks_tabs_and_further_columns(text):
    assert rows(text) == ([("Almo runs", ("B-PER", "O")), ("in Pell", ("O", "B-LOC"))], {"tags": 4})
    assert is_conll(text, "x.txt")


def test_conll_comments_are_counted_and_repairs_reported():
    text = "-DOCSTART- -X- O\n\n# one = two\nAlmo B-PER\n\n# sent 2\n# O\n"
    assert rows(text) == ([("Almo", ("B-PER",)), ("#", ("O",))], {"tags": 2, "aside": 3})
    _, found = rows("Almo I-PER\nruns O\n\nPell S-LOC\n")
    assert (found["iob1"], found["bioes"]) == (1, 1)


@pytest.mark.parametrize(
    ("given", "read", "repaired"),
    [
        ("I-A I-A O I-B", "B-A I-A O B-B", 2),
        ("B-A I-B O", "B-A B-B O", 1),
        ("S-A B-B I-B E-B O", "B-A B-B I-B I-B O", 0),
        ("U-A B-B L-B B-B", "B-A B-B I-B B-B", 0),
        ("B-A I-A B-A O", "B-A I-A B-A O", 0),
    ],
    ids=["IOB1", "another type", "BIOES", "BILOU", "IOB2"],
)
def test_tags_are_converted_to_iob2(given, read, repaired):
    assert to_iob2(given.split()) == (tuple(read.split()), repaired)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Almo B-PER\nruns\n", "a.conll, row 2: 'runs' has no tag"),
        ("Almo B-PER\nruns V O\n", "a.conll, row 2: 3 columns, and the first word has 2"),
        ("Almo B-PER\nruns verb\n", "a.conll, row 2: 'verb' is no tag"),
        ("New York\tB-LOC\nis\tO\n", "a.conll, row 1: 'New York' is not a single word"),
        ("Almo B-PER\n", "every word is inside a span"),
        ("-DOCSTART- O\n", "has no word with a tag"),
    ],
)
def test_stream_errors_name_file_and_row(text, said):
    check_raises(DataError, re.escape(said), read_conll, text, "a.conll")


@pytest.mark.parametrize("text", ["good,1\n\nbad,0\n", "good film\n\nbad film\n", "O\nO\n\n", "a O\nb O\n"])
def test_other_text_files_are_not_read_as_conll(text):
    assert not is_conll(text, "x.txt")


def test_conll_files_give_a_tag_per_word_and_cards_count_words(tmp_path):
    dataset = load_dataset(DataConfig(name=str(write_conll(tmp_path / "names.txt", 100))))
    assert (dataset.task, dataset.classes) == ("tokens", ("B-LOC", "B-PER", "I-LOC", "I-PER", "O"))
    assert {name: len(frame) for name, frame in dataset.splits.items()} == {"train": 80, "validation": 10, "test": 10}
    for frame in dataset.splits.values():
        assert all(len(text.split(" ")) == len(tags) for text, tags in zip(frame["text"], frame["label"], strict=True))
    card = build_card(load_dataset(DataConfig(name=str(write_conll(tmp_path / "names.conll", 60)))), TextConfig())
    for split in card["splits"].values():
        assert sum(each["share"] for each in split["classes"].values()) == pytest.approx(1)
        assert "labels" not in split
    file = write_conll(tmp_path / "names.conll", 30)
    assert set(inspect_file(file).preview[0]["label"].split()) <= {"O", "B-PER", "I-PER", "B-LOC", "I-LOC"}
    asked = DataConfig(name=str(file), text="text", label="label", pair="none", separator="none")
    assert load_dataset(asked).task == "tokens"


def test_tags_missing_in_train_stay_true_labels_with_a_note(tmp_path):
    write_conll(tmp_path / "train.conll", 40)
    (tmp_path / "test.conll").write_text("Almo B-PER\nrings O\n\nbells B-THING\nring O\n")
    dataset = load_dataset(DataConfig(name=str(tmp_path)))
    named = [[dataset.classes[tag] for tag in tags] for tags in dataset.splits["test"]["label"]]
    assert named == [["B-PER", "O"], ["B-THING", "O"]]
    assert "test: 1 word of the tag 'B-THING', which train lacks: counted as missed" in dataset.notes


@pytest.mark.parametrize("setting", [{"rename": "O=X"}, {"order": "O,B-PER"}, {"add": "sst5"}])
def test_settings_for_text_labels_are_refused_for_tags(tmp_path, setting):
    with pytest.raises(ConfigError, match="each word has a tag"):
        load_dataset(DataConfig(name=str(write_conll(tmp_path / "names.conll", 30)), **setting))
