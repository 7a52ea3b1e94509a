"""Who counts as the person who sits at this machine, and what everybody else may open."""

from __future__ import annotations

import pytest

from core.exceptions import DataError
from dashboard import datasets, state


def serving(monkeypatch, address: str | None, names: list[str]) -> None:
    options = {"server.address": address, "server.allowedHosts": names}
    monkeypatch.setattr(datasets.st, "get_option", lambda name: options[name])


@pytest.mark.parametrize(
    ("address", "names", "local"),
    [
        ("127.0.0.1", [], True),
        ("::1", ["localhost", "127.0.0.1"], True),
        ("0.0.0.0", ["localhost", "127.0.0.1"], False),
        (None, [], False),
        ("127.0.0.1", ["localhost", "127.0.0.1", "class.example.org"], False),  # behind a proxy
        ("127.0.0.1", ["*"], False),
    ],
)
def test_only_a_server_that_nobody_else_can_name_is_local(monkeypatch, address, names, local):
    serving(monkeypatch, address, names)
    assert datasets.local() is local


@pytest.mark.parametrize("typed", ["/etc", "~", "..", "/etc/../etc/hostname"])
def test_a_typed_setting_names_no_file_of_a_machine_that_is_not_the_visitors(monkeypatch, tmp_path, typed):
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path))
    monkeypatch.delenv("SENTISCOPE_DATA", raising=False)
    monkeypatch.setattr(datasets, "local", lambda: False)
    with pytest.raises(DataError, match=r"data\.name: no data set, file or folder here is called"):
        datasets.refuse_foreign({"data.name": typed})
    datasets.refuse_foreign({"data.name": "built-in", "training.lr": "/etc"})


def test_a_link_to_the_data_folder_leads_nowhere_else(monkeypatch, tmp_path):
    inside, outside = tmp_path / "shared", tmp_path / "private"
    inside.mkdir()
    outside.mkdir()
    (inside / "way-out").symlink_to(outside)
    (inside / "own").mkdir()
    monkeypatch.setenv("SENTISCOPE_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("SENTISCOPE_DATA", str(inside))
    monkeypatch.setattr(datasets, "local", lambda: False)
    datasets.refuse_foreign({"data.name": str(inside / "own")})
    for path in (inside / "way-out", inside / ".." / "private"):
        with pytest.raises(DataError):
            datasets.refuse_foreign({"data.name": str(path)})


@pytest.mark.parametrize("way", ["link", "setting"])
def test_the_page_train_refuses_a_path_of_the_server_and_starts_nothing(app, runs, table, monkeypatch, way):
    monkeypatch.setattr(datasets, "local", lambda: False)
    monkeypatch.delenv("SENTISCOPE_DATA", raising=False)
    if way == "link":
        app.query_params[state.DATA] = str(table)
    app.run()
    if way == "setting":
        app.session_state[f"{state.SETTING}data.name"] = str(table)
    app.switch_page("screens/train.py").run()
    app.button(key="start").click().run()
    assert not app.exception
    shown = " ".join(element.proto.body for element in app.get("html"))
    assert "This training cannot start" in shown and "no data set, file or folder here is called" in shown
    assert len(list(runs.glob("*/run.json"))) == 3
