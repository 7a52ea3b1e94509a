import os

from core.cache import keep_files, mark_used


def test_the_least_recently_used_cache_files_are_deleted_first(tmp_path):
    for number, name in enumerate(["kind-a", "kind-b", "kind-c", "other-d"]):
        (tmp_path / name).write_bytes(b"x" * 40)
        os.utime(tmp_path / name, (number, number))
    mark_used(tmp_path / "kind-a")
    keep_files([(tmp_path / "kind-e", b"x" * 40)], "kind", most_bytes=100)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kind-a", "kind-e", "other-d"]
    keep_files([(tmp_path / "kind-a", b"x" * 40), (tmp_path / "kind-b", b"x" * 40)], "kind", most_bytes=10)
    assert sorted(path.name for path in tmp_path.glob("kind-*")) == ["kind-a", "kind-b"]


def test_failed_cache_writes_are_only_logged(tmp_path, capsys):
    (tmp_path / "file").write_text("no folder")
    keep_files([(tmp_path / "file" / "kind-a", b"x")], "kind")
    assert "the kind is not kept" in capsys.readouterr().err
    mark_used(tmp_path / "gone")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
