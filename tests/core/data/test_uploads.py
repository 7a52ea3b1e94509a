import hashlib
import json

import pytest

from core.data.config import DataConfig
from core.data.labeled_files import inspect_file
from core.data.uploads import keep_choice, keep_file, list_choices, make_safe_name, read_choice

NAMES = {
    "reviews.csv": "reviews.csv",
    "../../etc/passwd": "passwd",
    "..\\..\\windows\\win.ini": "win.ini",
    ".hidden.csv": "hidden.csv",
    "...": "data",
    "": "data",
    "/": "data",
    "a b\n;$(rm).csv": "a-b-rm-.csv",
    "labels.json": "data-labels.json",
    "LABELS.JSON": "data-LABELS.JSON",
    "\u0000.csv": "csv",
    "평가.csv": "평가.csv",
}


@pytest.mark.parametrize(("given", "kept"), NAMES.items())
def test_upload_names_become_safe_file_names(given, kept):
    assert make_safe_name(given) == kept


@pytest.mark.parametrize("name", [*NAMES, "a/../../b.csv"])
def test_uploads_with_any_name_stay_in_the_folder(tmp_path, name):
    assert keep_file(tmp_path / "own", name, b"text,label\n").resolve().is_relative_to((tmp_path / "own").resolve())
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


def test_long_file_names_keep_their_suffix_and_equal_uploads_are_stored_once(tmp_path):
    name = make_safe_name("x" * 500 + ".parquet")
    assert name.endswith(".parquet") and len(name.encode()) <= 80
    first, second = keep_file(tmp_path, "a.csv", b"same"), keep_file(tmp_path, "b.csv", b"same")
    assert first == second == tmp_path / "files" / hashlib.sha256(b"same").hexdigest() / "a.csv"
    assert first.read_bytes() == b"same"
    content = json.dumps([{"text": f"t {n}", "label": "ab"[n % 2]} for n in range(20)]).encode()
    assert set(inspect_file(keep_file(tmp_path, "labels.json", content)).classes) == {"a", "b"}


def test_choices_are_restored_unless_their_file_is_gone(tmp_path):
    file = keep_file(tmp_path, "a.csv", b"x")
    config = DataConfig(str(file), text="review", label="stars", delimiter=";", encoding="cp1252", header="no")
    choice = keep_choice(tmp_path, config)
    assert list_choices(tmp_path) == [choice] and choice.config == config
    assert keep_choice(tmp_path, config).id == choice.id
    assert keep_choice(tmp_path, DataConfig(str(file), text="title", label="stars")).id != choice.id
    file.unlink()
    assert read_choice(tmp_path, choice.id) is None


def test_old_choices_without_a_header_setting_are_read(tmp_path):
    file = keep_file(tmp_path, "a.csv", b"x")
    old = {"name": str(file), "text": "review", "label": "stars", "delimiter": "", "encoding": ""}
    (tmp_path / "choices").mkdir()
    (tmp_path / "choices" / "old.json").write_text(json.dumps(old))
    (choice,) = list_choices(tmp_path)
    assert choice.config == DataConfig(str(file), text="review", label="stars")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": 1}', '{"name": "x"}', "null"])
def test_damaged_choices_are_left_out(tmp_path, content):
    (tmp_path / "choices").mkdir()
    (tmp_path / "choices" / "bad.json").write_text(content)
    assert list_choices(tmp_path) == []


@pytest.mark.parametrize("name", ["../secret", "a/b", "", "x" * 200])
def test_ids_of_choices_are_no_paths(tmp_path, name):
    (tmp_path / "secret.json").write_text(json.dumps({"name": str(tmp_path)}))
    assert read_choice(tmp_path, name) is None
