"""Who counts as a local user, and what all others may open."""

import pytest
from pages import opened, press, words

from core.data import sandbox
from core.data.config import DataConfig
from core.exceptions import DataError
from dashboard import access, state
from dashboard.data import data


@pytest.mark.parametrize(
    ("address", "names", "local"),
    [
        ("127.0.0.1", [], True),
        ("::1", ["localhost", "127.0.0.1"], True),
        ("0.0.0.0", ["localhost", "127.0.0.1"], False),
        (None, [], False),
        ("127.0.0.1", ["localhost", "127.0.0.1", "class.example.org"], False),  # server behind a proxy
        ("127.0.0.1", ["*"], False),
    ],
)
def test_only_a_server_without_other_names_is_local(monkeypatch, address, names, local):
    options = {"server.address": address, "server.allowedHosts": names}
    monkeypatch.setattr(access.st, "get_option", options.__getitem__)
    assert access.is_local() is local


@pytest.mark.parametrize("typed", ["/etc", "~", "..", "/etc/../etc/hostname"])
def test_typed_setting_cannot_name_files_of_the_server(monkeypatch, typed):
    monkeypatch.setattr(access, "is_local", lambda: False)
    refused = {"data.name": "no data set, file or folder here is called", "text.lexicon": "; choose vader"}
    for name, said in {**refused, "data.examples": "; write counter-examples"}.items():
        with pytest.raises(DataError, match=f"{name}.*{said}"):
            access.refuse_foreign({name: typed})
    access.refuse_foreign({"data.name": "built-in", "training.lr": "/etc", "data.examples": "counter-examples"})


def test_visitors_can_name_only_listed_backbones(monkeypatch, tmp_path):
    """A local user may type any folder; a folder among the backbones has a name."""
    for folder in (tmp_path / "own" / "bert", tmp_path / "private"):
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    monkeypatch.setenv("SENTISCOPE_BACKBONES", str(tmp_path / "own"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for local in (True, False):
        monkeypatch.setattr(access, "is_local", lambda local=local: local)
        access.refuse_foreign({"model.backbone": "bert"})
        for typed in (str(tmp_path / "private"), "../private", "elsewhere:private", str(tmp_path / "own" / "bert")):
            if local:
                access.refuse_foreign({"model.backbone": typed})
            else:
                with pytest.raises(DataError, match=r"model\.backbone: choose one that `sentiscope backbones list`"):
                    access.refuse_foreign({"model.backbone": typed})


def test_link_to_the_data_folder_reaches_no_other_folder(monkeypatch, tmp_path):
    inside, outside = tmp_path / "shared", tmp_path / "private"
    for folder in (inside / "own", outside):
        folder.mkdir(parents=True)
    (inside / "way-out").symlink_to(outside)
    monkeypatch.setenv("SENTISCOPE_DATA", str(inside))
    monkeypatch.setattr(access, "is_local", lambda: False)
    access.refuse_foreign({"data.name": str(inside / "own")})
    for path in (inside / "way-out", inside / ".." / "private"):
        with pytest.raises(DataError):
            access.refuse_foreign({"data.name": str(path)})


@pytest.mark.slow
def test_train_page_refuses_server_paths_and_starts_nothing(app, runs, table, monkeypatch):
    monkeypatch.setattr(access, "is_local", lambda: False)
    app.session_state[f"{state.SETTING}data.name"] = str(table)
    press(opened(app, "train", data=str(table)), "start")
    assert "This training cannot start" in words(app) and "no data set, file or folder here is called" in words(app)
    assert len(list(runs.glob("*/run.json"))) == 3


def test_server_reads_uploads_only_in_the_sandbox_and_only_once(monkeypatch):
    looked, real = [], sandbox.inspect_file

    def never(*arguments, **settings):
        raise AssertionError("read in the server's process")

    def counted(path, reading):
        looked.append(path.name)
        return real(path, reading)

    monkeypatch.setattr("core.data.limits.read_bytes", never)
    monkeypatch.setattr("core.data.labeled_files.read_table", never)
    monkeypatch.setattr(sandbox, "inspect_file", counted)
    content = b"text,label\n" + b"a warm film,good\na dull film,bad\n" * 20
    reports = [data.inspect_upload("films.csv", content, DataConfig()) for _ in range(3)]
    assert looked == ["films.csv"] and {report.rows for report in reports} == {40}
    other = DataConfig(label="nothing")
    assert data.inspect_upload("films.csv", content, other).problem and looked == ["films.csv", "films.csv"]
