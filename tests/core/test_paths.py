import os
import socket

import pytest
from refused import check_raises

from core.exceptions import InputError
from core.paths import AllowedPaths, read_regular, resolve_path

STRANGERS = "no file that may be opened from another machine has this name"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "own" / "data.csv"
    path.parent.mkdir()
    path.write_text("text,label\n")
    return path


def test_paths_are_resolved_and_sizes_checked_first(file):
    assert resolve_path(str(file)) == file and resolve_path(str(file.parent), folders=True) == file.parent
    check_raises(InputError, "this is a folder, not a file", resolve_path, str(file.parent))
    check_raises(InputError, r"data\.csv: it has 0 MB, and at most 0 MB are read", resolve_path, str(file), limit=5)
    check_raises(ValueError, "it has", read_regular, file, 5)
    assert read_regular(file, 11) == b"text,label\n"


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev/stdin"])
def test_devices_are_not_files(name):
    with pytest.raises(InputError, match=r"this is a (device|pipe|socket); only plain files are read|no such file"):
        resolve_path(name, folders=True)


def test_pipes_and_sockets_are_refused_without_blocking(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket"):
            check_raises(InputError, f"this is a {name}", resolve_path, str(tmp_path / name))
            check_raises(ValueError, f"this is a {name}", read_regular, tmp_path / name, 100)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("~nosuch-person/x.csv", "~nosuch-person/x.csv: no such file"),
        ("a\0b.csv", "a␀b.csv: a file name cannot contain the character NUL"),
        ("x" * 5000, "cannot be opened: File name too long"),
        ("none.csv", "none.csv: no such file"),
        ("elsewhere:grades.csv", "grades.csv: this file is on the machine that the run comes from"),
    ],
)
def test_impossible_file_names_are_refused_in_words(name, said):
    check_raises(InputError, said, resolve_path, name)


def test_files_of_another_machine_are_refused_even_if_the_path_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere:grades.csv").write_text("secret")
    check_raises(InputError, "was not included in it", resolve_path, "elsewhere:grades.csv")


def test_remote_users_open_only_files_in_the_allowed_folders(file, tmp_path):
    allowed = AllowedPaths(anywhere=False, roots=(file.parent,))
    assert resolve_path(str(file), allowed) == file
    (tmp_path / "secret.csv").write_text("x")
    (file.parent / "link.csv").symlink_to(tmp_path / "secret.csv")
    for name in ("secret.csv", "none.csv", "own/../secret.csv", "own/link.csv"):
        check_raises(InputError, STRANGERS, resolve_path, str(tmp_path / name), allowed)
    for name in ("~root/x", "~nosuch-person/x", "/dev/zero", "/etc/passwd"):
        check_raises(InputError, STRANGERS, resolve_path, name, allowed)
